"""From words to a command's function."""

from __future__ import annotations

from danlu.cli import texts
from danlu.cli.options import Command, UsageError, nearest, parse
from danlu.cli.registry import COMMANDS, COMMON, find
from danlu.cli.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.options import Args


def dispatch(words: list[str]) -> int:
    command, rest = _split(words)
    args = parse(command, rest, COMMON)
    language = args.get("lang")
    if language and not texts.use(language):
        raise UsageError("usage.language", command.name, value=language)
    if args.flag("help"):
        from danlu.cli.help import show_help

        return show_help(None if command.name == "help" else command)
    module = __import__(f"danlu.cli.commands.{command.module}", fromlist=["*"])
    function: Callable[[Session, Args], int] = getattr(module, command.name.replace("-", "_"))
    return function(Session(args), args)


def _split(words: list[str]) -> tuple[Command, list[str]]:
    """The command, and the words for it; common options may stand before the command."""
    help_command = find("help")
    assert help_command is not None
    valued = {name for option in COMMON if option.metavar for name in option.names}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    if at >= len(words):
        return help_command, words
    name = words[at]
    command = find(name)
    if command is None:
        near = nearest(name, [known.name for known in COMMANDS if not known.hidden])
        if near:
            raise UsageError("usage.unknown_command_near", word=name, near=near)
        raise UsageError("usage.unknown_command", word=name)
    return command, words[:at] + words[at + 1 :]
