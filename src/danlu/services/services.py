"""The service layer, assembled once.

All interfaces (HTTP, pages, foreign protocols) call these services with the caller first and plain
values after it, and get typed errors. Permissions are checked here, never in an interface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from danlu.access.accounts import Accounts
from danlu.access.gate import Gate
from danlu.access.groups import Groups
from danlu.access.people import People
from danlu.access.principal import Principal
from danlu.access.sign_in import SignIn
from danlu.access.signup import SignUp
from danlu.access.ssh_keys import SshKeys
from danlu.access.tickets import Tickets
from danlu.access.tokens import Tokens
from danlu.control.context import Context
from danlu.control.controller import Controller
from danlu.control.feed import Feed
from danlu.control.logs import Logs
from danlu.control.lookup import Lookup
from danlu.control.submit import Submitter
from danlu.files.catalogue import Catalogue, Nodes
from danlu.files.event_files import EventFiles
from danlu.files.handover import HandOver
from danlu.files.home_keys import HomeKeys
from danlu.services.audit import Audit
from danlu.services.backup import Backup
from danlu.services.board import Board
from danlu.services.bundles import Bundles
from danlu.services.cluster import Cluster
from danlu.services.datasets import DatasetCatalogue
from danlu.services.disks import Disks
from danlu.services.doors import Doors
from danlu.services.environments import Environments
from danlu.services.export import Export, Networks
from danlu.services.files import Files
from danlu.services.found import Found
from danlu.services.image_builds import ImageBuilds
from danlu.services.image_checks import ImageChecks
from danlu.services.image_names import RegistryLink
from danlu.services.image_nodes import ImageNodes
from danlu.services.images import Catalogue as ImageCatalogue
from danlu.services.jobs import Jobs
from danlu.services.leaving import Leaving
from danlu.services.listing import Listing
from danlu.services.logins import Logins
from danlu.services.logs import JobLogs
from danlu.services.metrics import Metrics
from danlu.services.names import Names
from danlu.services.registry import Registry
from danlu.services.saves import Saves
from danlu.services.scheduling import QueuesAndQuotas
from danlu.services.secrets import Secrets
from danlu.services.server import Server
from danlu.services.sharing import Sharing
from danlu.services.storage import StorageRequests
from danlu.services.stream import Stream
from danlu.services.strips import Strips
from danlu.services.submitting import Submitting
from danlu.services.tasks import Tasks
from danlu.services.tensorboards import TensorBoards
from danlu.services.usage import Usage
from danlu.services.web_doors import WebDoors
from danlu.store.users import get_user


@dataclass(slots=True)
class Services:
    gate: Gate
    people: People
    leaving: Leaving
    groups: Groups
    usage: Usage
    tokens: Tokens
    ssh_keys: SshKeys
    signup: SignUp
    sign_in: SignIn
    tickets: Tickets
    audit: Audit
    jobs: Jobs
    environments: Environments
    images: ImageCatalogue
    image_checks: ImageChecks
    image_builds: ImageBuilds
    saves: Saves
    sharing: Sharing
    submitting: Submitting
    listing: Listing
    logs: JobLogs
    tasks: Tasks
    doors: Doors
    web_doors: WebDoors
    strips: Strips
    tensorboards: TensorBoards
    stream: Stream
    secrets: Secrets
    volumes: Catalogue
    registry: Registry
    files: Files
    bundles: Bundles
    datasets: DatasetCatalogue
    disks: Disks
    storage: StorageRequests
    cluster: Cluster
    board: Board
    metrics: Metrics
    scheduling: QueuesAndQuotas
    server: Server
    backup: Backup
    export: Export
    proxies: frozenset[str] = frozenset()  # proxies trusted to report the client's address

    async def recover(self) -> None:
        """Takes up what was going on when the server before this one ended."""
        await self.saves.recover()
        await self.image_checks.recover()
        await self.image_builds.recover()

    async def close(self) -> None:
        await self.image_checks.close()
        await self.image_builds.close()
        await self.saves.close()
        await self.images.nodes.close()
        await self.images.inside.close()
        await self.files.close()


def services(
    controller: Controller,
    gate: Gate,
    accounts: Accounts,
    addresses: list[str],
    proxies: frozenset[str] = frozenset(),
    demo: bool = False,
    metrics_from: Networks = (),
) -> Services:
    context = controller.context
    lookup = Lookup(context.store)
    submitter = Submitter(controller, lookup)
    names = Names(context)
    found, cluster = Found(controller, lookup, names), Cluster(controller, names)
    jobs = Jobs(controller, lookup, found, submitter, names)
    tasks, keys = Tasks(controller, found, gate), SshKeys(context.store)
    logins = Logins(controller, submitter)
    volumes = _catalogue(context, controller.volumes_changed)
    doors = Doors(gate, accounts.sign_in, keys, _at_home(context), tasks, logins)
    environments = Environments(controller, lookup, found, jobs, submitter, names)
    registry = Registry(context.store, gate, accounts.sign_in)
    url = addresses[0] if addresses else ""
    images, saves = _images(controller, found, registry, gate, url)
    return Services(
        gate=gate,
        people=accounts.people,
        leaving=Leaving(accounts.people, jobs, _hand_over(context)),
        groups=accounts.groups,
        usage=Usage(context.store),
        tokens=accounts.tokens,
        ssh_keys=keys,
        signup=accounts.signup,
        sign_in=accounts.sign_in,
        tickets=accounts.tickets,
        audit=Audit(context.store, gate),
        jobs=jobs,
        environments=environments,
        images=images,
        image_checks=ImageChecks(controller, submitter, images),
        image_builds=ImageBuilds(controller, submitter, images, saves),
        saves=saves,
        sharing=Sharing(context, lookup, environments, gate),
        submitting=Submitting(controller, submitter, names),
        listing=Listing(controller, found, names),
        logs=JobLogs(controller, found, Logs(context, lookup), gate),
        tasks=tasks,
        doors=doors,
        web_doors=WebDoors(context, gate, accounts.tickets, tasks, doors),
        strips=Strips(context, environments),
        tensorboards=TensorBoards(controller, found, submitter, _event_files(context)),
        stream=Stream(Feed(context), cluster, context.settings.limits.streams, names),
        secrets=Secrets(context.store, context.settings.limits.secrets),
        volumes=volumes,
        registry=registry,
        files=_files(context),
        bundles=Bundles(context),
        datasets=DatasetCatalogue(controller),
        disks=Disks(controller),
        storage=StorageRequests(context, volumes),
        cluster=cluster,
        board=Board(controller, names),
        metrics=Metrics(controller, found),
        scheduling=QueuesAndQuotas(controller),
        server=Server(controller, addresses, demo),
        backup=Backup(controller),
        export=Export(controller, cluster, metrics_from),
        proxies=proxies,
    )


def _images(
    controller: Controller, found: Found, registry: Registry, gate: Gate, url: str
) -> tuple[ImageCatalogue, Saves]:
    context, link = controller.context, RegistryLink(registry, url)

    def is_on() -> RegistryLink | None:
        return link if registry.is_on else None

    async def person(name: str) -> Principal | None:
        user = await context.store.read(lambda tx: get_user(tx, name))
        return None if user is None else await gate.person(user.id)

    images = ImageCatalogue(context, is_on, ImageNodes(context))
    saves = Saves(controller, found, is_on, person)
    saves.kept, context.may_use_image = images.saved, images.may_use
    return images, saves


def _catalogue(context: Context, changed: Callable[[], None]) -> Catalogue:
    settings = context.settings
    nodes = Nodes(lambda: [node.name for node in context.ledger.nodes()], context.engine_at)
    return Catalogue(
        context.store,
        context.identities,
        context.volumes,
        settings.files,
        settings.uids,
        nodes,
        changed,
    )


def _files(context: Context) -> Files:
    settings = context.settings
    people = (context.identities, context.volumes, context.folders)
    return Files(*people, settings.uids, settings.limits.free)


def _at_home(context: Context) -> HomeKeys:
    return HomeKeys(context.identities, context.settings.files.home_of)


def _event_files(context: Context) -> EventFiles:
    return EventFiles(context.identities, context.volumes)


def _hand_over(context: Context) -> HandOver:
    return HandOver(
        context.store,
        context.identities,
        context.folders,
        context.volumes,
        context.settings.files,
    )
