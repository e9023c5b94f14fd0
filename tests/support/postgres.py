"""A real PostgreSQL server of our own: in a temporary folder, on a Unix socket only, fsync on."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any

import psycopg

PATIENCE = 180  # only so that what is broken fails a test instead of hanging it
HOW_TO_GET_IT = "apt-get install postgresql (its own cluster may stay off)"


def find_binaries() -> str | None:
    """The folder with initdb and postgres, or None."""
    found = shutil.which("initdb")
    if found and os.path.exists(os.path.join(os.path.dirname(found), "postgres")):
        return os.path.dirname(os.path.realpath(found))
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    newest_last = sorted(folders, key=lambda path: int(path.split("/")[4].split(".")[0]))
    return newest_last[-1] if newest_last else None


class PostgresServer:
    """start, stop, restart, kill; `url` leads to an empty database."""

    def __init__(self, binaries: str) -> None:
        self._binaries = binaries
        self._user = _server_user()
        self._databases = 0
        self._process: subprocess.Popen[bytes] | None = None
        # Not pytest's folder: the path of a socket may have about a hundred letters only.
        self.folder = tempfile.mkdtemp(prefix="danlu-pg-")
        self._data = os.path.join(self.folder, "data")
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        command = ["initdb", "-D", self._data, "-U", "danlu", "-A", "trust", "-E", "UTF8"]
        self._run([*command, "--no-locale", "--no-sync"])

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str, folder: str | None = None) -> str:
        return f"postgresql://danlu@/{database}?host={folder or self.folder}"

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run one statement as the server's own admin."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Returns when it answers."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                # After kill() the first try may find children of the old one that still die.
                self._process = self._spawn()
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            time.sleep(0.05)
        raise TimeoutError(f"PostgreSQL did not start: {self.log()[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: orderly, connections are cut. SIGQUIT: at once, recovery at the next start."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def kill(self) -> None:
        """As in a power cut: nothing is said to anybody."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def freeze(self) -> None:
        """It neither answers nor fails."""
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._pids():
            os.kill(pid, signal.SIGCONT)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError), open(f"{self.folder}/log") as file:
            return file.read()
        return ""

    def _pids(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [pid, *(int(child) for child in file.read().split())]

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": self.folder,
            "fsync": "on",
            "shared_buffers": "16MB",
            "max_connections": "50",
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            return subprocess.Popen(
                [os.path.join(self._binaries, "postgres"), "-D", self._data, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **_as(self._user),
            )

    def _run(self, command: list[str]) -> None:
        program = os.path.join(self._binaries, command[0])
        subprocess.run(
            [program, *command[1:]],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            **_as(self._user),
        )


def _server_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def _as(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
