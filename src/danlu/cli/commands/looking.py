"""`danlu show`, `danlu why`."""

from __future__ import annotations

import sys

from danlu.cli.arrays import tell_if_array
from danlu.cli.commands.listing import state_words
from danlu.cli.formats import clock, duration, hour, moment, number
from danlu.cli.last import job_or_last
from danlu.cli.table import coloured, paint, printable, write_table
from danlu.cli.texts import known, pick, t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model


def show(session: Session, args: Args) -> int:
    ref = job_or_last(session, args)
    job = session.client.show(ref)
    if session.json:
        return session.print_json(job)
    tell_if_array(ref, job)
    _write_fields(_fields(job), job["state"])
    _write_roles(job)
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
    gpus = number(job.get("gpus"))
    if job.get("gpu_model"):
        gpus += f" x {job['gpu_model']}"
    fields = [
        ("job", job["ref"]),
        ("id", job["id"]),
        ("state", state_words(job)),
        ("doing", str(pick(job, "doing") or "")),
        ("reason", str(pick(job, "reason") or "")),
        ("before", _before(job.get("before"))),
        ("advice", str(pick(job, "advice") or "")),
        *(("evidence", line) for line in job.get("evidence") or []),
        ("command", job.get("command") or ""),
        ("gpus", gpus),
        *_asked(job),
        ("nodes", ", ".join(job.get("nodes") or [])),
        ("queue", job.get("queue") or ""),
        ("group", job.get("group") or ""),
        ("priority", str(job.get("priority", 0))),
        ("submitted", clock(job.get("submitted_at"))),
        ("started", clock(started) if started and not job.get("before") else ""),
        ("ended", clock(ended) if ended else ""),
        ("ran", duration(ended - started) if started and ended else ""),
        ("exit_code", "" if job.get("exit_code") is None else str(job["exit_code"])),
        ("retries", str(job["retries_left"]) if job.get("retries_left") else ""),
    ]
    return [(name, value) for name, value in fields if value]


def _before(run: model.EarlierRun | None) -> str:
    if not run:
        return ""
    ran, ended = duration(run["ran"]), clock(run["ended_at"])
    return t("show.waits_again", ran=ran, ended=ended, reason=pick(run, "reason"))


def _asked(job: model.JobDetail) -> list[tuple[str, str]]:
    """The resources of one task; several roles have a table of their own."""
    spec = job.get("spec") or {}
    if len(spec.get("roles") or {}) == 1:
        spec = {**spec, **next(iter(spec["roles"].values()))}
    names = ("cpus", "memory", "time_limit", "workdir", "image")
    asked = {name: _words(spec.get(name) or "") for name in names}
    count = job.get("task_count") or 1
    if count > 1:
        for name in ("cpus", "memory"):
            asked[name] = asked[name] and t("show.each", value=asked[name])
    return [("tasks", str(count) if count > 1 else ""), *asked.items()]


def _write_roles(job: model.JobDetail) -> None:
    roles: dict[str, dict[str, Any]] = (job.get("spec") or {}).get("roles") or {}
    if len(roles) < 2:
        return
    sys.stdout.write("\n")
    heads = ["role", "tasks", "gpus", "cpus", "memory", "image", "command"]
    write_table(
        [t(f"show.head_role_{name}") for name in heads],
        [_role_row(name, role) for name, role in roles.items()],
        right=" >>>>",
    )


def _role_row(name: str, role: dict[str, Any]) -> list[str]:
    gpus = role.get("gpus")
    return [
        name,
        str(role.get("count", 1)),
        _words(gpus) if gpus else "-",
        _words(role.get("cpus")),
        _words(role.get("memory")),
        role.get("image") or "-",
        _words(role.get("command") or role.get("script")),
    ]


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
    ref = job_or_last(session, args)
    answer = session.client.why(ref)
    if session.json:
        return session.print_json(answer)
    tell_if_array(ref, session.client.show(ref))
    write_why(answer, ref)
    return 0


def write_why(answer: model.Why, ref: str = "") -> None:
    """`ref`: the waiting job, for the commands that change it."""
    sys.stdout.write(f"{pick(answer, 'sentence')}\n")
    before = _before(answer.get("before"))
    if before:
        sys.stdout.write(f"{printable(before)}\n")
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
    _write_what_ifs(answer, ref)


def _write_what_ifs(answer: model.Why, ref: str) -> None:
    """Changes that were tried, helpful ones first, with the commands that make them."""
    tried = answer.get("suggestions") or []
    if tried:
        sys.stdout.write("\n" + t("why.sooner") + "\n")
    for one in tried:
        change, effect = printable(pick(one, "")), printable(pick(one, "effect"))
        sys.stdout.write(t("why.change", change=change, effect=effect) + "\n")
        if ref and one.get("change"):
            from danlu.cli.commands.editing import command_of

            sys.stdout.write(f"    {printable(command_of(ref, one['change']))}\n")


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
    """Translated if known, else as received."""
    return known(f"phase.{word}", word)


def _lack(word: str) -> str:
    return known(f"why.lacks_{word}", word)


def _state(word: str) -> str:
    return known(f"state.{word}", word)


def _words(value: object) -> str:
    """A detail of any shape, on one line."""
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
    gpus = value.get("gpus")
    words = str(value["job"])
    return f"{words} ({_words(gpus)} GPU)" if gpus else words
