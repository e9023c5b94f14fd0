"""What tasks and nodes use, measured on processes that stand for a keeper and its task."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import TaskRef
from danlu.engines.local import machine
from danlu.engines.local.nvml import Look, Watch
from danlu.engines.local.usage import Kept, Meter, Nodes
from tests.engines.conftest import local
from tests.engines.harness import JOB, EngineHarness, eventually, shell

TASK = TaskRef("attempt", 0, JOB)
KEEPER = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
"""


class StillGpus(Watch):
    """GPUs that always give the same answer."""

    def __init__(self, looks: dict[int, Look]) -> None:
        super().__init__()
        self.looks = looks
        self.shared: Collection[int] = ()

    def look(self, shared: Collection[int] = ()) -> dict[int, Look]:
        self.shared = shared
        return self.looks


@pytest.fixture
def keepers() -> Iterator[Any]:
    """Starts processes with one child each: (pid, pid of the child)."""
    started = []

    def start(program: str = "import sys; sys.stdin.read()") -> tuple[int, int]:
        keeper = subprocess.Popen(
            [sys.executable, "-c", KEEPER, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(keeper)
        assert keeper.stdout is not None
        return keeper.pid, int(keeper.stdout.readline())

    yield start
    for keeper in started:
        keeper.communicate()


def meter(tmp_path: Path, watch: Watch | None = None, **gpus: tuple[int, ...]) -> Meter:
    return Meter(Nodes(str(tmp_path), gpus or {"n1": ()}), watch)


def test_a_task_with_whole_gpus_has_what_they_do(keepers: Any, tmp_path: Path) -> None:
    keeper, _ = keepers()
    looks = {1: Look(0.5, 3000), 2: Look(1.0, 4000), 3: Look(1.0, 9000)}
    kept = Kept(keeper, [], node="n1", gpus=(1, 2))
    usage = meter(tmp_path, StillGpus(looks)).measure({TASK: kept}).tasks[TASK]
    assert usage.gpu_utilisation == 0.75
    assert usage.gpu_memory == 7000


def test_on_a_shared_gpu_only_ones_own_processes_count(keepers: Any, tmp_path: Path) -> None:
    keeper, child = keepers()
    watch = StillGpus(
        {0: Look(0.9, 6000, None, None, {child: 2000, 1: 4000}, {child: 0.3, 1: 0.6})}
    )
    kept = Kept(keeper, [], node="n1", gpus=(0,), shared=True)
    usage = meter(tmp_path, watch).measure({TASK: kept}).tasks[TASK]
    assert usage.gpu_utilisation == pytest.approx(0.3)
    assert usage.gpu_memory == 2000
    assert set(watch.shared) == {0}


def test_a_task_on_a_node_that_is_no_longer_declared_stops_no_measuring(
    keepers: Any, tmp_path: Path
) -> None:
    kept = {
        TaskRef(node, 0, JOB): Kept(keepers()[0], [], node=node, gpus=()) for node in ("n1", "gone")
    }
    ours = meter(tmp_path, n1=(), n2=())
    for _ in range(2):
        report = ours.measure(kept)
        assert set(report.nodes) == {"n1", "n2"}
        assert report.nodes["n1"].memory > 0
        assert set(report.tasks) == set(kept), "what the task itself uses is known"


def test_what_the_driver_does_not_tell_is_unknown(keepers: Any, tmp_path: Path) -> None:
    keeper, _ = keepers()
    kept = Kept(keeper, [], node="n1", gpus=(0,), shared=True)
    usage = meter(tmp_path, StillGpus({0: Look(0.9, 6000)})).measure({TASK: kept}).tasks[TASK]
    assert usage.gpu_utilisation is None
    assert usage.gpu_memory is None
    lost = meter(tmp_path, StillGpus({})).measure({TASK: kept}).tasks[TASK]
    assert lost.gpu_utilisation is None


def test_bytes_written_to_disk_count_for_the_task_also_those_of_its_ended_children(
    keepers: Any, tmp_path: Path
) -> None:
    written = 3 << 20
    write = f"f = open({str(tmp_path / 'out')!r}, 'wb'); f.write(b'x' * {written})"
    program = (
        "import os, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {write!r}])\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
        "sys.stdin.read()"
    )
    keeper, child = keepers(program)
    while not (tmp_path / "done").exists():
        assert os.path.exists(f"/proc/{child}")
    usage = meter(tmp_path).measure({TASK: Kept(keeper, [], node="n1")}).tasks[TASK]
    assert usage.disk_written is not None and usage.disk_read is not None
    if os.stat(tmp_path).st_dev >> 8:  # memory file systems write to no disk
        assert usage.disk_written >= written


def test_on_the_machines_own_network_a_tasks_bytes_are_unknown(
    keepers: Any, tmp_path: Path
) -> None:
    keeper, _ = keepers()
    usage = meter(tmp_path).measure({TASK: Kept(keeper, [], node="n1")}).tasks[TASK]
    assert usage.net_received is None
    assert usage.net_sent is None


def test_loopback_is_no_network(tmp_path: Path) -> None:
    table = tmp_path / "dev"
    table.write_text(
        "Inter-|   Receive | Transmit\n face |bytes packets | bytes\n"
        "    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
        "  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
        "  eth1:   1 1 0 0 0 0 0 0  2 1 0 0 0 0 0 0\n"
    )
    assert machine.network(str(table), lambda names: names) == (101, 22)
    assert machine.network(str(tmp_path / "none"), lambda names: names) == (None, None)


def test_a_node_of_its_own_has_what_the_machine_has(tmp_path: Path) -> None:
    watch = StillGpus({0: Look(0.5, 100, 60.0, 200.0)})
    first = meter(tmp_path, watch, n1=(0, 1)).measure({}).nodes["n1"]
    assert first.cpu_seconds is not None and first.cpu_seconds > 0
    assert first.memory is not None and first.memory > 10 << 20
    assert first.disk_free is not None and first.disk_free > 0
    assert [(gpu.index, gpu.utilisation, gpu.power) for gpu in first.gpus] == [(0, 0.5, 200.0)]


def test_nodes_that_share_the_machine_have_what_their_tasks_use(
    keepers: Any, tmp_path: Path
) -> None:
    keeper, _ = keepers("sum(range(10**7)); import sys; sys.stdin.read()")
    measured = meter(tmp_path, StillGpus({5: Look(0.5, 100)}), n1=(4,), n2=(5,))
    tasks = {TASK: Kept(keeper, [], node="n1")}

    def burnt() -> bool:
        return (measured.measure(tasks).nodes["n1"].cpu_seconds or 0) > 0.05

    while not burnt():
        assert os.path.exists(f"/proc/{keeper}")
    nodes = measured.measure(tasks).nodes
    assert nodes["n2"].cpu_seconds == 0
    assert nodes["n2"].memory == 0
    assert nodes["n1"].memory and nodes["n1"].memory > 1 << 20
    assert nodes["n1"].gpus == ()  # did not answer
    assert nodes["n2"].gpus[0].index == 0  # as the node counts
    before = nodes["n1"].cpu_seconds
    after = measured.measure({}).nodes["n1"].cpu_seconds
    assert before is not None and after is not None and after >= before


async def test_declared_gpus_without_hardware_are_unknown_not_zero(harness: EngineHarness) -> None:
    attempt = await harness.begin(shell("sleep 60"), gpus=((0,),))
    ref = TaskRef(attempt, 0, JOB)
    report = await harness.engine.usage()
    assert report.tasks[ref].gpu_utilisation is None
    assert report.tasks[ref].gpu_memory is None
    assert report.nodes["n1"].gpus == ()
    assert set(report.nodes) == {"n1", "n2"}
    await harness.stop(attempt, 0)
    assert ref not in (await harness.engine.usage()).tasks


async def test_which_gpus_a_task_has_is_known_after_a_restart(harness: EngineHarness) -> None:
    attempt = await harness.begin(shell("sleep 60"), gpus=((1, 3),))
    await harness.restart()
    engine = harness.engine
    assert isinstance(engine, type(local(harness.data)))
    known = await eventually(lambda: engine._watcher.attempts.get(attempt))
    assert known.tasks[0].gpus == (1, 3)
    await harness.stop(attempt, 0)
