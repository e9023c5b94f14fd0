"""Real Docker and Podman of our own: in a temporary folder, on a socket of their own.

Knows nothing of tests: benchmarks use it too.
"""

from __future__ import annotations

import abc
import contextlib
import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from danlu.engines.api import HostMount
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.wire import Away, Failed

IMAGE = "danlu-test:1"
BUSYBOX = "danlu-busybox:1"
HOST_PROGRAMS = ("usr", "bin", "sbin", "lib", "lib64", "lib32")
PATIENCE = 180


class ContainerDaemon(abc.ABC):
    """start, stop, kill; `socket` is where it listens."""

    kind: Literal["docker", "podman"]

    def __init__(self, *options: str) -> None:
        # Not pytest's folder: the path of a socket may have about a hundred letters only.
        self.folder = Path(tempfile.mkdtemp(prefix=f"danlu-{self.kind}-"))
        self.folder.chmod(0o755)
        self.socket = str(self.folder / "api.sock")
        self._options = options
        self.env: dict[str, str] = {}
        self.user: int | None = None  # whom it runs as; none: us
        self._process: subprocess.Popen[bytes] | None = None

    @abc.abstractmethod
    def command(self) -> list[str]: ...

    @abc.abstractmethod
    def client_command(self) -> list[str]:
        """The runtime's own command line, as a person would use it."""

    def start(self) -> None:
        """Returns when it answers."""
        Path(self.socket).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command(), *self._options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ | {"TMPDIR": str(self.folder)} | self.env,
                start_new_session=True,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(Away, Failed):
                self.api().ping()
                return
            time.sleep(0.02)
        raise RuntimeError(f"{self.kind} did not start: {self.log()[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.stop(how)
        self.start()

    def remove(self) -> None:
        with contextlib.suppress(Away, Failed):
            api = self.api()
            for each in api.wire.call("GET", "/containers/json?all=true"):
                api.remove(each["Id"])
        self.stop()
        _end_helpers(str(self.folder))
        _unmount_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def api(self) -> Daemon:
        return Daemon(self.kind, self.socket, PATIENCE)

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "log").read_text(errors="replace")
        return ""

    @abc.abstractmethod
    def import_image(self, name: str, files: bytes) -> None: ...

    def has_image(self, name: str) -> bool:
        return self.api().image(name) is not None

    def drop_image(self, name: str) -> None:
        with contextlib.suppress(Failed):
            self.api().wire.call("DELETE", f"/images/{name}?force=true")

    def client(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        env = os.environ | {"HOME": str(self.folder), **self.env, **more.pop("env", {})}
        timeout = more.pop("timeout", PATIENCE)
        return subprocess.run(
            [*self.client_command(), *words],
            check=False, capture_output=True, timeout=timeout, env=env, **more,
        )  # fmt: skip


class DockerDaemon(ContainerDaemon):
    kind: Literal["docker", "podman"] = "docker"

    def command(self) -> list[str]:
        folder = self.folder
        return [
            "dockerd",
            "--iptables=false",
            "--bridge=none",
            f"--host=unix://{self.socket}",
            f"--data-root={folder}/data",
            f"--exec-root={folder}/exec",
            f"--pidfile={folder}/pid",
        ]

    def client_command(self) -> list[str]:
        # The package's own, wherever another of the same name may stand before it.
        path = "/usr/bin/docker" if os.path.exists("/usr/bin/docker") else "docker"
        return [path, "--host", f"unix://{self.socket}"]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        super().stop(how)
        # Killed, it leaves them behind; the next one would wait for a process that is gone.
        for left in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / left).unlink(missing_ok=True)

    def import_image(self, name: str, files: bytes) -> None:
        repository, _, tag = name.rpartition(":")
        api = self.api()
        list(
            api.wire.stream(
                "POST",
                f"/images/create?fromSrc=-&repo={repository}&tag={tag}",
                files,
                {"Content-Type": "application/x-tar"},
            )
        )


class PodmanDaemon(ContainerDaemon):
    kind: Literal["docker", "podman"] = "podman"

    def __init__(self, *options: str) -> None:
        super().__init__(*options)
        # Podmans of one user share their locks in /dev/shm, and each that starts with a new root
        # resets them: containers of the others then lose their storage.
        config = self.folder / "containers.conf"
        config.write_text(f'[engine]\nlock_type = "file"\ntmp_dir = "{self.folder}/libpod/tmp"\n')
        self.env = {"CONTAINERS_CONF": str(config)}

    def client_command(self) -> list[str]:
        return [
            "podman",
            "--runtime=runc",
            f"--root={self.folder}/root",
            f"--runroot={self.folder}/runroot",
            "--cgroup-manager=cgroupfs",
            "--events-backend=file",
        ]

    def command(self) -> list[str]:
        return [*self.client_command(), "system", "service", "--time=0", f"unix://{self.socket}"]

    def import_image(self, name: str, files: bytes) -> None:
        self.api().wire.call(
            "POST",
            f"/v4.0.0/libpod/images/import?reference=localhost/{name}",
            files,
            {"Content-Type": "application/x-tar"},
        )


class RootlessPodman(PodmanDaemon):
    """As a user without any rights, who has no other uids to hand out either."""

    def __init__(self, user: int) -> None:
        super().__init__()
        self.user = user
        os.chown(self.folder, user, user)
        self.env |= {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        super().stop(how)
        with contextlib.suppress(OSError, ValueError):
            # It holds the user namespace for as long as the user is logged in.
            pid = int((self.folder / "libpod/tmp/pause.pid").read_text())
            os.kill(pid, signal.SIGKILL)


def bare_image() -> bytes:
    """Nothing but places for the machine's own programs, which a test brings as volumes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in HOST_PROGRAMS:
            here = Path("/") / name
            if here.is_symlink():
                link = tarfile.TarInfo(name)
                link.type, link.linkname = tarfile.SYMTYPE, str(here.readlink())
                tar.addfile(link)
        for name in ("etc", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
    return out.getvalue()


def busybox_image(program: Path) -> bytes:
    """A small whole system: static busybox under all its names."""
    names = subprocess.run([program, "--list"], capture_output=True, check=True, text=True).stdout
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in ("bin", "etc", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        entry = tarfile.TarInfo("bin/busybox")
        entry.size, entry.mode = program.stat().st_size, 0o755
        with program.open("rb") as file:
            tar.addfile(entry, file)
        for name in set(names.split()) - {"busybox"}:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return out.getvalue()


def host_programs(*more: str) -> tuple[HostMount, ...]:
    """The machine's programs as volumes, read-only."""
    folders = [f"/{name}" for name in HOST_PROGRAMS]
    real = [path for path in folders if os.path.isdir(path) and not os.path.islink(path)]
    outside = [path for path in more if not f"{path}/".startswith(tuple(f"{p}/" for p in real))]
    return tuple(
        HostMount(f"host{number}", path, path, read_only=True)
        for number, path in enumerate((*real, *dict.fromkeys(outside)))
    )


def _end_helpers(folder: str) -> None:
    """What a daemon that was killed has started, told by our folder in its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                if any(f"{folder}/".encode() in word for word in words):
                    os.kill(int(name), signal.SIGKILL)


def _unmount_below(folder: Path) -> None:
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4] for line in file]
    for point in sorted(points, reverse=True):
        if point.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", point], check=False, stderr=subprocess.DEVNULL)
