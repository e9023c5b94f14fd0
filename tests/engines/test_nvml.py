"""Real GPUs, through a library that answers as the driver's does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.nvml import FakeDriver

BUSY = "gpu RTX3090 6000 24000 75 61 250500"
IDLE = "gpu RTX3090 10 24000 0 33 20000"

# In a process of its own: a library that was loaded once stays.
_PROGRAM = """
import json, sys
from dataclasses import asdict
from danlu.engines.local import gpus, nvml
nvml.PATIENCE = float(sys.argv[1])
watch = nvml.Watch()
for line in sys.stdin:
    word, *shared = line.split()
    if word == "detect":
        found = [asdict(gpu) for gpu in gpus.detect()]
    else:
        looks = watch.look([int(gpu) for gpu in shared])
        found = {gpu: asdict(look) for gpu, look in looks.items()}
    print(json.dumps(found), flush=True)
watch.close()
"""


class Program:
    def __init__(self, env: dict[str, str], patience: float = 60.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(patience)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )

    def ask(self, question: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    return FakeDriver(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def program(driver: FakeDriver) -> Iterator[Program]:
    driver.says(BUSY, IDLE)
    program = Program(driver.env)
    yield program
    assert program.end() == 0


def test_real_gpus_are_found_with_model_memory_and_uuid(program: Program) -> None:
    first, second = program.ask("detect")
    assert first["model"] == "RTX3090"
    assert first["memory"] == 24000
    assert first["uuid"] != second["uuid"]
    assert first["healthy"]


def test_a_look_tells_what_each_gpu_is_doing(program: Program) -> None:
    looks = program.ask("look")
    assert looks["0"]["utilisation"] == 0.75
    assert looks["0"]["memory"] == 6000
    assert looks["0"]["temperature"] == 61
    assert looks["0"]["power"] == 250.5
    assert looks["1"]["utilisation"] == 0


def test_memory_is_told_by_process_and_unknown_is_not_zero(
    driver: FakeDriver, program: Program
) -> None:
    driver.says(BUSY, "process 0 4711 5000 70", "process 0 4712 -1 5")
    assert program.ask("look")["0"]["memory_of"] == {"4711": 5000, "4712": None}


def test_processes_of_a_shared_gpu_are_told_apart(driver: FakeDriver, program: Program) -> None:
    driver.says(BUSY, IDLE, "process 0 4711 5000 70", "process 0 4712 1000 5")
    looks = program.ask("look 0 1")
    assert looks["0"]["utilisation_of"] == {"4711": 0.7, "4712": 0.05}
    assert looks["1"]["utilisation_of"] == {}  # shared, and nobody is on it
    assert program.ask("look")["0"]["utilisation_of"] is None  # nobody asked


def test_a_gpu_that_falls_off_the_bus_does_not_hide_the_others(
    driver: FakeDriver, program: Program
) -> None:
    assert set(program.ask("look")) == {"0", "1"}
    driver.says("lost", IDLE)
    assert set(program.ask("look")) == {"1"}
    lost, well = program.ask("detect")
    assert not lost["healthy"]
    assert lost["note"] == "GPU is lost"
    assert well["healthy"]


def test_a_driver_that_goes_and_comes_back_is_found_again(
    driver: FakeDriver, program: Program
) -> None:
    assert len(program.ask("look")) == 2
    driver.says("driver off")
    assert program.ask("look") == {}
    assert program.ask("detect") == []
    driver.says(BUSY)
    assert len(program.ask("look")) == 1


def until_it_answers(program: Program) -> None:
    deadline = time.monotonic() + 60
    while program.ask("look") == {}:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_driver_that_hangs_is_not_waited_for_and_asked_again_when_it_answers(
    driver: FakeDriver,
) -> None:
    driver.says(BUSY)
    program = Program(driver.env, patience=0.2)
    until_it_answers(program)
    driver.says("stuck")
    assert program.ask("look") == {}
    assert program.ask("look") == {}
    driver.says(BUSY)
    until_it_answers(program)
    driver.says("stuck")
    assert program.ask("look") == {}
    assert program.end() == 0  # what hangs keeps nobody from leaving
    driver.says()


@pytest.mark.parametrize("what", ["no library", "no file"])
def test_a_missing_driver_is_no_error(what: str, driver: FakeDriver, tmp_path: Path) -> None:
    env = {} if what == "no library" else driver.env | {"FAKE_NVML": "/nowhere"}
    program = Program(env)
    assert program.ask("detect") == []
    assert program.ask("look") == {}
    assert program.end() == 0
