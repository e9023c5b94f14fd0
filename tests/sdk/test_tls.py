"""https: a certificate that is trusted, and one that is not."""

from __future__ import annotations

import socket

import pytest

from danlu.sdk.errors import Unreachable
from danlu.sdk.wire import Wire
from tests.sdk.little_server import LittleServer, read_request, serving
from tests.support.certificates import Certificate, make_certificate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def secure(server: LittleServer) -> str:
    return server.url.replace("http://", "https://")


def test_a_trusted_server_is_talked_to_in_large_pieces(certificate: Certificate) -> None:
    rules = certificate.server
    content = bytes(range(256)) * 4000

    def act(link: socket.socket) -> None:
        with rules.wrap_socket(link, server_side=True) as inner:
            read_request(inner)
            inner.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

    with serving(act) as server:
        wire = Wire(secure(server), ca_file=str(certificate.cert))
        assert wire.call("GET", "/").body == content


def test_a_server_nobody_vouches_for_is_not_talked_to(certificate: Certificate) -> None:
    rules = certificate.server

    def act(link: socket.socket) -> None:
        rules.wrap_socket(link, server_side=True)

    with serving(act) as server, pytest.raises(Unreachable, match="certificate verify failed"):
        Wire(secure(server), "secret").call("GET", "/")
