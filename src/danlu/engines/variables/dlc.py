"""The variables of a DLC task. Here WORLD_SIZE counts nodes, and RANK is the node's rank."""

from __future__ import annotations

from danlu.engines.variables.gang import Gang

MASTER_PORT = 23456
"""DLC's fixed port; leased if it is free."""


def variables(gang: Gang, index: int) -> dict[str, str]:
    ports = gang.labelled[index]
    found = {
        "MASTER_ADDR": gang.hosts[0],
        "MASTER_PORT": str(gang.peers[0] or MASTER_PORT),
        "WORLD_SIZE": str(len(gang.tasks)),
        "RANK": str(index),
        "NPROC_PER_NODE": str(max(1, gang.gpus(index))),
        "JOB_NAME": job_id(gang.launch.job_id),
        "CUSTOM_PORTS": ",".join(str(port) for each in ports.values() for port in each),
    }
    return found


def job_id(text: str) -> str:
    """A job id in DLC's format: `dlc`, then letters and digits."""
    return "dlc" + text.replace("-", "")
