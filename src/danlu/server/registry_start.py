"""Starts the image registry's side of the server, and tells the services of it."""

from __future__ import annotations

import contextlib
from typing import Any

from danlu.access import identities
from danlu.access.identities import NoNumber, Uids
from danlu.control.context import Context
from danlu.server.registry import RegistryProcess, user_for, where_of
from danlu.server.settings import ServerConfig
from danlu.server.web import known_hosts
from danlu.services.image_sync import Change
from danlu.services.registry import Opened
from danlu.services.registry_hosts import OwnHosts
from danlu.services.services import Services
from danlu.store.store import Store


async def start_registry(
    config: ServerConfig, context: Context, ours: Services
) -> RegistryProcess | None:
    names, addresses = known_hosts(config).names, config.registry.addresses
    context.own_images = ours.registry
    if not config.registry.enabled:
        last = RegistryProcess.last_port(config.data / "registry")
        ours.registry.close_to_all(OwnHosts(names, addresses, lambda: last))
        return None
    where = where_of(config)
    user = user_for(await _number(context.store, context.settings.uids))
    sign_in = ours.registry.sign_in
    process = RegistryProcess(config.data, config.registry, where, user, sign_in.token)
    settings = config.registry.settings
    ours.registry.open(
        Opened(
            process.ask,
            process.key,
            OwnHosts(names, addresses, lambda: process.port),
            bool(where.cert),
            settings.read_only,
            tuple(mirror.name for mirror in settings.mirrors),
        )
    )
    sign_in.tell = lambda users: process.tell("forget", users=users)

    async def changed(news: list[dict[str, Any]]) -> None:
        for each in news:
            tags = tuple(str(tag) for tag in each["tags"])
            await ours.image_sync.changed(Change(str(each["repository"]), str(each["by"]), tags))

    process.changed, process.linked = changed, ours.image_sync.compare
    await process.start()
    return process


async def _number(store: Store, uids: Uids | None) -> int | None:
    if uids is None:
        return None
    with contextlib.suppress(NoNumber):
        return await store.write(lambda tx: identities.for_service(tx, uids, "registry"))
    return None
