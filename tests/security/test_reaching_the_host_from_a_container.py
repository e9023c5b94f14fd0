"""To reach the machine's devices and files from a container, by what an image or a volume holds."""

from __future__ import annotations

import io
import tarfile

import pytest

from danlu.engines.api import HostMount, TaskSeen
from tests.engines.harness import shell
from tests.security.conftest import EVE, MARK, Attacker
from tests.support.containers import ContainerDaemon, bare_image


def image_with(*entries: tarfile.TarInfo, **files: bytes) -> bytes:
    """The image of the tests, with more in it."""
    out = io.BytesIO(bare_image())
    with tarfile.open(fileobj=out, mode="a") as tar:
        for entry in entries:
            tar.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def link(name: str, to: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, to
    return entry


def node(name: str, kind: bytes, major: int = 0, minor: int = 0) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.devmajor, entry.devminor, entry.mode = kind, major, minor, 0o666
    return entry


async def run(
    contained: Attacker, image: str, *mounts: HostMount, text: str = "cat <&0; ls /dev"
) -> tuple[TaskSeen, str]:
    values = {} if image == "" else {"image": image}
    task, log = await contained.harness.run(
        shell(text), identity=EVE, mounts=(*contained.mounts, *mounts), **values
    )
    return task, log.decode(errors="replace")


def is_about_the_target(task: TaskSeen) -> bool:
    """We refuse it, or the runtime does."""
    return (
        "mount point" in task.detail
        or "the container's" in task.detail
        or "to rootfs" in task.detail
    )


@pytest.mark.parametrize("to", ["/dev", "dev", "../dev", "/etc/../dev", "/proc", "/sys", "/etc"])
async def test_a_link_in_an_image_puts_a_volume_over_the_systems_own(
    contained: Attacker, daemon: ContainerDaemon, to: str
) -> None:
    name = f"evil-{to.strip('/.').replace('/', '').replace('.', '')}-{to.count('/')}:1"
    daemon.import_image(name, image_with(link("x", to)))
    folder = contained.home / "mydev"
    (folder / "shm").mkdir(parents=True)
    (folder / "null").symlink_to(contained.canary)
    for target in ("/x", "/x/below"):
        task, log = await run(contained, name, HostMount("more", str(folder), target))
        assert task.hint == "launch_failed", (target, log)
        assert is_about_the_target(task), task.detail
        assert MARK not in log


@pytest.mark.parametrize(
    "to", ["/dev", "../dev", "/proc", "/userhome/../dev", "/../../../dev", "d2"]
)
@pytest.mark.parametrize("where", ["home", "share"])
async def test_a_link_in_a_volume_puts_another_over_the_systems_own(
    contained: Attacker, where: str, to: str
) -> None:
    base, path = {
        "home": (contained.home, contained.homes_path),
        "share": (contained.share, contained.shares_path),
    }[where]
    (base / "d").symlink_to(to)
    (base / "d2").symlink_to("/dev")
    folder = contained.home / "mydev"
    (folder / "shm").mkdir(parents=True)
    (folder / "null").symlink_to(contained.canary)
    task, log = await run(contained, "", HostMount("more", str(folder), f"{path}/d"))
    assert task.hint == "launch_failed", log
    assert is_about_the_target(task), task.detail
    assert MARK not in log


async def test_an_image_with_nodes_of_the_machines_disk_lets_nobody_read_it(
    contained: Attacker, daemon: ContainerDaemon
) -> None:
    """Neither the task nor, for it, the keeper: they are in the container's device cgroup."""
    disk = node("disk", tarfile.BLKTYPE, 254, 0)
    null = node("dev/null", tarfile.BLKTYPE, 254, 0)
    daemon.import_image("evil-disk:1", image_with(disk, null))
    task, log = await run(contained, "evil-disk:1", text="head -c 4 /disk; cat <&0; echo on")
    assert task.exit_code == 0
    assert "ermission denied" in log or "not permitted" in log
    assert log.endswith("on\n")


# -- /etc/passwd of an image --------------------------------------------------------------------

ACCOUNTS = {
    "device": lambda: image_with(node("etc/passwd", tarfile.CHRTYPE, 1, 5)),
    "pipe": lambda: image_with(node("etc/passwd", tarfile.FIFOTYPE)),
    "link to a pipe": lambda: image_with(
        node("pipe", tarfile.FIFOTYPE), link("etc/passwd", "/pipe")
    ),
    "32 MB": lambda: image_with(**{"etc__passwd": b"a::0:0:::\n" * (32 << 20 >> 3)}),
    "groups of 32 MB": lambda: image_with(**{"etc__group": b"a:x:0:\n" * (32 << 20 >> 3)}),
}


@pytest.mark.parametrize("kind", ACCOUNTS)
async def test_a_hostile_list_of_accounts_hangs_or_swells_nobody(
    contained: Attacker, daemon: ContainerDaemon, kind: str
) -> None:
    name = f"accounts-{kind.replace(' ', '').lower()}:1"
    daemon.import_image(name, ACCOUNTS[kind]())
    task, log = await run(contained, name, text="echo ran")
    assert task.hint == "launch_failed", log
    assert "/etc/" in task.detail
    assert "ran" not in log
    task, log = await run(contained, "", text="echo ran")
    assert log == "ran\n", "the runtime goes on"


async def test_a_usual_list_of_accounts_gets_the_users_line(
    contained: Attacker, daemon: ContainerDaemon
) -> None:
    daemon.import_image("accounts:1", image_with(**{"etc__passwd": b"root:x:0:0::/root:/bin/sh"}))
    _, log = await run(contained, "accounts:1", text="cat /etc/passwd; whoami")
    assert log.splitlines() == [
        "root:x:0:0::/root:/bin/sh",
        f"eve:x:{EVE.uid}:{EVE.gid}::/userhome:/bin/sh",
        "eve",
    ]


async def test_a_name_that_moves_to_a_hostile_image_is_checked_again(
    contained: Attacker, daemon: ContainerDaemon
) -> None:
    passwd = b"root:x:0:0::/root:/bin/sh\n"
    accounts = {"etc__passwd": passwd, "etc__group": b"root:x:0:\n"}
    daemon.import_image("moving:1", image_with(**accounts))
    for _ in range(2):
        task, log = await run(contained, "moving:1", text="echo ran")
        assert log == "ran\n", task.detail
    daemon.import_image("moving:1", ACCOUNTS["pipe"]())
    task, log = await run(contained, "moving:1", text="echo ran")
    assert (task.hint, log.count("ran")) == ("launch_failed", 0)
