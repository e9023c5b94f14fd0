"""Keeps the catalogue of images in step with the platform's own registry.

What is pushed with docker is in the catalogue at once, and what is deleted there is gone from it.
The registry tells of every change; a server that was away meanwhile compares everything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from danlu.access.errors import AccessError
from danlu.control.context import Context, log
from danlu.services.image_names import MOST, Link, OwnImage, own_image
from danlu.services.registry import Image, Registry
from danlu.spec.ids import uuid7
from danlu.store import image_shares, users
from danlu.store import images as store
from danlu.store.errors import StoreError
from danlu.store.meta import get_meta, put_meta
from danlu.store.rows import ImageRow
from danlu.store.tx import Tx

_COMPARED = "images.compared"
_OVERLAP = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Change:
    repository: str
    by: str  # empty: not known
    tags: tuple[str, ...]  # pushed; empty: something was deleted


class ImageSync:
    def __init__(self, context: Context, link: Link, registry: Registry) -> None:
        self._context = context
        self._link = link
        self._registry = registry

    async def changed(self, change: Change) -> None:
        """Something was pushed to a repository, or deleted from it."""
        await self._try(change.repository, change)

    async def compare(self) -> None:
        """With all that is there: nobody may have been told of some of it."""
        await self._try(None, None)

    async def _try(self, repository: str | None, change: Change | None) -> None:
        try:
            found = await self._registry.content(repository)
            begun = time.time()

            def op(tx: Tx) -> None:
                self._compare(tx, found, repository, change)
                put_meta(tx, _COMPARED, str(begun))

            await self._context.store.write(op)
        except (AccessError, StoreError) as trouble:
            log.warning("the catalogue of images is not up to date: %s", trouble)

    def _compare(
        self, tx: Tx, found: list[Image], repository: str | None, change: Change | None
    ) -> None:
        there = {(each.repository, each.tag): each for each in found}
        listed: set[tuple[str, str]] = set()
        for row in store.every(tx):
            mine = own_image(row.name, self._link())
            if mine is None or (repository is not None and mine.repository != repository):
                continue
            key = (mine.repository, mine.tag)
            listed.add(key)
            if key in there:
                _renew(tx, row, there[key])
            elif ":" not in mine.tag:  # a digest may be there without a tag
                self._remove(tx, row, mine)
        for image in self._new(tx, found, change):
            if image.tag and (image.repository, image.tag) not in listed:
                self._add(tx, image, change.by if change is not None else "")

    def _new(self, tx: Tx, found: list[Image], change: Change | None) -> Iterable[Image]:
        """What somebody took out of the catalogue on purpose stays out."""
        if change is not None:
            return [each for each in found if each.tag in change.tags]
        last = float(get_meta(tx, _COMPARED) or 0) - _OVERLAP
        return [each for each in found if each.at > last]

    def _add(self, tx: Tx, image: Image, by: str) -> None:
        link = self._link()
        if link is None:
            return
        own = OwnImage(link.host, image.repository, image.tag)
        if own.owner.kind == "hub":
            return
        person = own.owner.name if own.owner.kind == "user" else by
        if not person or users.get_user(tx, person) is None or _count(tx, person) >= MOST:
            return
        row = ImageRow(
            uuid7(), own.reference, person, image.at, image.at, own.owner.kind == "ready", "pushed",
            "", image.digest, image.size,
        )  # fmt: skip
        store.add(tx, row)

    def _remove(self, tx: Tx, row: ImageRow, mine: OwnImage) -> None:
        store.remove(tx, row.id)
        left = [own_image(each.name, self._link()) for each in store.every(tx)]
        if not any(each is not None and each.repository == mine.repository for each in left):
            image_shares.remove_all(tx, mine.repository)


def _renew(tx: Tx, row: ImageRow, image: Image) -> None:
    if row.digest != image.digest:
        store.update(
            tx, row.id, digest=image.digest, size=image.size, updated_at=image.at, inside={}
        )


def _count(tx: Tx, owner: str) -> int:
    return sum(each.owner == owner for each in store.every(tx))
