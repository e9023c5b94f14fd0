"""Data past asyncssh: the same bytes as with asyncssh alone, whatever else goes on."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from typing import Any

import asyncssh
import pytest

from danlu.gateway import packets

GCM = "aes128-gcm@openssh.com"
CTR = "aes128-ctr"


class _Echo(asyncssh.SSHServerSession[bytes]):
    def connection_made(self, chan: Any) -> None:
        self._chan = chan

    def exec_requested(self, command: str) -> bool:
        return True

    def data_received(self, data: bytes, datatype: Any) -> None:
        self._chan.write(data)
        self._chan.write(b"e", asyncssh.EXTENDED_DATA_STDERR)

    def eof_received(self) -> bool:
        self._chan.exit(7)
        return True


class _Server(asyncssh.SSHServer):
    def connection_made(self, conn: Any) -> None:
        self._conn = conn

    def begin_auth(self, username: str) -> bool:
        return False

    def session_requested(self) -> Any:
        return self._conn.create_server_channel(None, "", 1 << 18, 1 << 17), _Echo()


async def _echoed(data: bytes, cipher: str, **more: Any) -> Any:
    key = asyncssh.generate_private_key("ssh-ed25519")
    listener = socket.create_server(("127.0.0.1", 0))
    server = await packets.listen(
        listener, _Server, server_host_keys=[key], encryption_algs=[cipher], **more
    )
    port = listener.getsockname()[1]
    async with asyncssh.connect("127.0.0.1", port, known_hosts=None, config=[], username="a") as to:
        answer = await to.run("x", input=data, encoding=None)
    server.close()
    await server.wait_closed()
    return answer


@pytest.mark.parametrize("cipher", [GCM, "aes256-gcm@openssh.com", CTR])
def test_what_is_sent_comes_back_also_while_keys_change(cipher: str) -> None:
    data = os.urandom(3_000_001)
    answer = asyncio.run(_echoed(data, cipher, rekey_bytes=200_000))
    assert hashlib.sha256(answer.stdout).digest() == hashlib.sha256(data).digest()
    assert set(answer.stderr) == set(b"e")
    assert answer.exit_status == 7


def test_data_goes_past_asyncssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a newer asyncssh needs no such thing, or something else, this is where to see it."""
    assert asyncssh.__version__.startswith(packets.KNOWN)
    by_asyncssh: list[int] = []
    sending = asyncssh.SSHServerConnection.send_packet

    def send(self: Any, kind: int, *parts: bytes, **more: Any) -> None:
        by_asyncssh.append(kind)
        sending(self, kind, *parts, **more)

    monkeypatch.setattr(asyncssh.SSHServerConnection, "send_packet", send)
    data = os.urandom(1_000_000)
    assert asyncio.run(_echoed(data, GCM)).stdout == data
    assert asyncssh.constants.MSG_CHANNEL_DATA not in by_asyncssh
    assert asyncio.run(_echoed(data, CTR)).stdout == data
    assert asyncssh.constants.MSG_CHANNEL_DATA in by_asyncssh


def test_data_that_was_tampered_with_ends_the_connection() -> None:
    async def run() -> None:
        received: list[bytes] = []
        key = asyncssh.generate_private_key("ssh-ed25519")
        options = asyncssh.SSHServerConnectionOptions(
            server_factory=_Server, server_host_keys=[key], encryption_algs=[GCM]
        )
        made: list[Any] = []

        class Tampered(packets.DataConnection):
            def data_received(self, data: bytes, datatype: Any = None) -> None:
                if len(data) > 10_000:
                    received.append(data)
                    data = data[:5_000] + bytes([data[5_000] ^ 1]) + data[5_001:]
                super().data_received(data, datatype)

        def factory() -> Any:
            made.append(Tampered(asyncio.get_running_loop(), options))
            return made[-1]

        server = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        conn = await asyncssh.connect("127.0.0.1", port, known_hosts=None, config=[], username="a")
        process = await conn.create_process("x", encoding=None)
        process.stdin.write(os.urandom(30_000))
        await asyncio.wait_for(conn.wait_closed(), 60)
        assert received
        with pytest.raises(asyncssh.MACError):
            await process.stdout.read()
        server.close()

    asyncio.run(run())
