"""`danlu attach`: comes back to a job that was left running."""

from __future__ import annotations

from danlu.cli import codes
from danlu.cli.arrays import tell_if_array
from danlu.cli.attending import attend
from danlu.cli.commands.run import stdin_kind
from danlu.cli.failure import Failure
from danlu.cli.last import job_or_last
from danlu.cli.options import UsageError
from danlu.cli.submission import patience
from danlu.cli.terminal import Terminal, say
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

ACTIVE = frozenset(("queued", "starting", "running", "stopping"))
LINES = 24


def attach(session: Session, args: Args) -> int:
    """Shows the last screen of output, then everything new; typing goes to the job."""
    if session.json:
        raise UsageError("logs.no_json", "attach")
    ref = job_or_last(session, args)
    job = session.client.show(ref)
    tell_if_array(ref, job)
    if job["state"] not in ACTIVE:
        raise Failure("attach.ended", codes.CONFLICT, ref=job["ref"])
    spec = job.get("spec") or {}
    if spec.get("split_output"):
        args.add("split-output", "")
    stdin = _input(args, str(spec.get("stdin") or "none"), job["ref"])
    size = Terminal(0).size()
    lines = size[0] if size else LINES
    return attend(session, args, [job], stdin, patience(args), lines=lines)


def _input(args: Args, takes: str, ref: str) -> str:
    """What of ours the job can read."""
    here = stdin_kind(args)
    if takes == "none":
        say(t("attach.no_input", ref=ref))
        return "none"
    if takes == "tty" and here != "tty":
        say(t("attach.not_a_terminal", ref=ref))
        return "none"
    return "pipe" if takes == "pipe" and here == "tty" else here
