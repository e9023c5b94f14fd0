"""What a task in a container sees, owns and may use."""

from __future__ import annotations

import os
import shlex
import shutil

import pytest

from danlu.engines.api import HostMount, Identity, Run, TaskRef, Tty
from danlu.engines.local.container.plan import container_name
from danlu.engines.peers import ports_needed
from danlu.spec.job import GpuRequest, Resources, Stdin
from tests.containers import harnesses
from tests.engines.conformance.talking import heard
from tests.engines.harness import JOB, EngineHarness, argv, eventually, shell, token
from tests.support.containers import ContainerDaemon
from tests.support.parts import need
from tests.support.processes import processes_with

ALICE = Identity("alice", "lab", 23456, 23456, (23500,), (("lab", 23500),))


@pytest.fixture(params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


def home(harness: EngineHarness) -> HostMount:
    folder = harness.outside / "alice"
    folder.mkdir(exist_ok=True)
    os.chown(folder, 23456, 23456)
    return HostMount("userhome", str(folder), "/userhome")


async def test_a_file_made_in_userhome_belongs_to_its_user_on_the_host(
    harness: EngineHarness,
) -> None:
    mount = home(harness)
    _, log = await harness.run(
        shell("echo mine > /userhome/file; mkdir -p ~/a/b; id -u; id -G; pwd; echo $HOME"),
        identity=ALICE,
        mounts=(mount,),
    )
    assert log == b"23456\n23456 23500\n/userhome\n/userhome\n"
    for name in ("file", "a", "a/b"):
        found = (harness.outside / "alice" / name).stat()
        assert (found.st_uid, found.st_gid) == (23456, 23456)


async def test_its_user_and_groups_have_names(harness: EngineHarness) -> None:
    _, log = await harness.run(shell("id -un; id -Gn; whoami"), identity=ALICE)
    assert log == b"alice\nalice lab\nalice\n"


async def test_it_has_no_rights_that_its_user_has_not(harness: EngineHarness) -> None:
    text = "grep -E 'Cap(Prm|Eff)|NoNewPrivs|Seccomp:' /proc/self/status"
    for identity in (ALICE, Identity("root")):
        _, log = await harness.run(shell(text), identity=identity)
        values = dict(line.split(":", 1) for line in log.decode().splitlines())
        assert int(values["CapPrm"], 16) == 0
        assert int(values["CapEff"], 16) == 0
        assert int(values["NoNewPrivs"]) == 1
        assert int(values["Seccomp"]) == 2, "the runtime's filter of system calls"


async def test_shared_memory_has_the_size_asked_for(harness: EngineHarness) -> None:
    resources = Resources(GpuRequest(), 1.0, 1 << 30, 48 << 20)
    _, log = await harness.run(shell("df -k /dev/shm | tail -1"), resources=resources)
    assert int(log.split()[1]) == 48 << 10


async def test_a_full_shared_memory_is_told_of_where_the_task_failed(
    harness: EngineHarness,
) -> None:
    resources = Resources(GpuRequest(), 1.0, 1 << 30, 1 << 20)
    fill = "head -c 2M /dev/zero > /dev/shm/x 2> /dev/null"
    task, _ = await harness.run(shell(f"{fill}; exit 3"), resources=resources)
    assert (task.exit_code, task.hint) == (3, "shared_memory_full")
    task, _ = await harness.run(shell(f"{fill}; exit 0"), resources=resources)
    assert (task.exit_code, task.hint) == (0, "")


async def test_over_its_memory_limit_it_ends_and_is_told_why(harness: EngineHarness) -> None:
    text = "import sys; print('begun', flush=True); x = b'1' * (400 << 20); print('not here')"
    resources = Resources(GpuRequest(), 1.0, 96 << 20, 1 << 20)
    task, log = await harness.run(argv("/usr/bin/python3", "-c", text), resources=resources)
    assert log == b"begun\n"
    assert (task.signal, task.hint) == (9, "out_of_memory")


async def test_the_cpu_limit_is_set(harness: EngineHarness) -> None:
    resources = Resources(GpuRequest(), 0.5, 1 << 30, 1 << 20)
    folders = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max"
    _, log = await harness.run(
        shell(f"cat {folders} 2>/dev/null | head -1"),
        resources=resources,
    )
    assert log.split()[:1] == [b"50000"]


async def test_volumes_can_be_read_only_and_nothing_else_of_the_machine_is_seen(
    harness: EngineHarness,
) -> None:
    data = harness.outside / "data"
    data.mkdir()
    (data / "set").write_text("1")
    _, log = await harness.run(
        shell(
            "cat /mnt/data/set; touch /mnt/data/x || echo refused;"
            f"test -e {shlex.quote(__file__)} || echo unseen"
        ),
        mounts=(HostMount("data", str(data), "/mnt/data", read_only=True),),
    )
    assert log.startswith(b"1")
    assert b"refused\n" in log
    assert log.endswith(b"unseen\n")
    assert not (data / "x").exists()


async def test_a_mount_point_that_a_read_only_volume_lacks_is_made_beside_it(
    harness: EngineHarness,
) -> None:
    data = harness.outside / "data"
    for name in ("gdata/a/kept", "gdata/b", "new"):
        (data / name).mkdir(parents=True)
    (data / "new/file").write_text("new\n")
    (data / "gdata/a/away").symlink_to("/nowhere")
    text = "ls -1 /gdata /gdata/a /gdata/a/kept; cat /gdata/a/x/new/file; readlink /gdata/a/away;"
    for path in ("", "/a", "/a/x", "/a/kept", "/a/x/new"):
        text += f"touch /gdata{path}/made 2> /dev/null || echo refused;"
    mounts = (
        HostMount("gdata", str(data / "gdata"), "/gdata", read_only=True),
        HostMount("new", str(data / "new"), "/gdata/a/x/new", read_only=True),
    )
    for identity in (ALICE, Identity("root")):
        _, log = await harness.run(shell(text), identity=identity, mounts=mounts)
        listed = "/gdata: a b /gdata/a: away kept x /gdata/a/kept: new /nowhere"
        assert log.decode().split() == listed.split() + ["refused"] * 5
    assert sorted(path.name for path in data.rglob("*")) == sorted(
        ["gdata", "new", "file", "a", "b", "kept", "away"]
    )


async def test_a_volume_that_became_a_link_is_refused(harness: EngineHarness) -> None:
    (harness.outside / "link").symlink_to("/etc")
    task, log = await harness.run(
        argv("true"), mounts=(HostMount("v", str(harness.outside / "link"), "/mnt/v"),)
    )
    assert (task.exit_code, task.hint) == (125, "launch_failed")
    assert b"symbolic link" in log


async def test_two_containers_of_a_gang_reach_each_other(harness: EngineHarness) -> None:
    launch = harness.launch(argv("true"), count=2)
    ports = [
        await harness.engine.ports.lease("ports", harness.node, ports_needed(task, 2))
        for task in launch.tasks
    ]
    text = """
import os, socket
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    with socket.create_server(address) as server:
        peer, _ = server.accept()
        peer.sendall(b"hello from 0")
else:
    while True:
        try:
            print(socket.create_connection(address).recv(99).decode())
            break
        except ConnectionRefusedError:
            pass
"""
    attempt = await harness.begin(argv("/usr/bin/python3", "-c", text), count=2, ports=ports)
    tasks = await harness.ended(attempt)
    assert [task.exit_code for task in tasks] == [0, 0]
    assert await harness.output(attempt, 1) == b"hello from 0\n"


async def test_exec_and_terminals_belong_to_the_user_too(harness: EngineHarness) -> None:
    attempt = await harness.begin(argv("sleep", "600"), identity=ALICE)
    ref = TaskRef(attempt, 0, JOB)
    duplex = await harness.engine.exec(
        ref, Run(("sh", "-c", "id -un; echo through > $(tty); stty size"), Tty(40, 100))
    )
    assert await heard(duplex) == b"alice\r\nthrough\r\n40 100\r\n"
    await harness.stop(attempt, 0)


async def test_an_image_without_any_program_can_be_entered(
    harness: EngineHarness, daemon: ContainerDaemon
) -> None:
    """The task's own static program is all there is; what is missing is said by name."""
    shutil.copy(need("busybox", "busybox-static"), harness.outside / "busybox")
    harness.every = {"image": harness.every["image"]}
    mount = HostMount("box", str(harness.outside), "/box")
    attempt = await harness.begin(argv("/box/busybox", "sleep", "600"), mounts=(mount,))
    ref = TaskRef(attempt, 0, JOB)
    duplex = await harness.engine.exec(ref, Run(("/box/busybox", "ls", "/box")))
    assert b"busybox\n" in await heard(duplex)
    missing = await harness.engine.exec(ref, Run(("bash",)))
    assert b"bash" in await heard(missing)
    assert await missing.exit_code() == 127
    await harness.stop(attempt, 0)
    task, log = await harness.run(shell("echo never"), mounts=(mount,))
    assert (task.exit_code, task.hint) == (127, "command_not_found")
    assert b"shell" in log


async def test_the_images_own_variables_are_kept_and_the_machines_are_not(
    harness: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    _, log = await harness.run(argv("env"), env={"MINE": "1"})
    names = {line.partition(b"=")[0] for line in log.splitlines()}
    assert {b"PATH", b"HOME", b"USER", b"SHELL", b"MINE"} <= names
    assert b"LC_ALL" not in names


async def test_the_runtime_never_learns_a_secret(
    harness: EngineHarness, daemon: ContainerDaemon
) -> None:
    attempt = await harness.begin(
        shell("echo ready; sleep 600"), secrets={"KEY": "s3cr3t"}, env={"PLAIN": "v1"}
    )
    await harness.printed(attempt, b"ready")
    found = str(daemon.api().look(container_name(attempt, 0)))
    assert "s3cr3t" not in found
    await harness.stop(attempt, 0)


async def test_orphans_are_reaped_and_end_with_the_container(harness: EngineHarness) -> None:
    name = token()
    text = f"for i in 1 2 3; do (sh -c 'exec true' &); done; (sleep {name} &); sleep 0.3; ps ax"
    _, log = await harness.run(shell(text))
    assert b"defunct" not in log
    await eventually(lambda: not processes_with(name))


async def test_nothing_is_left_behind(harness: EngineHarness, daemon: ContainerDaemon) -> None:
    attempts = [await harness.begin(argv("true"), count=2) for _ in range(2)]
    for attempt in attempts:
        await harness.ended(attempt)
        await harness.engine.forget(attempt)
    await harnesses.no_containers(daemon)


async def test_input_from_a_terminal(harness: EngineHarness) -> None:
    attempt = await harness.begin(shell("read x; echo got $x"), stdin=Stdin.TTY)
    attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
    await attached.send(b"word\n")
    await harness.ended(attempt)
    assert b"got word\r\n" in await harness.output(attempt)
