"""What the command line prints while one of two engines does not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from danlu.cli.formats import clock, hour
from tests.server.batch_server import BatchServer
from tests.support.server import PATIENCE

CONFIG = """
[engine]

[[nodes]]
name = "n1"
gpus = "4:T4"

[engines.batch]
kind = "batch"

[queues.batch]
engine = "batch"
"""
PROBLEM = "the batch system does not answer"


class Away:
    """A server whose engine `batch` went away with a job running there and one waiting for it."""

    def __init__(self, server: BatchServer) -> None:
        self.server = server
        self.here = here = server.submit(command="sleep 1000", gpus=1)
        self.kept = server.submit(command="sleep 1000", gpus=1, queue="batch")
        for job in (here, self.kept):
            self.until(lambda job=job: server.get(f"/jobs/{job['id']}")["state"] == "running")
        self.measured: Any = self.until(self._measured)
        server.set_away(True)
        self.since = self.until(self.away_since)
        self.waits = server.submit(command="true", gpus=1, queue="batch")

    def _measured(self) -> Any:
        found = self.server.get(f"/jobs/{self.kept['id']}/metrics")
        return found if found["tasks"] else None

    def until(self, what: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := what()):
            assert time.monotonic() < deadline, self.server.tail()
            time.sleep(0.05)
        return found

    def away_since(self) -> float | None:
        engines = {each["name"]: each for each in self.server.get("/cluster")["engines"]}
        since: float | None = engines["batch"]["away_since"]
        return since

    def prints(self, lang: str, *words: str) -> list[str]:
        result = self.server.cli(*words, env={"DANLU_LANG": lang})
        assert result.returncode == 0, result.stderr
        return result.stdout.decode().splitlines()

    def counts(self, lang: str) -> dict[str, dict[str, int]]:
        """The table of `danlu cluster`: model -> column -> how many GPUs."""
        head, *lines = self.prints(lang, "cluster")
        columns = head.split()[1:]
        rows = [line.split() for line in lines if len(line.split()) == len(columns) + 1]
        return {name: dict(zip(columns, map(int, row), strict=True)) for name, *row in rows}


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    server = BatchServer(tmp_path_factory.mktemp("away") / "data", CONFIG)
    try:
        server.start()
        yield Away(server)
    finally:
        server.set_away(False)
        server.cleanup()


@pytest.mark.parametrize(
    ("lang", "everything", "total", "unknown", "parts"),
    [
        ("en", "all", "GPUS", "UNKNOWN", ("FREE", "RESERVED", "USED", "OUT", "UNKNOWN")),
        ("zh", "合计", "卡数", "未知", ("空闲", "预留", "占用", "停用", "未知")),
    ],
)
def test_the_totals_add_up_and_count_the_unknown(
    away: Away, lang: str, everything: str, total: str, unknown: str, parts: tuple[str, ...]
) -> None:
    rows = away.counts(lang)
    assert {name: (row[total], row[unknown]) for name, row in rows.items()} == {
        "RTX3090": (4, 3),
        "T4": (4, 0),
        everything: (8, 3),
    }
    for row in rows.values():
        assert sum(row[part] for part in parts) == row[total]
    for column, count in rows[everything].items():
        assert rows["RTX3090"][column] + rows["T4"][column] == count


def test_the_cluster_says_since_when_the_engine_is_away(away: Away) -> None:
    since = clock(away.since)
    assert away.prints("en", "cluster")[-1] == (
        f"Engine batch has not answered since {since} ({PROBLEM}): "
        "its 2 nodes and 1 job are shown as last seen"
    )
    assert away.prints("zh", "cluster")[-1] == (
        f"引擎 batch 自 {since} 起未响应（{PROBLEM}）：它的 2 个节点和 1 个任务显示的是最后所见"
    )


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", "engine batch has not answered since {since}"),
        ("zh", "引擎 batch 自 {since} 起未响应"),
    ],
)
def test_only_the_nodes_of_that_engine_are_marked(away: Away, lang: str, words: str) -> None:
    note = words.format(since=clock(away.since))
    marked = {line.split()[0]: note in line for line in away.prints(lang, "nodes")[1:]}
    assert marked == {"n1": False, "q1": True, "q2": True}


@pytest.mark.parametrize(
    ("lang", "start", "end"),
    [
        ("en", "Engine batch has not answered for ", f": {PROBLEM}"),
        ("zh", "引擎 batch 已 ", f" 未响应：{PROBLEM}"),
    ],
)
def test_a_job_that_waits_for_it_says_so(away: Away, lang: str, start: str, end: str) -> None:
    first = away.prints(lang, "why", away.waits["ref"])[0]
    assert first.startswith(start)
    assert first.endswith(end)


@pytest.mark.parametrize(
    ("lang", "start", "end"),
    [
        ("en", "Unknown for ", ": engine batch does not report it"),
        ("zh", "状态未知已 ", "：引擎 batch 没有它的消息"),
    ],
)
def test_a_job_that_runs_there_is_unknown(away: Away, lang: str, start: str, end: str) -> None:
    lines = away.prints(lang, "show", away.kept["ref"])
    assert any(start in line and line.endswith(end) for line in lines), lines


@pytest.mark.parametrize(
    ("lang", "mark"),
    [("en", "running (unknown since {since})"), ("zh", "运行（自 {since} 起状态未知）")],
)
def test_the_list_of_jobs_marks_those_that_run_there(away: Away, lang: str, mark: str) -> None:
    words = mark.format(since=hour(away.since))
    lines = away.prints(lang, "jobs")[1:]
    assert {line.split()[0]: words in line for line in lines} == {
        away.here["ref"]: False,
        away.kept["ref"]: True,
        away.waits["ref"]: False,
    }


@pytest.mark.parametrize(
    ("lang", "counts", "node", "job", "wrong"),
    [
        (
            "en",
            "2 used · 3 free · 0 out · 3 unknown",
            "engine batch has not answered since {clock}",
            "unknown since {hour}",
            " down",
        ),
        (
            "zh",
            "占用 2 · 空闲 3 · 停用 0 · 未知 3",
            "引擎 batch 自 {clock} 起未响应",
            "自 {hour} 起状态未知",
            "离线",
        ),
    ],
)
def test_the_screen_of_top_calls_them_unknown_and_not_down_or_out(
    away: Away, lang: str, counts: str, node: str, job: str, wrong: str
) -> None:
    lines = away.prints(lang, "top", "--once")
    assert any(counts in line for line in lines), lines
    told = node.format(clock=clock(away.since))
    assert {line.split()[0] for line in lines if told in line} == {"q1", "q2"}
    words = job.format(hour=hour(away.since))
    assert [line.split()[0] for line in lines if words in line] == [away.kept["ref"]]
    assert not any(wrong in line for line in lines), lines


def test_the_state_of_its_nodes_is_unknown_and_not_down(away: Away) -> None:
    states = {line.split()[0]: line.split()[1] for line in away.prints("en", "nodes")[1:]}
    assert states == {"n1": "up", "q1": "unknown", "q2": "unknown"}


def test_usage_from_before_is_not_shown_as_current(away: Away) -> None:
    assert away.measured["tasks"], "it was measured while the engine was there"
    assert away.server.get(f"/jobs/{away.kept['id']}/metrics")["tasks"] == []
    assert away.server.get("/nodes/q1/metrics")["values"] == {}


def test_nothing_of_it_is_left_once_the_engine_is_back(away: Away) -> None:
    """Last in this file: the others need the engine away."""
    away.server.set_away(False)
    away.until(lambda: away.away_since() is None)
    assert away.server.wait(away.waits)["state"] == "succeeded"
    away.until(lambda: away.server.get("/cluster")["gpus"]["unknown"] == 0)
    assert "UNKNOWN" not in away.prints("en", "cluster")[0]
    assert not any("batch" in line for line in away.prints("en", "cluster"))
    assert not any("answered" in line for line in away.prints("en", "nodes"))
    for words in (("jobs",), ("top", "--once")):
        assert not any("unknown" in line for line in away.prints("en", *words))
    assert away.server.get(f"/jobs/{away.kept['id']}")["state"] == "running"
