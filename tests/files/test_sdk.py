"""Files from Python, with both clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu import AsyncClient, Client
from danlu.sdk.errors import Conflict
from tests.support.server import DanluServer


def test_files_are_uploaded_changed_and_downloaded(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello" * 1000)
    sizes: list[int] = []
    with Client(server.url, server.token) as client:
        assert (
            client.upload(str(tmp_path / "a"), "d/a", on_progress=sizes.append) == "/userhome/d/a"
        )
        assert sizes[-1] == 5000
        with pytest.raises(Conflict):
            client.upload(str(tmp_path / "a"), "d/a")
        files = client.files
        assert files.finish(files.copy(["d"], to="e"))["results"] == ["/userhome/e"]
        assert [each["path"] for each in files.search(":", "a", kind="file")] != []
        assert files.preview("e/a")["text"] == "hello" * 1000
        files.finish(files.delete(["d"]))
        assert client.download("e/a", str(tmp_path / "b")) == 5000
        assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


async def test_the_awaited_client_does_the_same(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 100)
    async with AsyncClient(server.url, server.token) as client:
        assert await client.upload(str(tmp_path / "x"), "async/x") == "/userhome/async/x"
        entry = await client.files.stat("async/x")
        assert entry["size"] == 100
        moved = await client.files.finish(await client.files.move(["async/x"], to="async/y"))
        assert moved["results"] == ["/userhome/async/y"]
        assert await client.download("async/y", str(tmp_path / "y")) == 100
