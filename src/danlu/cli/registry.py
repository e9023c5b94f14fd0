"""Every command and every option, in one table."""

from danlu.cli.options import Command, Option

JOB, FILE, FOLDER = "<job>", "<file>", "<dir>"
STATES = "queued starting running stopping succeeded failed stopped"

COMMON = (
    Option("json"),
    Option("server", "URL"),
    Option("token", "TOKEN"),
    Option("context", "NAME"),
    Option("lang", "LANG", words="zh en"),
    Option("help", short="h"),
)

JOB_OPTIONS = (
    Option("gpus", "N[:MODEL]", "g"),
    Option("model", "MODEL"),
    Option("cpus", "N", "c"),
    Option("memory", "SIZE", "m"),
    Option("shm", "SIZE"),
    Option("env", "NAME[=VALUE]", "e", many=True),
    Option("carry-env"),
    Option("secret", "[VARIABLE=]NAME", many=True),
    Option("mount", "VOLUME:PATH[:ro]", many=True),
    Option("port", "NAME[=N]", many=True),
    Option("time", "TIME", "t"),
    Option("priority", "N", "p"),
    Option("queue", "QUEUE", "q"),
    Option("group", "GROUP"),
    Option("name", "NAME", "n"),
    Option("kind", "KIND", words="train environment service"),
    Option("retries", "N"),
    Option("grace", "TIME"),
    Option("after", "JOB[:WHEN]", many=True, words=JOB),
    Option("array", "INDEXES"),
    Option("workdir", "FOLDER", "w", words=FOLDER),
    Option("image", "IMAGE"),
    Option("count", "N"),
    Option("per-gpu"),
    Option("split-output"),
    Option("log-cap", "SIZE"),
    Option("held"),
    Option("script", "FILE", words=FILE),
    Option("set", "KEY=VALUE", many=True),
    Option("dry-run"),
)

PATIENCE = Option("patience", "TIME")
TASK = Option("task", "N")

COMMANDS = (
    Command(
        "run",
        "run",
        (
            *JOB_OPTIONS,
            Option("detach", short="d"),
            Option("tty"),
            Option("no-tty"),
            Option("no-stdin"),
            Option("quiet"),
            PATIENCE,
        ),
        "[--] COMMAND [WORD...]",
        tail=True,
    ),
    Command(
        "submit",
        "submit",
        (*JOB_OPTIONS, PATIENCE),
        "FILE... | - | -- COMMAND [WORD...]",
        most=-1,
        words=FILE,
        tail=True,
    ),
    Command(
        "jobs",
        "listing",
        (
            Option("all", short="a"),
            Option("state", "STATE", "s", many=True, words=STATES),
            Option("owner", "USER", "u"),
            Option("name", "NAME", "n"),
            Option("limit", "N", "l"),
            Option("quiet"),
        ),
    ),
    Command("show", "looking", (), "JOB", 1, 1, JOB),
    Command("why", "looking", (), "JOB", 1, 1, JOB),
    Command("events", "looking", (Option("limit", "N", "l"),), "JOB", 1, 1, JOB),
    Command(
        "logs",
        "logs",
        (
            Option("follow", short="f"),
            Option("task", "N|all"),
            Option("attempt", "N"),
            Option("tail", "LINES", "n"),
            Option("offset", "BYTES"),
            Option("err"),
            Option("search", "TEXT", "s"),
            Option("ignore-case", short="i"),
            Option("limit", "N", "l"),
            Option("output", "FILE", "o", words=FILE),
            PATIENCE,
        ),
        "JOB",
        1,
        1,
        JOB,
    ),
    Command("stop", "acting", (Option("now"), Option("grace", "TIME")), "JOB...", 1, -1, JOB),
    Command("wait", "acting", (Option("timeout", "TIME"), PATIENCE), "JOB...", 1, -1, JOB),
    Command("rerun", "acting", (), "JOB...", 1, -1, JOB),
    Command("hold", "acting", (), "JOB...", 1, -1, JOB),
    Command("release", "acting", (), "JOB...", 1, -1, JOB),
    Command(
        "clone",
        "clone",
        (
            Option("set", "KEY=VALUE", many=True),
            Option("edit"),
            Option("output", "FILE", "o", words=FILE),
            Option("dry-run"),
        ),
        "JOB",
        1,
        1,
        JOB,
    ),
    Command(
        "exec",
        "exec",
        (TASK, Option("tty"), Option("no-tty"), Option("no-stdin")),
        "JOB [--] COMMAND [WORD...]",
        1,
        1,
        JOB,
        tail=True,
    ),
    Command("secret", "secrets", (), "set NAME | list | rm NAME", 1, 2, "set list rm"),
    Command("nodes", "listing"),
    Command("gpus", "listing"),
    Command(
        "login",
        "session",
        (Option("user", "USER", "u"), Option("password-stdin"), Option("name", "NAME", "n")),
        "[URL]",
        most=1,
    ),
    Command("whoami", "session"),
    Command("passwd", "session"),
    Command(
        "up",
        "place",
        (
            Option("host", "ADDRESS"),
            Option("port", "N"),
            Option("data", "FOLDER", words=FOLDER),
            Option("config", "FILE", words=FILE),
            Option("first-job"),
        ),
    ),
    Command("down", "place"),
    Command("check", "place", (Option("data", "FOLDER", words=FOLDER), Option("config", "FILE"))),
    Command("completion", "meta", (), "bash|zsh|fish", 1, 1, "bash zsh fish"),
    Command("version", "session"),
    Command("help", "meta", (Option("markdown"),), "[COMMAND]", most=1, words="<command>"),
    Command("complete-jobs", "meta", hidden=True),
)


def find(name: str) -> "Command | None":
    for command in COMMANDS:
        if command.name == name:
            return command
    return None
