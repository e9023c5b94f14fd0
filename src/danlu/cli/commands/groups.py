"""`danlu group`: groups, members and leaders."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import moment
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_VERBS = ("show", "add", "set", "remove", "join", "add-member", "remove-member")


def group(session: Session, args: Args) -> int:
    verb, *words = args.words
    if (verb, len(words)) == ("list", 0):
        return _list(session)
    members = verb.endswith("-member")
    if verb not in _VERBS or (len(words) < 2 if members else len(words) != 1):
        raise misused(args)
    if args.flag("leader") and args.flag("no-leader"):
        raise UsageError("usage.not_both", "group", one="--leader", other="--no-leader")
    found = _act(session, args, verb, words)
    if session.json:
        return session.print_json(found)
    if verb == "remove":
        sys.stdout.write(t("group.gone", name=found["name"]) + "\n")
    else:
        _show(found)
    return codes.OK


def _act(session: Session, args: Args, verb: str, words: list[str]) -> model.Group:
    people = session.client.people
    name, *users = words
    if verb == "join":
        return people.join(name)
    if verb == "add":
        return people.add_group(name, args.get("note") or "")
    if verb == "set":
        note = args.get("note")
        if note is None:
            raise UsageError("group.no_change", "group")
        return people.change_group(name, note)
    if verb == "remove":
        make_sure(args, "sure.group", name=name)
        return people.remove_group(name)
    leader = True if args.flag("leader") else False if args.flag("no-leader") else None
    for each in users:
        if verb == "add-member":
            people.put_member(name, each, leader)
        else:
            found = people.remove_member(name, each)
    # Someone who left a group can no longer see it.
    return found if verb == "remove-member" else people.group(name)


def _list(session: Session) -> int:
    found = session.client.people.groups()
    if session.json:
        return session.print_json({"groups": found})
    if not found:
        sys.stdout.write(t("group.none") + "\n")
        return codes.OK
    heads = ("name", "leaders", "members", "note")
    write_table(
        [t(f"group.head_{head}") for head in heads],
        [
            [
                each["name"],
                ", ".join(m["user"] for m in each["members"] if m["leader"]) or "-",
                str(len(each["members"])),
                each["note"],
            ]
            for each in found
        ],
    )
    return codes.OK


def _show(found: model.Group) -> None:
    head = found["name"] if not found["note"] else f"{found['name']}: {found['note']}"
    sys.stdout.write(printable(head) + "\n")
    if not found["members"]:
        sys.stdout.write(t("group.empty") + "\n")
        return
    write_table(
        [t("group.head_user"), t("group.head_part"), t("group.head_since")],
        [
            [
                each["user"],
                t("group.leader") if each["leader"] else t("group.member"),
                moment(each["joined_at"]),
            ]
            for each in found["members"]
        ],
    )
