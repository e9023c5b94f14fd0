"""Groups of queues that share nodes and are therefore scheduled together.

Jobs of different queues can compete for the same GPU, so one pass covers all queues that share
nodes, in order of arrival unless the admin sets priorities or weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from danlu.sched.api import (
    DEFAULT_QUEUE,
    Claim,
    Policy,
    QueuePolicy,
    Snapshot,
    Waiting,
)
from danlu.spec.placement import Placement

Only = frozenset[str] | None
Order = tuple[int, ...]


class Group:
    """The queues of one pass; each keeps its own rules.

    `names` are those with waiting jobs, `together` all that share nodes with them.
    """

    def __init__(
        self,
        policy: Policy,
        names: Sequence[str],
        claims: Sequence[Claim],
        together: Sequence[str] = (),
    ) -> None:
        self._policy = policy
        self._nodes = {policy.queue(name).nodes for name in together or names}
        self._rules = {name: policy.queue(name) for name in names}
        self._claims = {claim.job_id: at - len(claims) for at, claim in enumerate(claims)}
        self._places = {claim.job_id: claim.places for claim in claims}

    @property
    def all_rules(self) -> list[QueuePolicy]:
        return list(self._rules.values())

    @property
    def names(self) -> list[str]:
        return list(self._rules)

    def rules(self, queue: str) -> QueuePolicy:
        found = self._rules.get(queue)
        if found is None:  # of a running job whose queue is empty
            found = self._rules[queue] = self._policy.queue(queue)
        return found

    @property
    def only(self) -> Only:
        """The union of their nodes."""
        found: frozenset[str] = frozenset()
        for rules in self._rules.values():
            if rules.nodes is None:
                return None
            found |= rules.nodes
        return found

    @property
    def reach(self) -> Only:
        """The union over all queues that share nodes, with or without waiting jobs.

        What is remembered between passes covers all of them, so how it is computed must not
        depend on who happens to wait.
        """
        found: frozenset[str] = frozenset()
        for nodes in self._nodes:
            if nodes is None:
                return None
            found |= nodes
        return found

    @property
    def alike(self) -> bool:
        """Whether all that share nodes have the same ones."""
        return len(self._nodes) == 1

    def claimed(self, job: Waiting) -> bool:
        """Whether room is being made for it, which puts it before all others."""
        return job.job_id in self._claims

    def claimed_places(self, job: Waiting) -> tuple[Placement, ...]:
        """Where room is being made for it; empty: nowhere."""
        return self._places.get(job.job_id, ())

    def order(self, job: Waiting) -> Order:
        """By claims, then queue priority, then job priority and arrival."""
        claim = self._claims.get(job.job_id, 0) if self._claims else 0
        rules = self._rules.get(job.queue) or self.rules(job.queue)
        return (claim, -rules.priority, -job.priority, job.seq)

    def meet(self, one: str, other: str) -> bool:
        """Whether two queues have a node in common."""
        return one == other or meet(self.rules(one).nodes, self.rules(other).nodes)

    def in_order(self, jobs: Sequence[Waiting]) -> Sequence[Waiting]:
        """Without queue priorities and claims, the order of arrival already holds."""
        if self._claims or len({rules.priority for rules in self._rules.values()}) > 1:
            return sorted(jobs, key=self.order)
        return jobs


def groups(snapshot: Snapshot, policy: Policy) -> list[tuple[Group, Sequence[Waiting]]]:
    """In the order of their first jobs. If all share nodes, nothing is copied."""
    waiting = snapshot.waiting
    if not waiting:
        return []
    names = {job.queue for job in waiting}
    of: dict[str, list[str]] = {}
    for together in _together(policy, names):
        for name in together:
            of[name] = together
    first = of[waiting[0].queue]
    if all(of[name] is first for name in names):
        return [(Group(policy, sorted(names), snapshot.claims, first), waiting)]
    jobs: dict[str, list[Waiting]] = {}
    for job in waiting:
        jobs.setdefault(of[job.queue][0], []).append(job)
    return [
        (Group(policy, sorted({job.queue for job in some}), snapshot.claims, of[key]), some)
        for key, some in jobs.items()
    ]


def memory_key(policy: Policy, queue: str) -> str:
    """The memory key for a queue and those it shares nodes with."""
    if not policy.queues:
        return DEFAULT_QUEUE
    found = next(together for together in _together(policy, {queue}) if queue in together)
    return next((name for name in found if name in policy.queues), DEFAULT_QUEUE)


def meet(one: Only, other: Only) -> bool:
    return one is None or other is None or not one.isdisjoint(other)


def _together(policy: Policy, names: set[str]) -> Iterator[list[str]]:
    """All queues, grouped by shared nodes; stable between passes."""
    left = {name: policy.queue(name).nodes for name in sorted({*policy.queues, *names})}
    if DEFAULT_QUEUE not in left:
        left[DEFAULT_QUEUE] = policy.queue(DEFAULT_QUEUE).nodes
    while left:
        first = min(left)
        found, nodes = [first], left.pop(first)
        grown = True
        while grown:
            grown = False
            for name in [name for name, theirs in left.items() if meet(nodes, theirs)]:
                theirs = left.pop(name)
                nodes = None if nodes is None or theirs is None else nodes | theirs
                found.append(name)
                grown = True
        yield sorted(found)
