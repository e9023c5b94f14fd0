"""The writer thread: all waiting calls share one transaction and one commit."""

from __future__ import annotations

import itertools
import queue
import threading
import time
import uuid

from danlu.spec.text import Text
from danlu.store import leader
from danlu.store.calls import Call, Gate, Phase, answer, refuse
from danlu.store.database import Connection, Database
from danlu.store.errors import Deposed, StoreError, StoreInDoubt, closed, in_doubt, too_late
from danlu.store.health import Pulse

BATCH = 1000
PAUSE_FIRST, PAUSE_LAST = 0.05, 2.0
PROBE_SECONDS = 1.0


class Writer:
    def __init__(self, database: Database, pulse: Pulse, gate: Gate, deadline: float) -> None:
        self._database = database
        self._pulse = pulse
        self._gate = gate
        self._deadline = deadline
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._held: Call | None = None
        self._me = uuid.uuid4().hex
        self._tokens = itertools.count(1)
        self._epoch: int | None = None
        self._connection: Connection | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def put(self, call: Call) -> None:
        self._queue.put(call)

    def probe(self) -> None:
        """Makes it check the health of the database."""
        self._queue.put(None)

    def close(self) -> None:
        self._closing.set()
        self._queue.put(None)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            try:
                self._process(batch)
            except Exception as error:
                # Whatever happens, the thread survives and no caller waits forever.
                self._disconnect()
                stranded = [call for call in batch if call.phase is not Phase.OVER]
                for call in stranded:
                    call.error = error
                answer(stranded)
            del batch  # results may be large, and the next call may be long in coming
        self._leave()

    def _next(self) -> list[Call] | None:
        """All waiting calls. An empty list: check the health of the database."""
        first = self._held or self._wait()
        self._held = None
        if first is None:
            return None if self._closing.is_set() else []
        batch = [first]
        while not first.leads and len(batch) < BATCH and not self._queue.empty():
            call = self._queue.get()
            if call is None:
                self._queue.put(None)
                break
            if call.leads:  # its own transaction: the only one allowed without leading
                self._held = call
                break
            batch.append(call)
        return batch

    def _wait(self) -> Call | None:
        if self._pulse.health.ok or self._closing.is_set():
            return self._queue.get()
        try:
            return self._queue.get(timeout=PROBE_SECONDS)
        except queue.Empty:
            return None

    def _process(self, batch: list[Call]) -> None:
        pause = PAUSE_FIRST
        problem: StoreError | None = None
        probing = not batch
        batch = self._without_late(batch, None)
        while batch or probing:
            try:
                done = self._transact(batch)
            except StoreError as error:
                problem = error
                if not isinstance(error, Deposed):
                    self._pulse.bad(error)
                if not error.passing or probing:
                    self._give_up(batch, error)
                    return
                self._closing.wait(min(pause, self._left(batch)))
                pause = min(2 * pause, PAUSE_LAST)
            else:
                if done:
                    self._pulse.good()
                    self._finish(batch)
                    return
            batch = self._still_in_time(batch, problem)

    def _give_up(self, batch: list[Call], problem: StoreError) -> None:
        if isinstance(problem, StoreInDoubt):
            refuse(batch, problem)
        else:
            refuse([call for call in batch if self._gate.drop(call)], problem)

    def _finish(self, batch: list[Call]) -> None:
        self._answer(batch)
        self._database.reserve()

    def _answer(self, batch: list[Call]) -> None:
        if batch and batch[0].leads and batch[0].error is None:
            self._epoch = batch[0].value
        answer(batch)

    def _left(self, batch: list[Call]) -> float:
        return max(0.0, min(call.deadline for call in batch) - time.monotonic())

    def _still_in_time(self, batch: list[Call], problem: StoreError | None) -> list[Call]:
        if self._closing.is_set():
            self._give_up(batch, closed())
            return []
        return self._without_late(batch, problem)

    def _without_late(self, batch: list[Call], problem: StoreError | None) -> list[Call]:
        """Drops those that nobody waits for: trying them would hold up all others."""
        now = time.monotonic()
        late = [call for call in batch if call.deadline <= now and self._gate.drop(call)]
        if late:
            refuse(late, too_late(self._database.where, self._deadline, problem))
        return [call for call in batch if call.phase is not Phase.OVER]

    def _transact(self, batch: list[Call]) -> bool:
        """One transaction for the whole batch. False: a caller gave up, nothing was done."""
        token = next(self._tokens)
        try:
            connection = self._connected()
            self._apply(connection, batch, token)
            if not self._gate.commit(batch):
                connection.rollback()
                return False
        except Exception as error:
            raise self._trouble(error) from error
        try:
            connection.commit()
        except Exception as error:
            problem = self._trouble(error)
            if self._database.surely_undone(error) or not self._settle(token):
                self._gate.undone(batch)
                raise problem from error
        return True

    def _apply(self, connection: Connection, batch: list[Call], token: int) -> None:
        self._enter(connection, batch, token)
        if all(self._try(connection, call) for call in batch):
            return
        # One failed after it had written. Start again with a savepoint each; the usual case, in
        # which none fails, needs no savepoints.
        connection.rollback()
        self._enter(connection, batch, token)
        for call in batch:
            connection.execute("SAVEPOINT one")
            if self._try(connection, call) and call.error is None:
                connection.execute("RELEASE SAVEPOINT one")
            else:
                connection.execute("ROLLBACK TO SAVEPOINT one")
                connection.tx.memo.clear()

    def _enter(self, connection: Connection, batch: list[Call], token: int) -> None:
        connection.begin()
        taking_over = not batch or batch[0].leads
        leader.enter(connection.tx, self._me, token, None if taking_over else self._epoch)

    def _try(self, connection: Connection, call: Call) -> bool:
        """False: it failed and left changes in the transaction."""
        tx = connection.tx
        before = tx.writes
        try:
            call.value = call.function(tx)
            call.error = tx.failure
        except (
            BaseException
        ) as error:  # whatever it is, it belongs to the caller, not to this thread
            call.error = error
        if call.error is None:
            return True
        failure, tx.failure = tx.failure, None
        if failure is not None:
            if self._database.trouble(failure) is not None:
                raise failure
            if call.error is failure:
                call.error = self._database.own(failure)
        return tx.writes == before and (failure is None or self._database.survives_errors)

    def _settle(self, token: int) -> bool:
        """The answer to a COMMIT was lost. Ask until the database can tell; never guess."""
        pause = PAUSE_FIRST
        while True:
            try:
                connection = self._connected()
                connection.begin()
                done = leader.committed(connection.tx, self._me, token)
                if not done:
                    # Writing the mark of a new transaction also settles SQLite's log: it overwrites
                    # whatever a failed fsync left there, so that no later recovery can bring it
                    # back.
                    leader.enter(connection.tx, self._me, next(self._tokens), None)
                connection.commit()
                return done
            except Exception as error:
                self._pulse.bad(self._trouble(error))
            if self._closing.wait(pause):
                raise in_doubt(self._database.where)
            pause = min(2 * pause, PAUSE_LAST)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _trouble(self, error: Exception) -> StoreError:
        """Classifies the error, and leaves the connection clean or closed."""
        own = isinstance(error, StoreError)
        if own or self._database.reusable(error):
            try:
                if self._connection is not None:
                    self._connection.rollback()
            except Exception:
                self._disconnect()
        else:
            self._disconnect()
        if isinstance(error, StoreError):
            return error
        return self._database.trouble(error) or StoreError(
            Text(
                f"{self._database.where} failed: {error}. Its tables may have been changed by "
                "hand; check the server's log",
                f"{self._database.where} 拒绝执行：{error}。可能有人手工改动了表，请查看服务器日志",
            ),
        )

    def _leave(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.begin()
            leader.leave(self._connection.tx, self._me)
            self._connection.commit()
        except Exception:
            self._pulse.bad(in_doubt(self._database.where))  # old marks are removed by age
        self._disconnect()
