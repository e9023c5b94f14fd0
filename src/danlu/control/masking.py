"""Replaces the values of secrets in output by asterisks. Pure, except for `mask_of`.

Every byte is replaced by one byte and line breaks stay, so that offsets and line numbers are those
of the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from danlu.store import secrets as secret_store
from danlu.store.store import Store

SHORTEST = 8  # bytes; shorter values occur in ordinary output
_TELLING = 4  # bytes of an incomplete value that are worth hiding
_ANCHOR = 16  # bytes
_MOST_TRIES = 64
_VISIBLE = re.compile(rb"[^\r\n]")


class Mask:
    """The values hidden in one job's output."""

    def __init__(self, values: Iterable[str]) -> None:
        found: set[bytes] = set()
        for value in values:
            plain = value.strip().encode("utf-8", "surrogatepass")
            # A terminal prints a line break as two bytes.
            found |= {plain, plain.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")}
        self.values = sorted((v for v in found if len(v) >= SHORTEST), key=len, reverse=True)
        self.reach = max(map(len, self.values), default=1) - 1

    def __bool__(self) -> bool:
        return bool(self.values)

    def apply(self, data: bytes) -> bytes:
        for value in self.values:
            if value in data:
                data = data.replace(value, hidden(value))
        return data

    def open_end(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a value."""
        return max((_open_end(data, value) for value in self.values), default=0)


class MaskedStream:
    """Masks output that arrives in pieces; a value may lie across any of them."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._before = b""  # already returned
        self._held = b""  # may be the beginning of a value

    def feed(self, piece: bytes) -> bytes:
        return self._take(self._held + piece, keep_open=True)

    def pause(self) -> bytes:
        """For when nothing more is there yet. What was typed is echoed, a cut value is not."""
        if len(self._held) >= _TELLING:
            return b""
        return self._take(self._held, keep_open=False)

    def end(self) -> bytes:
        held = self._held
        if len(held) < _TELLING:
            return self._take(held, keep_open=False)
        self._held = b""
        return hidden(held)

    def _take(self, data: bytes, keep_open: bool) -> bytes:
        whole = self._before + data
        start = len(self._before)
        open_end = self._mask.open_end(whole) if keep_open else 0
        # What was returned before cannot be taken back, only what follows it can be hidden.
        end = max(start, len(whole) - open_end)
        shown = self._mask.apply(whole)[start:end]
        self._held = whole[end:]
        self._before = whole[max(0, end - self._mask.reach) : end]
        return shown


async def mask_of(store: Store, owner: str, names: Collection[str]) -> Mask:
    """For a job that was given these secrets, now or before their values were changed."""
    if not names:
        return Mask(())
    return Mask(await store.read(lambda tx: secret_store.all_values(tx, owner, names)))


def hidden(value: bytes) -> bytes:
    return _VISIBLE.sub(b"*", value)


def _open_end(data: bytes, value: bytes) -> int:
    """The longest end of `data` that `value` begins with."""
    anchor = value[:_ANCHOR]
    start = max(0, len(data) - len(value) + 1)
    for _ in range(_MOST_TRIES):
        start = data.find(anchor, start)
        if start < 0:
            break
        if value.startswith(data[start:]):
            return len(data) - start
        start += 1
    else:
        # Holding back too much is safe, and only a value made of repetitions gets here.
        start = data.find(anchor, start)
        if start >= 0:
            return len(data) - start
    longest = min(_ANCHOR, len(value), len(data) + 1) - 1
    return next((n for n in range(longest, 0, -1) if data.endswith(value[:n])), 0)
