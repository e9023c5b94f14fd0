"""Tasks that the batch script's shell starts itself, here without a Slurm around it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import Identity, Launch, TaskLaunch
from danlu.engines.slurm import shipping
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.node import notes
from danlu.engines.slurm.node.worker import Worker
from danlu.engines.slurm.plan import Context, plan
from danlu.spec.job import Command, GpuRequest, Resources, RunAs, Stdin
from tests.engines.harness import ESCAPE, argv, shell, token
from tests.support.processes import processes_with
from tests.support.waiting import until

NEEDS = Resources(GpuRequest(), 1.0, 1 << 30, 1 << 26)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    shipping.ship(folder, sys.executable)
    return folder


class Batch:
    """One attempt: what Danlu writes, and the script as Slurm would start it."""

    def __init__(self, shared: Path, command: Command, **values: Any) -> None:
        self.id = str(uuid.uuid4())
        config = SlurmConfig(shared / "data", shared, python=sys.executable)
        task = TaskLaunch(0, "worker", 0, command, NEEDS, workdir=str(shared), **values)
        launch = Launch(self.id, "job-1", 1, Identity("alice"), (task,), None)
        context = Context(config, str(shipping.folder_of(shared)))
        payload = json.loads(plan(launch, context).payload)
        self.is_quick = payload["quick"] is not None
        self.script = payload["script"]
        self.worker = Worker(str(shared / "alice"))
        self.worker.begin()
        self.log_path = Path(payload["tasks"][0]["logs"][0])
        self._write(payload)

    def _write(self, payload: dict[str, Any]) -> None:
        task = json.dumps(payload["tasks"][0] | {"token": "t"}).encode()
        files = {"0.task": task}
        if self.is_quick:
            files["quick.sh"] = payload["quick"]["text"].encode()
        ask = {
            "attempt": self.id,
            "tasks": 1,
            "files": [[name, len(data)] for name, data in files.items()],
            "quick": self.is_quick and payload["quick"]["layout"],
        }
        assert self.worker.write(ask, b"".join(files.values()))[0]["made"]

    def start(self) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "77", "HOSTNAME": "n1", "LC_ALL": "C"}
        return subprocess.Popen(
            ["bash", "-c", self.script], env=env, start_new_session=True, stdin=subprocess.DEVNULL
        )

    def run(self) -> int:
        return self.start().wait(120)

    @property
    def record(self) -> tuple[dict[str, Any], dict[str, Any]]:
        answer, _ = self.worker.records({"attempts": {self.id: 1}}, b"")
        found = answer["records"][self.id]
        assert found["claim"] == "77"
        claim, status = found["tasks"][0]
        return claim, status

    @property
    def log(self) -> bytes:
        return self.log_path.read_bytes()

    @property
    def had_a_keeper(self) -> bool:
        return (self.worker._folder({"attempt": self.id}) + "/0.claim") in self._files()

    def _files(self) -> list[str]:
        folder = self.worker._folder({"attempt": self.id})
        return [f"{folder}/{name}" for name in os.listdir(folder)]


def test_a_short_command_needs_no_keeper(shared: Path) -> None:
    batch = Batch(shared, shell("echo hello; echo $DANLU_NODE >&2; exit 3"))
    assert batch.run() == 3
    claim, status = batch.record
    assert (claim["node"], status["code"]) == ("n1", 3)
    assert claim["at"] <= status["at"]
    assert batch.log == b"hello\nn1\n"
    assert not batch.had_a_keeper


def test_an_end_by_a_signal_names_it(shared: Path) -> None:
    batch = Batch(shared, shell("kill -USR1 $$"))
    batch.run()
    assert batch.record[1]["signal"] == signal.SIGUSR1
    assert not batch.had_a_keeper


def test_a_second_submission_claims_nothing(shared: Path) -> None:
    batch = Batch(shared, shell("echo once"))
    assert [batch.run(), batch.run()] == [0, 0]
    assert batch.log == b"once\n"


def test_a_command_that_goes_on_gets_its_keeper(shared: Path) -> None:
    batch = Batch(shared, shell("echo first; sleep 1; echo last; exit 7"))
    assert batch.run() == 7
    claim, status = batch.record
    assert status["code"] == 7
    assert claim["port"] > 0
    assert status["at"] - claim["at"] > 0.9, "it began when the shell started it"
    assert batch.log == b"first\nlast\n"
    assert batch.had_a_keeper


def test_an_end_just_when_the_keeper_comes_is_not_missed(shared: Path) -> None:
    batches = [Batch(shared, argv("sleep", f"{0.26 + 0.02 * i:.2f}")) for i in range(12)]
    processes = [batch.start() for batch in batches]
    assert [process.wait(120) for process in processes] == [0] * 12
    assert [batch.record[1]["code"] for batch in batches] == [0] * 12


def test_what_does_not_fit_into_a_pipe_is_kept_byte_for_byte(shared: Path) -> None:
    data = os.urandom(1_000_000)
    (shared / "data.bin").write_bytes(data)
    batch = Batch(shared, argv("cat", "data.bin"))
    assert batch.run() == 0
    assert batch.log == data


def test_what_cannot_start_is_the_keepers_to_explain(shared: Path) -> None:
    (shared / "data.txt").write_text("no program")
    (shared / "bad.sh").write_text("#!/no/such/interpreter\n")
    (shared / "bad.sh").chmod(0o755)
    hints = {}
    for word in ("no-such-program", "./data.txt", "./bad.sh"):
        batch = Batch(shared, argv(word))
        assert batch.is_quick
        batch.run()
        hints[word] = batch.record[1]["hint"]
    assert hints == {
        "no-such-program": "command_not_found",
        "./data.txt": "not_executable",
        "./bad.sh": "not_executable",
    }


def test_words_and_variables_arrive_as_they_are(shared: Path) -> None:
    words = ["a b", "$HOME", "*", "", "'\"\\", "中文", "-n", "`id`", "a\nb"]
    text = "import json, os, sys; json.dump([*sys.argv[1:], *os.environ.items()], sys.stdout)"
    python = os.path.realpath(sys.executable)
    env = {"V": 'it\'s\n$(id) \\ "x"'}
    batch = Batch(shared, argv(python, "-c", text, *words), env=env)
    assert batch.run() == 0
    seen = json.loads(batch.log)
    assert seen[: len(words)] == words
    given = dict(seen[len(words) :])
    assert given["V"] == env["V"]
    assert {"SLURM_JOB_ID", "DANLU_TASK", "DANLU_RUN", "HOME"} <= set(given)
    assert not {"LC_ALL", "OLDPWD", "SHLVL", "p", "w"} & set(given)
    assert not batch.had_a_keeper


@pytest.mark.parametrize(
    "values",
    [
        {"env": {"UID": "0"}},
        {"env": {"IFS": "x"}},
        {"env": {"p": "x"}},
        {"env": {"a.b": "x"}},
        {"env": {"BASH_ENV": "/tmp/x"}},
        {"env": {"PATH": "bin:/usr/bin"}},
        {"secrets": {"KEY": "value"}},
        {"stdin": Stdin.PIPE},
        {"split_output": True},
        {"log_cap": 1000},
    ],
)
def test_what_a_shell_cannot_do_has_a_keeper_from_the_start(
    shared: Path, values: dict[str, Any]
) -> None:
    assert not Batch(shared, shell("true"), **values).is_quick
    assert not Batch(shared, Command(RunAs.SCRIPT, ("x.sh",))).is_quick


def test_without_a_place_to_wait_the_keeper_starts_the_command(shared: Path) -> None:
    batch = Batch(shared, shell("exit 3"))
    (shared / "alice/wait").unlink()
    (shared / "alice/wait").write_text("no pipe")
    try:
        assert batch.run() == 3
    finally:
        (shared / "alice/wait").unlink()
    assert batch.had_a_keeper
    assert batch.record[1]["code"] == 3


def test_what_is_left_behind_ends_with_the_command(shared: Path) -> None:
    names = token(), token()
    batch = Batch(shared, shell(f"sleep {names[0]} & setsid sleep {names[1]} & exit 0"))
    assert batch.run() == 0
    for name in names:
        until(lambda name=name: not processes_with(name))


@pytest.mark.parametrize("more", ["", "sleep 1"])
def test_a_daemon_that_wiped_its_environment_ends_with_the_command(shared: Path, more: str) -> None:
    name = token()
    (shared / "escape.py").write_text(ESCAPE)
    python = os.path.realpath(sys.executable)
    batch = Batch(shared, shell(f"{python} -I -S escape.py {name}; {more}"))
    assert batch.run() == 0
    until(lambda: not processes_with(name))


def test_a_stop_order_is_followed_by_the_keeper(shared: Path) -> None:
    batch = Batch(shared, shell("trap '' TERM; echo ready; sleep 600; sleep 600"))
    process = batch.start()
    claim = shared / "alice/run" / batch.id / "claim"
    until(lambda: claim.exists() and "run " in claim.read_text())
    batch.worker.order({"attempt": batch.id, "tasks": 1, "grace": 0.1}, b"")
    process.send_signal(signal.SIGTERM)
    process.wait(120)
    assert batch.record[1]["signal"] == signal.SIGKILL


@pytest.mark.parametrize(
    "lines",
    [
        ["end 0 1.0"],
        ["run x n1 - -", "end 999 1.0"],
        ["run 1.0 n1 - -", "end ² 1.0"],
        ["run 1.0 n1 " + "9" * 5000 + " ²"],
        ["run", "end", ""],
    ],
)
def test_notes_that_make_no_sense_are_no_status(lines: list[str]) -> None:
    assert notes.read(lines)[1] is None
