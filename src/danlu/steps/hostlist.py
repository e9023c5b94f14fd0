"""Host lists in Slurm's notation: node[1-3,7],login."""

from __future__ import annotations

import re


def expanded(text: str) -> list[str]:
    found: list[str] = []
    for part in _split(text):
        match = re.match(r"^(.*?)\[([^\]]*)\](.*)$", part)
        if match is None:
            found.append(part)
            continue
        before, inside, after = match.groups()
        for span in inside.split(","):
            low, _, high = span.partition("-")
            for number in range(int(low), int(high or low) + 1):
                name = f"{before}{str(number).zfill(len(low))}{after}"
                found.extend(expanded(name))
    return found


def _split(text: str) -> list[str]:
    parts = re.split(r",(?![^\[]*\])", text)
    return [part.strip() for part in parts if part.strip()]
