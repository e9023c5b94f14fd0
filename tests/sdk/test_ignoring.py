"""What is left out of a folder is what git leaves out."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from danlu.sdk.carrying import Scan

PATTERNS = (
    "*.pyc",
    "/build",
    "build/",
    "logs/",
    "!logs/keep",
    "data/*",
    "!data/readme",
    "**/cache",
    "a/**/z",
    "out/**",
    "x?z",
    "[abc].txt",
    "[!abc].txt",
    "\\#note",
    "\\!bang",
    "trailing  ",
    "with\\ ",
    "# only a comment",
    "",
    "deep/inner/*.log",
    "/*.md",
    "!important.pyc",
    "*",
    "!*/",
    "[a-c]/",
    "weird[",
    "foo**bar",
    "**",
)
NAMES = ("a", "b", "z", "build", "logs", "data", "cache", "out", "deep", "inner")
FILES = (
    *("m.pyc", "important.pyc", "a.txt", "d.txt", "xyz", "#note", "!bang", "n.md", "x.log"),
    *("trailing", "with ", "fooXbar", "readme", "keep", "weird["),
)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_is_what_git_would_ignore(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        folder = tmp_path.joinpath(*chance.choices(NAMES, k=chance.randrange(4)))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / chance.choice(FILES)
        if not path.exists():
            path.write_text("x")
    for folder in [tmp_path, *chance.sample([p for p in tmp_path.rglob("*") if p.is_dir()], 3)]:
        lines = chance.sample(PATTERNS[:-6] if seed % 3 else PATTERNS, 5)
        (folder / ".gitignore").write_text("\n".join(lines) + "\n")
    _git(tmp_path, "init", "-q")
    listed = _git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard")
    kept = {name for name in listed.split("\0") if name}

    found = {entry[1] for entry in Scan(str(tmp_path)).entries if entry[0] == "f"}

    assert found == kept


def test_danluignore_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.bin\n")
    (tmp_path / ".danluignore").write_text("!model.bin\nnotes/\n")
    for name in ("model.bin", "other.bin", "train.py", "notes/x", ".git/config", "__pycache__/a"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")

    found = {entry[1] for entry in Scan(str(tmp_path)).entries}

    assert found == {".gitignore", ".danluignore", "model.bin", "train.py"}


def test_rules_of_the_repository_hold_in_a_folder_of_it(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("/sub/secret\n*.tmp\n")
    (tmp_path / "sub").mkdir()
    for name in ("secret", "a.tmp", "train.py"):
        (tmp_path / "sub" / name).write_text("x")

    assert [entry[1] for entry in Scan(str(tmp_path / "sub")).entries] == ["train.py"]


def test_links_that_lead_out_and_special_files_are_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to("../train.py")
    (tmp_path / "out").symlink_to("../elsewhere")
    (tmp_path / "absolute").symlink_to("/etc/passwd")
    (tmp_path / "train.py").write_text("x")
    os.mkfifo(tmp_path / "pipe")

    found = Scan(str(tmp_path))

    assert [entry[:2] for entry in found.entries] == [
        ["d", "sub"],
        ["l", "sub/up"],
        ["f", "train.py"],
    ]
    assert sorted(found.left_out) == ["absolute", "out", "pipe"]


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    for name in ("a", "b"):
        (root / name).write_text(name)
    monkeypatch.setattr("danlu.sdk.carrying.SETTLED", -(10**12))  # as if changed long ago
    first = Scan(str(root))
    first.hash()
    (root / "b").write_text("changed")
    read: list[str] = []
    plain = Scan._hash
    monkeypatch.setattr(
        Scan, "_hash", lambda self, entry: (read.append(entry[1]), plain(self, entry))[1]
    )

    second = Scan(str(root))
    second.hash()

    assert read == ["b"]
    assert second.entries[0][4] == first.entries[0][4]
    assert second.entries[1][4] != first.entries[1][4]


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    return os.fsdecode(done.stdout)
