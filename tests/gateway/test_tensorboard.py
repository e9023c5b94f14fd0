"""`danlu tensorboard`: curves of one's own folders, and of what a job has written."""

from __future__ import annotations

import json
import os
import urllib.error
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, bob, site_with_tools
from tests.gateway.web import Door, WebServer
from tests.support.events import for_everybody

__all__ = ["alice", "bob", "site_with_tools"]


@pytest.fixture(scope="module")
def events(site: WebServer) -> Path:
    return for_everybody(site.data.parent / "events")


def trained(person: Client, events: Path, command: str = "", **job: Any) -> dict[str, Any]:
    """A job that has written event files to the folder `runs` of where it ran."""
    copying = command or f"mkdir -p runs/first && cp {events}/* runs/first"
    return person.server.wait(
        person.call("POST", "/jobs", {"name": "train", "command": copying, **job})["jobs"][0]
    )


def told(person: Client, *words: str, code: int = 0, **how: Any) -> str:
    done = person.server.cli("tensorboard", *words, env={"DANLU_TOKEN": person.token}, **how)
    assert done.returncode == code, done
    return (done.stdout if code == 0 else done.stderr).decode()


def runs_shown(url: str) -> set[str]:
    """What a browser gets that opens this address."""
    split = urlsplit(url)
    assert split.port is not None
    door = Door(split.port, f"{split.path}?{split.query}")
    assert door.enter().status == 303
    found: set[str] = set()

    def read() -> bool:
        answer = door.ask("/data/plugin/scalars/tags")
        found.update(answer.told)
        return bool(found)

    eventually(read)
    return found


def refused(person: Client, method: str, path: str, body: Any = None) -> int:
    with pytest.raises(urllib.error.HTTPError) as no:
        person.call(method, path, body)
    return no.value.code


def test_folders_are_shown_read_only_without_a_gpu(
    alice: Client, site: WebServer, events: Path
) -> None:
    trained(alice, events, workdir="/userhome")
    assert runs_shown(told(alice, "/userhome/runs", "--print").strip()) == {"first"}
    [job] = alice.call("GET", "/jobs?active=true&name=tensorboard")["jobs"]
    assert (job["kind"], job["gpus"], job["owner"]) == ("service", 0, "alice")
    alice.job = job["ref"].rpartition("/")[2]
    done = alice.ssh("--", "touch /userhome/x")
    assert b"Read-only" in done.stderr, done
    # Its data server asks nobody who they are, so nobody else is on its network.
    assert alice.said("tail -n +3 /proc/net/dev | cut -d: -f1").split() == [b"lo"]
    assert b"tensorboard_data_server" in alice.said("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    # The same folders again: the same job, also without saying which door.
    assert runs_shown(told(alice, "/userhome/runs/", "--print").strip()) == {"first"}
    words = ("open", alice.job, "--print")
    opened = site.cli(*words, env={"DANLU_TOKEN": alice.token})
    assert runs_shown(opened.stdout.decode().strip()) == {"first"}
    assert len(alice.call("GET", "/jobs?active=true&name=tensorboard")["jobs"]) == 1


def test_several_folders_are_shown_side_by_side(alice: Client, events: Path) -> None:
    trained(alice, events, workdir="/userhome", name="more", command=_copied(events, "a/x b/y"))
    url = told(alice, "/userhome/a", "/userhome/b", "--print").strip()
    assert runs_shown(url) == {"a/x", "b/y"}


def test_a_job_says_where_its_curves_are(
    alice: Client, bob: Client, site: WebServer, events: Path
) -> None:
    other = trained(alice, events, "mkdir -p proj && echo hello", workdir="/userhome")
    job = trained(alice, events, workdir="/userhome/proj")
    found = alice.call("GET", f"/jobs/{job['id']}/tensorboard")
    assert found == {"folders": ["/userhome/proj/runs"], "job": None}
    # Files of another time are not its own.
    for file in (site.data / "home" / "alice").rglob("*tfevents*"):
        os.utime(file, (job["ended_at"], job["ended_at"] + 60 * ("proj" not in str(file))))
    assert alice.call("GET", f"/jobs/{job['id']}/tensorboard") == found
    later = site.data / "home" / "alice" / "proj" / "runs" / "first"
    for file in later.iterdir():
        os.utime(file, (1, job["ended_at"] + 60))
    assert alice.call("GET", f"/jobs/{other['id']}/tensorboard")["folders"] == []
    for file in later.iterdir():
        os.utime(file, (1, job["ended_at"]))
    shown = json.loads(told(alice, "--job", job["ref"], "--json"))
    assert shown["folders"] == ["/userhome/proj/runs"]
    assert runs_shown(shown["door"]["url"]) == {"first"}
    again = alice.call("GET", f"/jobs/{job['id']}/tensorboard")
    assert again["job"]["ref"] == shown["job"]["ref"]
    # Nobody else: what they would see is read with their own permissions.
    assert refused(bob, "GET", f"/jobs/{job['id']}/tensorboard") == 404
    assert refused(bob, "POST", "/tensorboards", {"job": job["id"]}) == 404
    admin = Client(site, "admin", site.token, alice.key)
    assert refused(admin, "POST", "/tensorboards", {"job": job["id"]}) == 403


def test_another_persons_folders_stay_closed(
    alice: Client, bob: Client, site: WebServer, events: Path
) -> None:
    trained(bob, events, workdir="/userhome")
    theirs = site.data / "home" / "bob" / "runs"
    assert theirs.is_dir()
    trained(alice, events, f"ln -sfn {theirs} stolen; ln -sfn / all", workdir="/userhome")
    for folder in ("/userhome/stolen", str(theirs), f"/userhome/all/{theirs}", "/mnt/user/bob"):
        assert "not a folder that your tasks can read" in told(alice, folder, code=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Name folders with event files, or a job"),
        (("/userhome/runs", "--job", "train-1"), "Name folders with event files, or a job"),
        (("/userhome/nothing",), "/userhome/nothing: not a folder that your tasks can read"),
        (("/root",), "/root: not a folder that your tasks can read"),
        (("/userhome", "--memory", "much"), "memory"),
    ],
)
def test_mistakes_are_told(alice: Client, words: tuple[str, ...], says: str) -> None:
    assert says in told(alice, *words, code=2)


def test_a_job_without_event_files_says_what_to_do(alice: Client, events: Path) -> None:
    trained(alice, events, "mkdir -p dull", workdir="/userhome")
    job = trained(alice, events, "true", name="dull", workdir="/userhome/dull")
    assert "has written no event files" in told(alice, "--job", job["ref"], code=2)
    assert "没有写入事件文件" in told(alice, "--job", job["ref"], "--lang", "zh", code=2)


def _copied(events: Path, places: str) -> str:
    return f"for each in {places}; do mkdir -p $each && cp {events}/* $each; done"
