"""sbatch scripts: `#SBATCH` lines become the job's needs, the script its command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.node_names import put_nodes
from danlu.spec.dialects.sbatch_container import Container
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

_DIRECTIVE = re.compile(r"#SBATCH(.*)$")
_OTHERS = re.compile(r"#(PBS|BSUB|COBALT|sbatch|Sbatch)[ \t]+-")
_HETEROGENEOUS = re.compile(r"(?:hetjob|packjob)\b")
_PARTS_EN = (
    "separates parts with needs of their own, and one script over such parts is not run; roles of a"
    " native job have their own needs"
)
_PARTS_ZH = "分隔需求不同的部分；不支持跨这些部分的脚本；原生任务的各个角色可以有各自的需求"
_STEPS_IMAGE = "srun --container-image"
_STEP_IMAGES = (
    "a step runs where its job runs, and srun refuses the option; give the whole job the image"
    " (#SBATCH --container-image=...), and leave it out there",
    "步骤在任务所在的环境中运行，srun 不接受该选项；请为整个任务指定镜像"
    "（#SBATCH --container-image=...），并在此处去掉",
)
USUAL_NAME = "sbatch"
_LONGEST = 32_768
"""Letters of one line of options. None needs that many, and reading a million takes its time."""

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
    Needs(draft, given, Room(defaults.node_cpus or 0, site.cards)).build()
    Terms(draft, given, str(options.offers.get("name") or USUAL_NAME)).build()
    container = Container(draft, given, site)
    container.build()
    line = container.look_at(script.text)
    if line is not None:
        lines[_STEPS_IMAGE] = line
        draft.note((_STEPS_IMAGE,), *_STEP_IMAGES)
    for option, native in _NODES.items():
        if given.get(option, "").strip():
            put_nodes(draft, native, given[option], site, (f"--{option}",))
    _note_rest(draft, given)
    script.put_command(given, options.arguments)
    values = _with_folder(draft, options)
    submission = draft.finish(options.values, values, defaults)
    return Converted(Dialect.SBATCH, (submission,), tuple(draft.notes))


def _with_folder(draft: Draft, options: Options) -> Mapping[str, Any]:
    """A folder given relative to where sbatch was called is known only to the caller."""
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
                "is relative to where the job is submitted, which is not known here; the job"
                " starts in the user's own folder",
                "是相对于提交位置的路径，这里不知道；任务从用户目录开始",
            )
    return offers


class _Script:
    def __init__(self, text: str, draft: Draft, lines: dict[str, int]) -> None:
        self.text = text
        self._draft = draft
        self._lines = lines

    def options(self, words: tuple[str, ...]) -> dict[str, str]:
        """What the directives ask for, then the command line; a later one wins."""
        found = self._directives()
        try:
            for given in parse(list(words), None):
                if given.name:
                    found.pop(given.name, None)  # what is said last stands last
                    found[given.name] = given.value
        except Unreadable as error:
            self._refuse(error.word, 1, error.en, error.zh)
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
                    "stands after the first command, where sbatch reads no options",
                    "位于第一条命令之后，sbatch 不读取那里的选项",
                )
                continue
            if _HETEROGENEOUS.match(words):
                if words[:40] not in self._lines:  # the first of them says it
                    self._refuse(words, number, _PARTS_EN, _PARTS_ZH)
                continue
            if len(words) > _LONGEST:
                en, zh = f"is longer than {_LONGEST} letters", f"超过 {_LONGEST} 个字符"
                self._refuse(f"#SBATCH {words}", number, en, zh)
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
            f"stands more than once, and the last one counts, not {before[:80]!r}",
            f"出现多次，以最后一个为准，而不是 {before[:80]!r}",
        )

    def _of_another(self, start: str, number: int) -> None:
        key = start.split()[0]
        self._lines.setdefault(key, number)
        self._draft.note(
            (key,),
            "begins lines that are not read here; only those that begin with #SBATCH are",
            "开头的行这里不读取；只读取以 #SBATCH 开头的行",
        )

    def _stray(self, word: str, number: int) -> None:
        key = word[:40]
        self._lines.setdefault(key, number)
        self._draft.note((key,), "is no option; it changes nothing", "不是选项；不起作用")

    def _parse(self, words: str, number: int) -> list[Given]:
        try:
            return parse(split_words(words), number)
        except Unreadable as error:
            few = len(self._draft.findings) <= MOST_PROBLEMS
            unknown = few and error.word.startswith("--") and error.word[2:] not in LONG
            near = nearest(error.word[2:], LONG) if unknown else None
            en = f"; did you mean --{near}?" if near else ""
            zh = f"；是否想写 --{near}？" if near else ""
            self._refuse(error.word, number, error.en + en, error.zh + zh)
            return []

    def _refuse(self, word: str, number: int, en: str, zh: str) -> None:
        key = word[:40] or "#SBATCH"
        self._lines[key] = number
        self._draft.findings.append(Finding((key,), NO_VALUE, en, zh))

    def put_command(self, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        draft = self._draft
        if "wrap" in given:
            draft.note(("--wrap",), "the script is run, not --wrap", "运行的是脚本，不是 --wrap")
        text = self.text
        if not any(_significant(line) for line in text.split("\n")):
            draft.refuse(("script",), NO_VALUE, "holds no command to run", "没有要运行的命令")
            return
        first, _, _ = text.partition("\n")
        words = first[2:].split() if first.startswith("#!") else []
        if not words:
            draft.note(
                (),
                "The script does not begin with #! (sbatch would refuse it); bash runs it",
                "脚本不以 #! 开头（sbatch 会拒绝）；由 bash 运行",
            )
            words = ["/bin/bash"]
        shell = words[0].rpartition("/")[2]
        if shell == "env" and len(words) > 1:
            # `env` only looks the interpreter up, which whoever starts the command does too.
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


# Any other interpreter is given the script as a file, as sbatch does.
_RUN_FILE = (
    'script=$(mktemp "${TMPDIR:-/tmp}/script.XXXXXX") && printf "%s" "$0" > "$script" && '
    'chmod 700 "$script" && { "$script" "$@"; code=$?; rm -f "$script"; exit $code; }'
)


def _significant(line: str) -> bool:
    bare = line.strip()
    return bool(bare) and not bare.startswith("#")


_SITE = (
    "names an environment of that cluster, which is not here; the native job's `image` runs the"
    " whole script in a container",
    "是那个集群的环境，这里没有；原生任务的 image 可让整个脚本在容器中运行",
)
_MEANINGLESS: dict[str, tuple[str, str]] = {
    "qos": ("priorities follow the queue's policy", "优先级由队列策略决定"),
    "comment": ("changes nothing", "不起作用"),
    "nodefile": ("nodes are chosen by the platform", "节点由平台选择"),
    "mail-type": ("no mail is sent yet; danlu wait JOB waits", "暂不发邮件；可用 danlu wait 任务"),
    "mail-user": ("no mail is sent yet; danlu wait JOB waits", "暂不发邮件；可用 danlu wait 任务"),
    "requeue": ("what the platform lost is run again anyway", "平台原因丢失的任务本来就会重新运行"),
    "no-requeue": (
        "what the platform itself lost is run again all the same",
        "平台原因丢失的任务仍会重新运行",
    ),
    "uid": ("a job runs as whoever submits it", "任务以提交者身份运行"),
    "gid": ("a job runs as whoever submits it", "任务以提交者身份运行"),
    "wait": ("is for the command sbatch", "是 sbatch 命令的选项"),
    "parsable": ("is for the command sbatch", "是 sbatch 命令的选项"),
    "test-only": ("is for the command sbatch", "是 sbatch 命令的选项"),
    "quiet": ("is for the command sbatch", "是 sbatch 命令的选项"),
    "verbose": ("is for the command sbatch", "是 sbatch 命令的选项"),
    "licenses": ("licenses are not counted here", "这里不统计许可证"),
    "reservation": ("there are no reservations to name", "没有可指定的预留"),
    "time-min": ("the time limit is not shortened", "时间上限不会缩短"),
    "deadline": (
        "a job that cannot end by then is queued all the same",
        "到时不能结束的任务仍会排队",
    ),
    "clusters": ("there is one cluster", "只有一个集群"),
    "tmp": ("disks are not counted here", "这里不统计磁盘"),
    "image": (
        "is for the program shifter, which is not here; the native job's `image` runs the whole"
        " script in a container",
        "用于 shifter 程序，这里没有；原生任务的 image 可让整个脚本在容器中运行",
    ),
    "environment": _SITE,
    "uenv": _SITE,
    "view": _SITE,
    "volume": ("is for the program shifter, which is not here", "用于 shifter 程序，这里没有"),
    "module": ("is for the program shifter, which is not here", "用于 shifter 程序，这里没有"),
    "nice": ("priority of the native job does that", "请用原生任务的 priority"),
    "killable": (
        "a job is stopped for others only where it says so: preemptible of the native job",
        "任务不会因他人而被停止，除非写明：原生任务的 preemptible",
    ),
    "get-user-env": (
        "the command sbatch takes the caller's environment along",
        "sbatch 命令会带上调用者的环境",
    ),
    **dict.fromkeys(
        ("cuda-mps", "nvmps"),
        ("cards are not shared by several programs here", "这里不让多个程序共用一张卡"),
    ),
}


def _note_rest(draft: Draft, given: Mapping[str, str]) -> None:
    handled = Needs.HANDLED | Terms.HANDLED | Container.HANDLED | _NODES.keys() | {"wrap"}
    for name, value in given.items():
        if name in handled or (name in FLAGS and name in ("help", "version", "usage")):
            continue
        en, zh = _MEANINGLESS.get(
            name,
            ("is a hint to Slurm that changes nothing here", "是给 Slurm 的提示，在这里不起作用"),
        )
        draft.note(
            (f"--{name}",), f"{value!r}: {en}" if value else en, f"{value!r}：{zh}" if value else zh
        )
