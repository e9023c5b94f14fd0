"""`danlu jobs`, `nodes`, `gpus`, `cluster`; `drain` and `resume` of nodes."""

from __future__ import annotations

import sys
import time

from danlu.cli.formats import duration, moment, number, size
from danlu.cli.options import UsageError
from danlu.cli.table import write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

PAGE = 50
ACTIVE = frozenset(("queued", "starting", "running", "stopping"))


def jobs(session: Session, args: Args) -> int:
    if args.flag("watch"):
        from danlu.cli.commands.watching import watch

        return watch(session, lambda: show_jobs(session, args), owner=args.get("owner"))
    return show_jobs(session, args)


def show_jobs(session: Session, args: Args) -> int:
    limit = args.integer("limit")
    states = ",".join(args.all("state")) or None
    page = session.client.jobs(
        state=states,
        owner=args.get("owner"),
        group=args.get("group"),
        name=args.get("name"),
        kind=args.get("kind"),
        queue=args.get("queue"),
        since=_moment(args, "since"),
        until=_moment(args, "until"),
        text=args.get("text"),
        active=None if states or args.flag("all") else True,
        sort=args.get("sort"),
        limit=PAGE if limit is None else limit,
    )
    if session.json:
        return session.print_json(page)
    found = page["jobs"]
    if args.flag("quiet"):
        sys.stdout.write("".join(f"{job['ref']}\n" for job in found))
        return 0
    if not found:
        sys.stdout.write(
            t("jobs.none" if states or args.flag("all") else "jobs.none_active") + "\n"
        )
        return 0
    _write_jobs(found)
    if page.get("next") is not None:
        sys.stdout.write(t("jobs.more", limit=len(found) * 2) + "\n")
    return 0


def _moment(args: Args, name: str) -> float | None:
    given = args.get(name)
    if given is None:
        return None
    from danlu.cli.formats import moment_of

    at = moment_of(given)
    if at is None:
        raise UsageError("usage.not_a_moment", args.command.name, option=f"--{name}", value=given)
    return at


def _write_jobs(found: list[model.Job]) -> None:
    now = time.time()
    heads = ["job", "state", "gpus", "time", "submitted", "where", "command"]
    write_table(
        [t(f"jobs.head_{name}") for name in heads],
        [_job_row(job, now) for job in found],
        right="  >>",
        state=1,
        states=[job["state"] for job in found],
    )


def _job_row(job: model.Job, now: float) -> list[str]:
    started, ended = job.get("started_at"), job.get("ended_at")
    ran = "-" if started is None else duration((ended or now) - started)
    nodes = job.get("nodes") or []
    where = ",".join(nodes[:2]) + (f"+{len(nodes) - 2}" if len(nodes) > 2 else "")
    if not where and job["state"] not in ACTIVE:
        where = "-"
    return [
        job["ref"],
        state_words(job),
        number(job.get("gpus")),
        ran,
        moment(job.get("submitted_at"), now),
        where or job.get("queue") or "-",
        job.get("command") or "",
    ]


def state_words(job: model.Job) -> str:
    """The state, with the exit code where that says more."""
    word = t(f"state.{job['state']}")
    code = job.get("exit_code")
    return f"{word} ({code})" if job["state"] == "failed" and code is not None else word


def nodes(session: Session, args: Args) -> int:
    found = session.client.nodes()
    if session.json:
        return session.print_json({"nodes": found})
    if not found:
        sys.stdout.write(t("nodes.none") + "\n")
        return 0
    heads = ["node", "state", "gpus", "cpus", "memory", "note"]
    write_table(
        [t(f"nodes.head_{name}") for name in heads],
        [_node_row(node) for node in found],
        right="  >>>",
        state=1,
        states=["free" if node.get("up") else "down" for node in found],
    )
    return 0


def drain(session: Session, args: Args) -> int:
    return _take(session, args, True)


def resume(session: Session, args: Args) -> int:
    return _take(session, args, False)


def _take(session: Session, args: Args, out: bool) -> int:
    found = [session.client.scheduling.drain(name, out=out) for name in args.words]
    if session.json:
        return session.print_json({"nodes": found})
    for node in found:
        busy = sum(1 for card in node["gpus"] if card["state"] == "used")
        told = t("nodes.out", node=node["name"], count=busy) if out else ""
        sys.stdout.write((told or t("nodes.back", node=node["name"])) + "\n")
    return 0


def cluster(session: Session, args: Args) -> int:
    """Every card is counted once: the columns add up."""
    found = session.client.cluster()
    if session.json:
        return session.print_json(found)
    counts = ["total", "free", "reserved", "used", "out", "idle"]
    rows = [[line["model"], *_counts(line, counts)] for line in found["models"]]
    if len(rows) != 1:
        rows.append([t("cluster.all"), *_counts(found["gpus"], counts)])
    heads = [t(f"cluster.head_{name}") for name in ("model", *counts)]
    write_table(heads, rows, right=" >>>>>>")
    if found["lent"]:
        sys.stdout.write(t("cluster.lent", count=number(found["lent"])) + "\n")
    words = t("cluster.jobs", running=found["running"], waiting=found["waiting"])
    sys.stdout.write(words + "\n")
    return 0


def _counts(line: model.CardCount | model.ModelCount, names: list[str]) -> list[str]:
    values: dict[str, object] = dict(line)
    return [number(float(str(values[name]))) for name in names]


def _node_row(node: model.Node) -> list[str]:
    cards = node.get("gpus") or []
    free = sum(1 for card in cards if card.get("state") == "free")
    return [
        node["name"],
        t(f"nodes.{_node_state(node)}"),
        f"{free}/{len(cards)}",
        f"{number(node.get('cpus_free'))}/{number(node.get('cpus'))}",
        f"{size(node.get('memory_free'))}/{size(node.get('memory'))}",
        str(pick(node, "note") or node.get("note") or _models(cards)),
    ]


def _node_state(node: model.Node) -> str:
    if not node.get("up"):
        return "down"
    return "drained" if node.get("drained") else "up"


def _models(cards: list[model.Gpu]) -> str:
    counts: dict[str, int] = {}
    for card in cards:
        name = card.get("model") or "GPU"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} x {name}" for name, count in counts.items())


def gpus(session: Session, args: Args) -> int:
    answer = session.client.gpus()
    if session.json:
        return session.print_json(answer)
    if not answer["gpus"]:
        sys.stdout.write(t("gpus.none") + "\n")
        return 0
    now = time.time()
    heads = ["node", "index", "model", "state", "since", "job"]
    write_table(
        [t(f"gpus.head_{name}") for name in heads],
        [_gpu_row(card, now) for card in answer["gpus"]],
        right=" >",
        state=3,
        states=[card["state"] for card in answer["gpus"]],
    )
    for line in answer["summary"]:
        words = t("gpus.summary", model=line["model"], free=line["free"], total=line["total"])
        sys.stdout.write(words + "\n")
    return 0


def _gpu_row(card: model.Gpu, now: float) -> list[str]:
    since = card.get("since")
    return [
        card.get("node") or "-",
        str(card.get("index", "-")),
        card.get("model") or "-",
        t(f"gpu.{card['state']}"),
        "-" if since is None else duration(now - since),
        card.get("job") or "-",
    ]
