"""`danlu env`, as people type it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.person import Person
from tests.gateway.web import WebServer
from tests.support.server import DanluServer
from tests.support.tools import give, tools_venv


@pytest.fixture
def dev(server: DanluServer) -> Iterator[DanluServer]:
    give(server.data, tools_venv())
    yield server
    for each in server.get("/environments")["environments"]:
        server.call("DELETE", f"/environments/{each['name']}")
        if each["job"]:
            server.wait(each["job"])


def said(server: DanluServer, *words: str, code: int = 0) -> str:
    done = server.cli("env", *words)
    assert done.returncode == code, done
    return (done.stdout if code == 0 else done.stderr).decode()


def running(server: DanluServer, name: str = "dev") -> dict[str, Any]:
    server.goes_on(name)
    found: dict[str, Any] = server.get(f"/environments/{name}")
    return found


def test_an_environment_from_its_beginning_to_its_end(dev: DanluServer) -> None:
    assert "danlu env create NAME" in said(dev)
    told = said(dev, "create", "dev", "-g", "1", "--time", "8h", "-e", "LR=0.1")
    assert told.startswith("dev is ")
    running(dev)
    table = said(dev, "list").splitlines()
    assert table[0].split() == ["NAME", "STATE", "IMAGE", "GPUS", "LEFT", "SHARED", "WITH"]
    assert table[1].split()[:4] == ["dev", "running", "-", "1"]
    shown = said(dev, "show", "dev")
    assert "time_limit" in shown
    assert "LR=0.1" in shown
    ends = json.loads(said(dev, "show", "dev", "--json"))["ends_at"]
    later = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ends + 2 * 3600))
    assert said(dev, "extend", "dev", "2h").startswith(f"dev runs until {later} (")
    far = said(dev, "extend", "dev", "900d", code=2)
    assert "900d is too long; dev may run for at most 30d from now on" in far
    assert "stop" in said(dev, "stop", "dev")
    assert said(dev, "start", "dev").startswith("dev is ")
    running(dev)
    assert said(dev, "delete", "dev") == "dev deleted; files in your folders stay\n"
    assert "No environments" in said(dev, "list")


def test_an_environment_keeps_the_folder_it_was_created_with(
    dev: DanluServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("print('brought along')\n")
    made = dev.cli("env", "create", "dev", "--carry", "--json", cwd=project)
    assert made.returncode == 0, made.stderr
    bundle = json.loads(made.stdout)["environments"][0]["request"]["bundle"]
    running(dev)
    first = dev.cli("exec", "dev", "--", "sh", "-c", "pwd; python3 train.py; echo mine > note")
    assert first.stdout.split(b"\n")[:2] == [b"/userhome/carried/dev", b"brought along"], first
    kept = dev.cli("bundle", "remove", bundle)
    assert kept.returncode != 0
    assert b"dev" in kept.stderr
    said(dev, "stop", "dev")
    said(dev, "start", "dev")
    running(dev)
    again = dev.cli("exec", "dev", "--", "cat", "note", "train.py")
    assert again.stdout == b"mine\nprint('brought along')\n", again
    assert "bundle" in said(dev, "create", "other", "--set", f"bundle={'0' * 64}", code=2)


def test_json_is_the_answer_of_the_api(dev: DanluServer) -> None:
    made = json.loads(said(dev, "create", "dev", "--no-start", "--json"))
    assert made["environments"][0]["state"] == "stopped"
    assert json.loads(said(dev, "list", "--json"))["environments"] == made["environments"]
    assert json.loads(said(dev, "show", "dev", "--json"))["name"] == "dev"


def test_a_dry_run_says_when_it_would_start(dev: DanluServer) -> None:
    assert said(dev, "create", "dev", "-g", "2", "--dry-run").startswith("dev: ")
    assert "No environments" in said(dev, "list")


def test_dropping_the_gpu_says_what_stays(dev: DanluServer) -> None:
    said(dev, "create", "dev", "-g", "1")
    running(dev)
    told = said(dev, "change", "dev", "-g", "0")
    assert "starts again with the change; files in your folders stay" in told
    assert running(dev)["job"]["gpus"] == 0


def test_at_a_terminal_one_is_asked_before_a_restart(dev: DanluServer) -> None:
    said(dev, "create", "dev", "-g", "1")
    old = running(dev)["job"]["id"]
    with Person(dev, "env", "change", "dev", "-g", "0") as person:
        person.read_until("Restart it? [y/N]")
        person.type("n")
        person.read_until("Nothing was changed")
        assert person.end() != 0
    assert running(dev)["job"]["id"] == old


def test_an_option_is_reset_by_none(dev: DanluServer) -> None:
    said(dev, "create", "dev", "--no-start", "--time", "8h", "-c", "2")
    said(dev, "change", "dev", "--time", "none")
    assert dev.get("/environments/dev")["request"] == {"cpus": 2}


def test_its_tools_are_opened_by_its_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    site = WebServer(tmp_path_factory.mktemp("open") / "data")
    give(site.data, tools_venv())
    site.start()
    try:
        assert "danlu env start box" in said(site, "create", "box", "--no-start")
        for what in ("lab", "terminal"):
            assert "box is not running; start it with" in said(site, "open", "box", what, code=5)
        said(site, "start", "box")
        running(site, "box")
        door = urlsplit(said(site, "open", "box", "--print").strip())
        assert (door.path, door.port in range(site.first, site.first + 16)) == (
            "/.danlu/enter",
            True,
        )
        page = said(site, "open", "box", "terminal", "--print").strip()
        assert page == f"{site.url}/environments/admin~box?terminal=1"
        made = json.loads(said(site, "open", "box", "code", "--json"))
        assert made["path"].startswith("/.danlu/enter?ticket=")
        assert "vim: cannot be opened" in said(site, "open", "box", "vim", code=2)
    finally:
        site.cleanup()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("open",), 2, "NAME"),
        (("open", "nothing"), 3, "There is no environment nothing"),
        (("create", "my-env"), 2, "at most 27"),
        (("create",), 2, "NAME"),
        (("create", "a", "b"), 2, "NAME"),
        (("frobnicate", "dev"), 2, "frobnicate"),
        (("change", "dev"), 2, "Nothing to change"),
        (("show", "nothing"), 3, "There is no environment nothing"),
        (("start", "nothing"), 3, "There is no environment nothing"),
    ],
)
def test_mistakes_are_told(dev: DanluServer, words: tuple[str, ...], code: int, says: str) -> None:
    done = dev.cli("env", *words)
    assert says in done.stderr.decode(), done
    assert done.returncode == code


def test_both_languages_are_spoken(dev: DanluServer) -> None:
    assert "没有环境" in said(dev, "--lang", "zh")
    assert "不能作为环境的名称" in said(dev, "create", "my-env", "--lang", "zh", code=2)
