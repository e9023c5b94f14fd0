"""slurmrestd in place of commands: it tells the same, and the commands go on where it ends."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.engines.slurm import inventory, queue
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.engine import SlurmEngine
from danlu.engines.slurm.rest import Rest
from tests.engines.harness import eventually, shell
from tests.real.slurm.harness import SlurmHarness, config_of, engine_on
from tests.support.slurm import Slurm
from tests.support.slurm_rest import RestDaemon
from tests.support.waiting import until


@pytest.fixture
def daemon(slurm: Slurm) -> Iterator[RestDaemon]:
    daemon = RestDaemon(slurm)
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
async def harness(slurm: Slurm, daemon: RestDaemon) -> AsyncIterator[SlurmHarness]:
    more = {"bin": str(slurm.folder / "bin"), "slurmrestd": daemon.address}
    harness = SlurmHarness(lambda data: engine_on(slurm, data, **more), slurm.fresh_folder())
    await harness.start()
    yield harness
    await harness.close()


def _brief(entries: Iterable[queue.Entry]) -> list[queue.Entry]:
    """Only squeue tells which nodes are not available, after the reason."""
    brief = [replace(each, reason=each.reason.partition(",")[0], told=None) for each in entries]
    return sorted(brief, key=lambda each: each.id)


def test_it_tells_of_jobs_nodes_and_partitions_what_the_commands_tell(
    slurm: Slurm, daemon: RestDaemon, tmp_path: Path
) -> None:
    ann, bob = slurm.people["ann"], slurm.people["bob"]
    ended = slurm.sbatch(bob, "--wrap=exit 3")
    until(lambda: slurm.job(ended)["JobState"] == "FAILED")
    long = "--wrap=sleep 600"
    slurm.run("scontrol", "update", "nodename=n4", "state=drain", "reason=a new fan")
    ours = ("--comment=danlu:here:1-a", "-J", "a|b")
    slurm.sbatch(ann, "--gres=gpu:3090:2", "-w", "n1", *ours, long)
    slurm.sbatch(bob, "-N", "2", "-w", "n2,n3", "--gres=gpu:1", "--mem=2G", "--time=60", long)
    slurm.sbatch(bob, "--array=4-6", "-w", "n1", "-c", "16", long)
    slurm.sbatch(bob, "--hold", "-n", "1", ":", "-n", "2", long)
    slurm.sbatch(ann, "--gres=gpu:5", "-w", "n1", "--time=30", "--comment=danlu:here:2-b", long)
    until(lambda: len(slurm.jobs("--states=running")) == 2)
    config = config_of(slurm, tmp_path, slurm.shared)
    commands, rest = Commands(config), Rest(daemon.address, config.deadline)
    detail = ("--oneliner", "--detail", "show")

    def both() -> bool:  # what changes in between is asked again
        told = _brief(queue.told(rest.jobs(), time.time()))
        asked = _brief(queue.ask(commands, {}))
        nodes = inventory.nodes(commands.run_now("scontrol", *detail, "node"))
        mine = rest.nodes()
        jobs = commands.run_now("scontrol", *detail, "job")
        used = inventory.used_gpus(jobs)
        return (
            told == asked
            and {"FAILED", "RUNNING", "PENDING"} <= {each.state for each in told}
            and [(e.info, e.state, e.by, e.since) for e in mine]
            == [(e.info, e.state, e.by, e.since) for e in nodes]
            and rest.parts() == used != {}
        )

    until(both)
    partitions = commands.run_now("scontrol", "--oneliner", "show", "partition")
    assert rest.partitions() == inventory.partitions(partitions)


async def test_no_command_asks_while_it_answers_and_commands_do_when_it_has_ended(
    slurm: Slurm, daemon: RestDaemon, harness: SlurmHarness
) -> None:
    assert isinstance(harness.engine, SlurmEngine)
    watch = harness.engine.watch
    task, log = await harness.run(shell("echo through"))
    assert (task.exit_code, log) == (0, b"through\n")
    long = await harness.begin(shell("until [ -e go ]; do sleep 0.1; done; exit 4"))
    cycles = watch.cycles
    await eventually(lambda: watch.cycles > cycles + 2)
    assert {node.name for node in (await harness.engine.inventory()).nodes} >= {"n1", "n4"}
    assert slurm.calls("squeue") == 0

    daemon.stop()
    await eventually(lambda: slurm.calls("squeue") > 2)
    assert watch.trouble is None
    await harness.stop(long, 0)
