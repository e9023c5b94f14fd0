"""The host key: one, whoever makes it, and told as clients show it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from danlu.gateway import host_key
from tests.support.parts import need


def test_its_fingerprint_is_the_one_that_ssh_shows(tmp_path: Path) -> None:
    path = host_key.made(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    told = host_key.fingerprint(tmp_path)
    keygen = need("ssh-keygen", "openssh-client")
    shown = subprocess.run([keygen, "-l", "-f", path], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[1] == told
    assert host_key.made(tmp_path).read_bytes() == path.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == [host_key.NAME]


def test_one_of_the_admins_own_is_told_likewise(tmp_path: Path) -> None:
    keygen = need("ssh-keygen", "openssh-client")
    path = tmp_path / host_key.NAME
    for words in (["-t", "ed25519"], ["-t", "rsa", "-b", "2048"]):
        path.unlink(missing_ok=True)
        subprocess.run([keygen, "-q", "-N", "", "-C", "ours", "-f", path, *words], check=True)
        shown = subprocess.run([keygen, "-l", "-f", path], capture_output=True, text=True)
        assert shown.stdout.split()[1] == host_key.fingerprint(tmp_path)


@pytest.mark.parametrize("content", ["", "hello", "-----BEGIN-----\nb3BlbnNzaC1rZXktdjEA\n", "é"])
def test_something_else_is_no_key(tmp_path: Path, content: str) -> None:
    (tmp_path / host_key.NAME).write_text(content)
    with pytest.raises(ValueError, match=r"."):
        host_key.fingerprint(tmp_path)
