"""A user's own `#SBATCH` lines, and sbatch's command line, on their way to Slurm.

What Danlu decides itself (how many tasks of which size, the queue, arrays, dependencies, retries,
where output goes) is in its own options; everything else is passed on as it was written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from danlu.spec.dialects.sbatch_given import MARK, PASSED_ON
from danlu.spec.dialects.sbatch_options import Unreadable, parse, split_words

_LINE = re.compile(r"#SBATCH\s(.*)")
_MOST = 100


def options_of(words: Sequence[str]) -> list[str]:
    """Options for the batch script, from the words of a command that is a batch script."""
    text = next((word for word in words if "#SBATCH" in word), "")
    found: dict[str, str] = {}
    for line in text.split("\n")[:10_000]:
        match = _LINE.match(line)
        if match is not None:
            found.update(_options(match[1]))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
        if len(found) > _MOST:
            break
    last = text.rstrip("\n").rpartition("\n")[2]
    if last.startswith(MARK):  # the command line comes last, and wins
        found.update(_options(last.removeprefix(MARK)))
    return list(found.values())


def _options(text: str) -> dict[str, str]:
    try:
        given = [each for each in parse(split_words(text), None) if each.name in PASSED_ON]
    except (Unreadable, ValueError):
        return {}  # the dialect has reported it when the job was submitted
    return {
        each.name: f"--{each.name}={shlex.quote(each.value)}" if each.value else f"--{each.name}"
        for each in given
        if each.value.isprintable()
    }
