"""Files of every language through the API and the command line, with their notes everywhere."""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dialects.conftest import BARE
from tests.dialects.harness import ShimHarness, eventually

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


def test_a_pasted_json_job_runs_and_its_notes_are_everywhere(shim_harness: ShimHarness) -> None:
    answer = shim_harness.send(V1, keys={"image": None})
    (note,) = answer["notes"]
    assert note["line"] == 5
    assert note["key"] == "authFile"
    job = answer["jobs"][0]
    assert shim_harness.wait(job["id"])["state"] == "succeeded"
    assert shim_harness.log(job["id"]) == "admin~hello-\n0\n"
    (event,) = [each for each in shim_harness.events(job["id"]) if each["kind"] == "converted"]
    assert event["data"]["dialect"] == "openpai-v1"
    assert "authFile" in event["en"]
    assert "authFile" in event["zh"]


def test_a_batch_script_is_called_by_its_file_whichever_way_it_is_sent(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file("big train.sh", "#!/bin/sh\necho $SLURM_JOB_NAME\n")
    shim_harness.file("named.sh", "#!/bin/sh\n#SBATCH -J own\ntrue\n")

    def name(*words: str) -> str:
        return str(
            json.loads(shim_harness.danlu("--json", "submit", *words).stdout)["jobs"][0]["name"]
        )

    by_danlu = name("big train.sh")
    by_sbatch = shim_harness.run("sbatch", "--parsable", "big train.sh").stdout.strip()
    assert by_danlu == shim_harness.show(by_sbatch)["name"] == "big-train.sh"
    for words in (("convert",), ("convert", "--offline")):
        assert "name: big-train.sh\n" in shim_harness.danlu(*words, "big train.sh").stdout
    assert name("named.sh") == "own"
    assert name("-n", "mine", "named.sh") == name("-n", "mine", "big train.sh") == "mine"


def test_a_role_that_succeeded_ends_the_job_and_its_secret_is_nowhere_to_be_read(
    shim_harness: ShimHarness,
) -> None:
    answer = shim_harness.send(V2, keys={"image": None})
    job = answer["jobs"][0]
    assert shim_harness.wait(job["id"])["state"] == "succeeded"
    value = 'it\'s a "secret"'
    assert shim_harness.log(job["id"], 1) == "*" * len(value) + "\n"
    raw = shim_harness.server.bytes_of(f"/jobs/{job['id']}/logs?task=1&raw=true")
    assert raw.decode() == f"{value}\n"
    shown = json.dumps([answer, shim_harness.show(job["id"]), shim_harness.events(job["id"])])
    assert "it's a" not in shown
    (told,) = shim_harness.server.get("/audit?act=secret.set")["lines"]
    assert told["actor"] == "admin"
    assert "it's a" not in json.dumps(told)


def test_danlu_submit_recognises_the_language_and_says_what_was_mapped(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file(
        "train.sh",
        "#!/bin/bash\n#SBATCH -J train --mail-type=END --output=said.txt\necho in $PWD with $1\n",
    )
    done = shim_harness.danlu("submit", "train.sh", "--retries", "2")
    assert done.returncode == 0, done.stderr
    assert "admin/train-" in done.stdout
    assert "--mail-type" in done.stderr
    ref = done.stdout.split()[0].replace("/", "~")
    ended = shim_harness.wait(ref)
    assert ended["state"] == "succeeded", (ended, shim_harness.log(ref))
    assert (shim_harness.folder / "said.txt").read_text() == f"in {shim_harness.folder} with\n"
    assert shim_harness.show(ref)["spec"]["retries"] == 2


def test_a_mistake_is_told_with_file_line_and_key(shim_harness: ShimHarness) -> None:
    shim_harness.file("bad.json", V1.replace('"retryCount": 0', '"retryCount": -7'))
    done = shim_harness.danlu("submit", "bad.json")
    assert done.returncode == 2
    assert "bad.json:6: retryCount" in done.stderr
    assert "OpenPAI v1" in done.stderr


@pytest.mark.parametrize("offline", [True, False])
def test_convert_prints_the_native_job_and_notes_apart(
    shim_harness: ShimHarness, offline: bool
) -> None:
    shim_harness.file("job.json", V1)
    words = ["convert", "job.json", *(["--offline"] if offline else [])]
    done = shim_harness.danlu(*words)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["image"] == "nothing:here"
    assert done.stderr.startswith("job.json:5: authFile")


def test_convert_needs_no_server(shim_harness: ShimHarness) -> None:
    shim_harness.file("job.json", V1)
    nowhere = {"DANLU_SERVER": "http://127.0.0.1:9", "DANLU_LANG": "zh"}
    done = shim_harness.danlu("convert", "job.json", env=nowhere)
    assert done.returncode == 0, done.stderr
    assert "管理员" in done.stderr


def test_what_convert_printed_can_be_submitted(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "s.sh", "#!/bin/bash\n#SBATCH --gres=gpu:1 -J again\nnvidia-smi || echo no driver\n"
    )
    native = shim_harness.danlu("convert", "--offline", "s.sh").stdout
    shim_harness.file("native.yaml", native)
    done = shim_harness.danlu("submit", "native.yaml")
    assert done.returncode == 0, done.stderr


def test_convert_without_a_server_writes_what_the_file_asks_for(shim_harness: ShimHarness) -> None:
    shim_harness.file("few.sh", "#!/bin/bash\n#SBATCH --gres=gpu:1\ntrue\n")
    native = yaml.safe_load(shim_harness.danlu("convert", "--offline", "few.sh").stdout)
    assert not {"cpus", "memory", "shm"} & native.keys()
    asked = "#!/bin/bash\n#SBATCH --gres=gpu:1 --cpus-per-task=8 --mem=80G\ntrue\n"
    shim_harness.file("all.sh", asked)
    native = yaml.safe_load(shim_harness.danlu("convert", "--offline", "all.sh").stdout)
    assert (native["cpus"], native["memory"]) == (8, "80G"), "also where they equal the defaults"


def test_a_script_has_a_temporary_folder_of_its_own(shim_harness: ShimHarness) -> None:
    script = "#!/bin/bash\ntouch $SLURM_TMPDIR/file; ls $SLURM_TMPDIR; echo $SLURM_TMPDIR\n"
    shim_harness.file("tmp.sh", script)
    number = shim_harness.run("sbatch", "--parsable", "tmp.sh").stdout.strip()
    assert shim_harness.wait(number)["state"] == "succeeded"
    name, folder = shim_harness.log(number).split()
    assert name == "file"
    assert folder.startswith("/tmp/slurm.")
    assert not Path(folder).exists()
    shim_harness.file(
        "py.sh", "#!/usr/bin/env python3\nimport os; print(os.environ['SLURM_TMPDIR'])\n"
    )
    number = shim_harness.run("sbatch", "--parsable", "py.sh").stdout.strip()
    shim_harness.wait(number)
    assert shim_harness.log(number) == "/tmp\n"


@pytest.mark.parametrize("offline", [True, False])
def test_a_script_without_a_name_is_called_as_its_file(
    shim_harness: ShimHarness, offline: bool
) -> None:
    shim_harness.file("fit 1.sh", "#!/bin/bash\n#SBATCH --time=5\ntrue\n")
    done = shim_harness.danlu("convert", "fit 1.sh", *(["--offline"] if offline else []))
    assert yaml.safe_load(done.stdout)["name"] == "fit-1.sh"
    done = shim_harness.danlu("submit", "--json", "fit 1.sh")
    assert json.loads(done.stdout)["jobs"][0]["name"] == "fit-1.sh"


def test_convert_ends_with_2_and_says_what_and_where(shim_harness: ShimHarness) -> None:
    shim_harness.file("bad.sh", "#!/bin/bash\n#SBATCH --nodes=many\nhostname\n")
    done = shim_harness.danlu("convert", "--offline", "bad.sh")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "bad.sh:2: --nodes: 'many'" in done.stderr


@pytest.mark.skipif(BARE, reason="needs namespaces")
def test_a_folder_of_a_catalogued_volume_is_mounted_where_the_file_says(
    shim_harness: ShimHarness,
) -> None:
    source = shim_harness.server.data.parent / "slow"
    text = f"""description: look
entrypoint: cat /run/determined/workdir/mine/hello.txt
resources: {{slots: 0}}
bind_mounts:
  - host_path: {source}/alice
    container_path: /run/determined/workdir/mine
"""
    job = shim_harness.send(text)["jobs"][0]
    ended = shim_harness.wait(job["id"])
    assert ended["state"] == "succeeded", shim_harness.log(job["id"])
    assert shim_harness.log(job["id"]) == "from the slow volume\n"


def test_a_folder_of_the_machine_is_refused_with_the_reason(shim_harness: ShimHarness) -> None:
    text = """description: look
resources: {slots: 0}
bind_mounts:
  - host_path: /etc
    container_path: /mine
"""
    with pytest.raises(urllib.error.HTTPError) as caught:
        shim_harness.send(text)
    (problem,) = json.loads(caught.value.read())["error"]["details"]
    assert problem["line"] == 4
    assert problem["key"] == "bind_mounts.0.host_path"
    assert "volume can be mounted" in problem["message_en"]


def test_a_determined_shell_waits_and_can_be_entered(shim_harness: ShimHarness) -> None:
    answer = shim_harness.send("description: box\nresources: {slots: 1, agent_label: 3090}\n")
    job = answer["jobs"][0]
    assert any("danlu exec" in note["en"] for note in answer["notes"])
    eventually(lambda: shim_harness.show(job["id"])["state"] == "running")
    done = shim_harness.danlu("exec", job["ref"], "--", "sh", "-c", "echo $DET_SLOT_IDS")
    assert done.stdout == "[0]\n"


def test_each_trial_of_a_grid_gets_values_of_its_own(shim_harness: ShimHarness) -> None:
    text = """name: grid
hyperparameters:
  lr: {type: categorical, vals: [0.1, 0.01]}
  net: {depth: {type: int, minval: 1, maxval: 2}}
searcher: {name: grid, metric: loss}
resources: {slots_per_trial: 0}
max_restarts: 0
entrypoint: echo "$HP_lr $HP_net_depth"; cat "$DET_HPARAMS_FILE"; echo "$DET_HPARAMS_FILE"
"""
    jobs = shim_harness.send(text)["jobs"]
    assert len(jobs) == 4
    found = []
    for job in jobs:
        assert shim_harness.wait(job["id"])["state"] == "succeeded"
        first, second, file = shim_harness.log(job["id"]).splitlines()
        assert not Path(file).exists()
        values: dict[str, Any] = json.loads(second)
        assert first == f"{values['lr']} {values['net']['depth']}"
        found.append((values["lr"], values["net"]["depth"]))
    assert sorted(found) == [(0.01, 1), (0.01, 2), (0.1, 1), (0.1, 2)]


def test_a_job_that_is_always_run_again_runs_again_after_success(shim_harness: ShimHarness) -> None:
    mark = shim_harness.folder / "runs"
    job = shim_harness.server.submit(name="service", command=f"echo x >> {mark}", retries=-2)
    eventually(lambda: mark.exists() and mark.read_text().count("x") >= 2)
    assert shim_harness.show(job["id"])["state"] not in ("succeeded", "failed")


def test_a_command_line_changes_a_determined_file(shim_harness: ShimHarness) -> None:
    shim_harness.file("c.yaml", "description: c\nentrypoint: echo $CUDA_VISIBLE_DEVICES\n")
    done = shim_harness.danlu("convert", "--offline", "--config", "resources.slots=2", "c.yaml")
    assert yaml.safe_load(done.stdout)["gpus"] == 2


def test_a_file_may_be_told_what_it_is(shim_harness: ShimHarness) -> None:
    shim_harness.file("d.yaml", "description: d\nresources: {slots: 1}\n")
    done = shim_harness.danlu("convert", "--offline", "--as", "notebook", "d.yaml")
    assert "notebook" in done.stderr
