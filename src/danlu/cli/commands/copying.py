"""`danlu cp`: to the server, from it, and on it. Repeating it continues what was interrupted."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.commands.files import is_folder, transfer
from danlu.cli.failure import Failure, complain
from danlu.cli.formats import size
from danlu.cli.options import UsageError
from danlu.cli.progress import Progress
from danlu.cli.table import printable
from danlu.cli.texts import pick, t
from danlu.sdk.errors import Lost, Unreachable
from danlu.sdk.files import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def cp(session: Session, args: Args) -> int:
    *sources, last = args.words
    remote = [word.startswith(":") for word in sources]
    try:
        if last.startswith(":") and all(remote):
            return transfer(session, args, sources, last, "copy")
        if last.startswith(":") and not any(remote):
            return _upload_all(session, args, sources, last)
        if all(remote) and not last.startswith(":"):
            return _download_all(session, args, sources, last)
    except (KeyboardInterrupt, Lost, Unreachable):
        complain(t("files.continue"))
        raise
    raise UsageError("files.sides", "cp")


def _upload_all(session: Session, args: Args, sources: list[str], last: str) -> int:
    from danlu.cli.uploading import Uploading

    conflict = "refuse" if args.flag("no-clobber") else "overwrite"
    progress = Progress(args.flag("quiet") or session.json)
    work = Uploading(session.client, progress, conflict)
    target = path_of(last)

    def inside() -> bool:
        asked = last.endswith("/") or last == ":" or len(sources) > 1
        return asked or is_folder(session, target)

    for source in sources:
        folder = os.path.isdir(source)
        if folder and not args.flag("recursive"):
            raise Failure("files.is_folder", codes.USAGE, path=printable(source))
        if not os.path.exists(source):
            raise Failure("files.not_here", codes.NOT_FOUND, path=printable(source))
        name = os.path.basename(os.path.abspath(source))
        work.copy(source, target, name, inside)
    progress.end()
    return _told(session, work.files, work.bytes, work.skipped, work.problems, work.notes)


def _download_all(session: Session, args: Args, sources: list[str], last: str) -> int:
    from functools import partial

    from danlu.cli.downloading import Downloading
    from danlu.sdk.downloads import PATIENCE
    from danlu.sdk.patience import persist

    progress = Progress(args.flag("quiet") or session.json)
    work = Downloading(session.client, progress, args.flag("no-clobber"))
    if len(sources) > 1 and not os.path.isdir(last):
        raise Failure("files.need_folder", codes.USAGE, path=printable(last))
    for source in sources:
        path = path_of(source)
        entry = persist(partial(session.client.files.stat, path), PATIENCE)
        if "folder" in (entry["kind"], entry["target_kind"]):
            if not args.flag("recursive"):
                raise Failure("files.is_folder", codes.USAGE, path=printable(path))
            work.copy_folder(path, last)
        else:
            work.copy_file(path, last, entry)
    progress.end()
    return _told(session, work.files, work.bytes, work.skipped, work.problems, work.notes)


def _told(
    session: Session,
    files: int,
    count: int,
    skipped: int,
    problems: list[dict[str, str]],
    left_out: list[dict[str, str]],
) -> int:
    """What was left out is no success: whoever relies on a whole copy has to know."""
    if session.json:
        told = {"files": files, "bytes": count, "skipped": skipped, "problems": problems}
        session.print_json(told | {"left_out": left_out})
    else:
        for problem in [*left_out, *problems][:100]:
            complain(str(pick(problem, "message")))
        if len(left_out) + len(problems) > 1:
            complain(t("files.left_some", count=len(left_out) + len(problems)))
        key = "files.copied_some" if skipped else "files.copied"
        sys.stdout.write(t(key, count=files, size=size(count), skipped=skipped) + "\n")
    return codes.TROUBLE if problems or left_out else codes.OK
