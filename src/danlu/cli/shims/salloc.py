"""`salloc`: a shell (or command) on the first node of an allocation, where srun uses all nodes."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.srun import in_foreground, options


def salloc(words: list[str]) -> int:
    flags = options().read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    command = flags.words
    if not command:
        command = [os.environ.get("SHELL") or "/bin/bash"]
        flags.add("pty", "")
    return in_foreground("salloc", flags, command)
