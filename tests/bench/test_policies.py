"""What is measured is what a live server runs: the same rules, by name, in danlu.toml."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from bench import backfill, fragments, tenants
from bench import eta as estimates
from danlu.sched.api import Policy, QueuePolicy
from danlu.server.settings import load
from tests.support.folders import let_in
from tests.support.server import DanluServer

CONFIGS = {
    "backfill, fifo": ('order = "fifo"', backfill.FIFO),
    "backfill, short-first": ('order = "short-first"', backfill.SHORT),
    "backfill, uncapped": (
        'order = "short-first"\nsettings = { patience = 0 }',
        backfill.UNCAPPED,
    ),
    "tenants": ('order = "fair"\nmax_wait = "2d"', tenants.RULES),
    "fragments": ('order = "fair"\nmax_wait = "2d"\nconsolidate = true', fragments.RULES),
    "eta": ('order = "easy"', estimates.POLICY.queue("default")),
}
NODES = "".join(
    f'[[nodes]]\nname = "{name}"\ncpus = {cpus}\nmemory = "1G"\n'
    for name, cpus in (("n1", 2), ("n2", 1))
)
SHARE = "[quotas.groups.vision]\nguaranteed = 1\n"


@pytest.mark.parametrize("name", CONFIGS)
def test_the_measured_rules_can_be_written_in_danlu_toml(name: str, tmp_path: Path) -> None:
    text, rules = CONFIGS[name]
    path = tmp_path / "danlu.toml"
    path.write_text(f"[queues.default]\n{text}\n")
    assert load(path).policy == Policy(queues={"default": rules})
    assert isinstance(rules, QueuePolicy)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_server_that_runs_them_starts_everybody_and_says_when(name: str, tmp_path: Path) -> None:
    rules = f"[queues.default]\n{CONFIGS[name][0]}\n"
    share = SHARE if 'order = "fair"' in rules else ""
    server = DanluServer(tmp_path / "data", rules + share + NODES).start()
    gate = let_in(tmp_path) / "gate"
    command = f"until [ -e {gate} ]; do sleep 0.05; done"
    try:
        jobs = [
            {"name": f"j{i}", "command": command, "cpus": 1 + i % 2, "time_limit": "60s"}
            for i in range(6)
        ]
        ids = [server.post("/jobs", job)["jobs"][0]["id"] for job in jobs]
        waiting = [job for job in map(server.get, _paths(ids)) if job["state"] == "queued"]
        assert waiting
        for job in waiting:
            found = server.get(f"/jobs/{job['id']}/why")
            assert found["eta"] is not None
        gate.touch()
        ended = _when_ended(server, ids)
        assert [job["state"] for job in ended] == ["succeeded"] * len(ids)
    finally:
        server.cleanup()


def _paths(ids: list[str]) -> list[str]:
    return [f"/jobs/{job_id}" for job_id in ids]


def _when_ended(server: DanluServer, ids: list[str]) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        jobs = [server.get(path) for path in _paths(ids)]
        if all(job["state"] in ("succeeded", "failed", "stopped") for job in jobs):
            return jobs
        time.sleep(0.1)
    raise AssertionError(f"not all ended: {server.tail()}")
