"""Staying with jobs until they end: output, input, signals, and why they still wait."""

from __future__ import annotations

from danlu.cli import codes
from danlu.cli.follow import Absence, LabelledSink, Tail, plain_sink
from danlu.cli.loop import Loop
from danlu.cli.terminal import Terminal, ask_key, say
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
    """The user goes, the job goes on."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Attendance:
    """Follows the tasks of freshly submitted jobs."""

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

    def show(self, split: bool, muted: bool = False, first: bool = False) -> None:
        """Puts the logs of all tasks on stdout; with `split`, error output on stderr.

        `muted`: the logs are only waited for; `first`: only that of the first task.
        """
        places = [
            (job, task)
            for job in self.jobs
            for task in range(1 if first else job.get("task_count") or 1)
        ]
        for job, task in places:
            label = "" if len(places) == 1 else _label(job, task, len(self.jobs) > 1)
            for fd, stream in ((1, "out"), (2, "err")) if split else ((1, "out"),):
                log = self.client.log_stream(job["id"], task=task, stream=stream, follow=True)
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
            self._has_output = True
            write(data)

        return sink

    def _tail_ended(self) -> None:
        self._open -= 1
        if self._open == 0:
            self.loop.stop()

    # Why it waits

    def explain(self) -> None:
        """Says why the job waits, when that takes long enough to be noticed."""
        if not self._quiet:
            self.loop.after(FIRST_LOOK, self._look)

    def _look(self) -> None:
        if self._has_output:
            return
        try:
            why = self.client.why(self.jobs[0]["id"])
        except Exception:
            why = {"state": "queued"}  # the log streams are the ones to tell of lost connections
        if why["state"] not in ACTIVE:
            return
        words = str(pick(why, "sentence") or "")
        if words and words != self._last_words:
            self._last_words = words
            say(f"{self.ref}: {words}")
        self.loop.after(NEXT_LOOKS, self._look)

    # Input and signals

    def feed_with(self, feed: Feed, terminal: Terminal | None) -> None:
        self._feed, self._terminal = feed, terminal
        if terminal is not None:
            self.loop.on_signal(SIGWINCH, self.send_size)
        feed.start()

    def begin_typing(self) -> None:
        """The task is there: the terminal is its own from now on."""
        self._has_output = True
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
        """Ctrl-C: asks where somebody can answer, else stops the job."""
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
        """The same for Ctrl-C typed into a raw terminal; whether the task shall have the key."""
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
        """Until everything was printed and the jobs have ended."""
        self.loop.run()
        self.loop.close()  # from here on an interrupt ends us as it ends any program
        for sink in self._sinks:
            sink.finish()
        ended = [
            self.client.wait(job["id"], patience=self._patience, on_lost=self._absence.note)
            for job in self.jobs
        ]
        self._absence.over()
        return ended

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.restore()
        if self._feed is not None:
            self._feed.close()
        for tail in self._tails:
            tail.close()
        self.loop.close()


def _nowhere(data: bytes) -> None:
    pass


def _label(job: model.Job, task: int, array: bool) -> str:
    if not array:
        return str(task)
    index = str(job.get("array_index"))
    return index if (job.get("task_count") or 1) == 1 else f"{index}/{task}"
