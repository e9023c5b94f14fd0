"""Without root: a user's own Podman, and files that belong to that user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.containers import BUSYBOX, busybox_image, rootless_podman

NOBODY = 65534
ROOT = Path(__file__).parents[2]


def test_without_root_a_users_own_podman_runs_tasks_whose_files_are_the_users() -> None:
    daemon = rootless_podman(NOBODY)
    if not all(path.stat().st_mode & 0o001 for path in (ROOT, *ROOT.parents)):
        pytest.skip(f"another user cannot read {ROOT}")
    with tempfile.TemporaryDirectory(prefix="danlu-rootless-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        try:
            daemon.start()
            daemon.import_image(BUSYBOX, busybox_image())
            done = subprocess.run(
                [sys.executable, "-B", "-m", "tests.containers.rootless", daemon.socket, folder],
                capture_output=True,
                check=False,
                cwd=ROOT,
                env=os.environ | daemon.env,
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                timeout=500,
            )
        finally:
            daemon.remove()
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == {
        "code": 3,
        "detail": "",
        "log": "ff00",
        "owner": NOBODY,
        "uid": NOBODY,
        "gdata": ["link", "own", "set", "refused"],
        "exec": "danlu-holder\n",
        "signal": 15,
    }
