"""JupyterLab, with the Pythons that the task has as its kernels."""

from __future__ import annotations

import sys


def lab(words: list[str]) -> int:
    _start_faster()
    from jupyterlab.labapp import LabApp

    from danlu.inside.kernels import Kernels, Manager

    LabApp.launch_instance(
        [
            *words,
            f"--ServerApp.kernel_spec_manager_class={Kernels.__module__}.{Kernels.__name__}",
            f"--ServerApp.kernel_manager_class={Manager.__module__}.{Manager.__name__}",
        ]
    )
    return 0


def _start_faster() -> None:
    """Leaves out what takes most of the time until JupyterLab listens, and what nobody needs."""
    # Optional for jsonschema, for internationalized addresses: makes a parser when it is imported.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    from jupyterlab import commands

    # Asks Node for yarn's settings, if there is a Node: for builds, which it never makes here.
    commands._yarn_config = lambda logger: {"yarn config": {}, "npm config": {}}
