"""`python -m danlu.server.gateway_process FOLDER FD VERSION WEB`: started by the server."""

from __future__ import annotations

import contextlib
import logging
import resource
import signal
import socket
import sys
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

import uvloop

from danlu.engines.api import Reach
from danlu.engines.local.reach import LocalReach
from danlu.engines.slurm.reach import SlurmReach
from danlu.gateway.process import run
from danlu.gateway.web.settings import read_settings

_LARGEST_LOG = 1 << 20


def reach(settings: dict[str, str]) -> Reach:
    """How tasks of an engine are reached without it."""
    kinds: dict[str, Callable[[str], Reach]] = {"local": LocalReach, "slurm": SlurmReach}
    return kinds[settings["kind"]](settings["run"])


def main() -> None:
    folder, number, version, web = sys.argv[1:]
    kept = RotatingFileHandler(Path(folder) / "log", maxBytes=_LARGEST_LOG, backupCount=1)
    form = "%(asctime)s %(name)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=[kept])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    listener = socket.socket(fileno=int(number)) if number else None
    uvloop.run(run(Path(folder), listener, version, reach, read_settings(web)))


if __name__ == "__main__":
    main()
