"""What counts as HTTP at a web door, and what does not."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.gateway.web.cookies import has_token, sets_ours, values_of, without_ours
from danlu.gateway.web.heads import (
    BadMessage,
    Ends,
    read_request,
    read_response,
    written,
)
from danlu.gateway.web.streams import Source, chunk

HOST = b"\r\nHost: x"


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b",
        b"GET  / HTTP/1.1" + HOST,
        b"GET http://x/ HTTP/1.1" + HOST,
        b"GET / HTTP/2.0" + HOST,
        b"GET /a b HTTP/1.1" + HOST,
        b"GET /\x00 HTTP/1.1" + HOST,
        b"CONNECT x:1 HTTP/1.1" + HOST,
        b"TRACE / HTTP/1.1" + HOST,
        b"GET / HTTP/1.1\r\nHost : x",
        b"GET / HTTP/1.1\r\n Host: x",
        b"GET / HTTP/1.1" + HOST + b"\r\nA: b\r\n folded",
        b"GET / HTTP/1.1" + HOST + b"\r\nA: b\nB: c",
        b"GET / HTTP/1.1" + HOST + b"\r\nA: b\rB: c",
        b"GET / HTTP/1.1" + HOST + b"\r\nA: \x00",
        b"GET / HTTP/1.1" + HOST + b"\r\n: x",
        b"GET / HTTP/1.1" + HOST + b"\r\nno colon",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: 1\r\nContent-Length: 1",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: 1, 1",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: +1",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: 0x1",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: \xb2",
        b"POST / HTTP/1.1" + HOST + b"\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        b"POST / HTTP/1.1" + HOST + b"\r\nTransfer-Encoding: chunked, identity",
        b"POST / HTTP/1.1" + HOST + b"\r\nTransfer-Encoding: gzip, chunked",
        b"POST / HTTP/1.1" + HOST + b"\r\nTransfer-Encoding: xchunked",
        b"POST / HTTP/1.1" + HOST + b"\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x",
        b"POST / HTTP/1.0" + HOST + b"\r\nTransfer-Encoding: chunked",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(head: bytes) -> None:
    with pytest.raises(BadMessage):
        read_request(head)


def test_a_head_is_read_and_written_anew() -> None:
    request = read_request(
        b"POST /a?b=c HTTP/1.1\r\nHost: x:1\r\nConnection: close, X-Drop, host\r\nX-Drop: 1\r\n"
        b"Keep-Alive: 5\r\nTE: trailers\r\nContent-Length: 3\r\nX-Kept:  a b \t"
    )
    assert request.size == 3
    assert not request.stays
    assert request.passed_on() == [(b"host", b"x:1"), (b"x-kept", b"a b")]
    assert written("GET / HTTP/1.1", [(b"a", b"b")]) == b"GET / HTTP/1.1\r\na: b\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "method", "size"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", "GET", 5),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", "HEAD", 0),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5", "GET", 0),
        (b"HTTP/1.1 204", "GET", 0),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked", "GET", Ends.CHUNKED),
        (b"HTTP/1.0 200 OK", "GET", Ends.CLOSE),
    ],
)
def test_how_long_an_answer_is(head: bytes, method: str, size: object) -> None:
    assert read_response(head).size(method) == size


def source_of(*pieces: bytes) -> Source:
    left = list(pieces)

    async def receive() -> bytes:
        await asyncio.sleep(0)
        return left.pop(0) if left else b""

    return Source(receive)


async def all_of(source: Source, size: int | Ends) -> bytes:
    return b"".join([piece async for piece in source.body(size)])


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(1, 9))
async def test_chunks_arrive_whole_however_they_are_cut(words: list[bytes], cut: int) -> None:
    sent = b"".join(chunk(word) for word in words) + b"0\r\nA: b\r\n\r\nnext"
    source = source_of(*(sent[at : at + cut] for at in range(0, len(sent), cut)))
    assert await all_of(source, Ends.CHUNKED) == b"".join(words)
    rest = b""
    while piece := await source.some():
        rest += piece
    assert rest == b"next"


@pytest.mark.parametrize(
    "sent",
    [
        b"5\r\nabc",
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"3 3\r\nabc\r\n0\r\n\r\n",
        b"\r\nabc\r\n0\r\n\r\n",
        b"ffffffffffffffff1\r\nabc",
        b"3;" + b"x" * 10_000,
        b"0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
    ],
)
async def test_broken_chunks_are_refused(sent: bytes) -> None:
    with pytest.raises(BadMessage):
        await all_of(source_of(sent), Ends.CHUNKED)


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\n\n", b"GET / HTTP/1.1\r\nA: b\nC: d", b"\nGET", b"A\rB", b"x" * 70_000],
)
async def test_a_head_that_goes_wrong_is_not_waited_for(sent: bytes) -> None:
    source = source_of(*(sent[at : at + 7000] for at in range(0, len(sent), 7000)))
    with pytest.raises(BadMessage):
        await source.head(1 << 16)


async def test_a_source_that_is_watched_tells_of_the_end() -> None:
    source = source_of(b"")
    source.watch()
    assert source.quiet
    await asyncio.sleep(0.01)
    assert not source.quiet
    assert not await source.started()


def test_cookies_and_tokens_of_the_platform_are_known_by_their_names() -> None:
    sent = [b"a=1; danlu-12=x;__Host-danlu-door-1=y", b"DANLU-x=1; b=danlu-2; __Secure-danlu-=z"]
    assert without_ours(sent) == b"a=1; b=danlu-2"
    assert values_of([b"d=1; d=2; e=3", b"d=1"], "d") == ["1", "2"]
    assert sets_ours(b"danlu-door-1=x; Path=/")
    assert sets_ours(b"__Host-danlu-1=x")
    assert sets_ours(b"=danlu-door-1=x")
    assert not sets_ours(b"session=danlu-1")
    token = b"dlu_" + b"x" * 43
    assert has_token(b"Bearer " + token)
    assert has_token(b"token " + token)
    assert has_token(b"Basic YWxpY2U6ZGx1X3h4eHh4eHh4eHh4eHg=")
    assert not has_token(b"Basic YWxpY2U6c2VjcmV0")
    assert not has_token(b"Bearer something-else")
