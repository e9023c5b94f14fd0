"""A driver library for machines without GPUs: it answers as NVML does, from a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.folders import let_in
from tests.support.parts import need

_SOURCE = Path(__file__).with_name("fake_nvml.c")
_OPTIONS = ("-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libnvidia-ml.so.1")


class FakeDriver:
    """What is started with `env` besides its own finds a driver that answers what it `says`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        let_in(folder)
        library = folder / "libnvidia-ml.so.1"
        subprocess.run(
            [need("gcc", "gcc libc6-dev"), *_OPTIONS, "-o", str(library), str(_SOURCE)],
            check=True,
        )
        self._state = folder / "gpus"
        self.says()
        self.env = {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML": str(self._state)}

    def says(self, *lines: str) -> None:
        draft = self._state.with_suffix(".new")
        draft.write_text("".join(f"{line}\n" for line in lines))
        draft.replace(self._state)
