"""How often the records of jobs are looked at between two looks at the queue."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from danlu.engines.api import Phase, TaskSeen
from danlu.engines.slurm.attempts import Attempt, Index
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.reach import Doors
from danlu.engines.slurm.source import Source
from danlu.engines.slurm.users import User, Users
from danlu.engines.slurm.watch import Watch


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    config = SlurmConfig(tmp_path, tmp_path, cycle=1000.0)
    commands = Commands(config)
    source = Source(config, commands)
    return Watch(config, commands, source, Users(config), Index(tmp_path), Doors(tmp_path), str)


def pause(watch: Watch) -> float:
    return watch._next_glance() - time.monotonic()


def launch(watch: Watch, name: str) -> Attempt:
    one = Attempt(name, User("alice"), "job", 1, "", "token", "12")
    watch.launched(one)
    return one


def test_a_single_job_is_looked_at_soon_and_one_of_many_with_the_others(watch: Watch) -> None:
    long = pause(watch)
    launch(watch, "first")
    assert pause(watch) < long / 10
    for number in range(20):
        one = launch(watch, str(number))
        one.tasks = (TaskSeen(0, Phase.EXITED, exit_code=0),)
        watch.drop(one.id)
    assert pause(watch) > long / 2, "though only one is still there"
