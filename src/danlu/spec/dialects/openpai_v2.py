"""OpenPAI v2: the YAML job protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects import openpai
from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.openpai_extras import Extras
from danlu.spec.dialects.openpai_plugins import Plugins
from danlu.spec.dialects.openpai_prerequisites import Prerequisites
from danlu.spec.dialects.openpai_v2_role import Role
from danlu.spec.dialects.source import draft_of, read_yaml
from danlu.spec.errors import NO_VALUE, file_error
from danlu.spec.text import Text

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}", re.ASCII)
_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TOP = (
    "protocolVersion",
    "name",
    "type",
    "version",
    "contributor",
    "description",
    "prerequisites",
    "parameters",
    "secrets",
    "jobRetryCount",
    "taskRoles",
    "deployments",
    "defaults",
    "extras",
)


def read(text: str, options: Options, site: Site, defaults: Defaults) -> Converted:
    raw = read_yaml(text)
    if "protocol_version" in raw.values and "protocolVersion" not in raw.values:
        raise file_error(
            Text(
                "protocol_version (in snake case) is an older OpenPAI format that is not "
                "supported; use protocolVersion: 2 and the keys of that version",
                "protocol_version（下划线写法）是 OpenPAI 的旧格式，不支持；"
                "请写 protocolVersion: 2 并使用该版本的键",
            ),
            raw.line_of(("protocol_version",)),
            raw.values["protocol_version"],
        )
    draft = draft_of(raw)
    job = Job(draft, raw.values, site)
    job.build()
    submission = draft.finish(options.values, options.offers, defaults)
    return Converted(Dialect.OPENPAI_V2, (submission,), tuple(draft.notes), job.kept_secrets)


class Job:
    def __init__(self, draft: Draft, values: Mapping[str, Any], site: Site) -> None:
        self.draft = draft
        self.keys = Keys(draft, values)
        self.site = site
        self.kept_secrets: dict[str, str] = {}
        self.task_retries = 0
        self.roles = 0

    def build(self) -> None:
        draft, keys = self.draft, self.keys
        draft.put(("variables",), "openpai", ())
        self._head()
        roles = self._role_names()
        self.roles = len(roles)
        self.prerequisites = Prerequisites(draft, keys)
        self.extras = Extras(draft, keys, roles)
        plugins = Plugins(draft, roles)
        values = keys.values.get("taskRoles")
        named = values if isinstance(values, Mapping) else {}
        self.prerequisites.add_plugins(plugins, {name: named[name] for name in roles})
        plugins.add_all(*self.extras.plugins)
        self.parameters = keys.mapping("parameters")
        self.secrets = keys.mapping("secrets")
        deployment = self._deployment()
        for name in roles:
            role = Role(self, name, named[name])
            role.build(plugins, deployment.get(name, {}))
        self._retries()
        keys.refuse_rest(_TOP)

    def _head(self) -> None:
        draft, keys = self.draft, self.keys
        version = keys.raw("protocolVersion")
        if version not in (2, "2"):
            draft.refuse(
                ("protocolVersion",),
                NO_VALUE if version is None else version,
                Text("is not supported; only version 2 is", "不是 2；只支持版本 2"),
            )
        kind = keys.raw("type")
        if kind not in (None, "job"):
            draft.refuse(("type",), kind, Text("is not supported; use job", "不是任务；请写 job"))
        if keys.required("name", Text("give the job a name", "请给任务起名")):
            name = keys.text("name")
            if name is not None and _NAME.fullmatch(name):
                draft.name(name, ("name",))
            elif name is not None:
                draft.refuse(
                    ("name",),
                    name,
                    Text(
                        "is not a valid job name; use letters, digits, '_' and '-', up to 255",
                        "不是任务名；请用字母、数字、'_'、'-'，最多 255 个字符",
                    ),
                )
        words = [key for key in ("version", "contributor", "description") if keys.raw(key)]
        if words:
            listed = ", ".join(words)
            draft.note(
                (words[0],),
                Text(
                    f"descriptions ({listed}) stay in the file and are not stored with the job",
                    f"给人看的说明（{listed}）留在文件中；任务不保存",
                ),
            )

    def _role_names(self) -> list[str]:
        draft = self.draft
        values = self.keys.raw("taskRoles")
        if not isinstance(values, Mapping) or not values:
            draft.refuse(
                ("taskRoles",),
                NO_VALUE if values is None else values,
                Text("has no roles; write {name: {...}}", "没有角色；请写 {名称: {...}}"),
            )
            return []
        draft.came_from(("roles",), ("taskRoles",))
        names = []
        for name, role in values.items():
            if not _ROLE.fullmatch(name):
                draft.refuse(
                    ("taskRoles", name),
                    NO_VALUE,
                    Text(
                        "is not a valid role name; use letters, digits and '_', not starting with "
                        "a digit",
                        "不是角色名；请用字母、数字和 '_'，不以数字开头",
                    ),
                )
            elif not isinstance(role, Mapping):
                draft.refuse(("taskRoles", name), role, Text("is not a role", "不是角色"))
            else:
                names.append(name)
        return names

    def _deployment(self) -> Mapping[str, Any]:
        """Commands around those of the roles, from the deployment chosen in `defaults`."""
        draft, keys = self.draft, self.keys
        defaults = Keys(draft, keys.mapping("defaults"), ("defaults",))
        queue = defaults.line("virtualCluster")
        if queue:
            draft.put(("queue",), queue, ("defaults", "virtualCluster"))
        chosen = defaults.line("deployment")
        defaults.refuse_rest(("virtualCluster", "deployment"))
        found: dict[str, Mapping[str, Any]] = {}
        for index, values in enumerate(keys.items("deployments")):
            place = ("deployments", index)
            if not isinstance(values, Mapping):
                draft.refuse(place, values, Text("is not a deployment", "不是部署"))
                continue
            one = Keys(draft, values, place)
            if one.required("name", Text("give it a name", "请命名")):
                found[one.text("name") or ""] = one.mapping("taskRoles")
            one.raw("taskRoles")
            one.refuse_rest(("name", "taskRoles"))
        if chosen is None:
            return {}
        if chosen not in found:
            draft.refuse(
                ("defaults", "deployment"),
                chosen,
                Text("is not one of the deployments", "不在 deployments 中"),
            )
        return found.get(chosen, {})

    def _retries(self) -> None:
        draft = self.draft
        count = self.keys.read("jobRetryCount", openpai.RETRIES)
        openpai.retries(draft, count, ("jobRetryCount",))
        if self.task_retries and not count:
            draft.put(("retries",), min(self.task_retries, openpai.MOST_RETRIES), ("taskRoles",))
