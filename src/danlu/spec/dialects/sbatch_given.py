"""Options of sbatch that only Slurm itself understands: kept with the script, for a queue on Slurm.

Those in `#SBATCH` lines are in the script anyway. Those of the command line are added as its last
line, a comment, where they shift no line number that a shell would name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from danlu.spec.dialects.sbatch_options import Given

MARK = "#SBATCH-GIVEN "
PASSED_ON = frozenset(
    {
        "account",
        "acctg-freq",
        "batch",
        "bb",
        "cluster-constraint",
        "constraint",
        "contiguous",
        "core-spec",
        "cores-per-socket",
        "cpu-freq",
        "deadline",
        "delay-boot",
        "distribution",
        "exclusive",
        "extra-node-info",
        "gres-flags",
        "hint",
        "licenses",
        "mail-type",
        "mail-user",
        "mcs-label",
        "network",
        "nice",
        "oversubscribe",
        "power",
        "prefer",
        "profile",
        "qos",
        "reboot",
        "reservation",
        "sockets-per-node",
        "spread-job",
        "switches",
        "thread-spec",
        "threads-per-core",
        "tmp",
        "use-min-nodes",
        "wckey",
    }
)
"""Danlu decides none of these itself."""


def with_given(text: str, given: Iterable[Given]) -> str:
    words = [
        f"--{each.name}={each.value}" if each.value else f"--{each.name}"
        for each in given
        if each.name in PASSED_ON and each.value.isprintable()
    ]
    if not words:
        return text
    return f"{text.rstrip(chr(10))}\n{MARK}{shlex.join(words)}\n"
