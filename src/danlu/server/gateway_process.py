"""`python -m danlu.server.gateway_process FOLDER FD VERSION`: started by the server."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path

from danlu.engines.api import Reach
from danlu.engines.local.reach import LocalReach
from danlu.gateway.process import run


def reach(settings: dict[str, str]) -> Reach:
    """How tasks of an engine are reached without it."""
    return {"local": LocalReach}[settings["kind"]](settings["run"])


def main() -> None:
    folder, number, version = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    listener = socket.socket(fileno=int(number))
    asyncio.run(run(Path(folder), listener, version, reach))


if __name__ == "__main__":
    main()
