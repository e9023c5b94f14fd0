"""`danlu logs`: read, follow, search, download."""

from __future__ import annotations

import errno
import os
import sys

from danlu.cli import codes
from danlu.cli.arrays import tell_if_array
from danlu.cli.failure import Failure, complain
from danlu.cli.follow import Absence, GaveUp, LabelledSink, Tail, plain_sink
from danlu.cli.last import job_or_last
from danlu.cli.loop import Loop
from danlu.cli.options import UsageError
from danlu.cli.submission import patience
from danlu.cli.table import printable
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk.logs import LogStream


def logs(session: Session, args: Args) -> int:
    if args.get("search") is not None:
        return _search(session, args)
    path = args.get("output")
    if path is None or path == "-":
        return _copy(session, args, 1)
    # Written to a temporary file first: an interrupted download must not look complete.
    if os.path.isdir(path):
        raise Failure("file.unwritable", file=path, cause=os.strerror(errno.EISDIR))
    part = f"{path}.part"
    try:
        out = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        raise Failure("file.unwritable", file=path, cause=error.strerror or str(error)) from None
    try:
        code = _copy(session, args, out)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    finally:
        os.close(out)
    return code


def _search(session: Session, args: Args) -> int:
    """Exits with 1 if nothing was found, like grep."""
    answer = session.client.search(
        job_or_last(session, args),
        args.get("search") or "",
        task=_task(args) or 0,
        stream=_stream(args),
        attempt=args.integer("attempt"),
        ignore_case=args.flag("ignore-case"),
        limit=args.integer("limit") or 100,
    )
    if session.json:
        session.print_json(answer)
    else:
        for match in answer["matches"]:
            sys.stdout.write(f"{match['line']}: {printable(match['text'])}\n")
        if answer["more"]:
            sys.stdout.flush()
            sys.stderr.write(t("logs.more_matches") + "\n")
    return codes.OK if answer["matches"] else codes.TROUBLE


def _copy(session: Session, args: Args, out: int) -> int:
    if args.flag("json"):
        raise UsageError("logs.no_json", "logs")
    loop, absence = Loop(), Absence(patience(args))
    streams = _streams(session, args)
    left = len(streams)

    def ended() -> None:
        nonlocal left
        left -= 1
        if not left:
            loop.stop()

    sinks: list[LabelledSink] = []
    for stream in streams:
        sink: Callable[[bytes], None] = plain_sink(out)
        if len(streams) > 1:
            sinks.append(LabelledSink(out, str(stream.task)))
            sink = sinks[-1]
        Tail(loop, stream, sink, absence, ended).start(patient=False)
    try:
        loop.run()
    except GaveUp as error:
        raise Failure("lost.gave_up_reading", cause=error.cause) from None
    for labelled in sinks:
        labelled.finish()
    return codes.OK


def _streams(session: Session, args: Args) -> list[LogStream]:
    ref, client = job_or_last(session, args), session.client
    task = _task(args)
    job = client.show(ref)
    tell_if_array(ref, job)
    if job["state"] == "queued" and not job.get("attempt"):
        complain(t("logs.waits", ref=job["ref"]))
    tasks = range(job.get("task_count") or 1) if task is None else (task,)
    return [
        client.log_stream(
            ref,
            task=each,
            stream=_stream(args),
            attempt=args.integer("attempt"),
            offset=args.integer("offset"),
            tail=args.integer("tail"),
            follow=args.flag("follow"),
            raw=args.flag("raw"),
        )
        for each in tasks
    ]


def _stream(args: Args) -> str:
    return "err" if args.flag("err") else "out"


def _task(args: Args) -> int | None:
    """The task's number; None for all."""
    return None if args.get("task") == "all" else args.integer("task") or 0
