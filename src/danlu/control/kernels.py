"""Asks the supervisors of environments whether a notebook kernel is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from danlu.control.live_job import LiveJob
from danlu.engines.api import Endpoint, Engine, Refused, TaskRef, Unreachable
from danlu.engines.supervisor import CONTROL, ask
from danlu.spec.job import RunAs

_PATIENCE = 5.0


class SupervisorKernels:
    def __init__(self, engine_of: Callable[[LiveJob], Engine]) -> None:
        self._engine_of = engine_of

    async def busy(self, job: LiveJob) -> bool:
        attempt = job.attempt
        if attempt is None or job.spec.roles[0].command.run_as is not RunAs.TOOL:
            return False
        task = TaskRef(attempt.id, 0, job.id, attempt.handle)
        return await busy_kernels(self._engine_of(job), task) > 0


async def busy_kernels(engine: Engine, task: TaskRef) -> int:
    """A supervisor that does not answer knows of none."""
    try:
        async with asyncio.timeout(_PATIENCE):
            duplex = await engine.connect(task, Endpoint(path=CONTROL))
            answer = await ask(duplex, {"status": 1})
    except (Refused, Unreachable, OSError, ValueError):
        return 0
    kernels = answer.get("kernels") if isinstance(answer, dict) else None
    busy = kernels.get("busy") if isinstance(kernels, dict) else None
    return busy if isinstance(busy, int) else 0
