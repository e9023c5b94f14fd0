"""`danlu save` and `danlu env save`: containers saved as images."""

from __future__ import annotations

import sys
import time

from danlu.cli import codes
from danlu.cli.failure import complain
from danlu.cli.formats import clock, size
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t
from danlu.sdk.ids import uuid7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_PAUSE = 0.5  # seconds
_GOING = ("waiting", "saving")
_HEADS = ("id", "job", "image", "state", "size", "when")


def save(session: Session, args: Args) -> int:
    job, image = args.words
    return save_as(session, args, job, image)


def save_as(session: Session, args: Args, job: str, image: str, named: str | None = None) -> int:
    """Says beforehand what it takes, then follows it; leaving does not end it. `named`: as people
    know it.
    """
    ours, task = session.client.images, args.integer("task") or 0
    if args.flag("dry-run"):
        found = ours.save_estimate(job, image, task=task)
        if session.json:
            return session.print_json(found)
        _tell_estimate(found)
        return codes.TROUBLE if pick(found, "problem") else codes.OK
    begun = ours.save(
        job,
        image,
        task=task,
        stop=args.flag("stop"),
        description=args.get("note") or "",
        id=uuid7(),
    )
    if not session.json:
        words = {
            "job": named or begun["job"],
            "image": begun["image"],
            "size": size(begun["total"]),
        }
        sys.stdout.write(printable(t("save.begun", **words)) + "\n")
    if not args.flag("detach"):
        begun = _follow(session, begun)
    if session.json:
        session.print_json(begun)
        return codes.OK if begun["state"] in (*_GOING, "saved") else codes.TROUBLE
    return _tell(begun)


def saves(session: Session, args: Args) -> int:
    found = session.client.images.saves(everybody=args.flag("all"))
    if session.json:
        return session.print_json({"saves": found})
    if not found:
        sys.stdout.write(t("save.none") + "\n")
        return codes.OK
    write_table([t(f"save.head_{head}") for head in _HEADS], [_row(each) for each in found])
    for each in found:
        if pick(each, "error"):
            complain(f"{each['image']}: {pick(each, 'error')}")
    return codes.OK


def cancel(session: Session, id: str) -> int:
    found = session.client.images.cancel_save(id)
    return session.print_json(found) if session.json else _tell(found)


def _follow(session: Session, begun: model.Save) -> model.Save:
    shown, live = "", sys.stderr.isatty() and not session.json
    try:
        while begun["state"] in _GOING:
            time.sleep(_PAUSE)
            begun = session.client.images.saved(begun["id"])
            step = str(pick(begun, "step") or "")
            if live and step != shown:
                shown = step
                sys.stderr.write(f"\r\x1b[K{printable(step)}")
                sys.stderr.flush()
    except KeyboardInterrupt:
        if live:
            sys.stderr.write("\n")
        complain(t("save.left", id=begun["id"]))
        raise
    if live and shown:
        sys.stderr.write("\r\x1b[K")
    return begun


def _tell(found: model.Save) -> int:
    state = found["state"]
    words = {"image": found["image"], "size": size(found["size"]), "id": found["id"]}
    if state in ("saved", "cancelled", *_GOING):
        key = "going" if state in _GOING else state
        sys.stdout.write(printable(t(f"save.{key}", **words)) + "\n")
        return codes.OK
    complain(str(pick(found, "error")))
    return codes.TROUBLE


def _tell_estimate(found: model.SaveEstimate) -> None:
    room = found["room"]
    words = {"size": size(found["changed"]), "room": "-" if room is None else size(room)}
    sys.stdout.write(t(f"save.estimate_{found['kept_in']}", **words) + "\n")
    if pick(found, "problem"):
        complain(str(pick(found, "problem")))


def _row(found: model.Save) -> list[str]:
    state = t(f"save.state_{found['state']}")
    if found["state"] == "saving" and found["total"]:
        state = f"{state} {100 * found['done'] // found['total']}%"
    return [
        found["id"],
        found["job"],
        found["image"],
        state,
        size(found["size"] or found["total"]),
        clock(found["created_at"]),
    ]
