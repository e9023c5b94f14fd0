"""Shared by ilaunch and zlaunch: a foreground command with the caller's folder, environment,
terminal and exit code.
"""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.trouble import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def launch(
    name: str,
    command: list[str],
    queue: str | None,
    gpus: int,
    cpus: float | None = None,
    env: dict[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> int:
    from danlu.cli.attending import attend
    from danlu.cli.commands.run import stdin_kind
    from danlu.cli.jobflags import carried_environment
    from danlu.cli.options import parse
    from danlu.cli.registry import COMMON, find
    from danlu.cli.session import Session
    from danlu.cli.shims import queues
    from danlu.cli.submission import PATIENCE, send
    from danlu.sdk.ids import uuid7

    run = find("run")
    assert run is not None
    args = parse(run, ["--", *command], COMMON)
    session = Session(args)
    stdin = stdin_kind(args)
    job: dict[str, Any] = {
        "id": uuid7(),
        "command": command,
        "workdir": os.getcwd(),
        "env": {**carried_environment(), **(env or {})},
        "stdin": stdin,
    }
    if stdin == "tty" and "TERM" in os.environ:
        job["env"]["TERM"] = os.environ["TERM"]
    if queue is not None:
        job["queue"] = queues.find(session.client, queue)
    if gpus:
        job["gpus"] = gpus
    if cpus:
        job["cpus"] = cpus
    for note in notes:
        say(name, note)
    answer = send(lambda: session.client.submit(job), PATIENCE, repeatable=True)
    sys.stdout.flush()
    return attend(session, args, answer["jobs"], stdin, PATIENCE)
