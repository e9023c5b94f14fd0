"""To make the keeper wait, or read without end, by what an image has as /etc/passwd."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.engines.local.container import account


def _opened(etc: Path) -> str:
    """How the keeper opens /etc/passwd there."""
    here, numbers = os.open(etc, os.O_RDONLY), os.open("/proc/self/fd", os.O_RDONLY)
    try:
        found = account._open(numbers, here, "passwd")
        if found < 0:
            return "not at all"
        blocking = os.get_blocking(found)
        os.close(found)
        return "blocking" if blocking else "without waiting"
    finally:
        os.close(here)
        os.close(numbers)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("making a device node needs root")


def _large(path: Path) -> None:
    path.touch()
    os.truncate(path, account._LARGEST + 1)


@pytest.mark.parametrize("make", [os.mkfifo, _device, _large, Path.mkdir])
def test_what_is_no_moderate_file_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "passwd")
    assert _opened(tmp_path) == "not at all"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("root:x:0:0::/:/bin/sh\n")
    (tmp_path / "passwd").symlink_to("target")
    assert _opened(tmp_path) == "not at all"


def test_a_file_is_opened_so_that_nothing_can_block(tmp_path: Path) -> None:
    """It might have become a pipe meanwhile."""
    (tmp_path / "passwd").write_text("a" * account._LARGEST)
    assert _opened(tmp_path) == "without waiting"
