"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """A person behind a token, as they are now: what every rule is about."""

    name: str
    role: str = "member"  # or "admin"
    user_id: str = ""
    groups: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    scope: str = "all"  # or "read"
    token_id: str = ""
    kind: str = "session"  # or "personal", "machine"
    must_change: bool = False  # a one-time password opens nothing but the change of it

    @property
    def admin(self) -> bool:
        return self.role == "admin"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and from where: what the audit log is told."""

    who: Principal
    address: str = ""

    @property
    def name(self) -> str:
        return self.who.name
