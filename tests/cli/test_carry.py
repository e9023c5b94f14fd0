"""`--carry`: a folder of the laptop goes along with the job."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path

import pytest

from tests.support.member import Person
from tests.support.server import DanluServer


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "train.py").write_text("import helper; print(helper.word)\n")
    (folder / "helper.py").write_text("word = 'first'\n")
    (folder / "run.sh").write_text("#!/bin/sh\npwd; ls -a\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "sub" / "link").symlink_to("../helper.py")
    (folder / "notes.tmp").write_text("not for the job")
    (folder / ".gitignore").write_text("*.tmp\n")
    return folder


def run(server: DanluServer, folder: Path, *words: str, code: int = 0) -> str:
    done = server.cli(*words, cwd=folder)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout.decode()


def test_a_job_starts_in_the_folder_as_it_was(server: DanluServer, project: Path) -> None:
    out = run(server, project, "run", "--quiet", "--carry", "--", "sh", "-c", "./run.sh")
    place, *names = out.split("\n")[:-1]
    assert "/carried/run-" in place
    assert set(names) == {
        ".",
        "..",
        ".gitignore",
        "empty",
        "helper.py",
        "run.sh",
        "sub",
        "train.py",
    }
    assert (
        run(server, project, "run", "--quiet", "--carry", ".", "python3", "train.py") == "first\n"
    )
    read = run(server, project / "sub", "run", "--quiet", "--carry", "..", "--", "cat", "link")
    assert read == "word = 'first'\n"


def test_running_again_uses_the_folder_of_the_first_time(
    server: DanluServer, project: Path
) -> None:
    words = ("--carry", "--json", "-n", "again", "--", "python3", "train.py")
    first = json.loads(run(server, project, "run", *words))
    (project / "helper.py").write_text("word = 'second'\n")
    second = json.loads(run(server, project, "run", *words))
    ref = json.loads(run(server, project, "rerun", first["ref"], "--json"))["jobs"][0]["ref"]
    run(server, project, "wait", ref)
    clone = run(server, project, "clone", first["ref"], "--set", "name=copy", "--json")
    copy = json.loads(clone)["jobs"][0]["ref"]
    run(server, project, "wait", copy)
    logs = [run(server, project, "logs", each) for each in (first["ref"], second["ref"], ref, copy)]
    assert logs == ["first\n", "second\n", "first\n", "first\n"]


def test_several_tasks_share_one_folder_and_jobs_do_not(server: DanluServer, project: Path) -> None:
    write = "echo $DANLU_TASK_INDEX > out-$DANLU_TASK_INDEX; sleep 0.2; ls | grep -c out-"
    words = ("--quiet", "--count", "2", "--carry", "--", "sh", "-c", write)
    assert "2" in run(server, project, "run", *words).split()
    assert (
        run(server, project, "run", "--quiet", "--carry", "--", "sh", "-c", "ls | grep -c out-; :")
        == "0\n"
    )


def test_a_job_file_brings_a_folder_too(server: DanluServer, project: Path) -> None:
    (project / "job.yaml").write_text("command: python3 train.py\nname: filed\n")
    ref = json.loads(run(server, project, "submit", "--carry", ".", "job.yaml", "--json"))
    ref = ref["jobs"][0]["ref"]
    run(server, project, "wait", ref)
    assert run(server, project, "logs", ref) == "first\n"


def test_odd_names_and_a_large_file_arrive_byte_for_byte(
    server: DanluServer, project: Path
) -> None:
    odd = os.fsdecode(b"caf\xe9 \n\xe4\xb8\xad")
    (project / odd).write_bytes(b"odd")
    data = random.Random(1).randbytes(3 << 20) * 30  # more than one request's worth
    (project / "large.bin").write_bytes(data)
    count = 'import os,hashlib; print(hashlib.sha256(open("large.bin","rb").read()).hexdigest())'
    show = f"{count}; print(os.fsencode(sorted(os.listdir())[1]))"
    words = ("run", "--quiet", "--carry", "--", "python3", "-c", show)
    digest, name, *_ = run(server, project, *words).split("\n")
    assert digest == hashlib.sha256(data).hexdigest()
    assert name == repr(
        os.fsencode(sorted(p.name for p in project.iterdir() if p.name != "notes.tmp")[1])
    )


def test_what_cannot_be_brought_along_is_said(
    server: DanluServer, project: Path, tmp_path: Path
) -> None:
    done = server.cli("run", "--carry", "/nowhere/at/all", "--", "true")
    assert done.returncode == 2
    assert b"/nowhere/at/all" in done.stderr
    assert b"--carry takes a folder" in done.stderr
    (project / "out").symlink_to("/etc/passwd")
    done = server.cli("run", "--quiet", "--carry", "--", "true", cwd=project)
    assert done.returncode == 0
    assert b"not uploaded" in done.stderr
    assert b"out" in done.stderr
    os.truncate(os.open(project / "weights.bin", os.O_CREAT | os.O_WRONLY), 6 << 30)  # sparse
    done = server.cli("run", "--carry", "--", "true", cwd=project)
    assert done.returncode == 2
    assert b"weights.bin" in done.stderr
    assert b".danluignore" in done.stderr
    (project / ".danluignore").write_text("*.bin\n")
    run(server, project, "run", "--quiet", "--carry", "--", "true")


def test_an_id_made_up_or_another_persons_is_refused(server: DanluServer, project: Path) -> None:
    done = server.cli("run", "--set", f"bundle={'0' * 64}", "--", "true", cwd=project)
    assert done.returncode == 2
    assert b"--carry" in done.stderr
    (project / "secret.txt").write_text("mine")
    job = json.loads(run(server, project, "run", "--json", "--carry", "--", "true"))
    id = server.get(f"/jobs/{job['id']}")["spec"]["bundle"]
    other = Person(server)
    stolen = other.cli("run", "-w", "-", "--set", f"bundle={id}", "--", "cat", "secret.txt")
    assert stolen.returncode == 2
    assert stolen.stdout == b""
    assert other.cli("bundle", "remove", id).returncode == 2
    assert b"not a folder you brought along" in stolen.stderr


def test_folders_are_listed_and_removed(server: DanluServer, project: Path) -> None:
    (project / "unique").write_text("listed")
    run(server, project, "run", "--quiet", "--carry", "--", "true")
    found = json.loads(run(server, project, "bundle", "list", "--json"))["bundles"]
    newest = found[-1]["id"]
    assert newest[:12] in run(server, project, "bundle")
    assert "removed" in run(server, project, "bundle", "remove", newest[:12])
    left = json.loads(run(server, project, "bundle", "list", "--json"))["bundles"]
    assert newest not in {each["id"] for each in left}
    run(server, project, "bundle", "remove", newest, code=2)
