"""Names of images of the platform's own: in its registry, or on a node while there is none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.errors import NotAllowed, Unfit
from danlu.access.principal import Principal
from danlu.engines.api import ImageStore
from danlu.registry.client import Client
from danlu.registry.names import Owner, can_own, is_repository, is_tag, owner_of
from danlu.registry.tokens import ACTIONS, PULL
from danlu.services.registry import Registry
from danlu.spec.text import Text

MOST = 1000  # images of one person
NOWHERE = "danlu.internal"
"""The registry of images that are on a node only. No such host exists, so nothing is pulled."""


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that the registry still takes; None: no limit, or not known."""

    quota: int | None = None  # of the image's owner
    disk: int | None = None  # what pushes leave alone is not counted


class RegistryLink:
    """The platform's registry, as those see it who put images there."""

    def __init__(self, registry: Registry, url: str) -> None:
        self._registry = registry
        self._url = url

    @property
    def host(self) -> str:
        """In the names of images."""
        return self._registry.address_at(self._url)

    def repository(self, image: str) -> str | None:
        return self._registry.repository(image)

    async def readable(self, who: Principal, repositories: Iterable[str]) -> list[str]:
        return [name for name in repositories if await self._registry.may_pull(who, name)]

    async def store(
        self,
        who: Principal,
        image: OwnImage,
        also: Collection[str],
        known: Callable[[str], tuple[str, str] | None],
    ) -> ImageStore:
        """`also`: repositories that layers may be taken from."""
        scopes = [(image.repository, frozenset(ACTIONS))]
        scopes += [(name, frozenset({PULL})) for name in also if name != image.repository]
        client = await self._registry.client(who, scopes)
        access = await self._registry.push_access(who, scopes)
        values = {"username": access.user, "password": access.password}
        values["serveraddress"] = access.host
        auth = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
        return ImageStore(
            lambda: client,
            access.host,
            image.repository,
            image.tag,
            {"X-Registry-Auth": auth},
            plain_http=not self._registry.uses_tls,
            known=known,
        )

    async def reader(self, who: Principal, repository: str) -> Client:
        return await self._registry.client(who, [(repository, frozenset({PULL}))])

    async def room(self, owner: Owner) -> Room:
        return Room(*await self._registry.room(owner))


Link = Callable[[], RegistryLink | None]


@dataclass(frozen=True, slots=True)
class OwnImage:
    """An image under a name that the platform answers for."""

    host: str
    repository: str
    tag: str

    @property
    def reference(self) -> str:
        """As a job names it."""
        return f"{self.host}/{self.repository}:{self.tag}"

    @property
    def short(self) -> str:
        return f"{self.repository}:{self.tag}"

    @property
    def owner(self) -> Owner:
        found = owner_of(self.repository)
        assert found is not None
        return found


def own_image(text: str, link: RegistryLink | None) -> OwnImage | None:
    """The platform's image that a job names; None: it is from elsewhere."""
    first, slash, rest = text.partition("/")
    ours = first == NOWHERE or (link is not None and link.repository(text) is not None)
    if not slash or not ours:
        return None
    path, _, digest = rest.partition("@")
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, "latest"
    if owner_of(repository) is None:
        return None
    return OwnImage(first, repository, digest or tag)


def target(who: Principal, text: str, link: RegistryLink | None) -> OwnImage:
    """Where somebody may write an image of this name. Raises Unfit and NotAllowed."""
    host = NOWHERE if link is None else link.host
    first, slash, rest = text.partition("/")
    if slash and (set(first) & set(".:[") or first == "localhost"):
        if first not in (host, NOWHERE) and (link is None or link.repository(text) is None):
            raise Unfit(
                "image",
                Text(
                    f"{text[:100]!r} is in another registry; leave {first[:60]} out to save it "
                    "here",
                    f"{text[:100]!r} 属于别的仓库；去掉 {first[:60]} 即可保存到本平台",
                ),
            )
        text = rest
    path, colon, tag = text.partition(":")
    tag = tag if colon else "latest"
    if "/" not in path:
        if not can_own(who.name):
            raise _no_namespace(who.name)
        path = f"{who.name}/{path}"
    if not is_repository(path) or not is_tag(tag) or owner_of(path) is None:
        raise Unfit(
            "image",
            Text(
                f"{text[:100]!r} is not a name for an image; write NAME:TAG or "
                f"{who.name}/NAME:TAG, in lower case",
                f"{text[:100]!r} 不能作为镜像名称；请写 名称:标签 或 {who.name}/名称:标签，"
                "使用小写字母",
            ),
        )
    found = OwnImage(host, path, tag)
    if not rules.pushes_image(who, found.owner):
        raise NotAllowed(
            Text(
                f"You may not write to {path}; use {who.name}/NAME, or share/GROUP/NAME of one of "
                "your groups",
                f"你不能写入 {path}；请用 {who.name}/名称，或你所在组的 share/组/名称",
            )
        )
    return found


def _no_namespace(name: str) -> Unfit:
    return Unfit(
        "image",
        Text(
            f"{name!r} cannot be part of an image's name; use share/GROUP/NAME of one of your "
            "groups",
            f"{name!r} 不能作为镜像名称的一部分；请用你所在组的 share/组/名称",
        ),
    )
