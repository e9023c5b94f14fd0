"""Packets with a channel's data, past most of asyncssh's work for a packet of any kind.

asyncssh copies each byte about ten times in either direction and puts an empty packet before each
one it sends. With AES-GCM and without compression, which is what clients choose here, packets with
data are read and written here; all others, and keys and counters, stay asyncssh's. What is used
of its insides is that of the versions in `KNOWN`; with any other, asyncssh does all by itself.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from typing import Any

import asyncssh
from asyncssh.channel import SSHServerChannel
from asyncssh.encryption import GCMEncryption
from asyncssh.misc import ProtocolError
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KNOWN = ("2.24.",)
_DATA = asyncssh.constants.MSG_CHANNEL_DATA
_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!BBII")  # length of the padding, kind, channel, length of the data
_MAC = 16
_BLOCK = 16
_LEAST_PADDING = 4


class _Sealing:
    """asyncssh's key and counter of one direction, with the cipher made once."""

    def __init__(self, encryption: Any) -> None:
        self.of = encryption
        self.cipher = encryption._cipher
        self.gcm = AESGCM(self.cipher._key)


def _sealing(known: _Sealing | None, encryption: Any) -> _Sealing | None:
    if known is not None and known.of is encryption:
        return known
    return _Sealing(encryption) if isinstance(encryption, GCMEncryption) else None


class DataChannel(SSHServerChannel[bytes]):
    def write(self, data: bytes, datatype: int | None = None) -> None:
        if datatype is None and self._send_state == "open" and not self._send_buf:
            sent = self._conn.send_data(self, data)  # type: ignore[attr-defined]
            if sent == len(data):
                return
            data = data[sent:]
        super().write(data, datatype)

    def _flush_send_buf(self) -> None:
        """What waited, now that the client has room for it."""
        while self._send_buf and self._send_window and self._send_buf[0][1] is None:
            waiting = self._send_buf[0][0]
            sent = self._conn.send_data(self, waiting)  # type: ignore[attr-defined]
            self._send_buf_len -= sent
            if sent < len(waiting):
                del waiting[:sent]
                break
            del self._send_buf[0]
        super()._flush_send_buf()


class DataConnection(asyncssh.SSHServerConnection):
    _reading: _Sealing | None = None
    _writing: _Sealing | None = None

    def create_server_channel(
        self, encoding: str | None = "", errors: str = "", window: int = 0, max_pktsize: int = 0
    ) -> Any:
        """As asyncssh's own, but for the kind of channel."""
        made = super().create_server_channel(encoding, errors, window, max_pktsize)
        made.__class__ = DataChannel
        return made

    # -- from the client ----------------------------------------------------------------------

    def _recv_pkthdr(self) -> bool:
        self._pass_on_data()
        return super()._recv_pkthdr()

    def _pass_on_data(self) -> None:
        """The packets with data at the beginning of what was received."""
        self._reading = reading = _sealing(self._reading, self._recv_encryption)
        if reading is None or not self._auth_complete or self._decompressor is not None:
            return
        received, at = self._inpbuf, 0
        view = memoryview(received)
        while len(received) - at >= 4:
            (length,) = _LENGTH.unpack_from(received, at)
            end = at + 4 + length + _MAC
            if length > self._max_recv_pktlen or len(received) < end:
                break
            try:
                packet = reading.gcm.decrypt(
                    reading.cipher._iv, view[at + 4 : end], received[at : at + 4]
                )
            except InvalidTag:
                break  # asyncssh finds the same and ends the connection
            if not self._deliver(packet):
                break
            reading.cipher._update_iv()
            self._recv_seq = (self._recv_seq + 1) & 0xFFFFFFFF
            at = end
            if self._inpbuf is not received:  # closed meanwhile
                return
        if at:
            self._inpbuf = received[at:]

    def _deliver(self, packet: bytes) -> bool:
        """False: it is for asyncssh to deal with."""
        if len(packet) < _HEAD.size or packet[1] != _DATA:
            return False
        padding, _, number, length = _HEAD.unpack_from(packet)
        channel: Any = self._channels.get(number)
        if channel is None or len(packet) != _HEAD.size + length + padding:
            return False
        if channel._recv_state != "open" or length > channel._recv_window:
            raise ProtocolError("Channel not open for sending, or window exceeded")
        channel._accept_data(packet[_HEAD.size : _HEAD.size + length])
        return True

    # -- to the client ------------------------------------------------------------------------

    def send_data(self, channel: Any, data: bytes | bytearray) -> int:
        """How much of it was sent; the rest is for asyncssh to send, or to keep for later."""
        self._writing = writing = _sealing(self._writing, self._send_encryption)
        if writing is None or self._compressor is not None or not self._auth_complete:
            return 0
        sent = 0
        pieces: list[bytes] = []
        with memoryview(data) as view:
            while sent < len(data) and channel._send_window and self._may_send():
                size = min(channel._send_window, channel._send_pktsize, len(data) - sent)
                pieces += self._sealed(writing, channel._send_chan, view[sent : sent + size])
                channel._send_window -= size
                sent += size
        if pieces:
            self._send(b"".join(pieces))
        return sent

    def _sealed(self, writing: _Sealing, number: int, data: memoryview) -> tuple[bytes, bytes]:
        padding = -(_HEAD.size + len(data)) % _BLOCK
        padding += _BLOCK * (padding < _LEAST_PADDING)
        head = _HEAD.pack(padding, _DATA, number, len(data))
        packet = b"".join((head, data, os.urandom(padding)))
        length = _LENGTH.pack(len(packet))
        sealed = writing.gcm.encrypt(writing.cipher._iv, packet, length)
        writing.cipher._update_iv()
        self._send_seq = (self._send_seq + 1) & 0xFFFFFFFF
        self._rekey_bytes_sent += len(packet)
        return length, sealed

    def _may_send(self) -> bool:
        """No exchange of keys goes on or is due."""
        due = self._rekey_seconds and time.monotonic() >= self._rekey_time
        return bool(self._kex_complete and self._rekey_bytes_sent < self._rekey_bytes and not due)


async def listen(listener: Any, make: Any, **options: Any) -> asyncssh.SSHAcceptor:
    """As `asyncssh.create_server`."""
    if not asyncssh.__version__.startswith(KNOWN):
        return await asyncssh.create_server(make, sock=listener, **options)
    loop = asyncio.get_running_loop()
    chosen = asyncssh.SSHServerConnectionOptions(server_factory=make, **options)
    server = await loop.create_server(lambda: DataConnection(loop, chosen), sock=listener)
    return asyncssh.SSHAcceptor(server, chosen)
