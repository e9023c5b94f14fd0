"""Ten thousand wrong passwords, and as many wrong tokens: slowed down, written down, useless."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

from danlu.access.gate import new_token
from tests.api.harness import PATIENCE, Harness
from tests.api.people_harness import (
    PASSWORD,
    PROXY,
    PeopleHarness,
    caller,
    elsewhere,
    through_proxy,
)

MANY = 10_000


class Guesser:
    """One connection from one address: as fast as the server answers."""

    def __init__(self, harness: Harness, address: str) -> None:
        port = harness.server.port
        self._line = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=PATIENCE, source_address=(PROXY, 0)
        )
        self._from = through_proxy(address)
        self.seen: Counter[int] = Counter()
        self.waits: list[int] = []

    def password(self, user: str, password: str) -> int:
        body = json.dumps({"user": user, "password": password})
        return self._ask("POST", "/login", body, {"Content-Type": "application/json"})

    def token(self, token: str) -> int:
        return self._ask("GET", "/whoami", None, {"Authorization": f"Bearer {token}"})

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> int:
        self._line.request(method, f"/danlu/v1{path}", body, headers | self._from)
        answer = self._line.getresponse()
        answer.read()
        self.seen[answer.status] += 1
        if answer.status == 429:
            self.waits.append(int(answer.headers["Retry-After"]))
        return answer.status

    def close(self) -> None:
        self._line.close()


@contextmanager
def guessing(harness: Harness, address: str) -> Iterator[Guesser]:
    with closing(Guesser(harness, address)) as guesser:
        yield guesser


def test_ten_thousand_wrong_passwords(harness: Harness, people_harness: PeopleHarness) -> None:
    victim, address = people_harness.person(), elsewhere()
    with guessing(harness, address) as guesser:
        for number in range(MANY):
            name = victim.name if number % 2 else f"nobody{number % 100}"
            status = guesser.password(name, f"guess {number}")
            assert status in (401, 429)
            if number == MANY // 2:
                # The owner is elsewhere, and comes in while it goes on.
                assert people_harness.sign_in(victim.name).get("/whoami")["user"] == victim.name
        assert guesser.password(victim.name, PASSWORD) == 429, "there not even the right one"
        assert guesser.token(victim.token) == 200, "a token works from there all the same"
    assert guesser.seen[401] < 100, "so many real looks at a password are all it got"
    assert guesser.seen[429] == MANY + 1 - guesser.seen[401]
    assert all(1 <= wait <= 300 for wait in guesser.waits)
    lines = [line for line in people_harness.acts() if line["address"] == address]
    failed = [line for line in lines if line["act"] == "login.failed"]
    unseen = sum(line["data"]["count"] for line in lines if line["act"] == "login.throttled")
    assert len(failed) == guesser.seen[401]
    assert unseen == guesser.seen[429]
    assert len(lines) < 200, "a flood does not fill the disk with lines"
    assert {line["thing"] for line in failed} <= {victim.name, "?"}


def test_ten_thousand_wrong_tokens(harness: Harness, people_harness: PeopleHarness) -> None:
    person, address = people_harness.person(), elsewhere()
    with guessing(harness, address) as guesser:
        for number in range(MANY):
            assert guesser.token(new_token()) in (401, 429)
            if number % 1000 == 999:
                assert guesser.token(person.token) == 200, "who sits at the same address is let in"
    assert guesser.seen[401] < 100
    assert guesser.seen[401] + guesser.seen[429] == MANY
    lines = [line for line in people_harness.acts(act="token.wrong") if line["address"] == address]
    assert sum(line["data"]["count"] for line in lines) == MANY
    assert len(lines) < 100


def test_codes_of_invitations_are_not_guessed_either(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    order = {"name": people_harness.name(), "password": PASSWORD, "code": "aaaa-aaaa-aaaa-aaaa"}
    with caller(harness.server, None) as there:
        statuses = [there.post("/sign-up", json=order).status_code for _ in range(50)]
    assert Counter(statuses)[429] >= 35
    assert set(statuses) == {422, 429}
    invite = people_harness.admin.do("POST", "/invites", {})
    with caller(harness.server, None) as here:
        order["code"] = invite["code"]
        assert here.post("/sign-up", json=order).status_code == 201


def test_a_class_behind_one_address_signs_up(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    invite = people_harness.admin.do("POST", "/invites", {"uses": 15})
    with caller(harness.server, None) as room:
        for _ in range(15):
            order = {"name": people_harness.name(), "password": PASSWORD, "code": invite["code"]}
            assert room.post("/sign-up", json=order).status_code == 201
