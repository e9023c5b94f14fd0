"""SSH keys of one's own, kept for signing in over SSH."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PeopleHarness, public_key
from tests.support.server import DanluServer


@pytest.fixture
def people(server: DanluServer) -> Iterator[PeopleHarness]:
    people = PeopleHarness(Harness(server))
    yield people
    people.close()


def blob(*fields: bytes) -> str:
    packed = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return base64.b64encode(packed).decode()


def test_a_key_is_kept_with_its_comment_and_fingerprint(people: PeopleHarness) -> None:
    alice = people.person()
    line = public_key("alice@laptop")
    made = alice.do("POST", "/ssh-keys", {"key": f"  {line}\n"})
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    assert made["fingerprint"] == "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
    assert made["label"] == "alice@laptop"
    assert made["key"] == " ".join(line.split()[:2])
    assert alice.get("/ssh-keys")["keys"] == [made]
    alice.do("DELETE", f"/ssh-keys/{made['id']}")
    assert alice.get("/ssh-keys")["keys"] == []
    acts = [line["act"] for line in people.acts(actor=alice.name)]
    assert acts[-2:] == ["ssh_key.added", "ssh_key.removed"]


def test_nobody_sees_or_removes_anothers_key(people: PeopleHarness) -> None:
    alice, bob = people.person(), people.person()
    made = alice.do("POST", "/ssh-keys", {"key": public_key(), "label": "laptop"})
    assert bob.get("/ssh-keys")["keys"] == []
    bob.do("DELETE", f"/ssh-keys/{made['id']}", expect=404)
    assert len(alice.get("/ssh-keys")["keys"]) == 1


def test_a_personal_token_adds_no_key_that_would_outlast_it(people: PeopleHarness) -> None:
    alice = people.person()
    script = people.with_token(alice, label="script")
    error = script.do("POST", "/ssh-keys", {"key": public_key()}, expect=403)["error"]
    assert error["code"] == "not_allowed"
    assert "password" in error["message_en"] and "密码" in error["message_zh"]
    assert alice.get("/ssh-keys")["keys"] == []
    made = alice.do("POST", "/ssh-keys", {"key": public_key()})
    assert script.get("/ssh-keys")["keys"] == [made], "it may look"


def test_nobody_can_take_the_key_of_another(people: PeopleHarness) -> None:
    alice, eve = people.person(), people.person()
    line = public_key()
    eve.do("POST", "/ssh-keys", {"key": line})
    made = alice.do("POST", "/ssh-keys", {"key": line})
    assert alice.get("/ssh-keys")["keys"] == [made]
    error = alice.do("POST", "/ssh-keys", {"key": line}, expect=409)["error"]
    assert error["code"] == "key_known"
    eve.do("DELETE", f"/ssh-keys/{eve.get('/ssh-keys')['keys'][0]['id']}")
    assert alice.get("/ssh-keys")["keys"] == [made]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", "private key"),
        ("hello", "not a public SSH key"),
        ("ssh-ed25519 !!!", "not a public SSH key"),
        ("ssh-ed25519 " + blob(b"ssh-rsa", b"x" * 32), "not a public SSH key"),
        ("ssh-ed25519 " + blob(b"ssh-ed25519", b"x" * 32)[:-6], "not a public SSH key"),
        ('command="id" ssh-ed25519 ' + blob(b"ssh-ed25519", b"x" * 32), "not a public SSH key"),
        (f"{public_key()}\n{public_key()}", "not a public SSH key"),
        ("ssh-rsa " + blob(b"ssh-rsa", b"\1\0\1", b"\xff" * 128), "2048 bits"),
    ],
)
def test_what_is_no_public_key_is_refused_with_a_reason(
    people: PeopleHarness, key: str, says: str
) -> None:
    alice = people.person()
    error = alice.do("POST", "/ssh-keys", {"key": key}, expect=422)["error"]
    assert says in error["message_en"]
    assert alice.get("/ssh-keys")["keys"] == []


def test_a_removed_account_leaves_no_key_behind(people: PeopleHarness) -> None:
    alice, bob = people.person(), people.person()
    line = public_key()
    alice.do("POST", "/ssh-keys", {"key": line})
    people.admin.do("POST", f"/users/{alice.name}/disable")
    people.admin.do("DELETE", f"/users/{alice.name}")
    bob.do("POST", "/ssh-keys", {"key": line})
