"""The registry's connections, with bodies that it takes its own way, for fuzzing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from functools import cache
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from danlu.registry.errors import Refusal
from danlu.registry.messages import Disconnected, read_request
from danlu.registry.serving import MOST_HEAD, BoundedProtocol
from tests.security.http_heads import Wire, requests_of

_MOST_BODY = 1 << 16


class Protocol(BoundedProtocol):
    most, count = 10, Counter()


def one_connection(chance: random.Random) -> None:
    """Whatever comes is answered in HTTP or not at all, and leaves nothing behind."""
    loop, config, errors = _set_up()
    loop.run_until_complete(_connection(chance, config))
    assert not errors, errors
    assert not Protocol.count, Protocol.count


async def _connection(chance: random.Random, config: uvicorn.Config) -> None:
    wire, state = Wire(), ServerState()
    wire.protocol = protocol = Protocol(config=config, server_state=state, app_state={})
    protocol.connection_made(wire)
    sent = requests_of(chance)
    rests = 0
    while sent and not wire.closed and rests < 100:
        step = chance.choice((1, 7, 100, 5000, 1 << 18))
        if not wire.paused:
            wire.protocol.data_received(sent[:step])
            sent = sent[step:]
        rests = rests + 1 if wire.paused else 0
        await asyncio.sleep(0)
        assert protocol._head <= MOST_HEAD + (1 << 18)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not wire.said or wire.said.startswith(b"HTTP/1.1 "), wire.said[:80]
    wire.close()
    wire.client.close()
    wire.protocol.connection_lost(None)
    if state.tasks:
        await asyncio.wait(state.tasks, timeout=5)
    await asyncio.sleep(0)
    wire.kernel.close()
    assert not state.tasks and not state.connections


@cache
def _set_up() -> tuple[asyncio.AbstractEventLoop, uvicorn.Config, list[dict[str, Any]]]:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it warns of every bad request
    loop, errors = asyncio.new_event_loop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    config = uvicorn.Config(_app, lifespan="off", log_config=None, ws="none", http=Protocol)
    config.load()
    return loop, config, errors


async def _app(scope: Any, receive: Any, send: Any) -> None:
    request = read_request(scope, receive, send)
    with contextlib.suppress(Disconnected):
        try:
            body = await request.body(_MOST_BODY)
        except Refusal:
            await request.answer(413)
        else:
            await request.answer(200, [("x-size", str(len(body)))])
