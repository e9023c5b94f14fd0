"""Dispatches to the programs of a batch job: batch, node, srun and scontrol."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[list[str]], int]


def main(name: str, words: list[str]) -> int:
    program = _program(name)
    try:
        return program(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141
    except Trouble as trouble:
        sys.stderr.write(f"{name}: error: {trouble}\n")
        return 1


class Trouble(Exception):
    """An error that ends a program; its message is shown to the user."""


def _program(name: str) -> Program:
    if name == "danlu-batch":
        from danlu.steps.batch import batch

        return batch
    if name == "danlu-node":
        from danlu.steps.node import node

        return node
    if name == "srun":
        from danlu.steps.srun import srun

        return srun
    from danlu.steps.scontrol import scontrol

    return scontrol
