"""`danlu user`: accounts and account requests."""

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
    from collections.abc import Mapping
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_WORDS = {
    "list": 0,
    "requests": 0,
    "show": 1,
    "add": 1,
    "set": 1,
    "password": 1,
    "disable": 1,
    "enable": 1,
    "remove": 1,
    "approve": 1,
    "decline": 1,
    "hand-over": 2,
}


def user(session: Session, args: Args) -> int:
    verb, *words = args.words
    if _WORDS.get(verb) != len(words):
        raise misused(args)
    if verb == "list":
        return _list(session, args)
    if verb == "requests":
        return _requests(session)
    if verb == "hand-over":
        make_sure(args, "sure.hand_over", name=words[0], to=words[1])
        return _hand_over(session, *words)
    name = words[0]
    found = _act(session, args, verb, name)
    if session.json:
        return session.print_json(found)
    if verb in ("show", "set"):
        _show(found)
    elif verb in ("add", "password"):
        sys.stdout.write(t(f"user.{verb}", name=name, password=found["password"]) + "\n")
    else:
        sys.stdout.write(t(f"user.{verb}", name=name) + "\n")
    return codes.OK


def _act(session: Session, args: Args, verb: str, name: str) -> Mapping[str, Any]:
    people = session.client.people
    if verb == "show":
        return people.user(name)
    if verb == "add":
        values = _values(args)
        values |= {"groups": args.all("group"), "leads": args.all("lead")}
        return people.add_user(name, trusted=args.flag("trusted"), **values)
    if verb == "set":
        changes = _values(args)
        if not changes:
            raise UsageError("user.no_change", "user")
        return people.change_user(name, **changes)
    if verb == "disable":
        return people.disable_user(name, stop_jobs=args.flag("stop-jobs"))
    if verb == "remove":
        make_sure(args, "sure.user", name=name)
    simple = {
        "password": people.reset_password,
        "enable": people.enable_user,
        "remove": people.remove_user,
        "approve": people.approve,
        "decline": people.decline,
    }
    return simple[verb](name)


def _values(args: Args) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for option, key in (("full-name", "full_name"), ("role", "role")):
        if args.get(option) is not None:
            values[key] = args.get(option)
    for option in ("uid", "gid"):
        if args.get(option) is not None:
            values[option] = args.integer(option)
    return values


def _list(session: Session, args: Args) -> int:
    groups = args.all("group")
    found = session.client.people.users(
        status=args.get("status"), group=groups[0] if groups else None
    )
    if session.json:
        return session.print_json({"users": found})
    heads = ("name", "full_name", "role", "status", "uid", "groups")
    write_table(
        [t(f"user.head_{head}") for head in heads],
        [
            [
                each["name"],
                each["full_name"],
                t(f"role.{each['role']}"),
                t(f"status.{each['status']}"),
                "-" if each["uid"] is None else str(each["uid"]),
                _groups(each),
            ]
            for each in found
        ],
    )
    return codes.OK


def _groups(found: model.User) -> str:
    leads = found["leads"]
    return ", ".join(f"{name}*" if name in leads else name for name in found["groups"])


def _show(found: Mapping[str, Any]) -> None:
    rows = [
        ("name", found["name"]),
        ("full_name", found["full_name"] or "-"),
        ("role", t(f"role.{found['role']}")),
        ("status", t(f"status.{found['status']}")),
        ("groups", ", ".join(found["groups"]) or "-"),
        ("leads", ", ".join(found["leads"]) or "-"),
        ("uid", "-" if found["uid"] is None else f"{found['uid']}:{found['gid']}"),
        ("since", moment(found["created_at"])),
    ]
    for key, value in rows:
        sys.stdout.write(f"{t(f'user.label_{key}')}: {printable(str(value))}\n")


def _requests(session: Session) -> int:
    found = session.client.people.requests()
    if session.json:
        return session.print_json({"requests": found})
    if not found:
        sys.stdout.write(t("user.no_requests") + "\n")
        return codes.OK
    heads = ("name", "full_name", "group", "asked", "address", "note")
    write_table(
        [t(f"user.head_{head}") for head in heads],
        [
            [
                each["name"],
                each["full_name"],
                each["group"] or "-",
                moment(each["created_at"]),
                each["address"],
                each["note"],
            ]
            for each in found
        ],
    )
    return codes.OK


def _hand_over(session: Session, name: str, to: str) -> int:
    done = session.client.people.hand_over(name, to)
    if session.json:
        return session.print_json(done)
    sys.stdout.write(t("user.handed_over", name=name, to=to, jobs=done["jobs"]) + "\n")
    if done["files"]:
        sys.stdout.write(t("user.handed_files", path=printable(done["files"])) + "\n")
    return codes.OK
