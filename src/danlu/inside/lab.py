"""JupyterLab, with the Pythons that the task has as its kernels."""

from __future__ import annotations


def lab(words: list[str]) -> int:
    from jupyterlab.labapp import LabApp

    from danlu.inside.kernels import Kernels

    LabApp.launch_instance(
        [
            *words,
            f"--ServerApp.kernel_spec_manager_class={Kernels.__module__}.{Kernels.__name__}",
            f"--MultiKernelManager.default_kernel_name={Kernels().first()}",
        ]
    )
    return 0
