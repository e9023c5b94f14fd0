"""`danlu edit`: changes waiting jobs in place; and the command line of a suggested change."""

from __future__ import annotations

from danlu.cli.commands.acting import each
from danlu.cli.jobflags import number, set_key
from danlu.cli.options import UsageError
from danlu.sdk.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session

_OPTIONS = {
    "gpus": "gpus",
    "cpus": "cpus",
    "memory": "memory",
    "time": "time_limit",
    "queue": "queue",
    "priority": "priority",
    "count": "count",
}
_NONE = "none"


def edit(session: Session, args: Args) -> int:
    changes = _changes(args)
    if not changes:
        raise UsageError("edit.nothing", "edit")
    return each(session, args, lambda ref: session.client.edit(ref, **changes))


def _changes(args: Args) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for option, key in _OPTIONS.items():
        given = args.get(option)
        if given is not None:
            changes[key] = None if given == _NONE else number(given)
    for setting in args.all("set"):
        set_key(changes, setting)
    return changes


def command_of(ref: str, change: dict[str, Any]) -> str:
    """The command that makes a change."""
    import shlex

    options = {key: option for option, key in _OPTIONS.items()}
    words = ["danlu", "edit", ref]
    for key, value in change.items():
        flag = options.get(key)
        text = _flag(value)
        if flag is not None and text is not None:
            words += [f"--{flag}", text]
        else:
            words += ["--set", f"{key}={dumps(value)}"]
    return shlex.join(words)


def _flag(value: Any) -> str | None:
    """A value as an option takes it; None: only --set can express it."""
    if isinstance(value, dict):
        if set(value) == {"count", "model"}:
            return f"{value['count']}:{value['model']}"
        return None
    return _NONE if value is None else str(value)
