"""Environments without an image: the tools come from a virtual environment of the machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from danlu.control.kernels import busy_kernels
from danlu.engines.api import Endpoint, Engine, HostMount, Refused, TaskRef
from danlu.spec.job import Command, RunAs
from tests.engines import conftest
from tests.engines.harness import JOB, EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.inside.client import Lab, ask, bridge
from tests.support.events import WRITE
from tests.support.tools import give, tools_venv

ENVIRONMENT = Command(RunAs.TOOL, ("environment",))


@pytest.fixture(params=["namespaces", "plain"])
def make(request: pytest.FixtureRequest) -> Callable[[Path], Engine]:
    makes = {"namespaces": conftest.with_namespaces, "plain": conftest.bare}
    return makes[request.param]


@pytest.fixture
async def harness(make: Callable[[Path], Engine], tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(make, tmp_path)
    give(harness.data, tools_venv())
    await harness.start()
    yield harness
    await harness.close()


async def run(*words: str | Path) -> None:
    await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)


async def begun(harness: EngineHarness, command: Command = ENVIRONMENT) -> TaskRef:
    """An environment, with a home."""
    home = harness.outside / "home"
    home.mkdir(exist_ok=True)
    mounts = (HostMount("userhome", str(home), "/userhome"),)
    attempt = await harness.begin(command, tools=True, mounts=mounts)
    return TaskRef(attempt, 0, JOB)


async def test_lab_runs_a_cell_under_the_machines_own_python(
    harness: EngineHarness, tmp_path: Path
) -> None:
    task = await begun(harness)
    answer = await ask(harness.engine, task, start="lab")
    assert answer == {"ready": True, "socket": answer["socket"]}
    async with bridge(harness.engine, task, answer["socket"], tmp_path) as here:
        lab = Lab(here)
        name = (await lab.kernels())["default"]
        said = await lab.run(name, "import sys, os; print(6 * 7, sys.prefix, os.environ['HOME'])")
        assert said.startswith("42 ")
        assert "tools" not in said and "/opt/danlu" not in said
        status = await ask(harness.engine, task, status=1)
        assert status["tools"]["lab"]["state"] == "ready"
        assert status["kernels"]["idle"] + status["kernels"]["busy"] == 1
        assert status["kernels"]["last"] > 1e9


FORKING = """
import multiprocessing, time
child = multiprocessing.get_context("fork").Process(target=print, args=("from a child",))
child.start()
child.join()
time.sleep(1)  # until it has come through
"""
# Which of its process's sockets listen, on whatever network.
LISTENING = """
import os
links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
own = {os.readlink(link)[8:-1] for link in links if os.path.exists(link)}
lines = [line.split() for kind in ("tcp", "tcp6") for line in open(f"/proc/net/{kind}")]
print([words[1] for words in lines if words[9] in own and words[3] == "0A"])
"""


async def test_a_kernel_listens_on_no_port_and_shows_what_its_children_print(
    harness: EngineHarness, tmp_path: Path
) -> None:
    """ipykernel hears of them on a port, which every user of the machine can reach."""
    task = await begun(harness)
    socket = (await ask(harness.engine, task, start="lab"))["socket"]
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        lab = Lab(here)
        name = (await lab.kernels())["default"]
        assert await lab.run(name, LISTENING) == "[]\n"
        while await lab.run(name, FORKING) != "from a child\n":
            pass  # the machine may be too busy for that second


async def test_a_kernel_that_computes_is_known_to_be_busy(
    harness: EngineHarness, tmp_path: Path
) -> None:
    task = await begun(harness)
    assert await busy_kernels(harness.engine, task) == 0
    socket = (await ask(harness.engine, task, start="lab"))["socket"]
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        lab = Lab(here)
        name = (await lab.kernels())["default"]
        code = (
            "import os, time\nwhile not os.path.exists(os.path.expanduser('~/go')): time.sleep(0.1)"
        )
        running = asyncio.create_task(lab.run(name, code))
        while not await busy_kernels(harness.engine, task):
            pass
        (harness.outside / "home" / "go").touch()
        await running
        while await busy_kernels(harness.engine, task):
            pass


async def test_environments_of_ones_own_become_kernels_without_a_restart(
    harness: EngineHarness, tmp_path: Path
) -> None:
    """With nothing installed in them, and their packages win over ours."""
    task = await begun(harness)
    socket = (await ask(harness.engine, task, start="lab"))["socket"]
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        lab = Lab(here)
        assert not any("fish" in name for name in await lab.names())
        home = harness.outside / "home"
        await run(sys.executable, "-m", "venv", "--without-pip", home / "fish")
        packages = next((home / "fish").glob("lib/python3*/site-packages"))
        (packages / "comm.py").write_text("mine = True\n")
        (packages / "decorator.py").write_text("mine = True\n")
        while not (names := [n for n in await lab.names() if n.startswith("fish")]):
            pass
        found = (await lab.names())[names[0]]
        said = await lab.run(found, "import sys, decorator; print(sys.prefix, decorator.mine)")
        assert said.split()[0].endswith("/fish") and said.split()[1] == "True"


async def test_a_conda_layout_is_a_kernel_by_its_name(
    harness: EngineHarness, tmp_path: Path
) -> None:
    home = harness.outside / "home"
    env = home / "miniconda3" / "envs" / "vision"
    await run(sys.executable, "-m", "venv", "--without-pip", env)
    (env / "pyvenv.cfg").rename(env / "pyvenv.off")
    (env / "conda-meta").mkdir()
    (env / "etc/conda/activate.d").mkdir(parents=True)
    (env / "etc/conda/activate.d/it.sh").write_text("export FROM_CONDA=yes\n")
    task = await begun(harness)
    socket = (await ask(harness.engine, task, start="lab"))["socket"]
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        lab = Lab(here)
        names = await lab.names()
        [shown] = [name for name in names if name.startswith("vision")]
        code = "import os; print(os.environ['FROM_CONDA'], os.environ['CONDA_DEFAULT_ENV'])"
        assert await lab.run(names[shown], code) == "yes vision\n"


async def test_vs_code_says_where_it_comes_from_if_it_is_not_there(
    harness: EngineHarness,
) -> None:
    task = await begun(harness)
    error = (await ask(harness.engine, task, start="code"))["error"]
    assert "danlu tools build" in error["en"] and "danlu tools build" in error["zh"]
    assert "no such tool" in (await ask(harness.engine, task, start="rm"))["error"]["en"]
    assert "error" in await ask(harness.engine, task, start=["lab"])


async def test_a_tool_that_dies_is_started_again(harness: EngineHarness, tmp_path: Path) -> None:
    task = await begun(harness)
    socket = (await ask(harness.engine, task, start="lab"))["socket"]
    kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        lab = Lab(here)
        name = (await lab.kernels())["default"]
        with pytest.raises(Exception):  # noqa: B017 - whatever the connection says
            await lab.run(name, kill)
    await harness.printed(task.attempt_id, b"lab ended with status -9")
    assert (await ask(harness.engine, task, start="lab"))["ready"]


async def test_nothing_is_left_when_it_is_stopped(harness: EngineHarness) -> None:
    task = await begun(harness)
    await ask(harness.engine, task, start="lab")
    await harness.stop(task.attempt_id, 20)
    ended = (await harness.ended(task.attempt_id))[0]
    assert ended.exit_code == 0, ended
    with pytest.raises(Refused):
        await harness.engine.connect(task, Endpoint(path="/run/danlu/control.sock"))


async def test_the_tools_cannot_be_changed_by_a_task(harness: EngineHarness) -> None:
    task = await begun(harness, Command(RunAs.SHELL, ("touch $DANLU_TOOLS/x; exit $?",)))
    if harness.engine.abilities.namespaces:  # type: ignore[attr-defined]
        assert (await harness.ended(task.attempt_id))[0].exit_code == 1
        assert b"Read-only" in await harness.output(task.attempt_id)


async def test_tensorboard_shows_a_curve(harness: EngineHarness, tmp_path: Path) -> None:
    logs = harness.outside / "home" / "logs"
    for name in ("a", "b"):
        await run(tools_venv() / "bin/python", "-c", WRITE, logs / name)
    home = harness.engine.abilities.namespaces  # type: ignore[attr-defined]
    base = "/userhome/logs" if home else str(logs)
    task = await begun(harness, Command(RunAs.TOOL, ("tensorboard", f"{base}/a", f"{base}/b")))
    socket = (await ask(harness.engine, task, start="tensorboard"))["socket"]
    async with bridge(harness.engine, task, socket, tmp_path) as here:
        http = Lab(here).http

        async def runs() -> object:
            return (await http.get("/data/plugin/scalars/tags")).json()

        while set(json.loads(json.dumps(await runs()))) != {"a", "b"}:
            pass
        found = await http.get("/data/plugin/scalars/scalars?run=a&tag=loss")
        assert [point[1] for point in found.json()] == list(range(20))
    assert "no such tool" in (await ask(harness.engine, task, start="lab"))["error"]["en"]
