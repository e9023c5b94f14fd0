"""Starts ipykernel under whatever Python runs this, from 3.6 on: LAUNCH FOLDER -f FILE.

The packages of that Python come first; ours, in FOLDER, are only appended, unless they are needed
because its own are too old to go with them.
"""

import os
import sys
from typing import Any


def load() -> Any:
    from ipykernel.kernelapp import IPKernelApp

    return IPKernelApp


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
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
    app.launch_instance()


main()
