"""`danlu stop`, `wait`, `rerun`, `hold`, `release`: one or several jobs each."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.commands.listing import state_words
from danlu.cli.failure import complain, explain
from danlu.cli.formats import seconds
from danlu.cli.options import UsageError
from danlu.cli.submission import patience, report
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model


def stop(session: Session, args: Args) -> int:
    grace = _time(args, "grace")
    now = args.flag("now")
    return each(session, args, lambda ref: session.client.stop(ref, grace=grace, now=now))


def hold(session: Session, args: Args) -> int:
    return each(session, args, session.client.hold)


def release(session: Session, args: Args) -> int:
    return each(session, args, session.client.release)


def wait(session: Session, args: Args) -> int:
    """Exits with 0 only if every job succeeded."""
    timeout, limit = _time(args, "timeout"), patience(args)
    refs = [element for ref in args.words for element in _elements(session, ref)]
    warned = False

    def on_lost(error: Exception) -> None:
        nonlocal warned
        if not warned:
            warned = True
            complain(t("lost.waiting", cause=str(error)))

    jobs = [session.client.wait(ref, timeout, patience=limit, on_lost=on_lost) for ref in refs]
    if session.json:
        session.print_json({"jobs": jobs})
    else:
        _write_states(jobs)
    return max((_outcome(job) for job in jobs), default=codes.OK)


def _elements(session: Session, ref: str) -> list[str]:
    """A reference to an array stands for all its elements."""
    job = session.client.show(ref)
    last = ref.rpartition("/")[2]
    if job.get("array_index") is None or "." in last.rpartition("-")[2] or ref == job["id"]:
        return [ref]
    found: list[str] = []
    before: str | None = None
    while True:
        page = session.client.jobs(owner=job["owner"], name=job["name"], limit=1000, before=before)
        found += [each["id"] for each in page["jobs"] if each["number"] == job["number"]]
        before = page["next"]
        past = any(each["number"] < job["number"] for each in page["jobs"])
        if before is None or past:
            return found[::-1] or [ref]


def _outcome(job: model.Job) -> int:
    if job["state"] == "succeeded":
        return codes.OK
    code = job.get("exit_code")
    return code if code else codes.NEVER_RAN


def rerun(session: Session, args: Args) -> int:
    merged: model.Submitted = {"jobs": [], "notes": []}
    for ref in args.words:
        answer = session.client.rerun(ref)
        merged["jobs"] += answer["jobs"]
        merged["notes"] += answer.get("notes") or []
    return report(session, merged)


def each(session: Session, args: Args, act: Callable[[str], list[model.Job]]) -> int:
    """Applies the action to every job; a failure does not stop the rest."""
    done: list[model.Job] = []
    code = codes.OK
    for ref in args.words:
        try:
            done += act(ref)
        except ApiError as error:
            code = max(code, explain(error))
    if session.json:
        session.print_json({"jobs": done})
    else:
        _write_states(done)
    return code


def _write_states(jobs: list[model.Job]) -> None:
    for job in jobs:
        reason = pick(job, "reason") if job["state"] in ("failed", "stopped") else ""
        held = f", {t('state.held')}" if job.get("held") else ""
        words = f"{job['ref']}  {state_words(job)}{held}"
        sys.stdout.write(f"{words}  {reason}\n" if reason else f"{words}\n")


def _time(args: Args, name: str) -> float | None:
    given = args.get(name)
    if given is None:
        return None
    value = seconds(given)
    if value is None:
        raise UsageError("usage.not_a_time", args.command.name, option=f"--{name}", value=given)
    return value
