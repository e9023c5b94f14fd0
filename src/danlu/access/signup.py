"""Sign-up: with an invitation, or by a request that someone approves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from danlu.access import rules
from danlu.access.audit import note, note_stranger
from danlu.access.errors import AccessError, Clash, NotAllowed, NotThere, TooMany, Unfit
from danlu.access.gate import Gate, digest_of
from danlu.access.names import check_name, check_text
from danlu.access.passwords import check_new, one_time_password
from danlu.access.people import NewPerson, People, Person, taken
from danlu.access.principal import Asker
from danlu.spec.ids import uuid7
from danlu.spec.text import Text
from danlu.store import groups, signups, users
from danlu.store.rows import InviteRow, RequestRow
from danlu.store.store import Store
from danlu.store.tx import Tx

WAYS = ("request", "invite", "off")
MOST_REQUESTS = 500
MOST_USES = 10_000
USUAL_SECONDS = 14 * 86400.0
LONGEST_SECONDS = 366 * 86400.0


@dataclass(frozen=True, slots=True)
class Application:
    name: str
    password: str = field(repr=False)
    full_name: str = ""
    code: str | None = field(default=None, repr=False)
    group: str | None = None
    note: str = ""


class SignUp:
    def __init__(self, store: Store, gate: Gate, people: People, way: str = "request") -> None:
        """`way`: "request" lets strangers ask, "invite" requires a code, "off" disables sign-up."""
        self._store = store
        self._gate = gate
        self._people = people
        self._way = way

    # -- strangers ----------------------------------------------------------------------------

    async def sign_up(self, asked: Application, address: str) -> Person | None:
        """With a code, returns the new account; without one, None: the request awaits approval."""
        self._gate.door.stranger(address)
        if self._way == "off" or (self._way == "invite" and not asked.code):
            raise _closed(self._way)
        check_name(asked.name)
        check_new(asked.password, asked.name)
        check_text(asked.full_name, "full_name")
        check_text(asked.note, "note")
        if asked.code:
            # Checked before the costly part, so a wrong code costs the server almost nothing.
            await self._store.read(lambda tx: good_invite(tx, asked.code or ""))
        hashed = await self._gate.hashing.hash(asked.password)
        if asked.code:
            person = await self._join(asked, hashed, address)
            self._gate.door.welcomed(address)
            return person
        await self._ask(asked, hashed, address)
        return None

    async def _join(self, asked: Application, hashed: str, address: str) -> Person:
        def op(tx: Tx) -> Person:
            invite = good_invite(tx, asked.code or "")
            if signups.get_request(tx, asked.name) is not None:
                raise taken(asked.name)
            signups.use_invite(tx, invite.id)
            wanted = [invite.group] if invite.group else []
            new = NewPerson(asked.name, asked.full_name, groups=wanted)
            person = self._people.insert(tx, new, hashed, must_change=False)
            told = {"invitation": invite.id, "by": invite.created_by, "groups": wanted}
            note_stranger(tx, address, "signup.joined", asked.name, **told)
            return person

        return await self._store.write(op)

    async def _ask(self, asked: Application, hashed: str, address: str) -> None:
        row = RequestRow(
            uuid7(),
            asked.name,
            asked.full_name.strip(),
            hashed,
            asked.group or None,
            asked.note.strip(),
            time.time(),
            address,
        )

        def op(tx: Tx) -> None:
            if users.get_user(tx, row.name) or signups.get_request(tx, row.name):
                raise taken(row.name)
            if signups.count_requests(tx) >= MOST_REQUESTS:
                raise TooMany(3600.0)
            signups.insert_request(tx, row)
            note_stranger(tx, address, "signup.asked", row.name, group=row.group)

        await self._store.write(op)

    # -- deciding -----------------------------------------------------------------------------

    async def requests(self, asker: Asker) -> list[RequestRow]:
        """The requests a principal may decide on."""
        found = await self._store.read(signups.list_requests)
        return [row for row in found if rules.lets_in(asker.who, row.group)]

    async def approve(self, asker: Asker, name: str) -> Person:
        def op(tx: Tx) -> Person:
            row = _asked(tx, asker, name)
            group = groups.get_group(tx, row.group) if row.group else None
            wanted = [group.name] if group is not None and group.status == "active" else []
            signups.settle_request(tx, row.id)
            new = NewPerson(row.name, row.full_name, groups=wanted)
            person = self._people.insert(tx, new, row.password_hash, must_change=False)
            note(tx, asker, "request.approved", row.name, groups=wanted)
            return person

        return await self._store.write(op)

    async def decline(self, asker: Asker, name: str) -> RequestRow:
        def op(tx: Tx) -> RequestRow:
            row = _asked(tx, asker, name)
            signups.settle_request(tx, row.id)
            note(tx, asker, "request.declined", row.name, group=row.group)
            return row

        return await self._store.write(op)

    # -- invitations --------------------------------------------------------------------------

    async def invite(
        self,
        asker: Asker,
        group: str | None,
        uses: int = 1,
        lasts: float = USUAL_SECONDS,
        text: str = "",
    ) -> tuple[str, InviteRow]:
        """The code, and the stored invitation."""
        if group is not None and not rules.sees_group(asker.who, group):
            raise NotThere(Text(f"group {group[:40]}", f"组 {group[:40]}"))
        if not rules.lets_in(asker.who, group):
            raise NotAllowed(
                Text(
                    "Leaders can invite to the group they lead, admins to any group",
                    "组长可以邀请加入自己的组，管理员可以邀请加入任何组",
                ),
            )
        if not 1 <= uses <= MOST_USES:
            raise Unfit("uses", Text(f"must be from 1 to {MOST_USES}", f"请写 1 到 {MOST_USES}"))
        if not 0 < lasts <= LONGEST_SECONDS:
            raise Unfit("expires_in", Text("must be at most a year", "请写不超过一年的时间"))
        code, now = one_time_password(), time.time()
        row = InviteRow(uuid7(), _digest(code), code[:4], None, asker.name, now, now + lasts, uses)
        row.note = check_text(text, "note")

        def op(tx: Tx) -> InviteRow:
            if group is not None:
                found = groups.get_group(tx, group)
                if found is None or found.status != "active":
                    raise NotThere(Text(f"group {group[:40]}", f"组 {group[:40]}"))
                row.group_id, row.group = found.id, found.name
            signups.insert_invite(tx, row)
            note(tx, asker, "invite.made", row.id, group=group, uses=uses)
            return row

        return code, await self._store.write(op)

    async def invites(self, asker: Asker) -> list[InviteRow]:
        found = await self._store.read(signups.list_invites)
        return [row for row in found if rules.lets_in(asker.who, row.group)]

    async def revoke(self, asker: Asker, invite_id: str) -> InviteRow:
        def op(tx: Tx) -> InviteRow:
            row = signups.get_invite(tx, invite_id)
            if row is None or not rules.lets_in(asker.who, row.group):
                raise NotThere(Text(f"invitation {invite_id[:40]}", f"邀请 {invite_id[:40]}"))
            signups.revoke_invite(tx, row.id)
            note(tx, asker, "invite.revoked", row.id, group=row.group)
            return row

        return await self._store.write(op)


def _digest(code: str) -> str:
    """Codes are copied by hand, so case and dashes do not matter."""
    return digest_of("".join(code.lower().split()).replace("-", ""))


def good_invite(tx: Tx, code: str) -> InviteRow:
    """Wrong, used up, expired and revoked codes get the same error. Raises Unfit."""
    row = signups.find_invite(tx, _digest(code))
    expired = row is not None and row.expires_at is not None and row.expires_at <= time.time()
    if row is None or expired or row.used >= row.uses:
        raise Unfit(
            "code",
            Text(
                "is not a valid invitation, or has expired; ask for a new one",
                "不是有效的邀请码，或已失效；请向邀请人索取新的",
            ),
        )
    return row


def _asked(tx: Tx, asker: Asker, name: str) -> RequestRow:
    row = signups.get_request(tx, name)
    if row is None or not rules.lets_in(asker.who, row.group):
        raise NotThere(Text(f"request of {name[:40]}", f"{name[:40]} 的申请"))
    return row


def _closed(way: str) -> AccessError:
    if way == "invite":
        return Clash(
            "invite_only",
            Text(
                "Signing up requires an invitation; ask an admin or a group leader for a code",
                "这里需要邀请码才能注册；请向管理员或组长索取",
            ),
        )
    return Clash(
        "closed",
        Text(
            "Sign-up is disabled; ask an admin for an account", "这里由管理员开设账号；请联系管理员"
        ),
    )
