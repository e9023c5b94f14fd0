"""Danlu over a real Slurm, as people use it: two engines, retries, environments, restarts."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.client import Client, eventually
from tests.real.slurm.server import QUEUE, SlurmServer
from tests.support.slurm import NODES, Slurm


@pytest.fixture(scope="module")
def site(shared_slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmServer]:
    server = SlurmServer(shared_slurm, tmp_path_factory.mktemp("site")).start()
    yield server
    server.cleanup()
    shared_slurm.tidy()


@pytest.fixture(scope="module")
def ann(site: SlurmServer, shared_slurm: Slurm) -> Client:
    return site.member(shared_slurm.people["ann"])


def submit(person: Client, **job: Any) -> dict[str, Any]:
    found: dict[str, Any] = person.call("POST", "/jobs", {"queue": QUEUE, **job})["jobs"][0]
    return found


def ended(person: Client, job: dict[str, Any]) -> dict[str, Any]:
    def over() -> Any:
        found = person.call("GET", f"/jobs/{job['id']}")
        return found if found["state"] in ("succeeded", "failed", "stopped") else None

    found: dict[str, Any] = eventually(over)
    return found


def log_of(site: SlurmServer, job: dict[str, Any]) -> str:
    return site.bytes_of(f"/jobs/{job['id']}/logs").decode()


def test_local_engine_and_slurm_are_different_queues_of_one_server(
    site: SlurmServer, ann: Client
) -> None:
    here = submit(ann, command="echo here $SLURM_JOB_ID $(id -un)", queue="default")
    there = submit(ann, command="echo there $SLURMD_NODENAME $(id -un)")
    assert ended(ann, here)["state"] == "succeeded", log_of(site, here)
    assert ended(ann, there)["state"] == "succeeded", log_of(site, there)
    assert log_of(site, here).split()[:1] == ["here"]
    words = log_of(site, there).split()
    assert words[1] in NODES
    assert words[2] == ann.name
    names = {node["name"] for node in ann.call("GET", "/nodes")["nodes"]}
    assert set(NODES) <= names and "n1" in names
