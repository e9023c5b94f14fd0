"""What is remembered of an image whose lists of accounts were checked."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.local.container.account import check_accounts
from danlu.engines.local.container.daemon import link_in_tar

FOLDER, LINK = 1 << 31, 1 << 27


class Runtime:
    """Answers what a runtime answers about the paths of a container, and counts."""

    def __init__(self, **modes: int) -> None:
        self.modes = {"/etc": FOLDER, "/etc/passwd": 0, "/etc/group": 0} | {
            f"/etc/{name}": mode for name, mode in modes.items()
        }
        self.asked = 0

    def mount(self, name: str) -> str | None:
        return None

    def file(self, name: str, path: str) -> dict[str, Any] | None:
        self.asked += 1
        mode = self.modes.get(path)
        return None if mode is None else {"mode": mode, "size": 100, "linkTarget": "/home/passwd"}


def ask(runtime: Runtime, known: Path, *targets: str, image: str = "sha256:abc") -> int:
    """How many questions it took."""
    before = runtime.asked
    check_accounts(runtime, "c", image, list(targets), str(known))  # type: ignore[arg-type]
    return runtime.asked - before


def test_an_image_with_plain_files_is_asked_about_once(tmp_path: Path) -> None:
    runtime = Runtime()
    assert ask(runtime, tmp_path / "known", "/userhome", "/gdata")
    assert not ask(runtime, tmp_path / "known", "/gdata", "/userhome")
    assert ask(runtime, tmp_path / "known", "/gdata", image="sha256:def")


def test_a_link_is_asked_about_each_time_because_a_volume_may_change_its_target(
    tmp_path: Path,
) -> None:
    runtime = Runtime(passwd=LINK)
    assert ask(runtime, tmp_path / "known") == ask(runtime, tmp_path / "known") > 0


@pytest.mark.parametrize("targets", [("/a", "/a/b"), ("/a", "/a"), ("/a/b/c", "/x", "/a")])
def test_mounts_below_each_other_are_asked_about_each_time(
    tmp_path: Path, targets: tuple[str, ...]
) -> None:
    runtime = Runtime()
    assert ask(runtime, tmp_path / "known", *targets) == ask(runtime, tmp_path / "known", *targets)


def test_other_mount_points_are_asked_about_again_because_the_image_may_link_them(
    tmp_path: Path,
) -> None:
    runtime = Runtime()
    ask(runtime, tmp_path / "known", "/userhome")
    assert ask(runtime, tmp_path / "known", "/userhome", "/data")


def test_a_name_too_long_for_a_file_is_asked_about_each_time(tmp_path: Path) -> None:
    runtime = Runtime()
    targets = [f"/{letter * 40}" for letter in "abcdefg"]
    assert ask(runtime, tmp_path / "known", *targets) == ask(runtime, tmp_path / "known", *targets)


class Podman(Runtime):
    """Shows the image's files before the container starts, without its volumes."""

    def __init__(self, root: Path) -> None:
        super().__init__(passwd=LINK)  # an answer that would not be remembered
        self.root = root
        (root / "etc").mkdir(parents=True)

    def mount(self, name: str) -> str | None:
        self.asked += 1
        return str(self.root)


def test_an_image_without_accounts_is_asked_about_once(tmp_path: Path) -> None:
    runtime = Podman(tmp_path / "root")
    assert ask(runtime, tmp_path / "known", "/userhome")
    assert not ask(runtime, tmp_path / "known", "/userhome")
    (runtime.root / "etc").rmdir()
    assert ask(runtime, tmp_path / "known", "/userhome", image="sha256:def")
    assert not ask(runtime, tmp_path / "known", "/userhome", image="sha256:def")


@pytest.mark.parametrize("target", ["/userhome", "/userhome/data"])
def test_an_image_that_links_a_mount_point_is_asked_about_each_time(
    tmp_path: Path, target: str
) -> None:
    runtime = Podman(tmp_path / "root")
    (runtime.root / "etc/passwd").touch()
    (runtime.root / "etc/group").touch()
    (runtime.root / "userhome").symlink_to("/etc")
    assert ask(runtime, tmp_path / "known", target) == ask(runtime, tmp_path / "known", target) > 1


@pytest.mark.parametrize("to", ["/run", "a/b" * 33 + "a", "../x\n7 linkpath=y/" * 20, "目录/" * 60])
def test_where_a_link_leads_is_read_from_an_archive(to: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("x" * 150)
        entry.type, entry.linkname = tarfile.SYMTYPE, to
        tar.addfile(entry)
    assert link_in_tar(out.getvalue()) == to


def test_an_archive_without_a_link_is_refused() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    with pytest.raises(OSError, match="does not say"):
        link_in_tar(out.getvalue())
