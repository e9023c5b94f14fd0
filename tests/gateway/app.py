"""A program such as people run in their jobs: pages, uploads, events, WebSockets. Nothing but the
standard library, as it runs in a task: `python app.py PORT|PATH`."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import struct
import sys
from urllib.parse import parse_qs, urlsplit

PIECE = b"0123456789abcdef" * 4096


class Asked:
    def __init__(self, method: str, target: str, fields: list[list[str]], body: bytes) -> None:
        parts = urlsplit(target)
        self.method, self.target, self.path = method, target, parts.path
        self.query = {key: each[0] for key, each in parse_qs(parts.query).items()}
        self.fields, self.body = fields, body

    def field(self, name: str) -> str:
        return next((value for key, value in self.fields if key.lower() == name), "")


async def read(reader: asyncio.StreamReader) -> Asked:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
    method, target, _ = lines[0].split(" ")
    fields = [
        [name, value.strip()] for name, _, value in (each.partition(":") for each in lines[1:])
    ]
    asked = Asked(method, target, fields, b"")
    if asked.field("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            asked.body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    elif asked.path == "/count":  # may be larger than memory
        left, seen = int(asked.field("content-length") or 0), hashlib.sha256()
        while left:
            piece = await reader.read(min(left, 1 << 16))
            seen.update(piece)
            left -= len(piece)
        asked.body = seen.hexdigest().encode()
    elif asked.path != "/early":
        asked.body = await reader.readexactly(int(asked.field("content-length") or 0))
    return asked


def answer(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields, "", ""]
    return "\r\n".join(head).encode() + body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await one(await read(reader), reader, writer):
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def one(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    told = {"method": asked.method, "target": asked.target, "fields": asked.fields}
    if asked.path == "/ws":
        return await websocket(asked, reader, writer)
    if asked.path == "/large":
        size = int(asked.query["size"])
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // len(PIECE)):
            writer.write(PIECE)
            await writer.drain()
            await asyncio.sleep(float(asked.query.get("pause", 0)))
        writer.write(PIECE[: size % len(PIECE)])
    elif asked.path == "/chunked":
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for word in (b"one", b"two", b"three"):
            writer.write(b"%x;note=x\r\n%b\r\n" % (len(word), word))
        writer.write(b"0\r\nTrailer: x\r\n\r\n")
    elif asked.path == "/until-close":
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end")
        return False
    elif asked.path == "/events":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(10_000):
            writer.write(f"data: {number}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)
        return False
    elif asked.path == "/raw":
        writer.write(bytes.fromhex(asked.query["hex"]))
    elif asked.path == "/drop":
        return False
    elif asked.path == "/once":  # ends the connection without having said that it would
        writer.write(answer(b"once"))
        return False
    elif asked.path == "/early":
        writer.write(answer(b"too large", status="413 Content Too Large"))
        return False
    elif asked.path == "/unchanged":
        writer.write(b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 5\r\n\r\n')
    elif asked.path == "/empty":
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    elif asked.path == "/with":
        fields = [each for key, each in asked.fields if key.lower() == "x-give"]
        writer.write(answer(b"given", *fields))
    elif asked.method == "HEAD":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n")
    elif asked.path == "/count":
        writer.write(answer(asked.body))
    else:
        body = json.dumps({**told, "body": asked.body.decode("latin-1")}).encode()
        writer.write(answer(body, "Content-Type: application/json"))
    return True


async def websocket(
    asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Repeats what it is sent."""
    key = asked.field("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    fields = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    writer.write("\r\n".join([*fields, f"Sec-WebSocket-Accept: {accept}", "", ""]).encode())
    while True:
        first, second = await reader.readexactly(2)
        size = second & 127
        if size > 125:
            form = ">H" if size == 126 else ">Q"
            (size,) = struct.unpack(form, await reader.readexactly(struct.calcsize(form)))
        mask = await reader.readexactly(4)
        data = await reader.readexactly(size)
        plain = bytes(each ^ mask[at % 4] for at, each in enumerate(data))
        head = bytes([first]) + (
            bytes([size]) if size < 126 else bytes([126]) + struct.pack(">H", size)
        )
        writer.write(head + plain)
        await writer.drain()
        if first & 15 == 8:
            return False


async def main(where: str) -> None:
    if where.startswith("/"):
        server = await asyncio.start_unix_server(serve, where)
    else:
        server = await asyncio.start_server(serve, "127.0.0.1", int(where))
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
