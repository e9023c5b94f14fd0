"""Event files are searched for within bounds, and with their owner's permissions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.access.identities import Person
from danlu.files import event_files
from danlu.files.as_person import as_person
from danlu.files.event_files import EventFiles, View
from danlu.files.settings import FileSettings
from danlu.files.volumes import Volumes


class People:
    async def person(self, name: str) -> Person:
        return Person(name)


@pytest.fixture
def found(tmp_path: Path) -> EventFiles:
    volumes = Volumes(FileSettings(tmp_path / "data"))
    return EventFiles(People(), volumes)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "home" / "alice"
    folder.mkdir(parents=True)
    return folder


def written(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.out.tfevents.1.host.1.0").write_bytes(b"x")


def view(home: Path, machine: bool = False) -> View:
    return View(Person("alice"), {"/userhome": str(home)}, machine)


async def test_runs_are_summed_up_by_the_folder_they_are_in(found: EventFiles, home: Path) -> None:
    written(home / "runs" / "a", home / "runs" / "b" / "deep", home / "other")
    assert await found.written(view(home), "/userhome", 0, None) == [
        "/userhome/other",
        "/userhome/runs",
    ]
    assert await found.written(view(home), "/userhome/other", 0, None) == ["/userhome/other"]
    assert await found.written(view(home), "/userhome/nothing", 0, None) == []


async def test_only_files_of_the_time_of_the_job_count(found: EventFiles, home: Path) -> None:
    written(home / "old", home / "new")
    [file] = (home / "old").iterdir()
    os.utime(file, (1000, 1000))
    assert await found.written(view(home), "/userhome", 2000, None) == ["/userhome/new"]
    assert await found.written(view(home), "/userhome", 0, 2000) == ["/userhome/old"]


async def test_no_link_leads_out(found: EventFiles, home: Path, tmp_path: Path) -> None:
    written(tmp_path / "secret" / "runs")
    (home / "out").symlink_to(tmp_path / "secret")
    (home / "loop").symlink_to(".")
    assert await found.written(view(home), "/userhome", 0, None) == []
    assert not await found.is_there(view(home), "/userhome/out")
    assert not await found.is_there(view(home), "/userhome/../../secret")
    assert await found.is_there(view(home, machine=True), "/userhome/out")  # it sees the machine
    written(home / "runs")
    (home / "short").symlink_to("/userhome/runs")  # as the task sees it
    assert await found.is_there(view(home), "/userhome/short")


async def test_a_search_has_an_end(
    found: EventFiles, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home
    for _ in range(event_files.DEEPEST + 2):
        deep = deep / "deeper"
    written(deep)
    assert await found.written(view(home), "/userhome", 0, None) == []
    monkeypatch.setattr(event_files, "MOST_ENTRIES", 50)
    for number in range(100):
        (home / f"file-{number}").touch()
    written(home / "z" / "z")
    assert await found.written(view(home), "/userhome", 0, None) == []


async def test_many_folders_become_the_one_above(found: EventFiles, home: Path) -> None:
    written(*(home / f"run-{number}" for number in range(event_files.MOST_FOLDERS + 1)))
    assert await found.written(view(home), "/userhome", 0, None) == ["/userhome"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")
def test_a_thread_has_the_persons_groups_and_gives_them_back(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)
    os.chown(shared, 0, 54321)
    for parent in tmp_path.parents:
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o711)
    before = (os.getgroups(), os.listdir(shared))
    look: Callable[[], list[str]] = lambda: os.listdir(shared)  # noqa: E731
    with as_person(Person("alice", 12345, 12345, {"lab": 54321})):
        assert look() == []
    with as_person(Person("bob", 12346, 12346)), pytest.raises(PermissionError):
        look()
    assert (os.getgroups(), look()) == before
