"""What jobs and nodes use, asked over HTTP; who may not is also in the table of all routes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.api.metrics import JobMetrics, NodeMetrics
from tests.api.harness import Harness, Job, eventually
from tests.api.people_harness import PeopleHarness
from tests.support.nvml import FakeDriver
from tests.support.server import DanluServer


def measured(harness: Harness, job: Job, *names: str, **query: Any) -> dict[str, Any]:
    """As soon as all of these are there."""

    def there() -> dict[str, Any] | None:
        found: dict[str, Any] = harness.get(f"/jobs/{job['id']}/metrics", **query)
        return found if set(names) <= {line["name"] for line in found["series"]} else None

    return eventually(there)


def line(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(line for line in found["series"] if line["name"] == name)


class TestJobs:
    def test_running_jobs_are_measured_and_still_known_when_they_have_ended(
        self, harness: Harness
    ) -> None:
        # Samples are ten seconds apart: all that needs one is in one test.
        busy = harness.submit(command="while :; do :; done", gpus=1)
        gang = harness.submit(command="sleep 1000", count=2)
        found = measured(harness, busy, "cpu", "memory", "processes")
        JobMetrics.model_validate(found)
        assert max(value for value in line(found, "cpu")["mean"] if value is not None) > 0
        assert found["tasks"][0]["task"] == 0
        assert found["tasks"][0]["values"]["memory"] > 0
        # Its GPU is declared, without hardware.
        assert not {"gpu", "gpu_memory"} & {line["name"] for line in found["series"]}
        assert "gpu" not in found["tasks"][0]["values"]

        # Tasks of a gang are added up, or asked for one by one.
        both = measured(harness, gang, "memory")
        assert [task["task"] for task in both["tasks"]] == [0, 1]
        assert line(both, "memory")["max"] is None
        one = harness.get(f"/jobs/{gang['id']}/metrics", task=1)
        assert [task["task"] for task in one["tasks"]] == [1]
        assert line(one, "memory")["max"] is not None
        none = harness.get(f"/jobs/{gang['id']}/metrics", task=7)
        assert none["series"] == none["tasks"] == []

        now = time.time()
        coarse = harness.get(f"/jobs/{gang['id']}/metrics", since=now - 86400, until=now, points=24)
        assert coarse["step"] == 3600
        assert len(line(coarse, "memory")["mean"]) <= 25

        harness.stop(busy, now=True)
        harness.wait(busy)
        after = harness.get(f"/jobs/{busy['id']}/metrics")
        assert line(after, "memory")["unit"] == "bytes"

    def test_a_job_that_waits_has_none(self, harness: Harness) -> None:
        job = harness.submit(command="true", held=True)
        found = harness.get(f"/jobs/{job['id']}/metrics")
        assert found["series"] == found["tasks"] == []

    @pytest.mark.parametrize(
        "query",
        [
            {"points": 0},
            {"points": 1001},
            {"since": -1},
            {"since": "nan"},
            {"until": 1e300},
            {"task": -1},
            {"since": 200, "until": 100},
        ],
    )
    def test_a_wrong_question_is_told(self, harness: Harness, query: dict[str, Any]) -> None:
        job = harness.submit(command="true", held=True)
        answer = harness.http.get(f"/jobs/{job['id']}/metrics", params=query)
        assert answer.status_code == 422
        assert answer.json()["error"]["message_zh"]

    def test_what_another_tenants_job_uses_is_not_told(self, people_harness: PeopleHarness) -> None:
        owner, other = people_harness.person(), people_harness.person()
        job = owner.do("POST", "/jobs", {"command": "sleep 1000"})["jobs"][0]
        for ref in (job["id"], job["ref"].replace("/", "~")):
            assert "series" in owner.do("GET", f"/jobs/{ref}/metrics")
            assert "series" not in other.do("GET", f"/jobs/{ref}/metrics", expect=404)
        owner.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


class TestNodes:
    def test_a_node_tells_what_it_uses(self, harness: Harness) -> None:
        def there() -> dict[str, Any] | None:
            found: dict[str, Any] = harness.get("/nodes/n1/metrics")
            return found if found["series"] else None

        found = eventually(there)
        NodeMetrics.model_validate(found)
        assert found["values"]["disk_free"] > 0
        assert found["gpus"] == []  # declared, without hardware

    def test_an_unknown_node_is_told(self, harness: Harness) -> None:
        answer = harness.http.get("/nodes/nowhere/metrics")
        assert answer.status_code == 404
        assert "nowhere" in answer.json()["error"]["message_en"]


class TestRealGpus:
    @pytest.fixture
    def driver(self, tmp_path: Path) -> FakeDriver:
        return FakeDriver(tmp_path / "driver")

    @pytest.fixture
    def gpus(self, tmp_path: Path, driver: FakeDriver) -> Iterator[Harness]:
        """A server on a machine whose driver tells of two GPUs."""
        busy, idle = "gpu RTX3090 6000 24000 80 61 250000", "gpu RTX3090 10 24000 0 33 20000"
        driver.says(busy, idle)
        config = "[server]\ncircle_of_trust = true\n"
        server = DanluServer(tmp_path / "data", config, extra_env=driver.env).start()
        yield Harness(server)
        server.cleanup()

    def test_a_job_has_what_its_gpu_does_and_a_lost_gpu_leaves_a_gap(
        self, gpus: Harness, driver: FakeDriver
    ) -> None:
        job = gpus.submit(command="sleep 1000", gpus=1)
        found = measured(gpus, job, "gpu", "gpu_memory")
        index = gpus.show(job)["tasks"][0]["gpus"][0]
        expected = (0.8, 6000) if index == 0 else (0.0, 10)
        values = found["tasks"][0]["values"]
        assert (values["gpu"], values["gpu_memory"]) == expected
        name = gpus.get("/nodes")["nodes"][0]["name"]
        node = gpus.get(f"/nodes/{name}/metrics")
        assert [gpu["values"]["temperature"] for gpu in node["gpus"]] == [61, 33]
        assert node["values"]["gpu"] == 0.4
        driver.says("lost", "lost")

        def gone() -> bool:
            tasks = gpus.get(f"/jobs/{job['id']}/metrics")["tasks"]
            return bool(tasks) and "gpu" not in tasks[0]["values"]

        eventually(gone)
