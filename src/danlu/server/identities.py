"""Decides at startup whether tasks run as their users."""

from __future__ import annotations

import logging
import os
import sqlite3
from dataclasses import replace

from danlu.access import identities
from danlu.access.identities import NoNumber, Uids
from danlu.access.registry import PATH, Registry
from danlu.engines.local.keeper.trial import why_no_identities
from danlu.server.settings import ServerConfig
from danlu.server.values import ConfigError
from danlu.spec.text import Text
from danlu.store import users
from danlu.store.store import Store
from danlu.store.uids import all_numbers

log = logging.getLogger("danlu.server")


def find_uids(config: ServerConfig) -> tuple[Uids | None, str]:
    """Where uids come from; or None and why all tasks share the server's."""
    if config.identities == "off":
        return None, "off"
    why = why_no_identities(config.uids.first)
    return (config.uids, "") if not why else (None, why)


async def with_registry(config: ServerConfig, store: Store, uids: Uids | None) -> Uids | None:
    """Numbers assigned from now on are no other server's on this machine."""
    if uids is None:
        return None
    installation = await store.installation()
    try:
        registry = Registry(installation, config.data)
        numbers = [n for n in await store.read(all_numbers) if uids.first <= n <= uids.last]
        shared = sorted(registry.taken().keys() & set(numbers))
        registry.claim(set(numbers) - set(shared))
    except (OSError, sqlite3.Error) as error:
        log.warning("cannot use %s (%s): other servers may assign the same uids", PATH, error)
        return uids
    if shared:
        folder = registry.taken().get(shared[0])
        log.warning(
            "%d uids (%d, ...) are also assigned by the server with the data folder %s: tasks of "
            "different people run with the same uid",
            len(shared),
            shared[0],
            folder,
        )
    return replace(uids, registry=registry)


async def settle_uids(store: Store, uids: Uids | None, why_not: str) -> None:
    """Assigns numbers to old accounts. Never silently merges users that were separate."""
    if uids is None:
        people = await store.read(users.list_users)
        apart = [user.name for user in people if user.uid is not None and user.status == "active"]
        if len(apart) > 1 and why_not != "off":
            raise ConfigError(
                Text(
                    f"Tasks of {len(apart)} users used to run with their own uids, which is no "
                    f"longer possible ({why_not}). Start the server as root as before, or, if "
                    'these users trust each other, set [engine] identities = "off" in danlu.toml',
                    f"原来 {len(apart)} 位用户的任务各自以自己的 uid 运行，现在做不到（{why_not}）"
                    "。请像以前一样用 root 启动，或在 danlu.toml 中写 [engine] identities = "
                    '"off"，表示他们彼此信任',
                ),
            )
        return
    try:
        await store.write(lambda tx: identities.complete(tx, uids))
    except NoNumber as error:
        raise ConfigError(error.message.after("danlu.toml")) from None


def circle_of_trust(uids: Uids | None) -> Text | None:
    """The warning at startup when tasks of all users share one uid."""
    if uids is not None:
        return None
    if os.geteuid() != 0:
        return Text(
            "Without root, all tasks run as you: only let in people you trust",
            "没有 root 权限，所有任务都以你的身份运行：彼此之间需要信任",
        )
    return Text(
        "All tasks run as root (without capabilities): only let in people you trust",
        "所有任务都以 root 运行（去掉了特权）：彼此之间需要信任",
    )
