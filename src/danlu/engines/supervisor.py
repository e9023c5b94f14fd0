"""Questions to the supervisor of an environment: one JSON line in, one out."""

from __future__ import annotations

import json

from danlu.engines.api import Duplex

CONTROL = "/run/danlu/control.sock"
"""Where it listens, inside the task."""
_LONGEST = 64 << 10


async def ask(duplex: Duplex, question: dict[str, object]) -> object:
    """As trustworthy as the task. Raises OSError or ValueError; closes the connection."""
    try:
        await duplex.send(json.dumps(question).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            piece = await duplex.receive()
            if piece is None or len(line) > _LONGEST:
                raise ValueError("no answer")
            line += piece[1]
        return json.loads(line)
    finally:
        await duplex.close()
