"""A line to PostgreSQL that loses exactly one COMMIT, or the answer to it."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
from enum import Enum

_SOCKET = ".s.PGSQL.5432"


class Lose(Enum):
    REQUEST = "the COMMIT never reaches the database"
    ANSWER = "the database commits, its answer is lost"
    BOTH_FOR_A_WHILE = "the line breaks, and the COMMIT arrives only a while later"


class LossyLine:
    """Connect to `folder` instead of the server's. Losing is armed until it happened once."""

    def __init__(self, server_folder: str) -> None:
        self._server = os.path.join(server_folder, _SOCKET)
        self.folder = tempfile.mkdtemp(prefix="danlu-line-")
        self.lose: Lose | None = None
        self.lost = 0
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(os.path.join(self.folder, _SOCKET))
        self._door.listen(20)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        os.unlink(os.path.join(self.folder, _SOCKET))
        os.rmdir(self.folder)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with client, server, contextlib.suppress(OSError):
            server.connect(self._server)
            threading.Thread(target=_copy, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                if self.lose is not None and b"COMMIT\0" in data:
                    self._lose(client, server, data)
                    return
                server.sendall(data)

    def _lose(self, client: socket.socket, server: socket.socket, commit: bytes) -> None:
        how, self.lose = self.lose, None
        self.lost += 1
        client.shutdown(socket.SHUT_RDWR)
        if how is Lose.REQUEST:
            server.shutdown(socket.SHUT_RDWR)
            return
        if how is Lose.BOTH_FOR_A_WHILE:
            time.sleep(1)
        server.sendall(commit)
        # Until the server closes: it is done with the transaction, one way or the other.
        server.shutdown(socket.SHUT_WR)
        while server.recv(65536):
            pass


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
