"""What a task sees: its volumes, secrets, script, ports, and the peers of its gang."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from danlu.engines.local.check import Abilities
from tests.api.harness import Harness, Job, wait_for_file
from tests.engines.harness import token
from tests.support.folders import files_with
from tests.support.processes import processes_with


def _home(harness: Harness) -> Path:
    """What tasks see as /userhome, from the outside."""
    return harness.server.data / "home" / "admin"


# -- volumes ----------------------------------------------------------------------------------


def test_the_home_of_a_user_stays_from_job_to_job(harness: Harness) -> None:
    harness.run('mkdir -p "$DANLU_USERHOME/kept" && echo precious > "$HOME/kept/note"')
    job = harness.run('cat "$DANLU_USERHOME/kept/note"; pwd; echo "$HOME"')
    first, folder, home = harness.lines(job)
    assert first == "precious"
    assert folder == home, "a task starts in its home"
    assert (_home(harness) / "kept/note").read_text() == "precious\n"


def test_the_home_is_at_its_promised_path(harness: Harness, abilities: Abilities) -> None:
    if not abilities.namespaces:
        pytest.skip("without namespaces the home is given by variables, not by path")
    assert harness.log(harness.run("pwd; echo $HOME; echo $DANLU_USERHOME")) == b"/userhome\n" * 3


def test_shared_data_can_be_read_and_not_written(harness: Harness, abilities: Abilities) -> None:
    (harness.server.data / "gdata" / "set").write_text("numbers")
    job = harness.run('cat "$DANLU_GDATA/set"; echo x > "$DANLU_GDATA/mine" || echo refused')
    if abilities.namespaces:
        assert harness.lines(job)[0].startswith("numbers")
        assert harness.lines(job)[-1] == "refused"
        assert not (harness.server.data / "gdata" / "mine").exists()
        assert harness.log(harness.run("cat /gdata/set")) == b"numbers"
    else:
        assert harness.log(job).startswith(b"numbers")
        (harness.server.data / "gdata" / "mine").unlink(missing_ok=True)


def test_a_new_entry_is_seen_beside_datasets(harness: Harness, abilities: Abilities) -> None:
    """Also by a keeper that has just served another task."""
    if not abilities.namespaces:
        pytest.skip("without namespaces nothing is mounted")
    name = f"d{time.monotonic_ns()}"
    order = {"name": name, "volume": "gdata", "folder": ""}
    answer = harness.http.post("/datasets", json=order)
    assert answer.status_code == 201, answer.text
    gdata = harness.server.data / "gdata"
    for number in range(5):
        (gdata / f"{name}-{number}").write_text("new")
        job = harness.run(f"ls /gdata/{name}; cat /gdata/{name}-{number}")
        assert harness.lines(job)[-1] == "new"
    harness.http.delete(f"/datasets/{name}").raise_for_status()


def test_a_volume_appears_where_the_job_wants_it(harness: Harness, abilities: Abilities) -> None:
    fast = harness.server.data.parent / "fast"
    (fast / "data").write_text("speedy")
    job = harness.run('cat "$DANLU_VOLUME_FAST/data"', mounts=["fast:/somewhere/else"])
    assert harness.log(job) == b"speedy"
    if abilities.namespaces:
        assert harness.log(harness.run("cat /x/data", mounts=["fast:/x"])) == b"speedy"
        job = harness.run("touch /x/new", mounts=["fast:/x:ro"])
        assert job["state"] == "failed"
        assert not (fast / "new").exists()
        assert harness.run("touch /x/new", mounts=["fast:/x"])["state"] == "succeeded"
        assert (fast / "new").exists()


def test_a_volume_that_does_not_exist_is_refused_with_those_that_do(harness: Harness) -> None:
    found = harness.refusal(command="true", mounts=["slow:/slow"])
    assert found["key"] == "mounts.0.volume"
    assert all(name in found["message_en"] for name in ("fast", "gdata", "user", "userhome"))


def test_a_host_path_is_not_a_volume(harness: Harness) -> None:
    assert harness.refusal(command="true", mounts=["/etc:/x"])["key"].startswith("mounts")


def test_the_servers_own_data_is_hidden_from_tasks(harness: Harness, abilities: Abilities) -> None:
    if not abilities.namespaces:
        pytest.skip("hiding the data folder needs namespaces")
    job = harness.run(f"ls -A {harness.server.data}; cat {harness.server.data}/admin.json")
    assert harness.server.token.encode() not in harness.log(job)
    assert b"danlu.db" not in harness.log(job)


# -- secrets ----------------------------------------------------------------------------------


def test_a_secret_reaches_the_task_and_shows_up_nowhere_else(
    harness: Harness, tmp_path: Path
) -> None:
    value = "s3cr3t-" + os.urandom(12).hex()
    answer = harness.http.put("/secrets/wandb", json={"value": value})
    assert answer.json() == {"names": ["wandb"]}
    assert harness.get("/secrets") == {"names": ["wandb"]}
    go, seen = tmp_path / "go", tmp_path / "seen"
    job = harness.submit(
        command=f'printf %s "$KEY" > {seen}; {wait_for_file(go)}; exit 3', secrets={"KEY": "wandb"}
    )
    harness.until(job, "running")
    answers = [_everything_about(harness, job)]
    files = files_with(harness.server.data, value.encode())
    go.touch()
    harness.wait(job)
    answers.append(_everything_about(harness, job))
    assert seen.read_text() == value
    assert not any(value in answer for answer in answers)
    files += files_with(harness.server.data, value.encode())
    assert [name for name in files if not name.startswith("danlu.db")] == []
    assert value not in harness.server.log.read_text()
    assert harness.http.delete("/secrets/wandb").status_code == 200
    assert harness.get("/secrets") == {"names": []}


def _everything_about(harness: Harness, job: Job) -> str:
    paths = ["", "/why", "/events", "/spec", "/spec?format=json", "/logs", "/wait?timeout=0"]
    texts = [harness.http.get(f"/jobs/{job['id']}{path}").text for path in paths]
    texts += [harness.http.get(path).text for path in ("/jobs", "/nodes", "/gpus", "/secrets")]
    texts.append(harness.http.post("/jobs?dry_run=true", json=harness.show(job)["spec"]).text)
    return "".join(texts)


def test_a_job_whose_secret_does_not_exist_is_refused_and_queues_nothing(harness: Harness) -> None:
    harness.http.put("/secrets/wandb-of-mine", json={"value": "x"})
    body = {"name": "mistyped", "command": "true", "secrets": {"KEY": "wandb-of-mina"}}
    for where in ("/jobs", "/jobs?dry_run=true"):
        answer = harness.http.post(where, json=body)
        assert answer.status_code == 422
        (detail,) = answer.json()["error"]["details"]
        assert (detail["key"], detail["value"]) == ("secrets", "'wandb-of-mina'")
        assert "wandb-of-mine" in detail["message_en"]
        assert "danlu secret set wandb-of-mina" in detail["message_zh"]
    assert harness.get("/jobs", text="mistyped")["jobs"] == []
    harness.http.delete("/secrets/wandb-of-mine")


def test_a_job_whose_secret_is_gone_when_its_turn_comes_says_so(harness: Harness) -> None:
    harness.http.put("/secrets/short-lived", json={"value": "x"})
    job = harness.submit(command="true", secrets={"KEY": "short-lived"}, held=True)
    assert harness.http.delete("/secrets/short-lived").status_code == 200
    harness.http.post(f"/jobs/{job['id']}/release")
    ended = harness.wait(job)
    assert (ended["state"], ended["reason"]) == ("failed", "secret_missing")
    assert "short-lived" in ended["reason_en"]


def test_a_mistake_about_a_secret_does_not_repeat_it(harness: Harness) -> None:
    for body in ({"value": "hunter2" * 10_000}, {"valeu": "hunter2"}, {"value": ["hunter2"]}):
        answer = harness.http.put("/secrets/x", json=body)
        assert answer.status_code == 422
        assert "hunter2" not in answer.text


# -- scripts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_symbolic_link_is_a_start_script(harness: Harness, mode: int) -> None:
    harness.run("true")  # the home is there from the first job on
    home = _home(harness)
    (home / "project").mkdir(exist_ok=True)
    script = home / "project" / "start.sh"
    script.write_text('#!/bin/sh\necho "ran with $1 $2"\n')
    script.chmod(mode)
    link = home / "link.sh"
    link.unlink(missing_ok=True)
    link.symlink_to("project/start.sh")
    job = harness.wait(harness.submit(script="./link.sh", args=["a b", "$HOME"]))
    assert job["state"] == "succeeded", harness.log(job)
    assert harness.log(job) == b"ran with a b $HOME\n"


def test_a_link_to_nothing_is_told(harness: Harness) -> None:
    harness.run('ln -sf nowhere "$HOME/broken.sh"')
    job = harness.wait(harness.submit(script="./broken.sh"))
    assert job["reason"] == "command_not_found"
    assert "broken.sh" in job["reason_en"]


# -- ports ------------------------------------------------------------------------------------


def test_leased_ports_never_clash(harness: Harness) -> None:
    text = 'echo "$PORT_HTTP $PORT_HTTP_0 $PORT_HTTP_1 $PORT_API"; sleep 1000'
    jobs = [
        harness.submit(command=text, ports={"http": 2, "api": 1}, count=2, cpus=1) for _ in range(5)
    ]
    ports: list[str] = []
    for job in jobs:
        harness.until(job, "running")
        for task in (0, 1):
            with harness.following(job, task=task) as answer:
                first, again, second, api = next(answer.iter_lines()).split()
            assert first == again
            ports += [first, second, api]
    assert len(set(ports)) == len(ports) == 30
    told = [port for job in jobs for task in harness.show(job)["tasks"] for port in task["ports"]]
    assert len(set(told)) == len(told)
    assert set(map(int, ports)) <= set(told)


# -- gangs ------------------------------------------------------------------------------------


def test_the_tasks_of_a_gang_know_each_other(harness: Harness) -> None:
    text = "echo $RANK $WORLD_SIZE $NODE_RANK $NNODES $MASTER_ADDR $MASTER_PORT $DANLU_TASK_INDEX"
    job = harness.run(text, count=3, gpus=1)
    told = [harness.log(job, task=task).decode().split() for task in range(3)]
    assert [words[0] for words in told] == ["0", "1", "2"]
    assert {words[1] for words in told} == {"3"}
    assert [words[2] for words in told] == ["0", "1", "2"]
    assert {words[3] for words in told} == {"3"}
    assert len({tuple(words[4:6]) for words in told}) == 1, "one master for all"
    assert [words[6] for words in told] == ["0", "1", "2"]


def test_a_task_with_a_process_per_gpu_gives_each_its_own(harness: Harness) -> None:
    text = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE"
    job = harness.run(text, count=2, gpus=2, processes="per_gpu")
    told = sorted(harness.lines(job, task=0) + harness.lines(job, task=1))
    assert told == ["0 4 0 2", "1 4 1 2", "2 4 0 2", "3 4 1 2"]


def test_roles_that_tensorflow_knows_get_its_configuration(harness: Harness) -> None:
    command = {"command": 'echo "$TF_CONFIG"', "cpus": 1}
    job = harness.wait(harness.submit(roles={"ps": command, "worker": {**command, "count": 2}}))
    configs = [json.loads(harness.log(job, task=task)) for task in range(3)]
    assert {role: len(peers) for role, peers in configs[0]["cluster"].items()} == {
        "ps": 1,
        "worker": 2,
    }
    assert all(config["cluster"] == configs[0]["cluster"] for config in configs)
    assert [config["task"] for config in configs] == [
        {"type": "ps", "index": 0},
        {"type": "worker", "index": 0},
        {"type": "worker", "index": 1},
    ]


def test_when_one_task_fails_the_others_are_stopped_and_it_is_named(harness: Harness) -> None:
    name = token()
    command = f"[ $RANK = 1 ] || exec sleep {name}; echo 'ModuleNotFoundError: x'; exit 9"
    job = harness.run(command, count=3, cpus=1, grace="1s")
    assert (job["state"], job["exit_code"]) == ("failed", 9)
    assert processes_with(name) == []
    tasks = harness.show(job)["tasks"]
    assert tasks[1]["exit_code"] == 9
    # None: it was stopped before it had begun.
    assert {tasks[index]["exit_code"] for index in (0, 2)} <= {143, None}


def test_a_gang_with_a_failed_task_is_tried_again_as_a_whole(harness: Harness) -> None:
    # The second waits for the first, which would else be stopped before it has said anything.
    said = "/userhome/gang-$DANLU_JOB_ID-$DANLU_ATTEMPT"
    command = (
        f"echo $DANLU_ATTEMPT; [ $RANK = 0 ] && {{ touch {said}; exit 0; }}; "
        f"until [ -e {said} ]; do sleep 0.05; done; [ $DANLU_ATTEMPT = 2 ]"
    )
    job = harness.run(command, count=2, cpus=1, retries=1)
    assert (job["state"], job["attempt"]) == ("succeeded", 2)
    assert harness.log(job, task=0) == b"1\n2\n"
    assert harness.log(job, task=1) == b"1\n2\n"


def test_gpus_are_visible_to_their_own_task_only(harness: Harness) -> None:
    job = harness.run("echo $CUDA_VISIBLE_DEVICES", gpus="1:RTX3090", count=4)
    assert sorted(harness.log(job, task=task) for task in range(4)) == [
        b"0\n",
        b"1\n",
        b"2\n",
        b"3\n",
    ]
    assert harness.log(harness.run("echo [$CUDA_VISIBLE_DEVICES]")) == b"[]\n"
