"""`danlu run`: submits a job, follows it, and exits like it."""

from __future__ import annotations

import os

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.follow import GaveUp
from danlu.cli.options import UsageError
from danlu.cli.run_follower import Leave, RunFollower
from danlu.cli.submission import command_job, patience, send, submit_command, write_notes
from danlu.cli.terminal import Terminal, in_foreground, is_terminal, say
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

MOST_STREAMS = 64


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
    answer = send(lambda: session.client.submit(job), limit, repeatable=True)
    write_notes(answer)
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


def attend(
    session: Session,
    args: Args,
    jobs: list[model.Job],
    stdin: str,
    limit: float,
    first: bool = False,
    lines: int | None = None,
) -> int:
    """Follows jobs until they end.

    `first`: shows only the output of their first task; `lines`: begins with so many
    of the last ones.
    """
    tasks = sum(1 if first else job.get("task_count") or 1 for job in jobs)
    if tasks > MOST_STREAMS:
        raise Failure("run.too_many", codes.USAGE, ref=jobs[0]["ref"], most=MOST_STREAMS)
    here = RunFollower(session.client, jobs, limit, args.flag("quiet"))
    try:
        here.listen()
        if stdin != "none":
            _feed(here, args, stdin)
        here.show(args.flag("split-output"), muted=session.json, first=first, lines=lines)
        here.explain()
        ended = here.stay()
    except Leave as leave:
        here.close()
        if stdin == "tty":
            os.write(2, b"\n")  # the program's last line has no end
        say(t("run.left_tty" if stdin == "tty" else "run.left", ref=here.ref))
        return leave.code
    except BrokenPipeError:
        here.close()
        say(t("run.left", ref=here.ref))
        raise
    except GaveUp as error:
        here.close()
        raise Failure("lost.gave_up", codes.NEVER_RAN, ref=here.ref, cause=error.cause) from None
    finally:
        here.close()
    if session.json:
        session.print_json(ended[0] if len(ended) == 1 else {"jobs": ended})
    return max(_outcome(job, args.flag("quiet"), here.interrupts > 0) for job in ended)


def _feed(here: RunFollower, args: Args, stdin: str) -> None:
    from danlu.cli.feed import Feed, Keys

    client, ref = here.client, here.jobs[0]["id"]
    keys = None
    if stdin == "tty":
        # With a terminal, every key belongs to the task; without one, Ctrl-C asks first.
        asks = None if args.flag("tty") else here.interrupted_key
        keys = Keys(lambda: here.leave(codes.OK), lambda: say(t("run.keys")), asks)
    feed = Feed(here.loop, lambda: client.attach(ref), 0, keys, here.begin_typing)
    here.feed_with(feed, Terminal(0) if stdin == "tty" else None)


def _outcome(job: model.Job, quiet: bool, interrupted: bool) -> int:
    """Returns the job's exit code, and prints how it ended unless it succeeded."""
    code = job.get("exit_code")
    if job["state"] != "succeeded" and not quiet:
        advice = pick(job, "advice") if job.get("reason") not in ("exit_code", "signal") else ""
        reason = pick(job, "reason") or t(f"state.{job['state']}")
        key = "run.ended_advice" if advice else "run.ended"
        say(t(key, ref=job["ref"], reason=reason, advice=advice))
    if code is not None:
        return code & 0xFF if job["state"] == "succeeded" or code else codes.NEVER_RAN
    if job["state"] == "succeeded":
        return codes.OK
    return codes.SIGNALLED + codes.SIGINT if interrupted else codes.NEVER_RAN
