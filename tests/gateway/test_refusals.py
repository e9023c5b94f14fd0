"""Who does not come in, and is told why; and who has to go."""

from __future__ import annotations

import os
import socket
import subprocess
import time

import pytest

from tests.gateway.client import PASSWORD, Client, SshServer, eventually, finished, make_key


@pytest.fixture(scope="module")
def bob(door: SshServer) -> Client:
    return door.person("bob")


def refused(client: Client, to: str, says: str) -> None:
    answer = client.ssh("--", "echo in", to=f"{to}@127.0.0.1")
    assert answer.stdout == b""
    assert answer.returncode == 255
    assert says in answer.stderr.decode(), answer


def test_another_key_is_not_enough(alice: Client, door: SshServer) -> None:
    stranger = Client(door, "alice", "", door.folder / "stranger")
    make_key(stranger.key)
    refused(stranger, f"alice+{alice.job}", "Permission denied")


def test_a_key_is_good_for_its_owner_only(alice: Client, bob: Client) -> None:
    refused(bob, f"alice+{alice.job}", "Permission denied")


def test_a_removed_key_opens_nothing(door: SshServer) -> None:
    carol = door.person("carol")
    carol.run()
    assert carol.said("echo in") == b"in\n"
    (key,) = carol.call("GET", "/ssh-keys")["keys"]
    carol.call("DELETE", f"/ssh-keys/{key['id']}")
    refused(carol, f"carol+{carol.job}", "Permission denied")


def test_anothers_job_stays_closed(alice: Client, bob: Client) -> None:
    refused(bob, f"bob+alice+{alice.job}", "There is no job alice/box-1")


def test_an_admin_enters_it_by_its_owners_name(alice: Client, door: SshServer) -> None:
    admin = door.person("root-of-all")
    door.call("PATCH", "/users/root-of-all", {"role": "admin"})
    said = admin.ssh("--", "whoami", to=f"root-of-all+alice+{alice.job}@127.0.0.1")
    assert said.stdout == b"alice\n", said
    entered = door.get("/audit?act=job.entered&actor=root-of-all")["lines"]
    assert [line["thing"].endswith(alice.job) for line in entered] == [True]


def test_a_job_that_has_ended_or_never_was(bob: Client) -> None:
    ended = bob.run("true; sleep 0.2", name="short")
    eventually(lambda: bob.call("GET", f"/jobs/{ended}")["state"] == "succeeded")
    refused(bob, f"bob+{ended}", f"{ended} is not running but")
    refused(bob, "bob+nothing-7", "nothing-7")


def test_a_one_time_password_is_changed_first(alice: Client, door: SshServer) -> None:
    once = door.post("/users", {"name": "newcomer"})["password"]
    answer = alice.with_password(once, "echo in", to=f"newcomer+{alice.job}@127.0.0.1")
    assert b"Change your one-time password first" in answer.stderr, answer
    assert answer.stdout == b""
    tokens = door.get("/tokens?user=newcomer")["tokens"]
    assert [token for token in tokens if token["kind"] == "ssh"] == []


def test_guessing_is_slowed_down_and_written_down(bob: Client, door: SshServer) -> None:
    dave = door.person("dave")
    job = dave.run()
    for _ in range(40):
        answer = bob.with_password("wrong", "echo in", to=f"dave+{job}@127.0.0.1")
        assert answer.stdout == b""
        if b"Too many" in answer.stderr:
            break
        assert b"Permission denied" in answer.stderr
    else:
        pytest.fail(f"never slowed down: {answer}")
    failures = door.get("/audit?act=login.failed")["lines"]
    assert any(line["thing"] == "dave" for line in failures)
    assert dave.said("echo in") == b"in\n", "a key is no guess"


def failures_of(door: SshServer, name: str) -> int:
    lines = door.get("/audit?act=login.failed")["lines"]
    return sum(line["thing"] == name for line in lines)


def test_a_program_that_can_ask_nobody_guesses_nothing(door: SshServer) -> None:
    """`ssh` in a script, without a key: it sends an empty password for each of its prompts."""
    grace = door.person("grace")
    words = grace.words("-o", "PubkeyAuthentication=no", "--", "echo in", typed=True)
    unasked = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "SSH_ASKPASS")}
    for _ in range(3):
        answer = finished(words, env=unasked, start_new_session=True)
        assert b"Permission denied" in answer.stderr, answer
    assert failures_of(door, "grace") == 0


def test_the_same_password_again_is_one_guess(door: SshServer) -> None:
    heidi = door.person("heidi")
    ask = door.folder / "ask-heidi"
    env = {**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
    words = heidi.words("-o", "PubkeyAuthentication=no", "--", "echo in", typed=True)
    ask.write_text("#!/bin/sh\necho mistyped\n")
    ask.chmod(0o755)
    assert finished(words, env=env).returncode == 255
    assert failures_of(door, "heidi") == 1
    ask.write_text("#!/bin/sh\nmktemp -u XXXXXXXXXXXX\n")  # another one each time
    assert finished([*words[:1], "-o", "NumberOfPasswordPrompts=2", *words[1:]], env=env).returncode
    assert failures_of(door, "heidi") == 5, "two of each kind"


def test_who_is_disabled_has_to_go_at_once(door: SshServer) -> None:
    erin = door.person("erin")
    job = erin.run()
    inside = erin.open("--", "echo ready; exec sleep 1000", stderr=subprocess.PIPE)
    assert inside.stdout is not None
    assert inside.stdout.readline() == b"ready\n"
    assert [each["kind"] for each in door.get("/tokens?user=erin")["tokens"]].count("ssh") == 1
    door.post("/users/erin/disable")
    _, said = inside.communicate(timeout=60)
    assert inside.returncode == 255
    assert b"may no longer enter" in said
    refused(erin, f"erin+{job}", "This account is disabled")


def test_a_sign_in_lasts_as_long_as_its_connection(alice: Client) -> None:
    def kinds() -> list[str]:
        return [each["kind"] for each in alice.call("GET", "/tokens")["tokens"]]

    with alice.open("--", "echo ready; cat") as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == b"ready\n"
        assert "ssh" in kinds()
    eventually(lambda: "ssh" not in kinds())


def test_strangers_do_not_fill_the_door(alice: Client) -> None:
    """Of those who never sign in, so many stay; and not for ever."""
    assert alice.said("echo in") == b"in\n"
    idle = [socket.create_connection(("127.0.0.1", alice.server.ssh_port), 10) for _ in range(130)]
    try:
        time.sleep(0.5)
        greeted = sum(b"SSH-2.0" in _first(each) for each in idle)
        assert 0 < greeted <= 100
    finally:
        for each in idle:
            each.close()
    eventually(lambda: alice.ssh("--", "echo in").stdout == b"in\n")


def _first(link: socket.socket) -> bytes:
    try:
        return link.recv(100)
    except OSError:
        return b""


def test_the_port_is_told_to_members(bob: Client, door: SshServer) -> None:
    assert bob.call("GET", "/server")["ssh_port"] == door.ssh_port


def test_the_fingerprint_is_told_to_members(bob: Client, door: SshServer) -> None:
    scanned = finished(["ssh-keyscan", "-t", "ed25519", "-p", str(door.ssh_port), "127.0.0.1"])
    shown = finished(["ssh-keygen", "-l", "-f", "-"], input=scanned.stdout).stdout.decode()
    told = bob.call("GET", "/server")["ssh_host_key"]
    assert told.startswith("SHA256:")
    assert shown.split()[1] == told, shown


def test_passwords_of_nobody_are_refused_alike(bob: Client) -> None:
    answer = bob.with_password(PASSWORD, "echo in", to="nobody-here+job-1@127.0.0.1")
    assert b"Permission denied" in answer.stderr
