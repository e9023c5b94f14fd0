"""What a task printed: byte for byte, live, from any offset, over every attempt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.api.harness import Harness, eventually, wait_for_file
from tests.support.folders import open_python

EVERY_BYTE = bytes(range(256)) * 8 + b"\r\n\xff\xfe\x00 no newline at the end"


def test_output_is_kept_byte_for_byte(harness: Harness, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(EVERY_BYTE)
    job = harness.run(f"cat {blob}")
    assert harness.log(job) == EVERY_BYTE
    answer = harness.http.get(f"/jobs/{job['id']}/logs")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-log-size"] == str(len(EVERY_BYTE))
    assert answer.headers["x-log-offset"] == "0"


@pytest.mark.parametrize(
    ("offset", "limit"), [(0, 0), (0, 1), (5, 10), (2000, 10**6), (10**6, 5), (255, 2)]
)
def test_any_part_can_be_read(harness: Harness, tmp_path: Path, offset: int, limit: int) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(EVERY_BYTE)
    job = harness.run(f"cat {blob}")
    assert harness.log(job, offset=offset, limit=limit) == EVERY_BYTE[offset : offset + limit]
    assert harness.log(job, offset=offset) == EVERY_BYTE[offset:]
    followed = harness.log(job, offset=offset, limit=limit, follow="true")
    assert followed == EVERY_BYTE[offset : offset + limit]


def test_a_part_may_reach_over_attempts(harness: Harness) -> None:
    job = harness.run("printf 'attempt%s;' $DANLU_ATTEMPT; exit 1", retries=2)
    whole = b"attempt1;attempt2;attempt3;"
    assert harness.log(job) == whole
    for offset in range(0, len(whole) + 2, 4):
        assert harness.log(job, offset=offset) == whole[offset:]
        assert harness.log(job, offset=offset, limit=11) == whole[offset : offset + 11]
        assert harness.log(job, offset=offset, follow="true") == whole[offset:]


def test_the_last_lines(harness: Harness) -> None:
    job = harness.run("printf 'one\\ntwo\\n\\nfour\\nfi'")
    assert harness.log(job, tail=0) == b""
    assert harness.log(job, tail=1) == b"fi"
    assert harness.log(job, tail=2) == b"four\nfi"
    assert harness.log(job, tail=3) == b"\nfour\nfi"
    assert harness.log(job, tail=5) == harness.log(job, tail=1000) == harness.log(job)
    closed = harness.run("printf 'one\\ntwo\\n'; exit 1", retries=1)
    assert harness.log(closed, tail=1) == b"two\n"
    assert harness.log(closed, tail=3) == b"two\none\ntwo\n", "over attempts"
    assert harness.log(closed, tail=0) == b""
    large = harness.run("seq 100000")
    assert harness.lines(large, tail=30000)[0] == "70001"


def test_a_log_without_a_last_newline_can_be_followed_from_its_end(
    harness: Harness, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    job = harness.submit(command=f"printf prompt; {wait_for_file(go)}; printf '>answer'")
    eventually(lambda: harness.log(job) == b"prompt")
    with harness.following(job, tail=0) as answer:
        assert answer.headers["x-log-offset"] == "6"
        go.touch()
        assert answer.read() == b">answer"


def test_following_gives_every_byte_from_any_offset_while_it_grows(
    harness: Harness, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    job = harness.submit(command=f"seq 1 1000; {wait_for_file(go)}; seq 1001 3000")
    whole = "".join(f"{number}\n" for number in range(1, 3001)).encode()
    first = whole.index(b"1001\n")
    eventually(lambda: len(harness.log(job)) == first)
    for offset in (0, 7, first - 1, first, first + 500):
        with harness.following(job, offset=offset) as answer:
            got = b""
            pieces = answer.iter_bytes()
            while len(got) < first - offset:
                got += next(pieces)
            assert got == whole[offset:first]
    with harness.following(job, offset=first + 500) as answer:
        go.touch()
        assert answer.read() == whole[first + 500 :]
    assert harness.log(job) == whole


def test_following_may_begin_while_the_job_still_waits(harness: Harness) -> None:
    job = harness.submit(command="echo here", held=True)
    with harness.following(job) as answer:
        harness.post(job, "release")
        assert answer.read() == b"here\n"


def test_following_a_job_that_never_starts_ends_with_it(harness: Harness) -> None:
    job = harness.submit(command="echo here", held=True)
    with harness.following(job) as answer:
        harness.post(job, "stop")
        assert answer.read() == b""


def test_an_attempt_that_never_was_is_told_so(harness: Harness) -> None:
    job = harness.run("echo once")
    assert harness.log(job, attempt=1) == b"once\n"
    answer = harness.http.get(f"/jobs/{job['id']}/logs", params={"attempt": 2})
    assert answer.status_code == 404
    assert f"There is no attempt 2 of {job['ref']}" in answer.text


def test_following_goes_on_with_the_next_attempt(harness: Harness, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"echo begin $DANLU_ATTEMPT; {wait_for_file(go)}; echo end; [ $DANLU_ATTEMPT = 3 ]"
    job = harness.submit(command=command, retries=5)
    with harness.following(job) as answer:
        pieces = answer.iter_bytes()
        assert next(pieces) == b"begin 1\n"
        go.touch()
        rest = b"".join(pieces)
    assert rest == b"end\nbegin 2\nend\nbegin 3\nend\n"
    assert harness.log(job, attempt=2, follow="true") == b"begin 2\nend\n"


def test_stderr_is_part_of_the_log_unless_it_is_split_off(harness: Harness) -> None:
    command = "echo out; echo err >&2; echo out again"
    job = harness.run(command)
    assert harness.log(job) == b"out\nerr\nout again\n"
    assert harness.log(job, stream="err") == b""
    split = harness.run(command, split_output=True)
    assert harness.log(split, stream="out") == b"out\nout again\n"
    assert harness.log(split, stream="err") == b"err\n"


def test_a_task_or_stream_that_does_not_exist_is_told(harness: Harness) -> None:
    job = harness.run("true")
    assert harness.http.get(f"/jobs/{job['id']}/logs", params={"task": 1}).status_code == 404
    assert harness.http.get(f"/jobs/{job['id']}/logs", params={"stream": "x"}).status_code == 422


# -- search -----------------------------------------------------------------------------------


def test_a_search_names_line_and_offset(harness: Harness) -> None:
    job = harness.run("printf 'Loss 0.5\\nloss 0.4\\r\\n损失 0.3\\n\\377 loss\\nend'")
    whole = harness.log(job)

    def found(**query: str) -> list[tuple[int, str]]:
        answer = harness.get(f"/jobs/{job['id']}/logs/search", **query)
        for match in answer["matches"]:
            start = whole[: match["offset"]]
            assert start.count(b"\n") == match["line"] - 1
            assert match["offset"] == 0 or start.endswith(b"\n")
        return [(match["line"], match["text"]) for match in answer["matches"]]

    assert found(q="loss") == [(2, "loss 0.4"), (4, "\ufffd loss")]
    assert found(q="LOSS", ignore_case="true") == [
        (1, "Loss 0.5"),
        (2, "loss 0.4"),
        (4, "\ufffd loss"),
    ]
    assert found(q="损失") == [(3, "损失 0.3")]
    assert found(q="end") == [(5, "end")]
    assert found(q="nothing") == []
    assert found(q=".") == [(1, "Loss 0.5"), (2, "loss 0.4"), (3, "损失 0.3")]


def test_a_search_stops_at_its_limit_and_says_that_there_is_more(harness: Harness) -> None:
    job = harness.run("seq 1 500")
    answer = harness.get(f"/jobs/{job['id']}/logs/search", q="7", limit=3)
    assert [match["line"] for match in answer["matches"]] == [7, 17, 27]
    assert answer["more"] is True
    all_of_them = harness.get(f"/jobs/{job['id']}/logs/search", q="77", limit=100)
    assert all_of_them["more"] is False


def test_a_search_goes_over_lines_longer_than_memory_should_hold(harness: Harness) -> None:
    job = harness.run("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo needle")
    (match,) = harness.get(f"/jobs/{job['id']}/logs/search", q="needle")["matches"]
    assert (match["line"], match["offset"]) == (2, 3000001)
    assert harness.log(job, offset=match["offset"]) == b"needle\n"
    (first, *_) = harness.get(f"/jobs/{job['id']}/logs/search", q="xxx")["matches"]
    assert len(first["text"]) == 500


# -- too much ---------------------------------------------------------------------------------


def test_a_log_stops_at_its_cap_with_a_clear_last_line_and_the_task_goes_on(
    harness: Harness, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    job = harness.run(f"seq 1 20000; touch {done}", log_cap="16K")
    assert job["state"] == "succeeded"
    assert done.exists()
    log = harness.log(job)
    kept, _, last = log.rstrip(b"\n").rpartition(b"\n")
    assert b"".join(b"%d\n" % n for n in range(1, 20001)).startswith(kept)
    assert len(log) <= 16 * 1024 + 200
    assert "log limit of 16 KB reached" in last.decode()
    assert "日志达到上限 16 KB" in last.decode()


def test_a_task_that_prints_as_fast_as_it_can_stalls_nobody(
    harness: Harness, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    cap = 64 << 20
    # Its own reader keeps up with it, and a slow one does not hold the server's memory.
    loud = harness.submit(command=f"yes & {wait_for_file(go)}; kill %1", log_cap=cap)
    harness.until(loud, "running")
    before = _resident(harness)
    with harness.following(loud) as slow:
        next(slow.iter_bytes())
        for number in range(10):
            quiet = harness.run(f"echo {number}")
            assert harness.log(quiet) == b"%d\n" % number
        eventually(lambda: _size(harness, loud) > cap)
        assert harness.show(loud)["state"] == "running", "it goes on over its cap"
        assert _resident(harness) - before < 48 << 20, "what nobody reads is not held in memory"
    go.touch()
    assert harness.wait(loud)["state"] == "succeeded"
    assert harness.log(loud, limit=cap)[-100:] == b"y\n" * 50


def test_a_thousand_lines_a_second_reach_a_reader_whole(harness: Harness) -> None:
    text = (
        "import sys, time\n"
        "for n in range(3000):\n"
        "    print(n, flush=True)\n"
        "    if n % 10 == 0: time.sleep(0.001)\n"
    )
    job = harness.submit(command=[open_python(), "-c", text])
    with harness.following(job) as answer:
        assert answer.read() == b"".join(b"%d\n" % n for n in range(3000))


def _size(harness: Harness, job: dict[str, str]) -> int:
    answer = harness.http.get(f"/jobs/{job['id']}/logs", params={"limit": 0})
    return int(answer.headers["x-log-size"])


def _resident(harness: Harness) -> int:
    assert harness.server.process is not None
    pages = Path(f"/proc/{harness.server.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
