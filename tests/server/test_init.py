"""`danlu init` and `danlu up --install-service`: from a bare machine to one that is set up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from danlu.server.service import unit
from tests.cli.person import Terminal
from tests.support.parts import missing

DANLU = (sys.executable, "-m", "danlu.cli")


def environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "XDG_"))}
    return {**kept, "HOME": str(home), "DANLU_LANG": "en"}


def danlu(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DANLU, *words], env=environment(home), capture_output=True, text=True, check=False,
        timeout=180, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def findings(home: Path, config: Path) -> dict[str, dict[str, str]]:
    done = danlu(home, "check", "--json", "--config", str(config))
    assert done.returncode == 0, done.stderr
    return {each["what"]: each for each in json.loads(done.stdout)}


def test_without_a_terminal_the_proposals_are_taken_and_pass_the_check(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "danlu.toml"
    done = danlu(tmp_path, "init", "--config", str(file), "--data", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert f"danlu check --config {file}" in done.stderr
    assert tomllib.loads(file.read_text())["data"] == str(tmp_path / "data")
    assert str(file) in findings(tmp_path, file)["configuration"]["en"]


def test_answers_at_a_terminal_become_a_file_the_server_accepts(tmp_path: Path) -> None:
    file, shared = tmp_path / "danlu.toml", tmp_path / "shared"
    shared.mkdir()
    words = (*DANLU, "init", "--config", str(file))
    with Terminal(*words, env=environment(tmp_path)) as person:
        person.read_until("Data folder")
        person.type("relative\n")
        person.read_until("use an absolute path")
        person.type(f"{tmp_path}/my data\n")
        person.read_until("other machines?")
        person.type("y\n")
        person.read_until("Port")
        person.type("70000\n")
        person.read_until("1 to 65535")
        person.type("8081\n")
        person.read_until("account")
        person.type("invite\n")
        if os.geteuid():
            person.read_until("trust each other?")
            person.type("y\n")
        person.read_until("/mnt/shared")
        person.type(f"{shared}\n")
        person.read_until("Declare some")
        person.type("4:A100\n")
        person.read_until("Wrote")
        assert person.end() == 0
    values = tomllib.loads(file.read_text())
    assert values["data"] == f"{tmp_path}/my data"
    assert values["server"]["listen"] == ["0.0.0.0:8081"]
    assert values["server"]["sign_up"] == "invite"
    assert values["volumes"]["shared"]["source"] == str(shared)
    assert "4 x A100" in findings(tmp_path, file)["node n1"]["en"]


def test_it_asks_in_chinese(tmp_path: Path) -> None:
    file = tmp_path / "danlu.toml"
    words = (*DANLU, "--lang", "zh", "init", "--config", str(file))
    with Terminal(*words, env=environment(tmp_path)) as person:
        person.read_until("] ")
        time.sleep(0.5)  # a signal between the prompt and the wait for an answer is seen after it
        person.type("\x03")
        person.read_until("没有写入任何文件")
        assert person.end() == 2
    assert not file.exists()


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "danlu.toml"
    file.write_text("# mine\n")
    words = ("init", "--config", str(file), "--data", str(tmp_path / "data"))
    refused = danlu(tmp_path, *words)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert file.read_text() == "# mine\n"
    assert danlu(tmp_path, *words, "--force").returncode == 0
    assert (tmp_path / "danlu.toml.old").read_text() == "# mine\n"
    assert "data =" in file.read_text()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = danlu(tmp_path, "init", "--dry-run", "--config", str(tmp_path / "danlu.toml"))
    assert tomllib.loads(done.stdout)["server"]["listen"] == ["127.0.0.1"]
    assert list(tmp_path.iterdir()) == []


def test_the_unit_starts_the_server_as_it_was_called(tmp_path: Path) -> None:
    config = tmp_path / "a file%.toml"
    config.write_text("")
    words = ("--config", str(config), "--port", "8123")
    done = danlu(tmp_path, "up", "--install-service", "--dry-run", *words)
    assert done.returncode == 0, done.stderr
    (start,) = [line for line in done.stdout.splitlines() if line.startswith("ExecStart=")]
    quoted = str(config).replace("%", "%%")
    assert start.endswith(f'-m danlu.cli up --port 8123 --config "{quoted}"')
    assert "KillMode=process" in done.stdout


def test_a_server_cannot_be_started_dry(tmp_path: Path) -> None:
    done = danlu(tmp_path, "up", "--dry-run")
    assert done.returncode == 2
    assert "--install-service" in done.stderr


def test_a_wrong_configuration_is_not_installed(tmp_path: Path) -> None:
    config = tmp_path / "danlu.toml"
    config.write_text("[server]\nlisten = 3\n")
    done = danlu(tmp_path, "up", "--install-service", "--dry-run", "--config", str(config))
    assert done.returncode == 2
    assert "server.listen" in done.stderr


@pytest.mark.parametrize("system", [True, False])
def test_systemd_accepts_the_unit(tmp_path: Path, system: bool) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze", "apt-get install systemd")
    file = tmp_path / "danlu.service"
    file.write_text(unit(["--data", "/var/lib/a b$%"], system))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False
    )
    about = [line for line in done.stderr.splitlines() if "danlu.service" in line]
    assert about == []
