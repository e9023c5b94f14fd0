"""Ends streams when their user loses access."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any


async def while_allowed(
    pieces: AsyncIterator[bytes], barred: Coroutine[Any, Any, None]
) -> AsyncIterator[bytes]:
    """Ends a stream as soon as its user loses access."""
    me = asyncio.current_task()
    assert me is not None
    end = asyncio.create_task(barred)
    waits = False

    def interrupt(_: object) -> None:
        if waits:
            me.cancel()  # only while waiting, when it is caught below

    # No task per chunk: thousands of followers read line by line.
    end.add_done_callback(interrupt)
    try:
        while not end.done():
            waits = True
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                if not end.done() or me.uncancel():
                    raise
                return
            finally:
                waits = False
            yield piece
    finally:
        end.remove_done_callback(interrupt)
        end.cancel()
        await asyncio.gather(end, return_exceptions=True)
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
