"""Submits jobs so that a lost answer never creates duplicates."""

from __future__ import annotations

import time

from danlu.cli.failure import Failure, complain
from danlu.cli.jobflags import add_command, job_keys, workdir
from danlu.cli.texts import pick, t
from danlu.sdk.errors import Lost, Unreachable
from danlu.sdk.ids import uuid7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

PATIENCE = 600.0


def patience(args: Args) -> float:
    """How long to wait for a server that went away."""
    from danlu.cli.formats import seconds
    from danlu.cli.options import UsageError

    given = args.get("patience")
    if given is None:
        return PATIENCE
    value = seconds(given)
    if value is None:
        raise UsageError("usage.not_a_time", args.command.name, option="--patience", value=given)
    return value


def send(ask: Callable[[], Any], limit: float, repeatable: bool) -> Any:
    """Sends a submission until it is answered.

    A server that was never reached is an error at once. After something was sent, the same ids are
    sent again until the server says whether it has them.
    """
    try:
        return ask()
    except Lost:
        if not repeatable:
            raise
    from danlu.sdk.patience import Pauses

    complain(t("lost.submission"))
    end = time.monotonic() + limit
    pauses = Pauses()
    while True:
        time.sleep(pauses.next())
        try:
            return ask()
        except (Lost, Unreachable) as error:
            if time.monotonic() > end:
                raise Failure("lost.gave_up_submission", cause=str(error)) from None


def submit_command(session: Session, args: Args, stdin: str | None = None) -> int:
    """Queues a job made from options alone."""
    job = command_job(args, session)
    if stdin is not None:
        job.setdefault("stdin", stdin)
    client = session.client
    if args.flag("dry-run"):
        return report_previews(session, [client.submit(job, dry_run=True)])
    answer = send(lambda: client.submit(job), patience(args), repeatable=True)
    return report(session, answer)


def command_job(args: Args, session: Session) -> dict[str, object]:
    job = job_keys(args)
    add_command(job, args)
    folder = workdir(args)
    if folder is not None and "workdir" not in job:
        job["workdir"] = folder
    job.setdefault("id", uuid7())
    if args.flag("carry"):
        from danlu.cli.carrying import bring

        job["bundle"] = bring(session, args)
    return job


def report(session: Session, answer: model.Submitted) -> int:
    """The queued jobs, one line each."""
    import sys

    if session.json:
        return session.print_json(answer)
    write_notes(answer)
    jobs = answer["jobs"]
    if len(jobs) > 3 and len({(job["owner"], job["name"], job["number"]) for job in jobs}) == 1:
        whole = jobs[0]["ref"].rpartition(".")[0] or jobs[0]["ref"]
        sys.stdout.write(t("submitted.array", ref=whole, count=len(jobs)) + "\n")
        return 0
    for job in jobs:
        sys.stdout.write(t("submitted.one", ref=job["ref"]) + "\n")
    return 0


def write_notes(answer: model.Submitted) -> None:
    for note in answer.get("notes") or []:
        complain(str(pick(note, "")))


def report_previews(session: Session, answers: list[model.Submitted]) -> int:
    """The result of a dry run: the job as it would be queued, and when it would start."""
    import sys

    from danlu.cli.commands.looking import write_why

    if session.json:
        merged: dict[str, Any] = {"jobs": [], "notes": [], "previews": []}
        for answer in answers:
            for key in merged:
                merged[key] += answer.get(key) or []
        return session.print_json(merged)
    for answer in answers:
        write_notes(answer)
        for preview in answer.get("previews") or []:
            sys.stdout.write(f"{preview['spec'].get('name', '')}: ")
            write_why(preview["why"])
            if preview.get("script"):
                sys.stdout.write(f"\n{preview['script']}")
    return 0
