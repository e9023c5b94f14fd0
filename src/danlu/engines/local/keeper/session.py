"""One more process inside a running task (exec), served by a child of the keeper.

The child is forked from the keeper, so namespaces, cgroup, environment and identity are the
task's own, even after a server restart.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct

from danlu.engines.local.keeper import cgroup, command, frames, kept, terminal, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PIECE = 64 * 1024
_PARTING_SECONDS = 60.0
_PENDING_LIMIT = 256 * 1024
_LARGE_PIPE = 256 * 1024
_SIGNALS = frozenset(int(number) for number in signal.valid_signals())


class Ask:
    """A client's request, and what it has sent since."""

    def __init__(
        self,
        conn: socket.socket,
        values: dict[str, Any],
        reader: frames.Reader,
        early: list[tuple[bytes, bytes]],
    ) -> None:
        self.conn = conn
        self.values = values
        self.reader = reader
        self.early = early


def serve(
    ask: Ask,
    task: dict[str, Any],
    group: cgroup.Group | None,
    terminals: int,
    link: socket.socket | None,
    apart: bool,
) -> None:
    """Runs the command and relays its bytes until it ends, then sends its status.

    `link`: its terminal is kept when the connection is lost, and others come this way.
    `apart`: whoever asked gets the command's pipes and reads and writes them.
    """
    try:
        if apart:
            ask.values["tty"] = None
        session = Session(ask, task, group, terminals, kept.Link(link) if link else None, apart)
        if apart:
            session.run_apart()
        else:
            session.run()
    except command.CannotRun as error:
        answer = _answer(error.code, 0, error.values(), bool(ask.values.get("tty")))
        _say_goodbye(ask.conn, answer)


def _say_goodbye(conn: socket.socket, answer: bytes) -> None:
    """Input that was on its way is read: closing before would take the answer back."""
    with contextlib.suppress(OSError):
        conn.sendall(frames.pack(frames.EXIT, answer))
        conn.shutdown(socket.SHUT_WR)
        conn.settimeout(_PARTING_SECONDS)
        while conn.recv(_PIECE):
            pass
    conn.close()


def _answer(code: int, number: int, failure: dict[str, Any] | None, tty: bool) -> bytes:
    error = command.sentence(failure["hint"], failure["detail"]) if failure else ""
    answer = {"code": code, "signal": number or None, "error": error and error + "\r" * tty}
    return json.dumps(answer).encode()


class Session:
    def __init__(
        self,
        asked: Ask,
        task: dict[str, Any],
        group: cgroup.Group | None,
        terminals: int,
        link: kept.Link | None = None,
        apart: bool = False,
    ) -> None:
        ask = asked.values
        self._conn: socket.socket | None = asked.conn
        self._link = link
        self._history = kept.History()  # if it is kept
        self._unsent = b""
        self._reader = asked.reader
        self._early = asked.early
        self._tty = bool(ask.get("tty"))
        self._pending = b""
        self._input_ended = False
        env = task["processes"][0] | (ask.get("env") or {})
        if ask.get("cwd"):
            folder = str(ask["cwd"])
            task = task | {"workdir": env.get("HOME", "/") if folder == "~" else folder}
        if self._tty:
            env["TERM"] = str(ask["tty"]["term"])
        self._open(ask, terminals)
        if apart:
            self._give_away(asked.conn)
        for fd in self._theirs:
            command.hand_over(fd, task)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        words = [str(word) for word in ask["argv"]]
        starter = command.Starter(task, group)
        if ask.get("files"):
            self._pid, self._report = starter.serve_files(env, self._theirs), -1
        else:
            run_as = "shell" if ask.get("shell") else "argv"
            self._pid, self._report = starter.start(words, run_as, env, self._theirs, self._tty)
        for fd in set(self._theirs):
            os.close(fd)

    def _open(self, ask: dict[str, Any], terminals: int) -> None:
        if self._tty:
            master, slave = terminal.open_pair(terminals)
            size = frames.SIZE.pack(int(ask["tty"]["rows"]), int(ask["tty"]["cols"]))
            terminal.resize(master, size)
            self._theirs = (slave, slave, slave)
            self._input = master
            self._outputs = {master: frames.OUT}
        else:
            (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
            self._theirs = (in_r, out_w, err_w)
            self._input = in_w
            self._outputs = {out_r: frames.OUT, err_r: frames.ERR}
        os.set_blocking(self._input, False)

    def run(self) -> None:
        self._ended = os.pidfd_open(self._pid)
        gone = False
        if self._conn is not None and self._link is not None:
            self._conn.setblocking(False)  # it may be replaced at any time
        self._take(self._early)
        while self._outputs and not gone:
            gone = self._turn(dict(self._poll().poll()))
        self._finish()

    def _give_away(self, conn: socket.socket) -> None:
        """Before anything starts: whoever gets no pipes may ask again in another way."""
        pipes = (self._input, *self._outputs)
        for fd in pipes:
            os.set_blocking(fd, False)
            with contextlib.suppress(OSError):  # the user has too many: they are as small as usual
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _LARGE_PIPE)
        right = struct.pack("3i", *pipes)
        with contextlib.suppress(OSError):  # they are gone: noticed later
            conn.sendmsg(
                [frames.pack(frames.OPENED)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, right)]
            )
        for fd in pipes:
            os.close(fd)
        self._input = -1

    def run_apart(self) -> None:
        assert self._conn is not None
        ended = os.pidfd_open(self._pid)
        self._take(self._early)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(self._conn, select.POLLIN)
        while ended not in (ready := dict(poll.poll())):
            if self._conn.fileno() in ready and not self._hear(self._conn):
                self._hang_up()
        self._finish()

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        heard = 0 if self._unsent else select.POLLIN
        for fd in self._outputs if heard else ():
            poll.register(fd, heard)
        if self._pending and self._input >= 0:
            poll.register(self._input, select.POLLOUT | (heard if self._tty else 0))
        if self._link is not None:
            poll.register(self._link, select.POLLIN)
        listens = select.POLLIN if len(self._pending) < _PENDING_LIMIT else 0
        events = listens | (select.POLLOUT if self._unsent else 0)
        if self._conn is not None and events:
            poll.register(self._conn, events)
        return poll

    def _turn(self, ready: dict[int, int]) -> bool:
        """True: the process has ended and its last bytes were relayed."""
        if self._pending and ready.get(self._input, 0) & ~select.POLLIN:
            self._feed()
        if self._link is not None and self._link.fileno() in ready:
            self._change_over()
        elif self._conn is not None:
            self._serve(ready.get(self._conn.fileno(), 0))
        for fd in [fd for fd in self._outputs if fd in ready]:
            self._carry(fd)
        if self._ended not in ready:
            return False
        if self._conn is not None and self._link is not None:
            self._conn.settimeout(_PARTING_SECONDS)
        for fd in list(self._outputs):
            os.set_blocking(fd, False)
            while fd in self._outputs and self._carry(fd):
                pass
        return True

    def _serve(self, state: int) -> None:
        if state & select.POLLOUT:
            self._flush()
        if self._conn is not None and state & ~select.POLLOUT and not self._hear(self._conn):
            self._lose()

    def _carry(self, fd: int) -> bool:
        try:
            data = os.read(fd, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            del self._outputs[fd]
            return False
        if self._link is not None:
            self._history.add(data)
        self._say(frames.pack(frames.OUT if self._tty else self._kind(fd), data))
        return True

    def _say(self, data: bytes) -> None:
        if self._conn is not None:
            self._unsent += data
            self._flush()

    def _flush(self) -> None:
        while self._unsent and self._conn is not None:
            try:
                self._unsent = self._unsent[self._conn.send(self._unsent) :]
            except BlockingIOError:
                return
            except OSError:
                self._lose()

    # -- connections that come and go ---------------------------------------------------------

    def _lose(self) -> None:
        if self._link is None:
            self._hang_up()
        self._let_go()
        self._link.tell_left()

    def _let_go(self) -> None:
        if self._conn is not None:
            self._conn.close()
        self._conn, self._unsent = None, b""

    def _change_over(self) -> None:
        """Another connection takes the place of the one there was."""
        assert self._link is not None
        found = self._link.receive()
        if found is None:
            self._hang_up()
        self._welcome(*found)

    def _welcome(self, conn: socket.socket, data: bytes) -> None:
        if self._conn is not None and not self._unsent:
            with contextlib.suppress(OSError):
                self._conn.send(frames.pack(frames.EXIT, json.dumps({"taken": True}).encode()))
        self._let_go()
        conn.setblocking(False)
        self._conn, self._reader = conn, frames.Reader()
        (_, size), *asked = self._reader.feed(data)
        tty = json.loads(size)
        terminal.resize(self._input, frames.SIZE.pack(int(tty["rows"]), int(tty["cols"])))
        if self._foreground():  # for what fills the screen: of the same size it may be
            tree.signal_group(self._foreground(), signal.SIGWINCH)
        history = self._history.replay()
        for at in range(0, len(history), _PIECE):
            self._say(frames.pack(frames.OUT, history[at : at + _PIECE]))
        self._take(asked)

    def _hang_up(self) -> NoReturn:
        """The one who asked is gone."""
        # With a shell that ends just when its terminal does, the kernel may forget its foreground.
        for group in {self._pid, self._foreground() or self._pid}:
            tree.signal_group(group, signal.SIGHUP)
            tree.signal_group(group, signal.SIGCONT)
        os._exit(0)

    def _foreground(self) -> int:
        """The group of processes that the terminal talks to; 0: none."""
        try:
            return max(0, os.tcgetpgrp(self._input)) if self._tty else 0
        except OSError:
            return 0

    # -- what it is told ----------------------------------------------------------------------

    def _kind(self, fd: int) -> bytes:
        return self._outputs[fd]

    def _hear(self, conn: socket.socket) -> bool:
        try:
            data = conn.recv(_PIECE)
            asked = self._reader.feed(data)
        except BlockingIOError:
            return True
        except (OSError, ValueError):
            return False
        self._take(asked)
        return bool(data)

    def _take(self, asked: list[tuple[bytes, bytes]]) -> None:
        for kind, body in asked:
            if kind == frames.INPUT:
                self._pending += body
            elif kind == frames.RESIZE and self._tty:
                terminal.resize(self._input, body)
            elif kind == frames.END_OF_INPUT:
                self._input_ended = True
            elif kind == frames.SIGNAL and body and body[0] in _SIGNALS:
                if self._link is not None and body[0] == signal.SIGHUP:
                    self._hang_up()  # the only way to end it, and all that it holds
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._pid, body[0])
        self._feed()

    def _feed(self) -> None:
        if self._input < 0:
            self._pending = b""
            return
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._input, self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            self._pending = b""
        if self._input_ended:
            self._input_ended = False
            if self._tty:
                os.write(self._input, b"\x04")
            else:
                os.close(self._input)
                self._input = -1

    def _finish(self) -> None:
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        failed = os.read(self._report, 4096) if self._report >= 0 else b""
        failure = json.loads(failed) if failed else None
        answer = _answer(code if code >= 0 else 128 - code, max(0, -code), failure, self._tty)
        if self._link is not None and (last := self._link.last()) is not None:
            self._welcome(*last)
            last[0].settimeout(_PARTING_SECONDS)
        self._flush()
        if self._conn is not None:
            _say_goodbye(self._conn, answer)
