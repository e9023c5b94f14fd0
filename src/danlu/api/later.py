"""Routes that are loaded when somebody first asks for one of them.

A server that only runs jobs needs little of the API, and the models of all of it take megabytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from fastapi import APIRouter
from starlette.routing import BaseRoute, Match
from starlette.types import Scope


class Later(BaseRoute):
    """Stands before the routes that it loads, and matches nothing itself.

    `modules` has the first part of a path, or the first and the last of three (`jobs/*/save`), and
    the modules (names with spaces between them) with every such route; `include` appends a
    module's routes to `routes`.
    """

    def __init__(
        self,
        base: str,
        modules: Mapping[str, str],
        routes: list[BaseRoute],
        include: Callable[[APIRouter], None],
    ) -> None:
        self._base = f"{base}/"
        self._modules = dict(modules)
        self._routes = routes
        self._include = include

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        if self._modules and path.startswith(self._base):
            parts = path[len(self._base) :].split("/")
            for key in (parts[0], f"{parts[0]}/*/{parts[-1]}"):
                names = self._modules.get(key)
                if names is not None:
                    self._load(names)  # the search for a route comes by what is added here
        return Match.NONE, {}

    def load_all(self) -> None:
        for name in reversed(dict.fromkeys(self._modules.values())):
            self._load(name)

    def _load(self, names: str) -> None:
        self._modules = {part: each for part, each in self._modules.items() if each != names}
        before = len(self._routes)
        for name in names.split():
            self._include(importlib.import_module(f"danlu.api.{name}").router)
        added = self._routes[before:]
        del self._routes[before:]
        here = self._routes.index(self) + 1
        self._routes[here:here] = added
