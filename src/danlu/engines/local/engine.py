"""The local engine's process runtime: this machine, Danlu places, tasks outlive the server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.engines.api import (
    Duplex,
    GpuInfo,
    ImageProgress,
    Inventory,
    Launch,
    NodeInfo,
    Observation,
    Placer,
    Plan,
    Ports,
    Refused,
    Seen,
    TaskRef,
    Tty,
    Unreachable,
    Usage,
)
from danlu.engines.local import gpus, leftovers, usage
from danlu.engines.local.attempts import Attempt, Task, read_claim
from danlu.engines.local.check import Abilities, abilities_of
from danlu.engines.local.config import LocalConfig, NodeConfig, machine_cpus, machine_memory
from danlu.engines.local.container.runtimes import Search
from danlu.engines.local.container.service import Containers
from danlu.engines.local.duplex import to_keeper, to_port
from danlu.engines.local.keeper import cgroup, frames, linux, record
from danlu.engines.local.launching import Launcher
from danlu.engines.local.link import Spawner
from danlu.engines.local.logs import Growth, LogFiles
from danlu.engines.local.names import Names
from danlu.engines.local.observe import Watcher
from danlu.engines.local.plan import Ground, make_plan
from danlu.engines.local.ports import PortLeases

_TALK_PATIENCE = 2.0  # seconds a keeper that was just started has until it listens
_STOP_PATIENCE = 20.0  # seconds over the grace after which the keeper itself is killed
_LAST_MOMENTS = 30  # hundredths of a second that keepers without a task have to go


class LocalEngine:
    name = "local"
    placer = Placer.DANLU

    def __init__(self, config: LocalConfig) -> None:
        data = config.data.resolve()
        self.abilities = Abilities()
        self._config = replace(config, data=data)
        self._run = f"{data}/run"
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
        }
        self._watcher = Watcher(linux.boot_id(), self._lost)
        self._spawner = Spawner(hello, self._watcher.ended)
        self.ports: Ports = PortLeases(config.port_range)
        self._logs = LogFiles(data)
        self._names = Names(data)
        self._growth = Growth()
        self._nodes: tuple[NodeConfig, ...] = config.nodes
        self._real: tuple[GpuInfo, ...] = ()
        self._ground: Ground | None = None
        self._containers = Containers(self._config, self._tag)
        outside = {"userns": "off", "cgroups": "off", "reserve": 0, "lock": "outside.lock"}
        self._outside = Spawner(hello | outside, self._watcher.ended)
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
            cards = tuple((card.model, 1) for card in self._real)
            self._nodes = (NodeConfig(name, machine_cpus(), machine_memory(), cards),)
        declared = any(node.gpus for node in self._nodes)
        source = "nvml" if self._real else "declared" if declared else "none"
        self.abilities = abilities_of(found, source)
        if self._config.identities:
            # Without a view of their own, users go through the data folder to what is theirs.
            self._config.data.chmod(0o700 if self.abilities.namespaces else 0o711)
        self._ground = Ground(
            self._config,
            self.abilities,
            {node.name: node.address for node in self._nodes},
            gpus.physical(self._nodes, self._real),
            self._tag,
            tuple(str(card.index) for card in self._real),
        )
        await self._look_for_containers()
        self._growth.start()
        self._launcher.adopt_all()

    async def close(self) -> None:
        await self._launcher.close()
        self._growth.close()
        self._watcher.close()
        await self._spawner.close()
        await self._outside.close()
        await self._containers.close()
        bases = list(self.abilities.cgroup_bases)
        for _ in range(_LAST_MOMENTS):  # keepers that wait go when their spawner has gone
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
            search.en,
            search.zh,
        )

    @property
    def runtime_search(self) -> Search:
        """Which container runtime there is, or why there is none."""
        return self._containers.search

    async def _look_for_containers(self, soon: bool = False) -> None:
        await self._containers.look(*((1.0,) if soon else ()))
        search = self._containers.search
        self._ground = replace(self._grounded(), runtime=search.runtime, runtime_missing=search.en)

    def _node_info(self, node: NodeConfig) -> NodeInfo:
        cards = gpus.declared(node)
        first = self._grounded().first_card.get(node.name)
        if first is not None:
            cards = tuple(
                GpuInfo(card.index, card.model, real.uuid, real.memory, real.healthy, real.note)
                for card, real in zip(cards, self._real[first:], strict=False)
            )
        return NodeInfo(node.name, node.cpus, node.memory, cards, node.address, labels=node.labels)

    def _grounded(self) -> Ground:
        if self._ground is None:
            raise Unreachable("the local engine was not started")
        return self._ground

    # -- launching ----------------------------------------------------------------------------

    def plan(self, launch: Launch) -> Plan:
        return make_plan(launch, self._grounded())

    async def launch(self, launch: Launch, plan: Plan) -> str:
        self._names.write(launch.identity)
        return await self._launcher.launch(launch, plan)

    def _spawner_for(self, launch: Launch) -> Spawner:
        """From inside a user namespace nobody gets into a container's."""
        contained = any(task.image is not None for task in launch.tasks)
        boxed = self.abilities.namespaces_how == "user"
        return self._outside if contained and boxed else self._spawner

    def image_problem(self, image: str) -> tuple[str, str] | None:
        return self._containers.problem(image)

    async def prepare_image(self, image: str, progress: Callable[[ImageProgress], None]) -> None:
        await self._look_for_containers(soon=True)
        await self._containers.prepare(image, progress)

    async def settle(self, attempt_id: str) -> Seen | None:
        return await self._launcher.settle(attempt_id)

    # -- observing ----------------------------------------------------------------------------

    async def observe(self, cursor: str | None) -> Observation:
        if cursor is None:
            self._launcher.adopt_all()
        return self._watcher.observe(cursor)

    def changes(self) -> AsyncIterator[None]:
        return self._watcher.changes()

    def _lost(self, attempt: Attempt, task: Task) -> None:
        """Its keeper is gone: end what it kept, before somebody else gets its cards."""
        found = read_claim(attempt.folder, task.index)
        if found is None:
            return
        self._containers.remove(task.container)
        cgroup.end(list(found[0]["cgroups"]))
        if not found[0]["namespaces"]:
            leftovers.end_marked(self._tag, (), only=attempt.id)

    # -- ending -------------------------------------------------------------------------------

    async def stop(self, attempt_id: str, grace: float) -> None:
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
        """Write the order into the task's record, then wake its keeper."""
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
        """A keeper that does not follow its order (stopped, or stuck) goes with its task."""
        for task in attempt.tasks:
            if not task.ended:
                # Look first: a keeper that has done with this task may have the next one.
                self._watcher.refresh(attempt, task)
            if not task.ended:
                self._watcher.signal(task, signal.SIGKILL)

    async def forget(self, attempt_id: str) -> None:
        attempt = self._launcher.known(attempt_id)
        if attempt is not None:
            self._insist(attempt)
            self._containers.discard([task.container for task in attempt.tasks if task.container])
        self._watcher.drop(attempt_id)
        self.ports.free(attempt_id)
        tidy = attempt is not None and all(task.tidy for task in attempt.tasks)
        self._launcher.dispose(attempt_id, tidy)

    async def sweep(self, live: frozenset[str]) -> int:
        count = 0
        keep = live | self._launcher.busy
        self._launcher.adopt_all()
        for attempt_id in [name for name in self._watcher.attempts if name not in keep]:
            attempt = self._watcher.attempts[attempt_id]
            count += sum(not task.ended for task in attempt.tasks)
            await self.forget(attempt_id)
        return count + await asyncio.to_thread(self._sweep_processes, keep)

    def _sweep_processes(self, keep: frozenset[str]) -> int:
        count = leftovers.end_groups(self.abilities.cgroup_bases, keep)
        if not self.abilities.namespaces:
            count += leftovers.end_marked(self._tag, keep)
        count += self._containers.sweep(keep)
        leftovers.remove_drafts(self._run)
        return count

    # -- logs ---------------------------------------------------------------------------------

    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        return self._logs.read(task, stream, offset, limit)

    async def log_size(self, task: TaskRef, stream: str) -> int:
        return self._logs.size(task, stream)

    async def log_grew(
        self,
        task: TaskRef,
        stream: str,
        offset: int,
        timeout: float,  # noqa: ASYNC109 - the contract's
    ) -> bool:
        path = self._logs.path(task, stream)
        change = self._watcher.next_change(task.attempt_id)
        attempt = self._watcher.attempts.get(task.attempt_id)
        ended = attempt is None or attempt.tasks[task.task].ended
        try:
            return await self._growth.wait(path, offset, change, 0.0 if ended else timeout)
        finally:
            self._watcher.stop_waiting(task.attempt_id, change)

    # -- conversations ------------------------------------------------------------------------

    async def attach(self, task: TaskRef) -> Duplex:
        return await self._talk(task, frames.ATTACH, {})

    async def exec(self, task: TaskRef, argv: Sequence[str], tty: Tty | None) -> Duplex:
        if not argv:
            raise Refused("exec needs a command")
        size = None if tty is None else {"rows": tty.rows, "cols": tty.cols, "term": tty.term}
        return await self._talk(task, frames.EXEC, {"argv": list(argv), "tty": size})

    async def connect(self, task: TaskRef, port: int) -> Duplex:
        attempt = self._launcher.known(task.attempt_id)
        if attempt is None or attempt.tasks[task.task].ended:
            raise Refused(f"task {task.task} is not running")
        address = self._grounded().addresses.get(attempt.tasks[task.task].node, "127.0.0.1")
        return await to_port(address, port)

    async def _talk(self, task: TaskRef, kind: bytes, ask: dict[str, Any]) -> Duplex:
        limit = time.monotonic() + _TALK_PATIENCE
        while True:
            try:
                return await to_keeper(f"{self._run}/{task.attempt_id}", task.task, kind, ask)
            except Refused:
                attempt = self._launcher.known(task.attempt_id)
                ended = attempt is None or attempt.tasks[task.task].ended
                if ended or time.monotonic() > limit:
                    raise
            await asyncio.sleep(0.005)

    async def usage(self) -> Mapping[TaskRef, Usage]:
        keepers: dict[TaskRef, usage.Kept] = {}
        for attempt in self._watcher.attempts.values():
            for task in attempt.tasks:
                if not task.ended and task.pid:
                    found = read_claim(attempt.folder, task.index)
                    claim = found[0] if found else {}
                    ref = TaskRef(attempt.id, task.index, attempt.job_id)
                    before = float(claim.get("cpu", 0))
                    groups = list(claim.get("measured") or claim.get("cgroups", ()))
                    keepers[ref] = usage.Kept(task.pid, groups, before)
        return await asyncio.to_thread(usage.measure, keepers)


def _raise_file_limit() -> None:
    """Each running task takes a descriptor. The spawner kept the old limit for the tasks."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
