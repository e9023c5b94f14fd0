"""`danlu shell`: a shell on the cluster, or in a running job."""

from __future__ import annotations

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.options import UsageError
from danlu.cli.terminal import is_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

# The best shell there is: images may have no bash.
COMMAND = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh")


def shell(session: Session, args: Args) -> int:
    if not (is_terminal(0) and is_terminal(1)):
        raise Failure("shell.no_terminal", codes.USAGE)
    args.tail = list(COMMAND)
    args.add("tty", "")
    if args.words:
        return _in_job(session, args)
    if args.flag("task"):
        raise UsageError("shell.task_of_job", "shell")
    from danlu.cli.commands.run import run

    for option, value in (("name", "shell"), ("kind", "environment")):
        if not args.flag(option):
            args.add(option, value)
    return run(session, args)


def _in_job(session: Session, args: Args) -> int:
    from danlu.cli.commands.exec import exec as run_in_job

    asked = set(args.given) - {"tty", "task", "quiet", "patience", "server", "token"}
    asked -= {"context", "lang"}
    if asked:
        raise UsageError("shell.running_already", "shell", option=f"--{sorted(asked)[0]}")
    return run_in_job(session, args)
