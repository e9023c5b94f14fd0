"""Who may do what with images of the platform's registry; access to it for the server itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.registry.client import Client
from danlu.registry.names import owner_of
from danlu.store import image_shares
from danlu.store.store import Store

Scope = tuple[str, tuple[str, ...]]
"""A repository, and actions of pull, push and delete."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where the registry answers on this machine, and a way to make tokens for it."""

    url: str
    token: Callable[[str, str, Iterable[Scope]], str]  # name, user id, scopes


class Registry:
    def __init__(self, store: Store) -> None:
        self._store = store

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

    def may_push(self, who: Principal, repository: str) -> bool:
        owner = owner_of(repository)
        return owner is not None and rules.pushes_image(who, owner)

    def may_delete(self, who: Principal, repository: str) -> bool:
        owner = owner_of(repository)
        return owner is not None and rules.deletes_image(who, owner)

    # -- for the server itself ---------------------------------------------------------------

    async def client(self, who: Principal, scopes: Iterable[Scope]) -> Client:
        """For one thread: writes and reads images there with these rights, for an hour.

        Whoever calls has checked that `who` has them. Raises Clash if there is no registry."""
        raise NotImplementedError


__all__ = ["Opening", "Registry", "Scope"]
