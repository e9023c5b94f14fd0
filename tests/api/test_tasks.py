"""What a task sees: its volumes, secrets, script, ports, and the peers of its gang."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from danlu.engines.local.check import Abilities
from tests.api.lab import Job, Lab, wait_for_file
from tests.engines.world import processes_with, token
from tests.support.folders import files_with


def _home(lab: Lab) -> Path:
    """What tasks see as /userhome, from the outside."""
    return lab.server.data / "home" / "admin"


# -- volumes ----------------------------------------------------------------------------------


def test_the_home_of_a_user_stays_from_job_to_job(lab: Lab) -> None:
    lab.run('mkdir -p "$DANLU_USERHOME/kept" && echo precious > "$HOME/kept/note"')
    job = lab.run('cat "$DANLU_USERHOME/kept/note"; pwd; echo "$HOME"')
    first, folder, home = lab.lines(job)
    assert first == "precious"
    assert folder == home, "a task starts in its home"
    assert (_home(lab) / "kept/note").read_text() == "precious\n"


def test_the_home_is_at_its_promised_path(lab: Lab, abilities: Abilities) -> None:
    if not abilities.namespaces:
        pytest.skip("without namespaces the home is given by variables, not by path")
    assert lab.log(lab.run("pwd; echo $HOME; echo $DANLU_USERHOME")) == b"/userhome\n" * 3


def test_shared_data_can_be_read_and_not_written(lab: Lab, abilities: Abilities) -> None:
    (lab.server.data / "gdata" / "set").write_text("numbers")
    job = lab.run('cat "$DANLU_GDATA/set"; echo x > "$DANLU_GDATA/mine" || echo refused')
    if abilities.namespaces:
        assert lab.lines(job)[0].startswith("numbers")
        assert lab.lines(job)[-1] == "refused"
        assert not (lab.server.data / "gdata" / "mine").exists()
        assert lab.log(lab.run("cat /gdata/set")) == b"numbers"
    else:
        assert lab.log(job).startswith(b"numbers")
        (lab.server.data / "gdata" / "mine").unlink(missing_ok=True)


def test_a_volume_appears_where_the_job_wants_it(lab: Lab, abilities: Abilities) -> None:
    fast = lab.server.data.parent / "fast"
    (fast / "data").write_text("speedy")
    job = lab.run('cat "$DANLU_VOLUME_FAST/data"', mounts=["fast:/somewhere/else"])
    assert lab.log(job) == b"speedy"
    if abilities.namespaces:
        assert lab.log(lab.run("cat /x/data", mounts=["fast:/x"])) == b"speedy"
        job = lab.run("touch /x/new", mounts=["fast:/x:ro"])
        assert job["state"] == "failed"
        assert not (fast / "new").exists()
        assert lab.run("touch /x/new", mounts=["fast:/x"])["state"] == "succeeded"
        assert (fast / "new").exists()


def test_a_volume_that_does_not_exist_is_refused_with_those_that_do(lab: Lab) -> None:
    found = lab.refusal(command="true", mounts=["slow:/slow"])
    assert found["key"] == "mounts.0.volume"
    assert all(name in found["message_en"] for name in ("fast", "gdata", "user", "userhome"))


def test_a_host_path_is_not_a_volume(lab: Lab) -> None:
    assert lab.refusal(command="true", mounts=["/etc:/x"])["key"].startswith("mounts")


def test_the_servers_own_data_is_hidden_from_tasks(lab: Lab, abilities: Abilities) -> None:
    if not abilities.namespaces:
        pytest.skip("hiding the data folder needs namespaces")
    job = lab.run(f"ls -A {lab.server.data}; cat {lab.server.data}/admin.json")
    assert lab.server.token.encode() not in lab.log(job)
    assert b"danlu.db" not in lab.log(job)


# -- secrets ----------------------------------------------------------------------------------


def test_a_secret_reaches_the_task_and_shows_up_nowhere_else(lab: Lab, tmp_path: Path) -> None:
    value = "s3cr3t-" + os.urandom(12).hex()
    answer = lab.http.put("/secrets/wandb", json={"value": value})
    assert answer.json() == {"names": ["wandb"]}
    assert lab.get("/secrets") == {"names": ["wandb"]}
    go, seen = tmp_path / "go", tmp_path / "seen"
    job = lab.submit(
        command=f'printf %s "$KEY" > {seen}; {wait_for_file(go)}; exit 3', secrets={"KEY": "wandb"}
    )
    lab.until(job, "running")
    answers = [_everything_about(lab, job)]
    files = files_with(lab.server.data, value.encode())
    go.touch()
    lab.wait(job)
    answers.append(_everything_about(lab, job))
    assert seen.read_text() == value
    assert not any(value in answer for answer in answers)
    files += files_with(lab.server.data, value.encode())
    assert [name for name in files if not name.startswith("danlu.db")] == []
    assert value not in lab.server.log.read_text()
    assert lab.http.delete("/secrets/wandb").status_code == 200
    assert lab.get("/secrets") == {"names": []}


def _everything_about(lab: Lab, job: Job) -> str:
    paths = ["", "/why", "/events", "/spec", "/spec?format=json", "/logs", "/wait?timeout=0"]
    texts = [lab.http.get(f"/jobs/{job['id']}{path}").text for path in paths]
    texts += [lab.http.get(path).text for path in ("/jobs", "/nodes", "/gpus", "/secrets")]
    texts.append(lab.http.post("/jobs?dry_run=true", json=lab.show(job)["spec"]).text)
    return "".join(texts)


def test_a_job_whose_secret_does_not_exist_is_refused_and_queues_nothing(lab: Lab) -> None:
    lab.http.put("/secrets/wandb-of-mine", json={"value": "x"})
    body = {"name": "mistyped", "command": "true", "secrets": {"KEY": "wandb-of-mina"}}
    for where in ("/jobs", "/jobs?dry_run=true"):
        answer = lab.http.post(where, json=body)
        assert answer.status_code == 422
        (detail,) = answer.json()["error"]["details"]
        assert (detail["key"], detail["value"]) == ("secrets", "'wandb-of-mina'")
        assert "wandb-of-mine" in detail["message_en"]
        assert "danlu secret set wandb-of-mina" in detail["message_zh"]
    assert lab.get("/jobs", text="mistyped")["jobs"] == []
    lab.http.delete("/secrets/wandb-of-mine")


def test_a_job_whose_secret_is_gone_when_its_turn_comes_says_so(lab: Lab) -> None:
    lab.http.put("/secrets/short-lived", json={"value": "x"})
    job = lab.submit(command="true", secrets={"KEY": "short-lived"}, held=True)
    assert lab.http.delete("/secrets/short-lived").status_code == 200
    lab.http.post(f"/jobs/{job['id']}/release")
    ended = lab.wait(job)
    assert (ended["state"], ended["reason"]) == ("failed", "secret_missing")
    assert "short-lived" in ended["reason_en"]


def test_a_mistake_about_a_secret_does_not_repeat_it(lab: Lab) -> None:
    for body in ({"value": "hunter2" * 10_000}, {"valeu": "hunter2"}, {"value": ["hunter2"]}):
        answer = lab.http.put("/secrets/x", json=body)
        assert answer.status_code == 422
        assert "hunter2" not in answer.text


# -- scripts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_symbolic_link_is_a_start_script(lab: Lab, mode: int) -> None:
    lab.run("true")  # the home is there from the first job on
    home = _home(lab)
    (home / "project").mkdir(exist_ok=True)
    script = home / "project" / "start.sh"
    script.write_text('#!/bin/sh\necho "ran with $1 $2"\n')
    script.chmod(mode)
    link = home / "link.sh"
    link.unlink(missing_ok=True)
    link.symlink_to("project/start.sh")
    job = lab.wait(lab.submit(script="./link.sh", args=["a b", "$HOME"]))
    assert job["state"] == "succeeded", lab.log(job)
    assert lab.log(job) == b"ran with a b $HOME\n"


def test_a_link_to_nothing_is_told(lab: Lab) -> None:
    lab.run('ln -sf nowhere "$HOME/broken.sh"')
    job = lab.wait(lab.submit(script="./broken.sh"))
    assert job["reason"] == "command_not_found"
    assert "broken.sh" in job["reason_en"]


# -- ports ------------------------------------------------------------------------------------


def test_leased_ports_never_clash(lab: Lab) -> None:
    text = 'echo "$PORT_HTTP $PORT_HTTP_0 $PORT_HTTP_1 $PORT_API"; sleep 1000'
    jobs = [
        lab.submit(command=text, ports={"http": 2, "api": 1}, count=2, cpus=1) for _ in range(5)
    ]
    ports: list[str] = []
    for job in jobs:
        lab.until(job, "running")
        for task in (0, 1):
            with lab.following(job, task=task) as answer:
                first, again, second, api = next(answer.iter_lines()).split()
            assert first == again
            ports += [first, second, api]
    assert len(set(ports)) == len(ports) == 30
    told = [port for job in jobs for task in lab.show(job)["tasks"] for port in task["ports"]]
    assert len(set(told)) == len(told)
    assert set(map(int, ports)) <= set(told)


# -- gangs ------------------------------------------------------------------------------------


def test_the_tasks_of_a_gang_know_each_other(lab: Lab) -> None:
    text = "echo $RANK $WORLD_SIZE $NODE_RANK $NNODES $MASTER_ADDR $MASTER_PORT $DANLU_TASK_INDEX"
    job = lab.run(text, count=3, gpus=1)
    told = [lab.log(job, task=task).decode().split() for task in range(3)]
    assert [words[0] for words in told] == ["0", "1", "2"]
    assert {words[1] for words in told} == {"3"}
    assert [words[2] for words in told] == ["0", "1", "2"]
    assert {words[3] for words in told} == {"3"}
    assert len({tuple(words[4:6]) for words in told}) == 1, "one master for all"
    assert [words[6] for words in told] == ["0", "1", "2"]


def test_a_task_with_a_process_per_card_gives_each_its_own(lab: Lab) -> None:
    text = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE"
    job = lab.run(text, count=2, gpus=2, processes="per_gpu")
    told = sorted(lab.lines(job, task=0) + lab.lines(job, task=1))
    assert told == ["0 4 0 2", "1 4 1 2", "2 4 0 2", "3 4 1 2"]


def test_roles_that_tensorflow_knows_get_its_configuration(lab: Lab) -> None:
    command = {"command": 'echo "$TF_CONFIG"', "cpus": 1}
    job = lab.wait(lab.submit(roles={"ps": command, "worker": {**command, "count": 2}}))
    configs = [json.loads(lab.log(job, task=task)) for task in range(3)]
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


def test_when_one_task_fails_the_others_are_stopped_and_it_is_named(lab: Lab) -> None:
    name = token()
    command = f"[ $RANK = 1 ] || exec sleep {name}; echo 'ModuleNotFoundError: x'; exit 9"
    job = lab.run(command, count=3, cpus=1, grace="1s")
    assert (job["state"], job["exit_code"]) == ("failed", 9)
    assert processes_with(name) == []
    tasks = lab.show(job)["tasks"]
    assert tasks[1]["exit_code"] == 9
    # None: it was stopped before it had begun.
    assert {tasks[index]["exit_code"] for index in (0, 2)} <= {143, None}


def test_a_gang_with_a_failed_task_is_tried_again_as_a_whole(lab: Lab) -> None:
    # The second waits for the first, which would else be stopped before it has said anything.
    said = "/userhome/gang-$DANLU_JOB_ID-$DANLU_ATTEMPT"
    command = (
        f"echo $DANLU_ATTEMPT; [ $RANK = 0 ] && {{ touch {said}; exit 0; }}; "
        f"until [ -e {said} ]; do sleep 0.05; done; [ $DANLU_ATTEMPT = 2 ]"
    )
    job = lab.run(command, count=2, cpus=1, retries=1)
    assert (job["state"], job["attempt"]) == ("succeeded", 2)
    assert lab.log(job, task=0) == b"1\n2\n"
    assert lab.log(job, task=1) == b"1\n2\n"


def test_cards_are_visible_to_their_own_task_only(lab: Lab) -> None:
    job = lab.run("echo $CUDA_VISIBLE_DEVICES", gpus="1:RTX3090", count=4)
    assert sorted(lab.log(job, task=task) for task in range(4)) == [b"0\n", b"1\n", b"2\n", b"3\n"]
    assert lab.log(lab.run("echo [$CUDA_VISIBLE_DEVICES]")) == b"[]\n"
