"""How environments get their tools: what is missing is said ahead, and what is made is a step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.control.engines import EngineStatus
from danlu.control.tools import tools_findings
from danlu.engines.api import Refused
from danlu.spec.complete import complete
from danlu.spec.errors import SpecError
from danlu.spec.job import Command, RunAs
from danlu.spec.native import to_native
from tests.control.harness import Harness
from tests.engines import conftest
from tests.engines.harness import EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.support.server import DanluServer
from tests.support.tools import give, tools_venv


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(conftest.with_namespaces, tmp_path)
    await harness.start()
    yield harness
    await harness.close()


def test_a_job_of_this_kind_needs_no_command() -> None:
    spec = complete({"kind": "environment"})
    assert spec.roles[0].command == Command(RunAs.TOOL, ("environment",))
    assert spec.name == "environment"
    assert complete(to_native(spec)) == spec
    assert complete({"kind": "environment", "command": "sleep 9"}).roles[0].command.words == (
        "sleep 9",
    )


@pytest.mark.parametrize(
    "job",
    [
        {"tool": "environment", "command": "x"},
        {"tool": "environment", "args": ["x"]},
        {"tool": "tensorboard"},
        {"tool": "tensorboard", "args": ["logs"]},
        {"tool": "environment", "gpus": 2, "processes": "per_gpu"},
        {"tool": "environment", "files": {"output": "x"}},
        {"tool": "vim"},
    ],
)
def test_what_contradicts_a_tool_is_said(job: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        complete(job)


async def test_an_environment_with_an_image_is_refused_without_the_tree(
    harness: EngineHarness,
) -> None:
    spec = complete({"kind": "environment", "image": "debian"})
    [finding] = tools_findings(spec, EngineStatus(harness.engine, met=True))
    assert "danlu tools build" in finding.message.en and "danlu tools build" in finding.message.zh
    assert "danlu tools install" in finding.message.en
    assert tools_findings(complete({"kind": "environment"}), EngineStatus(harness.engine)) == []
    launch = harness.launch(Command(RunAs.TOOL, ("environment",)), tools=True, image="debian")
    with pytest.raises(Refused, match="danlu tools build"):
        harness.engine.plan(launch)


@pytest.mark.slow
async def test_without_a_registry_the_job_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    harness = Harness(tmp_path)
    await harness.open()
    try:
        job = await harness.ended(await harness.submit(kind="environment"))
        assert (job.state, job.reason) == ("failed", "tools_missing")
        detail = str(job.detail)
        assert "registries" in detail and "danlu tools install" in detail and "软件包仓库" in detail
    finally:
        await harness.close()


@pytest.mark.slow
def test_a_job_file_starts_an_environment(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data")
    give(server.data, tools_venv())
    server.start()
    try:
        (tmp_path / "work.yaml").write_text("name: work\nkind: environment\n")
        done = server.cli("submit", str(tmp_path / "work.yaml"))
        assert done.returncode == 0, done.stderr
        job = server.goes_on("work")
        while b"ready" not in server.bytes_of(f"/jobs/{job['id']}/logs"):
            pass
        assert server.get(f"/jobs/{job['id']}")["kind"] == "environment"
    finally:
        server.cleanup()
