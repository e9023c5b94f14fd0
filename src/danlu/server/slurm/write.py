"""slurm.conf, gres.conf and cgroup.conf for a lab with a few machines."""

from __future__ import annotations

from danlu.server.slurm.nodes import Lab, Machine, PartitionPlan

# What Slurm may give to jobs: the kernel and the system need the rest, and a node that registers
# with less than slurm.conf says takes no jobs.
_MEMORY = 0.95
_HEAD = """\
# Written by `danlu slurm init`. The same file belongs on every machine of the cluster.
# After a change: copy it to all of them, then `scontrol reconfigure`.
"""


def slurm_conf(lab: Lab) -> str:
    lines = [f"{key}={value}" if key else value for key, value in _settings(lab)]
    lines += ["", "# The machines and the queues on them."]
    lines += [_node(node) for node in lab.nodes]
    lines += [_partition(one) for one in lab.partitions]
    return _HEAD + "\n".join(lines) + "\n"


def _settings(lab: Lab) -> list[tuple[str, str]]:
    address = f"({lab.controller_address})" if lab.controller_address else ""
    return [
        ("ClusterName", lab.cluster),
        ("SlurmctldHost", f"{lab.controller}{address}"),
        ("SlurmUser", lab.slurm_user),
        ("AuthType", "auth/munge"),
        ("CredType", "cred/munge"),
        ("StateSaveLocation", "/var/lib/slurm/slurmctld"),
        ("SlurmdSpoolDir", "/var/lib/slurm/slurmd"),
        ("SlurmctldPidFile", "/run/slurmctld.pid"),
        ("SlurmdPidFile", "/run/slurmd.pid"),
        ("SlurmctldLogFile", "/var/log/slurm/slurmctld.log"),
        ("SlurmdLogFile", "/var/log/slurm/slurmd.log"),
        ("", "\n# Every job gets its own CPUs, memory and GPUs, and no more (cgroup.conf)."),
        ("ProctrackType", "proctrack/cgroup"),
        ("TaskPlugin", "task/affinity,task/cgroup"),
        ("SelectType", "select/cons_tres"),
        ("SelectTypeParameters", "CR_CPU_Memory"),
        ("DefMemPerCPU", str(_memory_per_cpu(lab))),
        ("GresTypes", "gpu"),
        ("", "\n# Backfill: short jobs use gaps, and every job has an expected start."),
        ("SchedulerType", "sched/backfill"),
        ("PriorityType", "priority/basic"),
        ("ReturnToService", "1"),
        ("KillWait", "30"),
        ("MinJobAge", "300"),
        ("SlurmdTimeout", "120"),
        ("PropagateResourceLimitsExcept", "MEMLOCK"),
        ("MpiDefault", "none"),
        ("", "\n# sstat measures running jobs. Accounting needs a database; Danlu does not."),
        ("JobAcctGatherType", "jobacct_gather/cgroup"),
        ("AccountingStorageType", "accounting_storage/none"),
    ]


def _memory_per_cpu(lab: Lab) -> int:
    """MB, so that a job that asks for all CPUs of a node finds the memory for it."""
    return max(1, min(_real_memory(node) // node.cpus for node in lab.nodes))


def _real_memory(node: Machine) -> int:
    return max(1, int(node.memory * _MEMORY) >> 20)


def _node(node: Machine) -> str:
    words = [f"NodeName={node.name}"]
    if node.address:
        words.append(f"NodeAddr={node.address}")
    words += [f"CPUs={node.cpus}", f"RealMemory={_real_memory(node)}"]
    if node.gpus:
        words.append(f"Gres=gpu:{node.model}:{node.gpus}")
    features = (*node.features, *([node.model] if node.gpus else []))
    if features:
        words.append(f"Feature={','.join(dict.fromkeys(features))}")
    return " ".join([*words, "State=UNKNOWN"])


def _partition(one: PartitionPlan) -> str:
    limit = "INFINITE" if one.time_limit is None else _minutes(one.time_limit)
    default = "YES" if one.default else "NO"
    nodes = ",".join(one.nodes)
    return f"PartitionName={one.name} Nodes={nodes} Default={default} MaxTime={limit} State=UP"


def _minutes(seconds: float) -> str:
    minutes = max(1, -(-int(seconds) // 60))
    return f"{minutes // 1440}-{minutes % 1440 // 60:02d}:{minutes % 60:02d}:00"


def gres_conf(lab: Lab) -> str:
    lines = [
        f"NodeName={node.name} Name=gpu Type={node.model} File={node.devices}"
        for node in lab.nodes
        if node.gpus
    ]
    return _HEAD + "\n".join(lines or ["# No node has GPUs."]) + "\n"


def cgroup_conf(lab: Lab) -> str:
    return (
        _HEAD
        + "ConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
        + "AllowedSwapSpace=0\nConstrainDevices=yes\n"
    )
