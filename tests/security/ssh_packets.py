"""Packets of an SSH client after it has signed in, for fuzzing: read past asyncssh, and by it."""

from __future__ import annotations

import random
from typing import Any

from asyncssh.encryption import GCMEncryption
from asyncssh.misc import ProtocolError

from danlu.gateway import packets

_DATA = 94
_KINDS = (0, 1, 2, 4, 20, 21, 50, 80, 90, 93, _DATA, _DATA, _DATA, _DATA, 95, 96, 97, 98, 255)
_LARGEST = 1 << 15
_KEY, _IV = bytes(16), bytes(12)


class _Channel:
    """What a client's data arrives at."""

    def __init__(self, chance: random.Random) -> None:
        self._recv_state = chance.choice(("open", "open", "open", "eof", "closed"))
        self._recv_window = chance.choice((0, 50, 1 << 20))
        self.got = b""

    def _accept_data(self, data: bytes) -> None:
        self._recv_window -= len(data)
        self.got += data


def _cipher() -> Any:
    return GCMEncryption.new("aes128-gcm", _KEY, _IV)


def one_stream(chance: random.Random) -> None:
    """What is passed on is what asyncssh would have; the rest is left to it, untouched."""
    plain = [_packet(chance) for _ in range(chance.randrange(1, 12))]
    sealing = _cipher()
    stream = b""
    for packet in plain:
        length = len(packet).to_bytes(4, "big")
        sealed, mac = sealing.encrypt_packet(0, length, packet)
        stream += sealed + mac
    hurt = len(stream)
    if chance.random() < 0.3:
        hurt = chance.randrange(len(stream))
        stream = stream[:hurt] + bytes([stream[hurt] ^ 0x41]) + stream[hurt + 1 :]
    if chance.random() < 0.3:
        stream = stream[: chance.randrange(len(stream) + 1)]

    conn: Any = packets.DataConnection.__new__(packets.DataConnection)
    channels = {number: _Channel(chance) for number in range(2)}
    expected = {number: _Channel(chance) for number in range(2)}
    for number, mine in channels.items():
        theirs = expected[number]
        theirs._recv_state, theirs._recv_window = mine._recv_state, mine._recv_window
    conn.__dict__.update(
        {
            **{"_inpbuf": b"", "_recv_encryption": _cipher(), "_auth_complete": True},
            **{"_decompressor": None, "_max_recv_pktlen": _LARGEST, "_recv_seq": 0xFFFFFFFE},
            **{"_channels": channels, "_reading": None},
        }
    )
    taken, refused = _expected(plain, hurt, len(stream), expected)
    at = 0
    try:
        while at < len(stream):
            step = chance.choice((1, 16, 300, 1 << 17))
            conn._inpbuf += stream[at : at + step]
            at += step
            conn._pass_on_data()
    except ProtocolError:
        assert refused
    else:
        assert conn._inpbuf == stream[taken:], (len(conn._inpbuf), len(stream) - taken)
    got = {number: channel.got for number, channel in channels.items()}
    assert got == {number: channel.got for number, channel in expected.items()}


def _expected(
    plain: list[bytes], hurt: int, size: int, channels: dict[int, _Channel]
) -> tuple[int, bool]:
    """How many bytes are taken, and whether the packet after them ends the connection."""
    at = 0
    for packet in plain:
        end = at + 4 + len(packet) + 16
        if end > size or hurt < end or len(packet) > _LARGEST:
            break
        payload = packet[1 : len(packet) - packet[0]]
        number, length = (int.from_bytes(payload[part : part + 4], "big") for part in (1, 5))
        whole = len(payload) >= 9 and length == len(payload) - 9 and len(packet) > packet[0]
        if not whole or payload[0] != _DATA or number not in channels:
            break
        channel = channels[number]
        if channel._recv_state != "open" or length > channel._recv_window:
            return at, True
        channel._accept_data(payload[9:])
        at = end
    return at, False


def _packet(chance: random.Random) -> bytes:
    data = chance.randbytes(chance.choice((0, 1, 40, 3000, 40_000)))
    length = len(data) if chance.random() < 0.9 else chance.choice((0, 1, 1 << 31, len(data) + 1))
    number = chance.choice((0, 0, 1, 2, 1 << 31))
    padding = chance.choice((4, 4, 10, 255, 0))
    said = padding if chance.random() < 0.95 else chance.randrange(256)
    head = bytes([said, chance.choice(_KINDS)]) + number.to_bytes(4, "big")
    whole = head + length.to_bytes(4, "big") + data + bytes(padding)
    return whole if chance.random() < 0.95 else whole[: chance.randrange(1, 12)]
