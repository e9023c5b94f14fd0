"""The platform's image registry: who may do what there, and what is in it.

The registry itself is a process of its own (`danlu.registry`), which `server.registry` starts when
it is first needed. Here are the platform's accounts and rights.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere
from danlu.access.gate import Gate
from danlu.access.principal import Asker, Principal
from danlu.access.sign_in import SignIn
from danlu.engines.api import PullAccess
from danlu.registry.names import Owner, can_own, is_digest, is_tag, owner_of, split_image
from danlu.registry.tokens import LONGEST
from danlu.services.registry_hosts import OwnHosts
from danlu.services.registry_sign_in import RegistrySignIn
from danlu.spec.text import Text
from danlu.store import image_shares, images, users
from danlu.store.store import Store
from danlu.store.tx import Tx

if TYPE_CHECKING:
    from danlu.registry.client import Client

Ask = Callable[..., Awaitable[dict[str, Any]]]
Scope = tuple[str, frozenset[str]]
"""A repository, and actions of pull, push and delete."""
_CLIENT_SECONDS = 3600.0
_PAGE = 1000  # images


@dataclass(frozen=True, slots=True)
class Usage:
    kind: str  # user, group
    name: str
    used: int
    quota: int | None


@dataclass(frozen=True, slots=True)
class Status:
    address: str  # as names of images begin; empty: there is no registry
    tls: bool
    read_only: bool
    mirrors: tuple[str, ...]
    usage: tuple[Usage, ...] = ()
    total: int = 0  # bytes, of everybody
    free: int = 0  # of its disk


@dataclass(frozen=True, slots=True)
class Repository:
    name: str
    tags: int
    size: int
    pushed_at: float


@dataclass(frozen=True, slots=True)
class Image:
    repository: str
    tag: str  # empty: one without
    digest: str
    type: str
    size: int
    at: float
    used: float


@dataclass(frozen=True, slots=True)
class Opened:
    """What the server says of the registry it runs."""

    ask: Ask
    key: bytes
    hosts: OwnHosts
    tls: bool = False
    read_only: bool = False
    mirrors: tuple[str, ...] = ()


class Registry:
    def __init__(self, store: Store, gate: Gate, sign_in: SignIn, url: str = "") -> None:
        """`url`: of the pages."""
        self._url = url
        self._store = store
        self._gate = gate
        self._opened: Opened | None = None
        self._hosts = OwnHosts()
        self.sign_in = RegistrySignIn(store, gate, sign_in, self.may_pull)

    def open(self, opened: Opened) -> None:
        """Called by the server."""
        self._opened, self._hosts = opened, opened.hosts
        self.sign_in.key = opened.key

    def close_to_all(self, hosts: OwnHosts) -> None:
        """It is turned off, but what was pulled from it may still be on the nodes."""
        self._hosts = hosts

    def address_at(self, url: str) -> str:
        """As names of images begin, for those who know the pages as `url`. Empty: none."""
        if self._opened is None or self._hosts.port is None:
            return ""
        return self._hosts.shown(urlsplit(url).netloc)

    # -- rights ------------------------------------------------------------------------------

    async def may_pull(self, who: Principal, repository: str) -> bool:
        """`repository`: as in names of images, without the host: alice/x, share/vision/x, ready/x.

        Own ones, those of one's groups, ready ones, cached ones, and what is in the table
        `image_shares` for this person, one of their groups, or everybody."""
        owner = owner_of(repository)
        if owner is None:
            return False
        if rules.pulls_image(who, owner, shared=False):
            return True
        name, groups = who.name, who.groups
        shared = await self._store.read(
            lambda tx: image_shares.reaches(tx, repository, name, groups)
        )
        return rules.pulls_image(who, owner, shared)

    def may_delete(self, who: Principal, repository: str) -> bool:
        owner = owner_of(repository)
        return owner is not None and rules.deletes_image(who, owner)

    # -- images of jobs (control.own_images.OwnImages) ---------------------------------------

    def repository(self, image: str) -> str | None:
        """`alice/x` of `HOST/alice/x:1` if the host is ours; None: another registry's."""
        parts = split_image(image)
        return parts[1] if parts is not None and self._hosts.owns(parts[0]) else None

    async def may_run(self, user: str, repository: str) -> bool:
        person = await self._person(user)
        return person is not None and await self.may_pull(person, repository)

    async def full_name(self, image: str) -> str | None:
        repository = image.partition("@")[0].partition(":")[0]
        owner = owner_of(repository)
        if not self.is_on or split_image(image) is not None or owner is None:
            return None
        if owner.kind == "user":
            user = await self._store.read(lambda tx: users.get_user(tx, owner.name))
            if user is None:
                return None
        return f"{self.address_at(self._url)}/{image}"

    async def is_there(self, image: str) -> bool:
        parts = split_image(image)
        if parts is None:
            return False
        _, repository, end = parts
        if owner_of(repository) == Owner("hub") or "@" in end:
            return True  # it is fetched when it is asked for; or it may have no tag
        tag = end.removeprefix(":") or "latest"
        ours = f"{repository}:{tag}"
        rows = await self._store.read(images.every)
        if any(self.repository(row.name) and _short(row.name) == ours for row in rows):
            return True
        return any(each.tag == tag for each in await self.content(repository))

    def here(self, image: str) -> str:
        parts = split_image(image)
        return image if parts is None else f"{self._hosts.here}/{parts[1]}{parts[2]}"

    async def access(self, user: str, repository: str) -> PullAccess | None:
        person = await self._person(user)
        if self._opened is None or person is None:
            return None
        token = self.sign_in.pull_token(user, person.user_id, repository, LONGEST)
        return PullAccess(self._hosts.here, user, token)

    async def _person(self, name: str) -> Principal | None:
        user = await self._store.read(lambda tx: users.get_user(tx, name))
        return None if user is None else await self._gate.person(user.id)

    # -- for the server itself ---------------------------------------------------------------

    async def client(self, who: Principal, scopes: Iterable[Scope]) -> Client:
        """For one thread: writes and reads images there with these rights, for an hour.

        `scopes`: of these, it gets what `who` may. Raises Clash if there is no registry."""
        from danlu.registry.client import Client  # http.client, which few servers ever need

        opened = self._there()
        texts = [f"repository:{name}:{','.join(sorted(actions))}" for name, actions in scopes]
        token = await self.sign_in.token_of(who, texts, _CLIENT_SECONDS)
        if not opened.tls:
            return Client(f"http://{self._hosts.here}", token)
        # The certificate is for other names, and nobody else can answer at this port.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return Client(f"https://{self._hosts.here}", token, context)

    @property
    def is_on(self) -> bool:
        return self._opened is not None and self._hosts.port is not None

    async def push_access(self, who: Principal, scopes: Iterable[Scope]) -> PullAccess:
        """For a runtime on this machine that pushes on behalf of this person."""
        self._there()
        texts = [f"repository:{name}:{','.join(sorted(actions))}" for name, actions in scopes]
        token = await self.sign_in.token_of(who, texts, _CLIENT_SECONDS)
        return PullAccess(self._hosts.here, who.name, token)

    async def room(self, owner: Owner) -> tuple[int | None, int]:
        """Bytes that this owner's quota and the disk still take; None: there is no quota."""
        found = await self._there().ask("usage", owners=[(owner.kind, owner.name)])
        usage = Usage(**found["owners"][0])
        left = None if usage.quota is None else usage.quota - usage.used
        return left, int(found["free"]) - int(found["reserve"])

    @property
    def uses_tls(self) -> bool:
        return self._opened is not None and self._opened.tls

    # -- what is there -----------------------------------------------------------------------

    async def status(self, who: Principal, asked: str) -> Status:
        """`asked`: the host at which they have reached us."""
        opened = self._opened
        if opened is None or self._hosts.port is None:
            return Status("", False, False, ())
        mine = [("user", who.name), *(("group", name) for name in sorted(who.groups))]
        owners = [owner for owner in mine if can_own(owner[1])]
        found = await opened.ask("usage", owners=owners)
        return Status(
            self._hosts.shown(asked),
            opened.tls,
            opened.read_only,
            opened.mirrors,
            tuple(Usage(**each) for each in found["owners"]),
            found["bytes"],
            found["free"],
        )

    async def repositories(self, who: Principal, everybody: bool = False) -> list[Repository]:
        """Own ones, one's groups', ready ones and those shared with one."""
        if everybody and not rules.keeps_registry(who):
            raise _only_admins()
        name, groups = who.name, who.groups
        shared = await self._store.read(lambda tx: image_shares.shared_with(tx, name, groups))
        owners = [f"user:{name}", *(f"group:{each}" for each in sorted(groups)), "ready"]
        found = await self._there().ask(
            "repositories", owners=None if everybody else owners, names=shared
        )
        return [Repository(**each) for each in found["repositories"]]

    async def images(self, who: Principal, repository: str) -> list[Image]:
        if not await self.may_pull(who, repository):
            raise _no_repository(repository)
        found = await self._there().ask("images", repository=repository)
        if not found["images"]:
            raise _no_repository(repository)
        return [Image(**each) for each in found["images"]]

    async def content(self, repository: str | None) -> list[Image]:
        """For the catalogue: what has a tag, in one repository or in all."""
        images: list[Image] = []
        after = ["", ""]
        while True:
            found = await self._there().ask(
                "tagged", repository=repository, after=after, most=_PAGE
            )
            images += [Image(**each) for each in found["images"]]
            if len(found["images"]) < _PAGE:
                return images
            after = [images[-1].repository, images[-1].tag]

    async def delete(self, asks: Asker, repository: str, reference: str) -> int:
        """A tag, a digest, or, without either, all of it. Returns how many images."""
        who = asks.who
        if not await self.may_pull(who, repository):
            raise _no_repository(repository)
        if not self.may_delete(who, repository):
            raise NotAllowed(
                Text(
                    f"Only its owner or an admin may delete images of {repository}",
                    f"只有所有者或管理员可以删除 {repository} 中的镜像",
                )
            )
        if reference and not (is_tag(reference) or is_digest(reference)):
            raise _no_image(repository, reference)
        found = await self._there().ask("delete", repository=repository, reference=reference)
        if not found["deleted"]:
            raise _no_image(repository, reference)
        joint = "@" if ":" in reference else ":"
        thing = f"{repository}{joint}{reference}" if reference else repository

        def op(tx: Tx) -> None:
            if not reference:  # what is pushed under this name later is somebody's own again
                image_shares.remove_all(tx, repository)
            note(tx, asks, "image.deleted", thing)

        await self._store.write(op)
        return int(found["deleted"])

    async def collect(self, asks: Asker, grace: float | None) -> tuple[int, int]:
        """Returns how many blobs, and bytes, were freed."""
        if not (rules.keeps_registry(asks.who) and rules.may_change(asks.who)):
            raise _only_admins()
        found = await self._there().ask("collect", grace=grace)
        blobs, size = int(found["blobs"]), int(found["bytes"])
        await self._store.write(
            lambda tx: note(tx, asks, "registry.collected", "", blobs=blobs, bytes=size)
        )
        return blobs, size

    def _there(self) -> Opened:
        if self._opened is None or self._hosts.port is None:
            raise Clash(
                "no_registry",
                Text(
                    "This platform has no image registry; the admin can turn it on with "
                    "[registry] in danlu.toml",
                    "平台没有开启镜像仓库；管理员可在 danlu.toml 的 [registry] 中开启",
                ),
            )
        return self._opened


def _short(image: str) -> str:
    parts = split_image(image)
    return "" if parts is None else f"{parts[1]}{parts[2] or ':latest'}"


def _no_repository(name: str) -> NotThere:
    return NotThere(Text(f"repository {name[:255]}", f"镜像仓库 {name[:255]}"))


def _no_image(repository: str, reference: str) -> NotThere:
    name = f"{repository}{'@' if ':' in reference else ':'}{reference[:200]}"
    return NotThere(Text(f"image {name if reference else repository}", f"镜像 {name}"))


def _only_admins() -> NotAllowed:
    return NotAllowed(Text("Only admins may do this", "只有管理员可以这样做"))
