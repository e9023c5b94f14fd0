"""`danlu shims install`: installs the foreign commands on the PATH."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.main import NAMES

MARK = "# A command of another platform, answered by Danlu."


def target_folder(given: str | None) -> str:
    """The folder given by the user, else that of `danlu` itself, or ~/.local/bin."""
    if given:
        return os.path.abspath(os.path.expanduser(given))
    beside = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv[0] else ""
    if os.path.basename(sys.argv[0]) == "danlu" and os.access(beside, os.W_OK):
        return beside
    return os.path.expanduser("~/.local/bin")


def install(folder: str, names: list[str], over: bool) -> tuple[list[str], dict[str, str]]:
    """What was installed, and what was skipped because a real one exists."""
    os.makedirs(folder, exist_ok=True)
    done: list[str] = []
    left: dict[str, str] = {}
    for name in names or list(NAMES):
        real = real_one(name)
        if real and not over:
            left[name] = real
            continue
        path = os.path.join(folder, name)
        draft = f"{path}.{os.getpid()}"
        with open(draft, "w") as file:
            file.write(script(name))
        os.chmod(draft, 0o755)  # noqa: S103 - a command is for everybody to run
        os.replace(draft, path)
        done.append(name)
    return done, left


def script(name: str) -> str:
    return (
        f'#!{sys.executable}\n{MARK}\nfrom danlu.cli.shims.main import start\n\nstart("{name}")\n'
    )


def remove(folder: str, names: list[str]) -> list[str]:
    gone = []
    for name in names or list(NAMES):
        path = os.path.join(folder, name)
        if is_ours(path):
            os.remove(path)
            gone.append(name)
    return gone


def real_one(name: str) -> str | None:
    """The command of this name on the PATH, if it is not ours."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and not is_ours(path):
            return path
    return None


def is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return MARK.encode() in file.read(4096)
    except OSError:
        return False
