"""GET /metrics, as Prometheus reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from danlu.api.prometheus import CONTENT_TYPE, exposition
from danlu.services.export import METRICS, STATES, Metric, Point
from tests.api.harness import Harness
from tests.support.server import DanluServer

ROOT = Path(__file__).parents[2]
LINE = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (?P<value>\S+)'
)
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """By metric and label values. Fails on anything that the format does not allow."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    current = ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            current = line.split(" ")[2]
            continue
        match = LINE.fullmatch(line)
        assert match is not None, line
        assert match["name"] == current, "the points of a metric belong together"
        labels = tuple(value for _, value in LABEL.findall(match["labels"] or ""))
        assert labels not in found.setdefault(current, {}), line
        found[current][labels] = float(match["value"])
    return found


def scrape(harness: Harness) -> dict[str, dict[tuple[str, ...], float]]:
    answer = httpx.get(
        f"{harness.server.url}/metrics", headers={"Authorization": f"Bearer {harness.server.token}"}
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == CONTENT_TYPE
    return read(answer.text)


def test_the_gpus_of_each_model_add_up_and_a_job_shows(harness: Harness) -> None:
    job = harness.submit(command="sleep 100", gpus=1, memory="1G", cpus=1)
    harness.until(job, "running")
    found = scrape(harness)
    assert found.keys() <= METRICS.keys()
    total = harness.get("/cluster")["gpus"]["total"]
    assert sum(found["danlu_gpus"].values()) == total
    assert {state for _, state in found["danlu_gpus"]} == set(STATES)
    assert found["danlu_jobs_running"][()] >= 1
    assert found["danlu_user_gpus"]["admin", ""] >= 1
    assert found["danlu_node_up"]["n1",] == 1
    assert found["danlu_database_up"][()] == 1
    harness.stop(job, now=True)


def test_labels_are_escaped() -> None:
    metric = Metric("danlu_x", "back\\slash\nline", ("user",))
    text = exposition([Point(metric, ('a "quoted" \\ name\nwith a line',), 1.5)])
    assert "# HELP danlu_x back\\\\slash\\nline\n" in text
    assert 'danlu_x{user="a \\"quoted\\" \\\\ name\\nwith a line"} 1.5\n' in text
    assert len(text.splitlines()) == 3
    assert read(text)["danlu_x"]


@pytest.mark.parametrize(("value", "shown"), [(3.0, "3"), (0.25, "0.25"), (2.0**40, str(2**40))])
def test_numbers_keep_their_precision(value: float, shown: str) -> None:
    assert exposition([Point(Metric("danlu_x", ""), (), value)]).endswith(f"danlu_x {shown}\n")


def test_listed_addresses_need_no_token_and_others_do(tmp_path: Path) -> None:
    open_to = '[server]\nmetrics_from = ["127.0.0.0/8"]\nproxies = ["127.0.0.1"]\n'
    server = DanluServer(tmp_path / "data", open_to)
    server.start()
    try:
        url = f"{server.url}/metrics"
        assert httpx.get(url).status_code == 200
        assert httpx.get(f"{server.url}/danlu/v1/nodes").status_code == 401
        far = {"X-Forwarded-For": "203.0.113.9"}
        assert httpx.get(url, headers=far).status_code == 401, "the proxy's clients are elsewhere"
        wrong = {"Authorization": "Bearer dlu_wrong"}
        assert httpx.get(url, headers=wrong).status_code == 401, "a wrong token stays wrong"
    finally:
        server.cleanup()


def test_a_wrong_address_in_the_settings_is_named(tmp_path: Path) -> None:
    from danlu.server.settings import ConfigError, load

    file = tmp_path / "danlu.toml"
    file.write_text('[server]\nmetrics_from = ["everywhere"]\n')
    with pytest.raises(ConfigError, match=r"metrics_from.*everywhere"):
        load(file)


def test_the_dashboard_and_the_docs_name_only_what_is_exported() -> None:
    board = json.loads((ROOT / "deploy/grafana/danlu.json").read_text())
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"danlu_\w+", target["expr"])
    }
    assert asked
    assert asked <= METRICS.keys()
    for page in ("admin.md", "admin.zh.md"):
        text = (ROOT / "docs" / page).read_text()
        assert set(re.findall(r"^\| `(danlu_\w+)`", text, re.M)) == METRICS.keys()
