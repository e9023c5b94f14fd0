"""`danlu jobs`, `nodes`, `gpus`, `cluster`; `drain` and `resume`."""

from __future__ import annotations

import sys
import time

from danlu.cli.formats import clock, duration, hour, moment, number, size
from danlu.cli.options import UsageError
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

PAGE, MOST = 50, 1000
_NODE_COLOURS = {"down": "down", "away": "unknown"}
ACTIVE = frozenset(("queued", "starting", "running", "stopping"))


def jobs(session: Session, args: Args) -> int:
    if args.flag("watch"):
        from danlu.cli.commands.watching import watch

        look, show = lambda: _page(session, args), lambda page: _show_page(session, args, page)
        return watch(session, look, show, owner=args.get("owner"))
    return _show_page(session, args, _page(session, args))


def _page(session: Session, args: Args) -> model.JobPage:
    limit = args.integer("limit")
    states = ",".join(args.all("state")) or None
    folded = _folds(session, args)
    # In this order, waiting jobs come after those that run.
    sort = args.get("sort") or (None if states or args.flag("all") else "-state")
    return session.client.jobs(
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
        sort=sort,
        limit=MOST if folded else PAGE if limit is None else limit,
    )


def _show_page(session: Session, args: Args, page: model.JobPage) -> int:
    if session.json:
        return session.print_json(page)
    limit, found = args.integer("limit"), page["jobs"]
    if args.flag("quiet"):
        sys.stdout.write("".join(f"{job['ref']}\n" for job in found))
        return 0
    if not found:
        every = args.flag("state") or args.flag("all")
        sys.stdout.write(t("jobs.none" if every else "jobs.none_active") + "\n")
        return 0
    rows = fold(found) if _folds(session, args) else [[job] for job in found]
    shown = rows[: PAGE if limit is None else limit]
    _write_jobs(shown)
    if page.get("next") is not None or len(rows) > len(shown):
        sys.stdout.write(t("jobs.more", limit=len(shown) * 2) + "\n")
    return 0


def _folds(session: Session, args: Args) -> bool:
    """Whether an array is one line: not for programs, nor for those who asked for its jobs."""
    limit = args.integer("limit")
    if limit is not None and not 0 < limit <= MOST:
        return False  # the server says what is allowed
    plain = session.json or args.flag("quiet") or args.flag("unfold")
    return not plain and args.get("name") is None


def fold(jobs: list[model.Job]) -> list[list[model.Job]]:
    """Elements of the same array together, at the place of the first."""
    rows: dict[object, list[model.Job]] = {}
    for job in jobs:
        array = job.get("array_index") is not None
        key = (job["owner"], job["name"], job["number"]) if array else job["id"]
        rows.setdefault(key, []).append(job)
    return list(rows.values())


def _moment(args: Args, name: str) -> float | None:
    given = args.get(name)
    if given is None:
        return None
    from danlu.cli.formats import moment_of

    at = moment_of(given)
    if at is None:
        raise UsageError("usage.not_a_moment", args.command.name, option=f"--{name}", value=given)
    return at


def _write_jobs(found: list[list[model.Job]]) -> None:
    now = time.time()
    heads = ["job", "state", "gpus", "time", "submitted", "where", "command"]
    write_table(
        [t(f"jobs.head_{name}") for name in heads],
        [_job_row(jobs, now) for jobs in found],
        right="  >>",
        state=1,
        states=[_colour(jobs) for jobs in found],
    )


def _job_row(jobs: list[model.Job], now: float) -> list[str]:
    """A job, or several of one array: what they use together."""
    job = jobs[0]
    began = [at for each in jobs if (at := each.get("started_at")) is not None]
    started, ended = min(began, default=None), job.get("ended_at") if len(jobs) == 1 else None
    ran = "-" if started is None else duration((ended or now) - started)
    before = job.get("before") if len(jobs) == 1 else None
    if before:  # it waits again, so its run time no longer grows
        ran = duration(before["ran"])
    nodes = list(dict.fromkeys(node for each in jobs for node in each.get("nodes") or []))
    where = ",".join(nodes[:2]) + (f"+{len(nodes) - 2}" if len(nodes) > 2 else "")
    if not where and job["state"] not in ACTIVE:
        where = "-"
    return [
        job["ref"] if len(jobs) == 1 else f"{job['ref'].rpartition('.')[0]}.*",
        state_words(job) if len(jobs) == 1 else _counted_states(jobs),
        number(sum(each.get("gpus") or 0 for each in jobs)),
        ran,
        moment(job.get("submitted_at"), now),
        where or job.get("queue") or "-",
        job.get("command") or "",
    ]


def _counted_states(jobs: list[model.Job]) -> str:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job["state"]] = counts.get(job["state"], 0) + 1
    words = ", ".join(f"{count} {t(f'state.{state}')}" for state, count in counts.items())
    unknown = _unknown_since(jobs)
    if not unknown:
        return words
    return t("jobs.some_unknown", states=words, count=len(unknown), since=hour(min(unknown)))


def _unknown_since(jobs: list[model.Job]) -> list[float]:
    """Of those whose engine does not report them."""
    return [since for job in jobs if (since := job.get("unknown_since")) is not None]


def _colour(jobs: list[model.Job]) -> str:
    return "unknown" if _unknown_since(jobs) else jobs[0]["state"]


def state_words(job: model.Job) -> str:
    """The state, with the exit code if that adds information, or since when it is unknown."""
    word = t(f"state.{job['state']}")
    code, unknown = job.get("exit_code"), job.get("unknown_since")
    if unknown is not None:
        return t("jobs.unknown", state=word, since=hour(unknown))
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
        states=[_NODE_COLOURS.get(_node_state(node), "free") for node in found],
    )
    return 0


def drain(session: Session, args: Args) -> int:
    return _take(session, args, True)


def resume(session: Session, args: Args) -> int:
    return _take(session, args, False)


def _take(session: Session, args: Args, out: bool) -> int:
    reason, drain = args.get("reason") or "", session.client.scheduling.drain
    found = [drain(name, out=out, reason=reason) for name in args.words]
    if session.json:
        return session.print_json({"nodes": found})
    for node in found:
        busy = sum(1 for gpu in node["gpus"] if gpu["state"] == "used")
        told = t("nodes.out", node=node["name"], count=busy) if out else ""
        if out and node.get("drain_reason"):
            told += f" ({node['drain_reason']})"
        sys.stdout.write((told or t("nodes.back", node=node["name"])) + "\n")
    return 0


def cluster(session: Session, args: Args) -> int:
    """Every GPU is counted once, so the columns add up."""
    found = session.client.cluster()
    if session.json:
        return session.print_json(found)
    if args.flag("learned"):
        return _write_requests(found["requests"])
    seldom = [name for name in ("outside", "unknown") if found["gpus"][name]]
    counts = ["total", "free", "reserved", "used", "out", *seldom, "idle"]
    rows = [[line["model"], *_counts(line, counts)] for line in found["models"]]
    if len(rows) != 1:
        rows.append([t("cluster.all"), *_counts(found["gpus"], counts)])
    heads = [t(f"cluster.head_{name}") for name in ("model", *counts)]
    write_table(heads, rows, right=" " + ">" * len(counts))
    if found["drained"]:
        names, busy = ", ".join(found["drained"]), found["gpus"]["draining"]
        key = "cluster.draining" if busy else "cluster.drained"
        sys.stdout.write(t(key, nodes=names, count=number(busy)) + "\n")
    if found["lent"]:
        sys.stdout.write(t("cluster.lent", count=number(found["lent"])) + "\n")
    who = outside_users(session.client.gpus()["gpus"]) if found["gpus"]["outside"] else ""
    if who:
        sys.stdout.write(t("cluster.outside", who=printable(who)) + "\n")
    words = t("cluster.jobs", running=found["running"], waiting=found["waiting"])
    sys.stdout.write(words + "\n")
    for engine in found["engines"]:
        if engine["away_since"] is not None:
            sys.stdout.write(_away_words(engine) + "\n")
    for each in found.get("disk_writers") or []:
        key = "cluster.disk_writer"
        written = size(each["written"])
        sys.stdout.write(t(key, user=each["user"], jobs=each["jobs"], written=written) + "\n")
    return 0


def _write_requests(usual: list[model.UsualRequest]) -> int:
    """The requests that jobs are packed for."""
    if not usual:
        sys.stdout.write(t("cluster.nothing_learned") + "\n")
        return 0
    total = sum(each["count"] for each in usual)
    heads = [t(f"cluster.head_{name}") for name in ("asked", "cpus", "memory", "share")]
    rows = [
        [
            " ".join(filter(None, (number(each["gpus"]), each["model"]))),
            number(each["cpus"]),
            size(each["memory"]),
            f"{100 * each['count'] / total:.0f}%",
        ]
        for each in usual
    ]
    write_table(heads, rows, right=" >>>")
    sys.stdout.write(t("cluster.learned", count=total) + "\n")
    return 0


def _away_words(engine: model.EngineState) -> str:
    return t(
        "cluster.away",
        engine=engine["name"],
        since=clock(engine["away_since"]),
        problem=engine["problem"],
        nodes=engine["nodes"],
        jobs=engine["unknown"],
    )


def _counts(line: model.GpuCount | model.ModelCount, names: list[str]) -> list[str]:
    values: dict[str, object] = dict(line)
    return [number(float(str(values[name]))) for name in names]


def _node_row(node: model.Node) -> list[str]:
    gpus = node.get("gpus") or []
    free = sum(1 for gpu in gpus if gpu.get("state") == "free")
    return [
        node["name"],
        t(f"nodes.{_node_state(node)}"),
        f"{free}/{len(gpus)}",
        f"{number(node.get('cpus_free'))}/{number(node.get('cpus'))}",
        f"{size(node.get('memory_free'))}/{size(node.get('memory'))}",
        _node_note(node) or _models(gpus),
    ]


def _node_note(node: model.Node) -> str:
    if node.get("unknown_since") is not None:
        return t("nodes.unknown", engine=node["engine"], since=clock(node["unknown_since"]))
    if node.get("drained") and node.get("drain_reason"):
        return str(node["drain_reason"])
    return str(pick(node, "note") or node.get("note") or "")


def _node_state(node: model.Node) -> str:
    if node.get("unknown_since") is not None:
        return "away"
    if not node.get("up"):
        return "down"
    return "drained" if node.get("drained") else "up"


def _models(gpus: list[model.Gpu]) -> str:
    counts: dict[str, int] = {}
    for gpu in gpus:
        name = gpu.get("model") or "GPU"
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
    reasons: dict[str, str] = {}
    if any(gpu["state"] == "drained" for gpu in answer["gpus"]):
        reasons = {node["name"]: node.get("drain_reason", "") for node in session.client.nodes()}
    write_table(
        [t(f"gpus.head_{name}") for name in heads],
        [_gpu_row(gpu, now, reasons) for gpu in answer["gpus"]],
        right=" >",
        state=3,
        states=[gpu["state"] for gpu in answer["gpus"]],
    )
    for line in answer["summary"]:
        words = t("gpus.summary", model=line["model"], free=line["free"], total=line["total"])
        sys.stdout.write(words + "\n")
    return 0


def outside_ref(gpu: model.Gpu) -> str:
    """Whose it is that holds it, and the engine's name for it."""
    job = gpu.get("outside")
    return f"{job['user']}/{job['engine']}:{job['id']}" if job else ""


def outside_users(gpus: list[model.Gpu]) -> str:
    """`bob 3, cy 1`: who uses GPUs without the platform."""
    counts: dict[str, int] = {}
    for gpu in gpus:
        job = gpu.get("outside")
        if job and gpu["state"] == "outside":
            counts[job["user"]] = counts.get(job["user"], 0) + 1
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{user} {count}" for user, count in most[:5])
    return f"{shown}, +{len(most) - 5}" if len(most) > 5 else shown


def _gpu_row(gpu: model.Gpu, now: float, reasons: dict[str, str]) -> list[str]:
    since = gpu.get("since")
    reason = reasons.get(gpu["node"], "") if gpu["state"] == "drained" else ""
    return [
        gpu.get("node") or "-",
        str(gpu.get("index", "-")),
        gpu.get("model") or "-",
        t(f"gpu.{gpu['state']}"),
        "-" if since is None else duration(now - since),
        gpu.get("job") or outside_ref(gpu) or reason or "-",
    ]
