"""A process that writes as fast as it can and prints each number once it is acknowledged.

Run as `python -m tests.store.hammer URL`; it is ended from outside with kill -9.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys

from danlu.store import Store, events, jobs
from danlu.store.tx import Tx
from tests.store.samples import a_job, an_event

WRITERS = 20


async def main(url: str, round_: str) -> None:
    store = Store.open(url)
    numbers = itertools.count()

    async def writer() -> None:
        for n in numbers:
            name = f"{round_}-{n}"

            def op(tx: Tx, name: str = name) -> None:
                jobs.insert_jobs(tx, [a_job(id=name)])
                events.append(tx, [an_event(name, name=name)])

            await store.write(op)
            os.write(1, f"{name}\n".encode())

    await asyncio.gather(*(writer() for _ in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
