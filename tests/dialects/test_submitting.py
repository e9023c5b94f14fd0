"""Files of every language through the API and the command line, with their notes everywhere."""

from __future__ import annotations

import json
import urllib.error
from typing import Any

import pytest
import yaml

from tests.dialects.conftest import BARE
from tests.dialects.desk import Desk, eventually

V1 = """{
  // as somebody pasted it
  "jobName": "hello-",
  "image": "nothing:here",
  "authFile": "/userhome/login",
  "retryCount": 0,
  "taskRoles": [
    {"name": "main", "memoryMB": 512, "command": "echo $PAI_JOB_NAME; echo $AII_TASK_INDEX"}
  ]
}
"""
V2 = """protocolVersion: 2
name: hello
type: job
secrets: {token: "it's a \\"secret\\""}
prerequisites:
  - {name: i, type: dockerimage, uri: "nothing:here"}
taskRoles:
  ps:
    dockerImage: i
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: [sleep 1000]
  worker:
    dockerImage: i
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands:
      - printf '%s\\n' '<% $secrets.token %>'
"""


def test_a_pasted_json_job_runs_and_its_notes_are_everywhere(desk: Desk) -> None:
    answer = desk.send(V1, keys={"image": None})
    (note,) = answer["notes"]
    assert note["line"] == 5
    assert note["key"] == "authFile"
    job = answer["jobs"][0]
    assert desk.wait(job["id"])["state"] == "succeeded"
    assert desk.log(job["id"]) == "admin~hello-\n0\n"
    (event,) = [each for each in desk.events(job["id"]) if each["kind"] == "converted"]
    assert event["data"]["dialect"] == "openpai-v1"
    assert "authFile" in event["en"]
    assert "authFile" in event["zh"]


def test_a_batch_script_is_called_by_its_file_whichever_way_it_is_sent(desk: Desk) -> None:
    desk.file("big train.sh", "#!/bin/sh\necho $SLURM_JOB_NAME\n")
    desk.file("named.sh", "#!/bin/sh\n#SBATCH -J own\ntrue\n")

    def name(*words: str) -> str:
        return str(json.loads(desk.danlu("--json", "submit", *words).stdout)["jobs"][0]["name"])

    by_danlu = name("big train.sh")
    by_sbatch = desk.run("sbatch", "--parsable", "big train.sh").stdout.strip()
    assert by_danlu == desk.show(by_sbatch)["name"] == "big-train.sh"
    for words in (("convert",), ("convert", "--offline")):
        assert "name: big-train.sh\n" in desk.danlu(*words, "big train.sh").stdout
    assert name("named.sh") == "own"
    assert name("-n", "mine", "named.sh") == name("-n", "mine", "big train.sh") == "mine"


def test_a_role_that_succeeded_ends_the_job_and_its_secret_is_nowhere_to_be_read(
    desk: Desk,
) -> None:
    answer = desk.send(V2, keys={"image": None})
    job = answer["jobs"][0]
    assert desk.wait(job["id"])["state"] == "succeeded"
    assert desk.log(job["id"], 1) == 'it\'s a "secret"\n'
    shown = json.dumps([answer, desk.show(job["id"]), desk.events(job["id"])])
    assert "it's a" not in shown
    (told,) = desk.server.get("/audit?act=secret.set")["lines"]
    assert told["actor"] == "admin"
    assert "it's a" not in json.dumps(told)


def test_danlu_submit_recognises_the_language_and_says_what_was_mapped(desk: Desk) -> None:
    desk.file(
        "train.sh",
        "#!/bin/bash\n#SBATCH -J train --mail-type=END --output=said.txt\necho in $PWD with $1\n",
    )
    done = desk.danlu("submit", "train.sh", "--retries", "2")
    assert done.returncode == 0, done.stderr
    assert "admin/train-" in done.stdout
    assert "--mail-type" in done.stderr
    ref = done.stdout.split()[0].replace("/", "~")
    ended = desk.wait(ref)
    assert ended["state"] == "succeeded", (ended, desk.log(ref))
    assert (desk.folder / "said.txt").read_text() == f"in {desk.folder} with\n"
    assert desk.show(ref)["spec"]["retries"] == 2


def test_a_mistake_is_told_with_file_line_and_key(desk: Desk) -> None:
    desk.file("bad.json", V1.replace('"retryCount": 0', '"retryCount": -7'))
    done = desk.danlu("submit", "bad.json")
    assert done.returncode == 2
    assert "bad.json:6: retryCount" in done.stderr
    assert "OpenPAI v1" in done.stderr


@pytest.mark.parametrize("offline", [True, False])
def test_convert_prints_the_native_job_and_notes_apart(desk: Desk, offline: bool) -> None:
    desk.file("job.json", V1)
    words = ["convert", "job.json", *(["--offline"] if offline else [])]
    done = desk.danlu(*words)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["image"] == "nothing:here"
    assert done.stderr.startswith("job.json:5: authFile")


def test_convert_needs_no_server(desk: Desk) -> None:
    desk.file("job.json", V1)
    nowhere = {"DANLU_SERVER": "http://127.0.0.1:9", "DANLU_LANG": "zh"}
    done = desk.danlu("convert", "job.json", env=nowhere)
    assert done.returncode == 0, done.stderr
    assert "管理员" in done.stderr


def test_what_convert_printed_can_be_submitted(desk: Desk) -> None:
    desk.file("s.sh", "#!/bin/bash\n#SBATCH --gres=gpu:1 -J again\nnvidia-smi || echo no driver\n")
    native = desk.danlu("convert", "--offline", "s.sh").stdout
    desk.file("native.yaml", native)
    done = desk.danlu("submit", "native.yaml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("offline", [True, False])
def test_a_script_without_a_name_is_called_as_its_file(desk: Desk, offline: bool) -> None:
    desk.file("fit 1.sh", "#!/bin/bash\n#SBATCH --time=5\ntrue\n")
    done = desk.danlu("convert", "fit 1.sh", *(["--offline"] if offline else []))
    assert yaml.safe_load(done.stdout)["name"] == "fit-1.sh"
    done = desk.danlu("submit", "--json", "fit 1.sh")
    assert json.loads(done.stdout)["jobs"][0]["name"] == "fit-1.sh"


def test_convert_ends_with_2_and_says_what_and_where(desk: Desk) -> None:
    desk.file("bad.sh", "#!/bin/bash\n#SBATCH --nodes=many\nhostname\n")
    done = desk.danlu("convert", "--offline", "bad.sh")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "bad.sh:2: --nodes: 'many'" in done.stderr


@pytest.mark.skipif(BARE, reason="needs namespaces")
def test_a_folder_of_a_catalogued_volume_is_mounted_where_the_file_says(desk: Desk) -> None:
    source = desk.server.data.parent / "slow"
    text = f"""description: look
entrypoint: cat /run/determined/workdir/mine/hello.txt
resources: {{slots: 0}}
bind_mounts:
  - host_path: {source}/alice
    container_path: /run/determined/workdir/mine
"""
    job = desk.send(text)["jobs"][0]
    ended = desk.wait(job["id"])
    assert ended["state"] == "succeeded", desk.log(job["id"])
    assert desk.log(job["id"]) == "from the slow volume\n"


def test_a_folder_of_the_machine_is_refused_with_the_reason(desk: Desk) -> None:
    text = """description: look
resources: {slots: 0}
bind_mounts:
  - host_path: /etc
    container_path: /mine
"""
    with pytest.raises(urllib.error.HTTPError) as caught:
        desk.send(text)
    (problem,) = json.loads(caught.value.read())["error"]["details"]
    assert problem["line"] == 4
    assert problem["key"] == "bind_mounts.0.host_path"
    assert "catalogued" in problem["message_en"]


def test_a_determined_shell_waits_and_can_be_entered(desk: Desk) -> None:
    answer = desk.send("description: box\nresources: {slots: 1, agent_label: 3090}\n")
    job = answer["jobs"][0]
    assert any("danlu exec" in note["en"] for note in answer["notes"])
    eventually(lambda: desk.show(job["id"])["state"] == "running")
    done = desk.danlu("exec", job["ref"], "--", "sh", "-c", "echo $DET_SLOT_IDS")
    assert done.stdout == "[0]\n"


def test_each_trial_of_a_grid_gets_values_of_its_own(desk: Desk) -> None:
    text = """name: grid
hyperparameters:
  lr: {type: categorical, vals: [0.1, 0.01]}
  net: {depth: {type: int, minval: 1, maxval: 2}}
searcher: {name: grid, metric: loss}
resources: {slots_per_trial: 0}
max_restarts: 0
entrypoint: echo "$HP_lr $HP_net_depth"; cat "$DET_HPARAMS_FILE"
"""
    jobs = desk.send(text)["jobs"]
    assert len(jobs) == 4
    found = []
    for job in jobs:
        assert desk.wait(job["id"])["state"] == "succeeded"
        first, second = desk.log(job["id"]).splitlines()
        values: dict[str, Any] = json.loads(second)
        assert first == f"{values['lr']} {values['net']['depth']}"
        found.append((values["lr"], values["net"]["depth"]))
    assert sorted(found) == [(0.01, 1), (0.01, 2), (0.1, 1), (0.1, 2)]


def test_a_job_that_is_always_run_again_runs_again_after_success(desk: Desk) -> None:
    mark = desk.folder / "runs"
    job = desk.server.submit(name="service", command=f"echo x >> {mark}", retries=-2)
    eventually(lambda: mark.exists() and mark.read_text().count("x") >= 2)
    assert desk.show(job["id"])["state"] not in ("succeeded", "failed")


def test_a_command_line_changes_a_determined_file(desk: Desk) -> None:
    desk.file("c.yaml", "description: c\nentrypoint: echo $CUDA_VISIBLE_DEVICES\n")
    done = desk.danlu("convert", "--offline", "--config", "resources.slots=2", "c.yaml")
    assert yaml.safe_load(done.stdout)["gpus"] == 2


def test_a_file_may_be_told_what_it_is(desk: Desk) -> None:
    desk.file("d.yaml", "description: d\nresources: {slots: 1}\n")
    done = desk.danlu("convert", "--offline", "--as", "notebook", "d.yaml")
    assert "notebook" in done.stderr
