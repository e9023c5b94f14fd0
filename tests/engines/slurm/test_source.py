"""slurmrestd that is away, or says something else: the commands tell, and nothing looks gone."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import Unreachable
from danlu.engines.slurm import settings
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.source import Source

OTHERS = (
    (200, b"not JSON"),
    (200, b'{"errors": [], "jobs": [{"job_id": 1}]}'),
    (200, b'{"errors": [], "jobs": 7}'),
    (200, b'{"errors": [{"error": "Unable to contact slurm controller"}], "jobs": []}'),
    (200, b"[]"),
    (401, b'{"errors": [], "jobs": []}'),
    (404, b"no such version"),
)


class Daemon(socketserver.ThreadingUnixStreamServer):
    """What answers in slurmrestd's place."""

    said = (200, b'{"errors": [], "jobs": []}')
    asked = 0

    def get_request(self) -> tuple[Any, Any]:
        return super().get_request()[0], ("slurmrestd", 0)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        daemon = self.server
        assert isinstance(daemon, Daemon)
        daemon.asked += 1
        self.send_response(daemon.said[0])
        self.end_headers()
        self.wfile.write(daemon.said[1])

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(str(tmp_path / "rest"), Handler) as daemon:
        thread = threading.Thread(target=daemon.serve_forever, args=(0.01,))
        thread.start()
        yield daemon
        daemon.shutdown()
        thread.join()


@pytest.fixture
def squeue(tmp_path: Path) -> Path:
    path = tmp_path / "squeue"
    path.write_text(f"#!/bin/sh\necho >>{tmp_path}/calls\n")
    path.chmod(0o755)
    return path


def source(tmp_path: Path) -> Source:
    rest = f"unix:{tmp_path}/rest"
    config = SlurmConfig(tmp_path, tmp_path, bin=str(tmp_path), slurmrestd=rest)
    return Source(config, Commands(config))


def calls(squeue: Path) -> int:
    path = squeue.with_name("calls")
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_no_command_is_run_while_it_answers(tmp_path: Path, daemon: Daemon, squeue: Path) -> None:
    found = source(tmp_path)
    assert found.queue() == found.queue() == ()
    assert (daemon.asked, calls(squeue)) == (2, 0)


@pytest.mark.parametrize("said", OTHERS, ids=lambda said: said[1].decode()[:20])
def test_an_answer_that_is_none_leaves_it_to_the_commands_for_a_while(
    tmp_path: Path, daemon: Daemon, squeue: Path, said: tuple[int, bytes]
) -> None:
    daemon.said = said
    found = source(tmp_path)
    assert found.queue() == found.queue() == ()
    assert (daemon.asked, calls(squeue)) == (1, 2)


def test_if_it_is_not_there_the_commands_say_whether_slurm_is(tmp_path: Path, squeue: Path) -> None:
    found = source(tmp_path)
    assert found.queue() == ()
    squeue.write_text("#!/bin/sh\necho Unable to contact slurm controller >&2\nexit 1\n")
    with pytest.raises(Unreachable):
        found.queue()


def test_it_is_not_asked_where_its_user_may_not_see_everything(
    tmp_path: Path, daemon: Daemon, squeue: Path
) -> None:
    told = settings.read("ClusterName = lab\nPrivateData             = jobs,nodes\n")
    assert told.private
    assert not settings.read("PrivateData             = none\n").private
    found = source(tmp_path)
    found.hides(told.private)
    assert found.queue() == ()
    assert (daemon.asked, calls(squeue)) == (0, 1)
