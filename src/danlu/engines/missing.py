"""A placeholder for an engine no longer configured: the state of its jobs is unknown."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from danlu.engines.api import Engine, Placer, Unreachable


class _NoPorts:
    def __getattr__(self, name: str) -> Any:
        return lambda *args, **values: None


class _Missing:
    placer = Placer.DANLU

    def __init__(self, name: str) -> None:
        self.name = name
        self.ports = _NoPorts()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(Engine, name):
            raise AttributeError(name)
        return self._away

    def _away(self, *args: object, **values: object) -> NoReturn:
        raise Unreachable(f"engine {self.name} is no longer in danlu.toml")


def missing_engine(name: str) -> Engine:
    return cast(Engine, _Missing(name))
