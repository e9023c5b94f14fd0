"""What slurmrestd tells, where the admin offers it: the same as the commands, without a process for
each question.

Over a socket of this machine, for there the daemon knows who asks and nobody needs a token. It is
only read: submitting is sbatch's, as the job's user.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from danlu.engines.api import Partition
from danlu.engines.slurm import fields, inventory, queue
from danlu.engines.slurm.inventory import Node
from danlu.engines.slurm.queue import Entry

SCHEME = "unix:"
_API = "/slurm/v0.0.38"
_LARGEST = 256 << 20
_NEVER = 0xFFFFFFFE  # and above: no value, or without a limit
_UNCERTAIN = (OSError, http.client.HTTPException, ValueError, TypeError, KeyError, AttributeError)

Found = TypeVar("Found")
Row = dict[str, Any]
Parts = dict[tuple[str, str], tuple[int, tuple[int, ...]]]


class Unusable(Exception):
    """It is not there, refuses, or says what we do not understand."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Rest:
    def __init__(self, address: str, patience: float) -> None:
        self._path = address.removeprefix(SCHEME)
        self._patience = patience

    def jobs(self) -> tuple[Entry, ...]:
        return self._read("jobs", lambda rows: tuple(map(_entry, rows)))

    def nodes(self) -> tuple[Node, ...]:
        return self._read("nodes", lambda rows: inventory.from_values(map(_node, rows)))

    def partitions(self) -> tuple[Partition, ...]:
        return self._read("partitions", lambda rows: tuple(map(_partition, rows)))

    def parts(self) -> Parts:
        """(job, node) -> memory and GPUs."""
        return self._read("jobs", lambda rows: dict(_parts(rows)))

    def _read(self, what: str, reader: Callable[[list[Row]], Found]) -> Found:
        try:
            return reader(self._rows(what))
        except _UNCERTAIN as error:
            raise Unusable(f"{SCHEME}{self._path}: {what}: {error!r}"[:500]) from error

    def _rows(self, what: str) -> list[Row]:
        link = _Connection(self._path, self._patience)
        try:
            link.request("GET", f"{_API}/{what}", headers={"Accept": "application/json"})
            answer = link.getresponse()
            data = answer.read(_LARGEST + 1)
        finally:
            link.close()
        if answer.status != 200 or len(data) > _LARGEST:
            raise ValueError(f"status {answer.status}, {len(data)} bytes: {data[:200]!r}")
        values = json.loads(data)
        if values["errors"]:
            raise ValueError(str(values["errors"]))
        rows: list[Row] = values[what]
        return rows


def _entry(row: Mapping[str, Any]) -> Entry:
    ours = queue.ours_of(row["comment"] or "")
    id_, number = _names(row)
    starts = _moment(row["start_time"])
    count = int(row["node_count"] or 0)
    memory = row["memory_per_node"] or row["memory_per_cpu"] or 0
    return Entry(
        id_,
        row["job_state"],
        fields.known(row["state_reason"] or ""),
        row["user_name"] or str(row["user_id"]),
        int(row["user_id"]),
        row["partition"] or "",
        int(row["cpus"] or 0),
        int(memory) << 20,
        fields.gpu_count(row["tres_per_node"] or ""),
        fields.hosts(row["nodes"] or "") if count else (),
        starts,
        _end(row, starts),
        *ours,
        row["name"] or "",
        number,
    )


def _names(row: Mapping[str, Any]) -> tuple[str, str]:
    """As squeue prints them: 12, 12+1 of a heterogeneous job, 12_3 of an array."""
    number = str(int(row["job_id"]))
    if row["het_job_id"]:
        whole = str(int(row["het_job_id"]))
        return f"{whole}+{int(row['het_job_offset'])}", whole
    if row["array_task_string"]:
        return f"{row['array_job_id']}_[{row['array_task_string']}]", number
    if row["array_job_id"] and row["array_task_id"] is not None:
        return f"{row['array_job_id']}_{row['array_task_id']}", number
    return number, number


def _moment(value: Any) -> float | None:
    return float(value) if isinstance(value, int) and value > 0 else None


def _end(row: Mapping[str, Any], starts: float | None) -> float | None:
    minutes = row["time_limit"]
    if starts is None or minutes is None or not 0 <= minutes < _NEVER:
        return None
    return None if minutes * 60 >= queue.YEAR else _moment(row["end_time"])


def _node(row: Mapping[str, Any]) -> dict[str, str]:
    """As scontrol names the values."""
    usable = dict(part.split("=", 1) for part in (row["tres"] or "").split(",") if "=" in part)
    reason, by = row["reason"] or "", row["reason_set_by_user"]
    if reason and by:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(row["reason_changed_at"] or 0))
        reason = f"{reason} [{by}@{when}]"
    return {
        "NodeName": row["name"],
        "CPUTot": str(row["cpus"]),
        "CPUEfctv": usable.get("cpu", ""),  # without those that are kept for Slurm itself
        "CPULoad": f"{row['cpu_load'] / 100:.2f}" if row["cpu_load"] in range(_NEVER) else "N/A",
        "RealMemory": str(row["real_memory"]),
        "FreeMem": str(row["free_memory"]) if row["free_memory"] in range(_NEVER) else "N/A",
        "Gres": row["gres"] or "",
        "NodeAddr": row["address"] or row["name"],
        "State": "+".join([row["state"], *row["state_flags"]]).upper(),
        "Reason": reason,
        "ActiveFeatures": row["active_features"] or "",
        "Partitions": ",".join(row["partitions"]),
    }


def _partition(row: Mapping[str, Any]) -> Partition:
    minutes = row["max_time_limit"]
    bounded = isinstance(minutes, int) and 0 <= minutes < _NEVER
    return Partition(
        row["name"],
        row["state"] == "UP",
        "default" in row["flags"],
        minutes * 60.0 if bounded else None,
        fields.hosts(row["nodes"] or ""),
    )


def _parts(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[tuple[str, str], tuple[int, tuple[int, ...]]]]:
    for row in rows:
        names = fields.hosts(row["nodes"] or "")
        shares = (row.get("job_resources") or {}).get("allocated_nodes") or []
        held = {share["nodename"]: int(share["memory_allocated"] or 0) for share in shares}
        details = row["gres_detail"]  # one for each of its nodes
        for place, name in enumerate(names):
            gres = details[place] if place < len(details) else ""
            if name in held:
                yield (str(row["job_id"]), name), (held[name] << 20, fields.indexes(gres))
