"""Small pieces of a layer become large ones before they are hashed and written.

Clients send pieces of 32 KiB. Hashing or writing each of them by itself gives up Python's lock
every time, and on a busy machine waits to get it back. The buffers are used again: new memory of
this size comes from the kernel page by page, which takes as long as filling it.
"""

from __future__ import annotations

SIZE = 1 << 20
MOST, LEAST = 8, 2
"""Buffers of one upload that wait to be written; then nothing more is read from its client. Many,
because on a busy machine a thread comes to its turn late, and few when others have many."""
_ALL = 32
_KEPT = 2 * LEAST


class Pool:
    """Of all uploads."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []
        self._out = 0

    @property
    def most(self) -> int:
        """How many of one upload may wait."""
        return MOST if self._out < _ALL else LEAST

    def take(self) -> bytearray:
        self._out += 1
        return self._free.pop() if self._free else bytearray(SIZE)

    def give_back(self, buffer: bytearray) -> None:
        self._out -= 1
        if len(self._free) < (MOST if self._out else _KEPT):
            self._free.append(buffer)
        elif not self._out:
            del self._free[_KEPT:]


class Buffers:
    """Of one upload."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._full: list[memoryview] = []
        self._now: bytearray | None = None
        self._at = 0

    @property
    def some(self) -> bool:
        return bool(self._full)

    @property
    def many(self) -> bool:
        return len(self._full) >= self._pool.most

    def add(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            if self._now is None:
                self._now, self._at = self._pool.take(), 0
            count = min(len(rest), SIZE - self._at)
            self._now[self._at : self._at + count] = rest[:count]
            self._at += count
            rest = rest[count:]
            if self._at == SIZE:
                self._end()

    def take(self, all_of_it: bool = False) -> list[memoryview]:
        """The full ones in their order; `all_of_it`: also the one that is not."""
        if all_of_it:
            self._end()
        taken, self._full = self._full, []
        return taken

    def give_back(self, written: list[memoryview]) -> None:
        for each in written:
            buffer = each.obj
            each.release()
            assert isinstance(buffer, bytearray)
            self._pool.give_back(buffer)
        written.clear()

    def _end(self) -> None:
        if self._now is not None:
            self._full.append(memoryview(self._now)[: self._at])
            self._now = None
