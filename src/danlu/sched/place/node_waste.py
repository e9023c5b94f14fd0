"""The growth of expected waste on single nodes, without arrays: faster for a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from danlu.sched.api import WHOLE, Mix
from danlu.sched.place.free import Free, Need
from danlu.sched.place.waste import (
    CPU_STEP,
    CPU_STEPS,
    CROWDED,
    GRAIN,
    LEVELS,
    UNCROWDED,
    Crowds,
    Tables,
    crowds,
    waste_tables,
)

OPENING = 50.0
FULLER = 3e-4  # breaks ties in favour of fuller nodes, which keeps large gaps
DIGITS = 9  # so that equal nodes score equally, however they were scored


class NodeWaste:
    def __init__(self, mix: Mix, models: Sequence[str]) -> None:
        self._mix, self._models = mix, models
        self.crowded: Crowds = ()
        self.tables: Tables = waste_tables(mix, models, UNCROWDED)

    def learn(self, crowded: Crowds) -> bool:
        """Switches to the tables for that many gaps; returns whether they changed."""
        if crowded == self.crowded:
            return False
        self.crowded = crowded
        self.tables = waste_tables(self._mix, self._models, crowded)
        return True

    def table_of(self, free: Free) -> int:
        """Where the table of a node begins."""
        return (self.tables.of[free.models[0]] if free.models else 0) * self.tables.size

    def now(self, free: Free) -> float:
        """The expected waste of a node as it is."""
        each = max(free.millicpus, 0) / max(sum(free.gpus), 1)
        return self._waste(free.gpus, each, self.table_of(free))

    def growth(self, free: Free, need: Need, before: float) -> tuple[float, int]:
        """By how much the waste of a node grows with this task, infinite if it does not fit; and
        the GPU for a share. `before`: its waste now.
        """
        cpus = free.millicpus - need.millicpus
        if not free.usable or cpus < 0 or free.memory < need.memory:
            return inf, 0
        total = sum(free.gpus)
        if need.share:
            after, gpu = self._with_share(free, need, cpus / max(total - need.share, 1))
        elif need.gpus:
            after, gpu = self._with_gpus(free, need, cpus, total - WHOLE * need.gpus), 0
        else:
            after, gpu = self._waste(free.gpus, cpus / max(total, 1), self.table_of(free)), 0
        if after == inf:
            return inf, 0
        return round(after - before + FULLER * total, DIGITS), gpu

    def _with_gpus(self, free: Free, need: Need, cpus: int, total: int) -> float:
        if free.whole < need.gpus:
            return inf
        left, wanted, open_ = free.gpus[:], need.gpus, need.any_model
        for place, part in enumerate(free.gpus):
            if part == WHOLE and (open_ or need.accepts(free.models[place])):
                left[place] = 0
                wanted -= 1
                if not wanted:
                    break
        else:
            return inf
        return self._waste(left, cpus / max(total, 1), self.table_of(free))

    def _with_share(self, free: Free, need: Need, each: float) -> tuple[float, int]:
        steps, share, table = each / (1000 * CPU_STEP), need.share, self.table_of(free)
        now, least, chosen = 0.0, inf, 0
        known: dict[int, tuple[float, float]] = {}
        for place, part in enumerate(free.gpus):
            if not part:
                continue
            found = known.get(part)
            if found is None:
                here, growth = self._look_up(table, part, steps), inf
                if part >= share:
                    growth = self._look_up(table, part - share, steps) - here
                    growth -= OPENING if part == WHOLE else 0.0
                found = known[part] = (here, growth)
            now += found[0]
            if found[1] < least and need.accepts(free.models[place]):
                least, chosen = found[1], place
        return now + least, chosen

    def _waste(self, gpus: list[int], each: float, table: int) -> float:
        """Of a node whose GPUs have this much free, with this many CPUs for each part."""
        steps, waste = each / (1000 * CPU_STEP), 0.0
        known: dict[int, float] = {0: 0.0}
        for part in gpus:
            value = known.get(part)
            if value is None:
                value = known[part] = self._look_up(table, part, steps)
            waste += value
        return waste

    def _look_up(self, table: int, part: int, steps_of: float) -> float:
        steps = min(part * steps_of, CPU_STEPS - 1)
        low = int(steps)
        place = table + part // GRAIN * CPU_STEPS + low
        here = self.tables.flat[place]
        return here + (steps - low) * (self.tables.flat[place + 1] - here)


def best_node(
    context: Sequence[Free], mix: Mix, need: Need, suitable: bytearray | None
) -> tuple[int, tuple[int, ...]] | None:
    """The node where the waste grows least, and the GPU for a share; scores every node."""
    waste = NodeWaste(mix, sorted({model for free in context for model in free.models}))
    waste.learn(_crowds(context))
    best, best_at, gpu = inf, -1, 0
    for at, free in enumerate(context):
        if (suitable is None or suitable[at]) and free.usable:
            value, position = waste.growth(free, need, waste.now(free))
            if value < best:
                best, best_at, gpu = value, at, position
    if best_at < 0:
        return None
    return best_at, (gpu,) if need.share else ()


def _crowds(context: Sequence[Free]) -> Crowds:
    parts = [part for free in context for part in free.gpus if 0 < part < WHOLE]
    if len(parts) < CROWDED:
        return UNCROWDED
    holes = [0] * LEVELS
    for part in parts:
        holes[part // GRAIN] += 1
    return crowds(holes)
