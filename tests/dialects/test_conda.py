"""Conda and pip as guide 004 prints them, inside the platform: installed, set up, used, removed.

Replaced are people and folders, by pattern: a person's home is /userhome, what somebody lets others
use is in their folder of the group's share. The installer is one that stands in (miniforge/).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PeopleHarness, Someone
from tests.cli.person import Terminal
from tests.dialects.conftest import BARE
from tests.dialects.harness import ShimHarness
from tests.dialects.miniforge import NAME, installer
from tests.dialects.printed import Guide, commands
from tests.support.folders import let_in, open_python
from tests.support.parts import need
from tests.support.server import DanluServer

CONFIG = """
[server]
circle_of_trust = true

[[nodes]]
name = "rack1"
cpus = 24
memory = "200G"
gpus = "5:RTX3090"

[[nodes]]
name = "rack2"
cpus = 24
memory = "200G"
gpus = "5:RTX3090"

[[nodes]]
name = "login"
cpus = 2
memory = "4G"

[queues.{queue}]
nodes = ["rack1", "rack2"]

[volumes.fast]
source = "{source}"
path = "{path}"
nodes = ["rack1", "rack2"]
"""

pytestmark = pytest.mark.skipif(BARE, reason="needs namespaces")


@pytest.fixture(scope="module")
def guide() -> Guide:
    return Guide("004")


@pytest.fixture(scope="module")
def queue(guide: Guide) -> str:
    found = re.search(r"ilaunch q (\S+)", guide.block("ilaunch"))
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def fast(guide: Guide, queue: str) -> str:
    """Where the queue's nodes have their own disks, with a folder for each person."""
    found = re.search(rf"`(/\S+/{queue})/USERNAME`", guide.text)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def server(
    queue: str, fast: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    need("bash")
    folder = tmp_path_factory.mktemp("conda")
    # Everybody makes a folder of their own in it.
    source = let_in(folder) / "fast"
    source.mkdir()
    source.chmod(0o1777)
    text = CONFIG.format(queue=queue, source=source, path=fast)
    server = DanluServer(folder / "data", text).start()
    if server.cli("run", "--", "printenv", "HOME").stdout != b"/userhome\n":
        server.cleanup()
        pytest.skip("no namespaces here")
    yield server
    server.cleanup()


@pytest.fixture
def people_harness(server: DanluServer) -> Iterator[PeopleHarness]:
    people_harness = PeopleHarness(Harness(server))
    yield people_harness
    people_harness.close()


@pytest.fixture
def shim_harness(server: DanluServer, tmp_path: Path) -> Iterator[ShimHarness]:
    shim_harness = ShimHarness(server, let_in(tmp_path))
    yield shim_harness
    shim_harness.clear()


class Member:
    """Somebody with an account, at their desk; all they do is done in jobs."""

    def __init__(self, shim_harness: ShimHarness, person: Someone, queue: str) -> None:
        self.shim_harness = shim_harness
        self.name = person.name
        self._queue = queue
        path = f"{shim_harness.bin}:{Path(open_python()).parent}:/usr/local/bin:/usr/bin:/bin"
        self.env = {"DANLU_TOKEN": person.token, "PATH": path}

    def runs(self, node: str, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """A job that is not at a terminal."""
        where = ["srun", "-p", self._queue, "-w", node]
        return self.shim_harness.run(*where, *words, env=self.env, **more)

    def puts(self, data: bytes, path: str) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            words = ["bash", "-c", 'mkdir -p "$(dirname "$0")" && cat > "$0"', path]
            done = self.runs("rack1", *words, stdin=file)
        assert done.returncode == 0, done.stdout + done.stderr

    def shell(self, node: str) -> Shell:
        words = ["srun", "-p", self._queue, "-w", node, "--pty", "bash", "-i"]
        env = {**self.shim_harness.env, **self.env}
        return Shell(*words, env=env, folder=self.shim_harness.folder, cols=500)


class Shell(Terminal):
    """An interactive shell in a job."""

    def answers(self, *pairs: tuple[str, str]) -> str:
        """Waits for each question; what was printed up to the last."""
        printed = ""
        for question, answer in pairs:
            printed += self.read_until(question)
            self.type(f"{answer}\n")
        return printed

    def ready(self, environment: str) -> str:
        """Until the prompt of this environment; what was printed before it."""
        printed = self.read_until(f"({environment}) ")
        self.read_until("$ ")
        return printed

    def do(self, line: str, environment: str, *answers: tuple[str, str]) -> str:
        self.type(f"{line}\n")
        self.read_until(line)
        return self.answers(*answers) + self.ready(environment)

    def leave(self) -> None:
        self.type("exit\n")
        self.end()


YES = ("Proceed ([y]/n)? ", "y")


def test_what_is_installed_in_one_job_serves_every_other(
    shim_harness: ShimHarness, people_harness: PeopleHarness, guide: Guide, queue: str, fast: str
) -> None:
    member = Member(shim_harness, people_harness.person(), queue)
    prefix = f"{fast}/{member.name}/miniforge3"
    member.puts(installer(), f"/userhome/{NAME}")
    with member.shell("rack1") as shell:
        shell.read_until("$ ")
        shell.type(f"mkdir {fast}/{member.name}\n")
        for line in commands(guide.block("chmod u+x", NAME)):
            shell.type(line.replace("/path/to/your", "/userhome") + "\n")
        shell.answers(
            ("press ENTER to continue", ""),
            ("Do you accept the license terms? [yes|no]", "yes"),
            ("Or specify a different location below", prefix),
            ("to automatically initialize conda?", "yes"),
        )
        shell.read_until("Thank you for installing")
        shell.leave()

    with member.shell("rack2") as shell:
        shell.ready("base")
        (info,) = commands(guide.block("conda info"))
        assert f"base environment : {prefix}\r\n" in shell.do(info, "base")
        create, activate, python, packages = commands(guide.block("conda create"))
        shell.do(create, "base", YES)
        shell.do(activate, "myenv")
        shell.do(python, "myenv", YES)
        assert "- pytorch\r\n" in shell.do(packages, "myenv", YES)
        (path,) = re.findall(r"/\S+", shell.do("echo $PATH", "myenv"))
        shell.leave()

    shim_harness.file("main.py", "import sys; print(sys.prefix)\n")
    done = member.runs("rack1", "bash", "-ic", "conda activate myenv && python main.py")
    assert done.stdout.splitlines()[-1:] == [f"{prefix}/envs/myenv"], done.stderr
    # The launchers take along what is active where they are called.
    done = shim_harness.shell(guide.block("ilaunch"), env={**member.env, "PATH": path})
    assert done.stdout.splitlines() == [f"{prefix}/envs/myenv"] * 2, done.stderr

    with member.shell("rack1") as shell:
        shell.ready("base")
        (remove,) = commands(guide.block("conda remove"))
        shell.do(remove, "base", YES, ("Do you wish to continue?", "y"))
        shell.leave()
    done = member.runs("rack2", "bash", "-ic", "conda activate myenv && python main.py")
    assert done.returncode == 1
    assert "Could not find conda environment: myenv" in done.stdout


def test_anothers_installer_and_settings_serve_who_may_read_them(
    shim_harness: ShimHarness, people_harness: PeopleHarness, guide: Guide, queue: str
) -> None:
    group = people_harness.group()
    author = Member(shim_harness, people_harness.person(group), queue)
    member = Member(shim_harness, people_harness.person(group), queue)
    theirs = f"/mnt/share/{group}/{author.name}"

    copy = guide.block("cp ", ".condarc")
    homes = re.findall(r"(\S+)/\.condarc", commands(copy)[0])

    def here(block: str) -> str:
        (line,) = commands(block)
        for printed, path in zip(homes, (theirs, "/userhome"), strict=True):
            line = line.replace(printed, path)
        return line

    (run,) = (here(block) for block in guide.all(NAME) if "chmod" not in block)
    author.puts(installer(), run)
    author.puts(b"channels:\n  - https://mirror.lab/forge\n", f"{theirs}/.condarc")
    assert author.runs("rack1", "chmod", "755", run).returncode == 0
    with member.shell("rack1") as shell:
        shell.read_until("$ ")
        shell.type(f"{run}\n")
        shell.answers(
            ("press ENTER to continue", ""),
            ("Do you accept the license terms? [yes|no]", "yes"),
            ("Or specify a different location below", ""),
            ("to automatically initialize conda?", "yes"),
        )
        shell.read_until("Thank you for installing")
        shell.leave()
    with member.shell("rack2") as shell:
        shell.ready("base")
        shell.do(here(copy), "base")
        printed = shell.do("conda info", "base")
        assert "base environment : /userhome/miniforge3\r\n" in printed
        assert "channel URLs : https://mirror.lab/forge\r\n" in printed
        shell.leave()


def test_settings_made_on_one_node_hold_for_the_next_job(
    shim_harness: ShimHarness, guide: Guide
) -> None:
    need("pip", "python3-pip")
    on, off = commands(guide.block("pip config"))
    done = shim_harness.run("srun", "bash", "-c", on)
    assert done.returncode == 0, done.stderr
    assert shim_harness.run("srun", "pip", "config", "get", "global.index-url").stdout.split() == [
        on.split()[-1]
    ]
    assert shim_harness.run("srun", "bash", "-c", off).returncode == 0
    assert shim_harness.run("srun", "pip", "config", "get", "global.index-url").returncode != 0
