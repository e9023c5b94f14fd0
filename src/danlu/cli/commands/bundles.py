"""`danlu bundle`: folders brought along with jobs."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import moment, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

_WORDS = {"list": 0, "remove": 1}
_SHORT = 12


def bundle(session: Session, args: Args) -> int:
    verb, *words = args.words
    if _WORDS.get(verb) != len(words):
        raise misused(args)
    found = session.client.data.bundles()
    if verb == "remove":
        matching = [each for each in found["bundles"] if each["id"].startswith(words[0])]
        if len(matching) != 1 or not words[0]:
            raise UsageError("bundle.unknown", "bundle", id=words[0], count=len(matching))
        make_sure(args, "bundle.sure", id=words[0])
        gone = session.client.data.forget_bundle(matching[0]["id"])
        if session.json:
            return session.print_json(gone)
        sys.stdout.write(t("bundle.gone", id=gone["id"][:_SHORT]) + "\n")
        return codes.OK
    if session.json:
        return session.print_json(found)
    rows = [
        [each["id"][:_SHORT], size(each["bytes"]), str(each["files"]), moment(each["used_at"])]
        for each in reversed(found["bundles"])
    ]
    write_table([t(f"bundle.head_{head}") for head in ("id", "size", "files", "used")], rows)
    return codes.OK
