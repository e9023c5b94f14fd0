"""`--carry`: brings a folder along with a job."""

from __future__ import annotations

import os

from danlu.cli import codes
from danlu.cli.failure import Failure, complain
from danlu.cli.formats import size
from danlu.cli.table import printable
from danlu.cli.terminal import clear_status, is_terminal, show_status
from danlu.cli.texts import t
from danlu.sdk.carrying import Restless, TooLarge
from danlu.sdk.errors import Lost, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

_SHOWN = 3


def bring(session: Session, args: Args) -> str | dict[str, str]:
    """The value of the key `bundle`. A command given inside the folder starts where it was
    given.
    """
    folder = args.get("carry") or "."
    shows = is_terminal(2) and not session.json and not args.flag("quiet")
    try:
        brought = session.client.carry(folder, progress=_show if shows else None)
    except TooLarge as error:
        raise _too_large(error, folder) from None
    except Restless as error:
        raise Failure("carry.restless", path=printable(error.path)) from None
    except (Lost, Unreachable):
        raise
    except OSError as error:
        cause = error.strerror or str(error)
        what = printable(str(error.filename or folder))
        raise Failure("carry.unreadable", codes.USAGE, folder=what, cause=cause) from None
    finally:
        clear_status()
    if brought.left_out:
        names = ", ".join(printable(name) for name in brought.left_out[:_SHOWN])
        complain(t("carry.left_out", count=len(brought.left_out), names=names))
    inner = _inner(folder)
    return {"id": brought.id, "folder": inner} if inner else brought.id


def _inner(folder: str) -> str:
    """Where in the folder we are."""
    path = os.path.relpath(os.path.realpath("."), os.path.realpath(folder))
    outside = path == "." or path == ".." or path.startswith("../")
    return "" if outside else path


def _show(what: str, done: int, total: int) -> None:
    show_status(t(f"carry.{what}", done=size(done), total=size(total)))


def _too_large(error: TooLarge, folder: str) -> Failure:
    lines = "".join(f"\n  {size(amount):>9}  {printable(path)}" for path, amount in error.largest)
    return Failure(
        "carry.too_large",
        codes.USAGE,
        folder=printable(folder),
        size=size(error.size),
        files=error.files,
        most=size(error.limits["bytes"]),
        most_files=error.limits["files"],
        largest=lines,
    )
