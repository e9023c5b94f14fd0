"""`ilaunch q QUEUE gpu 0,1,2,3 COMMAND`: a command on so many cards, in the foreground."""

from __future__ import annotations

from danlu.cli.shims.launching import launch
from danlu.cli.shims.trouble import Trouble, chosen

KEYS = ("q", "queue", "p", "gpu", "cpu", "c")


def ilaunch(words: list[str]) -> int:
    values, command = _read(words)
    if not command:
        raise Trouble(
            "write: ilaunch q QUEUE gpu 0,1 COMMAND", "写法：ilaunch q 队列 gpu 0,1 命令", 2
        )
    cards = [card for card in values.get("gpu", "").split(",") if card.strip()]
    if not all(card.strip().isdigit() for card in cards):
        raise Trouble(
            f"gpu {values['gpu']!r} is not a list of cards as in 0,1,2,3",
            f"gpu {values['gpu']!r} 不是卡号列表，例如 0,1,2,3",
            2,
        )
    notes: tuple[str, ...] = ()
    if cards:
        notes = (
            chosen(
                f"{len(cards)} cards are asked for; their numbers are not bound: the platform picks"
                " free ones, and the task sees them as 0, 1, ...",
                f"申请 {len(cards)} 张卡；卡号不固定：由平台选择空闲的卡，任务看到的编号从 0 开始",
            ),
        )
    queue = values.get("q") or values.get("queue") or values.get("p")
    cpus = values.get("cpu") or values.get("c")
    if cpus and not cpus.isdigit():
        raise Trouble(f"cpu {cpus!r} is not a number", f"cpu {cpus!r} 不是数字", 2)
    return launch("ilaunch", command, queue, len(cards), float(cpus) if cpus else None, notes=notes)


def _read(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Pairs of a key and a value, then the command; dashes in front of keys are fine."""
    values: dict[str, str] = {}
    at = 0
    while at + 1 < len(words) and words[at].lstrip("-") in KEYS:
        values[words[at].lstrip("-")] = words[at + 1]
        at += 2
    rest = words[at:]
    return values, rest[1:] if rest[:1] == ["--"] else rest
