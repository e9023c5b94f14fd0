"""Who may do what: the one place that decides.

Pure functions over a principal and plain values. Whoever may not see a thing is told that it does
not exist; whoever may see it but not do this with it is told that they may not.
"""

from __future__ import annotations

from collections.abc import Collection

from danlu.access.principal import Principal
from danlu.store.rows import Sight


def may_change(who: Principal) -> bool:
    """A token for reading changes nothing, whoever it belongs to."""
    return who.scope == "all"


# -- jobs ---------------------------------------------------------------------------------------


def sees_job(who: Principal, owner: str, group: str | None) -> bool:
    """Its state, its file, its log. A leader sees the jobs of the group."""
    return who.admin or owner == who.name or group in who.leads


def changes_job(who: Principal, owner: str) -> bool:
    """Stop, hold, release."""
    return may_change(who) and (who.admin or owner == who.name)


def enters_job(who: Principal, owner: str) -> bool:
    """Its input, and commands inside it."""
    return changes_job(who, owner)


def sight(who: Principal) -> Sight | None:
    """`sees_job` for the database: whose jobs; None: everybody's."""
    return None if who.admin else Sight(who.name, tuple(sorted(who.leads)))


def submits_for(who: Principal, group: str) -> bool:
    return group in who.groups


def usual_group(who: Principal) -> str | None:
    """What a job counts for that names no group: the only one its owner is in."""
    return next(iter(who.groups)) if len(who.groups) == 1 else None


# -- people -------------------------------------------------------------------------------------


def manages_people(who: Principal) -> bool:
    """Add, disable, enable, remove, hand over, give roles and numbers."""
    return who.admin


def sees_person(who: Principal, name: str, groups: Collection[str]) -> bool:
    """`groups`: those the person is in."""
    return who.admin or name == who.name or not who.leads.isdisjoint(groups)


def renames_person(who: Principal, name: str) -> bool:
    """The full name; the name itself never changes."""
    return who.admin or name == who.name


def sees_tokens(who: Principal, name: str) -> bool:
    """Lists and revokes them; a token itself is never shown again."""
    return who.admin or name == who.name


def makes_tokens(who: Principal) -> bool:
    """A personal token makes no others: so a stolen one ends when it says it does."""
    return who.kind != "personal"


# -- groups -------------------------------------------------------------------------------------


def manages_groups(who: Principal) -> bool:
    """Make and remove them, and say who leads."""
    return who.admin


def sees_group(who: Principal, group: str) -> bool:
    return who.admin or group in who.groups


def changes_members(who: Principal, group: str) -> bool:
    return who.admin or group in who.leads


def takes_out(who: Principal, group: str, name: str) -> bool:
    """Anybody may leave."""
    return changes_members(who, group) or (name == who.name and group in who.groups)


def lets_in(who: Principal, group: str | None) -> bool:
    """Invites, and decides on requests: a leader for the group, an admin for all."""
    return who.admin or (group is not None and group in who.leads)


# -- the place itself ---------------------------------------------------------------------------


def runs_server(who: Principal) -> bool:
    return who.admin


def manages_volumes(who: Principal) -> bool:
    """Declare, change and take back. Who may mount one is the volume's own list."""
    return who.admin


def schedules(who: Principal) -> bool:
    """Queues, quotas, nodes taken out."""
    return who.admin


def sees_quota(who: Principal, user: str | None, group: str | None) -> bool:
    """One's own, and those of one's groups."""
    return who.admin or user == who.name or (group is not None and group in who.groups)


def reads_audit(who: Principal) -> bool:
    return who.admin
