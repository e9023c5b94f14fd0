"""What runs where the server is."""

from danlu.cli.options import Command, Option
from danlu.cli.registry import FILE, FOLDER, YES

COMMANDS = (
    Command(
        "up",
        "server",
        (
            Option("host", "ADDRESS"),
            Option("port", "N"),
            Option("data", "FOLDER", words=FOLDER),
            Option("config", "FILE", words=FILE),
            Option("first-job"),
            Option("install-service"),
            Option("dry-run"),
            Option("demo"),
            Option("reset"),
        ),
    ),
    Command(
        "init",
        "server",
        (
            Option("config", "FILE", words=FILE),
            Option("data", "FOLDER", words=FOLDER),
            Option("dry-run"),
            Option("force"),
            YES,
        ),
    ),
    Command("down", "server"),
    Command(
        "admin",
        "server",
        (Option("data", "FOLDER", words=FOLDER), Option("config", "FILE", words=FILE)),
        "reset-password [NAME]",
        1,
        2,
        "reset-password",
    ),
    Command("snapshot", "server"),
    Command(
        "replay",
        "server",
        (Option("job", "JOB"), Option("limit", "N", "l")),
        "FILE | -",
        1,
        1,
        FILE,
    ),
    Command("check", "server", (Option("data", "FOLDER", words=FOLDER), Option("config", "FILE"))),
    Command(
        "backup",
        "backup",
        (
            Option("homes"),
            Option("data", "FOLDER", words=FOLDER),
            Option("config", "FILE", words=FILE),
        ),
        "FILE",
        1,
        1,
        FILE,
    ),
    Command(
        "restore",
        "backup",
        (
            Option("check"),
            Option("force"),
            Option("data", "FOLDER", words=FOLDER),
            Option("config", "FILE", words=FILE),
        ),
        "FILE",
        1,
        1,
        FILE,
    ),
    Command(
        "tools",
        "server",
        (
            Option("force"),
            Option("data", "FOLDER", words=FOLDER),
            Option("config", "FILE", words=FILE),
        ),
        "status | build | pack FILE | install FILE",
        1,
        2,
        "status build pack install",
    ),
    Command(
        "slurm",
        "server",
        (
            Option("out", "FOLDER", words=FOLDER),
            Option("force"),
            Option("via", "HOW", words="auto ssh srun"),
            Option("shared", "FOLDER", words=FOLDER),
        ),
        "init NODES.toml | check [NODES.toml]",
        1,
        2,
        "init check",
    ),
)
