"""Finds the Pythons that a task has: of the image or machine, conda, virtual environments, pyenv.

Each is asked for its version before it is offered: one that cannot start would keep a notebook
waiting. Nothing needs to be installed in them.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_CONDAS = (
    "/opt/conda",
    "/opt/*conda*",
    "/opt/miniforge*",
    "/opt/mambaforge*",
    "/usr/local/*conda*",
    "~/*conda*",
    "~/miniforge*",
    "~/mambaforge*",
    "~/micromamba",
    "~/.conda",
    "~/.local/share/mamba",
)
_VENVS = (
    "~/.virtualenvs/*",
    "~/.venv",
    "~/venv",
    "~/*",
    "~/*/.venv",
    "~/*/venv",
    "/opt/venv",
    "/venv",
    "/app/.venv",
    "/workspace/.venv",
)
_VERSIONS = ("~/.pyenv/versions/*", "/usr/local/pyenv/versions/*", "~/.local/share/uv/python/*")
_USUAL = ("/usr/local/bin", "/usr/bin", "/bin")
_PROGRAM = re.compile(r"python3(\.\d+)?")
_DULL = ("venv", ".venv", "env")
_MOST = 100
_PATIENCE = 10.0  # seconds that a Python has to tell its version

# Which C library it has: those for musl do not know this word, whatever older ones call themselves.
_ASK = (
    "import os, sys, json\n"
    "try:\n"
    " from importlib.util import find_spec\n"
    " own = find_spec('ipykernel') is not None\n"
    "except Exception: own = False\n"
    "try: libc = 'gnu' if os.confstr('CS_GNU_LIBC_VERSION') else 'musl'\n"
    "except (ValueError, OSError): libc = 'musl'\n"
    "fits = True\n"
    "if libc == 'gnu':\n"  # our pyzmq brings it along only for musl
    " try:\n"
    "  import ctypes\n"
    "  ctypes.CDLL('libstdc++.so.6')\n"
    " except ImportError: pass\n"
    " except OSError: fits = False\n"
    "print(json.dumps([sys.version_info[:2], libc, own, fits]))"
)


@dataclass(frozen=True)
class Python:
    program: str
    prefix: str  # of a conda or virtual environment
    kind: str  # conda, venv, pyenv or system
    label: str
    version: str = ""  # 3.11
    folder: str = ""  # of our packages for it: cp311-gnu
    own: bool = False  # it has ipykernel itself


class Pythons:
    """Remembers what each program has answered."""

    def __init__(self, tools: str) -> None:
        self._tools = tools
        self._known: dict[tuple[str, float], Python | None] = {}

    def find(self) -> list[Python]:
        """Those that can be a kernel, the nearest first."""
        candidates = list(_candidates(self._tools))[:_MOST]
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(self._look, candidates)
            return [python for python in answers if python is not None]

    def _look(self, python: Python) -> Python | None:
        key = (python.program, _changed(python))
        if key not in self._known:
            self._known[key] = self._ask(python)
        return self._known[key]

    def _ask(self, python: Python) -> Python | None:
        try:
            done = subprocess.run(
                [python.program, "-c", _ASK],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=True,
            )
            version, libc, own, fits = json.loads(done.stdout.splitlines()[-1])
        except (OSError, ValueError, IndexError, subprocess.SubprocessError):
            return None
        folder = f"{self._tools}/kernels/cp{version[0]}{version[1]}-{libc}"
        if not own and not (fits and os.path.isdir(folder)):
            return None
        shown = f"{version[0]}.{version[1]}"
        return Python(
            python.program, python.prefix, python.kind, python.label, shown, folder, bool(own)
        )


def _changed(python: Python) -> float:
    """Packages may have been installed in it since."""
    newest = 0.0
    packages = glob.glob(f"{python.prefix}/lib/python3*/site-packages") if python.prefix else []
    for path in (python.program, *packages):
        try:
            newest = max(newest, os.stat(path).st_mtime)
        except OSError:
            continue
    return newest


def _candidates(tools: str) -> Iterator[Python]:
    seen: set[str] = set()
    for path, kind, label in (*_active(), *_condas(), *_venvs(), *_versions()):
        prefix = path.rstrip("/")
        program = _program_in(prefix)
        if program is None or os.path.realpath(prefix) in seen:
            continue
        seen.add(os.path.realpath(prefix))
        if kind != "venv":  # whose Python is a link to another
            seen.add(os.path.realpath(program))
        yield Python(program, prefix, kind, label)
    for folder in dict.fromkeys((*os.environ.get("PATH", "").split(":"), *_USUAL)):
        if not folder or _is_below(folder, tools):
            continue
        for program in sorted(glob.glob(f"{glob.escape(folder)}/python3*")):
            real = os.path.realpath(program)
            if _PROGRAM.fullmatch(os.path.basename(program)) and real not in seen:
                seen.add(real)
                if os.access(program, os.X_OK):
                    yield Python(program, "", "system", folder)


def _active() -> Iterator[tuple[str, str, str]]:
    """Those that the image or the job has activated."""
    if venv := os.environ.get("VIRTUAL_ENV"):
        yield venv, "venv", _venv_name(venv)
    if conda := os.environ.get("CONDA_PREFIX"):
        yield conda, "conda", _conda_name(conda)


def _condas() -> Iterator[tuple[str, str, str]]:
    bases = [os.path.dirname(os.path.dirname(os.environ.get("CONDA_EXE", "")))]
    for pattern in _CONDAS:
        bases += sorted(glob.glob(os.path.expanduser(pattern)))
    try:
        with open(os.path.expanduser("~/.conda/environments.txt"), encoding="utf-8") as file:
            bases += file.read(1 << 20).splitlines()
    except (OSError, ValueError):
        pass
    for base in dict.fromkeys(filter(None, bases)):
        for path in (base, *sorted(glob.glob(f"{glob.escape(base)}/envs/*"))):
            if os.path.isdir(f"{path}/conda-meta"):
                yield path, "conda", _conda_name(path)


def _conda_name(path: str) -> str:
    above = os.path.basename(os.path.dirname(path))
    return os.path.basename(path) if above == "envs" else "base"


def _venvs() -> Iterator[tuple[str, str, str]]:
    for pattern in _VENVS:
        for mark in sorted(glob.glob(f"{os.path.expanduser(pattern)}/pyvenv.cfg")):
            path = os.path.dirname(mark)
            yield path, "venv", _venv_name(path)


def _venv_name(path: str) -> str:
    name = os.path.basename(path.rstrip("/"))
    return os.path.basename(os.path.dirname(path)) or name if name in _DULL else name


def _versions() -> Iterator[tuple[str, str, str]]:
    for pattern in _VERSIONS:
        for path in sorted(glob.glob(os.path.expanduser(pattern))):
            if not os.path.islink(path):
                yield path, "pyenv", os.path.basename(path)


def _program_in(prefix: str) -> str | None:
    for name in ("python", "python3"):
        if os.access(f"{prefix}/bin/{name}", os.X_OK):
            return f"{prefix}/bin/{name}"
    return None


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")
