"""`danlu env`: places to work in, which are kept under a name and started again."""

from __future__ import annotations

import sys
import time

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.failure import Failure, explain
from danlu.cli.formats import clock, duration
from danlu.cli.jobflags import job_keys
from danlu.cli.options import UsageError, misused
from danlu.cli.submission import patience, send
from danlu.cli.table import printable, write_table
from danlu.cli.texts import pick, t
from danlu.sdk.errors import ApiError
from danlu.sdk.ids import uuid7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

_NONE = "none"
_TERMINAL = "terminal"
_OPENS = ("lab", "code", "tensorboard", _TERMINAL)
_WAITS = ("queued", "starting")
_HEADS = ("name", "state", "image", "gpus", "left", "shared")


def env(session: Session, args: Args) -> int:
    verb, *names = args.words
    ours = session.client.environments
    if verb == "list" and not names:
        return _list(session, args)
    if verb == "extend" and len(names) in (1, 2):
        return _extended(session, ours.extend(names[0], *names[1:]))
    if verb == "open" and len(names) in (1, 2):
        return _open(session, args, *names)
    if verb in ("share", "unshare") and len(names) > 1:
        return _share(session, verb, names[0], names[1:])
    if verb == "save" and len(names) == 2:
        return _save(session, args, *names)
    several = {"start": ours.start, "stop": ours.stop, "delete": ours.delete}
    if verb in several and names:
        return _each(session, args, several[verb])
    single = {"create": _create, "show": _show, "change": _change}
    if verb not in single or len(names) != 1:
        raise misused(args)
    return single[verb](session, args, names[0])


def _create(session: Session, args: Args, name: str) -> int:
    ours, keys = session.client.environments, _keys(session, args)
    if args.flag("dry-run"):
        found = ours.create(name, dry_run=True, **keys)
        if session.json:
            return session.print_json(found)
        from danlu.cli.commands.looking import write_why

        preview = found["preview"]
        assert preview is not None
        sys.stdout.write(f"{name}: ")
        write_why(preview["why"])
        return codes.OK
    keys |= {"id": uuid7(), "start": not args.flag("no-start")}
    made = send(lambda: ours.create(name, **keys), patience(args), repeatable=True)
    return _told(session, [made["environment"]])


def _keys(session: Session, args: Args) -> dict[str, Any]:
    keys = job_keys(args)
    if args.flag("carry"):
        from danlu.cli.carrying import bring

        keys["bundle"] = bring(session, args)
    return keys


def _show(session: Session, args: Args, name: str) -> int:
    found = session.client.environments.show(name)
    if session.json:
        return session.print_json(found)
    job = found["job"]
    lines = [
        ("name", found["name"]),
        ("owner", found["owner"]),
        ("state", t(f"state.{found['state']}")),
        ("doing", str(pick(found, "doing") or "")),
        ("job", job["ref"] if job else ""),
        ("reason", str(pick(job, "reason") or "") if job else ""),
        ("nodes", ", ".join(job["nodes"]) if job else ""),
        ("saved_image", found["saved_image"] or ""),
        *((key, _words(value)) for key, value in _asked(found).items()),
        ("idle", _idle_words(found)),
        ("ends", clock(found["ends_at"]) if found["ends_at"] else ""),
        ("shared", ", ".join(found["shared"])),
        *_ssh_lines(session, found),
    ]
    from danlu.cli.table import width

    shown = [(_label(name), value) for name, value in lines if value]
    room = max(width(label) for label, _ in shown)
    for label, value in shown:
        sys.stdout.write(f"{label}{' ' * (room - width(label))}  {printable(value)}\n")
    return codes.OK


def _ssh_lines(session: Session, found: model.EnvironmentView) -> list[tuple[str, str]]:
    """How any SSH client gets in, and by what it knows that this is the right server."""
    from danlu.cli.commands.ssh import Door

    if found["state"] != "running":
        return []
    try:
        door = Door(session)
    except Failure:  # switched off
        return []
    ref = f"{found['owner']}/{found['name']}"
    return [("ssh", door.line(ref)), ("host_key", door.host_key)]


def _save(session: Session, args: Args, name: str, image: str) -> int:
    from danlu.cli.commands.saving import save_as

    found = session.client.environments.show(name)
    job = found["job"]
    if job is None or found["state"] != "running":
        raise Failure("env.save_not_running", codes.CONFLICT, name=name)
    try:
        return save_as(session, args, job["id"], image, named=name)
    except ApiError as no:
        if no.code != "no_image":
            raise
        raise Failure("env.save_no_image", codes.CONFLICT, name=name) from None


def _open(session: Session, args: Args, name: str, what: str = "lab") -> int:
    if what not in _OPENS:
        raise UsageError("env.bad_door", "env", word=what)
    found = session.client.environments.show(name)
    job = found["job"]
    if job is None or found["state"] == "stopped":
        raise Failure("env.not_running", codes.CONFLICT, name=name)
    from danlu.cli.commands.open import show_address

    if what == _TERMINAL:
        page = f"{_site(session)}/environments/{found['owner']}~{found['name']}?terminal=1"
        return session.print_json({"url": page}) if session.json else show_address(args, page)
    opened = session.client.open_door(job["id"], what)
    return session.print_json(opened) if session.json else show_address(args, opened["url"])


def _site(session: Session) -> str:
    """Where the pages are; a server that is reached by a socket listens elsewhere, too."""
    server = session.where.server
    if server.startswith("unix:"):
        addresses = session.client.server()["addresses"]
        server = next((each for each in addresses if each.startswith("http")), server)
    return server.rstrip("/")


def _change(session: Session, args: Args, name: str) -> int:
    ours = session.client.environments
    keys: dict[str, Any] = {
        key: None if value == _NONE else value for key, value in _keys(session, args).items()
    }
    if not keys:
        raise UsageError("env.nothing", "env")
    try:
        found = ours.change(name, **keys)
    except ApiError as no:
        if no.code != "restart_needed":
            raise
        make_sure(args, "sure.restart", name=name)
        found = ours.change(name, restart=True, **keys)
    if session.json:
        return session.print_json(found)
    if found["restarted"]:
        sys.stdout.write(t("env.restarted", name=name) + "\n")
    return _told(session, [found["environment"]])


def _each(session: Session, args: Args, act: Callable[[str], model.EnvironmentView]) -> int:
    """Applies the action to every one; a failure does not stop the rest."""
    verb, *names = args.words
    if verb == "delete":
        make_sure(args, "sure.env", name=", ".join(names))
    done: list[model.EnvironmentView] = []
    code = codes.OK
    for name in names:
        try:
            done.append(act(name))
        except ApiError as error:
            code = max(code, explain(error))
    if verb != "delete" or session.json:
        return max(code, _told(session, done))
    for each in done:
        sys.stdout.write(t("env.deleted", name=each["name"]) + "\n")
    return code


def _share(session: Session, verb: str, name: str, people: list[str]) -> int:
    ours = session.client.environments
    act = ours.share if verb == "share" else ours.unshare
    found = [act(name, person) for person in people][-1]
    if session.json:
        return session.print_json({"environments": [found]})
    key = "env.shared" if found["shared"] else "env.not_shared"
    sys.stdout.write(t(key, name=name, people=", ".join(found["shared"])) + "\n")
    return codes.OK


def _extended(session: Session, found: model.EnvironmentView) -> int:
    if session.json:
        return session.print_json({"environments": [found]})
    ends, words = found["ends_at"], {"name": found["name"]}
    if ends is None:
        sys.stdout.write(t("env.no_end", **words) + "\n")
    else:
        words |= {"at": clock(ends), "left": duration(ends - time.time())}
        sys.stdout.write(t("env.extended", **words) + "\n")
    return codes.OK


def _told(session: Session, found: list[model.EnvironmentView]) -> int:
    if session.json:
        return session.print_json({"environments": found})
    for each in found:
        state = each["state"]
        key = "waits" if state in _WAITS else state
        words = {"name": each["name"], "state": t(f"state.{state}")}
        sys.stdout.write(t(f"env.is_{key}", **words) + "\n")
        if _idle_words(each):
            sys.stdout.write(f"{each['name']}: {_idle_words(each)}\n")
    return codes.OK


def _list(session: Session, args: Args) -> int:
    found = session.client.environments.all(everybody=args.flag("all"))
    if session.json:
        return session.print_json({"environments": found})
    if not found:
        sys.stdout.write(t("env.none") + "\n")
        return codes.OK
    me = session.client.whoami()["user"]
    write_table(
        [t(f"env.head_{head}") for head in _HEADS],
        [_row(each, me) for each in found],
        state=1,
        states=[each["state"] for each in found],
    )
    return codes.OK


def _row(found: model.EnvironmentView, me: str) -> list[str]:
    mine = found["owner"] == me
    gpus, ends = _asked(found).get("gpus") or 0, found["ends_at"]
    return [
        found["name"] if mine else f"{found['owner']}/{found['name']}",
        t(f"state.{found['state']}"),
        found["saved_image"] or _asked(found).get("image") or "-",
        _words(gpus),
        duration(ends - time.time()) if ends else "-",
        ", ".join(found["shared"]) or "-",
    ]


def _idle_words(found: model.EnvironmentView) -> str:
    stops = found["idle_stop_at"]
    return "" if stops is None else t("env.idle", time=duration(stops - time.time()))


def _asked(found: model.EnvironmentView) -> dict[str, Any]:
    return found["request"]


def _label(name: str) -> str:
    """Keys of a job file are the same in every language."""
    from danlu.cli.texts_environments import ENVIRONMENTS

    return t(f"env.field_{name}") if f"env.field_{name}" in ENVIRONMENTS else name


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_words(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(_words(each) for each in value)
    return str(value)
