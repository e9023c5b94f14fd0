"""The Slurm engine: Slurm queues and places, Danlu submits, watches, and reaches into tasks."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from danlu.engines.api import (
    NOTHING,
    Disk,
    Duplex,
    Endpoint,
    Holder,
    ImageProgress,
    Inventory,
    Launch,
    Listener,
    LogFile,
    Misfit,
    NodeInfo,
    NoTools,
    Observation,
    Partition,
    Placer,
    Plan,
    Run,
    Seen,
    TaskRef,
    ToolsProgress,
    Unreachable,
    UsageReport,
)
from danlu.engines.local.container import refs
from danlu.engines.local.engine import missing
from danlu.engines.local.ports import PortLeases
from danlu.engines.local.tools import NO_TREE, ToolsFolder
from danlu.engines.local.tools_venv import VenvMaker
from danlu.engines.slurm import inventory, settings, shipping, usage
from danlu.engines.slurm.attempts import ENDED, Index
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.fitting import Size, misfit
from danlu.engines.slurm.launching import Launcher
from danlu.engines.slurm.logs import Logs, Owners
from danlu.engines.slurm.plan import NO_IMAGES, Context, plan
from danlu.engines.slurm.reach import Doors, SlurmReach
from danlu.engines.slurm.script import Cluster, partition_of
from danlu.engines.slurm.source import Source
from danlu.engines.slurm.users import Users
from danlu.engines.slurm.watch import Watch
from danlu.spec.job import Resources
from danlu.spec.text import EMPTY, Text

_LEAST_MEMORY = 16 << 20  # a node with less has no RealMemory in slurm.conf


def _size(node: NodeInfo) -> Size:
    memory = node.memory if node.memory > _LEAST_MEMORY else 0
    return Size(int(node.cpus), memory, Counter(gpu.model for gpu in node.gpus))


class SlurmEngine:
    placer = Placer.ENGINE

    def __init__(self, config: SlurmConfig, name: str = "slurm") -> None:
        self.name = name
        self.config = config = replace(
            config, data=config.data.resolve(), shared=config.shared.resolve()
        )
        self.commands = Commands(config)
        self._source = Source(config, self.commands)
        self.ports = PortLeases(config.ports)
        self._users = Users(config)
        self._index = Index(config.data)
        self._owners = Owners(config.data)
        self._doors = Doors(config.data / "doors")
        self._nodes: tuple[inventory.Node, ...] = ()
        self._partitions: tuple[Partition, ...] = ()
        self._settings = settings.UNKNOWN
        self._context = Context(config, str(shipping.folder_of(config.shared)))
        self.watch = Watch(
            config,
            self.commands,
            self._source,
            self._users,
            self._index,
            self._doors,
            self._address,
        )
        self._launcher = Launcher(
            config,
            self.commands,
            self._users,
            self._index,
            self.watch,
            self._doors,
            self._owners,
        )
        self._logs = Logs(self._users, self._owners, self._job_of)
        self._reach = SlurmReach(self._doors.folder, self._is_over)
        self._tools = ToolsFolder(config.shared)
        self._venv = VenvMaker(self._tools, config.identities)
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        self.config.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (self._index, self._owners, self._doors):
            each.start()
        self._loop = asyncio.get_running_loop()
        agent = await asyncio.to_thread(shipping.ship, self.config.shared, self.config.python)
        self._users.agent = agent
        self._context = replace(self._context, agent=agent)
        self.watch.adopt_all()
        await self.inventory()
        await self.watch.look()
        self.watch.start()

    async def close(self) -> None:
        await self._venv.close()
        await self._launcher.close()
        await self.watch.close()
        self._users.close()

    # -- nodes --------------------------------------------------------------------------------

    async def inventory(self) -> Inventory:
        self.watch.check()
        if self._settings is settings.UNKNOWN:
            self._settings = settings.read(await self.commands.run("scontrol", "show", "config"))
            self._context = replace(self._context, untracked=not self._settings.tracks)
            self.watch.accounting = self._settings.accounting
            self._source.hides(self._settings.private)
        found, parts = await asyncio.gather(self._source.nodes(), self._source.partitions())
        self._nodes = found
        self.watch.nodes = {node.info.name: len(node.info.gpus) for node in found}
        self._partitions = parts
        types = [gpu.model for node in found for gpu in node.info.gpus]
        cluster = Cluster(
            tuple(dict.fromkeys(types)),
            tuple(part.name for part in parts),
            {part.name: part.nodes for part in parts},
            {node.info.name: node.info.address for node in found},
            {node.info.name: _size(node.info) for node in found},
            next((part.name for part in parts if part.default), ""),
        )
        self._context = replace(self._context, cluster=cluster)
        return Inventory(
            inventory.named(found, self.config.models),
            self.config.runtime != "off",
            NO_IMAGES if self.config.runtime == "off" else EMPTY,
            await self._holders(),
            parts,
        )

    async def _holders(self) -> tuple[Holder, ...]:
        """Who else holds what; indexes of GPUs are asked for only where somebody has some."""
        entries = self.watch.entries
        ours = frozenset(each.handle for each in self.watch.attempts.values() if each.handle)
        found = inventory.holders(entries, {}, ours)
        if not any(holder.gpus for holder in found):
            return found
        return inventory.holders(entries, await self._source.parts(), ours)

    def queue_nodes(self, queue: str) -> frozenset[str] | None:
        """Those of the partition it leads to."""
        names = [part.name for part in self._partitions]
        wanted = partition_of(queue, self.config, names)
        for part in self._partitions:
            if part.name == wanted or (not wanted and part.default):
                return frozenset(part.nodes)
        return None

    def misfit(self, queue: str, needs: Sequence[tuple[Resources, int]]) -> Misfit | None:
        return misfit(queue, needs, self.config, self._context.cluster)

    def _address(self, node: str) -> str:
        return (self._context.cluster.addresses or {}).get(node, node)

    async def disk(self) -> Disk | None:
        used = await asyncio.to_thread(shutil.disk_usage, self.config.shared)
        return Disk(used.free, str(self.config.shared), used.total)

    async def missing_folders(self, node: str, folders: Sequence[str]) -> tuple[str, ...]:
        """As seen from here: which node it will be is not known, and each task looks again."""
        return await asyncio.to_thread(missing, folders)

    # -- launching ----------------------------------------------------------------------------

    def plan(self, launch: Launch) -> Plan:
        return plan(launch, self._context)

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        return await self._launcher.launch(launch, plan)

    async def settle(self, attempt_id: str) -> Seen | None:
        return await self._launcher.settle(attempt_id)

    def image_problem(self, image: str) -> Text | None:
        try:
            refs.parse(image)
        except refs.BadName as error:
            return error.text
        return None

    async def prepare_image(
        self, node: str, image: str, progress: Callable[[ImageProgress], None]
    ) -> None:
        """Nothing: its node is not known yet, and each task gets it there."""

    def tools_problem(self, image: bool) -> Text | None:
        if self._tools.is_ready(image, boxed=False):
            return None
        return NO_TREE if image else self._venv.problem()

    async def prepare_tools(
        self, node: str, image: bool, progress: Callable[[ToolsProgress], None]
    ) -> None:
        problem = self.tools_problem(image)
        if problem is not None:
            raise NoTools(problem)
        if not self._tools.is_ready(image, boxed=False):
            await self._venv.prepare(progress)

    # -- observing ----------------------------------------------------------------------------

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        busy = self._launcher.busy
        return self.watch.observe(cursor, {i: known[i] for i in known if i not in busy})

    def changes(self) -> AsyncIterator[None]:
        return self.watch.changes()

    async def usage(self) -> UsageReport:
        free = (await asyncio.to_thread(shutil.disk_usage, self.config.shared)).free
        return await usage.measure(self.watch.attempts.values(), self._doors, self._nodes, free)

    # -- ending -------------------------------------------------------------------------------

    async def stop(self, attempt_id: str, grace: float, handle: str = "") -> None:
        await self._launcher.stop(attempt_id, grace, handle)

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        await self._launcher.forget(attempt_id, handle)
        self.ports.drop(attempt_id)

    async def sweep(self, live: Callable[[], frozenset[str]], installation: str = "") -> int:
        return await self._launcher.sweep(live, installation)

    # -- logs ---------------------------------------------------------------------------------

    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        return self._logs.read(task, stream, offset, limit)

    def export_logs(self) -> Iterator[LogFile]:
        if self._loop is None:
            raise Unreachable("the Slurm engine has not been started")
        return self._logs.export(self._loop)

    async def log_size(self, task: TaskRef, stream: str) -> int:
        return await self._logs.size(task, stream)

    async def log_grew(
        self,
        task: TaskRef,
        stream: str,
        offset: int,
        timeout: float,  # noqa: ASYNC109
    ) -> bool:
        return await self._logs.grew(task, stream, offset, timeout, lambda: self._is_over(task))

    def _job_of(self, attempt_id: str) -> str | None:
        attempt = self.watch.attempts.get(attempt_id)
        return None if attempt is None else attempt.job_id

    # -- talking ------------------------------------------------------------------------------

    def _is_over(self, task: TaskRef) -> bool:
        attempt = self.watch.attempts.get(task.attempt_id)
        if attempt is None:
            return self._index.load(task.attempt_id) is None
        return task.task >= attempt.count or attempt.tasks[task.task].phase in ENDED

    async def attach(self, task: TaskRef) -> Duplex:
        return await self._reach.attach(task)

    async def exec(self, task: TaskRef, run: Run) -> Duplex:
        return await self._reach.exec(task, run)

    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex:
        return await self._reach.connect(task, to)

    async def listen(self, task: TaskRef, at: Endpoint) -> Listener:
        return await self._reach.listen(task, at)

    async def hang_up(self, task: TaskRef, user: str) -> None:
        await self._reach.hang_up(task, user)

    def reach_settings(self) -> Mapping[str, str]:
        return {"kind": "slurm", "run": str(self._doors.folder)}
