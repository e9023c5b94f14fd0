"""Work for a server that is killed again and again, and what must be true of it at the end."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.error
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.server import DanluServer


@dataclass
class Expected:
    """A job, and what must be true of it at the end."""

    job: dict[str, Any]
    state: str
    code: int | None
    log: bytes | None  # None: it may be cut short (a stopped job)
    tasks: int = 1
    stop_after: float | None = None
    acknowledged: bool = False


@dataclass
class Course:
    """How many kills there will have been, and were."""

    kills: int
    done: int = 0


def survive(
    server: DanluServer,
    runs: Path,
    kills: int,
    jobs: int,
    inside: str = "",
    longest: float = 25.0,
    spread: bool = False,
    **every: Any,
) -> list[str]:
    """Submits, stops and kills; returns what went wrong.

    `inside`: where tasks see `runs`. `longest`: seconds. `spread`: some jobs before each kill,
    rather than all as fast as possible. `every`: keys that all jobs have.
    """
    chosen = random.Random(7)
    work = [_job(number, inside or str(runs), chosen, longest, every) for number in range(jobs)]
    done = threading.Event()
    course = Course(kills if spread else 0)
    clients = [
        threading.Thread(target=_submit, args=(server, work[part::4], done, course))
        for part in range(4)
    ]
    stopper = threading.Thread(target=_stop_some, args=(server, work, done))
    for thread in (*clients, stopper):
        thread.start()
    _kill_again_and_again(server, chosen, kills, course)
    for thread in (*clients, stopper):
        thread.join(300)
        assert not thread.is_alive(), "a client is still waiting for its acknowledgement"
    ended = _wait_for_all(server, work)
    done.set()
    return [problem for each in work for problem in _check(server, each, ended, runs)]


def _job(
    number: int, runs: str, chosen: random.Random, longest: float, every: dict[str, Any]
) -> Expected:
    """Short and long, alone and in gangs, quiet and chatty, good and bad, stopped half-way."""
    job_id = _uuid7(number)
    note = f'echo "$DANLU_TASK_INDEX" >> {runs}/{job_id}'
    kind = number % 8
    code = number % 3
    lines = "".join(f"{n}\n" for n in range(1, 301)).encode()
    base: dict[str, Any] = {"id": job_id, "name": f"k{kind}", "cpus": 1, "memory": "64M"} | every
    state = "succeeded" if code == 0 else "failed"
    if kind == 0:
        return Expected({**base, "command": f"{note}; exit {code}"}, state, code, b"")
    if kind == 1:
        return Expected({**base, "command": f"{note}; seq 1 300; exit {code}"}, state, code, lines)
    if kind == 2:
        text = f"{note}; for i in 1 2 3 4 5; do echo $i; sleep {chosen.uniform(0.05, 1):.2f}; done"
        return Expected({**base, "command": text}, "succeeded", 0, b"1\n2\n3\n4\n5\n")
    if kind == 3:
        text = f"{note}; printf '\\377\\000\\001'; sleep 0.3; printf '\\r\\n\\376'; exit {code}"
        return Expected({**base, "command": text}, state, code, b"\xff\x00\x01\r\n\xfe")
    if kind == 4:
        job = {**base, "command": f"{note}; sleep 0.2; echo $WORLD_SIZE", "count": 3, "gpus": 1}
        return Expected(job, "succeeded", 0, b"3\n", tasks=3)
    if kind == 5:
        text = f"{note}; sleep {chosen.uniform(0.4, 1) * longest:.1f}; echo late"
        return Expected({**base, "command": text}, "succeeded", 0, b"late\n")
    if kind == 6:
        text = f"{note}; echo up; exec sleep 1000"
        after = chosen.uniform(0, 3)
        return Expected({**base, "command": text}, "stopped", None, None, stop_after=after)
    text = f"{note}; kill -9 $$"
    return Expected({**base, "command": text}, "failed", 137, b"")


def _uuid7(number: int) -> str:
    stamp = (int(time.time() * 1000) << 80) | (0x7 << 76) | (0x2 << 62) | number
    return str(uuid.UUID(int=stamp | (random.getrandbits(40) << 16)))


def _submit(
    server: DanluServer, work: list[Expected], done: threading.Event, course: Course
) -> None:
    for place, each in enumerate(work):
        while course.done < place * course.kills // len(work) and not done.is_set():
            time.sleep(0.02)
        _until_answered(lambda each=each: server.post("/jobs", each.job, timeout=10), done)
        each.acknowledged = True
        time.sleep(0.05)


def _stop_some(server: DanluServer, work: list[Expected], done: threading.Event) -> None:
    for each in work:
        if each.stop_after is None:
            continue
        while not each.acknowledged and not done.is_set():
            time.sleep(0.02)
        time.sleep(each.stop_after / 3)
        path = f"/jobs/{each.job['id']}/stop"
        _until_answered(lambda path=path: server.post(path, {}, timeout=10), done)


def _until_answered(call: Any, done: threading.Event) -> None:
    while not done.is_set():
        try:
            call()
            return
        except urllib.error.HTTPError as error:
            body = error.read().decode()
            if error.code != 503:
                raise AssertionError(f"{error.code}: {body}") from None
        except (OSError, ValueError, http.client.HTTPException):
            pass  # perhaps in the middle of the answer
        time.sleep(0.05)


def _kill_again_and_again(
    server: DanluServer, chosen: random.Random, kills: int, course: Course
) -> None:
    for number in range(kills):
        # Some kills hit a server that is still starting, most one at work.
        if number % 5 == 0:
            time.sleep(chosen.uniform(0.05, 0.6))
        else:
            server.wait_until_up()
            time.sleep(chosen.uniform(0.0, 0.8))
        server.kill()
        server.launch()
        course.done += 1
    server.wait_until_up()


def _wait_for_all(server: DanluServer, work: list[Expected]) -> dict[str, dict[str, Any]]:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not server.get("/jobs?active=true&limit=1")["jobs"]:
            break
        time.sleep(0.2)
    return {each.job["id"]: server.get(f"/jobs/{each.job['id']}") for each in work}


def _check(
    server: DanluServer, each: Expected, ended: dict[str, dict[str, Any]], runs: Path
) -> list[str]:
    job = ended[each.job["id"]]
    name = f"{job['ref']} {json.dumps(each.job['command'])}"
    problems = []
    if job["state"] != each.state:
        problems.append(f"{name}: {job['state']} ({job['reason_en']}), not {each.state}")
    if each.code is not None and job["exit_code"] != each.code:
        problems.append(f"{name}: exit code {job['exit_code']}, not {each.code}")
    kinds = [event["kind"] for event in server.get(f"/jobs/{job['id']}/events")["events"]]
    if kinds.count("ended") != 1 or kinds.count("submitted") != 1:
        problems.append(f"{name}: events {kinds}")
    noted = runs / job["id"]
    ran = sorted(noted.read_text().split()) if noted.exists() else []
    wanted = [str(task) for task in range(each.tasks)]
    if ran != wanted and not (each.stop_after is not None and not ran):
        problems.append(f"{name}: ran {ran}, not {wanted}; {job['attempts']}")
    if each.log is not None:
        for task in range(each.tasks):
            log = server.bytes_of(f"/jobs/{job['id']}/logs?task={task}")
            if log != each.log:
                problems.append(f"{name}: log of task {task} is {log[:400]!r}")
    return problems
