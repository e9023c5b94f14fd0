"""`danlu usage`: what a job or a node uses, for a terminal."""

from __future__ import annotations

import json
import time

import pytest

from danlu.cli.commands.usage import chart
from tests.support.server import PATIENCE, DanluServer


def test_a_chart_goes_from_zero_to_the_highest_and_leaves_gaps_open() -> None:
    assert chart([0, 50, None, 100]) == "▁▅ █"
    assert chart([0, 0]) == "▁▁"
    assert chart([None]) == " "
    assert chart([]) == ""


def test_a_running_job_and_its_node_are_shown(server: DanluServer) -> None:
    job = server.submit(name="busy", command="while :; do :; done", gpus=1)
    try:
        deadline = time.monotonic() + PATIENCE
        while not json.loads(server.cli("usage", "busy-1", "--json").stdout)["tasks"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        said = server.cli("usage", "busy-1").stdout.decode()
        assert "CPU cores" in said
        assert "PEAK" in said
        assert "GPU utilization" not in said  # the GPU is declared
        chinese = server.cli("usage", "busy-1", "--lang", "zh").stdout.decode()
        assert "内存" in chinese
        node = server.cli("usage", "--node", "n1").stdout.decode()
        assert "disk free" in node
    finally:
        server.post(f"/jobs/{job['id']}/stop", {"now": True})


def test_a_job_that_never_ran_has_nothing_to_show(server: DanluServer) -> None:
    server.submit(name="never", command="true", held=True)
    done = server.cli("usage", "never-1")
    assert done.returncode == 0
    assert "No measurements" in done.stdout.decode()


@pytest.mark.parametrize(
    "words", [[], ["some-1", "--node", "n1"], ["some-1", "--since", "yesterday-ish"]]
)
def test_a_question_that_is_none_ends_with_2(server: DanluServer, words: list[str]) -> None:
    done = server.cli("usage", *words)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("danlu: ")


def test_an_unknown_node_is_told(server: DanluServer) -> None:
    done = server.cli("usage", "--node", "nowhere")
    assert done.returncode != 0
    assert "nowhere" in done.stderr.decode()
