"""Starting is cheap: what costs time is not imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

from tests.support.server import DanluServer

SLOW = [
    *(
        "argparse",
        "asyncio",
        "collections",
        "contextlib",
        "dataclasses",
        "email",
        "enum",
        "functools",
    ),
    *(
        "getpass",
        "hashlib",
        "http",
        "inspect",
        "json",
        "logging",
        "pathlib",
        "re",
        "shutil",
        "signal",
    ),
    *("socket", "ssl", "subprocess", "tempfile", "threading", "typing", "urllib", "uuid"),
]


def imported(server: DanluServer, *words: str) -> set[str]:
    code = (
        "import sys; before = set(sys.modules); from danlu.cli.main import main;"
        "code = main(sys.argv[1:]); print(*sorted(set(sys.modules) - before), file=sys.stderr);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=server.env,
        cwd=tempfile.gettempdir(),
        check=True,
    )
    # Before it, on a busy machine, stands why the job has not begun.
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ["jobs"],
        ["jobs", "--json"],
        ["nodes"],
        ["gpus"],
        ["run", "true"],
        ["run", "-d", "true"],
        ["whoami", "--json"],
    ],
    ids=" ".join,
)
def test_common_commands_import_nothing_slow(server: DanluServer, words: list[str]) -> None:
    found = imported(server, *words)
    assert "danlu.cli.dispatch" in found
    if words[0] != "whoami":
        assert found & set(SLOW) == set()


def test_the_version_takes_three_small_modules(server: DanluServer) -> None:
    assert imported(server, "--version") == {"danlu", "danlu.cli", "danlu.cli.main"}


def test_nothing_but_the_standard_library_and_the_client_is_used(server: DanluServer) -> None:
    found = imported(server, "run", "true")
    foreign = {
        name
        for name in found
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not name.startswith(("danlu.cli", "danlu.sdk"))
    }
    assert foreign == {"danlu"}
