"""The local engine: tasks run on this machine, Danlu places them, they outlive the server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import resource
import shutil
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.engines.api import (
    NOTHING,
    CannotSave,
    Disk,
    Duplex,
    Endpoint,
    GpuInfo,
    ImageProgress,
    Inventory,
    Launch,
    Listener,
    LogFile,
    NodeImage,
    NodeInfo,
    NoTools,
    Observation,
    Placer,
    Plan,
    PullAccess,
    Run,
    Saved,
    SaveEstimate,
    SaveOrder,
    SaveProgress,
    Seen,
    TaskRef,
    ToolsProgress,
    Unreachable,
    UsageReport,
)
from danlu.engines.local import gpu_nodes, gpus, leftovers
from danlu.engines.local.attempts import Attempt, Task, read_claim
from danlu.engines.local.check import Abilities, abilities_of
from danlu.engines.local.config import (
    LocalConfig,
    NodeConfig,
    machine_cpus,
    machine_memory,
    usual_pids,
)
from danlu.engines.local.container.plan import container_name
from danlu.engines.local.container.runtimes import Runtime, Search
from danlu.engines.local.container.service import Containers
from danlu.engines.local.keeper import cgroup, linux, record
from danlu.engines.local.launching import Launcher
from danlu.engines.local.link import SpawnerClient
from danlu.engines.local.logs import Growth, LogFiles
from danlu.engines.local.names import Names
from danlu.engines.local.nvml import Watch
from danlu.engines.local.observe import Watcher
from danlu.engines.local.plan import PlanContext, make_plan
from danlu.engines.local.ports import PortLeases
from danlu.engines.local.reach import LocalReach
from danlu.engines.local.tools import NO_TREE, ToolsFolder
from danlu.engines.local.tools_venv import VenvMaker
from danlu.engines.local.usage import Kept, Meter, Nodes
from danlu.spec.text import Text
from danlu.spec.ties import KEPT_BY_THE_SYSTEM, OPEN_ALL_THE_SAME

NO_CONTAINER = Text(
    "It does not run in a container, so there is no image to save; its files are in its volumes",
    "它不在容器里运行，没有可保存的镜像；它的文件都在存储卷里",
)
_STOP_PATIENCE = 20.0  # seconds beyond the grace period before the keeper itself is killed
_LAST_MOMENTS = 30  # hundredths of a second for idle keepers to exit


class LocalEngine:
    placer = Placer.DANLU

    def __init__(self, config: LocalConfig, name: str = "local") -> None:
        self.name = name
        data = config.data.resolve()
        self.abilities = Abilities()
        self._config = replace(config, data=data)
        self._run = f"{data}/run"
        self._reach = LocalReach(self._run, self._is_over)
        self._tag = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
        hello = {
            "data": str(data),
            "tag": self._tag,
            "userns": config.userns,
            "cgroups": config.cgroups,
            "identities": config.identities,
            "reserve": config.reserve,
            "linger": config.linger,
            "hide": [str(path.resolve()) for path in (data, *config.hide)],
            "devices": list(config.devices),
            "seccomp": config.seccomp,
            "kept": {"below": KEPT_BY_THE_SYSTEM, "open_below": OPEN_ALL_THE_SAME},
        }
        self._watcher = Watcher(linux.boot_id(), self._lost)
        self._spawner = SpawnerClient(hello, self._watcher.ended)
        self.ports = PortLeases(config.port_range)
        self._logs = LogFiles(data)
        self._names = Names(data)
        self._growth = Growth()
        self._nodes: tuple[NodeConfig, ...] = config.nodes
        self._real: tuple[GpuInfo, ...] = ()
        self._plan_context: PlanContext | None = None
        self._meter: Meter | None = None
        self._containers = Containers(self._config, self._tag)
        self._tools = ToolsFolder(data)
        self._venv = VenvMaker(self._tools, config.identities)
        outside = {"userns": "off", "cgroups": "off", "reserve": 0, "lock": "outside.lock"}
        self._outside = SpawnerClient(hello | outside, self._watcher.ended)
        self._launcher = Launcher(self._run, self._spawner_for, self._watcher, self.ports)

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        os.makedirs(self._run, mode=0o700, exist_ok=True)
        os.makedirs(f"{self._config.data}/logs", mode=0o700, exist_ok=True)
        found = await self._spawner.start()
        _raise_file_limit()
        self._real = await asyncio.to_thread(gpus.detect)
        if not self._nodes:
            name = socket.gethostname().split(".")[0] or "local"
            detected = tuple((gpu.model, 1) for gpu in self._real)
            self._nodes = (NodeConfig(name, machine_cpus(), machine_memory(), detected),)
        declared = any(node.gpus for node in self._nodes)
        source = "nvml" if self._real else "declared" if declared else "none"
        self.abilities = abilities_of(found, source)
        if self._config.identities:
            # Without mount namespaces users reach their own files through the data folder.
            self._config.data.chmod(0o700 if self.abilities.namespaces else 0o711)
        self._plan_context = PlanContext(
            self._config,
            self.abilities,
            {node.name: node.address for node in self._nodes},
            gpus.physical(self._nodes, self._real),
            self._tag,
            tuple(str(gpu.index) for gpu in self._real),
            pids=self._config.pids or usual_pids(),
            gpu_nodes=await asyncio.to_thread(gpu_nodes.find, len(self._real)),
            tools=self._tools,
        )
        self._meter = Meter(self._measured(), Watch() if self._real else None)
        await self._look_for_containers()
        self._growth.start()
        self._launcher.adopt_all()

    async def close(self) -> None:
        await self._venv.close()
        await self._launcher.close()
        self._growth.close()
        self._watcher.close()
        await self._spawner.close()
        await self._outside.close()
        await self._containers.close()
        if self._meter is not None:
            self._meter.close()
        bases = list(self.abilities.cgroup_bases)
        for _ in range(_LAST_MOMENTS):  # idle keepers exit after their spawner
            if cgroup.remove_spares(bases):
                break
            await asyncio.sleep(0.01)
        if all(attempt.ended for attempt in self._watcher.attempts.values()):
            cgroup.give_back(bases)

    async def inventory(self) -> Inventory:
        await self._look_for_containers()
        search = self._containers.search
        return Inventory(
            tuple(self._node_info(node) for node in self._nodes),
            search.runtime is not None,
            search.missing,
        )

    async def disk(self) -> Disk | None:
        data = self._config.data
        usage = shutil.disk_usage(data)
        return Disk(usage.free, str(data), usage.total)

    async def missing_folders(self, node: str, folders: Sequence[str]) -> tuple[str, ...]:
        return missing(folders)  # inline: faster than a thread hop per launch

    @property
    def runtime_search(self) -> Search:
        """The container runtime, or why there is none."""
        return self._containers.search

    async def _look_for_containers(self, soon: bool = False) -> None:
        await self._containers.look(*((1.0,) if soon else ()))
        search = self._containers.search
        self._plan_context = replace(
            self._planning(), runtime=search.runtime, runtime_missing=search.missing.en
        )

    def _node_info(self, node: NodeConfig) -> NodeInfo:
        shown = gpus.declared(node)
        first = self._planning().first_gpu.get(node.name)
        if first is not None:
            shown = tuple(
                GpuInfo(gpu.index, gpu.model, real.uuid, real.memory, real.healthy, real.note)
                for gpu, real in zip(shown, self._real[first:], strict=False)
            )
        return NodeInfo(node.name, node.cpus, node.memory, shown, node.address, labels=node.labels)

    def _measured(self) -> Nodes:
        """The real GPUs of each node; declared ones without hardware cannot be measured."""
        first = self._planning().first_gpu
        real: dict[str, tuple[int, ...]] = {}
        for node in self._nodes:
            count = sum(count for _, count in node.gpus)
            start = first.get(node.name)
            real[node.name] = () if start is None else tuple(range(start, start + count))
        return Nodes(str(self._config.data), real)

    def _planning(self) -> PlanContext:
        if self._plan_context is None:
            raise Unreachable("the local engine has not been started")
        return self._plan_context

    # -- launching ----------------------------------------------------------------------------

    def plan(self, launch: Launch) -> Plan:
        return make_plan(launch, self._planning())

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        self._names.write(launch.identity)
        for task in launch.tasks:
            if task.hold and task.image is not None:
                self._containers.hold(container_name(launch.attempt_id, task.index))
        return await self._launcher.launch(launch, plan)

    def _spawner_for(self, launch: Launch) -> SpawnerClient:
        """A keeper inside a user namespace cannot enter a container's namespaces."""
        contained = any(task.image is not None for task in launch.tasks)
        boxed = self.abilities.namespaces_how == "user"
        return self._outside if contained and boxed else self._spawner

    def image_problem(self, image: str) -> Text | None:
        return self._containers.problem(image)

    async def prepare_image(
        self, node: str, image: str, progress: Callable[[ImageProgress], None]
    ) -> None:
        await self._look_for_containers(soon=True)
        await self._containers.prepare(image, progress)

    async def find_images(self, node: str, images: Sequence[str]) -> Mapping[str, NodeImage]:
        runtime = await self._runtime_now()
        return await self._containers.images.find(runtime, images)

    async def inspect_image(self, node: str, image: str) -> Mapping[str, Any] | None:
        return await self._containers.images.inspect(await self._runtime_now(), image)

    async def _runtime_now(self) -> Runtime:
        await self._look_for_containers(soon=True)
        if self._containers.runtime is None:
            raise Unreachable(self._containers.search.missing.en)
        return self._containers.runtime

    async def save_estimate(self, task: TaskRef) -> SaveEstimate:
        runtime, container = await self._container_of(task)
        return await self._containers.saves.estimate(runtime, container)

    async def save_image(
        self, task: TaskRef, order: SaveOrder, progress: Callable[[SaveProgress], None]
    ) -> Saved:
        runtime, container = await self._container_of(task)
        return await self._containers.saves.save(runtime, container, order, progress)

    async def hold_files(self, task: TaskRef) -> None:
        _, container = await self._container_of(task)
        self._containers.hold(container)

    async def let_go(self, task: TaskRef) -> None:
        name = container_name(task.attempt_id, task.task)
        self._containers.let_go(name, self._is_over(task))

    async def _container_of(self, task: TaskRef) -> tuple[Runtime, str]:
        runtime = await self._runtime_now()
        attempt = self._launcher.known(task.attempt_id)
        name = container_name(task.attempt_id, task.task)
        held = self._containers.is_held(name)
        if not held and (attempt is None or not attempt.tasks[task.task].container):
            raise CannotSave(NO_CONTAINER)
        return runtime, name

    async def prepare_own_image(
        self,
        node: str,
        image: str,
        access: PullAccess | None,
        progress: Callable[[ImageProgress], None],
    ) -> None:
        await self._look_for_containers(soon=True)
        await self._containers.prepare_own(image, access, progress)

    def tools_problem(self, image: bool) -> Text | None:
        if self._tools.is_ready(image, self.abilities.namespaces):
            return None
        return NO_TREE if image else self._venv.problem()

    async def prepare_tools(
        self, node: str, image: bool, progress: Callable[[ToolsProgress], None]
    ) -> None:
        problem = self.tools_problem(image)
        if problem is not None:
            raise NoTools(problem)
        if not self._tools.is_ready(image, self.abilities.namespaces):
            await self._venv.prepare(progress)

    async def settle(self, attempt_id: str) -> Seen | None:
        return await self._launcher.settle(attempt_id)

    # -- observing ----------------------------------------------------------------------------

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        if cursor is None:
            self._launcher.adopt_all()
        # Every launched attempt has a folder: without one it is gone.
        busy = self._launcher.busy
        gone = [id for id in known if id not in busy and self._launcher.known(id) is None]
        found = self._watcher.observe(cursor)
        return replace(found, scope=found.scope.union(gone)) if gone else found

    def changes(self) -> AsyncIterator[None]:
        return self._watcher.changes()

    def _lost(self, attempt: Attempt, task: Task) -> None:
        """The keeper is gone: end the task's processes before its GPUs are given to another."""
        found = read_claim(attempt.folder, task.index)
        if found is None:
            return
        self._containers.remove(task.container)
        cgroup.end(list(found[0]["cgroups"]))
        if not found[0]["namespaces"]:
            leftovers.end_marked(self._tag, frozenset, only=attempt.id)

    # -- ending -------------------------------------------------------------------------------

    async def stop(self, attempt_id: str, grace: float, handle: str = "") -> None:
        attempt = self._launcher.known(attempt_id)
        if attempt is None:
            return
        for task in attempt.tasks:
            if task.ended:
                continue
            if not self._order(attempt, task, grace):
                self._watcher.refresh(attempt, task)
        loop = asyncio.get_running_loop()
        loop.call_later(max(0.0, grace) + _STOP_PATIENCE, self._insist, attempt)

    def _order(self, attempt: Attempt, task: Task, grace: float) -> bool:
        """Writes the stop order to the task's record, then wakes its keeper."""
        if record.fence(attempt.folder, task.index):
            return False
        try:
            fd = os.open(record.claim_path(attempt.folder, task.index), os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            record.write(fd, record.ORDER, {"grace": max(0.0, grace), "at": time.time()})
        finally:
            os.close(fd)
        return self._watcher.signal(task, signal.SIGTERM)

    def _insist(self, attempt: Attempt) -> None:
        """Kills keepers that did not follow a stop order, and their tasks with them."""
        for task in attempt.tasks:
            if not task.ended:
                # Check first: the keeper may have moved on to another task.
                self._watcher.refresh(attempt, task)
            if not task.ended:
                self._watcher.signal(task, signal.SIGKILL)

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        attempt = self._launcher.known(attempt_id)
        if attempt is not None:
            self._insist(attempt)
            self._containers.discard([task.container for task in attempt.tasks if task.container])
        self._watcher.drop(attempt_id)
        self.ports.drop(attempt_id)
        tidy = attempt is not None and all(task.tidy for task in attempt.tasks)
        self._launcher.dispose(attempt_id, tidy)

    async def sweep(self, live: Callable[[], frozenset[str]], installation: str = "") -> int:
        count = 0
        self._launcher.adopt_all()
        others = frozenset(
            attempt.id
            for attempt in self._watcher.attempts.values()
            if installation and attempt.installation not in ("", installation)
        )

        def keep() -> frozenset[str]:
            return live().union(self._launcher.busy, others)

        kept = keep()
        for attempt_id in [name for name in self._watcher.attempts if name not in kept]:
            attempt = self._watcher.attempts[attempt_id]
            count += sum(not task.ended for task in attempt.tasks)
            await self.forget(attempt_id)
        return count + await asyncio.to_thread(self._sweep_processes, keep, installation)

    def _sweep_processes(self, keep: Callable[[], frozenset[str]], installation: str) -> int:
        count = leftovers.end_groups(self.abilities.cgroup_bases, keep)
        if not self.abilities.namespaces:
            count += leftovers.end_marked(self._tag, keep, installation=installation)
        count += self._containers.sweep(keep)
        leftovers.remove_drafts(self._run)
        return count

    # -- logs ---------------------------------------------------------------------------------

    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        return self._logs.read(task, stream, offset, limit)

    def export_logs(self) -> Iterator[LogFile]:
        return self._logs.export()

    async def log_size(self, task: TaskRef, stream: str) -> int:
        return self._logs.size(task, stream)

    async def log_grew(
        self,
        task: TaskRef,
        stream: str,
        offset: int,
        timeout: float,  # noqa: ASYNC109 - part of the contract
    ) -> bool:
        path = self._logs.path(task, stream)
        change = self._watcher.next_change(task.attempt_id)
        attempt = self._watcher.attempts.get(task.attempt_id)
        ended = attempt is None or attempt.tasks[task.task].ended
        try:
            return await self._growth.wait(path, offset, change, 0.0 if ended else timeout)
        finally:
            self._watcher.stop_waiting(task.attempt_id, change)

    # -- connections --------------------------------------------------------------------------

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
        return {"kind": "local", "run": self._run}

    def _is_over(self, task: TaskRef) -> bool:
        attempt = self._launcher.known(task.attempt_id)
        return attempt is None or attempt.tasks[task.task].ended

    async def usage(self) -> UsageReport:
        if self._meter is None:
            raise Unreachable("the local engine has not been started")
        running = [
            (attempt, task)
            for attempt in self._watcher.attempts.values()
            for task in attempt.tasks
            if not task.ended and task.pid
        ]
        return await asyncio.to_thread(self._measure, self._meter, running)

    def _measure(self, meter: Meter, running: list[tuple[Attempt, Task]]) -> UsageReport:
        first = self._planning().first_gpu
        return meter.measure(
            {
                TaskRef(attempt.id, task.index, attempt.job_id): _kept(
                    attempt, task, first.get(task.node)
                )
                for attempt, task in running
            }
        )


def _kept(attempt: Attempt, task: Task, first: int | None) -> Kept:
    """`first`: offset of its node's GPUs among the real ones; None: they are not real."""
    found = read_claim(attempt.folder, task.index)
    claim = found[0] if found else {}
    groups = list(claim.get("measured") or claim.get("cgroups", ()))
    gpus = () if first is None else tuple(first + index for index in task.gpus)
    return Kept(task.pid, groups, float(claim.get("cpu", 0)), task.node, gpus, task.shared)


def _raise_file_limit() -> None:
    """Each running task takes a descriptor. Tasks keep the old limit, saved by the spawner."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def missing(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(folder for folder in folders if not os.path.isdir(folder))
