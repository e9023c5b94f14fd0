"""What Slurm's commands print is read as it is meant, also where people chose the words."""

from __future__ import annotations

import pytest

from danlu.engines.api import InDoubt, Refused, Unreachable
from danlu.engines.slurm import fields, inventory, queue
from danlu.engines.slurm.commands import submission_error

NODE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=2 CPUEfctv=8 CPUTot=8 CPULoad=0.31 "
    "AvailableFeatures=fast,ib ActiveFeatures=fast,ib Gres=gpu:3090:5(S:0) GresDrain=N/A "
    "GresUsed=gpu:3090:2(IDX:0-1) NodeAddr=10.0.0.1 NodeHostName=n1 Port=6818 Version=22.05.8 "
    "OS=Linux 6.1.0-13-amd64 #1 SMP Debian  RealMemory=16000 AllocMem=4000 FreeMem=9000 Sockets=8 "
    "Boards=1 State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
    "Partitions=makkapakka,all  BootTime=2026-11-10T08:00:00 SlurmdStartTime=2026-11-17T08:00:00 "
    "LastBusyTime=2026-11-17T09:00:00 CfgTRES=cpu=8,mem=16000M,billing=8 AllocTRES=cpu=2,mem=4000M "
    "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0{reason}"
)


def row(word: str, **values: str) -> str:
    cells = {
        "id": "12",
        "number": "12",
        "state": "RUNNING",
        "reason": "None",
        "user": "alice",
        "uid": "2001",
        "partition": "all",
        "cpus": "4",
        "memory": "4000M",
        "gres": "gres:gpu:3090:2",
        "count": "2",
        "starts": "2026-11-17T08:00:00",
        "ends": "2026-11-17T20:00:00",
        "limit": "12:00:00",
        "nodes": "n[1-2]",
        "comment": "(null)",
        "name": "train",
    }
    return "\x1f".join((word, *(cells | values).values()))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3,7],login", ["n1", "n2", "n3", "n7", "login"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("(null)", []),
        ("", []),
    ],
)
def test_lists_of_hosts_are_expanded(text: str, names: list[str]) -> None:
    assert list(fields.hosts(text)) == names


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("UNLIMITED", None),
        ("30", 1800),
        ("1:30", 90),
        ("2:00:00", 7200),
        ("1-00:00:00", 86400),
        ("1-12", 129600),
    ],
)
def test_times_are_read_as_slurm_writes_them(text: str, seconds: float | None) -> None:
    assert fields.seconds(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "0-00:01:00"), (61, "0-00:02:00"), (90_000, "1-01:00:00")]
)
def test_a_time_limit_is_never_shorter_than_asked_for(seconds: float, text: str) -> None:
    assert fields.time_limit(seconds) == text


def test_a_node_is_read_with_its_gpus_and_partitions() -> None:
    (node,) = inventory.nodes(NODE.format(state="MIXED", reason=""))
    info = node.info
    assert (info.name, info.cpus, info.memory, info.address) == ("n1", 8, 16000 << 20, "10.0.0.1")
    assert [(gpu.index, gpu.model) for gpu in info.gpus] == [(i, "3090") for i in range(5)]
    assert info.partitions == ("makkapakka", "all")
    assert info.labels == ("fast", "ib")
    assert (info.up, info.note) == (True, "")
    assert node.memory_used == 7000 << 20


@pytest.mark.parametrize(
    "state", ["DOWN*+NOT_RESPONDING", "IDLE+DRAIN", "MIXED+DRAIN", "DOWN", "IDLE*"]
)
def test_a_node_that_is_out_says_why_and_since_when(state: str) -> None:
    reason = " Reason=fan is broken [root@2026-11-17T07:00:00]"
    (node,) = inventory.nodes(NODE.format(state=state, reason=reason))
    assert not node.info.up
    assert node.info.note == f"{state}: fan is broken"
    assert (node.by, node.since) == ("root", "2026-11-17T07:00:00")


@pytest.mark.parametrize(
    "state", ["IDLE", "ALLOCATED", "IDLE+PLANNED", "IDLE~", "IDLE+POWERED_DOWN"]
)
def test_a_node_that_slurm_can_use_is_up(state: str) -> None:
    assert inventory.is_up(state)


def test_a_job_is_read_with_its_nodes_and_gpus() -> None:
    (entry,) = queue.read(row("w", comment="danlu:lab:0190-abc"), "w", {})
    assert (entry.id, entry.user, entry.uid, entry.gpus) == ("12", "alice", 2001, 2)
    assert entry.nodes == ("n1", "n2")
    assert (entry.installation, entry.attempt) == ("lab", "0190-abc")
    assert entry.active and not entry.over


def test_a_job_without_a_time_limit_has_no_end_though_slurm_names_one() -> None:
    (limited,) = queue.read(row("w"), "w", {})
    assert limited.ends is not None
    for limit in ("365-00:00:00", "UNLIMITED"):
        (entry,) = queue.read(row("w", limit=limit, ends="2027-11-17T08:00:00"), "w", {})
        assert entry.ends is None, limit


def test_a_row_that_is_still_the_same_is_read_once() -> None:
    rows: queue.Rows = {}
    first = queue.read(row("w") + "\n" + row("w", id="13", number="13"), "w", rows)
    assert len(rows) == 2
    second = queue.read(row("x") + "\n" + row("x", id="13", state="FAILED"), "x", rows)
    assert second[0] is first[0]
    assert [entry.state for entry in second] == ["RUNNING", "FAILED"]
    queue.read(row("y"), "y", rows)
    assert len(rows) == 1, "what Slurm has forgotten is forgotten here too"


def test_nobody_can_write_rows_about_others_into_a_name() -> None:
    evil = row("w", id="13", name="x\n" + row("guess", id="12", state="FAILED"))
    entries = queue.read(row("w") + "\n" + evil, "w", {})
    assert [(entry.id, entry.state) for entry in entries] == [("12", "RUNNING"), ("13", "RUNNING")]


def test_a_comment_that_only_resembles_ours_is_not_ours() -> None:
    for words in ("danlu:", "danlu:lab", "danlu:lab:a:b", "x danlu:lab:a", "danlu:lab:../a"):
        (entry,) = queue.read(row("w", comment=words), "w", {})
        assert entry.attempt == "", words


def test_a_part_of_a_heterogeneous_job_belongs_to_the_whole() -> None:
    (entry,) = queue.read(row("w", id="20+1", number="21"), "w", {})
    assert entry.number == "20"


def test_jobs_of_others_are_holders_on_each_of_their_nodes() -> None:
    entries = queue.read(row("w") + "\n" + row("w", id="13", number="13"), "w", {})
    detail = (
        "JobId=12 JobName=train UserId=alice(2001) JOB_GRES=gpu:3090:4 "
        "  Nodes=n1 CPU_IDs=0-1 Mem=4000 GRES=gpu:3090:2(IDX:0,3) "
        "  Nodes=n2 CPU_IDs=0-1 Mem=4000 GRES=gpu:3090:2(IDX:1-2)   MinCPUsNode=1"
    )
    found = inventory.holders(entries, inventory.used_gpus(detail), frozenset({"13"}))
    assert [(each.node, each.indexes, each.user) for each in found] == [
        ("n1", (0, 3), "alice"),
        ("n2", (1, 2), "alice"),
    ]
    assert found[0].memory == 4000 << 20


def test_partitions_are_read() -> None:
    text = (
        "PartitionName=makkapakka AllowGroups=ALL Default=YES QoS=N/A MaxTime=2-00:00:00 "
        "Nodes=n[1-4] State=UP TotalCPUs=32"
    )
    (found,) = inventory.partitions(text)
    assert (found.name, found.up, found.default, found.time_limit) == (
        "makkapakka",
        True,
        True,
        172800,
    )
    assert found.nodes == ("n1", "n2", "n3", "n4")


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (1, "sbatch: error: Batch job submission failed: Invalid partition name", Refused),
        (1, "sbatch: error: Unable to contact slurm controller (connect failure)", Unreachable),
        (1, "sbatch: error: Batch job submission failed: Socket timed out on send/recv", InDoubt),
        (None, "", InDoubt),
        (-9, "", InDoubt),
    ],
)
def test_why_a_submission_failed_is_told_apart(
    code: int | None, said: str, kind: type[Exception]
) -> None:
    assert type(submission_error(code, said)) is kind
