"""`danlu clone`: prints a job as a file, or submits a modified copy."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure, explain_api
from danlu.cli.jobfile import JobFile
from danlu.cli.jobflags import set_key
from danlu.cli.submission import PATIENCE, report, report_previews, send
from danlu.sdk.errors import ApiError
from danlu.sdk.ids import uuid7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session


_AMOUNTS = frozenset({"gpus", "cpus", "memory", "shm"})


def clone(session: Session, args: Args) -> int:
    """Prints the job; with --set or --edit, submits a modified copy instead."""
    ref, client = args.words[0], session.client
    if args.flag("edit"):
        return _edited(session, args, client.spec_yaml(ref))
    if args.all("set"):
        settings = args.all("set")
        job = client.spec(ref, defaults=not any(map(_changes_amounts, settings)))
        for setting in settings:
            _set(job, setting)
        job["id"] = uuid7()
        if args.flag("dry-run"):
            return report_previews(session, [client.submit(job, dry_run=True)])
        return report(session, send(lambda: client.submit(job), PATIENCE, repeatable=True))
    if session.json:
        return session.print_json(client.spec(ref))
    _write(client.spec_yaml(ref), args.get("output"))
    return 0


def _changes_amounts(setting: str) -> bool:
    """Whether resources that were filled in for the old amounts have to follow."""
    return not _AMOUNTS.isdisjoint(setting.partition("=")[0].split("."))


def _set(job: dict[str, Any], setting: str) -> None:
    """Another number of GPUs is still of the same model."""
    place: Any = job
    *outer, last = setting.partition("=")[0].split(".")
    for key in outer:
        place = place.get(key) if isinstance(place, dict) else None
    before = place.get(last) if isinstance(place, dict) and last == "gpus" else None
    set_key(job, setting)
    if isinstance(before, dict) and before.get("model"):
        amount = place["gpus"]
        if isinstance(amount, (int, float)) and not isinstance(amount, bool) and amount > 0:
            key = "count" if isinstance(amount, int) or amount >= 1 else "fraction"
            place["gpus"] = {key: amount, "model": before["model"]}


def _write(text: str, path: str | None) -> None:
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Failure("file.unwritable", file=path, cause=error.strerror or str(error)) from None


def _edited(session: Session, args: Args, text: str) -> int:
    """Opens the job in the user's editor; if it is saved unchanged or empty, nothing is
    submitted.
    """
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix="danlu-", delete=False) as file:
        file.write(text)
    try:
        _run_editor(file.name)
        with open(file.name, encoding="utf-8", errors="replace") as back:
            changed = back.read()
        if changed == text or not changed.strip():
            raise Failure("clone.unchanged", codes.OK)
        job = JobFile(file.name, changed)
        job.offer("id", uuid7)
        body, content_type = job.body()
        dry_run = args.flag("dry-run")
        client = session.client
        answer = send(
            lambda: client.submit_text(body, content_type, dry_run=dry_run),
            PATIENCE,
            job.repeatable,
        )
    except ApiError as error:
        code = explain_api(error, job)
        raise Failure("clone.kept", code, file=file.name) from None
    os.unlink(file.name)
    return report_previews(session, [answer]) if dry_run else report(session, answer)


def _run_editor(path: str) -> None:
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.call([*shlex.split(editor), path])
    except (OSError, ValueError) as error:
        raise Failure("clone.no_editor", editor=editor, cause=str(error)) from None
    if code != 0:
        raise Failure("clone.editor_failed", editor=editor, status=code)
