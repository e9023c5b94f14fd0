"""`danlu ls`, `mkdir`, `mv`, `rm`, `du`, `find`, `bin`: files on the server."""

from __future__ import annotations

import sys
import time

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.failure import Failure, complain, exit_code
from danlu.cli.formats import clock, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import printable, write_table
from danlu.cli.terminal import clear_status, is_terminal, show_status
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError
from danlu.sdk.files import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

PAGE = 2000
MOST_SHOWN = 100_000
OLD = 10.0  # seconds: from then on the age of a figure is told


def ls(session: Session, args: Args) -> int:
    if not args.words and args.flag("volumes"):
        return _volumes(session)
    found = [_listed(session, args, word) for word in args.words or [":"]]
    if session.json:
        return session.print_json(found[0] if len(found) == 1 else found)
    for at, listing in enumerate(found):
        if len(found) > 1:
            sys.stdout.write(("\n" if at else "") + f"{printable(args.words[at])}\n")
        _write_entries(listing["entries"], args.flag("long"))
        if listing["next_offset"] is not None or not listing["complete"]:
            complain(t("files.more", count=len(listing["entries"])))
    return codes.OK


def _listed(session: Session, args: Args, word: str) -> model.FileList:
    files = session.client.files
    sort = args.get("sort") or "name"
    limit = args.integer("limit") or MOST_SHOWN
    hidden = args.flag("all")
    try:
        page = files.list_folder(word, limit=min(PAGE, limit), sort=sort, hidden=hidden)
    except ApiError as error:
        if error.code != "not_a_folder":
            raise
        entry = files.stat(word)
        one: model.FileList = {
            "path": entry["path"],
            "entries": [entry],
            "offset": 0,
            "next_offset": None,
            "total": 1,
            "complete": True,
            "reading": False,
            "sort": sort,
            "read_only": False,
        }
        return one
    at = page["next_offset"]
    while at is not None and at < limit:
        more = files.list_folder(
            word, offset=at, limit=min(PAGE, limit - at), sort=sort, hidden=hidden
        )
        page["entries"] += more["entries"]
        at = more["next_offset"]
    page["next_offset"] = at
    return page


def _write_entries(entries: list[model.FileEntry], long: bool) -> None:
    if not long:
        for entry in entries:
            sys.stdout.write(_shown(entry) + "\n")
        return
    rows = [
        [
            entry["mode"],
            entry["owner"],
            size(entry["size"]) if entry["kind"] == "file" else "-",
            clock(entry["modified_at"]),
            _shown(entry) + (f" -> {entry['target']}" if entry["target"] else ""),
        ]
        for entry in entries
    ]
    if rows:
        heads = ("mode", "owner", "size", "modified", "name")
        write_table([t(f"files.head_{head}") for head in heads], rows, "  >")


def _shown(entry: model.FileEntry) -> str:
    return printable(entry["name"]) + {"folder": "/", "link": "@"}.get(entry["kind"], "")


def _volumes(session: Session) -> int:
    roots = session.client.files.roots()
    if session.json:
        return session.print_json(roots)
    rows = [
        [
            root["path"],
            t("files.read_only") if root["read_only"] else t("files.writable"),
            _used(root),
            size(root["free"]) if root["free"] is not None else "-",
            str(pick(root, "problem") or root["note"] or root["tier"]),
        ]
        for root in roots
    ]
    heads = ("path", "access", "used", "free", "note")
    write_table([t(f"files.head_{head}") for head in heads], rows, "  >>")
    return codes.OK


def _used(root: model.FileRoot) -> str:
    used = size(root["used"]) if root["used"] is not None else "-"
    return used if root["quota"] is None else f"{used} / {size(root['quota'])}"


def mkdir(session: Session, args: Args) -> int:
    made = [
        session.client.files.make_folder(word, parents=args.flag("parents")) for word in args.words
    ]
    return session.print_json(made) if session.json else codes.OK


def mv(session: Session, args: Args) -> int:
    *sources, last = args.words
    return transfer(session, args, sources, last, "move")


def transfer(session: Session, args: Args, sources: list[str], last: str, kind: str) -> int:
    """Moves or copies on the server: into a folder that exists, or to a new name."""
    files = session.client.files
    conflict = "refuse" if args.flag("no-clobber") else "overwrite"
    into = last if last.endswith("/") or len(sources) > 1 or is_folder(session, last) else None
    to = None if into is not None else last
    work = files.move if kind == "move" else files.copy
    return ended(session, work(sources, into=into, to=to, conflict=conflict), args.flag("quiet"))


def is_folder(session: Session, path: str) -> bool:
    try:
        found = session.client.files.stat(path)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return found["kind"] == "folder" or found["target_kind"] == "folder"


def ended(session: Session, operation: model.FileOperation, quiet: bool = False) -> int:
    """Waits for it, with its progress on a terminal; Ctrl-C cancels it."""
    files = session.client.files
    shown = is_terminal(2) and not quiet and not session.json
    try:
        while operation["state"] == "running":
            if shown:
                count, done = operation["files_done"], size(operation["bytes_done"])
                show_status(t("files.progress", count=count, size=done))
            operation = files.operation(operation["id"], wait=0.5 if shown else 20)
    except KeyboardInterrupt:
        clear_status()
        files.cancel(operation["id"])
        raise
    clear_status()
    if session.json:
        session.print_json(operation)
    else:
        for problem in operation["problems"]:
            complain(str(pick(problem, "message")))
        if operation["state"] == "failed" and not operation["problems"]:
            complain(str(pick(operation, "message")))
        left = operation["problem_count"] - len(operation["problems"])
        if left > 0:
            complain(t("files.more_problems", count=left))
    if operation["state"] == "done" and not operation["problem_count"]:
        return codes.OK
    status = operation["problems"][0]["status"] if operation["problems"] else operation["status"]
    return exit_code(status or 500)


def rm(session: Session, args: Args) -> int:
    forever = args.flag("forever")
    for word in args.words:
        if not args.flag("recursive") and _is_real_folder(session, word):
            raise Failure("files.is_folder", codes.USAGE, path=printable(path_of(word)))
    if forever:
        make_sure(args, "sure.files", path=", ".join(args.words[:3]))
    done = session.client.files.delete(args.words, forever=forever)
    return ended(session, done, args.flag("quiet"))


def _is_real_folder(session: Session, word: str) -> bool:
    return session.client.files.stat(word)["kind"] == "folder"


def du(session: Session, args: Args) -> int:
    files = session.client.files
    word = args.words[0] if args.words else ":"
    found = files.usage(word, fresh=args.flag("fresh"))
    shown = is_terminal(2) and not session.json
    before = found["measured_at"]
    # Once: where something is written all the time, what was measured is old again at once.
    while found["operation"] is not None and found["measured_at"] == before:
        operation = files.operation(found["operation"], wait=1)
        if shown:
            count, done = operation["files_done"], size(operation["bytes_done"])
            show_status(t("files.measuring", count=count, size=done))
        if operation["state"] != "running":
            found = files.usage(word)
    clear_status()
    if session.json:
        return session.print_json(found)
    limit = args.integer("limit") or 30
    rows = [
        [size(child["size"]), str(child["files"]), child["name"]]
        for child in found["children"][:limit]
    ]
    rows.append([size(found["size"]), str(found["files"]), found["path"]])
    write_table([t(f"files.head_{head}") for head in ("size", "files", "name")], rows, ">>")
    age = time.time() - (found["measured_at"] or time.time())
    if age > OLD:
        complain(t("files.measured", when=clock(found["measured_at"])))
    if not found["complete"]:
        complain(t("files.incomplete"))
    return codes.OK


def find(session: Session, args: Args) -> int:
    *words, text = args.words
    kind = args.get("kind")
    if kind is not None and kind not in ("file", "folder", "link", "other"):
        raise UsageError("files.kind", "find", value=kind)
    limit = args.integer("limit") or 1000
    path = words[0] if words else ":"
    found = session.client.files.search(path, text, kind=kind, limit=limit)
    if session.json:
        return session.print_json(found)
    for entry in found:
        sys.stdout.write(printable(entry["path"]) + "\n")
    if len(found) >= limit:
        complain(t("files.more", count=len(found)))
    return codes.OK if found else codes.NOT_FOUND


def bin(session: Session, args: Args) -> int:
    verb, *words = args.words
    files = session.client.files
    if verb == "list" and not words:
        return _bin(session)
    if verb == "restore" and words:
        return _restore(session, args, words)
    if verb == "empty":
        make_sure(args, "sure.bin")
        return ended(session, files.empty_bin(_ids(session, words) if words else None))
    raise misused(args)


def _restore(session: Session, args: Args, words: list[str]) -> int:
    if args.flag("overwrite") and args.flag("keep-both"):
        raise UsageError("usage.not_both", "bin", one="--overwrite", other="--keep-both")
    conflict = "overwrite" if args.flag("overwrite") else "refuse"
    if args.flag("keep-both"):
        conflict = "rename"
    files = session.client.files
    done = files.finish(files.restore(_ids(session, words), conflict=conflict))
    if not session.json:
        for path in done["results"]:
            sys.stdout.write(printable(path) + "\n")
    code = ended(session, done, True)
    if not session.json and any(each["status"] == 409 for each in done["problems"]):
        complain(t("files.taken"))
    return code


def _ids(session: Session, words: list[str]) -> list[str]:
    """Ids, or paths where the latest thing of that name was."""
    items = session.client.files.bin()["items"]
    known = {item["path"]: item["id"] for item in reversed(items)}
    return [word if "~" in word else known.get(path_of(word), word) for word in words]


def _bin(session: Session) -> int:
    found = session.client.files.bin()
    if session.json:
        return session.print_json(found)
    rows = [
        [
            clock(item["deleted_at"]),
            size(item["size"]) if item["kind"] == "file" else "-",
            item["path"] + ("/" if item["kind"] == "folder" else ""),
            item["id"],
        ]
        for item in found["items"]
    ]
    if not rows:
        sys.stdout.write(t("files.bin_empty") + "\n")
        return codes.OK
    heads = ("deleted", "size", "path", "id")
    write_table([t(f"files.head_{head}") for head in heads], rows, " >")
    return codes.OK
