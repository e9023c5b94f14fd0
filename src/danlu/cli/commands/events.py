"""`danlu events`: the history of a job, and live events."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.arrays import tell_if_array
from danlu.cli.failure import complain
from danlu.cli.formats import clock
from danlu.cli.options import too_few
from danlu.cli.submission import patience
from danlu.cli.table import printable
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model


def events(session: Session, args: Args) -> int:
    if args.flag("follow"):
        return _follow(session, args)
    if not args.words:
        raise too_few(args.command)
    found = session.client.events(args.words[0], limit=args.integer("limit"))
    if session.json:
        return session.print_json({"events": found})
    if "." not in args.words[0]:
        tell_if_array(args.words[0], session.client.show(args.words[0]))
    for event in found:
        sys.stdout.write(_line(event) + "\n")
    return codes.OK


def _line(event: model.Event) -> str:
    actor = event.get("actor")
    words = str(pick(event, "") or event.get("kind") or "")
    who = f"  [{actor}]" if actor and actor not in words else ""
    return f"{clock(event.get('at'))}  {printable(words)}{who}"


def _follow(session: Session, args: Args) -> int:
    """Follows a job (or array) from the beginning until all of it has ended."""
    ref = args.words[0] if args.words else None
    open_jobs: set[str] = set()
    lost = False
    session.client.version()  # a server that was never reachable is an error at once

    def on_lost(error: Exception) -> None:
        nonlocal lost
        if not lost:
            lost = True
            complain(t("lost.waiting", cause=str(error)))

    stream = session.client.stream(
        jobs=None if ref is None else [ref],
        after=None if ref is None else 0,
        patience=patience(args),
        on_lost=on_lost,
    )
    for event in stream:
        lost = False
        job = event.get("job")
        if job is None:
            continue
        if session.json:
            session.print_json(event)
        else:
            label = "" if ref is not None and "." not in job["ref"] else f"{job['ref']}  "
            sys.stdout.write(f"{label}{_line(event)}\n")
        sys.stdout.flush()
        (open_jobs.discard if event["kind"] == "ended" else open_jobs.add)(job["id"])
        if ref is not None and not open_jobs:
            break
    return codes.OK
