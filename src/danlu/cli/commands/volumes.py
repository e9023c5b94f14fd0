"""`danlu volume`: folders of the machine that tasks may see."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.commands.volume_requests import WORDS, volume_request
from danlu.cli.failure import complain
from danlu.cli.formats import moment, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_WORDS = {"list": 0, "show": 1, "add": 2, "set": 1, "remove": 1, "measure": 1}
_PAIRS = (("read-only", "writable"), ("everywhere", "on-request"))


def volume(session: Session, args: Args) -> int:
    verb, *words = args.words
    if WORDS.get(verb) == len(words):
        return volume_request(session, args)
    if _WORDS.get(verb) != len(words):
        raise misused(args)
    client = session.client
    if verb == "list":
        return _list(session)
    if verb == "show":
        found = client.volume(words[0])
    elif verb == "add":
        found = client.add_volume({"name": words[0], "source": words[1], **_values(args)})
    elif verb == "set":
        changes = _values(args)
        if not changes:
            raise UsageError("volume.no_change", "volume")
        found = client.change_volume(words[0], changes)
    elif verb == "measure":
        found = client.data.measure_volume(words[0])
    else:
        make_sure(args, "sure.volume", name=words[0])
        found = client.remove_volume(words[0])
    if session.json:
        return session.print_json(found)
    if verb in ("show", "add", "set", "measure"):
        _show(found)
        if pick(found, "warning"):
            complain(str(pick(found, "warning")))
    else:
        sys.stdout.write(t("volume.gone", name=found["name"]) + "\n")
    return codes.OK


def _values(args: Args) -> dict[str, Any]:
    """The options as keys of the API; what is not given stays unchanged."""
    values: dict[str, Any] = {}
    for name in ("source", "path", "tier", "note"):
        given = args.get(name)
        if given is not None:
            values[name] = given
    for yes, no in _PAIRS:
        if args.flag(yes) and args.flag(no):
            raise UsageError("usage.not_both", "volume", one=f"--{yes}", other=f"--{no}")
        if args.flag(yes) or args.flag(no):
            values[yes.replace("-", "_")] = args.flag(yes)
    for name, key in (("group", "groups"), ("user", "users"), ("node", "nodes")):
        if args.flag(name):
            values[key] = args.all(name)
    if args.flag("everybody"):
        values |= {"groups": [], "users": []}
    if args.flag("all-nodes"):
        values["nodes"] = []
    return values


def _list(session: Session) -> int:
    volumes = session.client.volumes()
    if session.json:
        return session.print_json({"volumes": volumes})
    heads = ["name", "path", "rights", "where", "who", "tier", "note"]
    rows = [
        [
            each["name"],
            each["path"],
            _rights(each),
            ", ".join(each["nodes"]) or t("volume.all_nodes"),
            _who(each),
            each["tier"],
            each["note"],
        ]
        for each in volumes
    ]
    write_table([t(f"volume.head.{head}") for head in heads], rows)
    return codes.OK


def _show(found: model.Volume) -> None:
    lines = [
        ("name", found["name"]),
        ("path", found["path"]),
        ("source", found.get("source") or ""),
        ("rights", _rights(found)),
        ("when", t("volume.everywhere" if found["everywhere"] else "volume.on_request")),
        ("where", ", ".join(found["nodes"]) or t("volume.all_nodes")),
        ("who", _who(found)),
        ("tier", found["tier"]),
        ("note", found["note"]),
        ("speed", _speed(found)),
        ("declared", t(f"queue.from_{found['declared'].replace('-', '_')}")),
    ]
    for head, text in lines:
        if text:
            sys.stdout.write(f"{t(f'volume.head.{head}')}: {printable(text)}\n")


def _speed(found: model.Volume) -> str:
    read, write = found.get("read_speed"), found.get("write_speed")
    if read is None or write is None:
        return ""
    at = moment(found.get("measured_at"))
    return t("volume.speed", read=size(read), write=size(write), at=at)


def _rights(found: model.Volume) -> str:
    return t("volume.read_only" if found["read_only"] else "volume.writable")


def _who(found: model.Volume) -> str:
    if not found["usable"]:
        mine = t("volume.not_you")
    elif found.get("groups") is None:
        return t("volume.you")
    else:
        mine = ""
    limited = [*(found.get("groups") or ()), *(found.get("users") or ())]
    return " ".join([", ".join(limited) or t("volume.everybody"), mine]).strip()
