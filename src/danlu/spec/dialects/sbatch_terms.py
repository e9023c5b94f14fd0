"""Everything else in an sbatch script: queue, time, dependencies, files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.sbatch_times import is_past, read_time
from danlu.spec.errors import Path
from danlu.spec.forms import read_env
from danlu.spec.refs import NAME_PATTERN, parse_array
from danlu.spec.text import Text

_NAME = re.compile(NAME_PATTERN, re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_PLACEHOLDER = re.compile(r"[<>{}\[\]$]")
_VARIABLE = re.compile(r"\$[A-Za-z_{(]")
_AT_ONCE = re.compile(r"now(?:\+0+[a-z]*)?", re.ASCII | re.IGNORECASE)
_SIGNAL = re.compile(
    r"(?:[BR]{1,2}:)?(?:(?:SIG)?(?:HUP|INT|QUIT|ABRT|KILL|USR1|USR2|ALRM|TERM|CONT|STOP|TSTP"
    r"|TTIN|TTOU|URG|XCPU)|[1-9]|[1-5]\d|6[0-4])(?:@\d{1,5})?",
    re.ASCII | re.IGNORECASE,
)
_WHOLE = ("ALL", "NONE", "NIL")
_AFTER = {
    "after": "started",
    "afterany": "ended",
    "afterok": "succeeded",
    "afternotok": "failed",
    "aftercorr": "succeeded",
}
_JOB = re.compile(r"(\d{1,18})(?:_(\d{1,9}))?(?:\+\d+)?", re.ASCII)


class Terms:
    HANDLED: ClassVar[frozenset[str]] = frozenset(
        {
            "job-name",
            "partition",
            "account",
            "time",
            "begin",
            "output",
            "error",
            "input",
            "open-mode",
            "array",
            "dependency",
            "hold",
            "chdir",
            "export",
            "priority",
            "signal",
        }
    )

    def __init__(self, draft: Draft, given: Mapping[str, str], name: str) -> None:
        """`name`: the job's name if the script sets none."""
        self._draft = draft
        self._given = given
        self._name = name

    def build(self) -> None:
        draft, given = self._draft, self._given
        name = given.get("job-name")
        if name and name.strip():
            draft.name(name, ("--job-name",))
            self._name = str(draft.get(("name",)) or self._name)
        self._queue()
        if "time" in given:
            seconds = draft.read(read_time, given["time"], ("--time",))
            if seconds is not None and math.isfinite(seconds):
                draft.put(("time_limit",), seconds, ("--time",))
        self._start()
        if "hold" in given:
            draft.put(("held",), True, ("--hold",))
        self._files()
        self._array()
        self._dependency()
        self._folder()
        self._environment()
        self._warning()

    def _start(self) -> None:
        begin = self._given.get("begin", "").strip()
        if not begin or _AT_ONCE.fullmatch(begin):
            return
        if is_past(begin):
            self._draft.note(
                ("--begin",),
                Text(
                    f"{begin!r} has passed; the job does not wait for it",
                    f"{begin!r} 已经过去；任务不等待",
                ),
            )
            return
        self._draft.put(("held",), True, ("--begin",))
        self._draft.note(
            ("--begin",),
            Text(
                f"{begin!r}: the job is held; start it with danlu release JOB",
                f"{begin!r}：任务先挂起；danlu release 任务 使其开始",
            ),
        )

    def _queue(self) -> None:
        draft, given = self._draft, self._given
        partition = (given.get("partition") or "").strip()
        if _PLACEHOLDER.search(partition):
            draft.note(
                ("--partition",),
                Text(
                    f"{partition[:80]!r} is a placeholder that was not filled in; the job goes to "
                    "the default queue",
                    f"{partition[:80]!r} 是没有填写的占位符；任务进入默认队列",
                ),
            )
        elif partition:
            written, *others = [part.strip() for part in partition.split(",")]
            first = _NOT_IN_NAMES.sub("-", written).strip("-.")[:64] or written
            draft.put(("queue",), first, ("--partition",))
            if first != written:
                draft.note(
                    ("--partition",),
                    Text(
                        f"{written[:80]!r} is not a valid queue name here; using {first!r}",
                        f"{written[:80]!r} 不能作为这里的队列名；任务写作 {first!r}",
                    ),
                )
            if others:
                draft.note(
                    ("--partition",),
                    Text(
                        f"only one queue can be used: the first, {first}",
                        f"只用一个队列，即第一个：{first}",
                    ),
                )
        account = (given.get("account") or "").strip()
        if account and not _NAME.fullmatch(account):
            draft.note(
                ("--account",),
                Text(
                    f"{account!r} is not a valid group name here; the job counts against none",
                    f"{account!r} 不能作为这里的组名；任务不计入任何组",
                ),
            )
        elif account:
            draft.put(("group",), account, ("--account",))
            draft.note(
                ("--account",),
                Text(f"an account is a group here: {account}", f"账户在这里就是组：{account}"),
            )
        if given.get("priority", "").strip():
            draft.note(("--priority",), Text("is set by the queue's policy", "由队列策略决定"))

    def _files(self) -> None:
        given = self._given
        files: dict[str, Any] = {"output": _file(given, "output") or self._default_output()}
        for key in ("error", "input"):
            name = _file(given, key)
            if name and (key == "input" or name != files["output"]):
                files[key] = name  # stderr goes to the output file unless it has its own
        mode = given.get("open-mode")
        if mode is not None:
            if mode.strip().lower() not in ("append", "truncate", "a", "t"):
                self._draft.refuse(
                    ("--open-mode",),
                    mode,
                    Text("must be append or truncate", "应为 append 或 truncate"),
                )
            elif mode.strip().lower().startswith("a"):
                files["append"] = True
        self._draft.put(("files",), files, ("--output",))
        for key, name in files.items():
            self._draft.came_from(("files", key), (f"--{key}",))
            if isinstance(name, str) and _VARIABLE.search(name):
                self._draft.note(
                    (f"--{key}",),
                    Text(
                        f"{name!r}: variables are not expanded in #SBATCH lines; %u is the user, "
                        "%x the job's name, %j its number",
                        f"{name!r}：#SBATCH 行中的变量不会展开；%u 是用户，%x 是任务名，%j 是任务"
                        "编号",
                    ),
                )

    def _default_output(self) -> str:
        return "slurm-%A_%a.out" if "array" in self._given else "slurm-%j.out"

    def _array(self) -> None:
        value = self._given.get("array")
        if value is None:
            return
        text = "".join(value.split()).replace("[", "").replace("]", "")  # as printed by squeue
        head, percent, limit = text.partition("%")
        if head.isdigit():
            text = f"{head}-{head}{percent}{limit}"  # a single number is an index, not a count
        array = self._draft.read(parse_array, text, ("--array",))
        if array is not None:
            self._draft.put(("array",), text, ("--array",))

    def _dependency(self) -> None:
        value = (self._given.get("dependency") or "").strip()
        if not value:
            return
        draft, key = self._draft, ("--dependency",)
        if "?" in value:
            draft.refuse(
                key,
                value,
                Text(
                    "? (any of several) is not supported; use commas for all of them",
                    "不支持 ?（任一）",
                ),
            )
            return
        after: list[dict[str, str]] = []
        for part in value.split(","):
            kind, *jobs = part.strip().split(":")
            if kind == "singleton":
                after.append({"job": f"{self._name}-*", "when": "ended"})
            elif kind not in _AFTER or not jobs:
                every = ", ".join(_AFTER)
                draft.refuse(
                    key,
                    part,
                    Text(f"must be KIND:JOB with one of {every}", f"应为 类型:任务：{every}"),
                )
            else:
                after.extend(self._one(kind, job, key) for job in jobs)
        found = [each for each in after if each]
        if found:
            draft.put(("after",), found, key)

    def _one(self, kind: str, job: str, key: Path) -> dict[str, str]:
        match = _JOB.fullmatch(job.strip())
        if match is None:
            self._draft.refuse(key, job, Text("is not a job number", "不是任务编号"))
            return {}
        if kind == "aftercorr":
            self._draft.note(
                key, Text("each element waits for the whole array", "每个元素等待整个数组")
            )
        return {"job": job.strip().partition("+")[0], "when": _AFTER[kind]}

    def _folder(self) -> None:
        folder = (self._given.get("chdir") or "").strip()
        if not folder:
            return
        if folder.startswith("~"):
            folder = f"/userhome{folder[1:]}" if folder[1:2] in ("", "/") else folder
        self._draft.put(("workdir",), folder, ("--chdir",))

    def _environment(self) -> None:
        value = self._given.get("export")
        if value is None or value.strip().upper() in ("", *_WHOLE):
            return
        draft, key = self._draft, ("--export",)
        named: dict[str, str] = {}
        for part in value.split(","):
            name, equals, content = part.strip().partition("=")
            if equals:
                named[name] = content
                if _VARIABLE.search(content):
                    draft.note(
                        key,
                        Text(
                            f"{part.strip()[:80]!r}: variables are not expanded in #SBATCH lines; "
                            "the task gets the literal text",
                            f"{part.strip()[:80]!r}：#SBATCH 行中的变量不会展开；任务得到这些字符",
                        ),
                    )
            elif name.upper() not in _WHOLE:
                draft.note(
                    key,
                    Text(
                        f"{name} is only passed by the sbatch command",
                        f"只有 sbatch 命令会带上 {name}",
                    ),
                )
        env = draft.read(read_env, named, key)
        if env:
            known = draft.values.setdefault("env", {})
            known.update(env)

    def _warning(self) -> None:
        """Sent by `srun` or the script's runner, which learn of it through a variable."""
        value = (self._given.get("signal") or "").strip()
        if not value:
            return
        draft, key = self._draft, ("--signal",)
        match = _SIGNAL.fullmatch(value)
        if match is None:
            draft.refuse(
                key,
                value,
                Text(
                    "must be [B:]SIGNAL[@SECONDS], such as B:USR1@120",
                    "应为 [B:]信号[@秒数]，例如 B:USR1@120",
                ),
            )
            return
        draft.values.setdefault("env", {})["SLURM_JOB_SIGNAL"] = value.upper()
        if "time_limit" not in draft.values:
            draft.note(
                key,
                Text(
                    f"{value!r}: is sent before the time limit, but --time sets none",
                    f"{value!r}：在时间上限之前发送，但没有用 --time 给出上限",
                ),
            )


def _file(given: Mapping[str, str], key: str) -> str | None:
    """sbatch writes `none` for no file."""
    name = given.get(key)
    return "/dev/null" if name is not None and name.strip().lower() == "none" else name
