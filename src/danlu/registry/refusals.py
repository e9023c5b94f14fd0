"""Refusals with advice. Docker and Podman show them to whoever pushes."""

from __future__ import annotations

import errno
import logging

from danlu.registry.errors import Refusal, denied
from danlu.registry.names import Owner
from danlu.spec.text import Text
from danlu.spec.units import format_size

log = logging.getLogger("danlu.registry")


def over_quota(owner: Owner, quota: int) -> Refusal:
    size = format_size(quota)
    return denied(
        Text(
            f"The images of {owner.kind} {owner.name} may take {size} in total, and this push "
            "exceeds that; delete some (danlu registry list, danlu registry delete) or ask an "
            "admin for more",
            f"{owner.name} 的镜像总共最多 {size}，本次推送会超出；请删除一些"
            "（danlu registry list、danlu registry delete），或请管理员增加配额",
        )
    )


def disk_full() -> Refusal:
    log.error("refused a push: the disk is full")
    return denied(
        Text(
            "The disk of the registry is full; ask an admin to free some space",
            "镜像仓库的磁盘已满；请管理员清理",
        )
    )


def of_disk(error: OSError) -> Refusal:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full()
    log.error("cannot write: %s", error)
    return Refusal(500, "UNKNOWN", f"the registry cannot write: {error.strerror}")


def too_many_uploads(most: int) -> Refusal:
    return Refusal(
        429,
        "TOOMANYREQUESTS",
        f"you have {most} uploads in progress; wait for some to finish",
    )


def read_only() -> Refusal:
    return denied(
        Text(
            "The registry is read-only for now: images can be pulled, not pushed or deleted",
            "镜像仓库目前只读：可以拉取，不能推送或删除",
        )
    )


def no_such_place(repository: str) -> Refusal:
    return Refusal(
        404,
        "NAME_INVALID",
        f"{repository[:255]!r} cannot be a repository here; names begin with your user name, "
        "share/GROUP, ready or hub/HOST",
    )


def only_cached() -> Refusal:
    return denied(
        Text(
            "hub/... is a cache of other registries; push under your own name instead",
            "hub/... 是其他仓库的缓存；请推送到自己的名字下",
        )
    )
