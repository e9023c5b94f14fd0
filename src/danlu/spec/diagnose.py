"""Why a command ended: from its status and the end of its log to an actionable reason.

A log only counts if the status says that something failed, and only if nothing else failed later: a
program may print "out of memory", recover, and fail for another reason.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Mapping
from typing import NamedTuple

from danlu.spec.job import Resources
from danlu.spec.signs import SHARED_MEMORY_NEARBY, SIGNS, WORDS, find
from danlu.spec.states import PLATFORM_RETRIES, Reason, Retry, meaning
from danlu.spec.text import Text
from danlu.spec.units import format_size

TAIL = 64 << 10
MOST_EVIDENCE = 3
_MOST_LINES = 2000
_LONGEST_LINE = 1000
_LONGEST_SHOWN = 300

Detail = dict[str, str | int]


class Diagnosis(NamedTuple):
    reason: Reason
    detail: Detail  # code, signal, detail, limit: values for the reason's texts
    evidence: tuple[str, ...] = ()  # lines of the log that show it


# Exceptions that only report a failure elsewhere.
_PASSED_ON = re.compile(
    r"ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|"
    r"SystemExit|BrokenPipeError|ConnectionResetError|EOFError|KeyboardInterrupt|"
    r"RayTaskError|WorkerError|BrokenProcessPool|DataLoader worker"
)
_EXCEPTION = re.compile(
    r"(?:\[?rank ?\d+\]?:\s*)?(?:[A-Za-z_][\w.]{0,120})?"
    r"(?:Error|Exception|Exit|Interrupt|Exhausted|Pool)\b(?::.*)?"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)")
_CHAINED = re.compile(
    r"During handling of the above exception|direct cause of the following exception"
)

_SIGBUS = 7
SHARED_MEMORY_FULL = "shared_memory_full"
"""A hint from the engine that is not a reason in itself: many programs fill /dev/shm and
are fine.
"""
_DISK = re.compile(r"quota exceeded|(?:^|[\s'\"‘“:=(])/[\w.-]+", re.IGNORECASE)
_SHELL_SIGNALS = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31})
_NOT_FOUND = re.compile(
    r"(?:^|: )(?:exec: )?(?P<detail>[^\s:][^:]{0,200}): (?:command )?not found|"
    r"env: [‘'\"](?P<env>[^’'\"]{1,200})[’'\"]: No such file|"
    r"(?P<file>[^\s:][^:]{0,200}): No such file or directory"
)
_NOT_EXECUTABLE = re.compile(
    r"(?P<detail>[^\s:][^:]{0,200}): (?:Permission denied|cannot execute|Is a directory|"
    r"bad interpreter|Exec format error)",
    re.IGNORECASE,
)
_LIBRARY = re.compile(r"error while loading shared libraries")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}\x07?|.)")


def diagnose(
    code: int | None,
    signal: int | None = None,
    hint: str = "",
    detail: str = "",
    tail: bytes = b"",
    resources: Resources | None = None,
) -> Diagnosis:
    """Why a task ended. `hint` and `detail` come from the engine; `tail` is the end of the log.

    A command with status 0 has completed, whatever its log says.
    """
    if code == 0 and not signal:
        return Diagnosis(Reason.COMPLETED, {"code": 0})
    code, signal = _status(code, signal)
    facts: Detail = {} if code is None else {"code": code}
    if signal:
        facts["signal"] = signal_name(signal)
    if detail:
        facts["detail"] = printable(detail)
    known = _known(hint)
    if known is Reason.TIME_LIMIT and detail:
        facts["limit"] = facts.pop("detail")  # the engine's own limit
    lines = _lines(tail)
    if known is not None and known is not Reason.COMPLETED:
        return _finish(known, facts, _evidence_of(known, lines), resources)
    shell = _from_shell(code, lines, facts)
    if shell is not None:
        return shell
    found = _from_log(lines)
    if found is not None:
        reason, about, evidence = found
        if hint == SHARED_MEMORY_FULL and reason is Reason.DISK_FULL and _names_no_disk(evidence):
            reason = Reason.OUT_OF_SHARED_MEMORY
        if about:
            facts.setdefault("detail", about)
        return _finish(reason, facts, evidence, resources)
    if signal == _SIGBUS:
        return _finish(Reason.OUT_OF_SHARED_MEMORY, facts, (), resources)
    return Diagnosis(Reason.SIGNAL if signal else Reason.EXIT_CODE, facts, _last_words(lines))


def _names_no_disk(evidence: tuple[str, ...]) -> bool:
    """Whether lines about a full device leave open which one it is."""
    return not any(_DISK.search(line) for line in evidence)


def _status(code: int | None, signal: int | None) -> tuple[int | None, int | None]:
    """Code and signal: shells report a signal as 128 + n, Python as -n."""
    if signal:
        return 128 + signal if code is None else code, signal
    if code is not None and code < 0:
        return 128 - code, -code
    if code is not None and code - 128 in _SHELL_SIGNALS:
        return code, code - 128
    return code, None


def _known(hint: str) -> Reason | None:
    try:
        return Reason(hint) if hint else None
    except ValueError:
        return None


def _lines(tail: bytes) -> list[str]:
    r"""Lines as a terminal would show them: progress bars overwrite themselves with \r."""
    text = tail[-TAIL:].decode("utf-8", "replace")
    lines = []
    for line in re.split(r"[\r\n]+", text):
        plain = _ESCAPES.sub("", line)
        if len(plain) > _LONGEST_LINE:
            plain = plain[: _LONGEST_LINE // 2] + " … " + plain[-_LONGEST_LINE // 2 :]
        if plain.strip():
            lines.append(plain)
    return lines[-_MOST_LINES:]


def _from_shell(code: int | None, lines: list[str], facts: Detail) -> Diagnosis | None:
    if code not in (126, 127):
        return None
    pattern = _NOT_FOUND if code == 127 else _NOT_EXECUTABLE
    reason = Reason.COMMAND_NOT_FOUND if code == 127 else Reason.NOT_EXECUTABLE
    for line in reversed(lines[-10:]):
        if _LIBRARY.search(line):
            return None
        match = pattern.search(line)
        if match:
            about = next(text for text in match.groupdict().values() if text)
            facts.setdefault("detail", printable(about))
            return Diagnosis(reason, facts, (shown(line),))
    # A program that prints something and then exits with 126 or 127 has its own meaning for it.
    return None if lines else Diagnosis(reason, facts)


def _from_log(lines: list[str]) -> tuple[Reason, str, tuple[str, ...]] | None:
    found: dict[Reason, list[re.Match[str]]] = {}
    for index in range(_failure_start(lines), len(lines)):
        match = _sign_in(lines, index)
        if match:
            found.setdefault(match[0], []).append(match[1])
    for sign in SIGNS:
        matches = found.get(sign.reason)
        if matches:
            about = next((text for text in matches[-1].groupdict().values() if text), "")
            return sign.reason, printable(about), _evidence([match.string for match in matches])
    return None


def _sign_in(lines: list[str], index: int) -> tuple[Reason, re.Match[str]] | None:
    lower = lines[index].lower()
    if not any(word in lower for word in WORDS):
        return None
    found = find(lines[index])
    if found and found[0] is Reason.DISK_FULL and _names_shared_memory(lines, index):
        return Reason.OUT_OF_SHARED_MEMORY, found[1]
    return found


def _names_shared_memory(lines: list[str], index: int) -> bool:
    """In the lines just before. As one text: asked for thousands of lines, it is still quick."""
    return SHARED_MEMORY_NEARBY.search("\n".join(lines[max(0, index - 20) : index + 1])) is not None


def _failure_start(lines: list[str]) -> int:
    """The line from which on the log is about the end.

    If the last exception is not a known one, errors logged before its traceback were survived,
    unless the traceback says that one caused the other.
    """
    last = _last_exception(lines)
    if last is None or _PASSED_ON.search(lines[last]) or find(lines[last]):
        return 0
    for index in range(last, -1, -1):
        if _TRACEBACK.search(lines[index]):
            before = lines[max(0, index - 3) : index]
            if not any(_CHAINED.search(line) for line in before):
                return index
    return 0


def _last_exception(lines: list[str]) -> int | None:
    for index in range(len(lines) - 1, -1, -1):
        if _EXCEPTION.match(lines[index].strip()):
            return index
    return None


def _evidence_of(reason: Reason, lines: list[str]) -> tuple[str, ...]:
    found = (_sign_in(lines, index) for index in range(len(lines)))
    return _evidence([each[1].string for each in found if each and each[0] is reason])


def _evidence(lines: list[str]) -> tuple[str, ...]:
    distinct = dict.fromkeys(shown(line) for line in lines)
    return tuple(list(distinct)[-MOST_EVIDENCE:])


def _last_words(lines: list[str]) -> tuple[str, ...]:
    last = _last_exception(lines)
    return (shown(lines[last]),) if last is not None else tuple(map(shown, lines[-1:]))


def _finish(
    reason: Reason, facts: Detail, evidence: tuple[str, ...], resources: Resources | None
) -> Diagnosis:
    if resources is not None:
        if reason is Reason.OUT_OF_MEMORY:
            facts["limit"] = format_size(resources.memory)
        if reason is Reason.OUT_OF_SHARED_MEMORY:
            facts["limit"] = format_size(resources.shm)
    return Diagnosis(reason, facts, evidence)


def signal_name(number: int) -> str:
    """SIGKILL (9)"""
    try:
        return f"{signals.Signals(number).name} ({number})"
    except ValueError:
        return str(number)


def shown(line: str) -> str:
    """A line of a log, shortened and safe to print."""
    text = printable(line)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def printable(text: str) -> str:
    """Removes anything that could move a terminal's cursor or reverse text."""
    plain = _ESCAPES.sub("", text)
    if not plain.isprintable():
        plain = "".join(
            char if char.isprintable() else " " if char.isspace() else "" for char in plain
        )
    return plain.strip()


class _Facts(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def describe(reason: Reason, detail: Mapping[str, object]) -> Text:
    """What happened, with the details filled in."""
    return meaning(reason).message.format(_facts(detail))


def advise(reason: Reason, detail: Mapping[str, object], ended: bool = True) -> Text:
    """What to do about it; empty if there is nothing to do.

    `ended`: the job is over, so the platform has given up retrying.
    """
    found = meaning(reason)
    advice = found.advice.format(_facts(detail))
    if found.retry is not Retry.PLATFORM:
        return advice
    if ended:
        return Text(
            f"Given up after {PLATFORM_RETRIES} retries. {advice.en}",
            f"重试 {PLATFORM_RETRIES} 次后放弃。{advice.zh}",
        )
    return Text(
        f"It is retried automatically; if it persists, {advice.en[:1].lower()}{advice.en[1:]}",
        f"平台会自动重试；若持续出现，{advice.zh}",
    )


def _facts(detail: Mapping[str, object]) -> _Facts:
    return _Facts({key: shown(str(value)) for key, value in detail.items() if value is not None})
