"""A follower's verdict on what it received."""

import subprocess
import time
from pathlib import Path

import pytest
from bench.followers import Stream, collect, follow_file, printer

LINES = 5


@pytest.fixture(scope="module")
def printed() -> bytes:
    return subprocess.run(printer(LINES, 0.0), stdout=subprocess.PIPE, check=True).stdout


def stream(*pieces: bytes) -> Stream:
    return Stream(-1, lambda: None, None, [(time.time_ns(), piece) for piece in pieces])


def test_every_byte_in_any_pieces_is_exact(printed: bytes) -> None:
    one_by_one = [printed[index : index + 1] for index in range(len(printed))]
    for pieces in ([printed], [printed[:50], printed[50:]], one_by_one):
        delays = stream(*pieces).delays(LINES)
        assert delays is not None
        assert len(delays) == LINES
        assert all(delay > 0 for delay in delays)


def test_a_lost_a_changed_a_doubled_or_a_foreign_byte_is_not_exact(printed: bytes) -> None:
    lines = printed.splitlines(keepends=True)
    wrong = {
        "cut at the end": printed[:-1],
        "a lost line": b"".join(lines[:2] + lines[3:]),
        "a lost last line": b"".join(lines[:-1]),
        "a doubled line": b"".join([lines[0], *lines]),
        "a changed byte": printed.replace(b"\x80", b"?", 1),
        "decoded and encoded": printed.decode("latin-1").encode(),
        "something after the end": printed + b"x",
    }
    for what, received in wrong.items():
        assert stream(received).delays(LINES) is None, what


def test_lines_of_a_growing_file_are_all_collected(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = follow_file(path)
    try:
        with path.open("wb") as output:
            writer = subprocess.Popen(printer(LINES, 0.02), stdout=output)
        collect(
            [tail],
            lambda stream: sum(data.count(b"\n") for _, data in stream.pieces) == LINES,
            lambda: None,
        )
        assert writer.wait() == 0
    finally:
        tail.close()
    assert tail.delays(LINES) is not None
