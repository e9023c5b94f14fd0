"""Starts ipykernel under whatever Python runs this, from 3.6 on: LAUNCH FOLDER -f FILE.

The packages of that Python come first; ours, in FOLDER, are only appended, unless they are needed
because its own are too old to go with them.
"""

import importlib.util
import os
import sys
from typing import Any


def load() -> Any:
    from ipykernel.kernelapp import IPKernelApp

    return IPKernelApp


def own_output(here: str) -> Any:
    """Loaded by its path: nothing of ours is found by the user's imports."""
    spec = importlib.util.spec_from_file_location("danlu_own_output", here + "/own_output.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.keep_off_ports


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    keep_off_ports = own_output(here)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    folder = sys.argv.pop(1)
    before = set(sys.modules)
    places = [None, len(sys.path), 0]
    for place in places:
        for name in set(sys.modules) - before:
            del sys.modules[name]
        sys.path[:] = [path for path in sys.path if path != folder]
        if place is not None:
            sys.path.insert(place, folder)
        try:
            app = load()
            break
        except Exception:
            if place == 0:
                raise
    if "DANLU_RUN" in os.environ:
        keep_off_ports(os.environ["DANLU_RUN"])
    app.launch_instance()


main()
