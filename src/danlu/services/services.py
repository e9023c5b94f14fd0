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
from danlu.files.handover import HandOver
from danlu.files.home_keys import HomeKeys
from danlu.services.audit import Audit
from danlu.services.backup import Backup
from danlu.services.board import Board
from danlu.services.cluster import Cluster
from danlu.services.doors import Doors
from danlu.services.environments import Environments
from danlu.services.export import Export, Networks
from danlu.services.files import Files
from danlu.services.found import Found
from danlu.services.jobs import Jobs
from danlu.services.leaving import Leaving
from danlu.services.listing import Listing
from danlu.services.logins import Logins
from danlu.services.logs import JobLogs
from danlu.services.metrics import Metrics
from danlu.services.names import Names
from danlu.services.scheduling import QueuesAndQuotas
from danlu.services.secrets import Secrets
from danlu.services.server import Server
from danlu.services.sharing import Sharing
from danlu.services.stream import Stream
from danlu.services.submitting import Submitting
from danlu.services.tasks import Tasks
from danlu.services.usage import Usage
from danlu.services.web_doors import WebDoors


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
    sharing: Sharing
    submitting: Submitting
    listing: Listing
    logs: JobLogs
    tasks: Tasks
    doors: Doors
    web_doors: WebDoors
    stream: Stream
    secrets: Secrets
    volumes: Catalogue
    files: Files
    cluster: Cluster
    board: Board
    metrics: Metrics
    scheduling: QueuesAndQuotas
    server: Server
    backup: Backup
    export: Export
    proxies: frozenset[str] = frozenset()  # proxies trusted to report the client's address


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
    doors = Doors(gate, accounts.sign_in, keys, _at_home(context), tasks, logins)
    environments = Environments(controller, lookup, found, jobs, submitter, names)
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
        sharing=Sharing(context, lookup, environments, gate),
        submitting=Submitting(controller, submitter, names),
        listing=Listing(controller, found, names),
        logs=JobLogs(controller, found, Logs(context, lookup), gate),
        tasks=tasks,
        doors=doors,
        web_doors=WebDoors(context, gate, accounts.tickets, tasks, doors),
        stream=Stream(Feed(context), cluster, context.settings.limits.streams, names),
        secrets=Secrets(context.store, context.settings.limits.secrets),
        volumes=_catalogue(context, controller.volumes_changed),
        files=_files(context),
        cluster=cluster,
        board=Board(controller, names),
        metrics=Metrics(controller, found),
        scheduling=QueuesAndQuotas(controller),
        server=Server(controller, addresses, demo),
        backup=Backup(controller),
        export=Export(controller, cluster, metrics_from),
        proxies=proxies,
    )


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


def _hand_over(context: Context) -> HandOver:
    return HandOver(
        context.store,
        context.identities,
        context.folders,
        context.volumes,
        context.settings.files,
    )
