"""`danlu usage`: what a job or a node uses, now and over time."""

from __future__ import annotations

import sys

from danlu.cli.formats import duration, moment_of, number, size
from danlu.cli.options import UsageError
from danlu.cli.table import write_table
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_STEPS = 40  # columns of a small chart
_BARS = "▁▂▃▄▅▆▇█"
_OF_TASKS = ("cpu", "memory", "gpu", "gpu_memory")
_FROM_TOP = ("disk_free",)  # of which the lowest value is the one to know


def usage(session: Session, args: Args) -> int:
    node = args.get("node")
    if (node is None) == (not args.words):
        raise UsageError("metrics.job_or_node", "usage")
    window: dict[str, Any] = {
        "since": _moment(args, "since"),
        "until": _moment(args, "until"),
        "points": _STEPS,
    }
    if node is not None:
        return _of_node(session, session.client.node_metrics(node, **window))
    task = args.integer("task")
    return _of_job(session, session.client.job_metrics(args.words[0], task=task, **window))


def _of_job(session: Session, found: model.JobMetrics) -> int:
    if session.json:
        return session.print_json(found)
    tasks = found["tasks"]
    if not found["series"] and not tasks:
        sys.stdout.write(t("metrics.nothing") + "\n")
        return 0
    now = tasks[0]["values"] if len(tasks) == 1 else _together(tasks)
    _write(found["series"], now, found["step"])
    if len(tasks) > 1:
        sys.stdout.write("\n")
        heads = [t("metrics.head_task"), *(t(f"metrics.{name}") for name in _OF_TASKS)]
        rows = [
            [str(each["task"]), *(_value(name, each["values"].get(name)) for name in _OF_TASKS)]
            for each in tasks
        ]
        write_table(heads, rows, right=">>>>>")
    return 0


def _of_node(session: Session, found: model.NodeMetrics) -> int:
    if session.json:
        return session.print_json(found)
    if not found["series"]:
        sys.stdout.write(t("metrics.nothing") + "\n")
        return 0
    _write(found["series"], found["values"], found["step"])
    for gpu in found["gpus"]:
        sys.stdout.write("\n" + t("metrics.gpu_index", index=gpu["index"]) + "\n")
        _write(gpu["series"], gpu["values"], found["step"], False)
    return 0


def _write(
    lines: Sequence[model.MetricSeries], now: dict[str, Any], step: float, explained: bool = True
) -> None:
    heads = [t(f"metrics.head_{name}") for name in ("what", "now", "mean", "peak", "time")]
    write_table(heads, [_row(line, now) for line in lines], right=" >>>")
    if explained:
        sys.stdout.write(t("metrics.step", time=duration(step)) + "\n")


def _row(line: model.MetricSeries, now: dict[str, Any]) -> list[str]:
    name = line["name"]
    means = [value for value in line["mean"] if value is not None]
    lowest = name in _FROM_TOP
    ends = (line["min"] if lowest else line["max"]) or line["mean"]
    known = [value for value in ends if value is not None]
    end = (min if lowest else max)(known) if known else None
    mean = sum(means) / len(means) if means else None
    values = [_value(name, value) for value in (now.get(name), mean, end)]
    return [t(f"metrics.{name}"), *values, chart(line["mean"])]


def chart(values: Sequence[float | None]) -> str:
    """One column a value, from zero up to the highest; a gap stays empty."""
    top = max((value for value in values if value is not None), default=0) or 1
    steps = len(_BARS) - 1
    return "".join(
        " " if value is None else _BARS[round(max(0, value) / top * steps)] for value in values
    )


def _value(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "gpu":
        return f"{value:.0%}"
    if name == "cpu":
        return f"{value:.2f}"
    if name in ("disk_read", "disk_written", "net_received", "net_sent"):
        return f"{size(value)}/s"
    if name in ("memory", "gpu_memory", "disk_free"):
        return size(value)
    unit = {"temperature": " °C", "power": " W"}.get(name, "")
    return f"{number(round(value))}{unit}"


def _together(tasks: Sequence[model.TaskUsage]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for task in tasks:
        for name, value in task["values"].items():
            found.setdefault(name, []).append(value)
    return {
        name: sum(values) / (len(values) if name == "gpu" else 1) for name, values in found.items()
    }


def _moment(args: Args, name: str) -> float | None:
    given = args.get(name)
    if given is None:
        return None
    found = moment_of(given)
    if found is None:
        raise UsageError("usage.not_a_moment", "usage", option=f"--{name}", value=given)
    return found
