"""Follows jobs until they end: output, input, signals, and why they wait."""

from __future__ import annotations

import time

from danlu.cli import codes
from danlu.cli.follow import Absence, LabelledSink, Tail, plain_sink
from danlu.cli.formats import duration, hour
from danlu.cli.loop import Loop
from danlu.cli.terminal import Terminal, ask_key, clear_status, is_terminal, say, show_status
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError, Lost, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.feed import Feed
    from danlu.sdk import model
    from danlu.sdk.client import Client

FIRST_LOOK, NEXT_LOOKS = 1.0, 3.0
SIGWINCH = 28
ACTIVE = ("queued", "starting")


class Leave(Exception):
    """The user detached; the job continues."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class RunFollower:
    """Follows the tasks of newly submitted jobs."""

    def __init__(self, client: Client, jobs: list[model.Job], patience: float, quiet: bool) -> None:
        self.client = client
        self.jobs = jobs
        self.loop = Loop()
        self.interrupts = 0
        self._quiet = quiet
        self._patience = patience
        self._absence = Absence(patience)
        self._tails: list[Tail] = []
        self._sinks: list[LabelledSink] = []
        self._open = 0
        self._has_output = False
        self._last_words = ""
        self._feed: Feed | None = None
        self._terminal: Terminal | None = None

    @property
    def ref(self) -> str:
        first = self.jobs[0]["ref"]
        return first if len(self.jobs) == 1 else first.rpartition(".")[0]

    # Output

    def show(
        self, split: bool, muted: bool = False, first: bool = False, lines: int | None = None
    ) -> None:
        """Prints the logs of all tasks on stdout; with `split`, stderr on stderr.

        `muted`: only waits for the logs; `first`: only that of the first task; `lines`: begins
        with so many of the last ones.
        """
        places = [
            (job, task)
            for job in self.jobs
            for task in range(1 if first else job.get("task_count") or 1)
        ]
        for job, task in places:
            label = "" if len(places) == 1 else _label(job, task, len(self.jobs) > 1)
            for fd, stream in ((1, "out"), (2, "err")) if split else ((1, "out"),):
                log = self.client.log_stream(
                    job["id"], task=task, stream=stream, follow=True, tail=lines
                )
                sink = _nowhere if muted else self._sink(fd, label)
                tail = Tail(self.loop, log, sink, self._absence, self._tail_ended)
                self._tails.append(tail)
        self._open = len(self._tails)
        for tail in self._tails:
            tail.start()

    def _sink(self, fd: int, label: str) -> Callable[[bytes], None]:
        write: Callable[[bytes], None] = plain_sink(fd)
        if label:
            labelled = LabelledSink(fd, label)
            self._sinks.append(labelled)
            write = labelled

        def sink(data: bytes) -> None:
            if not self._has_output:
                self._has_output = True
                clear_status()
            write(data)

        return sink

    def _tail_ended(self) -> None:
        self._open -= 1
        if self._open == 0:
            self.loop.stop()

    # Why it waits

    def explain(self) -> None:
        """Prints why the job waits, once that takes long enough to be noticed."""
        if not self._quiet:
            self.loop.after(FIRST_LOOK, self._look)

    def _look(self) -> None:
        if self._has_output:
            return
        try:
            why = self.client.why(self.jobs[0]["id"])
        except Exception:
            why = {"state": "queued"}  # lost connections are reported by the log streams
        if why["state"] not in ACTIVE:
            clear_status()
            return
        self._tell(why)
        self.loop.after(NEXT_LOOKS, self._look)

    def _tell(self, why: model.Why) -> None:
        """On a terminal one line that is kept current, else a line for every change."""
        words = str(pick(why, "sentence") or "")
        if not words:
            return
        if is_terminal(2):
            show_status(f"{self.ref}: {waiting_words(why)}")
        elif words != self._last_words:
            say(f"{self.ref}: {words}")
        self._last_words = words

    # Input and signals

    def feed_with(self, feed: Feed, terminal: Terminal | None) -> None:
        self._feed, self._terminal = feed, terminal
        if terminal is not None:
            self.loop.on_signal(SIGWINCH, self.send_size)
        feed.start()

    def begin_typing(self) -> None:
        """The task has started: the terminal is now its own."""
        self._has_output = True
        clear_status()
        if self._terminal is not None:
            self._terminal.make_raw()
            self.send_size()

    def send_size(self) -> None:
        size = self._terminal.size() if self._terminal else None
        if size and self._feed:
            self._feed.resize(*size)

    def listen(self) -> None:
        self.loop.on_signal(codes.SIGINT, self.interrupted)
        self.loop.on_signal(codes.SIGTERM, lambda: self.leave(codes.SIGNALLED + codes.SIGTERM))
        self.loop.on_signal(codes.SIGHUP, lambda: self.leave(codes.SIGNALLED + codes.SIGHUP))

    def interrupted(self) -> None:
        """Ctrl-C: asks if someone can answer, else stops the job."""
        self.interrupts += 1
        if self.interrupts > 2:
            raise KeyboardInterrupt
        key = ask_key(t("ask.interrupt", ref=self.ref)) if self.interrupts == 1 else "s"
        if key in ("d", "D"):
            self.leave(codes.OK)
        elif key is None or key in ("s", "S", "\x03"):
            self.stop_jobs(now=self.interrupts == 2)
        else:
            self.interrupts = 0
            say(t("ask.goes_on"))

    def interrupted_key(self) -> bool:
        """The same for Ctrl-C in a raw terminal; returns whether the task gets the key."""
        key = ask_key(t("ask.interrupt_key", ref=self.ref))
        if key in ("d", "D"):
            self.leave(codes.OK)
        elif key in ("s", "S"):
            self.stop_jobs(now=False)
        elif key in (None, "i", "I", "\x03"):
            return True
        else:
            say(t("ask.goes_on"))
        return False

    def stop_jobs(self, now: bool) -> None:
        say(t("stop.now" if now else "stop.politely", ref=self.ref))
        try:
            for job in self.jobs:
                self.client.stop(job["id"], now=now)
        except (Lost, Unreachable, ApiError) as error:
            self.interrupts = 0
            say(t("stop.failed", ref=self.ref, cause=str(error)))

    def leave(self, code: int) -> None:
        raise Leave(code)

    # The end

    def stay(self) -> list[model.Job]:
        """Until everything is printed and the jobs have ended."""
        self.loop.run()
        self.loop.close()  # from here on an interrupt ends us like any program
        for sink in self._sinks:
            sink.finish()
        ended = [
            self.client.wait(job["id"], patience=self._patience, on_lost=self._absence.note)
            for job in self.jobs
        ]
        self._absence.over()
        return ended

    def close(self) -> None:
        clear_status()
        if self._terminal is not None:
            self._terminal.restore()
        if self._feed is not None:
            self._feed.close()
        for tail in self._tails:
            tail.close()
        self.loop.close()


def waiting_words(why: model.Why) -> str:
    """A job's place in the queue, when it should start and why it waits, on one line."""
    parts: list[str] = []
    if why.get("position") is not None:
        parts.append(t("run.position", position=why["position"]))
    eta = why.get("eta")
    if eta is not None and not why.get("starts_now"):
        parts.append(t("run.eta", time=hour(eta), left=duration(eta - time.time())))
    return " · ".join((*parts, str(pick(why, "sentence") or "")))


def _nowhere(data: bytes) -> None:
    pass


def _label(job: model.Job, task: int, array: bool) -> str:
    if not array:
        return str(task)
    index = str(job.get("array_index"))
    return index if (job.get("task_count") or 1) == 1 else f"{index}/{task}"
