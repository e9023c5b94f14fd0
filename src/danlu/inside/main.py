"""Dispatches to what runs in a task: the supervisor, and the tools that it starts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[list[str]], int]


def main(name: str, words: list[str]) -> int:
    return _program(name)(words)


def _program(name: str) -> Program:
    if name == "lab":
        from danlu.inside.lab import lab

        return lab
    if name == "tensorboard-server":
        from danlu.inside.tensorboard import tensorboard

        return tensorboard
    from danlu.inside import supervisor

    return supervisor.tensorboard if name == "tensorboard" else supervisor.environment
