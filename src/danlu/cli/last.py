"""Where a job is left out, the caller's last one is meant."""

from __future__ import annotations

from danlu.cli import codes
from danlu.cli.failure import Failure, complain
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def job_or_last(session: Session, args: Args) -> str:
    """The job that was named, or the one submitted last; says which."""
    if args.words:
        return args.words[0]
    me = session.client.whoami()["user"]
    found = session.client.jobs(owner=me, limit=1)["jobs"]
    if not found:
        raise Failure("last.none", codes.NOT_FOUND)
    job = found[0]
    ref = job["ref"] if job.get("array_index") is None else job["ref"].rpartition(".")[0]
    complain(t("last.job", ref=ref))
    return ref
