"""To have the runtime, which is root, make folders and files in one's own volumes."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from danlu.engines.api import HostMount
from tests.security.conftest import Attacker
from tests.security.test_reaching_the_host_from_a_container import image_with, link, run
from tests.support.containers import ContainerDaemon

LINKS = {
    "run": "/userhome",
    "opt": "userhome/x",
    "mnt": "/userhome",
    "run/danlu": "../userhome/made",
    "run/danlu-holder": "/userhome/made",
    "mnt/share": "/x/../y/../userhome/a/b",
    "mnt/share/vision": "/userhome/made",
}
RUNTIMES = {
    "etc": "/userhome",
    "etc/hosts": "/userhome/hosts",
    "etc/resolv.conf": "/near",
    "run/.containerenv": "/userhome/environment",
}
"""Where Podman makes files of its own. Docker puts folders and files in place of such links."""


async def names_after(contained: Attacker, daemon: ContainerDaemon, name: str, to: str) -> str:
    """Runs a task in an image with this link. What the log says."""
    image = f"roots-{name.replace('/', '-').replace('.', '')}:1"
    near = link("near", "userhome/resolv.conf")
    daemon.import_image(image, without(name, image_with(near, link(name, to))))
    more = HostMount("more", str(contained.share), "/opt/more")
    task, log = await run(contained, image, more, text="echo ran")
    assert made_in(contained.home) == [], task.detail
    assert "ran\n" in log or task.hint == "launch_failed"
    assert ("是符号链接" in log or "是指向" in log) == ("is a symbolic link" in log)
    return task.detail


def without(folder: str, image: bytes) -> bytes:
    """The image, in which nothing but a link has this name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(image)) as old, tarfile.open(fileobj=out, mode="w") as new:
        for entry in old:
            if entry.name != folder or entry.issym():
                new.addfile(entry, old.extractfile(entry) if entry.isreg() else None)
    return out.getvalue()


def made_in(folder: Path) -> list[str]:
    return sorted(
        f"{path.relative_to(folder)} of {os.lstat(path).st_uid}" for path in folder.rglob("*")
    )


@pytest.mark.parametrize("name", LINKS)
async def test_a_link_on_the_way_to_a_mount_point_makes_nothing_in_a_home(
    contained: Attacker, daemon: ContainerDaemon, name: str
) -> None:
    for _ in range(2):  # a refusal is not kept as if it were an approval
        detail = await names_after(contained, daemon, name, LINKS[name])
        assert f"the image's /{name} is a symbolic link" in detail


@pytest.mark.parametrize("name", RUNTIMES)
async def test_a_link_where_the_runtime_makes_files_makes_none_in_a_home(
    contained: Attacker, daemon: ContainerDaemon, name: str
) -> None:
    detail = await names_after(contained, daemon, name, RUNTIMES[name])
    refused = f"the image's /{name} is a symbolic link" in detail
    assert refused or daemon.kind == "docker"


async def test_the_usual_links_of_images_do_no_harm(
    contained: Attacker, daemon: ContainerDaemon
) -> None:
    links = {
        "var/run": "/run",
        "srv": "private/srv",
        "etc/resolv.conf": "../run/systemd/resolve/stub-resolv.conf",
        "etc/mtab": "/proc/mounts",
        "home": "userhome",
    }
    image = image_with(*(link(name, to) for name, to in links.items()))
    daemon.import_image("usual-links:1", image)
    for _ in range(2):
        task, log = await run(contained, "usual-links:1", text="readlink /var/run /srv /home")
        assert log == "/run\nprivate/srv\nuserhome\n", task.detail
    assert made_in(contained.home) == []
