"""What is typed into a job's terminal reaches the job, except what is meant for us."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from danlu.cli.feed import Keys
from danlu.cli.follow import LabelledSink


class Typist:
    def __init__(self, interrupt: bool | None = None) -> None:
        self.left = self.helped = self.asked = 0
        self._answer = interrupt
        asks = None if interrupt is None else self._ask
        self.keys = Keys(self._leave, self._help, asks)

    def _leave(self) -> None:
        self.left += 1

    def _help(self) -> None:
        self.helped += 1

    def _ask(self) -> bool:
        self.asked += 1
        return bool(self._answer)


def test_tilde_and_point_at_the_start_of_a_line_leave() -> None:
    typist = Typist()
    assert typist.keys(b"ls\r~.") == b"ls\r"
    assert typist.left == 1


def test_the_two_keys_may_come_apart() -> None:
    typist = Typist()
    assert [typist.keys(b"~"), typist.keys(b".")] == [b"", b""]
    assert typist.left == 1


def test_elsewhere_a_tilde_is_a_tilde() -> None:
    typist = Typist()
    assert typist.keys(b"cd ~.\r") == b"cd ~.\r"
    assert typist.keys(b"~/bin\r") == b"~/bin\r"
    assert typist.keys(b"~~\r") == b"~\r"
    assert typist.left == 0


def test_help_can_be_asked_for() -> None:
    typist = Typist()
    assert typist.keys(b"~?") == b""
    assert typist.helped == 1


def test_control_c_asks_and_may_be_kept_from_the_task() -> None:
    kept, given_on, direct = Typist(False), Typist(True), Typist()
    assert kept.keys(b"a\x03b") == b"ab"
    assert given_on.keys(b"a\x03b") == b"a\x03b"
    assert direct.keys(b"a\x03b") == b"a\x03b"
    assert (kept.asked, given_on.asked, direct.asked) == (1, 1, 0)


@given(st.lists(st.binary()))
def test_without_tildes_every_byte_arrives(pieces: list[bytes]) -> None:
    pieces = [piece.replace(b"~", b"-") for piece in pieces]
    typist = Typist()
    assert b"".join(typist.keys(piece) for piece in pieces) == b"".join(pieces)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_labelled_lines_are_whole_however_they_arrive(data: bytes, cuts: list[int]) -> None:
    import os

    reader, writer = os.pipe()
    sink = LabelledSink(writer, "1")
    at = 0
    for cut in [*sorted(cuts), len(data)]:
        sink(data[at:cut])
        at = max(at, min(cut, len(data)))
    sink.finish()
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        shown = file.read()
    lines = data.split(b"\n")
    whole = lines[:-1] + ([lines[-1]] if lines[-1] else [])
    assert shown == b"".join(b"1: " + line + b"\n" for line in whole)
