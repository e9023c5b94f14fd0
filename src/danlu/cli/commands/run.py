"""`danlu run`: submits a job, follows it, and exits like it."""

from __future__ import annotations

import os

from danlu.cli.options import UsageError
from danlu.cli.submission import command_job, patience, send, submit_command, write_notes
from danlu.cli.terminal import in_foreground, is_terminal, say
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session


def run(session: Session, args: Args) -> int:
    if args.flag("tty") and args.flag("no-tty"):
        raise UsageError("usage.not_both", "run", one="--tty", other="--no-tty")
    if args.flag("detach") or args.flag("dry-run"):
        # With a terminal of its own, danlu attach can come back to it.
        return submit_command(session, args, "tty" if args.flag("tty") else None)
    job = command_job(args, session)
    stdin = _stdin(session, args, job)
    job.setdefault("stdin", stdin)
    if stdin == "tty" and "TERM" in os.environ:
        environment: Any = job.setdefault("env", {})
        environment.setdefault("TERM", os.environ["TERM"])
    limit = patience(args)
    session.client.wire.meanwhile = _load_the_rest
    answer = send(lambda: session.client.submit(job), limit, repeatable=True)
    write_notes(answer)
    from danlu.cli.attending import attend

    return attend(session, args, answer["jobs"], stdin, limit)


def _stdin(session: Session, args: Args, job: dict[str, object]) -> str:
    found = "none" if session.json else stdin_kind(args)
    if found != "none" and ("array" in job or job.get("count", 1) != 1):
        say(t("run.no_input"))
        return "none"
    return found


def stdin_kind(args: Args) -> str:
    """The kind of input for the task: a terminal, a pipe, or none."""
    if args.flag("no-stdin"):
        return "none"
    try:
        found = os.fstat(0)
    except OSError:
        return "none"
    if is_terminal(0):
        if not in_foreground(0):
            return "none"  # reading would only suspend us
        wanted = args.flag("tty") or (is_terminal(1) and not args.flag("no-tty"))
        return "tty" if wanted and not args.flag("split-output") else "pipe"
    if args.flag("tty"):
        raise UsageError("run.no_terminal", "run")
    try:
        null = os.stat(os.devnull)
    except OSError:
        return "pipe"
    return "none" if found.st_rdev == null.st_rdev and found.st_rdev else "pipe"


def _load_the_rest() -> None:
    """What follows the job, loaded while the server is busy accepting it."""
    import danlu.cli.attending
    import danlu.sdk.logs  # noqa: F401
