"""`danlu queue`, `danlu quota`."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.formats import clock, duration, number, size
from danlu.cli.options import UsageError, misused
from danlu.cli.table import write_table
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_QUEUE_WORDS = {"list": 0, "set": 1, "remove": 1, "merge": 2}
_QUOTA_WORDS = {"list": 0, "set": 2, "remove": 2}
_SWITCHES = ("backfill", "lend", "reclaim", "consolidate")
_NONE = "none"


def queue(session: Session, args: Args) -> int:
    verb, *words = args.words
    if _QUEUE_WORDS.get(verb) != len(words):
        raise misused(args)
    scheduling = session.client.scheduling
    found: Any
    if verb == "list":
        found = {"queues": scheduling.queues()}
    elif verb == "set":
        found = scheduling.set_queue(words[0], **_rules(args))
    elif verb == "merge":
        make_sure(args, "sure.merge", name=words[0], into=words[1])
        found = scheduling.merge_queue(words[0], words[1])
    else:
        make_sure(args, "sure.queue", name=words[0])
        found = {"queues": scheduling.remove_queue(words[0])}
    if session.json:
        return session.print_json(found)
    if verb == "merge":
        told = t("queue.merged", name=words[0], into=words[1], count=found["jobs"])
        sys.stdout.write(told + "\n")
    elif verb == "remove":
        sys.stdout.write(t("queue.gone", name=words[0]) + "\n")
    else:
        _write_queues(found["queues"] if verb == "list" else [found])
    return codes.OK


def _rules(args: Args) -> dict[str, Any]:
    """The options as keys of the API; what is not given stays unchanged."""
    values: dict[str, Any] = {}
    for option in ("engine", "order", "place", "max-wait", "half-life", "preempt"):
        given = args.get(option)
        if given is not None:
            values[option.replace("-", "_")] = None if given == _NONE else given
    for option in ("priority", "weight"):
        given = args.get(option)
        if given is not None:
            values[option] = None if given == _NONE else _rank(option, given)
    for option in _SWITCHES:
        given = args.get(option)
        if given is not None:
            values[option] = _switch(option, given)
    if args.flag("node"):
        values["nodes"] = args.all("node")
    if args.flag("all-nodes"):
        if args.flag("node"):
            raise UsageError("usage.not_both", "queue", one="--node", other="--all-nodes")
        values["nodes"] = None
    if args.flag("kind"):
        kinds = args.all("kind")
        values["kinds"] = None if kinds == [_NONE] else kinds
    return values


def _rank(option: str, given: str) -> float:
    try:
        number = float(given)
    except ValueError:
        raise UsageError("queue.number", "queue", option=f"--{option}", value=given) from None
    return int(number) if number.is_integer() else number


def _switch(option: str, given: str) -> bool:
    if given not in ("yes", "no"):
        raise UsageError("queue.yes_or_no", "queue", option=f"--{option}", value=given)
    return given == "yes"


def _write_queues(queues: list[model.Queue]) -> None:
    heads = ["name", "engine", "nodes", "order", "place", "rules", "waiting", "running", "declared"]
    write_table(
        [t(f"queue.head_{head}") for head in heads],
        [_queue_row(each) for each in queues],
        right="      >>",
    )


def _queue_row(found: model.Queue) -> list[str]:
    rules = [t(f"queue.is_{name}") for name in ("reclaim", "consolidate") if found.get(name)]
    rules += [t(f"queue.not_{name}") for name in ("backfill", "lend") if not found.get(name)]
    if found["preempt"] != "never":
        rules.append(t("queue.is_preempt"))
    if found["kinds"]:
        rules.append(t("queue.kinds", kinds=", ".join(found["kinds"])))
    if found["priority"]:
        rules.append(t("queue.priority", n=found["priority"]))
    if found["weight"] is not None:
        rules.append(t("queue.weight", n=f"{found['weight']:g}"))
    if found["max_wait"] is not None:
        rules.append(t("queue.max_wait", time=duration(found["max_wait"])))
    name = found["name"]
    if found["merged"]:
        name += f" (+ {', '.join(found['merged'])})"
    return [
        name,
        found["engine"],
        ", ".join(found["nodes"]) or t("queue.all_nodes", engine=found["engine"]),
        found["order"],
        found["place"],
        ", ".join(rules) or "-",
        str(found["waiting"]),
        str(found["running"]),
        t(f"queue.from_{found['declared'].replace('-', '_')}"),
    ]


def quota(session: Session, args: Args) -> int:
    verb, *words = args.words
    if _QUOTA_WORDS.get(verb) != len(words):
        raise misused(args)
    if words and words[0] not in ("user", "group"):
        raise UsageError("quota.whose", "quota", word=words[0])
    scheduling, data = session.client.scheduling, session.client.data
    if verb == "set":
        limits = _limits(args)
        disk = args.get("disk")
        if not limits and disk is None:
            raise UsageError("quota.no_limit", "quota")
        if disk is not None:
            data.set_disk_quota(words[0], words[1], None if disk == _NONE else disk)
        if limits:
            scheduling.set_quota(words[0], words[1], **limits)
    elif verb == "remove":
        _remove(session, words[0], words[1])
    found, disks = scheduling.quotas(), data.disk_quotas()
    if session.json:
        return session.print_json({"quotas": found, "disk_quotas": disks})
    if not found and not disks:
        sys.stdout.write(t("quota.none") + "\n")
    if found:
        _write_quotas(found)
    if disks:
        sys.stdout.write("\n" if found else "")
        _write_disk_quotas(disks)
    return codes.OK


def _remove(session: Session, of: str, name: str) -> None:
    """Both kinds; it is an error only if there was neither."""
    missing = []
    for remove in (
        session.client.scheduling.remove_quota,
        session.client.data.remove_disk_quota,
    ):
        try:
            remove(of, name)
        except ApiError as error:
            if error.status != 404:
                raise
            missing.append(error)
    if len(missing) == 2:
        raise missing[0]


def _write_disk_quotas(found: list[model.FolderQuotaView]) -> None:
    rows = [
        [
            t(f"quota.{each['of']}"),
            t("quota.everybody") if each["name"] == "*" else each["name"],
            "-" if each["used"] is None else size(each["used"]),
            t("quota.no_disk_limit") if each["size"] is None else size(each["size"]),
            "-" if each["counted_at"] is None else clock(each["counted_at"]),
        ]
        for each in found
    ]
    heads = ("of", "name", "disk_used", "disk", "counted")
    write_table([t(f"quota.head_{head}") for head in heads], rows, "  >>")


def _write_quotas(found: list[model.QuotaView]) -> None:
    heads = ["of", "name", "gpus", "models", "cpus", "memory", "guaranteed", "declared"]
    write_table([t(f"quota.head_{head}") for head in heads], [_quota_row(each) for each in found])
    for each in found:
        for warning in each["warnings"]:
            told = t("quota.warning", name=each["name"], words=pick(warning, ""))
            sys.stderr.write(told + "\n")


def _limits(args: Args) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for option in ("gpus", "cpus", "guaranteed"):
        given = args.get(option)
        if given is not None:
            values[option] = None if given == _NONE else _number(f"--{option}", given)
    memory = args.get("memory")
    if memory is not None:
        values["memory"] = None if memory == _NONE else memory
    models = args.all("model")
    if models:
        values["models"] = {} if models == [_NONE] else dict(_model(given) for given in models)
    return values


def _model(given: str) -> tuple[str, float]:
    name, equals, count = given.rpartition("=")
    if not equals or not name:
        raise UsageError("quota.model", "quota", value=given)
    return name, _number("--model", count)


def _number(option: str, given: str) -> float:
    try:
        number = float(given)
        if number == number and number not in (float("inf"), float("-inf")):
            return number
        raise ValueError(given)
    except ValueError:
        raise UsageError("quota.number", "quota", option=option, value=given) from None


def _quota_row(found: model.QuotaView) -> list[str]:
    used = found["used_models"]
    models = [
        f"{model} {number(_of(used, model))}/{number(most)}"
        for model, most in found["models"].items()
    ]
    return [
        t(f"quota.{found['of']}"),
        t("quota.everybody") if found["name"] == "*" else found["name"],
        _share(number(found["used_gpus"]), number(found["gpus"])),
        ", ".join(models) or "-",
        _share(number(found["used_cpus"]), number(found["cpus"])),
        _share(size(found["used_memory"]), size(found["memory"])),
        number(found["guaranteed"]) if found["guaranteed"] else "-",
        t(f"queue.from_{found['declared']}"),
    ]


def _of(used: dict[str, float], model: str) -> float:
    """Models are matched by the end of their name."""
    return sum(count for name, count in used.items() if name.lower().endswith(model.lower()))


def _share(used: str, most: str) -> str:
    return "-" if most == "-" else f"{used}/{most}"
