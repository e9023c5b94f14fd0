"""What `sacct` and `scontrol show config` print, as the engine reads it."""

from __future__ import annotations

import pytest

from danlu.engines.slurm import accounting, settings

SACCT = """\
11|CANCELLED by 1201|None|n2|2026-11-18T07:00:00|2026-11-18T07:00:05|1201
12|RUNNING|None|n2|2026-11-18T07:00:00|Unknown|1201
13|NODE_FAIL|None|n[1-2]|2026-11-18T07:00:00|2026-11-18T07:00:05|1201
14|OUT_OF_MEMORY|None|n1|2026-11-18T07:00:00|2026-11-18T07:00:05|1201
14|TIMEOUT|None|n1|2026-11-18T08:00:00|2026-11-18T08:00:05|1201
15|CANCELLED by 0|None|None assigned|None|2026-11-18T07:00:05|1201
not a line of ours
"""


def test_ends_are_read_and_what_still_runs_is_left_out() -> None:
    found = accounting.read(SACCT)
    assert {number: entry.state for number, entry in found.items()} == {
        "11": "CANCELLED",
        "13": "NODE_FAIL",
        "14": "TIMEOUT",
        "15": "CANCELLED",
    }
    assert found["13"].nodes == ("n1", "n2")
    assert found["15"].nodes == ()
    assert found["11"].ends is not None
    assert found["11"].starts == found["11"].ends - 5


@pytest.mark.parametrize(
    ("kind", "tracks"),
    [("proctrack/cgroup", True), ("proctrack/linuxproc", False), ("proctrack/pgid", False)],
)
def test_the_controller_tells_what_it_can(kind: str, tracks: bool) -> None:
    text = (
        "Configuration data as of 2026-11-18T07:00:00\n"
        "AccountingStorageType   = accounting_storage/none\n"
        f"ProctrackType           = {kind}\n"
    )
    assert settings.read(text) == settings.Settings(tracks=tracks, accounting=False)
    with_database = text.replace("storage/none", "storage/slurmdbd")
    assert settings.read(with_database).accounting
