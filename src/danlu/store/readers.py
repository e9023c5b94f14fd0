"""A few reader threads, started on demand, each with its own connection."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from danlu.store.calls import Call, Phase, answer, refuse
from danlu.store.database import Connection, Database
from danlu.store.errors import too_late

PAUSE_FIRST, PAUSE_LAST = 0.05, 1.0


class Readers:
    def __init__(
        self, database: Database, alarm: Callable[[], None], deadline: float, most: int
    ) -> None:
        self._database = database
        self._alarm = alarm  # only the writer checks and reports the health of the database
        self._deadline = deadline
        self._most = most
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def put(self, call: Call) -> None:
        self._queue.put(call)
        with self._lock:
            if self._queue.qsize() <= self._idle or len(self._threads) >= self._most:
                return
            name = f"store-reader-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
            self._threads[-1].start()

    def close(self) -> None:
        self._closing.set()
        for _ in self._threads:
            self._queue.put(None)

    def join(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        connection: Connection | None = None
        while (call := self._take()) is not None:
            if call.phase is not Phase.OVER:
                connection = self._read(connection, call)
            del call
        if connection is not None:
            connection.close()

    def _take(self) -> Call | None:
        with self._lock:
            self._idle += 1
        try:
            return self._queue.get()
        finally:
            with self._lock:
                self._idle -= 1

    def _read(self, connection: Connection | None, call: Call) -> Connection | None:
        """Reads can be repeated safely, so a lost connection is replaced until the deadline."""
        pause = 0.0
        while True:
            try:
                connection = connection or self._database.connect(reader=True)
                self._query(connection, call)
                answer([call])
                return connection
            except Exception as error:
                problem = self._database.trouble(error)
                if connection is not None:
                    connection.close()
                    connection = None
                if problem is None:
                    call.error = self._database.own(error)
                    answer([call])
                    return None
            if pause:  # the first failure is often just a stale connection
                self._alarm()
            if not problem.passing:
                refuse([call], problem)
                return None
            if time.monotonic() + pause >= call.deadline or self._closing.wait(pause):
                refuse([call], too_late(self._database.where, self._deadline, problem))
                return None
            pause = min(2 * pause, PAUSE_LAST) or PAUSE_FIRST

    def _query(self, connection: Connection, call: Call) -> None:
        """One snapshot for the whole query. If the query itself fails, the connection stays
        usable.
        """
        connection.begin()
        try:
            call.value = call.function(connection.tx)
            call.error = None
        except Exception as error:
            failure = connection.tx.failure
            if failure is not None and self._database.trouble(failure) is not None:
                raise failure from error
            call.error = self._database.own(error)
            connection.rollback()
            return
        connection.commit()
