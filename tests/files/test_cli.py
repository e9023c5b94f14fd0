"""`danlu cp` and its like, in a process of their own, as people use them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from danlu.cli.commands import copying
from danlu.cli.options import Args
from danlu.cli.registry import find
from danlu.cli.session import Session
from danlu.sdk.errors import Lost, Unreachable
from tests.support.server import PATIENCE, DanluServer


def danlu(server: DanluServer, *words: str, code: int = 0) -> str:
    done = server.cli(*words)
    assert done.returncode == code, (words, done)
    return (done.stdout + done.stderr).decode()


def tree(top: Path) -> dict[bytes, bytes]:
    """Every file with its content, every link with its target, every empty folder."""
    found = {}
    for folder, folders, names in os.walk(os.fsencode(top)):
        below = os.path.relpath(folder, os.fsencode(top))
        if not folders and not names:
            found[below] = b"folder"
        for name in (*names, *(each for each in folders if os.path.islink(folder + b"/" + each))):
            path = folder + b"/" + name
            if os.path.islink(path):
                found[below + b"/" + name] = b"-> " + os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found[below + b"/" + name] = hashlib.sha256(file.read()).digest()
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    (top / "src/deep/er").mkdir(parents=True)
    (top / "empty").mkdir()
    for number in range(2500):
        (top / f"src/{number}.txt").write_text(f"number {number}\n" * (number % 9))
    (top / "src/deep/er/big.bin").write_bytes(os.urandom(5 << 20))
    (top / "run.sh").write_text("#!/bin/sh\n")
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("src/deep")
    with open(os.fsencode(top) + b"/odd\xff\nname\\x41", "w") as odd:
        odd.write("odd")
    return top


def test_a_folder_goes_up_and_comes_back_as_it_was(
    server: DanluServer, project: Path, tmp_path: Path
) -> None:
    danlu(server, "cp", "-r", str(project), ":")
    again = json.loads(danlu(server, "cp", "-r", str(project), ":", "--json"))
    assert again["bytes"] == 0, "what is there already is not sent again"
    (project / "src/1.txt").write_text("changed")
    changed = json.loads(danlu(server, "cp", "-r", str(project), ":", "--json"))
    assert changed["bytes"] == len("changed")
    danlu(server, "cp", "-r", ":project", str(tmp_path / "back"))
    assert tree(tmp_path / "back") == tree(project)
    assert (tmp_path / "back/run.sh").stat().st_mode & 0o100
    assert int((tmp_path / "back/run.sh").stat().st_mtime) == int(
        (project / "run.sh").stat().st_mtime
    )


def start(server: DanluServer, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "danlu.cli", *words],
        env=server.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )


def test_an_interrupted_copy_is_continued_by_repeating_it(
    server: DanluServer, tmp_path: Path
) -> None:
    data = os.urandom(48 << 20)
    (tmp_path / "big").write_bytes(data)
    home = server.data / "home/admin"
    danlu(server, "ls")
    for turn in range(3):
        copying = start(server, "cp", str(tmp_path / "big"), ":up/big")
        while _size(home / "up") < (turn + 1) * (4 << 20) and copying.poll() is None:
            time.sleep(0.002)
        copying.kill()
        copying.wait()
    done = start(server, "cp", str(tmp_path / "big"), ":up/big")
    server.kill()
    server.start()
    told = done.communicate(timeout=PATIENCE)[0]
    assert done.returncode == 0, told
    assert (home / "up/big").read_bytes() == data
    assert os.listdir(home / "up") == ["big"], "one upload, continued: no others are left"
    down = start(server, "cp", ":up/big", str(tmp_path / "down"))
    part = tmp_path / "down.danlu-part"
    until(lambda: (part.exists() and part.stat().st_size > 1 << 20) or down.poll() is not None)
    down.kill()
    down.wait()
    danlu(server, "cp", ":up/big", str(tmp_path / "down"))
    assert (tmp_path / "down").read_bytes() == data
    assert not part.exists()


def test_a_folder_that_is_here_in_part_is_completed_and_the_rest_is_left_alone(
    server: DanluServer, project: Path, tmp_path: Path
) -> None:
    (project / "large.bin").write_bytes(os.urandom(20 << 20))
    danlu(server, "cp", "-r", str(project), ":part")
    back = tmp_path / "back"
    danlu(server, "cp", "-r", ":part", str(back))
    nothing = json.loads(danlu(server, "cp", "-r", ":part/src", str(back), "--json"))
    assert (nothing["files"], nothing["bytes"]) == (0, 0), "what is here is not asked for again"
    assert nothing["skipped"] == 2501
    for name in ("src/7.txt", "link", "src/deep/er/big.bin"):
        (back / name).unlink()
    (back / "run.sh").write_text("changed here, longer")
    (back / "mine.txt").write_text("only here")
    again = json.loads(danlu(server, "cp", "-r", ":part/.", str(back), "--json"))
    assert again["files"] == 4 and not again["problems"]
    assert (back / "mine.txt").read_text() == "only here"
    (back / "mine.txt").unlink()
    assert tree(back) == tree(project)
    one = json.loads(danlu(server, "cp", ":part/large.bin", str(back), "--json"))
    assert (one["files"], one["skipped"]) == (0, 1)
    up = json.loads(danlu(server, "cp", str(project / "large.bin"), ":part/", "--json"))
    assert (up["files"], up["skipped"]) == (0, 1)


def test_links_that_lead_out_are_named_and_are_not_unchanged(
    server: DanluServer, tmp_path: Path
) -> None:
    danlu(server, "mkdir", "led")
    folder = server.data / "home/admin/led"
    (folder / "file").write_text("x")
    (folder / "inside").symlink_to("file")
    (folder / "away").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("../../..")
    out = str(tmp_path / "out")
    told = danlu(server, "cp", "-r", ":led", out, code=1)
    assert "led/away" in told and "led/up" in told and "unchanged" not in told
    assert "link to /etc/passwd" in told and "link to ../../.." in told
    assert sorted(os.listdir(out)) == ["file", "inside"]
    for more in ((), ("-n",)):
        again = danlu(server, "cp", "-r", ":led/.", out, *more, code=1)
        assert "/away" in again and "/up" in again and "2 unchanged" in again
    values = json.loads(danlu(server, "cp", "-r", ":led/.", out, "--json", code=1))
    assert (values["files"], values["skipped"], values["problems"]) == (0, 2, [])
    assert all("link" in each["message_en"] for each in values["left_out"])
    assert all("链接" in each["message_zh"] for each in values["left_out"])
    assert len(values["left_out"]) == 2


def test_links_that_lead_out_are_named_on_the_way_up(server: DanluServer, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "file").write_text("x")
    (folder / "inside").symlink_to("file")
    (folder / "away").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    told = danlu(server, "cp", "-r", str(folder), ":up-led", code=1)
    assert "/userhome/up-led/away was left out: it is a link to /etc/passwd" in told
    assert "here/pipe was left out" in told and "2 files" in told
    assert sorted(os.listdir(server.data / "home/admin/up-led")) == ["file", "inside"]
    told = server.cli("cp", "-r", str(folder), ":up-led", env={"DANLU_LANG": "zh"}).stderr.decode()
    assert "指向 /etc/passwd 的链接" in told


def test_a_large_file_of_a_folder_goes_on_in_its_middle(
    server: DanluServer, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.bin").write_bytes(os.urandom(60 << 20))
    (source / "b.txt").write_text("after it")
    danlu(server, "cp", "-r", str(source), ":middle")
    down = start(server, "cp", "-r", ":middle", str(tmp_path / "down"))
    part = tmp_path / "down/a.bin.danlu-part"
    until(lambda: (part.exists() and part.stat().st_size > 4 << 20) or down.poll() is not None)
    down.kill()
    down.wait()
    begun = part.stat().st_size if part.exists() else 60 << 20
    told = json.loads(danlu(server, "cp", "-r", ":middle", str(tmp_path / "down"), "--json"))
    assert told["bytes"] <= (60 << 20) - begun + 20_000, "only what was missing came"
    assert tree(tmp_path / "down") == tree(source)
    part.write_bytes(b"left by something else")
    danlu(server, "rm", "--forever", "--yes", "middle/a.bin")
    danlu(server, "cp", ":middle/a.bin", str(tmp_path / "down/a.bin"), code=3)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.iterdir()) if folder.exists() else 0


def until(true: object) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_folder_that_was_cut_on_its_way_is_continued(server: DanluServer, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(400):
        (source / f"{number}.bin").write_bytes(os.urandom(100_000))
    copying = start(server, "cp", "-r", str(source), ":cut")
    home = server.data / "home/admin/cut"
    until(lambda: (home.exists() and len(os.listdir(home)) > 50) or copying.poll() is not None)
    copying.send_signal(signal.SIGINT)
    told = copying.communicate(timeout=PATIENCE)[0]
    assert copying.returncode == 0 or b"run the same command again to resume" in told
    danlu(server, "cp", "-r", str(source), ":cut")
    assert tree(home) == tree(source), "in the folder itself, not in another one below it"
    down = start(server, "cp", "-r", ":cut", str(tmp_path / "down"))
    until(lambda: (tmp_path / "down").exists() or down.poll() is not None)
    server.kill()
    server.start()
    assert down.wait(PATIENCE) == 0
    assert tree(tmp_path / "down") == tree(source)


def test_files_are_listed_moved_measured_deleted_and_restored(
    server: DanluServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    danlu(server, "mkdir", "-p", "work/in")
    danlu(server, "cp", str(tmp_path / "a.txt"), ":work/in/")
    assert danlu(server, "ls", "work") == "in/\n"
    assert "a.txt" in danlu(server, "ls", "-l", ":work/in")
    danlu(server, "mv", "work/in/a.txt", "work/b.txt")
    danlu(server, "cp", ":work/b.txt", ":work/in")
    found = danlu(server, "find", "work", "*.txt").split()
    assert sorted(found) == ["/userhome/work/b.txt", "/userhome/work/in/b.txt"]
    assert "work" in danlu(server, "du")
    assert "is a folder" in danlu(server, "rm", "work", code=2)
    danlu(server, "rm", "-r", "work")
    assert "/userhome/work/" in danlu(server, "bin")
    assert danlu(server, "bin", "restore", "work") == "/userhome/work\n"
    assert danlu(server, "cp", ":work/b.txt", str(tmp_path / "c.txt"))
    assert (tmp_path / "c.txt").read_text() == "hello"
    danlu(server, "rm", "-r", "--forever", "work")
    assert "There is no /userhome/work" in danlu(server, "ls", "work", code=3)
    assert "/userhome" in danlu(server, "ls", "--volumes")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("cp", "a", "b"), 2),
        (("cp", "/nothing/here", ":"), 3),
        (("cp", ":nothing", "/tmp"), 3),
        (("cp", "/tmp", ":"), 2),
        (("ls", "../../etc"), 2),
        (("ls", "/etc"), 3),
        (("mv", "nothing", "other"), 3),
        (("cp", ":nothing", ":other"), 3),
        (("rm", "--forever", "--yes", "nothing"), 3),
        (("du", "nothing"), 3),
        (("mkdir", "no/parent"), 3),
        (("mkdir", "x/../../y"), 2),
        (("find", "--kind", "thing", "x"), 2),
        (("bin", "dance"), 2),
    ],
)
def test_a_mistake_is_explained(server: DanluServer, words: tuple[str, ...], code: int) -> None:
    for language in ("en", "zh"):
        told = danlu(server, *words, "--lang", language, code=code)
        assert told.startswith("danlu: "), told
        if language == "zh":
            assert any("\u4e00" <= sign <= "\u9fff" for sign in told), told


def test_restoring_to_a_name_that_is_taken_loses_nothing(server: DanluServer) -> None:
    home = server.data / "home/admin"
    danlu(server, "mkdir", "taken")
    for text in ("old", "new"):
        (home / "taken/x.txt").write_text(text)
        if text == "old":
            danlu(server, "rm", "taken/x.txt")
    told = danlu(server, "bin", "restore", "taken/x.txt", code=5)
    assert "/userhome/taken/x.txt already exists" in told
    assert "--keep-both" in told and "--overwrite" in told
    assert (home / "taken/x.txt").read_text() == "new"
    assert "/userhome/taken/x.txt" in danlu(server, "bin"), "it is still there"
    danlu(server, "bin", "restore", "--keep-both", "--overwrite", "taken/x.txt", code=2)
    told = danlu(server, "bin", "restore", "--keep-both", "taken/x.txt")
    assert told == "/userhome/taken/x (1).txt\n"
    assert (home / "taken/x.txt").read_text() == "new"
    assert (home / "taken/x (1).txt").read_text() == "old"


def test_du_tells_what_is_there_now(server: DanluServer) -> None:
    home = server.data / "home/admin"

    def used() -> int:
        return int(json.loads(danlu(server, "du", "sums", "--json"))["size"])

    danlu(server, "mkdir", "sums")
    (home / "sums/a").write_bytes(os.urandom(3 << 20))
    first = used()
    assert first >= 3 << 20
    danlu(server, "cp", ":sums/a", ":sums/b")
    assert used() >= first + (3 << 20)
    danlu(server, "rm", "--forever", "--yes", "sums/b")
    assert used() == first
    danlu(server, "mv", ":sums/a", ":a-from-sums")
    assert used() < 3 << 20
    danlu(server, "cp", str(home / "a-from-sums"), ":sums/up")
    assert used() >= 3 << 20


def test_what_is_overwritten_on_the_server_can_be_restored(
    server: DanluServer, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
        danlu(server, "cp", str(tmp_path / name), ":over/")
    danlu(server, "mv", "over/new", "over/old")
    assert danlu(server, "ls", "over") == "old\n"
    assert "/userhome/over/old" in danlu(server, "bin")
    danlu(server, "mv", "over/old", "over/kept")
    danlu(server, "bin", "restore", "over/old")
    danlu(server, "cp", ":over/old", ":over/kept", str(tmp_path))
    assert (tmp_path / "old").read_text() == "old" and (tmp_path / "kept").read_text() == "new"
    assert "into or onto itself" in danlu(server, "mv", "over/old", "over/old", code=5)
    assert danlu(server, "ls", "over") == "kept\nold\n"


def test_the_top_shows_which_folders_there_are_and_datasets_are_among_them(
    server: DanluServer, tmp_path: Path
) -> None:
    assert "userhome/" in danlu(server, "ls", "/").splitlines()
    assert "share" in danlu(server, "ls", "/mnt") or "user/" in danlu(server, "ls", "/mnt")
    assert "/userhome" in danlu(server, "ls", "/etc", code=3), "which there are instead"
    nas = tmp_path / "nas"
    (nas / "sets/coco").mkdir(parents=True)
    tmp_path.chmod(0o755)
    (nas / "sets/coco/a.txt").write_text("picture")
    (nas / "sets/out").symlink_to("/etc")
    danlu(server, "volume", "add", "nas", str(nas))
    danlu(server, "dataset", "add", "coco", "--volume", "nas", "--folder", "sets/coco")
    assert "coco/" in danlu(server, "ls", ":/gdata").splitlines()
    assert danlu(server, "ls", ":/gdata/coco") == "a.txt\n"
    danlu(server, "cp", "-r", ":/gdata/coco", str(tmp_path / "here"))
    assert (tmp_path / "here/a.txt").read_text() == "picture"
    assert danlu(server, "find", "/gdata/coco", "a.txt") == "/gdata/coco/a.txt\n"
    assert "read-only" in danlu(server, "rm", "--forever", "--yes", "/gdata/coco/a.txt", code=4)
    assert "no" in danlu(server, "ls", "/gdata/coco/../out", code=2)


@pytest.mark.parametrize("lost", [Lost("http://x", "reset"), Unreachable("http://x", "refused")])
def test_a_copy_whose_connection_is_gone_for_good_says_how_to_resume(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: OSError
) -> None:
    def broken(*_: object) -> int:
        raise lost

    monkeypatch.setattr(copying, "_upload_all", broken)
    command = find("cp")
    assert command is not None
    args = Args(command)
    args.words = ["here", ":there"]
    with pytest.raises(OSError) as raised:
        copying.cp(cast(Session, None), args)
    assert raised.value is lost
    assert "run the same command again to resume" in capsys.readouterr().err
