"""A real Slurm that keeps what has ended in a database: MariaDB and slurmdbd, in its own folder."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.support.parts import missing
from tests.support.slurm import NODES, PARTITION, PEOPLE, Slurm
from tests.support.slurm_daemons import PACKAGES, PATH, NotStarted, Site, absent, free_ports

PROGRAMS = ("mariadbd", "mariadb-install-db", "my_print_defaults", "slurmdbd", "sacct", "sacctmgr")
MORE_PACKAGES = ("slurmdbd", "mariadb-server-core", "mariadb-client-core")
USER = "slurm"
FORGOTTEN_AFTER = 2  # seconds: what has ended is then in the database only
# Small, quick to make, and nothing in it has to survive a crash.
MARIADB = (
    "--no-defaults",
    f"--user={USER}",
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--skip-name-resolve",
)


class SlurmWithDatabase(Slurm):
    prefix = "danlu-slurmdb-"

    def __init__(self) -> None:
        super().__init__(
            {PARTITION: NODES},
            PEOPLE,
            AccountingStorageType="accounting_storage/slurmdbd",
            AccountingStorageHost="127.0.0.1",
            MinJobAge=str(FORGOTTEN_AFTER),
        )

    def accounted(self, number: int, field: str) -> str:
        """What the database has of a job, without counting the call."""
        words = ("--noheader", "--parsable2", "--allocations", f"--format={field}")
        return self._uncounted("sacct", *words, f"--jobs={number}").strip()

    def forgotten(self, number: int) -> bool:
        """By the controller."""
        return str(number) not in self._uncounted("squeue", "-h", "-t", "all", "-o", "%A").split()

    def _write(self, site: Site) -> None:
        (port,) = free_ports(1)
        self._settings["AccountingStoragePort"] = str(port)
        self._settings["AccountingStoragePass"] = f"{site.folder}/munge/socket"
        super()._write(site)
        values = {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={site.folder}/munge/socket",
            "DbdHost": site.host,
            "DbdAddr": "127.0.0.1",
            "DbdPort": str(port),
            "SlurmUser": site.slurm_user,
            "DebugLevel": "info",
            "LogFile": f"{site.folder}/log/slurmdbd.log",
            "PidFile": f"{site.folder}/run/slurmdbd.pid",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "localhost",  # by its socket, which the environment names
            "StorageUser": USER,
            "StorageLoc": "accounts",
        }
        conf = site.folder / "slurmdbd.conf"
        conf.touch(mode=0o600)
        conf.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        shutil.chown(conf, USER, USER)  # slurmdbd refuses one that is not its own

    def _start_more(self) -> None:
        folder = self.folder / "db"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        shutil.chown(folder, USER, USER)
        data, door, first = f"--datadir={folder}/data", folder / "socket", folder / "first.sql"
        may = f"CREATE USER {USER}@localhost;\nGRANT ALL ON accounts.* TO {USER}@localhost;\n"
        first.write_text(may)  # a line each
        shutil.chown(first, USER, USER)
        how = ("--auth-root-authentication-method=normal", "--skip-test-db")
        made = subprocess.run(
            ["mariadb-install-db", *MARIADB, data, *how],
            env=self.env, cwd=self.folder, capture_output=True, text=True,
        )  # fmt: skip
        if made.returncode != 0:
            raise NotStarted(f"mariadb-install-db: {made.stdout[-2000:]}{made.stderr[-2000:]}")
        own = ("--skip-networking", f"--socket={door}", f"--init-file={first}")
        paths = (f"--pid-file={folder}/pid", f"--log-error={self.folder}/log/mariadbd.log")
        database = self._daemon(["mariadbd", *MARIADB, data, *own, *paths], "mariadbd", USER)
        self.more.append(database)
        self._until("mariadbd", ready=door.exists, daemons=[database])
        keeper = self._daemon(
            ["slurmdbd", "-D"], "slurmdbd", USER, env={"MYSQL_UNIX_PORT": str(door)}
        )
        self.more.append(keeper)
        self._until("slurmdbd", "mariadbd", ready=self._registers, daemons=[keeper, database])

    def _registers(self) -> bool:
        """Whether the database answers; then it knows this cluster."""
        program = shutil.which("sacctmgr", path=PATH)
        assert program is not None
        words = ("--immediate", "--quiet", "add", "cluster", self._settings["ClusterName"])
        done = subprocess.run([program, *words], env=self.env, capture_output=True, text=True)
        return done.returncode == 0


def real_slurm_with_database() -> SlurmWithDatabase:
    """One that works, or the test says what it lacks."""
    if os.geteuid() != 0:
        missing("Slurm for tests", "run them as root")
    lacking = [*absent(), *(name for name in PROGRAMS if shutil.which(name, path=PATH) is None)]
    if lacking:
        wanted = " ".join((*PACKAGES, *MORE_PACKAGES))
        missing(f"Slurm with a database ({', '.join(lacking)})",
                f"apt-get install --no-install-recommends {wanted}")  # fmt: skip
    return SlurmWithDatabase()
