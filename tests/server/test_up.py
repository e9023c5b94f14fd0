"""`danlu up`, `danlu down` and `danlu check`, as a new user calls them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.store import migrate
from danlu.store.database import database
from tests.support.server import DanluServer, free_port

DANLU = [sys.executable, "-m", "danlu.cli"]


class Home:
    """A person's account on the machine: nothing prepared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "XDG_"))}
        self.env = {**kept, "HOME": str(folder), "DANLU_LANG": "en"}
        self.server: subprocess.Popen[str] | None = None

    def up(self, *words: str) -> str:
        """Starts the server and returns what it says until it serves."""
        self.server = subprocess.Popen(
            [*DANLU, "up", "--data", str(self.folder / "data"), *words],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.server.stdout is not None
        said = []
        for line in self.server.stdout:
            said.append(line)
            if "one-time password" in line or "password lost?" in line:
                break
        return "".join(said)

    def stop(self) -> None:
        assert self.server is not None
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(180)

    def until(self, text: str) -> str:
        assert self.server is not None
        assert self.server.stdout is not None
        said = []
        for line in self.server.stdout:
            said.append(line)
            if text in line:
                return "".join(said)
        raise AssertionError(f"it never said {text!r}: {said}")

    def danlu(self, *words: str, input: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*DANLU, *words], env=self.env, capture_output=True, text=True, check=False,
            timeout=180, input=input,
        )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    if home.server is not None and home.server.poll() is None:
        home.danlu("stop", "left-1", "--now")
        home.server.send_signal(signal.SIGTERM)
        home.server.wait(180)


def test_up_tells_the_address_the_admin_and_a_password_and_runs_a_first_job(home: Home) -> None:
    said = home.up("--port", str(free_port()), "--first-job")
    assert re.search(r"http://127\.0\.0\.1:\d+", said)
    assert "admin" in said
    assert re.search(r"one-time password: [a-z0-9-]{19}", said)
    assert re.search(r"ssh -p \d+ USER\+JOB@127\.0\.0\.1", said)
    first = home.until("It works.")
    assert "Hello from admin/first-1" in first
    assert home.danlu("run", "--", "echo", "found you").stdout == "found you\n"


def test_a_server_that_is_asked_to_go_closes_what_is_open(home: Home) -> None:
    home.up("--port", str(free_port()))
    assert home.server is not None
    home.server.send_signal(signal.SIGTERM)
    assert home.server.wait(180) == 0


def test_the_password_opens_the_door_and_is_shown_once(home: Home) -> None:
    port = str(free_port())
    said = home.up("--port", port)
    password = re.search(r"one-time password: (\S+)", said)
    assert password is not None
    answer = _login(port, "admin", password[1])
    assert answer["must_change_password"] is True
    assert home.danlu("whoami", "--token", answer["token"]).returncode == 0
    with pytest.raises(OSError, match="401"):
        _login(port, "admin", "wrong")
    changed = home.danlu("passwd", input=f"{password[1]}\nmy-own-password\n")
    assert changed.returncode == 0, changed.stderr
    assert _login(port, "admin", "my-own-password")["must_change_password"] is False
    assert home.danlu("passwd", input=f"{password[1]}\nanother-password\n").returncode != 0
    assert home.server is not None
    home.server.send_signal(signal.SIGINT)
    home.server.wait(180)
    assert password[1] not in home.up("--port", port)


def test_a_first_start_that_fails_does_not_lose_the_password(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        failed = home.danlu("up", "--data", str(home.data), "--port", str(taken.getsockname()[1]))
    assert failed.returncode != 0
    port = str(free_port())
    password = re.search(r"one-time password: (\S+)", home.up("--port", port))
    assert password is not None
    assert _login(port, "admin", password[1])["must_change_password"] is True
    kept = home.data / "admin.json"
    _until(lambda: password[1] not in kept.read_text())


@pytest.mark.parametrize("running", [True, False])
def test_a_lost_password_is_replaced_on_the_machine(home: Home, running: bool) -> None:
    port = str(free_port())
    first = re.search(r"one-time password: (\S+)", home.up("--port", port))
    assert first is not None
    old = _login(port, "admin", first[1])["token"]
    if not running:
        home.stop()
    reset = home.danlu("admin", "reset-password", "--data", str(home.data))
    assert reset.returncode == 0, reset.stderr
    password = re.search(r"one-time password of admin: (\S+)", reset.stdout)
    assert password is not None
    if not running:
        home.up("--port", port)
    assert _login(port, "admin", password[1])["must_change_password"] is True
    with pytest.raises(OSError, match="401"):
        _login(port, "admin", first[1])
    _until(lambda: home.danlu("whoami", "--token", old).returncode != 0)
    assert "one-time password" in home.danlu("audit").stdout
    assert home.danlu("admin", "reset-password", "nobody", "--data", str(home.data)).returncode == 2


def test_only_who_can_read_the_data_folder_resets_a_password(home: Home) -> None:
    home.up("--port", str(free_port()))
    empty = home.danlu("admin", "reset-password", "--data", str(home.folder / "elsewhere"))
    assert empty.returncode == 2
    assert "--data" in empty.stderr
    if os.geteuid() != 0:
        return
    command = [*DANLU, "admin", "reset-password", "--data", str(home.data)]
    try:
        other = subprocess.run(
            command, env=home.env, capture_output=True, text=True, check=False, user=65534, cwd="/"
        )
    except PermissionError:
        return  # the checkout is in a folder of root's own: others have no danlu at all
    assert other.returncode != 0
    assert "one-time password" not in other.stdout


def test_stopping_the_server_does_not_stop_tasks_and_down_says_what_runs(home: Home) -> None:
    home.up("--port", str(free_port()))
    marker = home.folder / "went-on"
    command = f"sleep 3; touch {marker}; sleep 300"
    home.danlu("run", "-d", "-n", "left", "--", "sh", "-c", command)
    _until(lambda: "running" in home.danlu("jobs").stdout)
    down = home.danlu("down")
    assert down.returncode == 0
    assert "left-1" in down.stdout + down.stderr
    assert home.server is not None
    home.server.wait(180)
    _until(marker.exists)
    home.up("--port", str(free_port()))
    assert "running" in home.danlu("jobs").stdout


def test_a_taken_port_is_stepped_over_unless_it_was_named(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = home.danlu("up", "--data", str(home.folder / "data"), "--port", port)
    assert refused.returncode == 2
    assert "--port" in refused.stderr


def test_a_bad_configuration_is_told_and_nothing_starts(home: Home) -> None:
    (home.folder / "danlu.toml").write_text("[sevrer]\n")
    refused = home.danlu("up", "--config", str(home.folder / "danlu.toml"))
    assert refused.returncode == 2
    assert "did you mean server?" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_check_says_what_is_possible_here(home: Home) -> None:
    said = home.danlu("check").stdout
    subjects = "user namespaces stopping cgroups seccomp containers ssh disk"
    for subject in subjects.split():
        assert re.search(rf"^{subject} +(yes|partly|no) ", said, re.MULTILINE), subject
    findings = json.loads(home.danlu("check", "--json").stdout)
    assert all(finding["en"] and finding["zh"] for finding in findings)


def test_check_looks_at_the_server_that_runs_here(home: Home) -> None:
    config = home.folder / "own.toml"
    config.write_text('[[nodes]]\nname = "only-here"\ngpus = "2:A100"\n')
    home.up("--port", str(free_port()), "--config", str(config))
    findings = {each["what"]: each for each in json.loads(home.danlu("check", "--json").stdout)}
    assert "node only-here" in findings
    port = int((home.data / "gateway" / "port").read_text())
    assert str(port) in findings["ssh"]["en"], "the one in use, not the next free one"
    assert str(config) in findings["configuration"]["en"]
    assert str(home.folder / "data") in findings["configuration"]["zh"]


def test_a_data_folder_of_the_version_before_is_taken_over(home: Home) -> None:
    data = home.folder / "data"
    data.mkdir(mode=0o700)
    before, latest = migrate.REVISIONS[-2:]
    old = database(f"sqlite:///{data}/danlu.db")
    old.create()
    migrate.upgrade(old, before)
    home.up("--port", str(free_port()))
    assert home.danlu("run", "--", "echo", "as before").stdout == "as before\n"
    kept = database(f"sqlite:///{data}/danlu.db.before-{latest}").connect(reader=True)
    assert kept.execute("SELECT version_num FROM alembic_version") == [(before,)]
    kept.close()


def test_a_second_server_leaves_the_first_ones_context_alone(home: Home) -> None:
    first, second = free_port(), free_port()
    home.up("--port", str(first))
    other = Home(home.folder)
    try:
        other.up("--data", str(home.folder / "other"), "--port", str(second))
        assert f"--context local-{second}" in other.until("danlu --context")
        contexts = json.loads((home.folder / ".config/danlu/context.json").read_text())
        assert contexts["current"] == "local"
        assert contexts["contexts"]["local"]["server"].endswith(f":{first}")
        assert home.danlu("--context", f"local-{second}", "whoami").returncode == 0
    finally:
        assert other.server is not None
        other.server.send_signal(signal.SIGTERM)
        other.server.wait(180)


def test_a_restart_leaves_the_current_context_alone_and_says_so(home: Home) -> None:
    port = str(free_port())
    home.up("--port", port)
    home.stop()
    path = home.folder / ".config/danlu/context.json"
    kept = json.loads(path.read_text())
    assert kept["current"] == "local", "the first one is for use at once"
    kept["contexts"]["lab"] = {"server": "http://gpu.example.org", "token": "danlu_x"}
    path.write_text(json.dumps({**kept, "current": "lab"}))
    home.up("--port", port)
    assert json.loads(path.read_text())["current"] == "lab"
    assert "your commands still go to lab" in home.until("danlu context use local")
    assert home.danlu("--context", "local", "whoami").returncode == 0
    home.stop()
    gone = {"server": "http://127.0.0.1:1", "token": "x", "data": str(home.folder / "gone")}
    kept["contexts"]["demo"] = gone
    path.write_text(json.dumps({**kept, "current": "demo"}))
    home.up("--port", port)
    assert json.loads(path.read_text())["current"] == "local", "a server that is gone is given up"


def test_without_namespaces_a_task_still_finds_its_home(tmp_path: Path) -> None:
    """Where user namespaces are off, variables and links give the same places."""
    config = '[engine]\nnamespaces = "off"\ncgroups = "off"\n'
    server = DanluServer(tmp_path / "data", config).start()
    try:
        text = 'echo kept > "$HOME/file"; cat "$DANLU_USERHOME/file"; test -d "$DANLU_GDATA"'
        job = server.submit(command=text)
        assert server.wait(job)["state"] == "succeeded"
        assert server.bytes_of(f"/jobs/{job['id']}/logs") == b"kept\n"
        assert (tmp_path / "data/home/admin/file").read_text() == "kept\n"
    finally:
        server.cleanup()


def _login(port: str, user: str, password: str) -> dict[str, object]:
    body = json.dumps({"user": user, "password": password}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/danlu/v1/login", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=180) as answer:
        found: dict[str, object] = json.loads(answer.read())
        return found


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("verb", ["up", "check"])
def test_a_certificate_that_cannot_be_used_is_told_before_anything_starts(
    tmp_path: Path, verb: str
) -> None:
    pem, file = tmp_path / "cert.pem", tmp_path / "danlu.toml"
    file.write_text(f"[server]\ntls_cert = '{pem}'\ntls_key = '{pem}'\n")
    words = [*DANLU, verb, "--config", str(file), "--data", str(tmp_path / "data")]
    env = {**os.environ, "DANLU_LANG": "en"}
    for content, said in ((None, "cannot read"), ("nonsense", "not a PEM certificate")):
        if content is not None:
            pem.write_text(content)
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, timeout=180, check=False
        )
        assert done.returncode == 2
        assert "tls_cert" in done.stderr and said in done.stderr
        assert "Traceback" not in done.stderr and done.stdout == ""
