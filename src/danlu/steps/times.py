"""Times in Slurm's formats: minutes, h:m:s, d-h:m:s."""

from __future__ import annotations


def seconds(text: str) -> float:
    """0: no limit, also for invalid values."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return 0.0
    numbers = [int(part) for part in parts]
    if dash:
        numbers += [0] * (3 - len(numbers))
    elif len(numbers) == 1:
        numbers = [0, numbers[0], 0]
    elif len(numbers) == 2:
        numbers = [0, *numbers]
    hours, minutes, last = numbers[:3]
    return int(days or 0) * 86400.0 + hours * 3600.0 + minutes * 60.0 + last
