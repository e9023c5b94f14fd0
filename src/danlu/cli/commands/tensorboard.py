"""`danlu tensorboard`: curves of one's folders, in the browser."""

from __future__ import annotations

import os
import sys
import time

from danlu.cli import codes
from danlu.cli.commands.open import show_address
from danlu.cli.failure import Failure, complain
from danlu.cli.jobflags import current_folder, job_keys
from danlu.cli.options import UsageError
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_LOOK = 0.3  # seconds
_SOON = 2.0  # seconds after which it is said what is waited for
_BEFORE = ("queued", "starting")


def tensorboard(session: Session, args: Args) -> int:
    job = args.get("job")
    if bool(args.words) == (job is not None):
        raise UsageError("tensorboard.which", "tensorboard")
    keys = job_keys(args)
    if job is not None:
        shown = session.client.tensorboard(job=job, **keys)
    else:
        shown = session.client.tensorboard([_seen(word) for word in args.words], **keys)
    ref = shown["job"]["ref"]
    if args.flag("detach"):
        if session.json:
            return session.print_json(shown)
        sys.stdout.write(t("tensorboard.queued", ref=ref) + "\n")
        return codes.OK
    _wait(session, shown["job"]["id"])
    opened = session.client.open_door(shown["job"]["id"], "tensorboard")
    if session.json:
        return session.print_json({**shown, "door": opened})
    return show_address(args, opened["url"])


def _seen(folder: str) -> str:
    """Paths are those of tasks; one that is not whole begins in the current folder."""
    return os.path.normpath(os.path.join(current_folder(), folder))


def _wait(session: Session, job: str) -> None:
    """Until it runs; what it waits for is said once, and again when that changes."""
    begun, told = time.monotonic(), ""
    while True:
        found = session.client.show(job)
        if found["state"] == "running":
            return
        if found["state"] not in _BEFORE:
            reason = str(pick(found, "reason") or t(f"state.{found['state']}"))
            raise Failure("tensorboard.ended", codes.TROUBLE, ref=found["ref"], reason=reason)
        if time.monotonic() - begun > _SOON:
            words = _waits_for(session, found)
            if words and words != told:
                complain(f"{found['ref']}: {words}")
                told = words
        time.sleep(_LOOK)


def _waits_for(session: Session, found: model.JobDetail) -> str:
    if found["state"] == "queued":
        return str(pick(session.client.why(found["id"]), "sentence") or "")
    return str(pick(found, "doing") or "")
