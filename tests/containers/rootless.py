"""A server without root that uses its user's own Podman; run as that user by a test."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from danlu.engines.api import Engine, HostMount, Run, TaskRef
from danlu.engines.local.config import ContainerConfig
from tests.engines.conformance.talking import heard
from tests.engines.conftest import local
from tests.engines.harness import JOB, argv, shell
from tests.engines.local_harness import LocalHarness
from tests.support.daemons import BUSYBOX


async def main(socket: str, base: Path) -> dict[str, Any]:
    def make(data: Path) -> Engine:
        return local(data, containers=ContainerConfig("podman", socket))

    harness = LocalHarness(make, base)
    await harness.start()
    home = base / "home"
    home.mkdir()
    harness.every = {
        "image": BUSYBOX,
        "mounts": (HostMount("userhome", str(home), "/userhome"),),
    }
    text = r"echo mine > /userhome/file; printf '\377\000'; exit 3"
    task, log = await harness.run(shell(text))
    for name in ("gdata/own", "set"):
        (base / name).mkdir(parents=True)
    (base / "gdata/link").symlink_to("own")
    shown = HostMount("gdata", str(base / "gdata"), "/gdata", read_only=True)
    inside = HostMount("dataset.set", str(base / "set"), "/gdata/set", read_only=True)
    _, gdata = await harness.run(
        shell("ls /gdata; touch /gdata/x 2> /dev/null || echo refused"), mounts=(shown, inside)
    )
    running = await harness.begin(argv("sleep", "600"))
    duplex = await harness.engine.exec(TaskRef(running, 0, JOB), Run(("cat", "/proc/1/comm")))
    seen = await heard(duplex)
    await harness.restart()
    (stopped,) = await harness.stop(running, 60)
    await harness.close()
    return {
        "code": task.exit_code,
        "detail": task.detail,
        "log": log.hex(),
        "owner": (home / "file").stat().st_uid,
        "uid": os.getuid(),
        "gdata": gdata.decode().split(),
        "exec": seen.decode(),
        "signal": stopped.signal,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], Path(sys.argv[2])))))
