"""A backup as the first version of the tables would have made it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from danlu.files.archive import Totals, Writer
from danlu.spec.codec import to_values
from danlu.spec.complete import complete
from danlu.spec.ids import uuid7


def first_version(path: Path) -> None:
    spec = json.dumps(to_values(complete({"command": "true", "name": "old"})))
    job: dict[str, Any] = {
        "seq": 1,
        "id": uuid7(),
        "owner": "admin",
        "name": "old",
        "number": 1,
        "array_id": None,
        "array_index": None,
        "kind": "train",
        "state": "succeeded",
        "reason": "completed",
        "queue": "default",
        "group": None,
        "priority": 0,
        "submitted_at": time.time(),
        "started_at": None,
        "ended_at": None,
        "exit_code": 0,
        "attempt": 0,
        "failures": 0,
        "faults": 0,
        "held": False,
        "detail": "{}",
        "spec": spec,
    }
    user: dict[str, Any] = {
        "id": uuid7(),
        "name": "admin",
        "role": "admin",
        "password_hash": "-",
        "must_change": False,
        "disabled": False,
        "created_at": time.time(),
    }
    leader: dict[str, Any] = {"id": 1, "epoch": 3, "holder": "x", "at": 0.0}
    tables = {"jobs": job, "users": user, "leader": leader}
    head = {
        "format": 1,
        "version": "0.1.0",
        "made_at": time.time(),
        "host": "old",
        "database": "sqlite",
        "revision": "0001",
        "tables": {name: list(row) for name, row in tables.items()},
        "homes": False,
    }
    with path.open("wb") as file:
        writer = Writer(file, head)
        for name, row in tables.items():
            line = json.dumps(list(row.values())) + "\n"
            writer.put(f"tables/{name}/000000.jsonl", line.encode())
        writer.finish(Totals(rows={"jobs": 1, "events": 0, "users": 1}))
