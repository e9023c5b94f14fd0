"""The service layer, assembled once.

All interfaces (HTTP, pages, foreign protocols) call these services with the caller first and plain
values after it, and get typed errors. Permissions are checked here, never in an interface.

What a server that only runs jobs does not need is loaded when it is first asked for.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from danlu.access.accounts import Accounts
from danlu.access.gate import Gate
from danlu.access.principal import Asker, Principal
from danlu.access.ssh_keys import SshKeys
from danlu.control.controller import Controller
from danlu.control.feed import Feed
from danlu.control.logs import Logs
from danlu.control.lookup import Lookup
from danlu.control.submit import Submitter
from danlu.files.home_keys import HomeKeys
from danlu.services.cluster import Cluster
from danlu.services.doors import Doors
from danlu.services.folder_quotas import FolderQuotas
from danlu.services.found import Found
from danlu.services.jobs import Jobs
from danlu.services.listing import Listing
from danlu.services.logins import Logins
from danlu.services.logs import JobLogs
from danlu.services.names import Names
from danlu.services.registry import Registry
from danlu.services.server import Server
from danlu.services.stream import Stream
from danlu.services.strips import Strips
from danlu.services.submitting import Submitting
from danlu.services.tasks import Tasks
from danlu.services.web_doors import WebDoors
from danlu.store.image_work import image_work_left
from danlu.store.users import get_user

if TYPE_CHECKING:
    from danlu.files.catalogue import Catalogue
    from danlu.services.audit import Audit
    from danlu.services.backup import Backup
    from danlu.services.basic_sign_in import BasicSignIn
    from danlu.services.board import Board
    from danlu.services.bundles import Bundles
    from danlu.services.datasets import DatasetCatalogue
    from danlu.services.dav_locks import DavLocks
    from danlu.services.disks import Disks
    from danlu.services.environments import Environments
    from danlu.services.export import Export, Networks
    from danlu.services.files import Files
    from danlu.services.image_builds import ImageBuilds
    from danlu.services.image_checks import ImageChecks
    from danlu.services.image_names import RegistryLink
    from danlu.services.image_sync import ImageSync
    from danlu.services.images import Catalogue as ImageCatalogue
    from danlu.services.leaving import Leaving
    from danlu.services.metrics import Metrics
    from danlu.services.saves import Saves
    from danlu.services.scheduling import QueuesAndQuotas
    from danlu.services.secrets import Secrets
    from danlu.services.sharing import Sharing
    from danlu.services.storage import StorageRequests
    from danlu.services.tensorboards import TensorBoards
    from danlu.services.usage import Usage
    from danlu.spec.text import Text

SOON, DAY = 900.0, 86_400.0


class Services:
    def __init__(
        self,
        controller: Controller,
        gate: Gate,
        accounts: Accounts,
        addresses: list[str],
        proxies: frozenset[str] = frozenset(),
        demo: bool = False,
        metrics_from: Networks = (),
    ) -> None:
        """`proxies`: trusted to report the client's address."""
        self._controller = controller
        self._context = context = controller.context
        self._lookup = lookup = Lookup(context.store)
        self._submitter = submitter = Submitter(controller, lookup)
        self._names = names = Names(context)
        self._found = found = Found(controller, lookup, names)
        self._url = addresses[0] if addresses else ""
        self._metrics_from = metrics_from
        self.proxies = proxies
        self.gate = gate
        self.people = accounts.people
        self.groups = accounts.groups
        self.tokens = accounts.tokens
        self.signup = accounts.signup
        self.sign_in = accounts.sign_in
        self.tickets = accounts.tickets
        self.ssh_keys = SshKeys(context.store)
        self.cluster = Cluster(controller, names)
        self.jobs = Jobs(controller, lookup, found, submitter, names)
        self.folder_quotas = FolderQuotas(context, controller.disk_uses.sizes)
        self.submitting = Submitting(controller, submitter, names, self._check_home)
        self.listing = Listing(controller, found, names)
        self.logs = JobLogs(controller, found, Logs(context, lookup), gate)
        self.tasks = Tasks(controller, found, gate)
        self.stream = Stream(Feed(context), self.cluster, context.settings.limits.streams, names)
        self.registry = Registry(context.store, gate, accounts.sign_in, self._url)
        self.server = Server(controller, addresses, demo)
        self.doors = self._doors()
        self.web_doors = WebDoors(context, gate, accounts.tickets, self.tasks, self.doors)
        self.strips = Strips(context, lambda: self.environments)
        context.may_use_image = self._may_use_image

    async def recover(self) -> None:
        """Takes up what was going on when the server before this one ended."""
        building = any(live.spec.build for live in self._context.jobs.values())
        if building or await self._context.store.read(image_work_left):
            await self.saves.recover()
            await self.image_checks.recover()
            await self.image_builds.recover()

    async def tend(self) -> None:
        """Once a day: bins, uploads that were given up, and the sizes of homes."""
        await asyncio.sleep(SOON)  # a server that is often restarted cleans, too
        while True:
            await self.files.tend()
            await asyncio.sleep(DAY)

    async def close(self) -> None:
        loaded = vars(self)
        for name in ("image_checks", "image_builds", "saves", "images", "files"):
            if name in loaded:
                await loaded[name].close()

    def _doors(self) -> Doors:
        at_home = HomeKeys(self._context.identities, self._context.settings.files.home_of)
        logins = Logins(self._controller, self._submitter)
        return Doors(self.gate, self.sign_in, self.ssh_keys, at_home, self.tasks, logins)

    # People

    @cached_property
    def leaving(self) -> Leaving:
        from danlu.files.handover import HandOver
        from danlu.services.leaving import Leaving

        context = self._context
        files = context.settings.files
        people = (context.store, context.identities, context.folders, context.volumes)
        return Leaving(self.people, self.jobs, HandOver(*people, files))

    @cached_property
    def usage(self) -> Usage:
        from danlu.services.usage import Usage

        return Usage(self._context.store)

    @cached_property
    def audit(self) -> Audit:
        from danlu.services.audit import Audit

        return Audit(self._context.store, self.gate)

    @cached_property
    def secrets(self) -> Secrets:
        from danlu.services.secrets import Secrets

        return Secrets(self._context.store, self._context.settings.limits.secrets)

    # Environments and images

    @cached_property
    def environments(self) -> Environments:
        from danlu.services.environments import Environments

        return Environments(
            self._controller,
            self._lookup,
            self._found,
            self.jobs,
            self._submitter,
            self._names,
            self.web_doors,
        )

    @cached_property
    def sharing(self) -> Sharing:
        from danlu.services.sharing import Sharing

        return Sharing(self._context, self._lookup, self.environments, self.gate)

    @cached_property
    def tensorboards(self) -> TensorBoards:
        from danlu.files.event_files import EventFiles
        from danlu.services.tensorboards import TensorBoards

        files = EventFiles(self._context.identities, self._context.volumes)
        return TensorBoards(self._controller, self._found, self._submitter, files)

    @cached_property
    def images(self) -> ImageCatalogue:
        from danlu.services.image_nodes import ImageNodes
        from danlu.services.images import Catalogue as ImageCatalogue

        return ImageCatalogue(self._context, self._registry_link, ImageNodes(self._context))

    @cached_property
    def saves(self) -> Saves:
        from danlu.services.saves import Saves

        saves = Saves(self._controller, self._found, self._registry_link, self._person)
        saves.kept = self.images.saved
        return saves

    @cached_property
    def image_checks(self) -> ImageChecks:
        from danlu.services.image_checks import ImageChecks

        return ImageChecks(self._controller, self._submitter, self.images)

    @cached_property
    def image_builds(self) -> ImageBuilds:
        from danlu.services.image_builds import ImageBuilds

        return ImageBuilds(self._controller, self._submitter, self.images, self.saves)

    @cached_property
    def image_sync(self) -> ImageSync:
        from danlu.services.image_sync import ImageSync

        return ImageSync(self._context, self._registry_link, self.registry)

    def _registry_link(self) -> RegistryLink | None:
        return self._link if self.registry.is_on else None

    @cached_property
    def _link(self) -> RegistryLink:
        from danlu.services.image_names import RegistryLink

        return RegistryLink(self.registry, self._url)

    async def _may_use_image(self, who: Principal, image: str) -> Text | None:
        return await self.images.may_use(who, image)

    async def _person(self, name: str) -> Principal | None:
        user = await self._context.store.read(lambda tx: get_user(tx, name))
        return None if user is None else await self.gate.person(user.id)

    # Files and data

    @cached_property
    def volumes(self) -> Catalogue:
        from danlu.files.catalogue import Catalogue, Nodes

        context = self._context
        nodes = Nodes(lambda: [node.name for node in context.ledger.nodes()], context.engine_at)
        return Catalogue(
            context.store,
            context.identities,
            context.volumes,
            context.settings.files,
            context.settings.uids,
            nodes,
            self._controller.volumes_changed,
        )

    @cached_property
    def files(self) -> Files:
        from danlu.services.files import Files

        context, settings = self._context, self._context.settings
        return Files(
            context.identities,
            context.volumes,
            context.folders,
            settings.uids,
            settings.limits.free,
            quotas=self.folder_quotas,
            datasets=context.datasets,
            bin_keeps=settings.disks.bins,
        )

    async def _check_home(self, asks: Asker) -> None:
        if await self.folder_quotas.limit(("user", asks.name)) is not None:
            await self.files.check_home(asks)

    @cached_property
    def dav_sign_in(self) -> BasicSignIn:
        from danlu.services.basic_sign_in import BasicSignIn

        return BasicSignIn(self._context.store, self.gate, self.sign_in, "dav.login")

    @cached_property
    def dav_locks(self) -> DavLocks:
        from danlu.services.dav_locks import DavLocks

        return DavLocks()

    @cached_property
    def bundles(self) -> Bundles:
        from danlu.services.bundles import Bundles

        return Bundles(self._context)

    @cached_property
    def datasets(self) -> DatasetCatalogue:
        from danlu.services.datasets import DatasetCatalogue

        return DatasetCatalogue(self._controller)

    @cached_property
    def disks(self) -> Disks:
        from danlu.services.disks import Disks

        return Disks(self._controller)

    @cached_property
    def storage(self) -> StorageRequests:
        from danlu.services.storage import StorageRequests

        return StorageRequests(self._context, self.volumes)

    # The cluster

    @cached_property
    def board(self) -> Board:
        from danlu.services.board import Board

        return Board(self._controller, self._names)

    @cached_property
    def metrics(self) -> Metrics:
        from danlu.services.metrics import Metrics

        return Metrics(self._controller, self._found)

    @cached_property
    def scheduling(self) -> QueuesAndQuotas:
        from danlu.services.scheduling import QueuesAndQuotas

        return QueuesAndQuotas(self._controller)

    @cached_property
    def backup(self) -> Backup:
        from danlu.services.backup import Backup

        return Backup(self._controller)

    @cached_property
    def export(self) -> Export:
        from danlu.services.export import Export

        return Export(self._controller, self.cluster, self._metrics_from)
