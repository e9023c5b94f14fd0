"""A real Danlu server on the real Slurm of these tests: its admin is one of Slurm's people."""

from __future__ import annotations

from pathlib import Path

from tests.support.accounts import Account
from tests.support.server import DanluServer
from tests.support.slurm import MODEL, PARTITION, Slurm

CONFIG = """\
[engines.slurm]
kind = "slurm"
shared = "{shared}"
bin = "{bin}"
conf = "{conf}"
cycle = 0.5
lost_after = 2.0
partitions = {{ default = "{partition}" }}
models = {{ RTX3090 = "{model}" }}

[users.admin]
uid = {uid}
gid = {gid}
groups = [{groups}]
"""


def config_of(slurm: Slurm, who: Account, more: str = "") -> str:
    shared = slurm.shared / "danlu"
    shared.mkdir(exist_ok=True)
    shared.chmod(0o1777)
    text = CONFIG.format(
        shared=shared,
        bin=slurm.folder / "bin",
        conf=slurm.conf,
        partition=PARTITION,
        model=MODEL,
        uid=who.uid,
        gid=who.gid,
        groups=", ".join(map(str, who.groups)),
    )
    return text + more


def server_on(slurm: Slurm, data: Path, who: Account, more: str = "") -> DanluServer:
    server = DanluServer(data, config_of(slurm, who, more), extra_env={"PATH": slurm.env["PATH"]})
    return server.start()
