"""From arguments to a command's function."""

from __future__ import annotations

from danlu.cli import texts
from danlu.cli.options import Command, UsageError, nearest, parse
from danlu.cli.registry import COMMON, commands, find
from danlu.cli.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.options import Args


# Commands people know from elsewhere, and what they are called here.
ELSEWHERE = {
    "ps": "jobs",
    "list": "jobs",
    "status": "jobs",
    "queues": "queue",
    "squeue": "jobs",
    "history": "jobs --all",
    "kill": "stop",
    "cancel": "stop",
    "delete": "stop",
    "describe": "show",
    "get": "show",
    "info": "show",
    "inspect": "show",
    "log": "logs",
    "tail": "logs -f",
    "retry": "rerun",
    "restart": "rerun",
    "bash": "shell",
    "start": "up",
    "serve": "up",
    "sinfo": "nodes",
    "nvidia-smi": "gpus",
    "config": "context",
}


def dispatch(words: list[str]) -> int:
    _choose_language(words)
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
    session = Session(args)
    try:
        code = function(session, args)
    except Exception as error:
        session.add_details(error)
        raise
    session.tell_of_demo()
    return code


def _choose_language(words: list[str]) -> None:
    """Before anything else is parsed, so that errors are in that language, too."""
    for at, word in enumerate(words):
        if word == "--":
            return
        if word == "--lang":
            texts.use("".join(words[at + 1 : at + 2]))
        elif word.startswith("--lang="):
            texts.use(word[7:])


def _split(words: list[str]) -> tuple[Command, list[str]]:
    """The command and its arguments; common options may precede the command."""
    valued = {name for option in COMMON if option.metavar for name in option.names}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    if at >= len(words):
        help_command = find("help")
        assert help_command is not None
        return help_command, words
    name = words[at]
    command = find(name)
    if command is None:
        near = ELSEWHERE.get(name) or nearest(
            name, [known.name for known in commands() if not known.hidden]
        )
        if near:
            raise UsageError("usage.unknown_command_near", word=name, near=near)
        raise UsageError("usage.unknown_command", word=name)
    return command, words[:at] + words[at + 1 :]
