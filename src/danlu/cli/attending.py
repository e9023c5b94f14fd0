"""Stays with jobs until they end, and exits like them."""

from __future__ import annotations

import os

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.follow import GaveUp
from danlu.cli.run_follower import Leave, RunFollower
from danlu.cli.terminal import Terminal, say
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

MOST_STREAMS = 64


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
