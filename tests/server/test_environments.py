"""[environments] in danlu.toml: the queue, the times, and what counts as use."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.harness import eventually
from tests.support.server import DanluServer
from tests.support.tools import give_made

CONFIG = """
[[nodes]]
name = "n1"
cpus = 8
memory = "64G"
gpus = "2:T4"

[[nodes]]
name = "n2"
cpus = 8
memory = "64G"
gpus = "2:A100"

[queues.default]
nodes = ["n2"]

[queues.debug]
nodes = ["n1"]
kinds = ["environment"]

[defaults]
max_time_limit = "1d"

[environments]
queue = "debug"
time_limit = "8h"
idle_limit = "1h"
max_idle_limit = "2h"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("environments") / "data", CONFIG)
    give_made(server.data)
    server.start()
    yield server
    server.cleanup()


def refusal(server: DanluServer, method: str, path: str, body: Any) -> dict[str, Any]:
    with pytest.raises(urllib.error.HTTPError) as refused:
        server.call(method, path, body)
    error: dict[str, Any] = json.loads(refused.value.read())["error"]
    return error


def test_environments_go_to_their_queue_with_their_times(server: DanluServer) -> None:
    made = server.post("/environments", {"name": "usual", "gpus": 1})["environment"]
    assert made["job"]["queue"] == "debug"
    spec = server.get(f"/jobs/{made['job']['id']}/spec?format=json")
    assert (spec["time_limit"], spec["idle_limit"]) == ("8h", "1h")
    assert server.goes_on("usual")["nodes"] == ["n1"]


def test_other_jobs_do_not_get_into_that_queue(server: DanluServer) -> None:
    assert server.submit(command="true")["queue"] == "default"
    job = {"command": "true", "queue": "debug"}
    problem = refusal(server, "POST", "/jobs", job)["details"][0]
    assert problem["key"] == "queue"
    assert "takes only jobs of kind environment" in problem["message_en"]
    assert "others: default" in problem["message_en"]
    assert "environment" in problem["message_zh"]


def test_a_waiting_job_is_not_moved_into_it_either(server: DanluServer) -> None:
    job = server.submit(command="true", held=True)
    error = refusal(server, "PATCH", f"/jobs/{job['id']}", {"queue": "debug"})
    assert error["details"][0]["key"] == "queue"


def test_an_environment_may_name_another_queue(server: DanluServer) -> None:
    made = server.post("/environments", {"name": "other", "queue": "default"})["environment"]
    assert made["job"]["queue"] == "default"
    assert server.get(f"/jobs/{made['job']['id']}/spec?format=json")["queue"] == "default"


@pytest.mark.parametrize("idle", [0, "3h"])
def test_the_idle_limit_has_a_most(server: DanluServer, idle: int | str) -> None:
    body = {"name": "long", "idle_limit": idle}
    problem = refusal(server, "POST", "/environments", body)["details"][0]
    assert problem["key"] == "idle_limit"
    assert "2h" in problem["message_en"]


def test_nobody_is_extended_beyond_the_most_time(server: DanluServer) -> None:
    server.post("/environments", {"name": "later"})
    server.goes_on("later")
    server.post("/environments/later/extend", {"by": "15h"})
    error = refusal(server, "POST", "/environments/later/extend", {"by": "2h"})
    assert "at most 1d from now" in error["message_en"]


def test_limits_of_a_running_one_change_in_place(server: DanluServer) -> None:
    server.post("/environments", {"name": "limits"})
    job = server.goes_on("limits")
    body = {"time_limit": "10h", "idle_limit": "30m"}
    changed = server.call("PATCH", "/environments/limits", body)
    assert not changed["restarted"]
    assert changed["environment"]["job"]["id"] == job["id"]
    spec = server.get(f"/jobs/{job['id']}/spec?format=json")
    assert (spec["time_limit"], spec["idle_limit"]) == ("10h", "30m")
    started = changed["environment"]["job"]["started_at"]
    assert changed["environment"]["ends_at"] == pytest.approx(started + 36000, abs=5)


def test_an_idle_one_is_warned_stopped_and_says_why(server: DanluServer) -> None:
    server.post("/environments", {"name": "idle", "idle_limit": "1s"})
    eventually(lambda: server.get("/environments/idle")["idle_stop_at"])
    shown = server.cli("env", "show", "idle").stdout.decode()
    assert "not used; stops in" in shown or "Not used for 1s" in shown
    eventually(lambda: server.get("/environments/idle")["state"] == "stopped")
    job = server.get("/environments/idle")["job"]
    assert (job["state"], job["reason"]) == ("stopped", "idle")
    assert job["reason_en"] == "Not used for 1s, its idle limit"
    events = server.get(f"/jobs/{job['id']}/events")["events"]
    assert "it is stopped in" in next(each["en"] for each in events if each["kind"] == "idle")
    assert "Not used" in server.cli("env", "show", "idle").stdout.decode()


def test_a_queue_made_by_command_may_be_for_kinds(server: DanluServer) -> None:
    done = server.cli("queue", "set", "notebooks", "--kind", "environment", "--kind", "service")
    assert done.returncode == 0, done
    (queue,) = [q for q in server.get("/queues")["queues"] if q["name"] == "notebooks"]
    assert queue["kinds"] == ["environment", "service"]
    assert "only environment, service" in server.cli("queue").stdout.decode()
    refusal(server, "POST", "/jobs", {"command": "true", "queue": "notebooks"})
    server.cli("queue", "set", "notebooks", "--kind", "none")
    assert server.submit(command="true", queue="notebooks")["queue"] == "notebooks"
    assert server.cli("queue", "set", "notebooks", "--kind", "games").returncode == 2
