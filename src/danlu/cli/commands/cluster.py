"""`danlu nodes`, `gpus` and `cluster`; `drain` and `resume`."""

from __future__ import annotations

import sys
import time

from danlu.cli.formats import clock, duration, number, size
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_NODE_COLOURS = {"down": "down", "away": "unknown"}


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
