# ruff: noqa: ASYNC240 - a test may block its own loop
"""Two people on one machine: what a task can do to another person's, tried from inside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import Duplex, HostMount, Identity, Run, TaskRef, Tty
from danlu.engines.local.names import group_text, passwd_text
from danlu.files.folders import make_shared
from danlu.spec.job import GpuRequest, Processes, Resources, Stdin
from tests.engines.conftest import as_root, keeper_of, local
from tests.engines.harness import JOB, EngineHarness, argv, script, shell
from tests.engines.local_harness import LocalHarness

ALICE = Identity("alice", None, 231_001, 231_001, (231_100,), (("vision", 231_100),), 0o007)
BOB = Identity("bob", None, 231_002, 231_002, (231_100,), (("vision", 231_100),), 0o007)
EVE = Identity("eve", None, 231_003, 231_003, (), (), 0o007)


def uid_of(who: Identity) -> int:
    assert who.uid is not None
    return who.uid


def home_of(harness: EngineHarness, who: Identity) -> HostMount:
    home = harness.data / "home" / who.user
    if not home.exists():
        home.parent.mkdir(mode=0o711, exist_ok=True)
        home.mkdir(mode=0o700)
        os.chown(home, uid_of(who), uid_of(who))
    return HostMount("userhome", str(home), "/userhome")


async def run(harness: EngineHarness, who: Identity, text: str) -> str:
    _, log = await harness.run(shell(text), identity=who, mounts=(home_of(harness, who),))
    return log.decode()


async def begin(harness: EngineHarness, who: Identity, text: str, **values: Any) -> str:
    mounts = (home_of(harness, who),)
    attempt = await harness.begin(shell(text), identity=who, mounts=mounts, **values)
    await harness.printed(attempt, b"ready")
    return attempt


async def talk(duplex: Duplex) -> bytes:
    said = b""
    while (piece := await duplex.receive()) is not None:
        said += piece[1]
    await duplex.close()
    return said


def host_pids(who: Identity) -> list[int]:
    """Processes of a user, by their numbers on the host."""
    found = []
    for proc in Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if proc.name.isdigit() and proc.stat().st_uid == who.uid:
                found.append(int(proc.name))
    return found


@pytest.fixture
async def apart(tmp_path: Path) -> AsyncIterator[EngineHarness]:
    """Without namespaces: only uids keep people apart."""
    harness = LocalHarness(lambda data: local(data, userns="off", identities=True), tmp_path)
    await harness.start()
    yield harness
    await harness.close()


@as_root
class TestOneself:
    async def test_has_a_name_and_a_home(self, boxed: EngineHarness) -> None:
        log = await run(
            boxed,
            ALICE,
            "whoami; id -un; id -gn; id -Gn; echo $HOME $USER $LOGNAME; pwd;"
            "python3 -c 'import getpass, pwd, os; print(getpass.getuser(),"
            " pwd.getpwuid(os.getuid()).pw_dir)';"
            "touch f; ls -l f | cut -d' ' -f3,4; umask",
        )
        assert log.splitlines() == [
            *("alice", "alice", "alice", "alice vision"),
            *("/userhome alice alice", "/userhome", "alice /userhome"),
            *("alice alice", "0007"),
        ]

    async def test_keeps_its_name_when_the_machine_replaces_its_accounts(
        self, boxed: EngineHarness, tmp_path: Path
    ) -> None:
        """As `useradd` does, which renames a new /etc/passwd over the old one. On a copy of /etc,
        in a mount namespace of its own."""
        tmp_path.chmod(0o755)
        words = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m"]
        words += ["tests.engines.replaced_accounts", str(tmp_path / "other")]
        (tmp_path / "other").mkdir()
        done = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, cwd=Path(__file__).parents[2]
        )
        assert done.returncode == 0, done.stderr
        told = done.stdout.split()
        assert told[:6] == ["alice", "ready", "alice", "alice", "0", "after"]
        assert told[6:9] == ["mounted", "alice", "1"]  # the next task knows the newcomer
        added, seen, mine, there = told[9:]  # and what is new in /etc, where nobody writes
        assert (added, mine, seen) == ("added", "refused", there)

    async def test_has_no_rights_of_root(self, boxed: EngineHarness) -> None:
        log = await run(
            boxed, ALICE, "grep -h -E '^(Cap(Inh|Prm|Eff|Amb)|NoNew)' /proc/self/status"
        )
        assert [line.split()[1] for line in log.splitlines()] == ["0" * 16] * 4 + ["1"]

    async def test_cannot_become_root_again(self, boxed: EngineHarness) -> None:
        log = await run(
            boxed,
            ALICE,
            "python3 -c 'import os; os.setresuid(0, 0, 0)' 2>&1 | tail -1;"
            "grep -E '^(Uid|Gid)' /proc/self/status",
        )
        assert "PermissionError" in log
        numbers = [line.split()[1:] for line in log.splitlines()[1:]]
        assert numbers == [[str(ALICE.uid)] * 4, [str(ALICE.gid)] * 4]

    async def test_owns_all_that_a_task_makes(self, boxed: EngineHarness) -> None:
        await run(boxed, ALICE, "mkdir -p a/b; touch a/b/c; ln -s c a/b/l; mkfifo a/p")
        home = boxed.data / "home" / "alice"
        made = [home, *home.rglob("*")]
        assert len(made) == 6
        assert {(p.lstat().st_uid, p.lstat().st_gid) for p in made} == {(ALICE.uid, ALICE.gid)}

    async def test_opens_its_streams_by_name(self, boxed: EngineHarness) -> None:
        log = await run(boxed, ALICE, "echo one > /dev/stdout; echo two > /dev/stderr")
        assert log == "one\ntwo\n"

    @pytest.mark.parametrize("tty", [None, Tty()], ids=["pipes", "terminal"])
    async def test_is_the_same_in_exec(self, boxed: EngineHarness, tty: Tty | None) -> None:
        attempt = await begin(boxed, ALICE, "echo ready; sleep 1000")
        words = ["sh", "-c", "whoami; umask; touch /userhome/by-exec; echo x > /dev/stdout"]
        said = await talk(await boxed.engine.exec(TaskRef(attempt, 0, JOB), Run(tuple(words), tty)))
        assert said.replace(b"\r", b"") == b"alice\n0007\nx\n"
        made = (boxed.data / "home" / "alice" / "by-exec").stat()
        assert (made.st_uid, made.st_gid) == (ALICE.uid, ALICE.gid)
        await boxed.stop(attempt, 0)

    async def test_owns_the_terminal(self, boxed: EngineHarness) -> None:
        task, log = await boxed.run(
            shell("stat -c %u $(tty); whoami; grep CapEff /proc/self/status"),
            identity=ALICE,
            mounts=(home_of(boxed, ALICE),),
            stdin=Stdin.TTY,
        )
        assert task.exit_code == 0
        assert log.decode().split() == [str(ALICE.uid), "alice", "CapEff:", "0" * 16]

    async def test_is_every_process_of_a_task(self, boxed: EngineHarness) -> None:
        _, log = await boxed.run(
            shell("id -u"),
            identity=ALICE,
            resources=Resources(GpuRequest(3), 1.0, 1 << 30, 1 << 26),
            gpus=[(0, 1, 2)],
            processes=Processes.PER_GPU,
        )
        assert set(log.decode().split()) == {str(ALICE.uid)}


PRY = r"""
for p in $PIDS; do
  for f in environ mem maps stack; do
    [ "$(head -c 9 /proc/$p/$f 2> /dev/null | wc -c)" -gt 0 ] && echo "READ $f of $p"
  done
  for f in root cwd fd; do
    ls /proc/$p/$f/ > /dev/null 2>&1 && echo "READ $f of $p"
  done
  for s in 0 1 2 9 15 19; do kill -$s $p 2> /dev/null && echo "SIGNAL $s to $p"; done
  python3 -c "import ctypes; ctypes.CDLL(None).ptrace(16, $p, 0, 0) == 0 and print('TRACED', $p)"
done
echo pried
"""
PRIED = {"READ", "SIGNAL", "TRACED"}


@as_root
class TestAnother:
    async def test_cannot_see_ones_home(self, boxed: EngineHarness) -> None:
        await run(boxed, ALICE, "echo hush > diary; chmod 666 diary")
        home = boxed.data / "home" / "alice"
        log = await run(
            boxed,
            EVE,
            f"cat {home}/diary; ls {boxed.data}/home; ls {boxed.data};"
            f"cat /proc/self/cwd/../alice/diary; ln -s {home}/diary l; cat l",
        )
        assert "hush" not in log
        assert not {"alice", "home", "logs", "run"} & set(log.split())

    async def test_cannot_see_or_hurt_ones_processes(self, boxed: EngineHarness) -> None:
        """Not even by their numbers on the host, those of the keepers among them."""
        secrets = {"TOKEN": "hush"}
        attempt = await begin(boxed, ALICE, "echo ready; exec sleep 1000", secrets=secrets)
        pids = [*host_pids(ALICE), keeper_of(boxed, attempt)]
        assert len(pids) >= 2
        log = await run(
            boxed,
            EVE,
            f"PIDS='{' '.join(map(str, pids))}'; cat /proc/*/cmdline | tr '\\0' ' '; {PRY}",
        )
        assert log.endswith("pried\n")
        assert not PRIED & set(log.split()), log
        assert "sleep" not in log
        assert host_pids(ALICE), "it runs on"
        await boxed.stop(attempt, 0)

    async def test_is_kept_apart_by_uids_where_there_are_no_namespaces(
        self, apart: EngineHarness
    ) -> None:
        secrets = {"TOKEN": "hush"}
        text = "echo hush > diary; echo ready; exec sleep 1000"
        attempt = await begin(apart, ALICE, text, secrets=secrets)
        pids = [*host_pids(ALICE), keeper_of(apart, attempt)]
        assert len(pids) >= 2
        home, data = apart.data / "home" / "alice", apart.data
        log = await run(
            apart,
            EVE,
            f"PIDS='{' '.join(map(str, pids))}'; {PRY}"
            f"cat {home}/diary; cat {data}/run/{attempt}/0.claim; ls {data};"
            f"for d in home home/alice run logs; do ls {data}/$d; done;"
            "echo to-the-end; pwd; touch mine",
        )
        said, _, last = log.partition("to-the-end\n")
        assert "pried\n" in said
        assert not PRIED & set(said.split()), said
        assert said.count("ermission denied") == 7
        assert "hush" not in said
        assert last.splitlines()[0] == f"{data}/home/eve"
        assert (data / "home" / "eve" / "mine").stat().st_uid == EVE.uid
        assert host_pids(ALICE), "it runs on"
        await apart.stop(attempt, 0)

    async def test_cannot_reach_logs_records_or_sockets(self, boxed: EngineHarness) -> None:
        attempt = await begin(boxed, ALICE, "echo ready; exec sleep 1000")
        run_folder = boxed.data / "run" / attempt
        assert (run_folder / "0.sock").exists()
        log = await run(
            boxed,
            EVE,
            f"cat {boxed.data}/logs/*/* {run_folder}/*; ls -A {boxed.data};"
            f"python3 -c \"import os, socket; os.chdir('{run_folder}');"
            "socket.socket(socket.AF_UNIX).connect('0.sock')\"",
        )
        assert "ready" not in log
        assert "FileNotFoundError" in log
        await boxed.stop(attempt, 0)

    async def test_finds_logs_and_records_closed_also_on_the_host(
        self, boxed: EngineHarness
    ) -> None:
        attempt = await begin(boxed, ALICE, "echo ready; exec sleep 1000")
        for top in (boxed.data / "logs", boxed.data / "run" / attempt):
            found = [top.lstat(), *(path.lstat() for path in top.rglob("*"))]
            assert len(found) > 1
            assert {entry.st_uid for entry in found} == {0}
            assert stat.S_IMODE(top.lstat().st_mode) == 0o700
        await boxed.stop(attempt, 0)

    async def test_shares_no_memory_and_cannot_read_what_one_leaves_in_tmp(
        self, boxed: EngineHarness
    ) -> None:
        name = f"danlu-test-{os.getpid()}"
        mine = Path("/tmp") / name
        attempt = await begin(
            boxed,
            ALICE,
            f"echo hush > /dev/shm/{name}; mkdir {mine}; echo hush > {mine}/f; chmod 777 {mine}/f;"
            f"echo hush > {mine}.f; echo ready; exec sleep 1000",
        )
        try:
            log = await run(
                boxed,
                EVE,
                f"cat /dev/shm/{name} {mine}.f {mine}/f; ls {mine};"
                f"rm -f {mine}.f; mv {mine}.f {mine}.x; (echo eve > {mine}.f)",
            )
            assert "hush" not in log
            assert Path(f"{mine}.f").read_text() == "hush\n"
        finally:
            await boxed.stop(attempt, 0)
            for path in (mine / "f", Path(f"{mine}.f")):
                path.unlink()
            mine.rmdir()

    async def test_of_the_same_group_can_change_what_is_in_its_folder(
        self, boxed: EngineHarness
    ) -> None:
        folder = boxed.data / "share" / "vision"
        make_shared(str(folder), 231_100)
        share = HostMount("share.vision", str(folder), "/mnt/share/vision")
        for who, text in (
            (ALICE, "mkdir -p sub/deep; echo alice > sub/deep/f; echo a > top"),
            (BOB, "echo bob >> sub/deep/f; echo b >> top; touch sub/deep/g; rm top"),
        ):
            task, log = await boxed.run(
                shell(text),
                identity=who,
                mounts=(home_of(boxed, who), share),
                workdir="/mnt/share/vision",
            )
            assert (task.exit_code, log) == (0, b"")
        deep = folder / "sub" / "deep"
        assert (deep / "f").read_text() == "alice\nbob\n"
        assert {path.stat().st_gid for path in (deep, deep / "f", deep / "g")} == {231_100}
        assert (deep / "g").stat().st_uid == BOB.uid
        _, log = await boxed.run(
            shell("cat /mnt/share/vision/sub/deep/f; ls /mnt/share/vision"),
            identity=EVE,
            mounts=(home_of(boxed, EVE), share),
        )
        assert log.count(b"ermission denied") == 2


@as_root
class TestNoProbing:
    """What the user may not see, the platform does not look at for them."""

    @pytest.mark.parametrize("name", ["there", "absent"])
    async def test_a_script_behind_a_link_into_a_closed_folder(
        self, boxed: EngineHarness, name: str
    ) -> None:
        closed = boxed.outside / "closed"
        closed.mkdir(mode=0o700)
        (closed / "there").write_text("echo ran\n")
        home = home_of(boxed, EVE)
        (Path(home.source) / "start.sh").symlink_to(closed / name)
        task, log = await boxed.run(script("start.sh"), identity=EVE, mounts=(home,))
        assert b"ran" not in log
        assert (task.exit_code, task.hint) == (127, "command_not_found")

    async def test_a_script_behind_a_link_that_one_may_follow_runs(
        self, boxed: EngineHarness
    ) -> None:
        (boxed.outside / "real.sh").write_text("echo ran as $(id -u)\n")
        home = home_of(boxed, EVE)
        (Path(home.source) / "start.sh").symlink_to(boxed.outside / "real.sh")
        task, log = await boxed.run(script("start.sh"), identity=EVE, mounts=(home,))
        assert (task.exit_code, log.decode()) == (0, f"ran as {EVE.uid}\n")

    async def test_a_closed_folder_to_work_in(self, boxed: EngineHarness) -> None:
        closed = boxed.outside / "closed"
        closed.mkdir(mode=0o700)
        task, _ = await boxed.run(argv("pwd"), identity=EVE, workdir=str(closed))
        assert (task.exit_code, task.hint) == (126, "workdir_missing")
        assert f"uid {EVE.uid} may not enter it" in task.detail

    async def test_a_closed_program(self, boxed: EngineHarness) -> None:
        program = boxed.outside / "program"
        program.write_text("#!/bin/sh\necho ran\n")
        program.chmod(0o700)
        task, log = await boxed.run(argv(str(program)), identity=EVE)
        assert (task.exit_code, task.hint) == (126, "not_executable")
        assert b"ran\n" not in log


class TestVolumes:
    async def test_one_that_became_a_link_is_not_followed(self, boxed: EngineHarness) -> None:
        """Whoever owns the folder above could put a link to anything there."""
        (boxed.outside / "target" / "v").mkdir(parents=True)
        (boxed.outside / "link").symlink_to(boxed.outside / "target")
        for source in (boxed.outside / "link", boxed.outside / "link" / "v"):
            task, _ = await boxed.run(argv("ls", "/v"), mounts=(HostMount("v", str(source), "/v"),))
            assert (task.exit_code, task.hint) == (125, "launch_failed")
            assert "symbolic link" in task.detail


class TestNames:
    def test_the_users_line_stands_for_name_and_number(self) -> None:
        text = passwd_text(
            ALICE,
            "root:x:0:0:root:/root:/bin/sh\n"
            "alice:x:1001:1001::/home/alice:/bin/sh\n"
            "other:x:231001:1::/:/bin/sh\n",
        )
        lines = text.splitlines()
        assert lines[0].startswith("alice:x:231001:231001::/userhome:/bin/")
        assert lines[1:] == ["root:x:0:0:root:/root:/bin/sh"]

    def test_a_group_number_the_machine_knows_keeps_its_name(self) -> None:
        text = group_text(ALICE, "root:x:0:\nlab:x:231100:\nvision:x:77:\n")
        theirs = ["root:x:0:", "lab:x:231100:", "vision:x:77:"]
        assert text.splitlines() == ["alice:x:231001:", *theirs]

    def test_a_name_cannot_break_the_file(self) -> None:
        evil = Identity("x:y\nroot::0:0", None, 231_009, 231_009)
        assert len(passwd_text(evil, "").splitlines()) == 1
        assert passwd_text(evil, "").split(":")[2] == "231009"
