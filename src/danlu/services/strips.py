"""The strip inside JupyterLab and VS Code: how long their environment still runs, and what can be
done about it there.

Whatever runs in a task can do the same in the name of whoever has its page open. So there is only
what harms nobody else: more time, within the limits of everybody, and the end of this environment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from danlu.access import rules
from danlu.access.errors import NotThere, Unfit
from danlu.control.context import Context
from danlu.services.web_doors import WebWay
from danlu.spec.text import EMPTY, Text
from danlu.store import environments as store

if TYPE_CHECKING:
    from danlu.services.environments import Environments

EXTEND_BY = "1h"


@dataclass(frozen=True, slots=True)
class Strip:
    owner: str
    name: str
    ends_in: float | None  # seconds until its time limit
    idle_in: float | None  # until its idle limit, if nobody uses it
    doing: Text
    acts: bool  # whether this person may extend and stop it
    saves: bool  # whether there is a container to save


class Strips:
    def __init__(self, context: Context, environments: Callable[[], Environments]) -> None:
        self._context = context
        self._environments = environments

    async def show(self, way: WebWay) -> Strip:
        """For somebody at a door. Raises AccessError: it is not one of an environment."""
        ref = await self._ref(way)
        found = await self._environments().show(way.asks.who, ref)
        row, now = found.row, time.time()
        image = row.saved_image or row.request.get("image")
        acts = rules.changes_environment(way.asks.who, row.owner)
        return Strip(
            row.owner,
            row.name,
            _left(found.ends_at, now),
            _left(found.idle_stop_at, now),
            found.doing or EMPTY,
            acts,
            acts and isinstance(image, str),
        )

    async def act(self, way: WebWay, what: str) -> Strip:
        ref = await self._ref(way)
        if what == "extend":
            found = await self._environments().show(way.asks.who, ref)
            by = EXTEND_BY if found.ends_at is not None else None
            await self._environments().extend(way.asks, ref, by)
        elif what == "stop":
            await self._environments().stop(way.asks, ref)
        else:
            raise Unfit("act", Text("extend or stop", "extend 或 stop"))
        return await self.show(way)

    async def _ref(self, way: WebWay) -> str:
        row = await self._context.store.read(lambda tx: store.of_job(tx, way.job_id))
        if row is None:
            raise NotThere(Text("environment behind this door", "与此页面对应的环境"))
        return row.ref


def _left(at: float | None, now: float) -> float | None:
    return None if at is None else max(0.0, at - now)
