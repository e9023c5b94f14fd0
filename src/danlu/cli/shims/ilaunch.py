"""`ilaunch q QUEUE gpu 0,1,2,3 COMMAND`: runs a command on as many GPUs, in the foreground."""

from __future__ import annotations

from danlu.cli.shims.launching import launch
from danlu.cli.shims.trouble import Trouble, chosen

KEYS = ("q", "queue", "p", "gpu", "cpu", "c")


def ilaunch(words: list[str]) -> int:
    values, command = _read(words)
    if not command or command[0].startswith("-"):
        raise Trouble(
            "usage: ilaunch q QUEUE gpu 0,1 COMMAND", "写法：ilaunch q 队列 gpu 0,1 命令", 2
        )
    gpus = [gpu for gpu in values.get("gpu", "").split(",") if gpu.strip()]
    if not all(gpu.strip().isdigit() for gpu in gpus):
        raise Trouble(
            f"gpu {values['gpu']!r} is not a list of GPUs such as 0,1,2,3",
            f"gpu {values['gpu']!r} 不是卡号列表，例如 0,1,2,3",
            2,
        )
    notes: tuple[str, ...] = ()
    if gpus:
        notes = (
            chosen(
                f"asking for {len(gpus)} GPU{'s' if len(gpus) > 1 else ''}; their numbers are not "
                "fixed: the platform picks free ones, and the task sees them as 0, 1, ...",
                f"申请 {len(gpus)} 张卡；卡号不固定：由平台选择空闲的卡，任务看到的编号从 0 开始",
            ),
        )
    queue = values.get("q") or values.get("queue") or values.get("p")
    cpus = values.get("cpu") or values.get("c")
    if cpus and not cpus.isdigit():
        raise Trouble(f"cpu {cpus!r} is not a number", f"cpu {cpus!r} 不是数字", 2)
    return launch("ilaunch", command, queue, len(gpus), float(cpus) if cpus else None, notes=notes)


def _read(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Pairs of key and value, then the command; keys may have dashes."""
    values: dict[str, str] = {}
    at = 0
    while at + 1 < len(words) and words[at].lstrip("-") in KEYS:
        values[words[at].lstrip("-")] = words[at + 1]
        at += 2
    rest = words[at:]
    return values, rest[1:] if rest[:1] == ["--"] else rest
