"""`danlu open`: what a running job serves, in the browser."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session
    from danlu.sdk import model

DOORS = ("lab", "code", "tensorboard")


def open(session: Session, args: Args) -> int:
    ref = args.words[0]
    task = args.integer("task") or 0
    door = args.words[1] if len(args.words) > 1 else _usual(session.client.show(ref), task)
    if door in DOORS:
        opened = session.client.open_door(ref, door, task=task)
    elif door.isdecimal() and door.isascii() and 0 < int(door) < 65536:
        opened = session.client.open_door(ref, port=int(door), task=task)
    else:
        raise UsageError("open.bad_door", "open", word=door)
    return session.print_json(opened) if session.json else show_address(args, opened["url"])


def show_address(args: Args, url: str) -> int:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    if not args.flag("print") and _has_screen():
        import webbrowser

        webbrowser.open(url)
    return codes.OK


def _usual(job: model.JobDetail, task: int) -> str:
    if job["kind"] == "environment":
        return DOORS[0]
    if job["spec"].get("tool") in DOORS:
        return str(job["spec"]["tool"])
    ports = [port for each in job["tasks"] if each["index"] == task for port in each["ports"]]
    if len(ports) == 1:
        return str(ports[0])
    if ports:
        listed = ", ".join(str(port) for port in ports)
        raise Failure("open.which", codes.USAGE, ref=job["ref"], ports=listed)
    raise Failure("open.which_none", codes.USAGE, ref=job["ref"])


def _has_screen() -> bool:
    """A browser in the terminal would not be able to show much."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
