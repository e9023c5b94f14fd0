"""`danlu backup`, `danlu restore`: everything in one file."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.commands.server import become
from danlu.cli.failure import Failure
from danlu.cli.formats import size
from danlu.cli.terminal import write_all
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

    from danlu.cli.options import Args
    from danlu.cli.session import Session


def backup(session: Session, args: Args) -> int:
    """Asks the server; with --data or --config, reads the data folder directly."""
    if args.get("data") is not None or args.get("config") is not None:
        become("danlu.server.backup", args, session.json)
    path = args.words[0]
    length = _save(path, session.client.backup(homes=args.flag("homes")))
    if session.json:
        return session.print_json({"file": path, "size": length})
    sys.stdout.write(t("backup.done", file=path, size=size(length)) + "\n")
    return codes.OK


def restore(session: Session, args: Args) -> NoReturn:
    become("danlu.server.restore", args, session.json)


def _end_in_order() -> None:
    """Signals that would end this process at once would leave the unfinished file behind."""
    import signal

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(codes.SIGNALLED + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, end)


def _save(path: str, pieces: Iterable[bytes]) -> int:
    """Written under a temporary name until it is complete and on disk: half a backup must not look
    like one.
    """
    draft = f"{path}.part-{os.getpid()}"
    _end_in_order()
    try:
        out = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Failure("file.unwritable", file=path, cause=error.strerror or str(error)) from None
    try:
        length = 0
        for piece in pieces:
            write_all(out, piece)
            length += len(piece)
        os.fsync(out)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    finally:
        os.close(out)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return length
