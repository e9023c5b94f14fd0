"""The `dlc` client for machines without Danlu: a single file that only needs Python."""

from __future__ import annotations

import io
import os
import zipfile
from functools import cache

from fastapi import FastAPI, Response

import danlu

PATHS = tuple(
    f"/light/binary/{system}/{machine}/dlc"
    for system in ("linux", "darwin")
    for machine in ("amd64", "arm64")
)
"""The path that DLC guides download the client from."""

_PARTS = ("cli", "sdk", "steps")
_START = "from danlu.cli.shims.main import start\nstart('dlc')\n"
_HEAD = b"#!/usr/bin/env python3\n"


def install(app: FastAPI) -> None:
    for path in PATHS:
        app.get(path, include_in_schema=False)(dlc)


async def dlc() -> Response:
    """`dlc` as one executable file; the same for every system. No login is needed to fetch it."""
    headers = {"Content-Disposition": 'attachment; filename="dlc"'}
    return Response(dlc_file(), media_type="application/octet-stream", headers=headers)


@cache
def dlc_file() -> bytes:
    """The modules of the command line as an executable zip file."""
    root = os.path.dirname(os.path.abspath(danlu.__file__))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", _START)
        for path, name in _sources(root):
            with open(path, encoding="utf-8") as file:
                _add(archive, name, file.read())
    return _HEAD + packed.getvalue()


def _sources(root: str) -> list[tuple[str, str]]:
    found = [(f"{root}/__init__.py", "danlu/__init__.py")]
    for part in _PARTS:
        for folder, _, files in os.walk(f"{root}/{part}"):
            below = os.path.relpath(folder, root)
            found += [
                (f"{folder}/{name}", f"danlu/{below}/{name}")
                for name in files
                if name.endswith(".py")
            ]
    return sorted(found)


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    # Reproducible, so that its checksum stays valid.
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, text)
