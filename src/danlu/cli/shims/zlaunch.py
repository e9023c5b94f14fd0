"""`zlaunch -q QUEUE --gpu=N -- COMMAND`: runs a command on N GPUs, in the foreground."""

from __future__ import annotations

import sys

from danlu.cli.shims import queues, slurm
from danlu.cli.shims.flags import Table
from danlu.cli.shims.launching import launch
from danlu.cli.shims.trouble import Trouble

CPUS = 10.0
TABLE = Table(
    {"queue": "q", "gpu": "g", "cpu": "c", "env": "e", "priority": "p", "label": "l"},
    {"list": "", "help": "h"},
    stop=True,
)


def zlaunch(words: list[str]) -> int:
    flags = TABLE.read(words)
    if flags.has("list"):
        sys.stdout.write("".join(f"{name}\n" for name in queues.names(slurm.client())))
        return 0
    if flags.has("help") or not flags.words:
        raise Trouble(
            "usage: zlaunch -q QUEUE --gpu=N -- COMMAND", "写法：zlaunch -q 队列 --gpu=N -- 命令", 2
        )
    gpus = _number(flags.get("gpu", "0"), "--gpu")
    cpus = _number(flags.get("cpu"), "--cpu") if flags.has("cpu") else CPUS
    env = dict(pair.partition("=")[::2] for pair in flags.all("env"))
    queue = flags.get("queue") if flags.has("queue") else None
    return launch("zlaunch", flags.words, queue, int(gpus), float(cpus), env)


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value < 0:
        raise Trouble(f"{option}={text} is not a number", f"{option}={text} 不是数字", 2)
    return value
