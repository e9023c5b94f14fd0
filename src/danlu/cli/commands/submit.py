"""`danlu submit`: job files, standard input, or a command."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure, explain_api
from danlu.cli.foreign import usual_name
from danlu.cli.jobfile import LARGEST, JobFile, NotEditable
from danlu.cli.jobflags import job_keys, workdir
from danlu.cli.options import UsageError
from danlu.cli.submission import patience, report, report_previews, send, submit_command
from danlu.sdk.errors import ApiError
from danlu.sdk.ids import uuid7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model


def submit(session: Session, args: Args) -> int:
    if not args.words:
        return submit_command(session, args)
    if args.tail or args.get("script"):
        raise UsageError("submit.file_and_command", "submit")
    keys = job_keys(args)
    if args.get("workdir") is not None:
        keys["workdir"] = workdir(args)
    if args.flag("carry"):
        from danlu.cli.carrying import bring

        keys["bundle"] = bring(session, args)
    dialect = args.get("dialect")
    files = [_file(path, dialect, keys, args) for path in args.words]
    dry_run = args.flag("dry-run")
    try:
        # All files are checked before the first is queued, so that an error in the last one does
        # not leave the rest half done.
        if dry_run or len(files) > 1:
            previews = [_send(session, file, args, dry_run=True) for file in files]
            if dry_run:
                return report_previews(session, previews)
        answers = [_send(session, file, args, dry_run=False) for file in files]
    except _Refused as refused:
        return explain_api(refused.error, refused.file)
    return report(session, _merged(answers))


class _Refused(Exception):
    def __init__(self, error: ApiError, file: JobFile) -> None:
        super().__init__()
        self.error = error
        self.file = file


def _send(session: Session, file: JobFile, args: Args, dry_run: bool) -> model.Submitted:
    body, content_type = file.body()
    client = session.client
    query = {**file.query(), **reading(args)} if file.foreign else {}

    def ask() -> model.Submitted:
        return client.submit_text(body, content_type, dry_run=dry_run, **query)

    try:
        answer: model.Submitted = send(ask, patience(args), dry_run or file.repeatable)
    except ApiError as error:
        raise _as_written(session, file, error) from None
    return answer


def _as_written(session: Session, file: JobFile, error: ApiError) -> _Refused:
    """An unclosed construct in a file would only fail in the lines we append, which nobody would
    understand; so the original file is checked again as it was written.
    """
    lines = [detail.get("line") for detail in error.details]
    if file.foreign or not lines or lines[0] is None or file.place(lines[0]):
        return _Refused(error, file)
    plain = JobFile(file.source, file.written)
    try:
        session.client.submit_text(*plain.body(), dry_run=True)
    except ApiError as told:
        return _Refused(told, plain)
    return _Refused(error, file)


def reading(args: Args) -> dict[str, Any]:
    """Parameters for reading a file in another language."""
    return {"dialect": args.get("dialect"), "as": args.get("as"), "set": args.all("config")}


def _file(path: str, dialect: str | None, keys: dict[str, object], args: Args) -> JobFile:
    source, text = read_text(path)
    file = _prepare(JobFile(source, text, dialect), keys, args)
    name = usual_name(path, text, dialect) if file.foreign else None
    if name is not None:
        file.offer("name", name)
    return file


def _prepare(file: JobFile, keys: dict[str, object], args: Args) -> JobFile:
    try:
        file.set(keys)
    except NotEditable:
        raise Failure("submit.not_editable", codes.USAGE, file=file.source) from None
    if args.get("workdir") is None:
        folder = workdir(args)
        if folder is not None:
            file.offer("workdir", folder, unless=("image",))
    file.offer("id", uuid7)
    return file


def read_text(path: str) -> tuple[str, str]:
    """The file's name in error messages, and its text."""
    source = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
    except OSError as error:
        cause = error.strerror or str(error)
        raise Failure("submit.unreadable", codes.USAGE, file=source, cause=cause) from None
    except ValueError as error:
        raise Failure("submit.unreadable", codes.USAGE, file=source, cause=str(error)) from None
    if len(data) > LARGEST:
        raise Failure("submit.too_large", codes.USAGE, file=source, size=LARGEST >> 20)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Failure(
            "submit.not_utf8", codes.USAGE, file=source, line=line, at=error.start
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Failure("submit.not_text", codes.USAGE, file=source, line=line)
    return os.fspath(source), text


def _merged(answers: list[model.Submitted]) -> model.Submitted:
    if len(answers) == 1:
        return answers[0]
    return {
        "jobs": [job for answer in answers for job in answer["jobs"]],
        "notes": [note for answer in answers for note in answer.get("notes") or []],
    }
