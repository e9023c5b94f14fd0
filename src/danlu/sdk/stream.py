"""Server-sent events: a stream that knows its position and resumes after it."""

from __future__ import annotations

from danlu.sdk.errors import Lost, ProtocolError, api_error
from danlu.sdk.fastjson import loads
from danlu.sdk.parser import Parser
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.wire import Connection, Wire

LONGEST = 64 * 1024 * 1024


class Blocks:
    """Parses server-sent events from bytes as they arrive."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self._held = b""

    def feed(self, data: bytes) -> list[tuple[str, str]]:
        """Complete events: (kind, data). Comments and bare ids are recorded, not returned."""
        *blocks, self._held = (self._held + data.replace(b"\r\n", b"\n")).split(b"\n\n")
        if len(self._held) > LONGEST:
            raise ProtocolError("an event without end")
        found = [self._read(block.decode("utf-8", "replace")) for block in blocks]
        return [event for event in found if event is not None]

    def _read(self, block: str) -> tuple[str, str] | None:
        kind, lines = "message", []
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                lines.append(value)
        return (kind, "\n".join(lines)) if lines else None


class EventStream:
    """Open it, then call `pump` whenever its descriptor is readable."""

    def __init__(
        self,
        wire: Wire,
        base: str,
        *,
        jobs: str | None = None,
        owner: str | None = None,
        kind: str | None = None,
        nodes: bool = False,
        after: int | None = None,
        beat: float | None = None,
    ) -> None:
        self.after = after  # seq of the last known event
        self._wire = wire
        self._path = f"{base}/stream"
        self._query = {
            "jobs": jobs,
            "owner": owner,
            "kind": kind,
            "nodes": nodes or None,
            "beat": beat,
        }
        self._link: Connection | None = None
        self._parser = Parser()
        self._blocks = Blocks()
        self._refusal = b""

    def open(self) -> None:
        """(Re)connects and requests what follows the last event."""
        self.close()
        head = self.begin()
        self._link = self._wire.connect()
        self._link.send(head)

    def begin(self) -> bytes:
        """The request for what follows; resets the parser for its answer."""
        self._parser, self._blocks, self._refusal = Parser(), Blocks(), b""
        path = target(self._path, {**self._query, "after": self.after})
        return self._wire.head("GET", path)

    def fileno(self) -> int:
        return self._link.fileno() if self._link else -1

    @property
    def is_open(self) -> bool:
        return self._link is not None

    def set_timeout(self, timeout: float | None) -> None:
        if self._link:
            self._link.set_timeout(timeout)

    def pump(self) -> list[model.StreamEvent]:
        """Received events; waits for at least a keep-alive. Raises Lost when the connection
        ends.
        """
        if self._link is None:
            raise Lost(self._wire.address.text, "not connected")
        return self.take(self._link.receive())

    def take(self, data: bytes) -> list[model.StreamEvent]:
        """The events in the bytes received; no bytes: the connection ended."""
        where, parser = self._wire.address.text, self._parser
        body = parser.feed(data) if data else b""
        over = parser.feed_end() if not data else parser.done
        if parser.has_head and parser.status >= 400:
            self._refusal += body
            if over:
                self.close()
                raise api_error(parser.status, self._refusal)
            return []
        if not data and not body:
            raise Lost(where, "the connection ended")
        events = [_event(kind, text) for kind, text in self._blocks.feed(body)]
        if self._blocks.last_id is not None and self._blocks.last_id.isdigit():
            self.after = int(self._blocks.last_id)
        if over:
            self.close()
            if not events:
                raise Lost(where, "the stream ended")
        return events

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _event(kind: str, text: str) -> model.StreamEvent:
    try:
        data: dict[str, Any] = loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError("an event is not JSON") from None
    if not isinstance(data, dict):
        raise ProtocolError("an event is not an object")
    event: model.StreamEvent = {"type": kind, **data}  # type: ignore[typeddict-item]
    return event
