"""The gate: what it remembers, what it forgets, and that its answers take the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from danlu.access import hashing
from danlu.access.accounts import Accounts, accounts
from danlu.access.circle import Circle
from danlu.access.door import Door
from danlu.access.errors import Clash, NotAllowed, TooMany, WrongPassword
from danlu.access.gate import Gate, create_admin, new_token, token_row
from danlu.access.identities import Identities
from danlu.access.people import NewPerson
from danlu.access.principal import Asker, Principal
from danlu.access.signup import Application
from danlu.access.tickets import LASTS, Tickets
from danlu.store import Store, audit, users
from danlu.store.tx import Tx

PASSWORD = "correct horse 马 battery"


class OpenDoor(Door):
    """Lets everybody try, so that what is behind it can be measured."""

    def knock(self, name: str, address: str) -> None:
        pass

    def stranger(self, address: str) -> None:
        pass


class GateHarness:
    def __init__(self, store: Store, circle: Circle) -> None:
        self.store = store
        self.gate = Gate(store, OpenDoor())
        self.accounts: Accounts = accounts(store, self.gate, Identities(store, None), circle)
        self.admin = Asker(Principal("admin", "admin"), "192.0.2.1")

    async def open(self) -> None:
        row, self.password = create_admin("admin")
        self.admin = Asker(Principal("admin", "admin", row.id), "192.0.2.1")
        await self.store.write(lambda tx: users.insert_user(tx, row))

    async def person(self, name: str) -> Principal:
        code, _ = await self.accounts.signup.invite(self.admin, None)
        await self.accounts.signup.sign_up(Application(name, PASSWORD, code=code), "192.0.2.2")
        found = await self.accounts.sign_in.login(name, PASSWORD, "192.0.2.2")
        who = await self.gate.who(found.secret)
        assert who is not None
        return who


@pytest.fixture
async def gate_harness(store: Store) -> AsyncIterator[GateHarness]:
    gate_harness = GateHarness(store, Circle(apart=True))
    await gate_harness.open()
    yield gate_harness
    await gate_harness.gate.close()


async def test_a_known_a_disabled_a_waiting_and_an_unknown_name_cost_the_same(
    gate_harness: GateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same work, and about the same time: tried in turns, so that a busy machine slows all."""
    await gate_harness.person("alice")
    await gate_harness.person("gone")
    await gate_harness.accounts.people.disable(gate_harness.admin, "gone")
    await gate_harness.accounts.signup.sign_up(Application("waits", PASSWORD), "192.0.2.3")
    looks: list[str] = []
    verify = hashing.verify_password

    def counted(stored: str, password: str) -> bool:
        looks.append(stored[: len("$argon2id$v=19$m=65536,t=3,p=4$")])
        return verify(stored, password)

    monkeypatch.setattr(hashing, "verify_password", counted)
    names = ("alice", "gone", "waits", "nobody")
    took: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(9):
        for name in names:
            before, start = len(looks), time.perf_counter()
            with pytest.raises(WrongPassword):
                await gate_harness.accounts.sign_in.login(name, "wrong", "192.0.2.9")
            took[name].append(time.perf_counter() - start)
            assert len(looks) == before + 1
    assert len(set(looks)) == 1, "each look cost what the others did"
    # The quickest of many: what a busy machine adds is not the name's.
    quickest = {name: min(times) for name, times in took.items()}
    assert max(quickest.values()) < 3 * min(quickest.values()), quickest


async def test_an_answer_read_before_a_change_is_not_remembered_after_it(
    gate_harness: GateHarness,
) -> None:
    """A revocation that falls between the reading of a token and its being remembered."""
    who = await gate_harness.person("alice")
    token = new_token()
    row = token_row(who.user_id, token, "race", lasts=3600)
    await gate_harness.store.write(lambda tx: users.insert_token(tx, row))
    read = gate_harness.store.read

    async def slowly(query: object) -> object:
        found = await read(query)  # type: ignore[arg-type]
        await gate_harness.accounts.tokens.revoke(Asker(who), row.id)
        return found

    gate_harness.store.read = slowly  # type: ignore[assignment, method-assign]
    assert await gate_harness.gate.who(token) is not None, "it was good when it was read"
    gate_harness.store.read = read  # type: ignore[method-assign]
    assert await gate_harness.gate.who(token) is None


async def test_a_remembered_token_ends_when_it_says_so(
    gate_harness: GateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = await gate_harness.person("alice")
    token = new_token()
    row = token_row(who.user_id, token, "short", kind="personal", lasts=3600)
    await gate_harness.store.write(lambda tx: users.insert_token(tx, row))
    assert await gate_harness.gate.who(token) is not None
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3590)
    assert await gate_harness.gate.who(token) is not None
    monkeypatch.setattr(time, "time", lambda: now() + 3601)
    assert await gate_harness.gate.who(token) is None


async def test_too_many_at_once_are_asked_to_come_back(gate_harness: GateHarness) -> None:
    logins = [
        gate_harness.accounts.sign_in.login("admin", f"wrong {n}", "192.0.2.4") for n in range(60)
    ]
    answers = await asyncio.gather(*logins, return_exceptions=True)
    kinds = {type(answer) for answer in answers}
    assert kinds == {WrongPassword, TooMany}
    assert (
        await gate_harness.accounts.sign_in.login("admin", gate_harness.password)
    ).user.name == "admin"


async def test_one_who_watches_is_told_when_it_is_over(gate_harness: GateHarness) -> None:
    who = await gate_harness.person("alice")
    watching = asyncio.create_task(gate_harness.gate.barred(who, lambda now: now.role == "member"))
    await asyncio.sleep(0)
    await gate_harness.accounts.people.change(gate_harness.admin, "alice", {"full_name": "Alice"})
    done, _ = await asyncio.wait({watching}, timeout=0.3)
    assert not done, "what does not matter does not end it"
    await gate_harness.accounts.people.change(gate_harness.admin, "alice", {"role": "admin"})
    await asyncio.wait_for(watching, 180)


async def test_the_audit_log_remembers_what_was_refused_over_a_close(
    gate_harness: GateHarness,
) -> None:
    for _ in range(7):
        assert await gate_harness.gate.who(new_token(), "192.0.2.8") is None
    await gate_harness.gate.close()
    lines = await gate_harness.store.read(lambda tx: audit.lines(tx, act="token.wrong"))
    assert [(line.data["count"], line.address) for line in lines] == [(7, "192.0.2.8")]


async def test_somebody_stays_admin(gate_harness: GateHarness) -> None:
    people, other = gate_harness.accounts.people, Asker(Principal("other", "admin"))
    for change in (
        people.change(other, "admin", {"role": "member"}),
        people.disable(other, "admin"),
        people.remove(other, "admin"),
    ):
        with pytest.raises(Clash) as refusal:
            await change
        assert refusal.value.code == "last_admin"
    assert (await people.show(other, "admin")).row.role == "admin"


# -- without root -----------------------------------------------------------------------------


@pytest.fixture
async def shared(store: Store) -> AsyncIterator[GateHarness]:
    gate_harness = GateHarness(store, Circle(apart=False))
    await gate_harness.open()
    yield gate_harness
    await gate_harness.gate.close()


async def test_without_root_a_second_account_needs_the_admins_word(shared: GateHarness) -> None:
    people, signup = shared.accounts.people, shared.accounts.signup
    with pytest.raises(Clash, match="as root") as refusal:
        await people.add(shared.admin, NewPerson("alice"))
    assert "--trusted" in refusal.value.message.zh and "circle_of_trust" in refusal.value.message.en
    code, _ = await signup.invite(shared.admin, None, uses=2)
    with pytest.raises(Clash):
        await signup.sign_up(Application("bob", PASSWORD, code=code), "")
    await people.add(shared.admin, NewPerson("alice", trusted=True))
    # Once said, it holds, and the invitation was not used up by the refusal.
    await signup.sign_up(Application("bob", PASSWORD, code=code), "")
    await signup.sign_up(Application("carol", PASSWORD, code=code), "")
    names = [person.row.name for person in await people.seen(shared.admin)]
    assert names == ["admin", "alice", "bob", "carol"]


async def test_a_file_that_says_so_is_word_enough(store: Store) -> None:
    gate_harness = GateHarness(store, Circle(apart=False, trusted=True))
    await gate_harness.open()
    await gate_harness.accounts.people.add(gate_harness.admin, NewPerson("alice"))
    await gate_harness.gate.close()


@pytest.mark.parametrize(("way", "refused"), [("invite", "invite_only"), ("off", "closed")])
async def test_an_admin_may_close_the_way_in(store: Store, way: str, refused: str) -> None:
    gate_harness = GateHarness(store, Circle(apart=True))
    gate_harness.accounts = accounts(
        store, gate_harness.gate, Identities(store, None), Circle(apart=True), way
    )
    await gate_harness.open()
    with pytest.raises(Clash) as closed:
        await gate_harness.accounts.signup.sign_up(Application("bob", PASSWORD), "")
    assert closed.value.code == refused
    await gate_harness.gate.close()


async def test_nobody_asks_past_the_rules(gate_harness: GateHarness) -> None:
    who = await gate_harness.person("mallory")
    with pytest.raises(NotAllowed):
        await gate_harness.accounts.people.add(Asker(who), NewPerson("eve", role="admin"))

    def names(tx: Tx) -> list[str]:
        return [row.name for row in users.list_users(tx)]

    assert await gate_harness.store.read(names) == ["admin", "mallory"]


async def test_a_ticket_is_good_for_seconds(gate_harness: GateHarness) -> None:
    now = 0.0
    tickets = Tickets(gate_harness.gate, lambda: now)
    who = await gate_harness.person("alice")
    early, late = tickets.make(who, "door"), tickets.make(who, "door")
    now = LASTS - 0.1
    assert await tickets.redeem(early, "door") == who
    now = LASTS + 0.1
    assert await tickets.redeem(late, "door") is None


async def test_a_known_person_does_not_wait_behind_those_who_guess(
    gate_harness: GateHarness,
) -> None:
    sign_in = gate_harness.accounts.sign_in
    await gate_harness.person("alice")  # from 192.0.2.2
    guesses = [
        asyncio.create_task(sign_in.login("alice", f"wrong {n}", f"198.51.100.{n}"))
        for n in range(60)
    ]
    await asyncio.sleep(0.01)
    found = await sign_in.login("alice", PASSWORD, "192.0.2.2")
    assert found.user.name == "alice"
    still_waiting = [guess for guess in guesses if not guess.done()]
    assert still_waiting, "the owner went first"
    await asyncio.gather(*guesses, return_exceptions=True)
