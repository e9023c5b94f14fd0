"""Uses the tools in a task as a browser would, over sockets that were made inside the task."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import websockets
from websockets.typing import Origin

from danlu.engines.api import Duplex, Endpoint, Reach, TaskRef

PATIENCE = 180
CONTROL = "/run/danlu/control.sock"


async def ask(reach: Reach, task: TaskRef, **values: Any) -> dict[str, Any]:
    """The supervisor's answer."""
    async with asyncio.timeout(PATIENCE):
        link = await _connected(reach, task, CONTROL)
        await link.send(json.dumps(values).encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            piece = await link.receive()
            assert piece is not None, data
            data += piece[1]
        await link.close()
        found: dict[str, Any] = json.loads(data)
        return found


async def _connected(reach: Reach, task: TaskRef, path: str) -> Duplex:
    """The supervisor may not listen yet."""
    while True:
        try:
            return await reach.connect(task, Endpoint(path=path))
        except Exception as error:
            if "No such file" not in str(error) and "refused" not in str(error):
                raise
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def bridge(reach: Reach, task: TaskRef, socket: str, folder: Path) -> AsyncIterator[str]:
    """A socket here that leads to one inside the task."""
    here = f"{folder}/{uuid.uuid4().hex[:8]}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = await reach.connect(task, Endpoint(path=socket))

        async def out() -> None:
            while (piece := await link.receive()) is not None:
                writer.write(piece[1])
                await writer.drain()
            writer.close()

        answering = asyncio.create_task(out())
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await link.send(data)
        with contextlib.suppress(OSError):
            await link.send_eof()
        await answering
        await link.close()

    server = await asyncio.start_unix_server(serve, here)
    yield here
    server.close()


class Lab:
    """JupyterLab's own interface."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        transport = httpx.AsyncHTTPTransport(uds=socket)
        self.http = httpx.AsyncClient(
            transport=transport, base_url="http://localhost", timeout=PATIENCE
        )

    def _link(self, path: str) -> Any:
        return websockets.unix_connect(
            self._socket, f"ws://localhost{path}", open_timeout=PATIENCE, ping_interval=None
        )

    async def kernels(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = (await self.http.get("/api/kernelspecs")).json()
        return found

    async def names(self) -> dict[str, str]:
        """What the launcher shows, and the name of each."""
        specs = (await self.kernels())["kernelspecs"]
        return {each["spec"]["display_name"]: name for name, each in specs.items()}

    async def run(self, kernel: str, code: str) -> str:
        """Starts a kernel and runs a cell; what it prints."""
        await self.http.get("/lab")
        token = self.http.cookies.get("_xsrf") or ""
        started = await self.http.post(
            "/api/kernels", json={"name": kernel}, headers={"X-XSRFToken": token}
        )
        assert started.status_code == 201, started.text
        opening = self._link(f"/api/kernels/{started.json()['id']}/channels")
        async with asyncio.timeout(PATIENCE), opening as link:
            return await _executed(link, code)


class LabBehind(Lab):
    """The same through a web door, as a browser that is signed in there."""

    def __init__(self, origin: str, cookies: dict[str, str]) -> None:
        self._origin = origin
        self.http = httpx.AsyncClient(
            base_url=origin, cookies=cookies, headers={"Origin": origin}, timeout=PATIENCE
        )

    def _link(self, path: str) -> Any:
        cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        return websockets.connect(
            f"{self._origin.replace('http', 'ws', 1)}{path}",
            additional_headers={"Cookie": cookie},
            origin=Origin(self._origin),
            open_timeout=PATIENCE,
            ping_interval=None,  # the machine may be busy
        )


async def _executed(link: Any, code: str) -> str:
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
    header |= {"session": uuid.uuid4().hex, "username": "", "date": ""}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}}
    content |= {"allow_stdin": False, "stop_on_error": True}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await link.send(json.dumps({**message, "buffers": [], "channel": "shell"}))
    printed = ""
    async for text in link:
        answer = json.loads(text)
        if answer["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if answer["msg_type"] in ("stream", "error"):
            said = answer["content"]
            printed += said["text"] if "text" in said else "\n".join(said["traceback"])
        if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
            return printed
    raise AssertionError(printed)
