"""`danlu context`: known servers, and which one is used."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.options import misused
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def context(session: Session, args: Args) -> int:
    from danlu.sdk.context import remove_context, use_context

    verb, *names = args.words
    if (verb, len(names)) == ("list", 0):
        return _list(session)
    if verb not in ("use", "remove") or len(names) != 1:
        raise misused(args)
    name = names[0]
    if verb == "use":
        use_context(name)
    else:
        remove_context(name)
    if session.json:
        return session.print_json({"name": name})
    sys.stdout.write(t("context.used" if verb == "use" else "context.gone", name=name) + "\n")
    return codes.OK


def _list(session: Session) -> int:
    from danlu.sdk.context import read_contexts

    everything = read_contexts()
    current = everything.get("current")
    found = [
        {"name": name, "server": str(entry.get("server", "")), "current": name == current}
        for name, entry in everything["contexts"].items()
        if isinstance(entry, dict)
    ]
    if session.json:
        return session.print_json({"contexts": found})
    if not found:
        sys.stdout.write(t("context.none") + "\n")
        return codes.OK
    write_table(
        [t("context.head_current"), t("context.head_name"), t("context.head_server")],
        [
            ["*" if each["current"] else "", str(each["name"]), str(each["server"])]
            for each in found
        ],
    )
    return codes.OK
