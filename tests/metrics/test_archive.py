"""Samples are kept: ten seconds for an hour, a minute for a day, ten minutes for a month."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.metrics.archive import Archive, Found, window
from danlu.metrics.series import series_of
from danlu.metrics.values import Kind, Sample, Subject

NOW = 1_800_000_000  # a multiple of 600
TASK = Subject(Kind.TASK, "job", 0, "a1")
HOUR, DAY = 3600, 86400


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(tmp_path / "metrics.db")
    yield archive
    archive.close()


def fill(archive: Archive, since: int, until: int, value: float = 1.0, every: int = 10) -> None:
    for at in range(since, until, every):
        archive.write([Sample(at, TASK, {"cpu": value, "memory": at % 60})], at)


def ask(archive: Archive, since: float, until: float, points: int = 100, now: float = 0) -> Found:
    now = now or until
    return archive.read(Kind.TASK, "job", window(since, until, points, now), now=now)


def means(found: Found, name: str = "cpu") -> list[float | None]:
    return [row[name].mean for _, row in sorted(found[0].items())]


def rows(archive: Archive, step: int) -> int:
    with sqlite3.connect(archive.path) as db:
        return int(db.execute(f"SELECT count(*) FROM samples_{step}").fetchone()[0])


class TestWindows:
    def test_recent_times_come_in_steps_of_ten_seconds(self) -> None:
        assert window(NOW - 600, NOW, 100, NOW) == (NOW - 600, 10, 60)

    def test_steps_grow_so_that_there_are_no_more_points_than_asked_for(self) -> None:
        shown = window(NOW - HOUR, NOW, 100, NOW)
        assert shown.step == 40
        assert shown.size <= 101

    def test_no_step_is_finer_than_what_is_kept_of_that_time(self) -> None:
        assert window(NOW - 2 * HOUR, NOW - 2 * HOUR + 60, 100, NOW).step == 60
        assert window(NOW - 2 * DAY, NOW - 2 * DAY + 60, 100, NOW).step == 600

    @pytest.mark.parametrize("points", [1, 7, 100, 2000])
    @pytest.mark.parametrize("span", [1, 600, HOUR, DAY, 30 * DAY])
    def test_the_whole_time_is_covered(self, points: int, span: int) -> None:
        shown = window(NOW + 3 - span, NOW + 3, points, NOW + 3)
        assert shown.since <= NOW + 3 - span
        assert shown.until >= NOW + 3
        assert shown.size <= points + 1


class TestAgeing:
    def test_within_the_hour_every_sample_is_there(self, archive: Archive) -> None:
        fill(archive, NOW - 600, NOW)
        assert len(ask(archive, NOW - 600, NOW)[0]) == 60

    def test_of_yesterday_minutes_are_left_with_lowest_mean_and_highest(
        self, archive: Archive
    ) -> None:
        fill(archive, NOW, NOW + 600)
        later = NOW + 5 * HOUR
        archive.write([], later)
        archive.write([], later + 60)
        found = ask(archive, NOW, NOW + 600, now=later)
        assert len(found[0]) == 10
        memory = found[0][0]["memory"]
        assert (memory.low, memory.mean, memory.high) == (0, 25, 50)
        assert rows(archive, 10) == 0

    def test_of_last_week_ten_minutes_are_left_and_of_last_year_nothing(
        self, archive: Archive
    ) -> None:
        fill(archive, NOW, NOW + 1200)
        for later in (NOW + 2 * HOUR, NOW + 3 * DAY):
            archive.write([], later)
        found = ask(archive, NOW, NOW + 1200, now=NOW + 3 * DAY)
        assert len(found[0]) == 2
        assert found[0][0]["memory"].high == 50
        assert rows(archive, 60) == 0
        archive.write([], NOW + 365 * DAY)
        assert ask(archive, NOW, NOW + 1200, now=NOW + 365 * DAY) == {}
        with sqlite3.connect(archive.path) as db:
            assert db.execute("SELECT count(*) FROM subjects").fetchone() == (0,)

    def test_a_long_view_joins_all_resolutions_without_a_seam(self, archive: Archive) -> None:
        start = NOW - 2 * DAY
        fill(archive, start, NOW, every=60)
        found = ask(archive, start, NOW, points=288)
        values = means(found)
        assert len(values) == 288
        assert set(values) == {1.0}

    def test_means_are_by_sample_whatever_their_resolution(self, archive: Archive) -> None:
        fill(archive, NOW, NOW + 600, 1.0)
        fill(archive, NOW + 600, NOW + 1200, 4.0, every=100)  # fewer samples weigh less
        later = NOW + 2 * HOUR
        archive.write([], later)
        found = ask(archive, NOW, NOW + 1200, points=1, now=later)
        assert means(found)[0] == pytest.approx((60 * 1.0 + 6 * 4.0) / 66, abs=0.001)

    def test_what_is_unknown_takes_no_part_in_a_mean(self, archive: Archive) -> None:
        for at in range(NOW, NOW + 60, 10):
            values = {"cpu": 3.0} if at < NOW + 20 else {"memory": 5.0}
            archive.write([Sample(at, TASK, values)], at)
        archive.write([], NOW + 2 * HOUR)
        found = ask(archive, NOW, NOW + 60, now=NOW + 2 * HOUR)
        assert means(found) == [3.0]

    def test_the_file_does_not_grow_over_its_bound(self, tmp_path: Path) -> None:
        bound = 300_000
        archive = Archive(tmp_path / "metrics.db", bound)
        many = [Subject(Kind.TASK, f"job-{number}", 0, "a") for number in range(200)]
        for at in range(NOW, NOW + 600, 10):
            values = {"cpu": 1.5, "memory": 123456789.0}
            archive.write([Sample(at, one, values) for one in many], at)
        archive.write([], NOW + 700)
        with sqlite3.connect(tmp_path / "metrics.db") as db:
            pages, size = (
                db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
            )
        assert pages * size <= bound
        newest = archive.read(
            Kind.TASK, "job-7", window(NOW, NOW + 600, 60, NOW + 600), now=NOW + 600
        )
        assert max(newest[0]) == 59  # the oldest went, the newest stayed
        archive.close()


class TestTheFile:
    def test_samples_survive_a_restart(self, tmp_path: Path) -> None:
        first = Archive(tmp_path / "metrics.db")
        fill(first, NOW, NOW + 30)
        first.close()
        second = Archive(tmp_path / "metrics.db")
        assert len(ask(second, NOW, NOW + 60)[0]) == 3  # also before it has written
        fill(second, NOW + 30, NOW + 60)
        assert len(ask(second, NOW, NOW + 60)[0]) == 6
        second.close()

    def test_a_minute_with_a_restart_in_it_is_rolled_up_whole(self, tmp_path: Path) -> None:
        for part in (0, 30):
            archive = Archive(tmp_path / "metrics.db")
            fill(archive, NOW + part, NOW + part + 30, 1.0 + part)
            archive.close()
        archive.write([], NOW + 2 * HOUR)
        found = ask(archive, NOW, NOW + 60, now=NOW + 2 * HOUR)
        assert means(found) == [16.0]
        archive.close()

    def test_nobody_else_may_read_it(self, archive: Archive) -> None:
        fill(archive, NOW, NOW + 10)
        for name in os.listdir(archive.path.parent):
            assert stat.S_IMODE((archive.path.parent / name).stat().st_mode) == 0o600

    def test_no_file_means_no_samples(self, archive: Archive) -> None:
        assert ask(archive, NOW, NOW + 60) == {}
        assert not archive.path.exists()

    def test_a_broken_file_is_put_aside_and_a_new_one_begun(self, archive: Archive) -> None:
        archive.path.write_bytes(b"this is not a database" * 100)
        with pytest.raises(OSError, match="starting a new file"):
            fill(archive, NOW, NOW + 10)
        fill(archive, NOW, NOW + 10)
        assert means(ask(archive, NOW, NOW + 10)) == [1.0]
        assert archive.path.with_name("metrics.db.broken").exists()

    def test_a_file_of_another_version_is_put_aside(self, archive: Archive) -> None:
        with sqlite3.connect(archive.path) as db:
            db.execute("PRAGMA user_version = 99")
        assert ask(archive, NOW, NOW + 10) == {}
        with pytest.raises(OSError, match="another version"):
            fill(archive, NOW, NOW + 10)
        fill(archive, NOW, NOW + 10)
        assert means(ask(archive, NOW, NOW + 10)) == [1.0]

    def test_a_full_disk_loses_samples_and_nothing_else(
        self, archive: Archive, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(archive, NOW, NOW + 10)
        assert archive._db is not None
        archive._db.execute("PRAGMA max_page_count = 1")  # as near as one gets to a full disk
        many = [Sample(NOW + 10, Subject(Kind.NODE, f"n{i}"), {"cpu": 1.0}) for i in range(2000)]
        with pytest.raises(OSError, match="full"):
            archive.write(many, NOW + 10)
        fill(archive, NOW + 20, NOW + 30)
        assert means(ask(archive, NOW, NOW + 30)) == [1.0, 1.0]

    def test_a_clock_that_is_set_back_stops_nothing(self, archive: Archive) -> None:
        fill(archive, NOW + HOUR, NOW + HOUR + 120)
        fill(archive, NOW, NOW + 120, 2.0)
        archive.write([], NOW + 300)
        archive.write([], NOW + 2 * HOUR)
        assert means(ask(archive, NOW, NOW + 120, now=NOW + 2 * HOUR)) == [2.0, 2.0]

    def test_reading_goes_on_while_others_write(self, archive: Archive) -> None:
        fill(archive, NOW, NOW + 60)
        writer = threading.Thread(target=fill, args=(archive, NOW + 60, NOW + 1200))
        writer.start()
        while writer.is_alive():
            assert len(ask(archive, NOW, NOW + 60)[0]) == 6
        writer.join()


class TestSeries:
    def test_a_time_without_samples_is_a_gap(self, archive: Archive) -> None:
        fill(archive, NOW, NOW + 20)
        fill(archive, NOW + 40, NOW + 60)
        shown = window(NOW, NOW + 60, 100, NOW + 60)
        cpu = series_of(archive.read(Kind.TASK, "job", shown, now=NOW + 60), shown)[0]
        assert cpu.name == "cpu"
        assert cpu.mean == [1.0, 1.0, None, None, 1.0, 1.0]
        assert cpu.high == cpu.mean

    def test_tasks_are_added_up_and_their_gpus_averaged(self, archive: Archive) -> None:
        for task in (0, 1):
            values = {"cpu": 1.0 + task, "gpu": 0.5 * task}
            archive.write([Sample(NOW, Subject(Kind.TASK, "job", task, "a1"), values)], NOW)
        shown = window(NOW, NOW + 10, 100, NOW + 10)
        cpu, gpu = series_of(archive.read(Kind.TASK, "job", shown, now=NOW + 10), shown)
        assert (cpu.mean, cpu.low, cpu.high) == ([3.0], None, None)
        assert gpu.mean == [0.25]
        only = series_of(archive.read(Kind.TASK, "job", shown, 1, now=NOW + 10), shown)
        assert only[0].mean == [2.0]

    def test_attempts_of_a_task_follow_each_other_and_are_not_added_up(
        self, archive: Archive
    ) -> None:
        archive.write([Sample(NOW, TASK, {"cpu": 2.0})], NOW)
        archive.write([Sample(NOW + 5, TASK._replace(run="a2"), {"cpu": 4.0})], NOW + 5)
        assert means(ask(archive, NOW, NOW + 10)) == [3.0]

    def test_another_jobs_samples_stay_its_own(self, archive: Archive) -> None:
        archive.write([Sample(NOW, TASK._replace(owner="other"), {"cpu": 2.0})], NOW)
        assert ask(archive, NOW, NOW + 10) == {}
