"""A saved image's way into the registry: the layers below it, its own, its documents."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from danlu.engines.api import CannotSave, ImageStore, Saved
from danlu.engines.local.container.saving import documents
from danlu.engines.local.container.saving.daemon import SavingDaemon
from danlu.engines.local.container.saving.documents import Base, Documents
from danlu.engines.local.container.saving.layer import Written
from danlu.registry.client import Client, Refused
from danlu.spec.text import Text

_PIECE = 4 << 20
_LARGEST_DOCUMENT = 16 << 20
_TEMPORARY = "danlu-base"


class Sender:
    """For one thread and one image."""

    def __init__(self, store: ImageStore, client: Client, check: Callable[[], None]) -> None:
        self._store = store
        self._client = client
        self._check = check  # raises if it is no longer wanted

    def base(
        self, daemon: SavingDaemon, image: dict[str, Any], told: Callable[[dict[str, Any]], None]
    ) -> Base:
        """The layers of this image, which the registry has when this returns."""
        diff_ids = list((image.get("RootFS") or {}).get("Layers") or ())
        for repository, reference in self._candidates(image, diff_ids):
            found = self._read(repository, reference, diff_ids)
            if found is not None and self._have(found, repository):
                return found
        return self.push(daemon, str(image["Id"]), diff_ids, told)

    def push(
        self,
        daemon: SavingDaemon,
        image: str,
        diff_ids: list[str],
        told: Callable[[dict[str, Any]], None],
    ) -> Base:
        """By its runtime, which alone can write a layer again as it was: the same digests."""
        store = self._store
        tag = f"{_TEMPORARY}-{secrets.token_hex(6)}"
        target = f"{store.host}/{store.repository}"
        self._check()
        try:
            for report in daemon.push(image, target, tag, dict(store.auth), store.plain_http):
                self._check()
                if report.get("error"):
                    raise _not_pushed(str(report["error"]))
                told(report)
            found = self._read(store.repository, tag, diff_ids)
        finally:
            with contextlib.suppress(Refused):
                self._client.delete_manifest(store.repository, tag)
        if found is None:
            raise _not_pushed("it arrived as another image")
        return found

    def layer(self, pieces: Iterator[bytes], written: Written) -> None:
        with self._client.upload(self._store.repository) as upload:
            waiting = bytearray()
            for piece in pieces:
                self._check()
                waiting += piece
                if len(waiting) >= _PIECE:
                    upload.append(bytes(waiting))
                    waiting.clear()
            if waiting:
                upload.append(bytes(waiting))
            self._check()
            written.digest = upload.commit()

    def finish(self, made: Documents, below: list[str]) -> Saved:
        """It exists under its name when this returns."""
        store, client = self._store, self._client
        client.put_blob(store.repository, made.config)
        digest = client.put_manifest(store.repository, store.tag, made.manifest, made.media_type)
        layers = json.loads(made.manifest)["layers"]
        all_of_them = json.loads(made.config)["rootfs"]["diff_ids"]
        chains = {documents.chain_of(below): digest, documents.chain_of(all_of_them): digest}
        sizes = [int(layer["size"]) for layer in layers]
        return Saved(digest, sizes[-1] if sizes else 0, sum(sizes), chains)

    # -- details ------------------------------------------------------------------------------

    def _candidates(self, image: dict[str, Any], diff_ids: list[str]) -> Iterator[tuple[str, str]]:
        for name in image.get("RepoDigests") or ():
            place, _, digest = str(name).partition("@")
            host, _, repository = place.partition("/")
            if host in (self._store.host, *self._store.hosts) and digest:
                yield repository, digest
        known = self._store.known(documents.chain_of(diff_ids))
        if known is not None:
            yield known

    def _read(self, repository: str, reference: str, diff_ids: list[str]) -> Base | None:
        try:
            body, kind, _ = self._client.manifest(repository, reference)
            digest = str(json.loads(body)["config"]["digest"])
            config = self._document(repository, digest)
        except (Refused, ValueError, LookupError, TypeError):
            return None
        return documents.read_base(body, kind, config, diff_ids)

    def _document(self, repository: str, digest: str) -> bytes:
        found = bytearray()
        for piece in self._client.read_blob(repository, digest):
            found += piece
            if len(found) > _LARGEST_DOCUMENT:
                raise ValueError("this is not a configuration")
        return bytes(found)

    def _have(self, base: Base, repository: str) -> bool:
        """Whether the layers are in the saved image's own repository now."""
        mine = self._store.repository
        try:
            for layer in base.layers:
                self._check()
                digest = str(layer["digest"])
                if self._client.has_blob(mine, digest) is not None:
                    continue
                if repository == mine or not self._client.mount(mine, digest, repository):
                    return False
        except Refused:
            return False
        return True


def _not_pushed(why: str) -> CannotSave:
    short = " ".join(why.split())[:300]
    return CannotSave(
        Text(
            f"The image it was started from could not be put into the registry: {short}",
            f"无法把它所用的基础镜像放进仓库：{short}",
        )
    )
