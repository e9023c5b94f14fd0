"""`danlu disk`: how full the disks are, who uses what, and cleaning."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import moment, size
from danlu.cli.options import misused
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_WORDS = {"show": 0, "clean": 0}
_USES = 5


def disk(session: Session, args: Args) -> int:
    verb, *words = args.words
    if _WORDS.get(verb) != len(words):
        raise misused(args)
    if verb == "clean":
        return _clean(session, args)
    found = session.client.data.disks()
    if session.json:
        return session.print_json(found)
    for each in found["disks"]:
        _show(each, args.flag("all"))
    rows = [
        [t(f"disk.kind_{own['kind']}"), own["name"], own["path"], _size(own["bytes"])]
        for own in found["own"]
    ]
    write_table([t(f"disk.head_{head}") for head in ("what", "name", "path", "size")], rows)
    return codes.OK


def _show(found: model.Disk, whole: bool) -> None:
    paths = ", ".join(printable(place["path"]) for place in found["places"])
    if pick(found, "detail"):
        sys.stdout.write(f"{paths}: {pick(found, 'detail')}\n\n")
        return
    line = t(
        "disk.line",
        paths=paths,
        percent=f"{found['used_percent']:g}",
        free=size(found["free"]),
        size=size(found["size"]),
    )
    if found["level"] != "ok":
        line += t(f"disk.level_{found['level']}", since=moment(found["since"]))
    if found["full_at"] is not None:
        line += t("disk.full_at", at=moment(found["full_at"]))
    sys.stdout.write(line + "\n")
    for use in found["uses"] if whole else found["uses"][:_USES]:
        what = t(f"disk.kind_{use['kind']}")
        sys.stdout.write(f"  {size(use['bytes']):>9}  {what} {printable(use['name'])}\n")
    sys.stdout.write("\n")


def _size(count: int | None) -> str:
    return t("disk.not_counted") if count is None else size(count)


def _clean(session: Session, args: Args) -> int:
    dry_run = args.flag("dry-run")
    if not dry_run:
        make_sure(args, "disk.sure")
    found = session.client.data.clean_disks(dry_run=dry_run, rules=args.all("rule"))
    if session.json:
        return session.print_json(found)
    rows = [
        [
            t(f"disk.rule_{item['rule']}"),
            printable(item["name"]),
            size(item["bytes"]),
            moment(item["used_at"]) if item["used_at"] else "",
            printable(str(pick(item, "detail") or "")),
        ]
        for item in found["items"]
    ]
    if rows:
        heads = ("rule", "name", "size", "used", "note")
        write_table([t(f"disk.head_{head}") for head in heads], rows)
    sys.stdout.write(t("disk.would_free" if dry_run else "disk.freed", size=size(found["bytes"])))
    sys.stdout.write("\n")
    return codes.OK
