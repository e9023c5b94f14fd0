"""Offboarding: disable an account, stop its jobs and transfer what it owns."""

from __future__ import annotations

from danlu.access.people import People, Person
from danlu.access.principal import Asker
from danlu.files.handover import HandOver
from danlu.services.jobs import Jobs


class Leaving:
    def __init__(self, people: People, jobs: Jobs, handover: HandOver) -> None:
        self._people = people
        self._jobs = jobs
        self._handover = handover

    async def disable(self, asks: Asker, name: str, stop_jobs: bool) -> Person:
        """Locks a user out at once. Their jobs continue unless `stop_jobs` is set."""
        person = await self._people.disable(asks, name)
        if stop_jobs:
            await self._jobs.stop_all_of(name, asks.name)
        return person

    async def hand_over(self, asks: Asker, name: str, to: str) -> tuple[int, str]:
        """Transfers ended jobs and files; returns the number of jobs and the new location."""
        return await self._handover.give(asks, name, to)
