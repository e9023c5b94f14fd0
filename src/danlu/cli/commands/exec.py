"""`danlu exec`: runs a command beside a running task."""

from __future__ import annotations

import os

from danlu.cli import codes
from danlu.cli.commands.run import stdin_kind
from danlu.cli.failure import Failure
from danlu.cli.feed import PIECE, Keys
from danlu.cli.loop import Loop
from danlu.cli.options import UsageError
from danlu.cli.terminal import Terminal, say, write_all
from danlu.cli.texts import t
from danlu.sdk.execution import INPUT, OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk.execution import Execution

SIGWINCH = 28


def exec(session: Session, args: Args) -> int:
    words = args.tail or []
    if not words:
        raise UsageError("flags.no_command_exec", "exec")
    if session.json:
        raise UsageError("logs.no_json", "exec")
    kind = stdin_kind(args)
    terminal = Terminal(0) if kind == "tty" else None
    size = terminal.size() if terminal else None
    tty = (*(size or (24, 80)), os.environ.get("TERM") or "xterm") if terminal else None
    task = args.integer("task") or 0
    running = session.client.exec(args.words[0], words, task=task, tty=tty)
    conversation = _Conversation(running, terminal, kind)
    try:
        code = conversation.hold()
    finally:
        conversation.close()
    if code is None:
        cause = running.refusal or t("exec.cut")
        raise Failure("exec.refused", codes.NEVER_RAN, ref=args.words[0], cause=cause)
    return code & 0xFF


class _Conversation:
    """Copies both directions until the command ends."""

    def __init__(self, running: Execution, terminal: Terminal | None, kind: str) -> None:
        self._running = running
        self._terminal = terminal
        self._kind = kind
        self._loop = Loop()
        self._keys = Keys(self._loop.stop, lambda: say(t("exec.keys")), None)
        self._reading = False

    def hold(self) -> int | None:
        running, loop = self._running, self._loop
        if self._terminal is not None:
            self._terminal.make_raw()
            loop.on_signal(SIGWINCH, self._resized)
        if self._kind == "none":
            running.end_input()
        else:
            self._read_input(True)
        loop.on_readable(running.fileno(), self._from_server)
        if running.has_early:
            self._from_server()
        if running.code is None and running.socket.closed is None:
            loop.run()
        return running.code

    def _read_input(self, wanted: bool) -> None:
        if wanted and not self._reading:
            self._loop.on_readable(0, self._from_user)
        elif not wanted and self._reading:
            self._loop.forget(0)
        self._reading = wanted

    def _resized(self) -> None:
        size = self._terminal.size() if self._terminal else None
        if size:
            self._running.resize(*size)

    def _from_server(self) -> None:
        pieces = self._running.read()
        for kind, data in pieces or []:
            write_all(1 if kind == OUT else 2, data)
        if pieces is None or self._running.code is not None or self._running.socket.closed:
            self._running.note_refusal()
            self._loop.stop()

    def _from_user(self) -> None:
        try:
            data = os.read(0, PIECE)
        except OSError:
            data = b""
        if not data:
            self._read_input(False)
            self._kind = "none"
            self._running.end_input()
            return
        if self._terminal is not None:
            data = self._keys(data)
        if data:
            self._running.socket.queue(bytes((INPUT,)) + data)
            self._flush()

    def _flush(self) -> None:
        socket = self._running.socket
        socket.flush()
        blocked = socket.has_outgoing
        self._loop.on_writable(socket.fileno(), self._flush if blocked else None)
        if self._kind != "none":
            self._read_input(not blocked)

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.restore()
        self._loop.close()
        self._running.close()
