"""`danlu jobs`."""

from __future__ import annotations

import sys
import time

from danlu.cli.formats import duration, hour, moment, number
from danlu.cli.options import UsageError
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

PAGE, MOST = 50, 1000
ACTIVE = frozenset(("queued", "starting", "running", "stopping"))


def jobs(session: Session, args: Args) -> int:
    if args.flag("watch"):
        from danlu.cli.commands.watching import watch

        look, show = lambda: _page(session, args), lambda page: _show_page(session, args, page)
        return watch(session, look, show, owner=args.get("owner"))
    return _show_page(session, args, _page(session, args))


def _page(session: Session, args: Args) -> model.JobPage:
    limit = args.integer("limit")
    states = ",".join(args.all("state")) or None
    folded = _folds(session, args)
    # In this order, waiting jobs come after those that run.
    sort = args.get("sort") or (None if states or args.flag("all") else "-state")
    return session.client.jobs(
        state=states,
        owner=args.get("owner"),
        group=args.get("group"),
        name=args.get("name"),
        kind=args.get("kind"),
        queue=args.get("queue"),
        since=_moment(args, "since"),
        until=_moment(args, "until"),
        text=args.get("text"),
        active=None if states or args.flag("all") else True,
        sort=sort,
        limit=MOST if folded else PAGE if limit is None else limit,
    )


def _show_page(session: Session, args: Args, page: model.JobPage) -> int:
    if session.json:
        return session.print_json(page)
    limit, found = args.integer("limit"), page["jobs"]
    if args.flag("quiet"):
        sys.stdout.write("".join(f"{job['ref']}\n" for job in found))
        return 0
    if not found:
        every = args.flag("state") or args.flag("all")
        sys.stdout.write(t("jobs.none" if every else "jobs.none_active") + "\n")
        return 0
    rows = fold(found) if _folds(session, args) else [[job] for job in found]
    shown = rows[: PAGE if limit is None else limit]
    _write_jobs(shown)
    if page.get("next") is not None or len(rows) > len(shown):
        sys.stdout.write(t("jobs.more", limit=len(shown) * 2) + "\n")
    return 0


def _folds(session: Session, args: Args) -> bool:
    """Whether an array is one line: not for programs, nor for those who asked for its jobs."""
    limit = args.integer("limit")
    if limit is not None and not 0 < limit <= MOST:
        return False  # the server says what is allowed
    plain = session.json or args.flag("quiet") or args.flag("unfold")
    return not plain and args.get("name") is None


def fold(jobs: list[model.Job]) -> list[list[model.Job]]:
    """Elements of the same array together, at the place of the first."""
    rows: dict[object, list[model.Job]] = {}
    for job in jobs:
        array = job.get("array_index") is not None
        key = (job["owner"], job["name"], job["number"]) if array else job["id"]
        rows.setdefault(key, []).append(job)
    return list(rows.values())


def _moment(args: Args, name: str) -> float | None:
    given = args.get(name)
    if given is None:
        return None
    from danlu.cli.formats import moment_of

    at = moment_of(given)
    if at is None:
        raise UsageError("usage.not_a_moment", args.command.name, option=f"--{name}", value=given)
    return at


def _write_jobs(found: list[list[model.Job]]) -> None:
    now = time.time()
    heads = ["job", "state", "gpus", "time", "submitted", "where", "command"]
    write_table(
        [t(f"jobs.head_{name}") for name in heads],
        [_job_row(jobs, now) for jobs in found],
        right="  >>",
        state=1,
        states=[_colour(jobs) for jobs in found],
    )


def _job_row(jobs: list[model.Job], now: float) -> list[str]:
    """A job, or several of one array: what they use together."""
    job = jobs[0]
    began = [at for each in jobs if (at := each.get("started_at")) is not None]
    started, ended = min(began, default=None), job.get("ended_at") if len(jobs) == 1 else None
    ran = "-" if started is None else duration((ended or now) - started)
    before = job.get("before") if len(jobs) == 1 else None
    if before:  # it waits again, so its run time no longer grows
        ran = duration(before["ran"])
    nodes = list(dict.fromkeys(node for each in jobs for node in each.get("nodes") or []))
    where = ",".join(nodes[:2]) + (f"+{len(nodes) - 2}" if len(nodes) > 2 else "")
    if not where and job["state"] not in ACTIVE:
        where = "-"
    return [
        job["ref"] if len(jobs) == 1 else f"{job['ref'].rpartition('.')[0]}.*",
        state_words(job) if len(jobs) == 1 else _counted_states(jobs),
        number(sum(each.get("gpus") or 0 for each in jobs)),
        ran,
        moment(job.get("submitted_at"), now),
        where or job.get("queue") or "-",
        job.get("command") or "",
    ]


def _counted_states(jobs: list[model.Job]) -> str:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job["state"]] = counts.get(job["state"], 0) + 1
    words = ", ".join(f"{count} {t(f'state.{state}')}" for state, count in counts.items())
    unknown = _unknown_since(jobs)
    if not unknown:
        return words
    return t("jobs.some_unknown", states=words, count=len(unknown), since=hour(min(unknown)))


def _unknown_since(jobs: list[model.Job]) -> list[float]:
    """Of those whose engine does not report them."""
    return [since for job in jobs if (since := job.get("unknown_since")) is not None]


def _colour(jobs: list[model.Job]) -> str:
    return "unknown" if _unknown_since(jobs) else jobs[0]["state"]


def state_words(job: model.Job) -> str:
    """The state, with the exit code if that adds information, or since when it is unknown."""
    word = t(f"state.{job['state']}")
    code, unknown = job.get("exit_code"), job.get("unknown_since")
    if unknown is not None:
        return t("jobs.unknown", state=word, since=hour(unknown))
    return f"{word} ({code})" if job["state"] == "failed" and code is not None else word
