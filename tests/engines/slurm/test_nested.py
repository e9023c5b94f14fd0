"""Mounts inside a read-only volume that lacks their mount points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from danlu.engines.slurm.node import nested


def mount(source: Path, target: str, read_only: bool = True) -> dict[str, Any]:
    return {"name": "x", "source": str(source), "target": target, "read_only": read_only}


def test_entries_take_the_place_of_a_volume_that_lacks_a_mount_point(tmp_path: Path) -> None:
    gdata = tmp_path / "gdata"
    (gdata / "sets/a").mkdir(parents=True)
    (gdata / "file").write_text("x")
    (gdata / "a,b").mkdir()
    (gdata / "broken").symlink_to("nowhere")
    inner = [mount(tmp_path, "/gdata/one"), mount(tmp_path, "/gdata/sets/two")]
    found = nested.spread([mount(gdata, "/gdata"), *inner])
    assert [each["target"] for each in found] == [
        "/gdata/file", "/gdata/sets/a", "/gdata/one", "/gdata/sets/two"
    ]  # fmt: skip
    assert all(each["read_only"] for each in found)


def test_nothing_changes_where_all_is_there_or_the_volume_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    there = [mount(tmp_path, "/gdata"), mount(tmp_path, "/gdata/one")]
    assert nested.spread(there) == there
    writable = [mount(tmp_path, "/data", read_only=False), mount(tmp_path, "/data/two")]
    assert nested.spread(writable) == writable


def test_a_folder_with_too_many_entries_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested, "MOST", 2)
    for name in "abc":
        (tmp_path / name).mkdir()
    with pytest.raises(nested.TooMany, match="more than 2 entries, and no folder one"):
        nested.spread([mount(tmp_path, "/gdata"), mount(tmp_path, "/gdata/one")])
