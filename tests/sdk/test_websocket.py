"""WebSockets against an independent implementation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.sync.server import ServerConnection, serve

from danlu.sdk.errors import ApiError, Lost, ProtocolError
from danlu.sdk.websocket import BINARY, FrameReader, WebSocket, frame
from danlu.sdk.wire import Wire
from tests.sdk.little_server import answer, read_request, serving


@contextmanager
def echoing(act: Callable[[ServerConnection], None]) -> Iterator[Wire]:
    with serve(act, "127.0.0.1", 0, compression=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Wire(f"http://127.0.0.1:{server.socket.getsockname()[1]}", "token")
        server.shutdown()


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 300_000])
def test_messages_of_every_length_go_there_and_back(size: int) -> None:
    with echoing(echo) as wire:
        link = WebSocket(wire, "/x")
        link.wait_open()
        payload = bytes(i % 251 for i in range(size))
        link.send(payload)
        assert link.receive() == [payload]
        link.close()


def test_a_ping_is_answered_and_a_close_is_told() -> None:
    answered = threading.Event()

    def act(connection: ServerConnection) -> None:
        connection.ping().wait(10)
        answered.set()
        connection.close(4404, "not running")

    with echoing(act) as wire:
        link = WebSocket(wire, "/x")
        link.wait_open()
        assert link.receive() is None
        assert link.closed == (4404, "not running")
        assert answered.is_set()
        link.close()


def test_the_token_is_sent_with_the_handshake() -> None:
    def act(connection: ServerConnection) -> None:
        assert connection.request is not None
        connection.send(connection.request.headers["Authorization"].encode())

    with echoing(act) as wire:
        link = WebSocket(wire, "/x")
        assert (link.wait_open() or link.receive()) == [b"Bearer token"]
        link.close()


def test_a_refused_handshake_tells_the_servers_reason() -> None:
    def act(link: object) -> None:
        read_request(link)  # type: ignore[arg-type]
        body = b'{"error": {"code": "not_found", "message_en": "no such job", "message_zh": "x"}}'
        link.sendall(answer(body, "404 Not Found"))  # type: ignore[attr-defined]

    with serving(act) as server:
        link = WebSocket(Wire(server.url), "/x")
        with pytest.raises(ApiError, match="no such job"):
            link.wait_open()


def test_a_server_that_goes_away_is_lost() -> None:
    with serving(lambda link: read_request(link) and None) as server:
        link = WebSocket(Wire(server.url), "/x")
        with pytest.raises(Lost):
            link.wait_open()


def test_messages_in_pieces_and_fragments_are_put_together() -> None:
    reader = FrameReader()
    stream = b"\x02\x02ab" + b"\x89\x01p" + b"\x80\x01c"
    found = [event for byte in stream for event in reader.feed(bytes([byte]))]
    assert found == [(9, b"p"), (BINARY, b"abc")]


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_masking_hides_the_payload_and_can_be_undone(payload: bytes, mask: bytes) -> None:
    sent = frame(BINARY, payload, mask)
    hidden = sent[len(sent) - len(payload) :]
    assert bytes(h ^ mask[i % 4] for i, h in enumerate(hidden)) == payload


@given(st.binary(max_size=100))
def test_noise_does_no_worse_than_a_protocol_error(noise: bytes) -> None:
    with suppress(ProtocolError):
        FrameReader().feed(noise)
