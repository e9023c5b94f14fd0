"""`dlc` as its users and their scripts know it, also as one file on a laptop without Danlu."""

from __future__ import annotations

import json
import re
import sys
import urllib.request

import pytest

from tests.dialects.harness import ShimHarness, eventually

PARAMS = """name=short_task
kind=PyTorchJob
worker_count=2
worker_cpu=1
worker_gpu=1
worker_memory=1
worker_shared_memory=1
command=echo "hello world" from $RANK; while [ ! -e {folder}/go ]; do sleep 0.1; done
priority=1
workspace_id=default
interactive=false
"""

# Reads what dlc prints, as scripts of the field do.
DRIVER = r"""
import json, re, subprocess, sys, time

def dlc(*words):
    return subprocess.run(["dlc", *words], check=True, capture_output=True, text=True).stdout

said = dlc("create", "job", "--params_file", "job.params")
job = re.search(r"\|\s+(dlc[0-9a-z]+)\s+\|", said).group(1)
assert re.search(r"\sdlc.*? ", said)
json.loads(said[: said.index("+-")])

def status():
    return json.loads(dlc("get", "job", job))["Status"]

while status() != "Running":
    time.sleep(0.1)
while "hello" not in dlc("logs", job, f"{job}-worker-0"):
    time.sleep(0.1)
print(dlc("logs", job, f"{job}-worker-0"), end="")
dlc("stop", "job", job, "-f")
while status() not in ("Stopped", "Succeeded", "Failed"):
    time.sleep(0.1)
print(status())
"""

# Images need a container runtime; these tests are about the command.
WITHOUT_IMAGE = """import json
import danlu.sdk.client as sdk
ask = sdk.Client.submit_text
def submit_text(self, body, kind, **query):
    keys = {**json.loads(query.pop("keys")), "image": None}
    body = body.replace(b"kind=", b"worker_image=x\\nkind=")
    return ask(self, body, kind, keys=json.dumps(keys), **query)
sdk.Client.submit_text = submit_text
start("dlc")
"""


@pytest.fixture
def plain(shim_harness: ShimHarness) -> ShimHarness:
    shim_harness.file("job.params", PARAMS.format(folder=shim_harness.folder))
    path = shim_harness.bin / "dlc"
    path.write_text(path.read_text().replace('start("dlc")\n', WITHOUT_IMAGE))
    return shim_harness


def test_a_script_that_reads_what_dlc_prints_works_unchanged(plain: ShimHarness) -> None:
    plain.file("drive.py", DRIVER)
    done = plain.run(sys.executable, "drive.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["hello world from 1", "Stopped"]


def test_get_job_is_pure_json_with_the_known_keys(plain: ShimHarness) -> None:
    said = plain.run("dlc", "create", "job", "--params_file", "job.params").stdout
    found = re.search(r"\|\s+(dlc[0-9a-z]+)\s+\|", said)
    assert found is not None
    ident = found[1]
    job = json.loads(plain.run("dlc", "get", "job", ident).stdout)
    expected = """JobId DisplayName JobType Status ReasonCode ReasonMessage Priority ResourceId
        WorkspaceId WorkspaceName UserId UserCommand Duration GmtCreateTime GmtSubmittedTime
        GmtRunningTime GmtFinishTime JobSpecs Pods RequestId"""
    assert set(expected.split()) <= job.keys()
    assert job["DisplayName"] == "short_task"
    assert [pod["PodId"] for pod in job["Pods"]] == [f"{ident}-master-0", f"{ident}-worker-0"]
    assert job["JobSpecs"][0]["ResourceConfig"]["Memory"] == "1Gi"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", job["GmtCreateTime"])
    listed = plain.run("dlc", "get", "job", "--display_name", "short_t", "--page_size", "1").stdout
    assert ident in listed
    assert "dlc" not in plain.run("dlc", "get", "job", "--display_name_regex", "^no$").stdout


def test_a_silent_pod_says_so(shim_harness: ShimHarness) -> None:
    job = shim_harness.server.submit(command="sleep 100", name="silent")
    eventually(lambda: shim_harness.show(job["id"])["state"] == "running")
    ident = "dlc" + job["id"].replace("-", "")
    assert shim_harness.run("dlc", "logs", ident).stdout == "[WARN] No logs found for the pod\n"
    wrong = shim_harness.run("dlc", "logs", ident, "nothing-0")
    assert wrong.returncode == 1
    assert f"{ident}-master-0" in wrong.stderr


def test_a_mistake_in_a_params_file_is_told_with_its_line(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "job.params", "name=x\nworkers=1\nworker_image=x\nwoker_gpu=1\ncommand=true\n"
    )
    done = shim_harness.run("dlc", "submit", "pytorchjob", "--job_file", "job.params")
    assert done.returncode == 1
    assert "line 4" in done.stderr
    assert "worker_gpu" in done.stderr


def test_the_file_beats_the_flags_and_a_command_may_have_many_lines(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file("job.params", "worker_image=of:file\nname=x\n")
    words = ["--workers=1", "--worker_image=of:flag", "--worker_cpu=1", "--worker_memory", "1"]
    done = shim_harness.run(
        *("dlc", "submit", "pytorchjob", "--job_file", "job.params"),
        *(*words, "--command=echo one\necho two"),
    )
    # Without a container runtime it goes no further than the image, which is then named.
    assert "of:file" in done.stderr
    assert "of:flag" not in done.stderr


def test_one_downloaded_file_is_enough_on_a_laptop_without_danlu(shim_harness: ShimHarness) -> None:
    url = f"{shim_harness.server.url}/light/binary/linux/amd64/dlc"
    with urllib.request.urlopen(url, timeout=180) as answer:
        data = answer.read()
    path = shim_harness.folder / "dlc"
    path.write_bytes(data)
    path.chmod(0o755)
    home = str(shim_harness.folder)
    bare = {"PATH": "/usr/bin:/bin", "HOME": home, "DANLU_SERVER": "", "DANLU_TOKEN": ""}
    host = shim_harness.server.url.removeprefix("http://")
    words = ["--access_id", "admin", "--access_key", shim_harness.server.token, "--endpoint", host]
    done = shim_harness.run(str(path), "config", *words, "--region", "cn-x", env=bare)
    assert done.returncode == 0, done.stderr
    assert (shim_harness.folder / ".dlc" / "config").stat().st_mode & 0o77 == 0
    shown = shim_harness.run(str(path), "get", "workspace", env=bare)
    assert "| default " in shown.stdout, shown.stderr


def test_a_wrong_password_is_told(shim_harness: ShimHarness) -> None:
    host = shim_harness.server.url.removeprefix("http://")
    words = ["--username", "admin", "--password", "not this one", "--endpoint", host]
    done = shim_harness.run("dlc", "config", *words)
    assert done.returncode == 1
    assert "cannot log in" in done.stderr
