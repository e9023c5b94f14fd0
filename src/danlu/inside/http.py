"""The few HTTP requests that the supervisor makes, over Unix sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

_LARGEST = 4 << 20
_PATIENCE = 10.0  # seconds


async def get(socket: str, path: str) -> tuple[int, bytes]:
    """Status and body. Raises OSError or ValueError: nobody answers, or not with HTTP."""
    async with asyncio.timeout(_PATIENCE):
        reader, writer = await asyncio.open_unix_connection(socket, limit=_LARGEST)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            return status, await reader.read(_LARGEST)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError) as error:
            raise ValueError("not an answer") from error
        finally:
            writer.close()


async def get_json(socket: str, path: str) -> Any:
    """None: there is no such answer."""
    try:
        status, body = await get(socket, path)
        return json.loads(body) if status == 200 else None
    except (OSError, ValueError, TimeoutError):
        return None
