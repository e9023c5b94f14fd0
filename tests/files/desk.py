"""A user's helper without a server around it: volumes in a folder of the test, requests by name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from danlu.engines.api import Identity
from danlu.files.helpers import Call, Helpers, RootAt

UID = 765_432
PATIENCE = 120.0
AS_ROOT = os.geteuid() == 0


class Desk:
    """`:`-less paths are in the first volume; `other:x` is x in the volume of that name."""

    def __init__(self, folder: Path, read_only: Sequence[str] = ()) -> None:
        folder.chmod(0o755)
        self.secret = folder / "secret"  # what is outside of every volume
        self.secret.mkdir()
        (self.secret / "key").write_text("the key")
        self.helpers = Helpers()
        self.who = (
            Identity("alice", None, UID, UID, (), (), 0o007) if AS_ROOT else Identity("alice")
        )
        self.home = self._volume(folder, "home")
        self.other = self._volume(folder, "other")
        self._roots = [
            RootAt(str(self.home), "/userhome", "userhome", "userhome" in read_only),
            RootAt(str(self.other), "/other", "other", "other" in read_only),
        ]

    def _volume(self, folder: Path, name: str) -> Path:
        made = folder / name
        made.mkdir()
        self.give(made)
        return made

    def give(self, *paths: Path) -> None:
        """As if the user had made it."""
        if AS_ROOT:
            for path in paths:
                os.chown(path, UID, UID, follow_symlinks=False)

    def give_all(self) -> None:
        for top in (self.home, self.other):
            for folder, folders, names in os.walk(os.fsencode(top)):
                for name in (*folders, *names):
                    if AS_ROOT:
                        os.chown(folder + b"/" + name, UID, UID, follow_symlinks=False)

    def at(self, path: str) -> list[Any]:
        volume, colon, rest = path.partition(":")
        return [1, rest] if colon and volume == "other" else [0, path]

    async def call(self, op: str, **values: Any) -> Call:
        for key in ("path", "to", "into"):
            if key in values:
                values[key] = self.at(values[key])
        if "paths" in values:
            values["paths"] = [self.at(path) for path in values["paths"]]
        return await self.helpers.ask(self.who, self._roots, {"op": op, **values})

    async def ask(self, op: str, **values: Any) -> dict[str, Any]:
        call = await self.call(op, **values)
        try:
            return await call.answer(PATIENCE)
        finally:
            call.close()

    async def bytes_of(self, op: str, **values: Any) -> bytes:
        call = await self.call(op, **values)
        try:
            about = await call.answer(PATIENCE)
            if "error" in about:
                raise OSError(about["error"])
            await call.send({"start": 0, "stop": about["size"]})
            data = b""
            while len(data) < about["size"]:
                data += await call.some(about["size"] - len(data), PATIENCE)
            return data
        finally:
            call.close()

    async def upload(self, path: str, data: bytes, **values: Any) -> dict[str, Any]:
        about = {"size": len(data), "nonce": secrets.token_hex(16), "kind": "file", **values}
        made = await self.ask("upload-create", path=path, **about)
        if "error" in made:
            return made
        call = await self.call("upload-append", path=path, offset=0, **about)
        try:
            ready = await call.answer(PATIENCE)
            if "error" in ready:
                return ready
            for at in range(0, len(data), 1 << 20):
                await call.send_piece(data[at : at + (1 << 20)])
            await call.send_piece(b"")
            done = await call.answer(PATIENCE)
        finally:
            call.close()
        if about["kind"] == "bundle" and "error" not in done:
            return await self.ask("unpack", path=path, **about)
        return done
