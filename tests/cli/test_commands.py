"""The other commands, against a real server."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.server import DanluServer


def text(server: DanluServer, *words: str, **more: Any) -> str:
    done = server.cli(*words, **more)
    assert done.returncode == 0, done.stderr.decode()
    return str(done.stdout.decode())


def as_json(server: DanluServer, *words: str) -> Any:
    return json.loads(text(server, *words, "--json"))


@pytest.fixture(scope="module")
def ended(server: DanluServer) -> dict[str, Any]:
    """A job that printed two lines and failed."""
    job = server.submit(name="ended", command="echo first line; echo 第二行; exit 3", gpus=1)
    return server.wait(job)


def test_a_file_is_queued(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: from-file\ncommand: pwd\n")
    assert text(server, "submit", "job.yaml", cwd=tmp_path) == "admin/from-file-1  queued\n"
    assert text(server, "logs", "-f", "from-file-1").strip() == str(tmp_path)


def test_options_change_what_the_file_says(server: DanluServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("name: changed\ncommand: echo $LR\nenv:\n  LR: '1'\ngpus: 4 # many\n")
    text(server, "submit", str(file), "-g", "1", "-e", "LR=2🙂", "--held")
    job = as_json(server, "show", "changed-1")
    assert (job["gpus"], job["held"], job["spec"]["env"]) == (1, True, {"LR": "2🙂"})


def test_standard_input_several_jobs_and_json_are_taken(server: DanluServer) -> None:
    two = b"name: in-a\ncommand: 'true'\n---\nname: in-b\ncommand: 'true'\n"
    assert text(server, "submit", "-", input=two) == "admin/in-a-1  queued\nadmin/in-b-1  queued\n"
    job = json.dumps({"name": "in-json", "command": ["true"]}).encode()
    assert text(server, "submit", "-", input=job) == "admin/in-json-1  queued\n"


def test_an_array_is_told_in_one_line(server: DanluServer) -> None:
    said = text(server, "submit", "-n", "many", "--array", "0-9", "--", "true")
    assert said == "admin/many-1  queued, 10 jobs\n"
    assert server.cli("wait", "many-1").returncode == 0


def test_several_files_are_queued_all_or_not_at_all(server: DanluServer, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("name: half\ncommand: 'true'\n")
    bad.write_text("name: bad\n\ncomand: 'true'\n")
    done = server.cli("submit", str(good), str(bad))
    assert done.returncode == 2
    assert f"{bad}:3: " in done.stderr.decode()
    assert "command" in done.stderr.decode()
    assert server.get("/jobs?name=half&state=queued,starting,running,succeeded")["jobs"] == []


def test_a_mistake_made_by_an_option_is_not_blamed_on_the_file(
    server: DanluServer, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("name: fine\ncommand: 'true'\n")
    done = server.cli("submit", str(file), "-g", "lots")
    assert done.returncode == 2
    assert "lots" in done.stderr.decode()
    assert f"{file}:" not in done.stderr.decode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02",
        b"\xff\xfe",
        b"just words",
        b"- - - -",
        b"{",
        b"[" * 100_000,
        b"{" * 100_000,
        b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\ncommand: x\n",
        b"command: !!python/object/apply:os.system ['true']\n",
        b"command: [1, {a: b}]\ngpus: -1\nmemory: lots\nafter: 7\narray: x\nunknown: 1\n",
        b"name: " + b"x" * 1_000_000 + b"\ncommand: 'true'\n",
        b"x: y\n" * 500_000,
        b"command: 'true'\nenv: {A: \"\\ud800\"}\n",
        "name: 名字\ncommand: true\nretries: ∞\n".encode(),
        b"x" * (9 << 20),
        b"[1, 2]",
        b'[{"command": "true"}, 7]',
        b"--- 1\n--- 2\n",
    ],
)
def test_a_broken_file_is_told_about_clearly(
    server: DanluServer, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(content)
    done = server.cli("submit", str(file))
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("danlu: ")
    assert "Traceback" not in said
    assert len(said) < 20_000


@pytest.mark.parametrize("path", ["/no/such/file", "/", "/dev/zero"])
def test_what_is_no_file_is_told_about_clearly(server: DanluServer, path: str) -> None:
    done = server.cli("submit", path)
    assert done.returncode == 2
    assert path in done.stderr.decode()


def test_jobs_are_listed_and_filtered(server: DanluServer, ended: dict[str, Any]) -> None:
    table = text(server, "jobs", "--all", "--name", "ended")
    assert "admin/ended-1" in table
    assert "failed (3)" in table
    assert text(server, "jobs", "-a", "--name", "ended", "--quiet") == "admin/ended-1\n"
    assert as_json(server, "jobs", "-s", "failed", "-n", "ended")["jobs"][0]["exit_code"] == 3
    assert as_json(server, "jobs", "-s", "running", "-n", "ended")["jobs"] == []
    assert "--limit 2" in text(server, "jobs", "-a", "-l", "1")
    bad = server.cli("jobs", "-s", "sleeping")
    assert bad.returncode == 2
    assert b"queued, starting, running" in bad.stderr


def test_a_job_is_shown_explained_and_its_history_told(
    server: DanluServer, ended: dict[str, Any]
) -> None:
    shown = text(server, "show", "ended-1")
    for words in ("admin/ended-1", ended["id"], "status 3", "Exit code  3", "main"):
        assert words in shown
    assert "status 3" in text(server, "why", "ended-1")
    assert "Submitted by admin" in text(server, "events", "ended-1")
    assert as_json(server, "show", "admin/ended-1")["id"] == ended["id"]
    assert as_json(server, "why", ended["id"])["state"] == "failed"
    assert as_json(server, "events", "ended-1")["events"][0]["kind"]


def test_what_a_job_asked_for_is_shown(server: DanluServer) -> None:
    server.wait(server.submit(name="asked", command="true", gpus=1, count=2, cpus=3, memory="2G"))
    shown = text(server, "show", "asked-1")
    for words in ("Tasks      2", "CPUs       3 per task", "Memory     2G per task"):
        assert words in shown


def test_the_name_of_an_array_shows_its_first_job_and_says_so(server: DanluServer) -> None:
    text(server, "submit", "-n", "some", "--array", "3-4", "--", "echo", "hello")
    assert server.cli("wait", "some-1").returncode == 0
    for command in ("show", "why", "logs", "events"):
        whole = server.cli(command, "some-1")
        assert b"some-1 is an array; showing admin/some-1.3" in whole.stderr
        assert server.cli(command, "some-1.3").stderr == b""


def test_a_job_that_waits_is_explained_in_one_language(server: DanluServer) -> None:
    held = server.submit(name="waits", command="true", gpus=4, held=True)
    logs = server.cli("logs", "waits-1")
    assert logs.returncode == 0 and logs.stdout == b""
    assert b"is waiting in the queue and has no output yet; see danlu why" in logs.stderr
    server.cli("drain", "n1", "n2")
    try:
        english, chinese = (
            text(server, "why", "waits-1"),
            text(server, "--lang", "zh", "why", "waits-1"),
        )
        assert "drained" in english and "已停用" in chinese
        assert "drained" not in chinese
        assert "等待" in text(server, "--lang", "zh", "show", "waits-1")
        assert "ago" not in english
    finally:
        server.cli("resume", "n1", "n2")
        server.cli("stop", held["id"])


def test_the_reason_of_a_drained_node_is_shown_wherever_the_node_is(server: DanluServer) -> None:
    job = server.submit(name="needs-n2", command="true", nodes={"only": ["n2"]}, held=True)
    done = text(server, "drain", "n2", "--reason", "new  fan\non Friday")
    assert "new fan on Friday" in done
    try:
        server.cli("release", "needs-n2-1")
        for words in (("nodes",), ("gpus",), ("top",), ("why", "needs-n2-1"), ("audit",)):
            assert "new fan on Friday" in text(server, *words), words
            assert "new fan on Friday" in text(server, "--lang", "zh", *words), words
        assert text(server, "resume", "n2") == "n2 resumed\n"
        assert "fan" not in text(server, "nodes")
    finally:
        server.cli("resume", "n2")
        server.wait(job)


def test_what_would_start_now_is_told_once(server: DanluServer) -> None:
    said = text(server, "submit", "--dry-run", "-n", "soon", "-g", "1", "--", "true")
    assert said.count("Starts now") == 1
    assert "Expected" not in said and "ago" not in said


def test_everything_is_said_in_chinese_when_asked(
    server: DanluServer, ended: dict[str, Any]
) -> None:
    env = {"DANLU_LANG": "", "LC_ALL": "", "LANG": "zh_CN.UTF-8"}
    assert "失败" in text(server, "jobs", "-a", "-n", "ended", env=env)
    assert "状态" in text(server, "show", "ended-1", env=env)
    assert "没有任务" in server.cli("show", "nothing-9", "--lang", "zh").stderr.decode()
    assert "用法" in text(server, "run", "--help", "--lang", "zh")


def test_logs_are_read_searched_and_downloaded(
    server: DanluServer, ended: dict[str, Any], tmp_path: Path
) -> None:
    whole = "first line\n第二行\n"
    assert text(server, "logs", "ended-1") == whole
    assert text(server, "logs", "ended-1", "--tail", "1") == "第二行\n"
    assert text(server, "logs", "ended-1", "--offset", "6") == "line\n第二行\n"
    assert text(server, "logs", "ended-1", "--search", "二") == "2: 第二行\n"
    assert text(server, "logs", "ended-1", "-s", "FIRST", "-i") == "1: first line\n"
    assert server.cli("logs", "ended-1", "-s", "absent").returncode == 1
    target = tmp_path / "log"
    text(server, "logs", "ended-1", "-o", str(target))
    assert target.read_text() == whole
    assert os.listdir(tmp_path) == ["log"]
    refused = server.cli("logs", "ended-1", "-o", str(tmp_path / "no" / "log"))
    assert refused.returncode == 1
    assert server.cli("logs", "ended-1", "--task", "9").returncode == 3
    assert server.cli("logs", "ended-1", "--json").returncode == 2


def test_jobs_are_stopped_and_one_unknown_name_does_not_spare_the_others(
    server: DanluServer,
) -> None:
    for _ in range(2):
        server.submit(name="sleeper", command=["sleep", "600"])
        server.goes_on("sleeper")
    done = server.cli("stop", "--now", "sleeper-1", "nothing-1", "sleeper-2")
    assert done.returncode == 3
    assert b"nothing-1" in done.stderr
    assert server.cli("wait", "sleeper-1", "sleeper-2").returncode == 137
    assert {server.get(f"/jobs/sleeper-{n}")["state"] for n in (1, 2)} == {"stopped"}


def test_waiting_ends_with_the_worst_exit_code_or_when_time_is_up(
    server: DanluServer, ended: dict[str, Any]
) -> None:
    server.submit(name="fine", command=["true"])
    assert server.cli("wait", "fine-1").returncode == 0
    assert server.cli("wait", "fine-1", "ended-1").returncode == 3
    server.submit(name="later", command=["true"], held=True)
    done = server.cli("wait", "--timeout", "0.2", "later-1")
    assert b"queued" in done.stdout
    assert done.returncode == 125


def test_a_queued_job_is_held_and_released(server: DanluServer) -> None:
    server.submit(name="keep", command=["true"], held=True)
    assert "held" in text(server, "hold", "keep-1")
    text(server, "release", "keep-1")
    assert server.cli("wait", "keep-1").returncode == 0
    over = server.cli("hold", "keep-1")
    assert over.returncode == 5


def test_a_job_is_run_again_and_cloned_with_changes(server: DanluServer, tmp_path: Path) -> None:
    server.wait(server.submit(name="base", command=["sh", "-c", "echo $LR"], env={"LR": "1"}))
    assert text(server, "rerun", "base-1") == "admin/base-2  queued\n"
    assert text(server, "logs", "-f", "base-2") == "1\n"
    native = yaml.safe_load(text(server, "clone", "base-1"))
    assert native["env"] == {"LR": "1"}
    assert as_json(server, "clone", "base-1") == native
    assert text(server, "clone", "base-1", "--set", "env.LR=2") == "admin/base-3  queued\n"
    assert text(server, "logs", "-f", "base-3") == "2\n"
    target = tmp_path / "job.yaml"
    text(server, "clone", "base-1", "-o", str(target))
    assert text(server, "submit", str(target)) == "admin/base-4  queued\n"


def test_a_clone_with_more_gpus_keeps_their_model_and_gets_what_goes_with_them(
    server: DanluServer,
) -> None:
    def cloned(ref: str, *settings: str) -> dict[str, Any]:
        words = [word for setting in settings for word in ("--set", setting)]
        made = as_json(server, "clone", ref, "--set", "held=true", *words)["jobs"][0]
        found: dict[str, Any] = server.get(f"/jobs/{made['id']}")["spec"]
        return {key: found.get(key) for key in ("gpus", "cpus", "memory", "shm")}

    def asked(**job: Any) -> dict[str, Any]:
        made = server.submit(command="true", held=True, **job)
        found: dict[str, Any] = server.get(f"/jobs/{made['id']}")["spec"]
        return {key: found.get(key) for key in ("gpus", "cpus", "memory", "shm")}

    one = {"count": 1, "model": "A100"}
    server.submit(name="plain", command="true", gpus=one, held=True)
    assert cloned("plain-1", "gpus=4") == asked(gpus={"count": 4, "model": "A100"})
    assert cloned("plain-1", "gpus=0.5") == asked(gpus={"fraction": 0.5, "model": "A100"})
    assert cloned("plain-1", "gpus=2:RTX3090") == asked(gpus="2:RTX3090")
    assert cloned("plain-1", "cpus=2") == asked(gpus=one, cpus=2)
    assert cloned("plain-1", "memory=4G") == asked(gpus=one, memory="4G")
    assert cloned("plain-1", "env.LR=1") == asked(gpus=one)
    server.submit(name="own", command="true", gpus=one, cpus=3, memory="7G", shm="1G", held=True)
    own = {"cpus": 3, "memory": "7G", "shm": "1G"}
    assert cloned("own-1", "gpus=4") == asked(gpus={"count": 4, "model": "A100"}, **own)
    worker = {"command": "true", "gpus": one, "count": 2}
    server.submit(name="gang", roles={"worker": worker, "ps": {"command": "true"}}, held=True)
    made = as_json(server, "clone", "gang-1", "--set", "held=true", "--set", "roles.worker.gpus=2")
    roles = server.get(f"/jobs/{made['jobs'][0]['id']}")["spec"]["roles"]
    assert roles["worker"]["gpus"] == {"count": 2, "model": "A100"}
    assert roles["worker"]["cpus"] == asked(gpus={"count": 2, "model": "A100"})["cpus"]


def test_a_clone_is_edited_before_it_is_submitted(server: DanluServer, tmp_path: Path) -> None:
    server.submit(name="edit", command=["true"])
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/^name: edit/name: edited/" "$1"\n')
    editor.chmod(0o755)
    said = text(server, "clone", "edit-1", "--edit", env={"EDITOR": str(editor), "VISUAL": ""})
    assert said == "admin/edited-1  queued\n"
    unchanged = server.cli("clone", "edit-1", "--edit", env={"EDITOR": "true", "VISUAL": ""})
    assert b"No changes" in unchanged.stderr
    editor.write_text('#!/bin/sh\necho "gpus: lots" >> "$1"\n')
    broken = server.cli("clone", "edit-1", "--edit", env={"EDITOR": str(editor), "VISUAL": ""})
    assert broken.returncode == 2
    kept = broken.stderr.decode().rsplit(None, 1)[-1]
    assert "gpus: lots" in Path(kept).read_text()
    Path(kept).unlink()


def test_a_secret_reaches_the_job_that_names_it_and_never_comes_back(server: DanluServer) -> None:
    assert "saved" in text(server, "secret", "set", "wandb", input=b"s3cret\n")
    assert text(server, "secret", "list") == "wandb\n"
    done = server.cli("run", "--secret", "KEY=wandb", "--", "sh", "-c", "test $KEY = s3cret")
    assert done.returncode == 0
    text(server, "secret", "rm", "wandb")
    assert as_json(server, "secret", "list") == {"names": []}
    assert server.cli("secret", "rm", "wandb").returncode == 3
    assert server.cli("secret", "set", "wandb", input=b"").returncode == 2
    assert server.cli("secret", "show", "wandb").returncode == 2


def test_nodes_and_gpus_are_listed(server: DanluServer) -> None:
    nodes = text(server, "nodes")
    assert "n1" in nodes
    assert "4 x RTX3090" in nodes
    assert "A100: " in text(server, "gpus")
    assert {gpu["model"] for gpu in as_json(server, "gpus")["gpus"]} == {"RTX3090", "A100"}
    assert len(as_json(server, "nodes")["nodes"]) == 2


def test_who_and_which_version(server: DanluServer) -> None:
    assert text(server, "whoami").startswith("admin (admin) at http://")
    assert as_json(server, "whoami")["user"] == "admin"
    versions = as_json(server, "version")
    assert versions["client"] == versions["server"]
    assert text(server, "--version").startswith("danlu ")


def test_logging_in_keeps_a_token_for_later(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data").start()
    try:
        shown = server.tail()
        password = shown.split("one-time password:")[1].split()[0]
        bare = {"DANLU_SERVER": "", "DANLU_TOKEN": ""}
        words = ("login", server.url, "--user", "admin", "--password-stdin")
        wrong = server.cli(*words, input=b"wrong\n", env=bare)
        assert wrong.returncode == 4
        done = server.cli(*words, "--name", "lab", input=password.encode() + b"\n", env=bare)
        assert done.returncode == 0, done.stderr
        assert server.cli("whoami", env=bare).stdout.startswith(b"admin")
        kept = Path(server.env["XDG_CONFIG_HOME"]) / "danlu" / "context.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert server.cli("whoami", "--token", "nonsense", env=bare).returncode == 4
        assert server.cli("whoami", "--context", "other", env=bare).returncode == 1
    finally:
        server.cleanup()


def test_the_server_is_stopped_and_what_goes_on_is_told(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data").start()
    try:
        server.submit(name="lasting", command=["sleep", "600"])
        while server.get("/jobs/lasting-1")["state"] != "running":
            pass
        said = text(server, "down")
        assert "admin/lasting-1" in said
        assert server.process is not None
        assert server.process.wait(180) == 0
        away = server.cli("jobs")
        assert away.returncode == 1
        assert b"danlu up" in away.stderr
    finally:
        server.cleanup()


def test_a_command_in_a_job_that_has_ended_is_refused_in_the_readers_language(
    server: DanluServer, ended: dict[str, Any]
) -> None:
    for language, said in (("en", "It is not running"), ("zh", "它没有在运行")):
        done = server.cli("--lang", language, "exec", ended["ref"], "--", "true")
        assert done.returncode == 125
        assert said in done.stderr.decode()
