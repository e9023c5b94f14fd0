"""What helps at the command line itself."""

from danlu.cli.options import Command, Option
from danlu.cli.registry import FOLDER

COMMANDS = (
    Command(
        "shims",
        "shims",
        (Option("dir", "FOLDER", words=FOLDER), Option("over")),
        "install|remove [NAME...]",
        1,
        -1,
        "install remove",
    ),
    Command("completion", "meta", (), "bash|zsh|fish", 1, 1, "bash zsh fish"),
    Command("version", "session"),
    Command("help", "meta", (Option("markdown"),), "[COMMAND]", most=1, words="<command>"),
    Command("complete-jobs", "meta", hidden=True),
)
