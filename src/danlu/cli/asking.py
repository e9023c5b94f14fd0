"""Confirmation of actions that cannot be undone."""

from __future__ import annotations

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.table import printable
from danlu.cli.terminal import ask_key, is_terminal
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args


def make_sure(args: Args, key: str, **names: str) -> None:
    """Asks on a terminal only; scripts are not asked.

    Raises Failure unless the answer is yes.
    """
    if args.flag("yes") or not is_terminal(0):
        return
    told = t(key, **{name: printable(text) for name, text in names.items()})
    answer = ask_key(f"{told} [y/N]")
    if answer is not None and answer not in ("y", "Y"):
        raise Failure("sure.not_done", codes.TROUBLE)
