"""Jobs that the controller no longer remembers, as the accounting database tells of them.

Many sites have none, and where there is one it may be away: it is asked only about jobs that left
no status of their own, and without an answer they are judged as before.
"""

from __future__ import annotations

from collections.abc import Iterable

from danlu.engines.api import Refused, Unreachable
from danlu.engines.slurm import fields
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.queue import Entry

_COLUMNS = ("JobIDRaw", "State", "Reason", "NodeList", "Start", "End", "UID")
_MOST = 200  # jobs of one question
_NO_NODES = ("", "None assigned", "(null)")


async def ask(commands: Commands, numbers: Iterable[str]) -> dict[str, Entry]:
    """Job number -> how it ended, of those that have. Empty if nobody answers."""
    wanted = [number for number in numbers if number.isdigit()][:_MOST]
    if not wanted:
        return {}
    words = ("--noheader", "--parsable2", "--allocations", f"--format={','.join(_COLUMNS)}")
    try:
        text = await commands.run("sacct", *words, f"--jobs={','.join(wanted)}")
    except (Unreachable, Refused):
        return {}
    return read(text)


def read(text: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for line in text.splitlines():
        cells = line.split("|")
        if len(cells) != len(_COLUMNS):
            continue
        number, said, reason, nodes, starts, ends, uid = cells
        state = said.partition(" ")[0]  # CANCELLED by 1201
        entry = Entry(
            number, state, fields.known(reason), "", int(uid) if uid.isdigit() else -1, "", 0, 0, 0,
            () if nodes in _NO_NODES else fields.hosts(nodes), fields.moment(starts),
            fields.moment(ends), number=number,
        )  # fmt: skip
        # Of a number that was used twice, the later job comes last.
        if number.isdigit() and state and entry.over:
            found[number] = entry
    return found
