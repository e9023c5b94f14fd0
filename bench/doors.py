"""Ways into tasks: SSH, the web terminal and web doors. Each part yields rows of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import doors_lab, doors_ssh, doors_terminal, doors_web
from bench.measure import Options
from bench.table import Row

SUMMARY = "SSH against OpenSSH's own sshd, the web terminal, web doors, JupyterLab"

PARTS: tuple[Callable[[Options], Iterator[Row]], ...] = (
    doors_ssh.rows,
    doors_terminal.rows,
    doors_web.rows,
    doors_lab.rows,
)


def run(options: Options) -> Iterator[Row]:
    for part in PARTS:
        yield from part(options)
