"""Several engines side by side: the file that names them, and a server that runs on both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from danlu.access.principal import Principal
from danlu.control.context import Context
from danlu.control.controller import Controller
from danlu.control.engines import Engines
from danlu.control.logs import Logs
from danlu.control.lookup import Lookup
from danlu.control.settings import Settings
from danlu.control.submit import Submitter
from danlu.engines.api import Engine
from danlu.files.settings import FileSettings
from danlu.sched.explain.words import sentence
from danlu.server.engines import KINDS, EngineConfig, Kind, Surroundings, make_engine
from danlu.server.settings import ConfigError, load
from danlu.services.cluster import Cluster
from danlu.services.names import Names
from danlu.store.store import Store
from tests.control.harness import Harness
from tests.engines.harness import eventually
from tests.engines.queueing import BatchSystem, QueueingEngine
from tests.support.server import DanluServer

TWO = """
[engines.lab]
kind = "local"

[engines.attic]
kind = "local"
ports = "30000-30999"

[[nodes]]
name = "n1"
gpus = "4:RTX3090"

[[nodes]]
name = "n2"
gpus = "2:T4"
engine = "attic"

[queues.attic]
engine = "attic"
"""


ADMIN = Principal("admin")


def _read(tmp_path: Path, text: str) -> tuple[EngineConfig, ...]:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    return load(path).engines


def test_each_engine_has_its_own_nodes_and_the_first_is_the_usual_one(tmp_path: Path) -> None:
    lab, attic = _read(tmp_path, TWO)
    assert [node.name for node in lab.nodes] == ["n1"]
    assert [node.name for node in attic.nodes] == ["n2"]
    assert attic.ports == (30000, 30999)


def test_without_a_word_about_engines_there_is_the_local_one(tmp_path: Path) -> None:
    (only,) = _read(tmp_path, "[[nodes]]\nname = 'n1'\n")
    assert (only.name, only.kind) == ("local", "local")


def test_the_old_table_is_the_engine_local_beside_others(tmp_path: Path) -> None:
    text = TWO.replace('[engines.lab]\nkind = "local"', "[engine]\ncgroups = 'off'")
    local, attic = _read(tmp_path, text)
    assert (local.name, local.cgroups, attic.name) == ("local", "off", "attic")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (('kind = "local"\n\n[engines.attic]', 'kind = "slurmy"\n\n[engines.attic]'), "lab.kind"),
        (('engine = "attic"\n\n[queues', 'engine = "cellar"\n\n[queues'), "nodes.1.engine"),
        (
            ('[queues.attic]\nengine = "attic"', '[queues.attic]\nengine = "x"'),
            "queues.attic.engine",
        ),
        (
            ('ports = "30000-30999"', 'ports = "25000-30999"'),
            "overlaps with the ports of",
        ),
        (('engine = "attic"\n\n[queues', "\n[queues"), "needs nodes of its own"),
        (('name = "n2"', 'name = "n1"'), "each node needs its own name"),
        (('ports = "30000-30999"', 'port = "1"'), "engines.attic.port"),
        (
            ("[queues.attic]", "[engine]\n[engines.local]\nkind='local'\n[queues.attic]"),
            "[engine] already is",
        ),
        (("[queues.attic]", '[queues.attic]\nnodes = ["n1"]'), "queues.attic.nodes"),
    ],
)
def test_what_does_not_go_together_is_said(
    tmp_path: Path, wrong: tuple[str, str], told: str
) -> None:
    assert wrong[0] in TWO
    with pytest.raises(ConfigError) as problem:
        _read(tmp_path, TWO.replace(*wrong))
    assert told in problem.value.message.en
    assert any("\u4e00" <= letter <= "\u9fff" for letter in problem.value.message.zh)


# -- a server with a local engine and one that queues and places ---------------------------------


class TwoEngines(Harness):
    """As the server wires them, from a file."""

    def __init__(self, folder: Path, system: BatchSystem) -> None:
        super().__init__(folder)
        self.system = system
        self.file = folder / "danlu.toml"
        self.file.write_text(
            f'data = "{self.data}"\n'
            '[engine]\n[[nodes]]\nname = "n1"\ngpus = "4:RTX3090"\n'
            '[engines.batch]\nkind = "batch"\n[queues.batch]\nengine = "batch"\n'
        )

    async def open(self) -> None:
        config = load(self.file)
        self.store = Store.open(config.database_url)
        engines = Engines(make_engine(each, config.around()) for each in config.engines)
        settings = Settings(
            FileSettings(self.data),
            config.defaults,
            inventory_every=0.1,
            sweep_every=0.3,
            away_after=0.2,
            engine_patience=5.0,
            policy=config.policy,
        )
        self.controller = Controller(Context(self.store, engines, settings))
        self.lookup = Lookup(self.store)
        self.submitter = Submitter(self.controller, self.lookup)
        self.logs = Logs(self.controller.context, self.lookup)
        await self.controller.start()

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.controller, Names(self.controller.context))


@pytest.fixture
def system(tmp_path: Path) -> Iterator[BatchSystem]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    system = BatchSystem(folder)

    def make(config: EngineConfig, around: Surroundings) -> Engine:
        return QueueingEngine(system, config.name)

    KINDS["batch"] = Kind(make)
    yield system
    del KINDS["batch"]


@pytest.fixture
async def harness(tmp_path: Path, system: BatchSystem) -> AsyncIterator[TwoEngines]:
    await system.start()
    harness = TwoEngines(tmp_path, system)
    await harness.open()
    yield harness
    system.away = False
    async with asyncio.timeout(60):
        await harness.clear()
    await harness.close()
    await system.close()


async def test_each_queue_runs_on_its_engine_and_the_sums_are_over_both(
    harness: TwoEngines,
) -> None:
    here = await harness.submit(command="sleep 1000", gpus=3)
    there = await harness.submit(command="echo there; sleep 1000", gpus=1, queue="batch")
    await harness.until(here, "running")
    await harness.until(there, "running")
    await harness.printed(there, b"there")
    found = harness.cluster.totals(ADMIN)
    count = found.gpus.all
    assert (count.total, count.used, count.free) == (8000, 4000, 4000)
    nodes = {node.name: node.engine for node in harness.cluster.nodes(ADMIN)}
    assert nodes == {"n1": "local", "q1": "batch", "q2": "batch"}
    attempts = harness.controller.context.attempts.values()
    assert {job.row.queue: job.attempt.engine for job in attempts if job.attempt} == {
        "default": "local",
        "batch": "batch",
    }
    await harness.restart()
    assert (await harness.look(there)).state == "running"
    await harness.stop(there)
    assert (await harness.ended(there)).attempt == 1


async def test_one_engine_that_is_away_hurts_only_its_queues(harness: TwoEngines) -> None:
    kept = await harness.submit(command="sleep 1000", gpus=1, queue="batch")
    await harness.until(kept, "running")
    harness.system.away = True
    await eventually(lambda: harness.cluster.engines(ADMIN)[1].away_since)
    for code in (0, 3):
        done = await harness.submit(command=f"exit {code}", gpus=4)
        assert (await harness.ended(done)).exit_code == code
    waits = await harness.submit(command="true", queue="batch")
    words = sentence(harness.controller.planner.explain(waits.id))
    assert words.en.startswith("Engine batch has not answered for")
    assert "引擎 batch" in words.zh
    found = harness.cluster.totals(ADMIN)
    count = found.gpus.all
    assert (count.total, count.free, count.used, count.unknown) == (8000, 4000, 1000, 3000)
    local, batch = found.engines
    assert (local.away_since, batch.unknown) == (None, 1)
    assert batch.away_since is not None
    unknown = {node.name: node.unknown_since for node in harness.cluster.nodes(ADMIN)}
    assert unknown == {"n1": None, "q1": batch.away_since, "q2": batch.away_since}
    full = await harness.submit(command="sleep 1000", gpus=4)
    await harness.until(full, "running")
    second = await harness.submit(command="true", gpus=4)
    assert "every GPU" in sentence(harness.controller.planner.explain(second.id)).en
    harness.system.away = False
    assert (await harness.ended(waits)).state == "succeeded"
    await eventually(lambda: harness.cluster.totals(ADMIN).gpus.all.unknown == 0)
    assert (await harness.look(kept)).attempt == 1


async def test_a_job_for_an_engine_that_never_answered_waits_and_is_not_refused(
    harness: TwoEngines,
) -> None:
    await harness.close()
    harness.system.away = True
    await harness.open()
    waits = await harness.submit(command="true", gpus=2, queue="batch")
    await asyncio.sleep(0.3)
    assert (await harness.look(waits)).state == "queued"
    harness.system.away = False
    assert (await harness.ended(waits)).state == "succeeded"


async def test_an_attempt_of_an_engine_that_is_gone_from_the_file_is_unknown_not_ended(
    harness: TwoEngines,
) -> None:
    job = await harness.submit(command="sleep 1000", queue="batch")
    await harness.until(job, "running")
    await harness.close()
    text = harness.file.read_text()
    harness.file.write_text(text[: text.index("[engines.batch]")] + "[queues.batch]\n")
    await harness.open()
    await asyncio.sleep(0.3)
    context = harness.controller.context
    assert (await harness.look(job)).state == "running"
    assert context.engines.unknown_since(context.jobs[job.id]) is not None
    await harness.close()
    harness.file.write_text(text)
    await harness.open()
    await eventually(lambda: context_unknown(harness, job.id) is None)
    assert len(harness.system.submissions) == 1


def context_unknown(harness: TwoEngines, job_id: str) -> float | None:
    context = harness.controller.context
    return context.engines.unknown_since(context.jobs[job_id])


def test_a_server_with_two_local_engines_keeps_their_work_apart(tmp_path: Path) -> None:
    """Each in a folder of its own; one backup, one list of nodes, one sum over both."""
    server = DanluServer(tmp_path / "data", TWO)
    try:
        server.start()
        here = server.submit(command="echo here $DANLU_NODE; cat $HOME/note || true", gpus=1)
        assert server.wait(here)["exit_code"] == 0
        there = server.submit(
            command="echo there $DANLU_NODE; echo kept > $HOME/note; ls -d $HOME", queue="attic"
        )
        assert server.wait(there)["exit_code"] == 0
        assert server.cli("logs", there["ref"]).stdout.startswith(b"there n2\n")
        again = server.submit(command="cat $HOME/note", gpus=1)
        assert server.wait(again)["exit_code"] == 0
        assert server.cli("logs", again["ref"]).stdout == b"kept\n", "one home on both engines"
        server.kill()
        server.start()
        assert server.cli("logs", there["ref"]).stdout.startswith(b"there n2\n")
        found = server.get("/cluster")
        assert found["gpus"]["total"] == 6
        assert [(each["name"], each["nodes"]) for each in found["engines"]] == [
            ("lab", 1),
            ("attic", 1),
        ]
        for name in ("lab", "attic"):
            assert (tmp_path / "data" / "engines" / name / "run").is_dir()
    finally:
        server.cleanup()


def test_a_queue_made_by_command_can_name_its_engine(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", TWO)

    def set_queue(*words: str) -> tuple[int, str]:
        result = server.cli("queue", "set", "spare", *words)
        return result.returncode, (result.stdout + result.stderr).decode()

    def node_of_a_job() -> bytes:
        job = server.submit(command="echo $DANLU_NODE", queue="spare")
        assert server.wait(job)["exit_code"] == 0
        log: bytes = server.cli("logs", job["ref"]).stdout
        return log

    try:
        server.start()
        assert "attic" in set_queue("--engine", "attic")[1]
        assert node_of_a_job() == b"n2\n"
        code, words = set_queue("--engine", "cellar")
        assert code == 2
        assert "'cellar' is not a configured engine; available: lab, attic" in words
        code, words = set_queue("--node", "n1")
        assert code == 2
        assert "'n1' is not a node of engine attic; available: n2" in words
        assert set_queue("--node", "n2")[0] == 0
        code, words = set_queue("--engine", "lab")
        assert code == 2
        assert "'n2' is not a node of engine lab" in words, "it keeps the nodes it has"
        server.kill()
        server.start()
        assert node_of_a_job() == b"n2\n"
        assert set_queue("--engine", "none", "--all-nodes")[0] == 0
        assert node_of_a_job() == b"n1\n"
    finally:
        server.cleanup()
