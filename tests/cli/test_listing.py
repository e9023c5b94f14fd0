"""`danlu jobs`, `danlu show`: what runs comes first, arrays are folded, roles are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from danlu.cli.table import width
from tests.api.harness import eventually
from tests.cli.person import Person
from tests.support.server import DanluServer


def lines(server: DanluServer, *words: str) -> list[str]:
    done = server.cli(*words)
    assert done.returncode == 0, done.stderr.decode()
    return [line.decode() for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def busy(server: DanluServer) -> Any:
    """One running job, and behind it an array of sixty that waits."""
    running = server.submit(name="front", command="sleep 600")
    server.cli("submit", "-n", "wide", "--array", "0-59", "--held", "--", "true")
    eventually(lambda: server.get(f"/jobs/{running['id']}")["state"] == "running")
    yield running
    server.cli("stop", "front-1", "wide-1", "--now")


def test_running_jobs_are_not_hidden_behind_a_long_queue(
    server: DanluServer, busy: dict[str, Any]
) -> None:
    shown = [line.split()[0] for line in lines(server, "jobs")[1:]]
    assert shown.index("admin/front-1") < shown.index("admin/wide-1.*")


def test_an_array_is_one_line_with_the_number_of_its_jobs(
    server: DanluServer, busy: dict[str, Any]
) -> None:
    (line,) = [line for line in lines(server, "jobs") if "wide-1" in line]
    assert "60 queued" in line
    (line,) = [line for line in lines(server, "--lang", "zh", "jobs") if "wide-1" in line]
    assert "60 排队" in line


@pytest.mark.parametrize("words", [("--unfold", "-l", "1000"), ("--name", "wide", "-l", "1000")])
def test_every_job_of_an_array_can_be_listed(
    server: DanluServer, busy: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert sum("wide-1." in line for line in lines(server, "jobs", *words)) == 60


def test_a_limit_counts_lines(server: DanluServer, busy: dict[str, Any]) -> None:
    shown = lines(server, "jobs", "-l", "1")
    assert shown[1].startswith("admin/front-1")
    assert "--limit" in shown[2]


def test_a_table_fits_a_terminal_of_eighty_columns(
    server: DanluServer, busy: dict[str, Any]
) -> None:
    name = "a-name-as-long-as-people-like-to-give-their-experiments-of-a-year"[:60]
    server.submit(name=name, command="sleep 600", held=True)
    for words in (("jobs",), ("queue",), ("volume",), ("nodes",), ("gpus",)):
        with Person(server, *words) as person:
            assert person.end() == 0
            assert max(len(line) for line in person.seen.splitlines()) <= 80, words
    server.cli("stop", f"{name}-1")


def test_the_audit_log_is_wrapped_rather_than_cut(server: DanluServer) -> None:
    reason = "the fan of the third GPU is replaced, back on Friday"
    server.cli("drain", "n1", "--reason", reason)
    server.cli("resume", "n1")
    for language in ("en", "zh"):
        with Person(server, "--lang", language, "audit", "--limit", "5") as person:
            assert person.end() == 0
            shown = person.seen
        assert "…" not in shown
        assert reason in " ".join(shown.split())
        assert max(width(line) for line in shown.splitlines()) <= 80


def test_show_lists_image_cpus_and_memory_of_every_role(
    server: DanluServer, tmp_path: Path
) -> None:
    file = tmp_path / "roles.yaml"
    file.write_text(
        "name: roles\nheld: true\nroles:\n"
        "  ps: {cpus: 2, memory: 4G, command: serve}\n"
        "  worker: {count: 2, gpus: 1, cpus: 6, memory: 8G, command: train}\n"
    )
    assert server.cli("submit", str(file)).returncode == 0
    shown = [line.split() for line in lines(server, "show", "roles-1")]
    assert ["ROLE", "TASKS", "GPUS", "CPUS", "MEMORY", "IMAGE", "COMMAND"] in shown
    assert ["ps", "1", "-", "2", "4G", "-", "serve"] in shown
    assert ["worker", "2", "1", "6", "8G", "-", "train"] in shown
    server.cli("stop", "roles-1")


def test_show_lists_cpus_and_memory_of_a_single_named_role(
    server: DanluServer, tmp_path: Path
) -> None:
    file = tmp_path / "role.yaml"
    file.write_text(
        "name: role\nheld: true\nroles:\n  only: {cpus: 3, memory: 5G, command: work}\n"
    )
    assert server.cli("submit", str(file)).returncode == 0
    shown = [line.split() for line in lines(server, "show", "role-1")]
    assert ["CPUs", "3"] in shown
    assert ["Memory", "5G"] in shown
    server.cli("stop", "role-1")


@pytest.mark.parametrize(
    "words", [("run", "--", "no-such-program"), ("exec", "front-1", "nothing")]
)
def test_our_own_lines_end_properly_on_a_raw_terminal(
    server: DanluServer, busy: dict[str, Any], words: tuple[str, ...]
) -> None:
    with Person(server, *words) as person:
        assert person.end() == 127
        assert "command not found" in person.seen
        assert "\n" not in person.seen.replace("\r\n", "")
