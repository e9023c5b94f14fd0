"""Stands in for Miniforge's installer, which no package registry has.

One file of the real one's name: a shell script with its payload behind it. It asks what the real
one asks, installs where it is told, and can write the marked block into ~/.bashrc. The `conda` that
it installs knows what guides tell people to type: activate, deactivate, info, create, install,
remove. Environments are real folders below the prefix. `python` in one is a venv of the machine's
Python; any other package is only noted as installed.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

NAME = "Miniforge3-Linux-x86_64.sh"
_HERE = Path(__file__).parent
_PAYLOAD = {"bin/conda": "conda.py", "etc/profile.d/conda.sh": "conda.sh"}


def installer() -> bytes:
    payload = io.BytesIO()
    with tarfile.open(fileobj=payload, mode="w") as tar:
        for name, file in _PAYLOAD.items():
            data = (_HERE / file).read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return (_HERE / "install.sh").read_bytes() + payload.getvalue()
