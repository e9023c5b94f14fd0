"""TensorBoard on a Unix socket: SOCKET LINKS FOLDER...

Its faster data server listens on a port without asking who connects, so it is used only in a task
that has a network of its own, where nobody else can.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def tensorboard(words: list[str]) -> int:
    from tensorboard import default, program
    from werkzeug import serving

    socket, links, *folders = words

    class OnSocket(program.TensorBoardServer):  # type: ignore[misc]
        def __init__(self, app: Any, flags: object) -> None:
            mask = os.umask(0o177)
            self._server = serving.make_server(f"unix://{socket}", 0, app, threaded=True)
            os.umask(mask)

        def serve_forever(self) -> None:
            self._server.serve_forever()

        def get_url(self) -> str:
            return "http://localhost:1/"  # it insists on a port

        def print_serving_message(self) -> None:
            pass

    found = program.TensorBoard(plugins=default.get_plugins(), server_class=OnSocket)
    fast = "auto" if os.environ.get("DANLU_OFFLINE") else "false"
    found.configure(["tensorboard", "--logdir", _joined(links, folders), f"--load_fast={fast}"])
    sys.argv = ["tensorboard"]
    return int(found.main() or 0)


def _joined(links: str, folders: list[str]) -> str:
    """One folder to show: the only one, or one with a link to each."""
    if len(folders) == 1:
        return folders[0]
    os.makedirs(links, mode=0o700, exist_ok=True)
    for entry in os.listdir(links):
        os.unlink(os.path.join(links, entry))
    for folder in folders:
        name = base = os.path.basename(folder.rstrip("/")) or "root"
        number = 1
        while os.path.lexists(os.path.join(links, name)):
            number += 1
            name = f"{base}-{number}"
        os.symlink(folder, os.path.join(links, name))
    return links
