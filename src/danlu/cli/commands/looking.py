"""`danlu show`, `danlu why`."""

from __future__ import annotations

import sys

from danlu.cli.arrays import tell_if_array
from danlu.cli.commands.listing import state_words
from danlu.cli.formats import clock, duration, hour, moment, number
from danlu.cli.table import coloured, paint, printable, write_table
from danlu.cli.texts import TEXTS, pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model


def show(session: Session, args: Args) -> int:
    job = session.client.show(args.words[0])
    if session.json:
        return session.print_json(job)
    tell_if_array(args.words[0], job)
    _write_fields(_fields(job), job["state"])
    tasks = job.get("tasks") or []
    if tasks:
        sys.stdout.write("\n")
        heads = ["task", "role", "node", "gpus", "phase", "exit"]
        write_table([t(f"show.head_{name}") for name in heads], [_task_row(task) for task in tasks])
    attempts = job.get("attempts") or []
    if len(attempts) > 1:
        sys.stdout.write("\n")
        heads = ["attempt", "state", "started", "ran", "reason"]
        rows = [_attempt_row(attempt) for attempt in attempts]
        write_table([t(f"show.head_{name}") for name in heads], rows)
    return 0


def _fields(job: model.JobDetail) -> list[tuple[str, str]]:
    started, ended = job.get("started_at"), job.get("ended_at")
    cards = number(job.get("gpus"))
    if job.get("gpu_model"):
        cards += f" x {job['gpu_model']}"
    fields = [
        ("job", job["ref"]),
        ("id", job["id"]),
        ("state", state_words(job)),
        ("doing", str(pick(job, "doing") or "")),
        ("reason", str(pick(job, "reason") or "")),
        ("advice", str(pick(job, "advice") or "")),
        *(("evidence", line) for line in job.get("evidence") or []),
        ("command", job.get("command") or ""),
        ("gpus", cards),
        *_asked(job),
        ("nodes", ", ".join(job.get("nodes") or [])),
        ("queue", job.get("queue") or ""),
        ("group", job.get("group") or ""),
        ("priority", str(job.get("priority", 0))),
        ("submitted", clock(job.get("submitted_at"))),
        ("started", clock(started) if started else ""),
        ("ended", clock(ended) if ended else ""),
        ("ran", duration(ended - started) if started and ended else ""),
        ("exit_code", "" if job.get("exit_code") is None else str(job["exit_code"])),
        ("retries", str(job["retries_left"]) if job.get("retries_left") else ""),
    ]
    return [(name, value) for name, value in fields if value]


def _asked(job: model.JobDetail) -> list[tuple[str, str]]:
    """What one task has; roles that differ are told by --json."""
    spec = job.get("spec") or {}
    names = ("cpus", "memory", "time_limit", "workdir", "image")
    asked = {name: _words(spec.get(name) or "") for name in names}
    count = job.get("task_count") or 1
    if count > 1:
        for name in ("cpus", "memory"):
            asked[name] = asked[name] and t("show.each", value=asked[name])
    return [("tasks", str(count) if count > 1 else ""), *asked.items()]


def _write_fields(fields: list[tuple[str, str]], state: str) -> None:
    from danlu.cli.table import width

    colour = coloured()
    labels = [t(f"show.{name}") for name, _ in fields]
    room = max(width(label) for label in labels)
    for label, (name, value) in zip(labels, fields, strict=True):
        text = printable(value)
        shown = paint(text, state, colour) if name == "state" else text
        sys.stdout.write(f"{label}{' ' * (room - width(label))}  {shown}\n")


def _task_row(task: model.Task) -> list[str]:
    code = task.get("exit_code")
    return [
        str(task.get("index", "")),
        task.get("role") or "",
        task.get("node") or "-",
        ",".join(str(index) for index in task.get("gpus") or []) or "-",
        _phase(task.get("phase") or "-"),
        "-" if code is None else str(code),
    ]


def _attempt_row(attempt: model.Attempt) -> list[str]:
    started, ended = attempt.get("started_at"), attempt.get("ended_at")
    return [
        str(attempt.get("number", "")),
        _state(attempt.get("state") or "-"),
        moment(started),
        duration(ended - started) if started and ended else "-",
        str(pick(attempt, "reason") or attempt.get("reason") or ""),
    ]


def why(session: Session, args: Args) -> int:
    answer = session.client.why(args.words[0])
    if session.json:
        return session.print_json(answer)
    tell_if_array(args.words[0], session.client.show(args.words[0]))
    write_why(answer)
    return 0


def write_why(answer: model.Why) -> None:
    sys.stdout.write(f"{pick(answer, 'sentence')}\n")
    for line in (str(pick(answer, "advice") or ""), *(answer.get("evidence") or [])):
        if line:
            sys.stdout.write(f"- {printable(line)}\n")
    for cause in (answer.get("causes") or []) if not answer.get("starts_now") else []:
        text = str(pick(cause, "") or "")
        if text and text != pick(answer, "sentence"):
            basis = cause.get("basis")
            note = (
                f" ({t(f'basis.{basis}')})" if basis in ("verified", "engine", "estimate") else ""
            )
            sys.stdout.write(f"- {printable(text)}{note}\n")
    if answer.get("position") is not None:
        sys.stdout.write(t("why.position", position=answer["position"]) + "\n")
    eta = answer.get("eta")
    if eta is not None and not answer.get("starts_now"):
        sys.stdout.write(t("why.eta", words=pick(answer, "eta"), time=hour(eta)) + "\n")
    elif pick(answer, "eta_why"):
        sys.stdout.write(f"{pick(answer, 'eta_why')}\n")
    nodes = answer.get("nodes") or []
    if nodes:
        sys.stdout.write("\n")
        heads = [t(f"why.head_{name}") for name in ("node", "free", "need", "lacks", "holders")]
        write_table(heads, [_fit_row(node) for node in nodes])
    if answer.get("more_nodes"):
        sys.stdout.write(t("why.more_nodes", count=answer["more_nodes"]) + "\n")
    if pick(answer, "clear") and not answer.get("starts_now"):
        sys.stdout.write(f"{pick(answer, 'clear')}\n")
    _write_what_ifs(answer)


def _write_what_ifs(answer: model.Why) -> None:
    """Changes that were tried, those that help first."""
    tried = answer.get("suggestions") or []
    if tried:
        sys.stdout.write("\n" + t("why.sooner") + "\n")
    for one in tried:
        change, effect = printable(pick(one, "")), printable(pick(one, "effect"))
        sys.stdout.write(t("why.change", change=change, effect=effect) + "\n")


def _fit_row(node: model.NodeFit) -> list[str]:
    holders = [_words(holder) for holder in node.get("holders") or []]
    return [
        node.get("node") or "-",
        _words(node.get("free")),
        _words(node.get("need")),
        ", ".join(_lack(what) for what in node.get("lacks") or []) or "-",
        ", ".join(holders) or "-",
    ]


def _phase(word: str) -> str:
    """In the reader's language; one that is new here as it is."""
    return t(f"phase.{word}") if f"phase.{word}" in TEXTS else word


def _lack(word: str) -> str:
    return t(f"why.lacks_{word}") if f"why.lacks_{word}" in TEXTS else word


def _state(word: str) -> str:
    return t(f"state.{word}") if f"state.{word}" in TEXTS else word


def _words(value: object) -> str:
    """Whatever shape the server gives a small fact in, on one line."""
    if isinstance(value, dict):
        if "job" in value:
            return _holder(value)
        return " ".join(
            f"{key}={_words(inner)}" for key, inner in value.items() if inner is not None
        )
    if isinstance(value, (list, tuple)):
        return ",".join(_words(inner) for inner in value)
    if isinstance(value, float):
        return number(value)
    return "-" if value is None else str(value)


def _holder(value: dict[str, object]) -> str:
    cards = value.get("gpus")
    words = str(value["job"])
    return f"{words} ({_words(cards)} GPU)" if cards else words
