"""SSH into a task, and into OpenSSH's own sshd on the same machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import asyncssh

from bench import processes
from bench.followers import raise_file_limit
from bench.guard import Member
from bench.measure import Options, in_turns, median, note, percentile, timed
from bench.server import Danlu
from bench.table import Goal, Row

GB = 1_000_000_000
SESSIONS = 200
AT_ONCE = 20  # both refuse too many who have not signed in
CIPHER = "aes128-gcm@openssh.com"  # the faster of OpenSSH's usual ones
OPTIONS = (
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "LogLevel=ERROR",
    "IdentitiesOnly=yes",
    "ControlPath=none",
    "BatchMode=yes",
    f"Ciphers={CIPHER}",
)
ANCHOR = "OpenSSH's sshd"
SSHD = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
MaxStartups 100
Subsystem sftp internal-sftp
"""


class Place:
    """Somewhere to go with ssh."""

    def __init__(self, user: str, port: int, key: Path, folder: str) -> None:
        self.user = user
        self.port = port
        self.key = key
        self.folder = folder  # for files, with a slash

    @property
    def options(self) -> list[str]:
        return [word for each in OPTIONS for word in ("-o", each)] + ["-i", str(self.key)]

    def ssh(self, *words: str) -> list[str]:
        return ["ssh", *self.options, "-p", str(self.port), f"{self.user}@127.0.0.1", *words]

    def copy(self, source: str, target: str) -> None:
        """`:name` is a file there."""
        words = [
            f"{self.user}@127.0.0.1:{self.folder}{word[1:]}" if word[0] == ":" else word
            for word in (source, target)
        ]
        subprocess.run(["scp", "-q", *self.options, "-P", str(self.port), *words], check=True)


def rows(options: Options) -> Iterator[Row]:
    if shutil.which("ssh") is None:
        note("there is no ssh; as root on Debian: apt-get install openssh-client")
        return
    with ExitStack() as held:
        danlu = held.enter_context(Danlu(8, f'[server]\nssh = "127.0.0.1:{free_port()}"\n'))
        key = danlu.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        places = {"danlu": task_of(danlu, key)}
        anchor = sshd(danlu.folder, key, held)
        if anchor is not None:
            places["anchor"] = anchor
        yield from _copies(options, danlu.folder, places)
        yield from _keystrokes(options, places)
        yield from _idle(options, danlu, places)


def task_of(danlu: Danlu, key: Path) -> Place:
    """A running job of somebody who has this key."""
    with danlu.client() as admin:
        alice = Member(danlu, admin, "alice")
        port = admin.server()["ssh_port"]
    with alice.client() as client:
        client.people.add_ssh_key(key.with_suffix(".pub").read_text())
        job = client.submit({"name": "box", "command": "sleep 100000", "cpus": 1})["jobs"][0]
        while client.show(job["id"])["state"] != "running":
            time.sleep(0.05)
    return Place(f"alice+{job['ref'].rpartition('/')[2]}", port, key, "")


def sshd(folder: Path, key: Path, held: ExitStack) -> Place | None:
    program = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if program is None:
        note("there is no sshd to compare with; as root on Debian: apt-get install openssh-server")
        return None
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port, files = free_port(), folder / "sshd"
    files.mkdir()
    shutil.copy(key.with_suffix(".pub"), files)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", files / "host"], check=True
    )
    (files / "config").write_text(SSHD.format(port=port, folder=files))
    words = [program, "-D", "-e", "-f", files / "config"]
    process = processes.start(words, files / "log", os.environ, files)
    held.callback(processes.stop, [process])
    me = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
    place = Place(me, port, key, f"{files}/")
    while subprocess.run(place.ssh("true"), capture_output=True).returncode:
        if process.poll() is not None:
            note(f"sshd did not start: {(files / 'log').read_text()[-500:]}")
            return None
        time.sleep(0.1)
    return place


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


# -- scp -------------------------------------------------------------------------------------------


def _copies(options: Options, folder: Path, places: dict[str, Place]) -> Iterator[Row]:
    size = GB // 10 if options.quick else GB
    large, back = folder / "large", folder / "back"
    with large.open("wb") as file:
        for _ in range(size // (1 << 20) + 1):
            file.write(os.urandom(1 << 20))
    os.truncate(large, size)
    rounds = options.times(5, 2)
    there = {name: timed(_copying(place, str(large), ":sent")) for name, place in places.items()}
    back_again = {
        name: timed(_copying(place, ":sent", str(back))) for name, place in places.items()
    }
    goal = Goal("at least", 0.8, "x")
    for what, subjects in (("to a task", there), ("from a task", back_again)):
        found = in_turns(rounds, subjects)
        rates = {name: size / 1e6 / median(times) for name, times in found.items()}
        yield Row(
            f"scp of {size / 1e9:g} GB {what}, MB/s",
            rates["danlu"],
            rates.get("anchor"),
            ANCHOR,
            goal,
        )
    for path in (large, back):
        path.unlink()


def _copying(place: Place, source: str, target: str) -> Callable[[], None]:
    return lambda: place.copy(source, target)


# -- keystrokes ------------------------------------------------------------------------------------


def _keystrokes(options: Options, places: dict[str, Place]) -> Iterator[Row]:
    count = options.times(300, 100)
    with ExitStack() as held:
        shells = {name: held.enter_context(Echo(place)) for name, place in places.items()}
        found = in_turns(count, {name: timed(shell.key) for name, shell in shells.items()}, 20)
    late = {name: percentile(times, 0.95) * 1000 for name, times in found.items()}
    yield Row("ssh, a key and its echo, p95, ms", late["danlu"], late.get("anchor"), ANCHOR)


class Echo:
    """A terminal that shows what is typed."""

    def __init__(self, place: Place) -> None:
        words = place.ssh("echo ready; exec cat")
        words.insert(1, "-tt")
        self._ssh = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._read(b"ready\r\n")

    def __enter__(self) -> Echo:
        return self

    def __exit__(self, *_: object) -> None:
        self._ssh.kill()
        self._ssh.wait()

    def key(self) -> None:
        assert self._ssh.stdin is not None
        os.write(self._ssh.stdin.fileno(), b"x")
        self._read(b"x")

    def _read(self, wanted: bytes) -> None:
        assert self._ssh.stdout is not None
        data = b""
        while wanted not in data:
            piece = os.read(self._ssh.stdout.fileno(), 4096)
            if not piece:
                raise RuntimeError(f"ssh ended: {data!r}")
            data += piece


# -- idle sessions ---------------------------------------------------------------------------------


def _idle(options: Options, danlu: Danlu, places: dict[str, Place]) -> Iterator[Row]:
    count = SESSIONS // 4 if options.quick else SESSIONS
    raise_file_limit(4000)
    found: dict[str, float] = {}
    for name, place in places.items():
        pids = partial(_gateway_and_keepers, danlu) if name == "danlu" else _sshds
        found[name] = asyncio.run(_memory_of_each(place, count, pids)) * 1000
    what = f"{count} idle sessions: memory of each (PSS), KB"
    yield Row(what, found["danlu"], found.get("anchor"), ANCHOR)


async def _memory_of_each(place: Place, count: int, pids: Callable[[], list[int]]) -> float:
    """In MB, of the processes that serve them; not of the shells."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def session() -> tuple[asyncssh.SSHClientConnection, object]:
        async with turns:
            conn = await asyncssh.connect(
                "127.0.0.1",
                place.port,
                username=place.user,
                client_keys=[str(place.key)],
                known_hosts=None,
                encryption_algs=[CIPHER],
                config=[],
            )
            process = await conn.create_process("exec cat", term_type="xterm")
            process.stdin.write("x\n")
            await process.stdout.readline()
            return conn, process

    first = await session()
    before = processes.memory(pids())[1]
    sessions = await asyncio.gather(*(session() for _ in range(count)))
    after = processes.memory(pids())[1]
    for conn, _ in (first, *sessions):
        conn.abort()
    return (after - before) / count


def _gateway_and_keepers(danlu: Danlu) -> list[int]:
    gateway = int((danlu.folder / "data/gateway/lock").read_text())
    keepers = danlu.keepers()
    # The children of a keeper that serve sessions have its name; the shells below have their own.
    serving = processes.named("danlu-keeper", [c for k in keepers for c in processes.children(k)])
    return [gateway, *keepers, *serving]


def _sshds() -> list[int]:
    named = processes.named("sshd", processes.all_pids())
    return named + processes.named("sshd-session", processes.all_pids())
