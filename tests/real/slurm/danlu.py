"""A real Danlu server on the real Slurm of these tests: its people are Slurm's people."""

from __future__ import annotations

from pathlib import Path

from tests.real.slurm.harness import lend_programs
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

[volumes.user]
source = "{homes}"

[volumes.gdata]
source = "{homes}/gdata"

"""


def config_of(slurm: Slurm, who: Account, more: str = "") -> str:
    shared, homes = slurm.shared / "danlu", slurm.shared / "homes"
    for folder, mode in ((shared, 0o1777), (homes, 0o755), (homes / "gdata", 0o1777)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    text = CONFIG.format(
        shared=shared,
        homes=homes,
        bin=slurm.folder / "bin",
        conf=slurm.conf,
        partition=PARTITION,
        model=MODEL,
    )
    people = {"admin": who} | {each.name: each for each in slurm.people.values() if each != who}
    for name, each in people.items():
        text += f"[users.{name}]\nuid = {each.uid}\ngid = {each.gid}\n"
        text += f"groups = {list(each.groups)}\n\n"
    return text + more


def server_on(slurm: Slurm, data: Path, who: Account, more: str = "") -> DanluServer:
    config = config_of(slurm, who, more)
    # Homes are in it, and the nodes have no other view of them than the shared folder's.
    data.mkdir(parents=True)
    data.chmod(0o711)
    lend_programs(slurm, slurm.shared / "danlu")
    server = DanluServer(data, config, extra_env={"PATH": slurm.env["PATH"]})
    return server.start()
