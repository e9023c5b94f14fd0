"""Keys in `~/.ssh/authorized_keys` of the home, and what is not taken for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.client import Client, SshServer, make_key


@pytest.fixture
def heidi(door: SshServer, tmp_path: Path) -> Iterator[Client]:
    """Somebody with a key that the platform was not told of."""
    name = f"heidi{os.urandom(3).hex()}"
    told = door.person(name)
    told.run()
    other = Client(door, name, told.token, tmp_path / "key")
    make_key(other.key)
    other.job = told.job
    told.said("umask 077; mkdir -p .ssh")
    yield other
    door.call("POST", f"/jobs/{name}~{told.job}/stop", {"now": True})


def write(client: Client, text: bytes, where: str = ".ssh/authorized_keys") -> None:
    known = Client(client.server, client.name, client.token, client.server.folder / client.name)
    known.job = client.job
    answer = known.ssh("--", f"cat > {where}", input=text)
    assert answer.returncode == 0, answer


def run(client: Client, command: str) -> None:
    known = Client(client.server, client.name, client.token, client.server.folder / client.name)
    known.job = client.job
    known.said(command)


def line(client: Client) -> bytes:
    return client.key.with_suffix(".pub").read_bytes()


def comes_in(client: Client) -> bool:
    return client.ssh("--", "echo in").stdout == b"in\n"


def test_a_key_in_the_home_opens_the_door(heidi: Client) -> None:
    assert not comes_in(heidi)
    write(heidi, b"# mine\n\nnonsense\n" + line(heidi))
    assert comes_in(heidi)
    run(heidi, "rm .ssh/authorized_keys")
    assert not comes_in(heidi)


def test_it_opens_nobody_elses(heidi: Client, alice: Client) -> None:
    write(heidi, line(heidi))
    answer = heidi.ssh("--", "echo in", to=f"alice+{alice.job}@127.0.0.1")
    assert (answer.returncode, b"Permission denied" in answer.stderr) == (255, True)


def test_a_line_with_options_is_not_taken_for_one_without(heidi: Client) -> None:
    write(heidi, b'command="/bin/false" ' + line(heidi))
    assert not comes_in(heidi)


def test_a_file_that_others_may_write_is_not_trusted(heidi: Client) -> None:
    write(heidi, line(heidi))
    run(heidi, "chmod o+w .ssh/authorized_keys")
    assert not comes_in(heidi)
    run(heidi, "chmod o-w .ssh/authorized_keys; chmod o+w .ssh")
    assert not comes_in(heidi)
    run(heidi, "chmod o-w .ssh")
    assert comes_in(heidi)


def test_no_link_is_followed(heidi: Client) -> None:
    write(heidi, line(heidi), "keys")
    run(heidi, "ln -s ../keys .ssh/authorized_keys")
    assert not comes_in(heidi)
    run(heidi, "rm .ssh/authorized_keys; mkdir elsewhere; mv keys elsewhere/authorized_keys")
    run(heidi, "rmdir .ssh; ln -s elsewhere .ssh")
    assert not comes_in(heidi)
    run(heidi, "rm .ssh; mv elsewhere .ssh")
    assert comes_in(heidi)


def test_only_its_beginning_is_read(heidi: Client) -> None:
    write(heidi, b"#" * 70_000 + b"\n" + line(heidi))
    assert not comes_in(heidi)


@pytest.mark.parametrize("what", ["mkfifo", "mkdir"])
def test_what_is_no_file_holds_nobody_up(heidi: Client, what: str) -> None:
    run(heidi, f"{what} .ssh/authorized_keys")
    assert not comes_in(heidi)
    run(heidi, "true")


def test_it_is_read_with_the_owners_permissions(heidi: Client) -> None:
    """A key in a file that the owner may not read is not the owner's."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    write(heidi, line(heidi))
    path = heidi.server.data / "home" / heidi.name / ".ssh" / "authorized_keys"
    path.chmod(0o000)
    assert not comes_in(heidi)
    path.chmod(0o600)
    assert comes_in(heidi)
    os.chown(path, 0, 0)
    assert not comes_in(heidi)
