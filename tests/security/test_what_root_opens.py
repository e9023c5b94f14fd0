"""To have root open a path of the attacker's choice. It opens none in a view, as strace shows."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from danlu.engines.api import Endpoint, Refused, Run, TaskRef, Tty
from danlu.spec.job import Stdin
from tests.engines.conformance.talking import heard, until
from tests.engines.conftest import engine_of
from tests.engines.harness import JOB, shell
from tests.security.conftest import EVE, Attacker
from tests.security.opened import Opened, in_views, traced


def by_paths(attacker: Attacker, found: list[Opened]) -> list[str]:
    """Names in folders that were opened before the user's things were there are no paths."""
    ours = attacker.harness.data / "run"  # where a keeper's next task is written down
    return [
        each.line
        for each in found
        if not (each.below_a_descriptor or each.only_named or each.is_in(ours))
    ]


async def all_that_a_keeper_does(attacker: Attacker, stdin: Stdin) -> None:
    harness = attacker.harness
    launched = {"identity": EVE, "mounts": attacker.mounts, "stdin": stdin}
    await harness.run(shell("exit 3"), **launched)
    attempt = await harness.begin(shell("echo ready; exec sleep 1000"), **launched)
    await harness.printed(attempt, b"ready")
    for tty in (None, Tty()):
        talk = await harness.engine.exec(TaskRef(attempt, 0, JOB), Run(("id", "-u"), tty))
        assert str(EVE.uid).encode() in await heard(talk)
    await all_that_a_door_asks_for(attacker, TaskRef(attempt, 0, JOB))
    await harness.stop(attempt, 0)


async def all_that_a_door_asks_for(attacker: Attacker, task: TaskRef) -> None:
    """Shells, sockets and files, at paths and in a home of the user's choice."""
    engine = attacker.harness.engine
    line = Run(("id -u",), cwd="~", env={"HOME": "/userhome"}, shell=True)
    assert str(EVE.uid).encode() in await heard(await engine.exec(task, line))
    for at in (Endpoint(0), Endpoint(), Endpoint(path="/userhome/socket")):
        listener = await engine.listen(task, at)
        link = await engine.connect(task, listener.endpoint)
        await link.close()
        await listener.close()
    with pytest.raises(Refused):
        await engine.connect(task, Endpoint(path="/userhome/nothing"))
    files = await engine.exec(task, Run((), env={"HOME": "/userhome"}, files=True))
    await files.send(struct.pack("!IBI", 5, 1, 3))
    await until(files, b"posix-rename@openssh.com")
    path = b"/userhome/by-sftp"
    wanted = struct.pack("!BII", 3, 1, len(path)) + path + struct.pack("!II", 2 | 8, 0)
    await files.send(struct.pack("!I", len(wanted)) + wanted)
    await until(files, b"f\0\0\0\1")
    await files.send_eof()
    await heard(files)


@pytest.mark.parametrize("reserve", [0])
@pytest.mark.parametrize("stdin", [Stdin.NONE, Stdin.TTY])
async def test_a_keeper_opens_no_path_inside_the_view(
    attacker: Attacker, stdin: Stdin, tmp_path: Path
) -> None:
    pid = engine_of(attacker.harness)._spawner.pid
    assert pid is not None
    with traced(pid, tmp_path / "trace"):
        await all_that_a_keeper_does(attacker, stdin)
    assert "pivot_root" in (tmp_path / "trace").read_text()
    assert by_paths(attacker, in_views(tmp_path / "trace", "pivot_root")) == []


async def test_a_keeper_opens_no_path_inside_a_container(
    contained: Attacker, tmp_path: Path
) -> None:
    pid = engine_of(contained.harness)._spawner.pid
    assert pid is not None
    with traced(pid, tmp_path / "trace"):
        await all_that_a_keeper_does(contained, Stdin.TTY)
    assert "setns" in (tmp_path / "trace").read_text()
    assert by_paths(contained, in_views(tmp_path / "trace", "setns")) == []
