"""Searches a log for lines that contain a text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_LINE = 2**20
_LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Search:
    text: str
    ignore_case: bool = False
    limit: int = 100
    offset: int = 0  # start of a line
    line: int = 1  # number of that line


@dataclass(frozen=True, slots=True)
class Match:
    offset: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    matches: list[Match]
    next: tuple[int, int] | None  # offset and line to continue from; None: reached the end


class Scan:
    """Scans a log in chunks, without a Python step per line: logs may have millions of them."""

    def __init__(self, search: Search) -> None:
        self._needle = search.text.encode("utf-8", "surrogatepass")
        self._ignore_case = search.ignore_case
        if search.ignore_case:
            self._needle = self._needle.lower()
        self._limit = search.limit
        self._matches: list[Match] = []
        self._start, self._line = search.offset, search.line  # of the unscanned rest
        self._rest = b""

    def feed(self, piece: bytes) -> bool:
        """Returns True if there are more matches than requested."""
        data = self._rest + piece
        # An endless line is truncated.
        end = len(data) if len(data) > LONGEST_LINE else data.rfind(b"\n") + 1
        self._rest = data[end:]
        return self._look_through(data[:end])

    def finish(self) -> bool:
        rest, self._rest = self._rest, b""
        return self._look_through(rest)

    def found(self, done: bool) -> Found:
        return Found(self._matches, None if done else (self._start, self._line))

    def _look_through(self, block: bytes) -> bool:
        needle = self._needle
        text = block.lower() if self._ignore_case else block
        counted = 0
        place = -1 if b"\n" in needle else text.find(needle)
        while place >= 0:
            begin = block.rfind(b"\n", 0, place) + 1
            end = block.find(b"\n", place)
            end = len(block) if end < 0 else end
            self._line += block.count(b"\n", counted, begin)
            counted = begin
            if len(self._matches) == self._limit:
                self._start += begin
                return True
            self._matches.append(Match(self._start + begin, self._line, _shown(block[begin:end])))
            place = text.find(needle, end + 1) if end < len(block) else -1
        self._line += block.count(b"\n", counted)
        self._start += len(block)
        return False


def _shown(line: bytes) -> str:
    return line[:_LONGEST_SHOWN].decode("utf-8", "replace").rstrip("\r")
