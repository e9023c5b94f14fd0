"""What starts jobs, and the options of a job."""

from danlu.cli.options import Command, Option
from danlu.cli.registry import FILE, FOLDER, JOB, PATIENCE, TASK

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
    Option("carry", "[FOLDER]", words=FOLDER),
    Option("dataset", "NAME", many=True),
    Option("count", "N"),
    Option("per-gpu"),
    Option("split-output"),
    Option("log-cap", "SIZE"),
    Option("held"),
    Option("node", "NODE", many=True),
    Option("exclude", "NODE", many=True),
    Option("label", "LABEL", many=True),
    Option("preemptible"),
    Option("script", "FILE", words=FILE),
    Option("set", "KEY=VALUE", many=True),
    Option("dry-run"),
)

LANGUAGE_OPTIONS = (
    Option("dialect", "NAME", words="native openpai-v1 openpai-v2 dlc determined sbatch"),
    Option("as", "KIND", words="shell notebook command tensorboard experiment"),
    Option("config", "KEY=VALUE", many=True),
)

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
        (*JOB_OPTIONS, *LANGUAGE_OPTIONS, PATIENCE),
        "FILE... | - | -- COMMAND [WORD...]",
        most=-1,
        words=FILE,
        tail=True,
    ),
    Command(
        "convert",
        "convert",
        (
            *LANGUAGE_OPTIONS,
            Option("volume", "NAME=FOLDER", many=True),
            Option("offline"),
        ),
        "FILE... | -",
        1,
        -1,
        FILE,
    ),
    Command(
        "shell",
        "shell",
        (*JOB_OPTIONS, TASK, Option("quiet"), PATIENCE),
        "[JOB]",
        0,
        1,
        JOB,
    ),
)
