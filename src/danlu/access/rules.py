"""Authorization: the only place that decides who may do what.

Pure functions over a principal and plain values. What a principal may not see is reported as
missing; what they may see but not do is reported as forbidden.
"""

from __future__ import annotations

from collections.abc import Collection

from danlu.access.principal import Principal
from danlu.registry.names import Owner
from danlu.store.rows import Sight


def may_change(who: Principal) -> bool:
    """A read-only token changes nothing, whoever owns it."""
    return who.scope == "all"


# -- jobs ---------------------------------------------------------------------------------------


def sees_job(who: Principal, owner: str, group: str | None, shared: Collection[str] = ()) -> bool:
    """See its state, file and log. Leaders see the jobs of their group.

    `shared`: whom its environment is shared with; who may enter a task can read all of this there.
    """
    return who.admin or owner == who.name or group in who.leads or who.name in shared


def sees_name(who: Principal, owner: str, group: str | None) -> bool:
    """What a job is called and whose it is, where `server.names` is "group"."""
    return sees_job(who, owner, group) or (group is not None and group in who.groups)


def sees_secrets(who: Principal, owner: str) -> bool:
    """Read its log unmasked: the secrets are the owner's alone."""
    return owner == who.name


def changes_job(who: Principal, owner: str) -> bool:
    """Stop, hold, release."""
    return may_change(who) and (who.admin or owner == who.name)


def enters_job(who: Principal, owner: str, shared: Collection[str] = ()) -> bool:
    """Send it input and run commands inside it; also those with whom its environment is shared."""
    return changes_job(who, owner) or (may_change(who) and who.name in shared)


def changes_environment(who: Principal, owner: str) -> bool:
    """Stop, extend, share, delete."""
    return changes_job(who, owner)


def leaves_environment(who: Principal, owner: str, name: str) -> bool:
    """Take this person out of those it is shared with; anyone may leave."""
    return changes_environment(who, owner) or (may_change(who) and name == who.name)


def shares_environment(who: Principal, owner: str) -> bool:
    """Whoever is let in has all files of its owner: theirs alone to give."""
    return may_change(who) and owner == who.name


def starts_environment(who: Principal, owner: str) -> bool:
    """What runs is a job of its owner and counts towards their quotas: theirs alone to start."""
    return may_change(who) and owner == who.name


def sight(who: Principal) -> Sight | None:
    """`sees_job` as a database filter: whose jobs; None: everyone's."""
    return None if who.admin else Sight(who.name, tuple(sorted(who.leads)))


def submits_for(who: Principal, group: str) -> bool:
    return group in who.groups


def usual_group(who: Principal) -> str | None:
    """The group of a job that names none: its owner's only group, if there is just one."""
    return next(iter(who.groups)) if len(who.groups) == 1 else None


# -- people -------------------------------------------------------------------------------------


def manages_people(who: Principal) -> bool:
    """Add, disable, enable, remove, transfer; set roles and uids."""
    return who.admin


def sees_person(who: Principal, name: str, groups: Collection[str]) -> bool:
    """`groups`: those the person is in."""
    return who.admin or name == who.name or not who.leads.isdisjoint(groups)


def renames_person(who: Principal, name: str) -> bool:
    """The full name; the name itself never changes."""
    return who.admin or name == who.name


def sees_tokens(who: Principal, name: str) -> bool:
    """List and revoke tokens; a token's value is never shown again."""
    return who.admin or name == who.name


def makes_tokens(who: Principal) -> bool:
    """A personal token cannot create others, so a stolen one ends when it expires."""
    return who.kind != "personal"


def adds_ssh_keys(who: Principal) -> bool:
    """One's own. A key added with a stolen personal token would outlast it."""
    return who.kind != "personal"


def ends_sign_ins(who: Principal) -> bool:
    """One's own. A personal token does not: who stole one would shut its owner out with it."""
    return who.kind != "personal"


# -- groups -------------------------------------------------------------------------------------


def manages_groups(who: Principal) -> bool:
    """Create and remove groups, and appoint leaders."""
    return who.admin


def sees_group(who: Principal, group: str) -> bool:
    return who.admin or group in who.groups


def adds_members(who: Principal) -> bool:
    """Without asking them. A leader reads the logs of members, so leaders can only invite."""
    return who.admin


def redeems_invites(who: Principal) -> bool:
    """An admin's jobs stay out of a leader's sight unless an admin decides otherwise."""
    return may_change(who) and not who.admin


def takes_out(who: Principal, group: str, name: str) -> bool:
    """Anyone may leave."""
    return who.admin or group in who.leads or (name == who.name and group in who.groups)


def sees_usage(who: Principal, group: str) -> bool:
    """How much each member used."""
    return who.admin or group in who.leads


def lets_in(who: Principal, group: str | None) -> bool:
    """Invite, and decide on requests: leaders for their group, admins for all."""
    return who.admin or (group is not None and group in who.leads)


# -- the platform ---------------------------------------------------------------------------------


def runs_server(who: Principal) -> bool:
    return who.admin


def manages_volumes(who: Principal) -> bool:
    """Declare, change and remove volumes. Who may mount one is set on the volume."""
    return who.admin


def schedules(who: Principal) -> bool:
    """Queues, quotas and drained nodes."""
    return who.admin


def sees_quota(who: Principal, user: str | None, group: str | None) -> bool:
    """Their own, and those of their groups."""
    return who.admin or user == who.name or (group is not None and group in who.groups)


def reads_audit(who: Principal) -> bool:
    return who.admin


# -- images in the registry -------------------------------------------------------------------


def pushes_image(who: Principal, owner: Owner) -> bool:
    """Push to and delete from a repository. Nobody pushes to the cache of other registries."""
    if not may_change(who):
        return False
    if owner.kind == "user":
        return owner.name == who.name
    if owner.kind == "group":
        return owner.name in who.groups
    return owner.kind == "ready" and who.admin


def deletes_image(who: Principal, owner: Owner) -> bool:
    """Admins make room, also where they do not push."""
    return pushes_image(who, owner) or (may_change(who) and who.admin)


def pulls_image(who: Principal, owner: Owner, shared: bool) -> bool:
    """`shared`: with this person."""
    if owner.kind in ("ready", "hub") or shared or who.admin:
        return True
    return owner.name == who.name if owner.kind == "user" else owner.name in who.groups


def keeps_registry(who: Principal) -> bool:
    """Collect garbage, see what everybody has there."""
    return who.admin
