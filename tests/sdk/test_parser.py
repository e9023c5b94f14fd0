"""HTTP answers arrive in pieces of any size and are read the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.sdk.errors import ProtocolError
from danlu.sdk.parser import Parser


def feed_in_pieces(answer: bytes, cuts: list[int]) -> tuple[Parser, bytes]:
    parser, body, at = Parser(), b"", 0
    for cut in [*sorted(c % (len(answer) + 1) for c in cuts), len(answer)]:
        if cut > at:
            body += parser.feed(answer[at:cut])
            at = cut
    return parser, body


CUTS = st.lists(st.integers(0, 10_000), max_size=30)


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), CUTS)
def test_a_chunked_body_is_whole_however_it_is_cut(chunks: list[bytes], cuts: list[int]) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n"
    answer += b"".join(b"%x;note=1\r\n%s\r\n" % (len(c), c) for c in chunks)
    answer += b"0\r\nTrailer: x\r\n\r\n"
    parser, body = feed_in_pieces(answer, cuts)
    assert parser.done
    assert parser.keep_alive
    assert parser.headers["x-a"] == "1"
    assert body == b"".join(chunks)


@given(st.binary(max_size=200), CUTS)
def test_a_body_of_known_length_is_whole_and_what_follows_is_kept(
    content: bytes, cuts: list[int]
) -> None:
    answer = b"HTTP/1.1 201 Created\r\ncontent-length: %d\r\n\r\n%sNEXT" % (len(content), content)
    parser, body = feed_in_pieces(answer, cuts)
    assert (parser.status, parser.done, body) == (201, True, content)
    assert parser.rest == b"NEXT"


@given(st.binary(max_size=200), CUTS)
def test_a_body_without_length_lasts_until_the_end(content: bytes, cuts: list[int]) -> None:
    parser, body = feed_in_pieces(b"HTTP/1.1 200 OK\r\n\r\n" + content, cuts)
    assert not parser.done
    assert parser.feed_end()
    assert (body, parser.keep_alive) == (content, False)


def test_an_end_in_the_middle_of_a_body_is_noticed() -> None:
    for answer in (
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ):
        parser = Parser()
        parser.feed(answer)
        assert not parser.feed_end()


def test_a_continue_answer_is_passed_over() -> None:
    parser = Parser()
    body = parser.feed(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    )
    assert (parser.status, body) == (200, b"ok")


def test_an_answer_to_head_has_no_body() -> None:
    parser = Parser("HEAD")
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    assert parser.done


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9\r\n",
        b"\x15\x03\x01\x00\x02\x02",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xc2\xb2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
    ],
)
def test_what_is_no_http_answer_is_refused(answer: bytes) -> None:
    with pytest.raises(ProtocolError):
        Parser().feed(answer)


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_do_worse_than_a_protocol_error(noise: bytes, cuts: list[int]) -> None:
    for start in (
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ):
        with contextlib.suppress(ProtocolError):
            feed_in_pieces(start + noise, cuts)[0].feed_end()
