"""Nodes, queues and quotas."""

from danlu.cli.options import Command, Option
from danlu.cli.registry import YES

COMMANDS = (
    Command("nodes", "cluster"),
    Command("cluster", "cluster", (Option("learned"),)),
    Command("drain", "cluster", (Option("reason", "TEXT"),), "NODE...", 1, -1),
    Command("resume", "cluster", (), "NODE...", 1, -1),
    Command(
        "queue",
        "queues",
        (
            Option("engine", "NAME"),
            Option("node", "NODE", many=True),
            Option("all-nodes"),
            Option("kind", "KIND", many=True, words="train environment service none"),
            Option("order", "ORDER", words="fifo easy fair short-first"),
            Option("place", "ORDER", words="tight spread server gpu person learned"),
            Option("backfill", "yes|no", words="yes no"),
            Option("max-wait", "TIME"),
            Option("half-life", "TIME"),
            Option("lend", "yes|no", words="yes no"),
            Option("reclaim", "yes|no", words="yes no"),
            Option("consolidate", "yes|no", words="yes no"),
            Option("preempt", "WHOM", words="never lower-priority"),
            Option("priority", "N"),
            Option("weight", "N"),
            YES,
        ),
        "[list] | set NAME | merge NAME INTO | remove NAME",
        0,
        3,
        "list set merge remove",
        default="list",
    ),
    Command(
        "quota",
        "queues",
        (
            Option("gpus", "N", "g"),
            Option("model", "MODEL=N", many=True),
            Option("cpus", "N", "c"),
            Option("memory", "SIZE", "m"),
            Option("guaranteed", "N"),
            Option("disk", "SIZE"),
        ),
        "[list] | set user|group NAME | remove user|group NAME",
        0,
        3,
        "list set remove",
        default="list",
    ),
    Command("gpus", "cluster"),
)
