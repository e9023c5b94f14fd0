"""Eleven tenants on one cluster: average wait, and whether any would be better off alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from bench.easy_nodes import easy
from bench.measure import Options, note
from bench.table import Goal, Row
from bench.traces import Missing, Tenancy, Tenanted, gpu_nodes, read_philly
from danlu.sched.api import Decision, Policy, QueuePolicy, Quota, Quotas, Snapshot
from danlu.sched.simulate import Arrival, Outcome, Simulation

SUMMARY = "waits of 11 tenants that lend to each other (Philly), against private machines"
RULES = QueuePolicy("fair", max_wait=2 * 86_400.0)


def run(options: Options) -> Iterator[Row]:
    try:
        tenancy = read_philly()
    except Missing as missing:
        note(str(missing))
        return
    jobs = tenancy.jobs[:5000] if options.quick else tenancy.jobs
    private = _private(jobs, tenancy.nodes)
    alone = fmean(wait for waits in private.values() for wait in waits)
    pooled = easy(jobs, sum(tenancy.nodes.values()))
    together = fmean(s - job.submit for s, job in zip(pooled.starts, jobs, strict=True))
    waits = by_tenant(jobs, replay(jobs, tenancy, RULES).starts)
    everybody = [wait for own in waits.values() for wait in own]
    worse = sum(fmean(waits[tenant]) > fmean(private[tenant]) for tenant in waits)
    goal = Goal("at most", 2000, "s")
    yield Row("average wait (s)", fmean(everybody), together, "pooled EASY, best fit", goal)
    yield Row("average wait (s)", fmean(everybody), alone, "private machines, EASY")
    name = "private machines, EASY"
    goal = Goal("at most", 0, "tenants")
    yield Row(f"tenants worse off, of {len(waits)}", worse, None, name, goal)
    longest = max(s - job.submit for s, job in zip(pooled.starts, jobs, strict=True))
    goal = Goal("at most", 200_000, "s")
    yield Row("longest wait (s)", max(everybody), longest, "pooled EASY, best fit", goal)


def replay(
    jobs: Sequence[Tenanted],
    tenancy: Tenancy,
    rules: QueuePolicy,
    watch: Callable[[Snapshot, Decision], None] | None = None,
) -> Outcome:
    """Through the live server's decide(), with each tenant's nodes as its guaranteed share."""
    arrivals = [
        Arrival(
            str(i),
            job.submit,
            job.run,
            job.shapes,
            limit=job.run,
            owner=job.tenant,
            group=job.tenant,
            movable=len(job.shapes) == 1,
        )
        for i, job in enumerate(jobs)
    ]
    shares = {t: Quota(guaranteed=8000 * count) for t, count in tenancy.nodes.items()}
    nodes = gpu_nodes(sum(tenancy.nodes.values()))
    policy = Policy(queues={"default": rules})
    return Simulation(nodes, policy, Quotas(groups=shares)).run(arrivals, watch)


def by_tenant(jobs: Sequence[Tenanted], starts: Mapping[str, float]) -> dict[str, list[float]]:
    waits: dict[str, list[float]] = {}
    for i, job in enumerate(jobs):
        waits.setdefault(job.tenant, []).append(starts[str(i)] - job.submit)
    return waits


def _private(jobs: Sequence[Tenanted], nodes: Mapping[str, int]) -> dict[str, list[float]]:
    waits: dict[str, list[float]] = {}
    for tenant, count in nodes.items():
        own = [job for job in jobs if job.tenant == tenant]
        starts = easy(own, count).starts
        waits[tenant] = [s - job.submit for s, job in zip(starts, own, strict=True)]
    return {tenant: own for tenant, own in waits.items() if own}
