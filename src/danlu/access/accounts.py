"""Everything about people, assembled once."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.access.circle import Circle
from danlu.access.gate import Gate
from danlu.access.groups import Groups
from danlu.access.identities import Identities
from danlu.access.people import People
from danlu.access.sign_in import SignIn
from danlu.access.signup import SignUp
from danlu.access.tickets import Tickets
from danlu.access.tokens import Tokens
from danlu.store.store import Store


@dataclass(frozen=True, slots=True)
class Accounts:
    people: People
    groups: Groups
    tokens: Tokens
    signup: SignUp
    sign_in: SignIn
    tickets: Tickets


def accounts(
    store: Store, gate: Gate, known: Identities, circle: Circle, way: str = "request"
) -> Accounts:
    people = People(store, gate, known, circle)
    return Accounts(
        people,
        Groups(store, gate, known),
        Tokens(store, gate),
        SignUp(store, gate, people, way),
        SignIn(store, gate),
        Tickets(gate),
    )
