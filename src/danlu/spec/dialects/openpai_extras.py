"""`extras` of OpenPAI v2: scheduling hints, storages, notifications, plugins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.errors import Path
from danlu.spec.text import Text

_PLUGINS = "com.microsoft.pai.runtimeplugin"
_PRIORITIES = {"crit": 120, "prod": 100, "test": 10, "oppo": -1}
_GPU = re.compile(
    r"(?:^|[^A-Za-z0-9])((?:RTX|GTX|TITAN|Tesla)?[-_ ]?"
    r"(?:[KPVTAHML]\d{1,3}[A-Za-z]?|[1-5]0[5-9]0(?:ti)?|MI\d{2,3}[A-Za-z]?))(?:$|[^A-Za-z0-9])",
    re.IGNORECASE,
)


class Extras:
    def __init__(self, draft: Draft, keys: Keys, roles: list[str]) -> None:
        self._draft = draft
        self._roles = roles
        self.models: dict[str, str] = {}
        self.mounts: list[dict[str, Any]] = []
        extras = Keys(draft, keys.mapping("extras"), ("extras",))
        self.gang = self._gang(extras)
        extras.note("submitFrom", Text("has no effect here", "在这里不起作用"))
        self._storages(extras)
        self._hived(Keys(draft, extras.mapping("hivedScheduler"), ("extras", "hivedScheduler")))
        extras.note(
            "jobStatusChangeNotification",
            Text(
                "notifications are not available yet; use danlu wait JOB",
                "暂不发送状态通知；可用 danlu wait 任务 等待结束",
            ),
        )
        self.plugins: tuple[list[Any], Path] = (extras.items(_PLUGINS), ("extras", _PLUGINS))
        extras.note_rest()

    def _gang(self, extras: Keys) -> bool:
        gang = extras.flag("gangAllocation")
        if gang is False:
            self._draft.note(
                ("extras", "gangAllocation"),
                Text(
                    "all tasks start together here; none waits alone for the others",
                    "这里所有任务一起启动，不会有任务单独等待",
                ),
            )
        return gang is not False

    def _storages(self, extras: Keys) -> None:
        draft, path = self._draft, ("extras", "storages")
        storages = extras.items("storages")
        if "storages" in extras.values and not storages:
            draft.note(
                path,
                Text(
                    "the default storages are those every task has here (/userhome, /gdata)",
                    "默认存储即这里每个任务都能看到的目录（/userhome、/gdata）",
                ),
            )
        for index, values in enumerate(storages):
            place = (*path, index)
            if not isinstance(values, Mapping):
                draft.refuse(place, values, Text("is not a storage", "不是存储"))
                continue
            keys = Keys(draft, values, place)
            if not keys.required("name", Text("give it a name", "请命名")):
                continue
            name = keys.line("name") or ""
            target = keys.line("mountPath") or f"/mnt/{name}"
            self.mounts.append({"volume": name, "path": target})
            keys.refuse_rest(("name", "mountPath"))

    def _hived(self, keys: Keys) -> None:
        draft = self._draft
        name = keys.text("jobPriorityClass")
        if name is not None and name in _PRIORITIES:
            priority = _PRIORITIES[name]
            draft.put(("priority",), priority, (*keys.path, "jobPriorityClass"))
            if name == "oppo":
                draft.put(("preemptible",), True, (*keys.path, "jobPriorityClass"))
            message = Text(f"priority {priority} here", f"在这里是优先级 {priority}")
            if name == "oppo":
                message += Text("; it may be preempted", "；可能被抢占")
            draft.note(
                (*keys.path, "jobPriorityClass"),
                Text(f"{name} is ", f"{name} ") + message,
            )
        elif name is not None:
            every = ", ".join(_PRIORITIES)
            draft.refuse(
                (*keys.path, "jobPriorityClass"),
                name,
                Text(f"is not one of: {every}", f"不是以下之一：{every}"),
            )
        for role, values in keys.mapping("taskRoles").items():
            place = (*keys.path, "taskRoles", role)
            if role not in self._roles or not isinstance(values, Mapping):
                draft.refuse(place, values, Text("is not a role of this job", "不是此任务的角色"))
                continue
            self._hived_role(role, Keys(draft, values, place))
        keys.note_rest()

    def _hived_role(self, role: str, keys: Keys) -> None:
        draft = self._draft
        below = keys.mapping("resourcePerInstance")  # where newer schedulers put two of them
        if below:
            self._hived_role(role, Keys(draft, below, (*keys.path, "resourcePerInstance")))
        kind = "skuType" if keys.has("skuType") else "gpuType"  # name in older schedulers
        sku = keys.text(kind)
        keys.raw("skuType")
        if sku is not None:
            gpu = _GPU.search(sku)
            if gpu is not None:
                self.models[role] = gpu[1].strip(" _-")
                draft.note(
                    (*keys.path, kind),
                    Text(
                        f"asks for the GPU model {self.models[role]}",
                        f"申请型号为 {self.models[role]} 的卡",
                    ),
                )
            else:
                draft.note(
                    (*keys.path, kind),
                    Text("names no GPU model; any GPU is used", "没有 GPU 型号；任意型号的卡"),
                )
        keys.note(
            "skuNum",
            Text(
                "resources are set by resourcePerInstance",
                "任务得到的资源以 resourcePerInstance 为准",
            ),
        )
        for key in ("pinnedCellId", "reservationId"):
            keys.note(key, Text("cells cannot be pinned here", "这里不固定单元"))
        for key in ("affinityGroupName", "withinOne"):
            keys.note(
                key,
                Text("tasks of a job are packed closely anyway", "同一任务的实例本来就会集中放置"),
            )
        keys.note_rest()
