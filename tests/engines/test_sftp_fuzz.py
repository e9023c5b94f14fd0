"""An SFTP server that is sent anything at all answers, or hangs up."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.engines.local.keeper import sftp

KINDS = st.sampled_from([1, *range(3, 21), 200, 0, 99, 255])
NUMBERS = st.sampled_from([0, 1, 2, 3, 8, 10, 26, 255, 1 << 18, 1 << 31, (1 << 32) - 1])
PATHS = st.sampled_from(
    [b"", b".", b"..", b"file", b"folder", b"folder/x", b"link", b"loop", b"a\0b", b"\xff\xfe"]
)
EXTENSIONS = st.sampled_from([name for name, _ in sftp._EXTENSIONS])


def text(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


FIELDS = st.one_of(
    NUMBERS.map(lambda number: struct.pack("!I", number)),
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: struct.pack("!II", *pair)),
    PATHS.map(text),
    EXTENSIONS.map(text),
    st.integers(1, 6).map(lambda number: text(struct.pack("!Q", number))),
    st.binary(max_size=40),
)
MESSAGES = st.tuples(KINDS, st.lists(FIELDS, max_size=6)).map(
    lambda parts: text(bytes([parts[0]]) + b"".join(parts[1]))
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    before = os.getcwd()
    yield tmp_path
    os.chdir(before)


def talk(folder: Path, data: bytes) -> bytes:
    """All that the server answers until it ends."""
    (theirs, ours), (back, out) = os.pipe(), os.pipe()
    got = bytearray()

    def read() -> None:
        while piece := os.read(back, 65536):
            got.extend(piece)

    def write() -> None:
        with open(ours, "wb") as file:
            file.write(data)

    threads = [threading.Thread(target=each) for each in (read, write)]
    for thread in threads:
        thread.start()
    try:
        server = sftp.Server(theirs, out, str(folder))
        server.run()
        for handle in server._handles.values():
            if isinstance(handle, int):
                os.close(handle)
    finally:
        while os.read(theirs, 65536):  # what it did not want to read
            pass
        os.close(theirs)
        os.close(out)
        for thread in threads:
            thread.join()
        os.close(back)
    return bytes(got)


def answers(data: bytes) -> int:
    count, at = 0, 0
    while at < len(data):
        (length,) = struct.unpack_from("!I", data, at)
        at, count = at + 4 + length, count + 1
    assert at == len(data), "whole messages only"
    return count


@settings(max_examples=150)
@given(messages=st.lists(MESSAGES, max_size=12), rest=st.binary(max_size=20))
def test_every_message_has_one_answer(
    tmp_path_factory: pytest.TempPathFactory, messages: list[bytes], rest: bytes
) -> None:
    folder = tmp_path_factory.mktemp("files") / "inner"  # .. is ours, too
    folder.mkdir()
    before = os.getcwd()
    try:
        (folder / "file").write_bytes(b"x" * 1000)
        (folder / "folder").mkdir()
        (folder / "link").symlink_to("file")
        (folder / "loop").symlink_to("loop")
        # Fewer than five bytes hold no number to answer to, unless they are a greeting.
        wanted = sum(len(each) >= 9 or each[4] == 1 for each in messages)
        got = answers(talk(folder, b"".join(messages)))
        assert got == wanted
        talk(folder, b"".join(messages) + rest)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("length", [0, 1 << 19, (1 << 32) - 1])
def test_an_impossible_length_ends_it(place: Path, length: int) -> None:
    assert talk(place, struct.pack("!I", length) + b"x" * 100) == b""


def test_odd_times_do_not_hide_a_folder(place: Path) -> None:
    (place / "old").touch()
    os.utime(place / "old", (0, -(1 << 40)))
    name = text(b".")
    asked = text(b"\x0b" + struct.pack("!I", 1) + name)
    asked += text(b"\x0c" + struct.pack("!I", 2) + text(struct.pack("!Q", 1)))
    assert b"old" in talk(place, asked)
