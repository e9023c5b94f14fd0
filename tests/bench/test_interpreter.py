"""The Python that the benchmarks' tasks run with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import interpreter


def python_in(folder: Path, mode: int) -> str:
    folder.mkdir()
    link = folder / "python3"
    link.symlink_to("/bin/sh")
    folder.chmod(mode)
    return str(link)


def test_what_lies_in_a_closed_home_is_not_open(tmp_path: Path) -> None:
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o011)
    assert interpreter.is_open(python_in(tmp_path / "open", 0o755))
    assert not interpreter.is_open(python_in(tmp_path / "closed", 0o700))
    assert not interpreter.is_open(str(tmp_path / "nothing"))
    link_to_home = tmp_path / "home"
    link_to_home.symlink_to(tmp_path / "closed")
    assert not interpreter.is_open(str(link_to_home / "python3"))


def test_a_user_of_the_machine_may_execute_it() -> None:
    python = interpreter.for_tasks()
    words = [python, "-I", "-S", "-c", "import time"]
    if os.geteuid() == 0:
        subprocess.run(words, check=True, user=65534, group=65534, extra_groups=[])
    else:
        assert python == sys.executable


def test_without_one_the_benchmark_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(interpreter, "is_open", lambda path: False)
    with pytest.raises(SystemExit, match="apt-get install python3"):
        interpreter.for_tasks()
