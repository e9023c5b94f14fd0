"""`danlu key`: public keys to sign in with over SSH."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.formats import moment
from danlu.cli.options import misused
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

_USUAL = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
_LARGEST = 16_384


def key(session: Session, args: Args) -> int:
    verb, *words = args.words
    if (verb, len(words)) == ("list", 0):
        return _list(session)
    if verb == "add" and len(words) <= 1:
        label = args.get("label") or ""
        made = session.client.people.add_ssh_key(_line(words[0] if words else None), label)
        if session.json:
            return session.print_json(made)
        sys.stdout.write(t("key.added", fingerprint=made["fingerprint"]) + "\n")
        return codes.OK
    if verb != "remove" or not words:
        raise misused(args)
    gone = [session.client.people.remove_ssh_key(each) for each in words]
    if session.json:
        return session.print_json({"removed": gone})
    sys.stdout.write(t("key.removed", count=len(gone)) + "\n")
    return codes.OK


def _list(session: Session) -> int:
    found = session.client.people.ssh_keys()
    if session.json:
        return session.print_json({"keys": found})
    if not found:
        sys.stdout.write(t("key.none") + "\n")
        return codes.OK
    write_table(
        [t(f"key.head_{head}") for head in ("id", "label", "fingerprint", "added")],
        [[k["id"], k["label"], k["fingerprint"], moment(k["created_at"])] for k in found],
    )
    return codes.OK


def _line(given: str | None) -> str:
    path = given or _usual()
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Failure("key.cannot_read", codes.USAGE, path=path, cause=error.strerror) from None
    if b"PRIVATE KEY" in data:  # it must not leave this machine
        raise Failure("key.private", codes.USAGE, path=path)
    if len(data) > _LARGEST:
        raise Failure("key.too_large", codes.USAGE, path=path)
    return data.decode("utf-8", "replace").strip()


def _usual() -> str:
    for name in _USUAL:
        path = os.path.expanduser(f"~/.ssh/{name}")
        if os.path.exists(path):
            return path
    raise Failure("key.no_usual", codes.USAGE)
