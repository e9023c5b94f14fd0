"""The network between a browser and the server: slow, and cut in the middle."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

PIECE = 1 << 16


class Wire:
    """Passes connections on. `rate`: bytes a second from the browser to the server; None: all."""

    def __init__(self, port: int, rate: float | None = None) -> None:
        self._port = port
        self.rate = rate
        self._up = threading.Event()
        self._up.set()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Whoever is connected is no more, and nobody can connect."""
        self._up.clear()
        for each in list(self._open):
            with contextlib.suppress(OSError):
                # Reset: a browser that still sends would not notice a mere end.
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)

    def mend(self, rate: float | None = None) -> None:
        self.rate = rate
        self._up.set()

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                browser, _ = self._listener.accept()
            except OSError:
                return
            try:
                if not self._up.is_set():
                    raise OSError
                server = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                browser.close()
                continue
            self._open |= {browser, server}
            for one, other, slow in ((browser, server, True), (server, browser, False)):
                threading.Thread(target=self._pass, args=(one, other, slow), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, slow: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := one.recv(PIECE):
                other.sendall(piece)
                if slow and self.rate is not None:
                    time.sleep(len(piece) / self.rate)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
                each.close()
        self._open -= {one, other}
