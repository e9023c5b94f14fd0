"""The kernels of JupyterLab are the Pythons that the task has."""

from __future__ import annotations

import glob
import os
import re
import threading
import time
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.ioloop import IOLoop
from traitlets import default

from danlu.inside.pythons import Python, Pythons

_HERE = os.path.dirname(os.path.abspath(__file__))
_LAUNCH = f"{_HERE}/launch.py"
_ACTIVATE = ("/bin/sh", f"{_HERE}/activate.sh")
_FRESH = 2.0  # seconds for which an answer is good
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")

_shared: dict[str, Any] = {"at": -_FRESH, "specs": {}, "pythons": None}
_looking = threading.Lock()


class Kernels(KernelSpecManager):  # type: ignore[misc]
    """Also offers what is installed in the usual folders, such as kernels of other languages."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.ensure_native_kernel = False

    def first(self) -> str:
        return next(iter(self.find_kernel_specs()), "python3")

    def find_kernel_specs(self) -> dict[str, str]:
        found = {name: spec.resource_dir for name, spec in _ours().items()}
        tools = os.environ["DANLU_TOOLS"]
        for name, folder in super().find_kernel_specs().items():
            if not folder.startswith(f"{tools}/"):
                found.setdefault(name, folder)
        return found

    def get_kernel_spec(self, kernel_name: str) -> Any:
        ours = _ours()
        if kernel_name in ours:
            return ours[kernel_name]
        try:
            return super().get_kernel_spec(kernel_name)
        except NoSuchKernel:
            if kernel_name.startswith("python") and ours:  # a notebook from elsewhere
                return next(iter(ours.values()))
            raise

    def get_all_specs(self) -> dict[str, Any]:
        return {
            name: {"resource_dir": folder, "spec": self.get_kernel_spec(name).to_dict()}
            for name, folder in self.find_kernel_specs().items()
        }


class Manager(AsyncMappingKernelManager):  # type: ignore[misc]
    """Looks for Pythons once JupyterLab listens, which need not wait for their answers."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        IOLoop.current().add_callback(threading.Thread(target=_ours, daemon=True).start)

    @default("default_kernel_name")  # type: ignore[untyped-decorator]
    def _first(self) -> str:
        return str(self.kernel_spec_manager.first())


def _ours() -> dict[str, Any]:
    with _looking:
        if time.monotonic() - _shared["at"] >= _FRESH:
            _look()
        found: dict[str, Any] = _shared["specs"]
        return found


def _look() -> None:
    tools = os.environ["DANLU_TOOLS"]
    _shared["pythons"] = _shared["pythons"] or Pythons(tools)
    specs: dict[str, Any] = {}
    for python in _shared["pythons"].find():
        name = _name_of(python)
        specs[name] = _spec(python, name)
        specs |= _others(python, name)
    _shared["specs"] = specs or {"python3": _tools_own(tools)}
    _shared["at"] = time.monotonic()


def _spec(python: Python, name: str) -> Any:
    shown = f"Python {python.version}"
    return KernelSpec(
        argv=[*_before(python), python.program, _LAUNCH, python.folder, "-f", "{connection_file}"],
        display_name=f"{python.label} ({shown})" if python.prefix else f"{shown} ({python.label})",
        language="python",
        interrupt_mode="signal",
        env=_env(python),
        metadata={"debugger": python.own, "danlu": {"prefix": python.prefix, "kind": python.kind}},
        resource_dir="",
        name=name,
    )


def _others(python: Python, name: str) -> dict[str, Any]:
    """Kernels of other languages in its environment."""
    found: dict[str, Any] = {}
    if not python.prefix:
        return found
    for path in glob.glob(f"{glob.escape(python.prefix)}/share/jupyter/kernels/*/kernel.json"):
        folder = os.path.dirname(path)
        try:
            spec = KernelSpec.from_resource_dir(folder)
        except Exception:  # noqa: S112 - whatever somebody has put there
            continue
        if spec.language != "python":
            spec.argv = [*_before(python), *spec.argv]
            spec.display_name = f"{spec.display_name} ({python.label})"
            found[f"{name}-{os.path.basename(folder)}".lower()] = spec
    return found


def _tools_own(tools: str) -> Any:
    """If the task has no Python at all."""
    return KernelSpec(
        argv=[f"{tools}/bin/python", _LAUNCH, "", "-f", "{connection_file}"],
        display_name="Python (Danlu)",
        language="python",
        resource_dir="",
        name="python3",
    )


def _before(python: Python) -> tuple[str, ...]:
    if python.kind == "conda" and os.path.exists(_ACTIVATE[0]):
        return (*_ACTIVATE, python.prefix)
    return ()


def _env(python: Python) -> dict[str, str]:
    if python.kind != "venv":
        return {}
    return {"VIRTUAL_ENV": python.prefix, "PATH": f"{python.prefix}/bin:{os.environ['PATH']}"}


def _name_of(python: Python) -> str:
    text = f"{python.kind}-{python.label}-{python.prefix or python.program}".lower()
    return _NOT_IN_NAMES.sub("-", text).strip("-")[:200]
