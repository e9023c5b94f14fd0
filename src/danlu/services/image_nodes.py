"""Which nodes have which images, pulling them there ahead of jobs, and where that fails and why."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from danlu.access.errors import Clash, Unknown
from danlu.control.background import Background
from danlu.control.context import Context
from danlu.control.words import pull_words
from danlu.engines.api import (
    Engine,
    ImageFinder,
    ImageProgress,
    Images,
    NodeImage,
    NoImage,
    OwnRegistryImages,
    Unreachable,
)
from danlu.spec.text import EMPTY, Text

_FRESH = 5.0  # seconds
_PATIENCE = 10.0  # seconds for a node to say what it has
_AT_ONCE = 8
_REMEMBERED = 10_000  # images on nodes
PRESENT, ABSENT, PULLING, FAILED, UNKNOWN = "present", "absent", "pulling", "failed", "unknown"


@dataclass(frozen=True, slots=True)
class OnNode:
    """An image on one node."""

    node: str
    state: str = UNKNOWN
    detail: Text = EMPTY
    done: int = 0
    total: int = 0
    at: float = 0.0
    found: NodeImage | None = None


class ImageNodes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[tuple[str, str], OnNode] = {}  # by image and node
        self._pulls: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._work = Background(context.deposed)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def known(self, image: str) -> list[OnNode]:
        """As last seen; what a job ran into on a node counts, too."""
        return [self._known(image, node) for node in self._names()]

    def image(self, image: str) -> NodeImage | None:
        """As some node has it."""
        return next((each.found for each in self.known(image) if each.found is not None), None)

    async def look(self, images: Sequence[str]) -> None:
        """Asks the nodes that have not been asked just now."""
        at = time.time()
        asked = [
            (node, [image for image in images if self._is_old(image, node, at)])
            for node in self._names()
        ]
        await asyncio.gather(*(self._ask(node, some) for node, some in asked if some))

    async def pull(self, image: str, nodes: Sequence[str], user: str) -> None:
        """Begins; `known` says how far it is. One node's failure does not stop the others."""
        names = self._names()
        wrong = [node for node in nodes if node not in names]
        if wrong:
            raise Unknown("nodes", Text("node", "节点"), wrong[0], names)
        able = [node for node in nodes or names if isinstance(self._engine(node), Images)]
        if not able:
            raise Clash(
                "no_images",
                Text("No node here runs images", "这里没有能运行镜像的节点"),
            )
        for node in able:
            key = (image, node)
            if key not in self._pulls:
                self._put(image, OnNode(node, PULLING, at=time.time()))
                self._pulls[key] = self._work.spawn(self._pull(image, node, user))

    async def close(self) -> None:
        await self._work.close()

    # -- details ------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return sorted(node.name for node in self._context.ledger.nodes())

    def _engine(self, node: str) -> Engine:
        return self._context.engine_at(node)

    def _known(self, image: str, node: str) -> OnNode:
        seen = self._seen.get((image, node), OnNode(node))
        trouble = self._context.image_trouble.get((node, image))
        if trouble is None or seen.state == PULLING or trouble.at < seen.at:
            return seen
        return OnNode(node, FAILED, trouble.text, at=trouble.at)

    def _is_old(self, image: str, node: str, at: float) -> bool:
        seen = self._seen.get((image, node))
        return seen is None or (seen.state != PULLING and seen.at < at - _FRESH)

    async def _ask(self, node: str, images: list[str]) -> None:
        engine = self._engine(node)
        if not isinstance(engine, ImageFinder):
            return
        at = time.time()
        try:
            async with asyncio.timeout(_PATIENCE):
                names = {image: self._here(image) for image in images}
                found_there = await engine.find_images(node, list(names.values()))
                there = {image: found_there.get(names[image]) for image in images}
        except (Unreachable, TimeoutError) as error:
            for image in images:
                before = self._seen.get((image, node), OnNode(node))
                words = str(error) or "no answer"
                told = replace(before, state=UNKNOWN, detail=Text(words, words), at=at)
                self._put(image, told)
            return
        for image in images:
            found, last = there.get(image), self._seen.get((image, node))
            if found is None and last is not None and last.state == FAILED:
                continue  # why it is not there
            state = ABSENT if found is None else PRESENT
            self._put(image, OnNode(node, state, at=at, found=found))

    def _here(self, image: str) -> str:
        """The name of an image of our own registry on this machine."""
        own = self._context.own_images
        return image if own is None or own.repository(image) is None else own.here(image)

    async def _prepare(
        self, engine: Images, node: str, image: str, user: str, told: Callable[..., None]
    ) -> None:
        own = self._context.own_images
        repository = None if own is None else own.repository(image)
        if own is None or repository is None or not isinstance(engine, OwnRegistryImages):
            return await engine.prepare_image(node, image, told)
        access = await own.access(user, repository)
        return await engine.prepare_own_image(node, own.here(image), access, told)

    async def _pull(self, image: str, node: str, user: str) -> None:
        engine = self._engine(node)
        assert isinstance(engine, Images)

        def progress(now: ImageProgress) -> None:
            told = OnNode(node, PULLING, pull_words(now), now.done, now.total, time.time())
            self._put(image, told)

        try:
            async with self._turns:
                await self._prepare(engine, node, image, user, progress)
        except (NoImage, Unreachable) as trouble:
            why = str(trouble)
            self._put(image, OnNode(node, FAILED, Text(why, why), at=time.time()))
            return
        finally:
            self._pulls.pop((image, node), None)
        self._context.image_trouble.pop((node, image), None)
        self._seen.pop((image, node), None)
        await self._ask(node, [image])

    def _put(self, image: str, told: OnNode) -> None:
        if len(self._seen) >= _REMEMBERED:
            self._forget(sorted(self._seen, key=lambda key: self._seen[key].at)[: _REMEMBERED // 2])
        self._seen[image, told.node] = told

    def _forget(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            self._seen.pop(key, None)
