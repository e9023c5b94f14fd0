"""Danlu's tools for tests: made once on a machine, kept outside the repository by their hash."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.engines.api import NoTools, ToolsProgress
from danlu.engines.local.tool_steps import Steps
from danlu.engines.local.tools import ToolsFolder, read_mark
from danlu.engines.local.tools_venv import VenvMaker, make
from tests.support.parts import missing

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "danlu"


def tools_venv() -> Path:
    """The virtual environment for tasks without an image; about a minute the first time."""
    folder = ToolsFolder(CACHE)
    base = VenvMaker(folder, everybody=False)._base()
    assert base is not None
    return _once(folder.venv, lambda: make(folder, base, Steps(1, _silent)))


def tools_tree() -> Path:
    """The tree for images; a quarter of an hour the first time."""
    from danlu.engines.local import locks
    from danlu.server.tools.build import build

    folder = ToolsFolder(CACHE)
    place = folder.path / f"tree-{locks.tree_hash()}"
    return _once(place, lambda: build(folder, _silent))


def give(data: Path, *made: Path) -> None:
    """To an installation of the test, before or after its start."""
    folder = data / "tools"
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for path in made:
        with contextlib.suppress(FileExistsError):
            (folder / path.name).symlink_to(path)


def give_made(data: Path) -> None:
    """The virtual environment, if this machine has it: a server that some test asks for an
    environment in passing would make one of its own, for minutes, beside the other tests.
    """
    venv = ToolsFolder(CACHE).venv
    if read_mark(venv) is not None:
        give(data, venv)


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Of several processes that want to make something, one at a time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.parent / f".{place.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _once(place: Path, make: Callable[[], object]) -> Path:
    with alone(place):
        if read_mark(place) is None:
            try:
                make()
            except NoTools as trouble:
                missing("what environments are made of", str(trouble))
    return place


def make_all() -> None:
    """Before the tests: the tree takes longer than a test may."""
    print("Environments: making their tools (once, up to 20 minutes)", flush=True)
    for each in (tools_venv, tools_tree):
        try:
            print(f"Environments: {each()}", flush=True)
        except (Exception, pytest.skip.Exception, pytest.fail.Exception) as trouble:
            print(f"Environments: {trouble}", flush=True)


def _silent(progress: ToolsProgress) -> None:
    pass


if __name__ == "__main__":
    make_all()
