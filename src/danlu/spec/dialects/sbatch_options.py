"""Options of sbatch: their long and short names, and how the `#SBATCH` lines are read."""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass

from danlu.spec.dialects import sbatch_container

VALUED = {
    # long name -> short letter, for options that take a value
    "account": "A",
    "acctg-freq": "",
    "array": "a",
    "batch": "",
    "bb": "",
    "bbf": "",
    "begin": "b",
    "chdir": "D",
    "cluster-constraint": "",
    "clusters": "M",
    "comment": "",
    "constraint": "C",
    "container": "",
    "container-id": "",
    "core-spec": "S",
    "cores-per-socket": "",
    "cpu-bind": "",
    "cpu-freq": "",
    "cpus-per-gpu": "",
    "cpus-per-task": "c",
    "deadline": "",
    "delay-boot": "",
    "dependency": "d",
    "distribution": "m",
    "error": "e",
    "exclude": "x",
    "export": "",
    "export-file": "",
    "extra": "",
    "extra-node-info": "B",
    "gid": "",
    "gpu-bind": "",
    "gpu-freq": "",
    "gpus": "G",
    "gpus-per-node": "",
    "gpus-per-socket": "",
    "gpus-per-task": "",
    "gres": "",
    "gres-flags": "",
    "hint": "",
    "input": "i",
    "job-name": "J",
    "licenses": "L",
    "mail-type": "",
    "mail-user": "",
    "mcs-label": "",
    "mem": "",
    "mem-bind": "",
    "mem-per-cpu": "",
    "mem-per-gpu": "",
    "mincpus": "",
    "network": "",
    "nodefile": "F",
    "nodelist": "w",
    "nodes": "N",
    "ntasks": "n",
    "ntasks-per-core": "",
    "ntasks-per-gpu": "",
    "ntasks-per-node": "",
    "ntasks-per-socket": "",
    "open-mode": "",
    "output": "o",
    "partition": "p",
    "power": "",
    "prefer": "",
    "priority": "",
    "profile": "",
    "qos": "q",
    "reservation": "",
    "segment": "",
    "signal": "",
    "sockets-per-node": "",
    "switches": "",
    "thread-spec": "",
    "threads-per-core": "",
    "time": "t",
    "time-min": "",
    "tmp": "",
    "tres-bind": "",
    "tres-per-task": "",
    "uid": "",
    "wait-all-nodes": "",
    "wckey": "",
    "wrap": "",
    **dict.fromkeys(sbatch_container.VALUED, ""),
    # Of older versions, and of other plugins that clusters have: files name them.
    "checkpoint": "",
    "checkpoint-dir": "",
    "ear": "",
    "ear-policy": "",
    "ear-cpufreq": "",
    "environment": "",
    "gpu-cmode": "",
    "image": "",
    "module": "",
    "mpi": "",
    "nvidia-compute-mode": "",
    "perf": "",
    "uenv": "",
    "view": "",
    "volume": "",
}
FLAGS = {
    "contiguous": "",
    "cuda-mps": "",
    "disable-dcgm": "",
    "disable-perfparanoid": "",
    "disable-turbomode": "",
    "disable-stdout-job-summary": "",
    "help": "h",
    "hold": "H",
    "ignore-pbs": "",
    "kill-on-invalid-dep": "",
    "killable": "",
    "no-kill": "k",
    "no-requeue": "",
    "nvmps": "",
    "overcommit": "O",
    "oversubscribe": "s",
    "parsable": "",
    "quiet": "Q",
    "reboot": "",
    "requeue": "",
    "share": "",
    "spread-job": "",
    "stepmgr": "",
    "test-only": "",
    "usage": "",
    "use-min-nodes": "",
    "verbose": "v",
    "version": "V",
    "wait": "W",
    "x11": "",
    **dict.fromkeys(sbatch_container.FLAGS, ""),
}
OPTIONAL = frozenset(
    {
        *("exclusive", "get-user-env", "nice", "propagate", "kill-on-invalid-dep", "no-kill"),
        *("x11", "mpibind"),
    }
)
"""A value may follow after '=', and only there."""

OTHER_NAMES = {
    "workdir": "chdir",
    "cluster": "clusters",
    "tasks-per-node": "ntasks-per-node",
    "tasks": "ntasks",
    "gpu": "gpus",
    "jobname": "job-name",
    "walltime": "time",
    "cpus": "cpus-per-task",
    "name": "job-name",
    "email": "mail-user",
    "email-user": "mail-user",
    "email-type": "mail-type",
}
"""Older names and common slips."""

LONG = frozenset((*VALUED, *FLAGS, *OPTIONAL))
_IN_ORDER = sorted(LONG)
_SPECIAL = re.compile(r"['\"\\#]")
_SHORT = {short: name for table in (VALUED, FLAGS) for name, short in table.items() if short}


@dataclass(frozen=True, slots=True)
class Given:
    """One option as it stands in the file."""

    name: str
    value: str
    line: int | None


class Unreadable(ValueError):
    def __init__(self, word: str, en: str, zh: str) -> None:
        super().__init__(en)
        self.word = word
        self.en = en
        self.zh = zh


def split_words(text: str) -> list[str]:
    """As sbatch splits a directive: a backslash keeps any letter, also between quotes, and a '#'
    that nothing keeps ends the line, also within a word."""
    if not _SPECIAL.search(text):
        return text.split()
    words: list[str] = []
    current: list[str] = []
    begun = False  # a word may be empty: ''
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            if at < len(text):
                begun = True
                current.append(text[at])
                at += 1
        elif quote:
            if char == quote:
                quote = ""
            else:
                current.append(char)
        elif char.isspace():
            if begun:
                words.append("".join(current))
                current, begun = [], False
        elif char == "#":
            break
        else:
            begun = True
            if char in "'\"":
                quote = char
            else:
                current.append(char)
    if quote:
        raise Unreadable(text, "has a quote that is not closed", "引号没有闭合")
    if begun:
        words.append("".join(current))
    return words


def parse(words: list[str], line: int | None) -> list[Given]:
    """The options of one line or command. Raises `Unreadable`."""
    found: list[Given] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name = full_name(name)
            if name in OPTIONAL or name in FLAGS:
                found.append(Given(name, value, line))
                continue
            if not equals:
                if at >= len(words):
                    raise Unreadable(word, "needs a value", "需要一个值")
                value = words[at]
                at += 1
            found.append(Given(name, value, line))
        elif word.startswith("-") and len(word) > 1:
            at = _short(word, words, at, line, found)
        else:
            found.append(Given("", word, line))  # sbatch passes over what is no option
    return found


def _short(word: str, words: list[str], at: int, line: int | None, found: list[Given]) -> int:
    for place, letter in enumerate(word[1:], 2):
        name = _SHORT.get(letter)
        if name is None:
            raise Unreadable(f"-{letter}", "is not an option of sbatch", "不是 sbatch 的选项")
        if name in FLAGS:
            found.append(Given(name, "", line))
            continue
        value = word[place:].removeprefix("=")
        if not value:
            if at >= len(words):
                raise Unreadable(f"-{letter}", "needs a value", "需要一个值")
            value = words[at]
            at += 1
        found.append(Given(name, value, line))
        break
    return at


def full_name(name: str) -> str:
    """A long name, also when it is shortened as far as it stays one option's."""
    if name in LONG:
        return name
    name = name.replace("_", "-")  # as older versions wrote some of them
    if name in LONG:
        return name
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    close = _beginning_with(name) if len(name) > 1 else []
    if len(close) == 1:
        return close[0]
    if close:
        listed = ", ".join(f"--{each}" for each in close[:6])
        raise Unreadable(f"--{name}", f"could be any of: {listed}", f"可能是：{listed}")
    raise Unreadable(f"--{name}", "is not an option of sbatch", "不是 sbatch 的选项")


def _beginning_with(start: str) -> list[str]:
    first = bisect.bisect_left(_IN_ORDER, start)
    found = itertools.takewhile(lambda known: known.startswith(start), _IN_ORDER[first:])
    return list(found)
