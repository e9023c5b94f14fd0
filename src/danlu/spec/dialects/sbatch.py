"""sbatch scripts: `#SBATCH` lines become the job's requirements, the script its command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.node_names import put_nodes
from danlu.spec.dialects.sbatch_container import Container
from danlu.spec.dialects.sbatch_given import with_given
from danlu.spec.dialects.sbatch_layout import Room
from danlu.spec.dialects.sbatch_needs import Needs
from danlu.spec.dialects.sbatch_options import (
    FLAGS,
    LONG,
    Given,
    Unreadable,
    parse,
    split_words,
)
from danlu.spec.dialects.sbatch_terms import Terms
from danlu.spec.errors import MOST_PROBLEMS, NO_VALUE, Finding, nearest, spec_error
from danlu.spec.text import EMPTY, Text

_DIRECTIVE = re.compile(r"#SBATCH(.*)$")
_OTHERS = re.compile(r"#(PBS|BSUB|COBALT|sbatch|Sbatch)[ \t]+-")
_HETEROGENEOUS = re.compile(r"(?:hetjob|packjob)\b")
_PARTS = Text(
    "separates parts with different requirements; such scripts are not supported. The roles of a "
    "native job can have different requirements",
    "分隔需求不同的部分；不支持跨这些部分的脚本；原生任务的各个角色可以有各自的需求",
)
_STEPS_IMAGE = "srun --container-image"
_STEP_IMAGES = Text(
    "a step runs in its job's environment, and srun does not accept this option; set the image "
    "for the whole job (#SBATCH --container-image=...), and remove it here",
    "步骤在任务所在的环境中运行，srun 不接受该选项；请为整个任务指定镜像"
    "（#SBATCH --container-image=...），并在此处去掉",
)
USUAL_NAME = "sbatch"
_LONGEST = 32_768
"""Characters of one option line. None needs that many, and a million would be slow to parse."""

_NODES = {"nodelist": "only", "exclude": "exclude"}
_SHELLS = ("bash", "sh", "zsh", "ksh", "dash")
_PLAIN_SHELLS = ("bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh")


def read(text: str, options: Options, site: Site, defaults: Defaults) -> Converted:
    lines: dict[str, int] = {}
    draft = Draft(lambda path: lines.get(str(path[0]), 1) if path else 1)
    script = _Script(text.replace("\r\n", "\n"), draft, lines)
    given = script.options(options.words)
    if draft.findings:
        raise spec_error(draft.findings, draft.line_of)
    draft.put(("variables",), "slurm", ())
    Needs(draft, given, site, Room(defaults.node_cpus or 0, site.gpus)).build()
    Terms(draft, given, str(options.offers.get("name") or USUAL_NAME)).build()
    container = Container(draft, given, site)
    container.build()
    line = container.look_at(script.text)
    if line is not None:
        lines[_STEPS_IMAGE] = line
        draft.note((_STEPS_IMAGE,), _STEP_IMAGES)
    for option, native in _NODES.items():
        if given.get(option, "").strip():
            put_nodes(draft, native, given[option], site, (f"--{option}",))
    _note_rest(draft, given)
    script.put_command(given, options.arguments)
    values = _with_folder(draft, options)
    submission = draft.finish(options.values, values, defaults)
    return Converted(Dialect.SBATCH, (submission,), tuple(draft.notes))


def _with_folder(draft: Draft, options: Options) -> Mapping[str, Any]:
    """A folder relative to where sbatch was called is known only to the caller."""
    offers = {"name": USUAL_NAME, **options.offers}
    folder = draft.values.get("workdir")
    if isinstance(folder, str) and not folder.startswith("/"):
        base = str(offers.get("workdir") or "")
        if base.startswith("/"):
            draft.values["workdir"] = f"{base.rstrip('/')}/{folder}"
        else:
            draft.values.pop("workdir")
            draft.note(
                ("--chdir",),
                Text(
                    "is relative to where the job is submitted, which is unknown here; the job "
                    "starts in the user's home",
                    "是相对于提交位置的路径，这里不知道；任务从用户目录开始",
                ),
            )
    return offers


class _Script:
    def __init__(self, text: str, draft: Draft, lines: dict[str, int]) -> None:
        self.text = text
        self._draft = draft
        self._lines = lines
        self._given: list[Given] = []  # on the command line

    def options(self, words: tuple[str, ...]) -> dict[str, str]:
        """The directives, then the command line; later ones win."""
        found = self._directives()
        try:
            for given in parse(list(words), None):
                self._given.append(given)
                if given.name:
                    found.pop(given.name, None)  # keeps the last one last
                    found[given.name] = given.value
        except Unreadable as error:
            self._refuse(error.word, 1, error.message)
        return found

    def _directives(self) -> dict[str, str]:
        found: dict[str, str] = {}
        over = False
        for number, line in enumerate(self.text.split("\n"), 1):
            match = _DIRECTIVE.match(line)
            if match is None and not over and (other := _OTHERS.match(line)):
                self._of_another(other[0][:40], number)
            if match is None:
                over = over or (bool(line.strip()) and not line.lstrip().startswith("#"))
                continue
            words = (match[1] or "").strip()
            if over:
                key = f"#SBATCH {words}"[:40]
                self._lines.setdefault(key, number)
                self._draft.note(
                    (key,),
                    Text(
                        "comes after the first command, where sbatch ignores options",
                        "位于第一条命令之后，sbatch 不读取那里的选项",
                    ),
                )
                continue
            if _HETEROGENEOUS.match(words):
                if words[:40] not in self._lines:  # reported at the first one only
                    self._refuse(words, number, _PARTS)
                continue
            if len(words) > _LONGEST:
                message = Text(f"is longer than {_LONGEST} characters", f"超过 {_LONGEST} 个字符")
                self._refuse(f"#SBATCH {words}", number, message)
                continue
            for given in self._parse(words, number):
                if not given.name:
                    self._stray(given.value, number)
                    continue
                self._again(given, found, number)
                found.pop(given.name, None)
                found[given.name] = given.value
                self._lines[f"--{given.name}"] = number
        return found

    def _again(self, given: Given, found: Mapping[str, str], number: int) -> None:
        before = found.get(given.name, given.value)
        if before == given.value or given.name.startswith("mail-"):
            return
        key = f"--{given.name}"
        self._lines[key] = number
        self._draft.note(
            (key,),
            Text(
                f"is set more than once; the last one counts, not {before[:80]!r}",
                f"出现多次，以最后一个为准，而不是 {before[:80]!r}",
            ),
        )

    def _of_another(self, start: str, number: int) -> None:
        key = start.split()[0]
        self._lines.setdefault(key, number)
        self._draft.note(
            (key,),
            Text(
                "lines are ignored; only #SBATCH lines are read",
                "开头的行会被忽略；只读取以 #SBATCH 开头的行",
            ),
        )

    def _stray(self, word: str, number: int) -> None:
        key = word[:40]
        self._lines.setdefault(key, number)
        self._draft.note((key,), Text("is not an option and has no effect", "不是选项；不起作用"))

    def _parse(self, words: str, number: int) -> list[Given]:
        try:
            return parse(split_words(words), number)
        except Unreadable as error:
            few = len(self._draft.findings) <= MOST_PROBLEMS
            unknown = few and error.word.startswith("--") and error.word[2:] not in LONG
            near = nearest(error.word[2:], LONG) if unknown else None
            hint = Text(f"; did you mean --{near}?", f"；是否想写 --{near}？") if near else EMPTY
            self._refuse(error.word, number, error.message + hint)
            return []

    def _refuse(self, word: str, number: int, message: Text) -> None:
        key = word[:40] or "#SBATCH"
        self._lines[key] = number
        self._draft.findings.append(Finding((key,), NO_VALUE, message))

    def put_command(self, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        draft = self._draft
        if "wrap" in given:
            draft.note(
                ("--wrap",), Text("has no effect; the script is run", "不起作用；运行的是脚本")
            )
        text = self.text
        if not any(_significant(line) for line in text.split("\n")):
            draft.refuse(("script",), NO_VALUE, Text("contains no command", "没有要运行的命令"))
            return
        text = with_given(_with_own_tmp(text), self._given)
        first, _, _ = text.partition("\n")
        words = first[2:].split() if first.startswith("#!") else []
        if not words:
            draft.note(
                (),
                Text(
                    "The script does not start with #! (sbatch would reject it); it is run with "
                    "bash",
                    "脚本不以 #! 开头（sbatch 会拒绝）；由 bash 运行",
                ),
            )
            words = ["/bin/bash"]
        shell = words[0].rpartition("/")[2]
        if shell == "env" and len(words) > 1:
            # `env` only looks up the interpreter, which starting the command does as well.
            rest = [word for word in words[1:] if word != "-S"]
            if rest and rest[0] in _SHELLS:
                words, shell = rest, rest[0]
        if words[0] in _PLAIN_SHELLS and len(words) == 1 and not arguments:
            draft.put(("command",), text, ("script",))
        elif shell in _SHELLS:
            name = str(draft.values.get("name") or "script")
            draft.put(("command",), [*words, "-c", text, name, *arguments], ("script",))
        else:
            draft.put(("command",), ["/bin/bash", "-c", _RUN_FILE, text, *arguments], ("script",))


# Other interpreters get the script as a file, as with sbatch.
_RUN_FILE = (
    'script=$(mktemp "${TMPDIR:-/tmp}/script.XXXXXX") && printf "%s" "$0" > "$script" && '
    'chmod 700 "$script" && { "$script" "$@"; code=$?; rm -f "$script"; exit $code; }'
)


_TMPDIR = re.compile(r"\bSLURM_TMPDIR\b")
_OWN_TMP = (
    'SLURM_TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/slurm.$SLURM_JOB_ID.XXXXXX") && export SLURM_TMPDIR'
    " && trap 'rm -rf -- \"$SLURM_TMPDIR\"' EXIT"
)


def _with_own_tmp(text: str) -> str:
    """A script that uses `$SLURM_TMPDIR` gets a folder of its own, which goes when it ends."""
    lines = text.split("\n")
    shell = lines[0].startswith("#!") and lines[0].split()[-1].rpartition("/")[2] in _SHELLS
    if not _TMPDIR.search(text) or (lines[0].startswith("#!") and not shell):
        return text
    at = next(number for number, line in enumerate(lines) if _significant(line))
    return "\n".join([*lines[:at], _OWN_TMP, *lines[at:]])


def _significant(line: str) -> bool:
    bare = line.strip()
    return bool(bare) and not bare.startswith("#")


_SITE = Text(
    "names an environment of that cluster, which does not exist here; use `image` of the native "
    "job to run the whole script in a container",
    "是那个集群的环境，这里没有；原生任务的 image 可让整个脚本在容器中运行",
)
_MEANINGLESS: dict[str, Text] = {
    "qos": Text("priorities follow the queue's policy", "优先级由队列策略决定"),
    "comment": Text("has no effect", "不起作用"),
    "nodefile": Text("nodes are chosen by the platform", "节点由平台选择"),
    "mail-type": Text(
        "mail is not available yet; use danlu wait JOB", "暂不发邮件；可用 danlu wait 任务"
    ),
    "mail-user": Text(
        "mail is not available yet; use danlu wait JOB", "暂不发邮件；可用 danlu wait 任务"
    ),
    "requeue": Text(
        "jobs lost by the platform are retried anyway", "平台原因丢失的任务本来就会重新运行"
    ),
    "no-requeue": Text(
        "jobs lost by the platform are retried all the same",
        "平台原因丢失的任务仍会重新运行",
    ),
    "uid": Text("jobs run as the user who submits them", "任务以提交者身份运行"),
    "gid": Text("jobs run as the user who submits them", "任务以提交者身份运行"),
    "wait": Text("applies to the sbatch command only", "只用于 sbatch 命令"),
    "parsable": Text("applies to the sbatch command only", "只用于 sbatch 命令"),
    "test-only": Text("applies to the sbatch command only", "只用于 sbatch 命令"),
    "quiet": Text("applies to the sbatch command only", "只用于 sbatch 命令"),
    "verbose": Text("applies to the sbatch command only", "只用于 sbatch 命令"),
    "licenses": Text("licenses are not counted here", "这里不统计许可证"),
    "reservation": Text("there are no reservations here", "没有可指定的预留"),
    "time-min": Text("the time limit is not shortened", "时间上限不会缩短"),
    "deadline": Text(
        "a job that cannot end by then is still queued",
        "到时不能结束的任务仍会排队",
    ),
    "clusters": Text("there is only one cluster", "只有一个集群"),
    "tmp": Text("disk space is not counted here", "这里不统计磁盘"),
    "image": Text(
        "is for shifter, which is not available; use `image` of the native job to run the whole "
        "script in a container",
        "用于 shifter 程序，这里没有；原生任务的 image 可让整个脚本在容器中运行",
    ),
    "environment": _SITE,
    "uenv": _SITE,
    "view": _SITE,
    "volume": Text("is for shifter, which is not available", "用于 shifter 程序，这里没有"),
    "module": Text("is for shifter, which is not available", "用于 shifter 程序，这里没有"),
    "nice": Text("use priority of the native job", "请用原生任务的 priority"),
    "killable": Text(
        "jobs are preempted only if they allow it: preemptible of the native job",
        "任务不会被抢占，除非写明：原生任务的 preemptible",
    ),
    "get-user-env": Text(
        "the sbatch command passes the caller's environment",
        "sbatch 命令会带上调用者的环境",
    ),
    **dict.fromkeys(
        ("cuda-mps", "nvmps"),
        Text("GPUs cannot be shared between programs here", "这里不让多个程序共用一张卡"),
    ),
}


def _note_rest(draft: Draft, given: Mapping[str, str]) -> None:
    handled = Needs.HANDLED | Terms.HANDLED | Container.HANDLED | _NODES.keys() | {"wrap"}
    for name, value in given.items():
        if name in handled or (name in FLAGS and name in ("help", "version", "usage")):
            continue
        message = _MEANINGLESS.get(
            name,
            Text("is a Slurm hint with no effect here", "是给 Slurm 的提示，在这里不起作用"),
        )
        draft.note(
            (f"--{name}",),
            message.after(repr(value)) if value else message,
        )
