"""`danlu replay FILE`: repeats the decision recorded by `danlu snapshot` and explains it."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from danlu.api.why import waiting_view
from danlu.sched.api import Decision, Explanation, Policy, Snapshot, Waiting
from danlu.sched.decide import decide
from danlu.sched.dump import Unreadable, load
from danlu.sched.explain.explain import explain
from danlu.sched.explain.words import starts_on
from danlu.server.words import chinese, say
from danlu.spec.text import Text, counted

EXPLAINED = 100  # waiting jobs shown by default


class NoSuchJob(Exception):
    pass


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        snapshot, policy = load(json.loads(_read(options.file)))
        replayed = Replay(snapshot, policy, options.job)
        if options.json:
            print(json.dumps(replayed.values(options.limit), ensure_ascii=False))
        else:
            for line in replayed.lines(options.limit):
                print(line)
    except OSError as error:
        cause = error.strerror or str(error)
        return _fail(Text(f"{options.file}: {cause}", f"{options.file}：{cause}"))
    except NoSuchJob:
        return _fail(
            Text(
                f"{options.job}: no such waiting job in {options.file}; omit --job to list all",
                f"{options.job}：{options.file} 中没有这个等待的任务；不加 --job 可全部列出",
            ),
        )
    except (Unreadable, ValueError, RecursionError) as error:
        return _fail(_unreadable(options.file, str(error)))
    except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
        # Well-formed, but with values no snapshot has.
        return _fail(_unreadable(options.file, f"{type(error).__name__}: {error}"))
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu replay", description=__doc__)
    parser.add_argument("file", help="from danlu snapshot; - reads standard input")
    parser.add_argument("--job", help="explain this job only")
    parser.add_argument("--limit", type=int, default=EXPLAINED, help="explain at most this many")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


class Replay:
    def __init__(self, snapshot: Snapshot, policy: Policy, job: str | None = None) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._refs: dict[str, str] = {run.job_id: run.ref for run in snapshot.running}
        self._refs |= {job.job_id: job.ref for job in snapshot.waiting}
        self._decision = decide(snapshot, policy)
        self._asked = self._named(job) if job is not None else self._left()

    def _named(self, job: str) -> list[Waiting]:
        found = [
            one
            for one in self._snapshot.waiting
            if job in (one.job_id, one.ref, one.ref.partition("/")[2])
        ]
        if not found:
            raise NoSuchJob
        return found

    def _left(self) -> list[Waiting]:
        starts = {start.job_id for start in self._decision.starts}
        return [one for one in self._snapshot.waiting if one.job_id not in starts]

    def values(self, limit: int) -> dict[str, Any]:
        decision = self._decision
        return {
            "now": self._snapshot.now,
            "starts": [
                {
                    "job": self._ref(start.job_id),
                    "places": [{"node": p.node, "gpus": list(p.gpus)} for p in start.places],
                    "overtook": [self._ref(other) for other in start.overtook],
                }
                for start in decision.starts
            ],
            "preempts": [
                {"job": self._ref(one.job_id), "for": self._ref(one.by)}
                for one in decision.preempts
            ],
            "moves": [
                {
                    "job": self._ref(one.job_id),
                    "nodes": [place.node for place in one.places],
                    "for": self._ref(one.by),
                }
                for one in decision.moves
            ],
            "waiting": [
                {"job": job.ref, **waiting_view(self._explained(job), self._snapshot.now)}
                for job in self._asked[:limit]
            ],
        }

    def lines(self, limit: int) -> Iterator[str]:
        yield self._head()
        yield from self._done(self._decision)
        for job in self._asked[:limit]:
            yield from self._why(job)
        more = len(self._asked) - limit
        if more > 0:
            yield say(
                Text(
                    f"{more} more are waiting; use --limit or --job",
                    f"另有 {more} 个任务等待；用 --limit 或 --job 查看",
                ),
            )

    def _head(self) -> str:
        snapshot = self._snapshot
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(snapshot.now))
        nodes, running, waiting = map(len, (snapshot.nodes, snapshot.running, snapshot.waiting))
        return say(
            Text(
                f"{at}: {counted(nodes, 'node')}, {running} running, {waiting} waiting",
                f"{at}：节点 {nodes}，运行 {running}，等待 {waiting}",
            ),
        )

    def _done(self, decision: Decision) -> Iterator[str]:
        for start in decision.starts:
            line = f"{self._ref(start.job_id)}: {say(starts_on(start.places))}"
            if start.overtook:
                before = ", ".join(self._ref(other) for other in start.overtook[:3])
                line += say(Text(f", ahead of {before}", f"，先于 {before}"))
            yield line
        for preempt in decision.preempts:
            job, by = self._ref(preempt.job_id), self._ref(preempt.by)
            yield say(
                Text(f"{job}: preempted and requeued for {by}", f"{job}：为 {by} 结束并重新排队")
            )
        for move in decision.moves:
            job, by = self._ref(move.job_id), self._ref(move.by)
            nodes = ", ".join(dict.fromkeys(place.node for place in move.places))
            yield say(Text(f"{job}: moved to {nodes} for {by}", f"{job}：为 {by} 移到 {nodes}"))

    def _why(self, job: Waiting) -> Iterator[str]:
        view = waiting_view(self._explained(job), self._snapshot.now)
        tail = "zh" if chinese() else "en"
        sentence = view[f"sentence_{tail}"]
        yield f"{job.ref}: {sentence}"
        for cause in view["causes"]:
            if cause[tail] != sentence:
                yield f"  - {cause[tail]}"
        eta = view.get(f"eta_{tail}") or view.get(f"eta_why_{tail}")
        if eta and not view["starts_now"]:
            yield f"  {eta}"
        for tried in view["suggestions"]:
            yield f"  {tried[tail]}: {tried[f'effect_{tail}']}"

    def _explained(self, job: Waiting) -> Explanation:
        return explain(self._snapshot, self._policy, job.job_id)

    def _ref(self, job_id: str) -> str:
        return self._refs.get(job_id, job_id)


def _unreadable(file: str, cause: str) -> Text:
    return Text(
        f"{file} is not a snapshot from `danlu snapshot`: {cause}",
        f"{file} 不是 `danlu snapshot` 的输出：{cause}",
    )


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
