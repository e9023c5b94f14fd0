"""Files to and from a task: scp, sftp, rsync."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.gateway.client import Client, finished
from tests.support.parts import need


@pytest.mark.parametrize("protocol", ["-s", "-O"], ids=["sftp", "scp"])
def test_scp_copies_there_and_back(alice: Client, tmp_path: Path, protocol: str) -> None:
    need("scp", "openssh-client")
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    data = os.urandom(3_000_000)
    (folder / "below" / "文件 one").write_bytes(data)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o750)
    name = f"by-scp{protocol}"
    there = alice.copy(protocol, "-rp", folder, f":{name}")
    assert there.returncode == 0, there
    assert alice.said(f"stat -c %a:%U {name}/script") == b"750:alice\n"
    back = alice.copy(protocol, "-rp", f":{name}", tmp_path / "back")
    assert back.returncode == 0, back
    assert (tmp_path / "back" / "below" / "文件 one").read_bytes() == data
    assert alice.copy(protocol, ":missing", tmp_path / "x").returncode == 1


def test_sftp_does_what_its_commands_say(alice: Client, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(os.urandom(100_000))
    batch = f"""
mkdir sftp
cd sftp
put {tmp_path}/one
rename one two
symlink two link
chmod 600 two
ls -l
df
mkdir inner
rmdir inner
get link {tmp_path}/got
ln two hard
rm hard
"""
    answer = finished(
        ["sftp", *alice.options, "-P", str(alice.server.ssh_port), "-b", "-", alice.address],
        input=batch.encode(),
    )
    assert answer.returncode == 0, answer
    assert (tmp_path / "got").read_bytes() == (tmp_path / "one").read_bytes()
    assert b"-rw-------" in answer.stdout
    assert b"Avail" in answer.stdout
    listed = alice.said("cd sftp; readlink link; ls")
    assert listed == b"two\nlink\ntwo\n"


def test_plain_renaming_replaces_nothing(alice: Client, tmp_path: Path) -> None:
    alice.said("mkdir keep; echo 1 > keep/a; echo 2 > keep/b")
    words = ["sftp", *alice.options, "-P", str(alice.server.ssh_port), "-b", "-", alice.address]
    assert finished(words, input=b"rename -l keep/a keep/b\n").returncode == 1
    assert alice.said("cat keep/a keep/b") == b"1\n2\n"
    assert finished(words, input=b"rename keep/a keep/b\n").returncode == 0
    assert alice.said("cat keep/b") == b"1\n"


def test_nothing_more_than_the_user_may(alice: Client, tmp_path: Path) -> None:
    for path in ("/etc/shadow", "/proc/1/mem", "/../../etc/shadow"):
        assert alice.copy(f":{path}", tmp_path / "x").returncode == 1
    (tmp_path / "x").write_text("x")
    for path in ("/etc/x", "/usr/x"):
        assert alice.copy(tmp_path / "x", f":{path}").returncode == 1


def test_rsync_sends_what_differs(alice: Client, tmp_path: Path) -> None:
    rsync = need("rsync")
    folder = tmp_path / "tree"
    folder.mkdir()
    for number in range(50):
        (folder / f"{number}").write_bytes(os.urandom(2000))
    way = " ".join(["ssh", *alice.options, "-p", str(alice.server.ssh_port)])
    sent = finished([rsync, "-a", "-e", way, folder, f"{alice.address}:"])
    assert sent.returncode == 0, sent
    (folder / "7").write_text("changed")
    again = finished([rsync, "-ai", "-e", way, folder, f"{alice.address}:"])
    assert [line.split()[-1] for line in again.stdout.splitlines()] == [b"tree/7"]
    assert alice.said("cat tree/7") == b"changed"
