"""`danlu token`: tokens for scripts, and active logins."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.failure import complain
from danlu.cli.formats import moment, seconds
from danlu.cli.options import UsageError, misused
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def token(session: Session, args: Args) -> int:
    verb, *words = args.words
    if (verb, len(words)) == ("list", 0):
        return _list(session, args)
    if (verb, len(words)) == ("create", 0):
        return _create(session, args)
    if verb != "revoke" or not words:
        raise misused(args)
    for each in words:
        session.client.people.revoke_token(each)
    if session.json:
        return session.print_json({"revoked": words})
    sys.stdout.write(t("token.revoked", count=len(words)) + "\n")
    return codes.OK


def lasting(args: Args) -> float | None:
    """--expires in seconds; None if not given."""
    given = args.get("expires")
    if given is None:
        return None
    found = seconds(given)
    if not found:
        raise UsageError("usage.not_a_time", args.command.name, option="--expires", value=given)
    return found


def _create(session: Session, args: Args) -> int:
    made = session.client.people.make_token(
        args.get("label") or "",
        scope="read" if args.flag("read-only") else "all",
        expires_in=lasting(args),
    )
    if session.json:
        return session.print_json(made)
    # Alone on standard output, so that scripts can capture it.
    sys.stdout.write(made["token"] + "\n")
    complain(t("token.made", when=moment(made["expires_at"])))
    return codes.OK


def _list(session: Session, args: Args) -> int:
    found = session.client.people.tokens(args.get("user"))
    if session.json:
        return session.print_json({"tokens": found})
    heads = ("id", "kind", "label", "scope", "made", "used", "expires", "address")
    write_table(
        [t(f"token.head_{head}") for head in heads],
        [
            [
                each["id"],
                t(f"token.kind_{each['kind']}") + ("*" if each["current"] else ""),
                each["label"],
                t(f"token.scope_{each['scope']}"),
                moment(each["created_at"]),
                moment(each["last_used_at"]),
                moment(each["expires_at"]),
                each["address"] or "-",
            ]
            for each in found
        ],
    )
    return codes.OK
