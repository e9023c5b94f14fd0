"""A member at work, in a process of their own: python -m bench.witness URL TOKEN.

Measures every request until its input is closed, then prints the seconds as a JSON list.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from danlu.sdk import Client

PAUSE = 0.02
JOB = {"name": "mine", "command": "true", "held": True}


class Witness:
    def __init__(self, url: str, token: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.witness", url, token],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Witness:
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        output, _ = self._process.communicate()
        self.took: list[float] = json.loads(output or b"[]")
        if not self.took:
            raise RuntimeError("the other member got no answer at all")


def main(url: str, token: str) -> None:
    took: list[float] = []
    with Client(url, token, timeout=120) as client:

        def timed(ask: Callable[[], Any]) -> Any:
            begun = time.perf_counter()
            answer = ask()
            took.append(time.perf_counter() - begun)
            time.sleep(PAUSE)
            return answer

        client.whoami()
        print(flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            timed(client.whoami)
            timed(lambda: client.jobs(limit=20))
            (job,) = timed(lambda: client.submit(JOB))["jobs"]
            timed(partial(client.show, job["id"]))
            timed(partial(client.stop, job["id"], now=True))
    os.write(1, json.dumps(took).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
