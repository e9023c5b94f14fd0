"""What a DLC task is told. WORLD_SIZE counts nodes here, and RANK is the node's."""

from __future__ import annotations

from danlu.engines.variables.gang import Gang

MASTER_PORT = 23456
"""The port DLC always names; it is leased under that number while nobody else has it."""


def variables(gang: Gang, index: int) -> dict[str, str]:
    ports = gang.labelled[index]
    found = {
        "MASTER_ADDR": gang.hosts[0],
        "MASTER_PORT": str(gang.peers[0] or MASTER_PORT),
        "WORLD_SIZE": str(len(gang.tasks)),
        "RANK": str(index),
        "NPROC_PER_NODE": str(max(1, gang.cards(index))),
        "JOB_NAME": job_id(gang.launch.job_id),
        "CUSTOM_PORTS": ",".join(str(port) for each in ports.values() for port in each),
    }
    return found


def job_id(text: str) -> str:
    """A job's id as DLC writes one: dlc, then letters and digits."""
    return "dlc" + text.replace("-", "")
