"""What is inside an image: its configuration and history, and the packages in its layers.

Read in the background, each layer once: layers never change.
"""

from __future__ import annotations

import asyncio
import json
import tarfile
import time
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from danlu.access.errors import AccessError
from danlu.access.principal import Principal
from danlu.control.background import Background
from danlu.control.context import Context, log
from danlu.engines.api import ImageFinder, Unreachable
from danlu.registry.client import Client, Refused
from danlu.services.image_names import Link, own_image
from danlu.services.image_packages import Packages, merge, merged, packages_in
from danlu.services.layer_entries import TooLarge
from danlu.store import images as store
from danlu.store.rows import ImageRow

_MOST = 200  # entries of history, variables and labels
_LONGEST = 2000
_LARGEST_DOCUMENT = 1 << 20  # parsing keeps everybody else waiting, and takes 25 times as much
_ODD = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""A configuration is somebody's own: it may be anything."""
Values = dict[str, Any]


class ImageInside:
    def __init__(self, context: Context, link: Link) -> None:
        self._context = context
        self._link = link
        self._work = Background(context.deposed)
        self._going: set[str] = set()
        self._threads = ThreadPoolExecutor(1, "danlu-packages")

    def read(self, row: ImageRow, who: Principal) -> None:
        """Begins, unless it was read or is being read."""
        if row.id in self._going or row.inside.get("digest") == (row.digest or "-"):
            return
        self._going.add(row.id)
        self._work.spawn(self._read(row, who))

    async def close(self) -> None:
        await self._work.close()
        self._threads.shutdown(wait=False)

    async def _read(self, row: ImageRow, who: Principal) -> None:
        try:
            inside = await self._of_registry(row, who) or await self._of_node(row)
        except (AccessError, Refused, Unreachable, *_ODD) as trouble:
            log.info("cannot look into %s: %r", row.name, trouble)
            return
        finally:
            self._going.discard(row.id)
        if inside is not None:
            inside["digest"] = row.digest or "-"
            await self._context.persist(lambda tx: store.update(tx, row.id, inside=inside))

    async def _of_node(self, row: ImageRow) -> Values | None:
        for node in self._context.ledger.nodes():
            engine = self._context.engine_at(node.name)
            if isinstance(engine, ImageFinder):
                found = await engine.inspect_image(node.name, row.name)
                if found is not None:
                    return _of_runtime(found)
        return None

    async def _of_registry(self, row: ImageRow, who: Principal) -> Values | None:
        link = self._link()
        mine = own_image(row.name, link)
        if link is None or mine is None or not link.repository(row.name):
            return None
        client = await link.reader(who, mine.repository)
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, lambda: _documents(client, mine.repository, mine.tag)
        )
        if found is None:
            return None
        config, layers = found
        inside = _of_config(config)
        try:
            whole = merged(())
            for digest in layers:
                merge(whole, await self._layer(client, mine.repository, digest))
            inside |= _listed(whole) | {"packages_state": "read"}
        except (Refused, TooLarge, tarfile.TarError, zlib.error, OSError) as error:
            log.info("cannot read the packages of %s: %s", row.name, error)
            inside["packages_state"] = "failed"
        return inside

    async def _layer(self, client: Client, repository: str, digest: str) -> Packages:
        known = await self._context.store.read(lambda tx: store.packages_of(tx, digest))
        loop = asyncio.get_running_loop()
        if known is not None:
            # A manifest may name layers that are kept elsewhere: perhaps somebody's private one.
            size = await loop.run_in_executor(self._threads, client.has_blob, repository, digest)
            if size is None:
                raise Refused(404, "BLOB_UNKNOWN", digest)
            return known

        def read() -> Packages:
            return packages_in(client.read_blob(repository, digest))

        found = await loop.run_in_executor(self._threads, read)
        at = time.time()
        await self._context.persist(lambda tx: store.set_packages(tx, digest, found, at))
        return found


def _documents(client: Client, repository: str, reference: str) -> tuple[Values, list[str]] | None:
    """The configuration, and the digests of the layers; None: it is no single image."""
    body, _, _ = client.manifest(repository, reference)
    if len(body) > _LARGEST_DOCUMENT:
        return None
    manifest: Values = json.loads(body)
    if "layers" not in manifest:
        return None
    text = bytearray()
    for piece in client.read_blob(repository, str(manifest["config"]["digest"])):
        text += piece
        if len(text) > _LARGEST_DOCUMENT:
            return None
    layers = dict.fromkeys(str(layer["digest"]) for layer in manifest["layers"])
    return json.loads(text), list(layers)


def _of_config(found: Values) -> Values:
    config = found.get("config") or {}
    history = [
        {
            "created_by": _short(each.get("created_by")),
            "created_at": _short(each.get("created")),
            "size": 0,
        }
        for each in (found.get("history") or ())[-_MOST:]
    ]
    return _inside(config, str(found.get("architecture") or ""), history)


def _of_runtime(found: Mapping[str, Any]) -> Values:
    history = [
        {
            "created_by": _short(each.get("CreatedBy")),
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(each["Created"])),
            "size": int(each.get("Size") or 0),
        }
        for each in reversed(list(found.get("History") or ())[:_MOST])
    ]
    return _inside(found.get("Config") or {}, str(found.get("Architecture") or ""), history)


def _inside(config: Mapping[str, Any], architecture: str, history: list[Values]) -> Values:
    labels = dict(list((config.get("Labels") or {}).items())[:_MOST])
    return {
        "os": _short(labels.get("org.opencontainers.image.title") or ""),
        "architecture": architecture,
        "user": _short(config.get("User")),
        "workdir": _short(config.get("WorkingDir")),
        "entrypoint": [_short(each) for each in (config.get("Entrypoint") or ())[:_MOST]],
        "cmd": [_short(each) for each in (config.get("Cmd") or ())[:_MOST]],
        "env": [_short(each) for each in (config.get("Env") or ())[:_MOST]],
        "labels": {_short(name): _short(value) for name, value in labels.items()},
        "history": history,
        "packages_state": "unread",
        "deb": [],
        "pip": [],
        "conda": [],
    }


def _listed(found: Packages) -> Values:
    return {
        kind: [{"name": name, "version": version} for name, version in sorted(some.items())]
        for kind, some in found.items()
    }


def _short(text: object) -> str:
    return str(text or "")[:_LONGEST]
