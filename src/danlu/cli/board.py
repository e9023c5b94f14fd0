"""The screen of `danlu top`: what the server says, as lines that fit."""

from __future__ import annotations

import time

from danlu.cli.formats import clock, duration, hour, number, size
from danlu.cli.table import clip, paint, printable, table_lines, width
from danlu.cli.texts import pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.client import Client

METRICS_EVERY = 10.0  # seconds: they are not measured more often
MOST_METRICS = 16  # nodes whose use is asked for
_BARS = "▁▂▃▄▅▆▇█"
_MARKS = {"free": "·", "used": "█", "reserved": "▒", "outside": "o", "unknown": "?"}


class Board:
    """What was last heard from the server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.server = client.wire.address.text
        self.at = 0.0
        self.cluster: model.Cluster = {}
        self.nodes: list[model.Node] = []
        self.jobs: list[model.Job] = []
        self.waiting: model.WaitingList = {"at": 0.0, "waiting": 0, "jobs": []}
        self.metrics: dict[str, model.NodeMetrics] = {}
        self._measured = 0.0

    def look(self) -> None:
        client = self._client
        self.cluster = client.cluster()
        self.nodes = client.nodes()
        self.waiting = client.waiting()
        self.jobs = client.jobs(state="running,starting,stopping", limit=50)["jobs"]
        self.at = time.time()
        if time.monotonic() - self._measured >= METRICS_EVERY:
            self._measured = time.monotonic()
            self.metrics = self._use()

    def _use(self) -> dict[str, model.NodeMetrics]:
        from danlu.sdk.errors import ApiError

        found: dict[str, model.NodeMetrics] = {}
        for node in self.nodes[:MOST_METRICS]:
            try:
                since = self.at - 60
                found[node["name"]] = self._client.node_metrics(node["name"], since=since, points=1)
            except ApiError:
                continue  # not measured, or not for this person's eyes
        return found

    def values(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "cluster": self.cluster,
            "nodes": self.nodes,
            "running": self.jobs,
            "waiting": self.waiting,
        }


def screen(
    board: Board, columns: int, rows: int | None, colour: bool, trouble: str = ""
) -> list[str]:
    """At most so many lines; the running jobs give way first."""
    head = [_title(board, columns, trouble), _totals(board, columns, colour), ""]
    nodes = _node_lines(board, columns, colour)
    waiting = _waiting_lines(board, columns, colour)
    running = _running_lines(board, columns, colour)
    if rows is None:
        return [*head, *nodes, "", *running, "", *waiting]
    room = max(rows - len(head), 0)
    nodes = _cut(nodes, max(3, room // 2))
    room -= len(nodes) + 1
    waiting = _cut(waiting, max(2, room // 2))
    room -= len(waiting) + 1
    running = _cut(running, max(room, 0))
    return [*head, *nodes, "", *running, "", *waiting][:rows]


def _cut(lines: list[str], room: int) -> list[str]:
    if len(lines) <= room:
        return lines
    kept = lines[: max(room - 1, 0)]
    return [*kept, t("top.more", count=len(lines) - len(kept))] if room > 0 else []


def _title(board: Board, columns: int, trouble: str) -> str:
    left = trouble or f"Danlu {board.server}"
    right = time.strftime("%H:%M:%S", time.localtime(board.at)) + "  " + t("top.keys")
    left = clip(printable(left), max(columns - width(right) - 2, 1))
    return left + " " * max(columns - width(left) - width(right), 1) + right


def _totals(board: Board, columns: int, colour: bool) -> str:
    counts = board.cluster["gpus"]
    total, used = counts["total"], counts["used"]
    held = [
        t("top.counts", used=number(used), free=number(counts["free"]), out=number(counts["out"]))
    ]
    if counts["outside"]:
        from danlu.cli.commands.cluster import outside_users

        who = outside_users([gpu for node in board.nodes for gpu in node["gpus"]])
        told = t("top.outside", count=number(counts["outside"]))
        held.append(f"{told} ({printable(who)})" if who else told)
    if counts["unknown"]:
        held.append(t("top.unknown", count=number(counts["unknown"])))
    words = [
        " · ".join(held),
        t("top.jobs", running=board.cluster["running"], waiting=board.cluster["waiting"]),
    ]
    label = t("top.gpus") + f" {number(total)} "
    tail = "  " + "  ".join(words)
    room = columns - width(label) - width(tail) - 2
    if total and room >= 8:
        full = round(min(room, 40) * used / total)
        bar = paint("█" * full, "used", colour) + "░" * (min(room, 40) - full)
        return f"{label}[{bar}]{tail}"
    return clip(label + tail.strip(), columns)


def _node_lines(board: Board, columns: int, colour: bool) -> list[str]:
    heads = ("node", "gpus", "gpu", "cpus", "memory", "models")
    rows, states = [], []
    for node in board.nodes:
        use = board.metrics.get(node["name"])
        rows.append(
            [
                node["name"],
                "".join(_gpu_mark(gpu, use) for gpu in node["gpus"]) or "-",
                _gpu_use(use),
                f"{number(node['cpus'] - node['cpus_free'])}/{number(node['cpus'])}",
                f"{size(node['memory'] - node['memory_free'])}/{size(node['memory'])}",
                _note(node),
            ]
        )
        states.append(_colour(node))
    titles = [t(f"top.head_{name}") for name in heads]
    return table_lines(titles, rows, "  >>>", 0, states, columns, colour)


def _gpu_mark(gpu: model.Gpu, use: model.NodeMetrics | None) -> str:
    """One character a GPU: how busy it is if that is known, else its state."""
    if gpu["state"] == "used":
        for each in (use or {}).get("gpus") or []:
            share = each["values"].get("gpu") if each["index"] == gpu["index"] else None
            if share is not None:
                return _BARS[round(min(max(share, 0.0), 1.0) * (len(_BARS) - 1))]
    return _MARKS.get(gpu["state"], "x")


def _gpu_use(use: model.NodeMetrics | None) -> str:
    found = [
        each["values"]["gpu"] for each in (use or {}).get("gpus") or [] if "gpu" in each["values"]
    ]
    return f"{sum(found) / len(found):.0%}" if found else "-"


def _colour(node: model.Node) -> str:
    if node.get("unknown_since") is not None:
        return "unknown"
    return "free" if node["up"] and not node.get("drained") else "down"


def _note(node: model.Node) -> str:
    models = dict.fromkeys(gpu["model"] for gpu in node["gpus"])
    words = [", ".join(models)]
    if node.get("unknown_since") is not None:
        words.append(t("nodes.unknown", engine=node["engine"], since=clock(node["unknown_since"])))
    elif not node["up"]:
        words.append(t("nodes.down"))
    elif node.get("drained"):
        reason = node.get("drain_reason")
        words.append(t("nodes.drained") + (f" ({reason})" if reason else ""))
    return " ".join(word for word in (*words, node.get("note") or "") if word)


class _Run:
    """A job that holds something."""

    __slots__ = ("ends", "gpus", "nodes", "since", "unknown_since")

    def __init__(
        self, gpus: float, nodes: list[str], since: float | None, unknown_since: float | None
    ) -> None:
        self.gpus = gpus
        self.nodes = nodes
        self.since = since
        self.unknown_since = unknown_since
        self.ends: float | None = None


def _runs(board: Board) -> dict[str, _Run]:
    """One's own jobs as the list has them, and those of others by the GPUs they hold."""
    runs = {
        job["ref"]: _Run(
            job.get("gpus") or 0,
            list(job.get("nodes") or []),
            job.get("started_at"),
            job.get("unknown_since"),
        )
        for job in board.jobs
    }
    listed = set(runs)
    for node in board.nodes:
        for gpu in node["gpus"]:
            for ref in gpu.get("jobs") or []:
                run = runs.setdefault(ref, _Run(0, [], gpu.get("since"), node.get("unknown_since")))
                run.ends = gpu.get("ends")
                run.gpus += ref not in listed
                if node["name"] not in run.nodes:
                    run.nodes.append(node["name"])
    return runs


def _running_lines(board: Board, columns: int, colour: bool) -> list[str]:
    runs = _runs(board)
    unknown = any(run.unknown_since is not None for run in runs.values())
    rows = [
        [
            ref,
            number(run.gpus),
            ",".join(run.nodes[:2]) + (f"+{len(run.nodes) - 2}" if len(run.nodes) > 2 else ""),
            "-" if run.since is None else duration(board.at - run.since),
            "-" if run.ends is None else duration(run.ends - board.at),
            *([_unknown_words(run)] if unknown else ()),
        ]
        for ref, run in runs.items()
    ]
    heads = [t("top.running"), *(t(f"top.head_{n}") for n in ("gpus", "where", "ran", "left"))]
    if unknown:
        heads.append(t("nodes.head_note"))
    states = ["running" if run.unknown_since is None else "unknown" for run in runs.values()]
    return table_lines(heads, rows, " > >>", 0, states, columns, colour)


def _unknown_words(run: _Run) -> str:
    return (
        "" if run.unknown_since is None else t("top.unknown_since", since=hour(run.unknown_since))
    )


def _waiting_lines(board: Board, columns: int, colour: bool) -> list[str]:
    rows = []
    for job in board.waiting["jobs"]:
        eta = job["eta"]
        rows.append(
            [
                job["ref"],
                number(job["tasks"] * job["gpus"]),
                t("top.no_estimate") if eta is None else _when(eta, board.at),
                str(pick(job, "cause") or ""),
            ]
        )
    heads = [t("top.waiting"), *(t(f"top.head_{name}") for name in ("gpus", "eta", "why"))]
    states = ["queued"] * len(rows)
    lines = table_lines(heads, rows, " >", 0, states, columns, colour)
    more = board.waiting["waiting"] - len(rows)
    return [*lines, t("top.more", count=more)] if more > 0 else lines


def _when(eta: float, now: float) -> str:
    return t("top.now") if eta <= now else hour(eta)
