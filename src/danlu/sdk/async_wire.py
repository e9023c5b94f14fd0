"""The same requests for programs that wait for many things at once."""

from __future__ import annotations

import asyncio
import contextlib

from danlu.sdk.address import Address
from danlu.sdk.errors import Lost, Unreachable
from danlu.sdk.parser import Parser
from danlu.sdk.wire import RECEIVE, Answer, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

KEPT = 8
"""Connections kept for the next request."""


class AsyncConnection:
    def __init__(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.address = address
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Lost(self.address.text, _cause(error)) from None

    async def receive(self, timeout: float | None) -> bytes:  # noqa: ASYNC109
        """What is there, waiting for at least one byte; b"" at the end."""
        try:
            return await asyncio.wait_for(self._reader.read(RECEIVE), timeout)
        except TimeoutError:
            raise Lost(self.address.text, "timed out") from None
        except OSError as error:
            raise Lost(self.address.text, _cause(error)) from None

    def is_open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # of a loop that is gone
            self._writer.close()


class AsyncWire:
    """Requests to one server; several at once have a connection each."""

    def __init__(self, server: str, token: str | None, timeout: float, ca_file: str | None) -> None:
        # Heads are written in one place; this one never connects.
        self.plain = Wire(server, token, timeout, ca_file)
        self.address = self.plain.address
        self.timeout = timeout
        self._ca_file = ca_file
        self._kept: list[AsyncConnection] = []

    async def connect(self) -> AsyncConnection:
        place = self.address
        try:
            async with asyncio.timeout(self.timeout):
                if place.path:
                    pair = await asyncio.open_unix_connection(place.path)
                else:
                    pair = await asyncio.open_connection(place.host, place.port, ssl=self._tls())
        except TimeoutError:
            raise Unreachable(place.text, "timed out") from None
        except OSError as error:
            raise Unreachable(place.text, _cause(error)) from None
        return AsyncConnection(place, *pair)

    def _tls(self) -> ssl.SSLContext | None:
        if not self.address.tls:
            return None
        import ssl

        return ssl.create_default_context(cafile=self._ca_file)

    async def call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        timeout: float | None,  # noqa: ASYNC109
        repeatable: bool,
    ) -> Answer:
        """One request, one whole answer; see `Wire.call`."""
        headers = {}
        if body is not None or method == "POST":
            headers = {"Content-Type": content_type, "Content-Length": str(len(body or b""))}
        message = self.plain.head(method, path, headers) + (body or b"")
        if self._kept:
            for _ in range(2):  # the loop may not have run for long: what has ended comes to light
                await asyncio.sleep(0)
        while self._kept:
            kept = self._kept.pop()
            if not kept.is_open():
                kept.close()
                continue
            try:
                return await self._exchange(kept, method, message, timeout)
            except Lost:
                if not repeatable:
                    raise
        return await self._exchange(await self.connect(), method, message, timeout)

    async def _exchange(
        self,
        link: AsyncConnection,
        method: str,
        message: bytes,
        timeout: float | None,  # noqa: ASYNC109
    ) -> Answer:
        parser = Parser(method)
        parts: list[bytes] = []
        sent = True
        try:
            try:
                await link.send(message)
            except Lost:
                # A server that refuses a large body answers and hangs up while we still send.
                sent = False
            while not parser.done:
                data = await link.receive(timeout or self.timeout)
                if not data and not parser.feed_end():
                    raise Lost(self.address.text, "the connection ended before the answer")
                parts.append(parser.feed(data) if data else b"")
        except BaseException:
            link.close()
            raise
        if sent and parser.keep_alive and len(self._kept) < KEPT:
            self._kept.append(link)
        else:
            link.close()
        return Answer(parser.status, parser.headers, b"".join(parts))

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()


def _cause(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
