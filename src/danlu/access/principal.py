"""The principal of a request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """The person behind a token, with their current rights: what every rule is decided on."""

    name: str
    role: str = "member"  # or "admin"
    user_id: str = ""
    groups: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    scope: str = "all"  # or "read"
    token_id: str = ""
    kind: str = "session"  # or "browser", "personal", "machine"
    must_change: bool = False  # a one-time password only allows changing it

    @property
    def admin(self) -> bool:
        return self.role == "admin"


@dataclass(frozen=True, slots=True)
class Asker:
    """The principal and their address, as recorded in the audit log."""

    who: Principal
    address: str = ""

    @property
    def name(self) -> str:
        return self.who.name
