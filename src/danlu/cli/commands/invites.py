"""`danlu invite`: invitation codes."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.commands.tokens import lasting
from danlu.cli.failure import complain
from danlu.cli.formats import moment
from danlu.cli.options import misused
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def invite(session: Session, args: Args) -> int:
    verb, *words = args.words
    if (verb, len(words)) == ("list", 0):
        return _list(session)
    if (verb, len(words)) == ("create", 0):
        return _create(session, args)
    if verb != "revoke" or not words:
        raise misused(args)
    for each in words:
        session.client.people.revoke_invite(each)
    if session.json:
        return session.print_json({"revoked": words})
    sys.stdout.write(t("invite.revoked", count=len(words)) + "\n")
    return codes.OK


def _create(session: Session, args: Args) -> int:
    uses = args.integer("uses")
    made = session.client.people.invite(
        args.get("group"),
        uses=1 if uses is None else uses,
        expires_in=lasting(args),
        note=args.get("note") or "",
    )
    if session.json:
        return session.print_json(made)
    sys.stdout.write(made["code"] + "\n")
    server = session.client.wire.address.text
    when = moment(made["expires_at"])
    complain(t("invite.made", server=server, code=made["code"], uses=made["uses"], when=when))
    if made["group"] is not None:
        complain(t("invite.made_group", code=made["code"]))
    return codes.OK


def _list(session: Session) -> int:
    found = session.client.people.invites()
    if session.json:
        return session.print_json({"invites": found})
    if not found:
        sys.stdout.write(t("invite.none") + "\n")
        return codes.OK
    heads = ("id", "begins", "group", "used", "by", "expires", "note")
    write_table(
        [t(f"invite.head_{head}") for head in heads],
        [
            [
                each["id"],
                f"{each['begins']}-...",
                each["group"] or "-",
                f"{each['used']}/{each['uses']}",
                each["created_by"],
                moment(each["expires_at"]),
                each["note"],
            ]
            for each in found
        ],
    )
    return codes.OK
