"""`danlu volume request`, `requests`, `approve`, `reject`: storage of one's own."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.table import printable, write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

WORDS = {"request": 2, "requests": 0, "approve": 2, "reject": 1}


def volume_request(session: Session, args: Args) -> int:
    verb, *words = args.words
    data = session.client.data
    if verb == "requests":
        return _list(session)
    if verb == "request":
        kind = args.get("kind") or "nfs"
        found = data.request_storage(words[0], words[1], kind, args.get("note") or "")
    elif verb == "approve":
        read_only = args.flag("read-only")
        found = data.approve_storage(words[0], words[1], args.get("path"), read_only)
    else:
        found = data.reject_storage(words[0], args.get("reason") or "")
    if session.json:
        return session.print_json(found)
    line = t(f"storage.{found['state']}", id=found["id"], name=found["name"], owner=found["owner"])
    sys.stdout.write(line + "\n")
    return codes.OK


def _list(session: Session) -> int:
    found = session.client.data.storage_requests()
    if session.json:
        return session.print_json({"requests": found})
    rows = [
        [
            each["id"],
            each["owner"],
            each["name"],
            each["kind"],
            printable(each["address"]),
            t(f"storage.state_{each['state']}"),
            printable(each["reason"] or each["note"]),
        ]
        for each in found
    ]
    heads = ("id", "owner", "name", "kind", "address", "state", "note")
    write_table([t(f"storage.head_{head}") for head in heads], rows)
    return codes.OK
