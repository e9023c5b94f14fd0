"""To read what only root may: by links on the way to a mount point, in the process runtime."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.engines.api import HostMount, TaskSeen
from danlu.spec.job import Stdin
from tests.engines.harness import shell
from tests.security.conftest import EVE, MARK, Attacker


async def mount_through(attacker: Attacker, folder: Path, target: str) -> tuple[TaskSeen, str]:
    """Runs a task of the attacker's with one more of her folders at a place of her choice."""
    task, log = await attacker.harness.run(
        shell("cat <&0; env; cat /proc/self/oom_score_adj"),
        identity=EVE,
        mounts=(*attacker.mounts, HostMount("more", str(folder), target)),
    )
    return task, log.decode()


def false_dev(attacker: Attacker, null: str) -> Path:
    """A folder that looks like /dev, with a link in the place of `null`."""
    folder = attacker.home / "mydev"
    (folder / "shm").mkdir(parents=True)
    (folder / "pts").mkdir()
    (folder / "null").symlink_to(null)
    return folder


@pytest.mark.parametrize("where", ["home", "share"])
@pytest.mark.parametrize(
    "link", ["/dev", "../dev", "../../../dev", "/userhome/../dev", "/../../../dev", "d2"]
)
async def test_a_link_to_dev_makes_the_keeper_hand_over_a_file_of_roots(
    attacker: Attacker, where: str, link: str
) -> None:
    folder = false_dev(attacker, str(attacker.canary))
    base, path = {
        "home": (attacker.home, attacker.homes_path),
        "share": (attacker.share, attacker.shares_path),
    }[where]
    (base / "d").symlink_to(link)
    (base / "d2").symlink_to("/dev")
    task, log = await mount_through(attacker, folder, f"{path}/d")
    assert MARK not in log
    assert (task.exit_code, task.hint) == (125, "launch_failed")
    assert "symbolic link" in task.detail


@pytest.mark.parametrize("number", range(3, 9))
async def test_a_link_through_the_keepers_own_descriptors_leads_to_the_admins_token(
    attacker: Attacker, number: int
) -> None:
    folder = false_dev(attacker, f"/proc/1/fd/{number}/../admin.json")
    (attacker.home / "d").symlink_to("/dev")
    task, log = await mount_through(attacker, folder, "/userhome/d")
    assert MARK not in log
    assert task.hint == "launch_failed"


async def test_a_link_to_proc_makes_the_keeper_write_to_a_file_of_roots(attacker: Attacker) -> None:
    folder = attacker.home / "myproc"
    folder.mkdir()
    for pid in (*range(1, 40), "self"):
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "oom_score_adj").symlink_to(attacker.canary)
    (attacker.home / "p").symlink_to("/proc")
    task, _ = await mount_through(attacker, folder, "/userhome/p")
    assert attacker.canary.read_text() == MARK
    assert task.hint == "launch_failed"


@pytest.mark.parametrize(
    "kept", ["/dev", "/dev/shm", "/proc", "/sys", "/etc", "/usr", "/usr/bin", "/run", "/boot"]
)
async def test_what_belongs_to_the_system_is_replaced_through_a_link(
    attacker: Attacker, kept: str
) -> None:
    folder = attacker.home / "mine"
    folder.mkdir()
    (attacker.home / "l").symlink_to(kept)
    for target in ("/userhome/l", "/userhome/l/below"):
        task, _ = await mount_through(attacker, folder, target)
        assert task.hint == "launch_failed", target


async def test_a_link_with_dots_leads_out_of_the_view_onto_the_machines_tree(
    attacker: Attacker,
) -> None:
    folder = attacker.home / "mine"
    folder.mkdir()
    stage = attacker.harness.data / "run" / "stage"
    up = "../" * len(stage.parts)
    for number, link in enumerate((f"/{up}{attacker.harness.data}", f"/../{'../' * 20}tmp")):
        (attacker.home / f"l{number}").symlink_to(link)
        task, _ = await mount_through(attacker, folder, f"/userhome/l{number}")
        assert task.hint == "launch_failed"


async def test_a_link_that_a_neighbour_left_in_tmp_is_not_followed_either(
    attacker: Attacker,
) -> None:
    link = Path("/tmp") / f"danlu-test-{os.getpid()}-l"
    link.symlink_to("/dev")
    folder = false_dev(attacker, str(attacker.canary))
    try:
        task, log = await mount_through(attacker, folder, str(link))
    finally:
        link.unlink()
    assert MARK not in log
    assert task.hint == "launch_failed"


async def test_a_folder_that_is_shown_anew_is_swapped_for_a_link(attacker: Attacker) -> None:
    """A mount point that is missing in a volume: what else is there goes on to be shown, and links
    stay links."""
    (attacker.home / "out").symlink_to(attacker.harness.data)
    (attacker.home / "file").write_text("mine")
    folder = attacker.home / "mine"
    folder.mkdir()
    _, log = await attacker.harness.run(
        shell("ls /userhome; readlink /userhome/out; cat /userhome/file /userhome/out/admin.json"),
        identity=EVE,
        mounts=(*attacker.mounts, HostMount("more", str(folder), "/userhome/new/below")),
    )
    text = log.decode()
    assert text.split()[:4] == ["file", "mine", "new", "out"], text
    assert str(attacker.harness.data) in text
    assert MARK not in text


async def test_more_files_than_fit_into_a_view_are_refused_not_shown(attacker: Attacker) -> None:
    crowd = attacker.home / "crowd"
    crowd.mkdir()
    for number in range(5000):
        (crowd / str(number)).touch()
    task, _ = await mount_through(attacker, attacker.share, "/userhome/crowd/new/below")
    assert task.hint == "launch_failed"
    assert "4096" in task.detail


@pytest.mark.parametrize("stdin", [Stdin.NONE, Stdin.PIPE, Stdin.TTY])
async def test_nothing_of_roots_is_in_what_a_task_is_given(
    attacker: Attacker, stdin: Stdin
) -> None:
    """Its streams, its environment and all its open files."""
    attempt = await attacker.harness.begin(
        shell(
            "env; ls -l /proc/self/fd; for f in /proc/self/fd/*; do readlink $f; done;"
            "ls -l /proc/1/fd; ls -l /proc/1/cwd; echo done; timeout 1 cat <&0"
        ),
        identity=EVE,
        mounts=attacker.mounts,
        stdin=stdin,
    )
    await attacker.harness.printed(attempt, b"done")
    log = (await attacker.harness.output(attempt)).decode()
    await attacker.harness.stop(attempt, 0)
    assert MARK not in log
    assert str(attacker.harness.data) not in log
