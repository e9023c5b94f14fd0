"""Requests to a user's helper as the services see them: answers, or faults in words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from danlu.files.helper.wire import HEAD
from danlu.files.helpers import PATIENCE, Away, Call
from danlu.services.file_words import FileFault, fault

Values = dict[str, Any]
SLOW = 60.0  # seconds for what looks at many files, but is answered at once


class Transfer:
    """Bytes on their way; `about` is what the helper says of them first."""

    def __init__(self, call: Call, about: Values) -> None:
        self._call = call
        self.about = about

    async def pieces(self, part: tuple[int, int] | None) -> AsyncIterator[bytes]:
        """`part`: None if its length is not known before. Raises FileFault."""
        try:
            start, stop = part or (0, 0)
            await self._call.send({"start": start, "stop": stop})
            if part is None:
                while piece := await self._call.piece(patience=SLOW):
                    yield piece
            while start < stop:
                piece = await self._call.some(stop - start, SLOW)
                start += len(piece)
                yield piece
        except Away as away:
            raise FileFault(away.code) from None

    @property
    def pipe(self) -> int | None:
        """By which bytes can go as well: down after `piped`, up until the first `write`."""
        return self._call.pipe

    async def piped(self, part: tuple[int, int]) -> None:
        """Has a part sent by the pipe. Raises FileFault."""
        try:
            await self._call.send({"start": part[0], "stop": part[1], "piped": True})
        except Away as away:
            raise FileFault(away.code) from None

    def stuck(self) -> FileFault:
        """The helper neither reads nor writes."""
        self._call.is_stuck()
        return FileFault("volume_away")

    async def lines(self) -> AsyncIterator[Values]:
        """Answer after answer, until the last."""
        try:
            values = self.about
            while True:
                yield values
                if "end" in values:
                    return
                values = await answer_of(self._call, SLOW)
        finally:
            self._call.close()

    def buffer(self) -> bytearray:
        """To be filled with at most a megabyte, and written."""
        return bytearray(HEAD.size)

    async def write(self, data: bytearray) -> None:
        """An empty buffer is the end. Raises FileFault, for what the helper says of it."""
        self._call.close_pipe()  # the helper reads it to its end first
        try:
            await self._call.send_framed(data)
        except Away as away:
            if away.code == "interrupted":
                await self.result()  # the helper has said why, before it closed
            raise FileFault(away.code) from None

    async def result(self) -> Values:
        return await answer_of(self._call, SLOW)

    def close(self) -> None:
        self._call.close()


async def answer_of(call: Call, patience: float = PATIENCE) -> Values:
    """Raises FileFault for what the helper refuses, and if it does not answer."""
    try:
        values = await call.answer(patience)
    except Away as away:
        raise FileFault(away.code, away.path) from None
    if "error" in values:
        raise fault(values)
    return values
