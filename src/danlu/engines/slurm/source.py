"""Slurm's nodes, partitions and queue: from slurmrestd where there is one, else from commands.

The daemon is a shorter way to the same answers and never the only one: while it does not answer as
expected, the commands are asked, and what they say counts, also that the controller is away.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TypeVar

from danlu.engines.api import Partition
from danlu.engines.slurm import inventory, queue
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.inventory import Node
from danlu.engines.slurm.queue import Entry
from danlu.engines.slurm.rest import Parts, Rest, Unusable

log = logging.getLogger("danlu.slurm")

_DETAIL = ("--oneliner", "--detail", "show")
_PAUSE = 60.0  # seconds without slurmrestd after it has failed

Found = TypeVar("Found")


class Source:
    def __init__(self, config: SlurmConfig, commands: Commands) -> None:
        self._commands = commands
        self._rest = Rest(config.slurmrestd, config.deadline) if config.slurmrestd else None
        self._not_before = 0.0  # monotonic
        self._rows: queue.Rows = {}

    def hides(self, hidden: bool) -> None:
        """With PrivateData, the daemon's user may not see everybody's jobs: those it leaves out
        would look gone.
        """
        if hidden and self._rest is not None:
            log.warning("slurmrestd is not used: slurm.conf has PrivateData")
            self._rest = None

    def queue(self) -> tuple[Entry, ...]:
        """Every job that Slurm still remembers. Blocks; raises Unreachable."""
        return self._from(
            lambda rest: tuple(queue.told(rest.jobs(), time.time())),
            lambda: queue.ask(self._commands, self._rows),
        )

    async def nodes(self) -> tuple[Node, ...]:
        return await asyncio.to_thread(
            self._from,
            Rest.nodes,
            lambda: inventory.nodes(self._commands.run_now("scontrol", *_DETAIL, "node")),
        )

    async def partitions(self) -> tuple[Partition, ...]:
        words = ("--oneliner", "show", "partition")
        return await asyncio.to_thread(
            self._from,
            Rest.partitions,
            lambda: inventory.partitions(self._commands.run_now("scontrol", *words)),
        )

    async def parts(self) -> Parts:
        """What each job holds on each of its nodes."""
        return await asyncio.to_thread(
            self._from,
            Rest.parts,
            lambda: inventory.used_gpus(self._commands.run_now("scontrol", *_DETAIL, "job")),
        )

    def _from(self, short: Callable[[Rest], Found], usual: Callable[[], Found]) -> Found:
        rest = self._rest
        if rest is not None and time.monotonic() >= self._not_before:
            try:
                found = short(rest)
            except Unusable as error:
                self._not_before = time.monotonic() + _PAUSE
                log.warning("slurmrestd is left out for a while: %s", error)
            else:
                return found
        return usual()
