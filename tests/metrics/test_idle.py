"""Since when a GPU has been unused."""

from __future__ import annotations

from pathlib import Path

from danlu.metrics.archive import Archive
from danlu.metrics.idle import Idle
from danlu.metrics.tables import MIDDLE
from danlu.metrics.values import Kind, Sample, Subject

GPU = Subject(Kind.GPU, "n1", 0)
OTHER = Subject(Kind.GPU, "n1", 1)


def sample(at: float, busy: float, subject: Subject = GPU) -> Sample:
    return Sample(at, subject, {"gpu": busy})


def test_a_gpu_is_idle_from_its_first_unused_sample_until_it_is_used(tmp_path: Path) -> None:
    idle = Idle()
    idle.recall(tmp_path / "none.db")
    idle.take([sample(100, 0.9), sample(100, 0.0, OTHER)])
    assert idle.since(GPU) is None
    assert idle.since(OTHER) == 100
    idle.take([sample(110, 0.0), sample(110, 0.01, OTHER)])
    assert (idle.since(GPU), idle.since(OTHER)) == (110, 100)
    idle.take([sample(120, 0.5), sample(120, 0.5, OTHER)])
    assert (idle.since(GPU), idle.since(OTHER)) == (None, None)


def test_a_restarted_server_remembers_since_when(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "metrics.db")
    now = 1_800_000_000.0
    busy = [sample(now - 7200 + at, 0.8) for at in range(0, 1200, 60)]
    unused = [sample(now - 6000 + at, 0.0) for at in range(0, 6000, 60)]
    archive.fill(MIDDLE, [*busy, *unused])
    archive.fill(MIDDLE, [sample(now - 3000 + at, 0.0, OTHER) for at in range(0, 3000, 60)])
    archive.close()
    idle = Idle()
    idle.recall(archive.path)
    idle.take([sample(now, 0.0), sample(now, 0.0, OTHER)])
    assert idle.since(GPU) == now - 6000
    assert idle.since(OTHER) == now - 3000, "never used as far as is known"
    idle.take([sample(now + 10, 0.7)])
    idle.take([sample(now + 20, 0.0)])
    assert idle.since(GPU) == now + 20, "what was before counts only once"


def test_an_unreadable_archive_counts_from_now(tmp_path: Path) -> None:
    broken = tmp_path / "metrics.db"
    broken.write_text("not a database")
    idle = Idle()
    idle.recall(broken)
    idle.take([sample(100, 0.0)])
    assert idle.since(GPU) == 100
