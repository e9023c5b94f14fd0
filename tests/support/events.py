"""Event files as TensorBoard reads them: a curve that falls."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.tools import tools_venv

WRITE = """
import sys
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1])
for step in range(20):
    value = Summary.Value(tag="loss", simple_value=1 / (step + 1))
    writer.add_event(Event(step=step, wall_time=step, summary=Summary(value=[value])))
writer.close()
"""
"""A program for the Python of the tools; its argument is the folder."""


def for_everybody(folder: Path) -> Path:
    """Event files that every task can read."""
    subprocess.run([tools_venv() / "bin/python", "-c", WRITE, folder], check=True)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder
