"""To get more than a task is given: keys, capabilities, system calls, devices, processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.engines.api import Identity, Run, TaskRef, Tty
from danlu.engines.local.keeper import linux, seccomp, syscalls
from danlu.spec.job import Stdin
from tests.engines.conformance.talking import heard
from tests.engines.conftest import engine_of, local
from tests.engines.harness import JOB, argv, shell
from tests.engines.local_harness import LocalHarness
from tests.security.conftest import EVE, Attacker, attacker_on, only_as_root

PYTHON = "/usr/bin/python3"  # one that every user may run
KEYS = "cat /proc/keys; echo end-of-keys"


@pytest.fixture
def servers_key() -> str:
    """A key in the session keyring that the server, and so its spawner, was started with."""
    name = f"danlu-test-{os.getpid()}"
    libc = linux._libc
    libc.syscall(250, 1, 0)  # a session keyring of our own
    added = libc.syscall(248, b"user", name.encode(), b"secret", 6, -3)
    if os.uname().machine != "x86_64" or added < 0:
        pytest.skip("this kernel has no keys, or keeps us from them")
    return name


@pytest.mark.parametrize("stdin", [Stdin.NONE, Stdin.TTY])
async def test_the_servers_keys_are_in_no_keyring_of_a_task(
    servers_key: str, attacker: Attacker, stdin: Stdin
) -> None:
    _, log = await attacker.harness.run(shell(KEYS), identity=EVE, stdin=stdin)
    assert "end-of-keys" in log.decode()
    assert servers_key not in log.decode()


@pytest.mark.parametrize("tty", [None, Tty()])
async def test_nor_of_an_exec(servers_key: str, attacker: Attacker, tty: Tty | None) -> None:
    attempt = await attacker.harness.begin(shell("echo ready; exec sleep 1000"), identity=EVE)
    await attacker.harness.printed(attempt, b"ready")
    run = Run(("sh", "-c", KEYS), tty)
    said = await heard(await attacker.harness.engine.exec(TaskRef(attempt, 0, JOB), run))
    await attacker.harness.stop(attempt, 0)
    assert b"end-of-keys" in said
    assert servers_key.encode() not in said


async def test_nor_of_a_container(servers_key: str, contained: Attacker) -> None:
    _, log = await contained.harness.run(shell(KEYS), identity=EVE)
    assert "end-of-keys" in log.decode()
    assert servers_key not in log.decode()


@pytest.mark.parametrize("stdin", [Stdin.NONE, Stdin.TTY])
async def test_no_capability_can_be_gained_by_any_program(attacker: Attacker, stdin: Stdin) -> None:
    _, log = await attacker.harness.run(
        shell("grep -E '^Cap' /proc/self/status"), identity=EVE, stdin=stdin
    )
    assert {line.split()[1] for line in log.decode().splitlines()} == {"0" * 16}


async def test_nor_in_a_container(contained: Attacker) -> None:
    _, log = await contained.harness.run(shell("grep -E '^Cap' /proc/self/status"), identity=EVE)
    assert {line.split()[1] for line in log.decode().splitlines()} == {"0" * 16}


# -- processes ----------------------------------------------------------------------------------

BOMB = """
import os, sys
made = 0
try:
    while made < 2000:
        if os.fork() == 0:
            os.read(int(sys.argv[1]), 1)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print("made", made, flush=True)
"""


@pytest.fixture
async def counted(tmp_path: Path) -> AsyncIterator[Attacker]:
    """A server whose tasks may have a hundred processes."""
    only_as_root()
    harness = LocalHarness(lambda data: local(data, pids=100), tmp_path)
    await harness.start()
    yield attacker_on(harness)
    await harness.close()


async def test_a_fork_bomb_ends_at_the_limit_of_its_own_task(counted: Attacker) -> None:
    abilities = engine_of(counted.harness).abilities
    if "pids" not in abilities.controllers:
        pytest.skip(f"no pids cgroup here: {abilities.cgroup_why_not or abilities.controllers}")
    attempt = await counted.harness.begin(
        argv(PYTHON, "-c", f"{BOMB}\nimport time; time.sleep(1000)", "0"),
        identity=EVE,
        stdin=Stdin.PIPE,
    )
    await counted.harness.printed(attempt, b"made")
    made = int((await counted.harness.output(attempt)).split()[1])
    assert 50 < made < 100
    _, log = await counted.harness.run(shell("echo others go on"), identity=EVE)
    assert log == b"others go on\n"
    await counted.harness.stop(attempt, 0)


@pytest.fixture
async def counted_without_groups(tmp_path: Path) -> AsyncIterator[Attacker]:
    only_as_root()
    harness = LocalHarness(lambda data: local(data, pids=100, cgroups="off"), tmp_path)
    await harness.start()
    yield attacker_on(harness)
    await harness.close()


async def test_nor_does_it_go_on_where_there_are_no_cgroups(
    counted_without_groups: Attacker,
) -> None:
    task, log = await counted_without_groups.harness.run(
        argv(PYTHON, "-c", BOMB, "0"), identity=EVE, stdin=Stdin.PIPE
    )
    assert task.exit_code == 0
    assert int(log.split()[1]) < 100


async def test_a_container_has_a_limit_too(contained: Attacker) -> None:
    _, log = await contained.harness.run(
        shell("cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2> /dev/null"), identity=EVE
    )
    assert 1_000 < int(log.split()[0]) <= 32_768


# -- devices ------------------------------------------------------------------------------------


async def test_a_task_sees_only_the_devices_every_program_needs(attacker: Attacker) -> None:
    _, log = await attacker.harness.run(shell("ls /dev; ls /dev/pts; ls /dev/shm"), identity=EVE)
    usual = {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"}
    assert set(log.decode().split()) - {"infiniband"} == usual | {"tty", "urandom", "zero"}


async def test_the_devices_work_and_none_can_be_added(attacker: Attacker) -> None:
    text = (
        "echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c;"
        "touch /dev/mine; mknod /userhome/disk b 254 0; script -qc 'tty' /dev/null < /dev/null;"
        "echo one > /dev/stdout"
    )
    attacker.home.chmod(0o777)
    for identity in (EVE, Identity("root")):
        _, log = await attacker.harness.run(shell(text), identity=identity, mounts=attacker.mounts)
        said = log.decode()
        assert said.startswith("4\n4\n")
        assert "cannot touch '/dev/mine'" in said
        assert "mknod: /userhome/disk" in said
        assert "/dev/pts/0" in said
        assert said.endswith("one\n")


async def test_a_node_of_the_machines_disk_on_a_volume_cannot_be_opened(
    attacker: Attacker,
) -> None:
    os.mknod(attacker.home / "memory", 0o020666, os.makedev(1, 1))
    os.mknod(attacker.home / "zero", 0o020666, os.makedev(1, 5))
    text = (
        "for f in memory zero; do head -c 1 < /userhome/$f > /dev/null && echo OPENED; done; true"
    )
    _, log = await attacker.harness.run(shell(text), identity=EVE, mounts=attacker.mounts)
    assert log.count(b"ermission denied") == 2
    assert b"1\n" not in log


# -- system calls -------------------------------------------------------------------------------

CALLS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return os.strerror(ctypes.get_errno()) if result < 0 else "done"
for words in sys.argv[1:]:
    print(words.split()[0], call(*(int(word, 0) for word in words.split()[1:])), sep=": ")
"""
DENIED = {
    "mount": "165 0 0 0 0 0",
    "unshare-user": "272 0x10000000",
    "clone-user": "56 0x10000011 0 0 0 0",
    "bpf": "321 0 0 0",
    "add_key": "248 0 0 0 0 0",
    "keyctl-read": "250 11 -3 0 0",
    "keyctl-named": "250 1 4096",
    "perf_event_open": "298 0 0 -1 -1 0",
    "userfaultfd": "323 0",
    "setns": "308 0 0",
    "init_module": "175 0 0 0",
    "personality": "135 0x10000",
    "vsock": "41 40 1 0",
    "open_by_handle_at": "304 -1 0 0",
}
NOT_THERE = {"clone3": "435 0 0", "io_uring_setup": "425 1 0", "future": "900 0"}
ALLOWED = {"getpid": "39", "unix": "41 1 1 0", "same": "135 0xffffffff", "mseal": "462 0 0 0"}


def on_x86() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers of this test are those of x86_64")


@pytest.mark.parametrize("stdin", [Stdin.NONE, Stdin.TTY])
async def test_calls_that_open_the_kernel_are_refused(attacker: Attacker, stdin: Stdin) -> None:
    on_x86()
    words = [f"{name} {rest}" for name, rest in (DENIED | NOT_THERE | ALLOWED).items()]
    _, log = await attacker.harness.run(
        argv(PYTHON, "-c", CALLS, *words), identity=EVE, stdin=stdin
    )
    said = dict(line.strip().split(": ", 1) for line in log.decode().splitlines())
    assert {name: said[name] for name in DENIED} == dict.fromkeys(DENIED, "Operation not permitted")
    assert {said[name] for name in NOT_THERE} == {"Function not implemented"}
    assert said["getpid"] == said["unix"] == said["same"] == "done"


async def test_an_exec_is_refused_them_too(attacker: Attacker) -> None:
    on_x86()
    attempt = await attacker.harness.begin(shell("echo ready; exec sleep 1000"), identity=EVE)
    await attacker.harness.printed(attempt, b"ready")
    run = Run((PYTHON, "-c", CALLS, "bpf 321 0 0 0"))
    said = await heard(await attacker.harness.engine.exec(TaskRef(attempt, 0, JOB), run))
    await attacker.harness.stop(attempt, 0)
    assert said == b"bpf: Operation not permitted\n"


async def test_programs_of_32_bits_are_no_way_around_it() -> None:
    """Their calls have other numbers; the filter knows both."""
    program = seccomp.compile_for("x86_64")
    assert seccomp.decide(program, 0x40000003, syscalls.NUMBERS["i386"]["mount"]) == "EPERM"
    assert seccomp.decide(program, 0x40000003, 1) == "allow"
    assert seccomp.decide(program, 0xC000003E, 0x40000000 + 165) == "ENOSYS", "x32"
    assert seccomp.decide(program, 0xC00000B7, 1) == "ENOSYS", "another machine"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
def test_the_numbers_are_those_of_the_machine(machine: str) -> None:
    """As libseccomp knows them."""
    import ctypes

    try:
        lib = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed: apt-get install libseccomp2")
    resolve = lib.seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    for name, number in seccomp.ARCHITECTURES[machine]:
        for call, expected in syscalls.NUMBERS[name].items():
            found = resolve(number, call.encode())
            assert found in (expected, -102, -101), call  # negative: as one of several


async def test_the_filter_can_be_switched_off(tmp_path: Path) -> None:
    only_as_root()
    on_x86()
    harness = LocalHarness(lambda data: local(data, seccomp="off"), tmp_path)
    await harness.start()
    _, log = await harness.run(argv(PYTHON, "-c", CALLS, "clone3 435 0 0"), identity=EVE)
    await harness.close()
    assert log == b"clone3: Invalid argument\n"


def test_usual_programs_run_under_the_filter(tmp_path: Path) -> None:
    """What research code does: threads, processes, shared memory, sockets, timers."""
    code = """
import asyncio, concurrent.futures, multiprocessing, os, socket, subprocess
from multiprocessing.shared_memory import SharedMemory
from danlu.engines.local.keeper import linux, seccomp

if __name__ == "__main__":
    linux.no_new_privileges()
    seccomp.install(seccomp.compile_for(os.uname().machine))
    assert subprocess.run(["sh", "-c", "ls / | wc -l"], capture_output=True).returncode == 0
    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            assert pool.map(abs, [-1, 2]) == [1, 2]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(abs, range(-3, 1))) == 6
    memory = SharedMemory(create=True, size=1 << 20)
    memory.close()
    memory.unlink()
    a, b = socket.socketpair()
    a.send(b"x")
    assert b.recv(1) == b"x"
    asyncio.run(asyncio.sleep(0.01))
    print("fine")
"""
    file = tmp_path / "program.py"
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
