"""Decides at the start whether tasks run as their users, and says so."""

from __future__ import annotations

import os

from danlu.access import identities
from danlu.access.identities import NoNumber, Uids
from danlu.engines.local.keeper.trial import why_no_identities
from danlu.server.settings import ServerConfig
from danlu.server.values import ConfigError
from danlu.store import users
from danlu.store.store import Store


def find_uids(config: ServerConfig) -> tuple[Uids | None, str]:
    """Where uids come from. None where all tasks share the server's, and why."""
    if config.identities == "off":
        return None, "off"
    why = why_no_identities(config.uids.first)
    return (config.uids, "") if not why else (None, why)


async def settle_uids(store: Store, uids: Uids | None, why_not: str) -> None:
    """Numbers for old accounts. Users who were apart are never thrown together in silence."""
    if uids is None:
        people = await store.read(users.list_users)
        apart = [user.name for user in people if user.uid is not None and user.status == "active"]
        if len(apart) > 1 and why_not != "off":
            raise ConfigError(
                f"Tasks of {len(apart)} users ran as their own uids, which is not possible any "
                f"more ({why_not}). Start the server as root as before, or say that they trust "
                'each other: [engine] identities = "off" in danlu.toml',
                f"原来 {len(apart)} 位用户的任务各自以自己的 uid 运行，现在做不到（{why_not}）。"
                '请像以前一样用 root 启动，或在 danlu.toml 中写 [engine] identities = "off"，'
                "表示他们彼此信任",
            )
        return
    try:
        await store.write(lambda tx: identities.complete(tx, uids))
    except NoNumber as error:
        raise ConfigError(f"danlu.toml: {error.en}", f"danlu.toml：{error.zh}") from None


def circle_of_trust(uids: Uids | None) -> tuple[str, str] | None:
    """What is said at the start where tasks of all users share one uid."""
    if uids is not None:
        return None
    if os.geteuid() != 0:
        return (
            "without root, all tasks run as you: one circle of trust",
            "没有 root 权限，所有任务都以你的身份运行：彼此之间需要信任",
        )
    return (
        "all tasks run as root (without its rights): one circle of trust",
        "所有任务都以 root 运行（去掉了特权）：彼此之间需要信任",
    )
