"""The catalogue of images: ready ones, one's own, those of one's groups, and what others share."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.principal import Asker, Principal
from danlu.control.context import Context
from danlu.engines.api import Images as ImageEngine
from danlu.engines.api import Saved
from danlu.services.image_inside import ImageInside
from danlu.services.image_names import MOST, Link, OwnImage, own_image
from danlu.services.image_nodes import ImageNodes, OnNode
from danlu.spec.ids import uuid7
from danlu.spec.text import Text
from danlu.store import groups, image_shares, users
from danlu.store import images as store
from danlu.store.rows import ImageCheckRow, ImageRow, ImageSaveRow, ImageShareRow
from danlu.store.tx import Tx

_SHARES = 200
_KINDS = {"user": image_shares.USER, "group": image_shares.GROUP, "everybody": image_shares.ALL}
CHECKS = ("ssh", "lab", "code", "gpu")


@dataclass(frozen=True, slots=True)
class Image:
    row: ImageRow
    shares: list[ImageShareRow]
    checks: list[ImageCheckRow]  # of its current digest, and before
    nodes: list[OnNode]

    @property
    def verdict(self) -> tuple[str, float | None]:
        """Of its current digest: a new one is unverified."""
        mine = [each for each in self.checks if each.digest == self.row.digest]
        if not mine:
            return "unverified", None
        results = {each.result for each in mine}
        at = max(each.at for each in mine)
        for result in ("running", "failed"):
            if result in results:
                return result, at
        return "ok", at

    @property
    def works(self) -> list[str]:
        """What was tried with success, of its current digest."""
        mine = [each for each in self.checks if each.digest == self.row.digest]
        return sorted({each.check for each in mine if each.result == "ok"}, key=CHECKS.index)


class Catalogue:
    def __init__(self, context: Context, link: Link, nodes: ImageNodes) -> None:
        self._context = context
        self._link = link
        self.link = link
        self.nodes = nodes
        self.inside = ImageInside(context, link)

    async def close(self) -> None:
        await self.nodes.close()
        await self.inside.close()

    # -- looking ------------------------------------------------------------------------------

    async def listed(self, who: Principal, which: str = "all") -> list[Image]:
        def query(tx: Tx) -> tuple[list[ImageRow], set[str], list[ImageCheckRow]]:
            shared = image_shares.shared_with(tx, who.name, who.groups)
            return store.every(tx), set(shared), store.every_check(tx)

        rows, shared, checks = await self._context.store.read(query)
        seen = [row for row in rows if self._sees(who, row, shared)]
        chosen = [row for row in seen if _is(row, which, who, self._key(row) in shared)]
        tried: dict[str, list[ImageCheckRow]] = {}
        for each in checks:
            tried.setdefault(each.image, []).append(each)
        return [Image(row, [], tried.get(row.id, []), self.nodes.known(row.name)) for row in chosen]

    async def show(self, who: Principal, ref: str) -> Image:
        row = await self.find(who, ref)
        await self.nodes.look([row.name])
        shown = await self._shown(who, row)
        self.inside.read(shown.row, who)
        return shown

    async def find(self, who: Principal, ref: str) -> ImageRow:
        """By id or name; `~` stands for `/`. Raises NotThere, Clash."""
        name = ref.replace("~", "/")

        def query(tx: Tx) -> tuple[list[ImageRow], set[str]]:
            by_id = store.get(tx, ref)
            shared = set(image_shares.shared_with(tx, who.name, who.groups))
            if by_id is not None:
                return [by_id], shared
            return [row for row in store.every(tx) if name in self._names(row, who)], shared

        rows, shared = await self._context.store.read(query)
        seen = [row for row in rows if self._sees(who, row, shared)]
        if not seen:
            raise NotThere(Text(f"image {name[:100]}", f"镜像 {name[:100]}"))
        # One's own of that name, then a ready one.
        return min(seen, key=lambda row: (row.owner != who.name, not row.ready, row.created_at))

    # -- changing -----------------------------------------------------------------------------

    async def add(self, asks: Asker, name: str, description: str, ready: bool) -> Image:
        """A name that jobs can use, from wherever it comes."""
        _may_change(asks.who)
        if ready and not asks.who.admin:
            raise _admins_only()
        await self._check_name(asks.who, name)
        at = time.time()
        row = ImageRow(uuid7(), name, asks.name, at, at, ready, "added", description)

        def op(tx: Tx) -> str:
            mine = [each for each in store.every(tx) if each.owner == asks.name]
            known = next((each for each in mine if each.name == name), None)
            note(tx, asks, "image.added", name, ready=ready)
            if known is not None and known.source == "pushed" and not known.description:
                # It was listed when it was pushed; now somebody says what it is.
                store.update(
                    tx, known.id, description=description, ready=ready or known.ready, updated_at=at
                )
                return known.id
            if known is not None:
                raise _is_there(name)
            if len(mine) >= MOST:
                raise Crowded(MOST, Text("images", "镜像"))
            store.add(tx, row)
            return row.id

        id = await self._context.store.write(op)
        await self.refresh(id)
        return await self.show(asks.who, id)

    async def change(self, asks: Asker, ref: str, description: str) -> Image:
        row = await self.to_change(asks.who, ref)

        def op(tx: Tx) -> None:
            store.update(tx, row.id, description=description, updated_at=time.time())
            note(tx, asks, "image.changed", row.name)

        await self._context.store.write(op)
        return await self.show(asks.who, row.id)

    async def remove(self, asks: Asker, ref: str) -> Image:
        """From the catalogue, with its shares. What the registry and nodes have stays there."""
        row = await self.to_change(asks.who, ref)
        shown = await self._shown(asks.who, row)
        key = self._key(row)

        def op(tx: Tx) -> None:
            store.remove(tx, row.id)
            # Shares are of a repository: they end with the last image of it that is listed.
            if not any(self._key(each) == key for each in store.every(tx)):
                image_shares.remove_all(tx, key)
            note(tx, asks, "image.removed", row.name)

        await self._context.store.write(op)
        return shown

    async def share(self, asks: Asker, ref: str, kind: str, name: str, shared: bool) -> Image:
        """With a user, a group or everybody, by name or id."""
        row = await self.to_change(asks.who, ref)
        key = self._key(row)

        def op(tx: Tx) -> None:
            found = _person(tx, kind, name, shared)
            if shared:
                if len(image_shares.of(tx, key)) >= _SHARES:
                    most = Text(f"at most {_SHARES} shares", f"最多 {_SHARES} 个共享")
                    raise Unfit("name", most)
                made = ImageShareRow(key, _KINDS[kind], found, time.time(), asks.name)
                image_shares.add(tx, made)
            elif not image_shares.remove(tx, key, _KINDS[kind], found):
                raise NotThere(
                    Text(f"share of {row.name} with {found or kind}", f"{row.name} 的这一共享")
                )
            act = "image.shared" if shared else "image.unshared"
            note(tx, asks, act, row.name, kind=kind, user=found)

        await self._context.store.write(op)
        return await self.show(asks.who, row.id)

    async def propose(self, asks: Asker, ref: str, text: str) -> Image:
        """As a ready image: admins decide."""
        row = await self.to_change(asks.who, ref)
        if row.ready:
            raise Clash(
                "image_ready", Text(f"{row.name} is a ready image", f"{row.name} 已是公共镜像")
            )
        return await self._decide(asks, row, "proposed", text, False)

    async def decide(self, asks: Asker, ref: str, text: str, accepted: bool) -> Image:
        row = await self.find(asks.who, ref)
        if not asks.who.admin or not rules.may_change(asks.who):
            raise _admins_only()
        if row.proposal != "proposed":
            raise Clash(
                "not_proposed",
                Text(f"Nobody has proposed {row.name}", f"{row.name} 没有被提名"),
            )
        return await self._decide(asks, row, "accepted" if accepted else "rejected", text, accepted)

    async def pull(self, asks: Asker, ref: str, nodes: list[str]) -> Image:
        """Ahead of jobs, to some nodes or all. Admins, and owners of their own."""
        row = await self.to_change(asks.who, ref)
        await self.nodes.pull(row.name, nodes, asks.name)
        await self._context.store.write(
            lambda tx: note(tx, asks, "image.pulling", row.name, nodes=nodes)
        )
        return await self._shown(asks.who, row)

    async def saved(self, save: ImageSaveRow, saved: Saved, where: OwnImage) -> None:
        """A container was saved, or built, as this image."""
        at = time.time()
        source = "built" if save.job_id in self.builds else "saved"

        def op(tx: Tx) -> str:
            mine = [each for each in store.named(tx, where.reference) if each.owner == save.owner]
            if mine:
                values = {"description": save.description} if save.description else {}
                store.update(
                    tx, mine[0].id, digest=saved.digest, size=saved.total, source=source,
                    updated_at=at, inside={}, **values,
                )  # fmt: skip
                return mine[0].id
            row = ImageRow(
                uuid7(), where.reference, save.owner, at, at, where.owner.kind == "ready", source,
                save.description, saved.digest, saved.total,
            )  # fmt: skip
            store.add(tx, row)
            return row.id

        await self._context.persist(op)

    builds: Collection[str] = frozenset()  # jobs that build images

    async def refresh(self, id: str) -> None:
        """Its digest and size, as far as a node knows them."""
        row = await self._context.store.read(lambda tx: store.get(tx, id))
        if row is None:
            return
        await self.nodes.look([row.name])
        found = self.nodes.image(row.name)
        if found is None or not found.digest:
            return
        digest, size = found.digest, found.size or row.size
        if digest != row.digest:
            values = {"digest": digest, "size": row.size or size, "inside": {}}
            await self._context.store.write(lambda tx: store.update(tx, id, **values))

    # -- details ------------------------------------------------------------------------------

    async def to_change(self, who: Principal, ref: str) -> ImageRow:
        row = await self.find(who, ref)
        if row.owner != who.name and not who.admin:
            raise NotAllowed(
                Text(
                    f"{row.name} belongs to {row.owner}; only they or an admin may change it",
                    f"{row.name} 属于 {row.owner}；只有其本人和管理员可以修改",
                )
            )
        _may_change(who)
        return row

    async def may_use(self, who: Principal, image: str) -> Text | None:
        """Why this person may not run an image of the platform's own; None: they may."""
        mine = own_image(image, self._link())
        if mine is None or rules.pulls_image(who, mine.owner, shared=False):
            return None
        name, groups_of_them = who.name, who.groups
        shared = await self._context.store.read(
            lambda tx: image_shares.reaches(tx, mine.repository, name, groups_of_them)
        )
        if rules.pulls_image(who, mine.owner, shared):
            return None
        return Text(
            "is not an image of yours, nor is it shared with you; ask its owner to share it",
            "不是你的镜像，也没有共享给你；请让其所有者共享",
        )

    def _sees(self, who: Principal, row: ImageRow, shared: Collection[str]) -> bool:
        if who.admin or row.ready or row.owner == who.name or self._key(row) in shared:
            return True
        mine = own_image(row.name, self._link())
        return mine is not None and rules.pulls_image(who, mine.owner, shared=False)

    def _key(self, row: ImageRow) -> str:
        """What is shared: a repository with all its tags; of outside images the entry alone."""
        mine = own_image(row.name, self._link())
        return mine.repository if mine is not None else f"outside:{row.id}"

    def _names(self, row: ImageRow, who: Principal) -> set[str]:
        mine = own_image(row.name, self._link())
        if mine is None:
            return {row.name}
        return {row.name, mine.short, mine.short.removeprefix(f"{who.name}/")}

    async def _shown(self, who: Principal, row: ImageRow) -> Image:
        key = self._key(row)

        def query(tx: Tx) -> tuple[ImageRow | None, list[ImageShareRow], list[ImageCheckRow]]:
            return store.get(tx, row.id), image_shares.of(tx, key), store.checks_of(tx, row.id)

        now, shares, checks = await self._context.store.read(query)
        told = shares if who.admin or row.owner == who.name else []
        return Image(now or row, told, checks, self.nodes.known(row.name))

    async def _check_name(self, who: Principal, name: str) -> None:
        for status in self._context.engines:
            if isinstance(status.engine, ImageEngine):
                problem = status.engine.image_problem(name)
                if problem is not None:
                    raise Unfit("name", problem.after(repr(name[:100])))
                break
        denied = await self.may_use(who, name)
        if denied is not None:
            raise Unfit("name", denied.after(repr(name[:100])))

    async def _decide(
        self, asks: Asker, row: ImageRow, proposal: str, text: str, ready: bool
    ) -> Image:
        at = time.time()
        values = {"proposal": proposal, "proposal_note": text, "updated_at": at}
        made = proposal != "proposed"
        values |= {"decided_by": asks.name if made else "", "decided_at": at if made else None}
        if ready:
            values["ready"] = True
        key = self._key(row)

        def op(tx: Tx) -> None:
            store.update(tx, row.id, **values)
            if ready and not key.startswith("outside:"):  # everybody may pull it now
                image_shares.add(
                    tx, ImageShareRow(key, image_shares.ALL, "", time.time(), asks.name)
                )
            note(tx, asks, f"image.{proposal}", row.name, note=text)

        await self._context.store.write(op)
        return await self._shown(asks.who, replace(row))


def _is(row: ImageRow, which: str, who: Principal, shared: bool) -> bool:
    if which == "own":
        return row.owner == who.name
    if which == "ready":
        return row.ready
    if which == "shared":
        return shared and row.owner != who.name
    if which == "proposed":
        return row.proposal == "proposed"
    return True


def _person(tx: Tx, kind: str, name: str, there: bool) -> str:
    """The name of a user or group given by name or id."""
    if kind == "everybody":
        return ""
    if not name:
        raise Unfit("name", Text("must be given", "必须填写"))
    if kind == "user":
        person = users.get_user(tx, name) or users.get_user_by_id(tx, name)
        if person is not None and (person.status == "active" or not there):
            return person.name
        raise NotThere(Text(f"user {name[:40]}", f"用户 {name[:40]}"))
    known = groups.list_groups(tx)
    group = next((each for each in known if name in (each.name, each.id)), None)
    if group is None:
        raise Unknown("name", Text("group", "组"), name, [])
    return group.name


def _may_change(who: Principal) -> None:
    if not rules.may_change(who):
        raise NotAllowed(Text("This token may only read", "此令牌只能读取"))


def _admins_only() -> NotAllowed:
    return NotAllowed(
        Text(
            "Only admins decide on ready images; propose it with danlu image propose",
            "公共镜像由管理员决定；可以提名（danlu image propose）",
        )
    )


def _is_there(name: str) -> Clash:
    return Clash(
        "image_exists",
        Text(f"{name} is already in your list", f"你的列表中已有 {name}"),
    )
