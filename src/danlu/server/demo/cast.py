"""The people, nodes and jobs of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from danlu.engines.local.config import NodeConfig
from danlu.sched.api import WHOLE, Quota, Quotas
from danlu.spec.units import G

GPUS = 5
MODEL = "RTX3090"
GPU_MEMORY = 24 * G
NODES = tuple(NodeConfig(f"n{number}", 64, 256 * G, ((MODEL, GPUS),)) for number in range(1, 5))
SICK = ("n4", 0)
OUTSIDE = ("n3", 4)  # used by somebody who bypasses the platform


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    full_name: str
    group: str
    leads: bool = False


MEMBERS = (
    Member("chenyu", "陈宇", "vision", leads=True),
    Member("alice", "Alice Novak", "vision"),
    Member("zhangyue", "张悦", "vision"),
    Member("liwei", "李薇", "language", leads=True),
    Member("bob", "Bob Keller", "language"),
    Member("wangsi", "王思", "language"),
)
GROUPS = {"vision": "Computer vision", "language": "Language models"}
SHOWN = "zhangyue"  # the member to sign in as
LEADER = "chenyu"

QUOTAS = Quotas(
    users={"wangsi": Quota(gpus=1 * WHOLE)},
    groups={"vision": Quota(gpus=14 * WHOLE), "language": Quota(gpus=12 * WHOLE)},
    user=Quota(gpus=8 * WHOLE),
)


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of job: what it trains, how busy it keeps its GPUs and how much memory it takes."""

    name: str
    owner: str
    gpus: int = 1
    busy: int = 92  # percent
    memory: int = 18  # gigabytes on each GPU

    @property
    def group(self) -> str:
        return next(member.group for member in MEMBERS if member.name == self.owner)


# Jobs of the past, and those that keep coming while the demo runs.
USUAL = (
    Work("resnet-abl", "alice", 2, 96, 21),
    Work("mae-pre", "alice", 2, 91, 22),
    Work("vit-base", "zhangyue", 1, 88, 19),
    Work("swin-abl", "zhangyue", 2, 76, 17),
    Work("dfm", "chenyu", 1, 72, 20),
    Work("seg", "chenyu", 1, 61, 14),
    Work("clip-zh", "liwei", 4, 98, 23),
    Work("bert", "liwei", 2, 84, 15),
    Work("tune", "bob", 1, 55, 9),
    Work("rag-index", "bob", 1, 42, 12),
    Work("ppo", "wangsi", 1, 44, 8),
)


def request(work: Work, seconds: float, done: float = 0.0, **more: Any) -> dict[str, Any]:
    """The job as its owner would submit it. `done`: how much of it has already run."""
    command = f"sh $DANLU_GDATA/demo/train {work.name} {seconds:.0f}"
    return {
        "name": work.name,
        "command": command + (f" {done:.0f}" if done else ""),
        "gpus": f"{work.gpus}:{MODEL}",
        "group": work.group,
        "time_limit": round(seconds * 1.25) + 60,
        "env": {"DEMO_BUSY": str(work.busy), "DEMO_MEMORY": str(work.memory)},
        **more,
    }
