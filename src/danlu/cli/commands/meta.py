"""`danlu help`, `completion`, and what completion scripts call."""

from __future__ import annotations

import sys

from danlu.cli.options import UsageError, nearest
from danlu.cli.registry import commands, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def help(session: Session, args: Args) -> int:
    from danlu.cli.help import markdown, show_help

    if args.flag("markdown"):
        sys.stdout.write(markdown())
        return 0
    if not args.words:
        return show_help(None)
    command = find(args.words[0])
    if command is None:
        near = nearest(args.words[0], [known.name for known in commands() if not known.hidden])
        key = "usage.unknown_command_near" if near else "usage.unknown_command"
        raise UsageError(key, word=args.words[0], near=near)
    return show_help(command)


def completion(session: Session, args: Args) -> int:
    from danlu.cli.completion import SHELLS

    make = SHELLS.get(args.words[0])
    if make is None:
        known = ", ".join(SHELLS)
        raise UsageError("completion.unknown", "completion", shell=args.words[0], known=known)
    sys.stdout.write(make())
    return 0


def complete_jobs(session: Session, args: Args) -> int:
    """Job names for shell completion; none, silently, without a server."""
    try:
        jobs = session.client.jobs(limit=100)["jobs"]
    except Exception:
        return 0
    sys.stdout.write("".join(f"{job['ref']}\n" for job in jobs))
    return 0
