# ruff: noqa: ASYNC221, ASYNC240 - a test may block its own loop
"""Run in a mount namespace of its own: the machine's accounts change while a task runs.

`python -m tests.engines.replaced_accounts FOLDER`: prints what the task has printed.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

from danlu.engines.api import HostMount, Identity
from tests.engines.conftest import with_namespaces
from tests.engines.harness import shell
from tests.engines.local_harness import LocalHarness
from tests.engines.test_local_people import ALICE, home_of

ROOT = Identity("root", "root", 0, 0)

SCRIPT = (
    "whoami; echo ready; until [ -e /userhome/go ]; do sleep 0.05; done; "
    "whoami; id -gn; grep -c newcomer /etc/passwd; cat /etc/danlu-test; cat /etc/conda/x/added"
)


async def main(folder: Path) -> None:
    etc = folder / "etc"
    shutil.copytree("/etc", etc, symlinks=True)
    (etc / "danlu-test").write_text("before\n")
    (etc / "conda").mkdir(exist_ok=True)
    added = folder / "added"
    added.write_text("mounted\n")
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)
    (folder / "world").mkdir()
    harness = LocalHarness(with_namespaces, folder / "world")
    await harness.start()
    try:
        home = home_of(harness, ALICE)
        mounts = (home, HostMount("added", str(added), "/etc/conda/x/added", read_only=True))
        attempt = await harness.begin(shell(SCRIPT), identity=ALICE, mounts=mounts)
        await harness.printed(attempt, b"ready")
        for name, text in (("passwd", "newcomer:x:4242:4242::/:/bin/sh\n"), ("group", "")):
            draft = Path("/etc", f"{name}+")
            draft.write_text(Path("/etc", name).read_text() + text)
            draft.rename(Path("/etc", name))
        Path("/etc/danlu-test+").write_text("after\n")
        Path("/etc/danlu-test+").rename("/etc/danlu-test")
        Path(home.source, "go").touch()
        await harness.ended(attempt)
        print((await harness.output(attempt)).decode(), end="")
        _, log = await harness.run(
            shell("whoami; grep -c newcomer /etc/passwd"), identity=ALICE, mounts=(home,)
        )
        print(log.decode(), end="")
        Path("/etc/danlu-new").write_text("added\n")
        text = "cat /etc/danlu-new; ls -A /etc | wc -l; touch /etc/mine 2>/dev/null || echo refused"
        mounts = (home_of(harness, ROOT),)
        _, log = await harness.run(shell(text), identity=ROOT, mounts=mounts)
        print(log.decode(), end="")
        print(len(list(Path("/etc").iterdir())))
    finally:
        await harness.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
