"""Values of secrets are hidden in output, however it is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from danlu.control.masking import Mask, MaskedStream, hidden

ALPHABET = "ab\n"
SECRETS = st.lists(st.text(ALPHABET, min_size=1, max_size=20), min_size=1, max_size=3)


def masked(mask: Mask, pieces: list[bytes]) -> bytes:
    stream = MaskedStream(mask)
    return b"".join([*map(stream.feed, pieces), stream.end()])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(min(place, len(data)) for place in places)
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


def test_a_value_is_hidden_byte_by_byte() -> None:
    mask = Mask(["sk-123456789"])
    assert masked(mask, [b"key=sk-123456789;"]) == b"key=************;"
    assert masked(mask, [b"key=sk-12", b"3456789;"]) == b"key=************;"
    assert masked(mask, [bytes([byte]) for byte in b"key=sk-123456789;"]) == b"key=************;"


def test_short_values_are_not_hidden() -> None:
    assert not Mask(["1234567", " 1234567 \n"])
    assert Mask(["12345678"])


def test_line_breaks_stay_and_a_terminal_may_double_them() -> None:
    mask = Mask(["first-line\nsecond-line\n"])
    assert masked(mask, [b"first-line\nsecond-line\n"]) == b"**********\n***********\n"
    assert masked(mask, [b"first-line\r\nsecond-line\r\n"]) == b"**********\r\n***********\r\n"


def test_a_value_cut_off_by_the_end_is_hidden() -> None:
    assert masked(Mask(["sk-123456789"]), [b"key=sk-12345"]) == b"key=********"
    assert masked(Mask(["sk-123456789"]), [b"ask"]) == b"ask"


def test_waiting_output_shows_what_is_typed_but_no_part_of_a_value() -> None:
    stream = MaskedStream(Mask(["sk-123456789"]))
    assert stream.feed(b"$ s") + stream.pause() == b"$ s"
    assert stream.feed(b"k-12") + stream.pause() == b""
    assert stream.feed(b"3456789") == b"***********"
    assert stream.feed(b"s") + stream.pause() + stream.feed(b"t") == b"st"


@given(SECRETS, st.data())
def test_no_value_is_left_however_the_output_is_cut(
    secrets: list[str], data: st.DataObject
) -> None:
    mask = Mask(secrets)
    parts = st.sampled_from([*(value.encode() for value in mask.values and secrets), b"a", b"b\n"])
    whole = b"".join(data.draw(st.lists(parts, max_size=12)))
    pieces = cut(whole, data.draw(st.lists(st.integers(0, len(whole) + 1), max_size=8)))
    shown = masked(mask, pieces)
    assert len(shown) == len(whole)
    assert not any(value in shown for value in mask.values)
    assert all(now in (before, ord("*")) for now, before in zip(shown, whole, strict=True))


@given(st.binary(max_size=300), st.integers(1, 50))
def test_other_output_is_unchanged(output: bytes, size: int) -> None:
    mask = Mask(["a value that does not occur"])
    pieces = [output[at : at + size] for at in range(0, len(output), size)]
    assert masked(mask, pieces) == output


def test_a_value_of_repetitions_takes_no_longer() -> None:
    value = "a" * 60_000 + "b"
    mask = Mask([value])
    output = ("a" * 30_000 + "c") * 4 + value
    shown = masked(mask, cut(output.encode(), list(range(0, len(output), 4096))))
    assert shown.endswith(hidden(value.encode()))
