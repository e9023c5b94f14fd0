"""Where one task of a gang runs: the one value for scheduler, store, engines and API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """The placements of a gang stand in a tuple, in the order of its tasks."""

    node: str
    gpus: tuple[int, ...] = ()  # indexes on the node; none where the engine does not tell them
    share: int = 0  # thousandths of the one GPU; 0: whole GPUs
    ports: tuple[int, ...] = ()  # leased there for this task
