"""`danlu up`, `down`, `init`, `admin`, `check`, `tools`, `slurm`, and `snapshot`, `replay`."""

from __future__ import annotations

import os
import sys

from danlu.cli import codes
from danlu.cli.commands.listing import state_words
from danlu.cli.failure import Failure
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from danlu.cli.options import Args
    from danlu.cli.session import Session


def up(session: Session, args: Args) -> NoReturn:
    """Replaces this process with the server."""
    args.integer("port")  # validated here for a consistent error message
    become("danlu.server", args, json=False)


def init(session: Session, args: Args) -> NoReturn:
    become("danlu.server.init", args, json=False)


def check(session: Session, args: Args) -> NoReturn:
    if not (args.flag("config") or args.flag("data") or os.environ.get("DANLU_CONFIG")):
        _use_running(session, args)
    become("danlu.server.check", args, session.json)


def _use_running(session: Session, args: Args) -> None:
    """Checks with the folder and the configuration of the server that runs on this machine."""
    from danlu.sdk.fastjson import loads

    try:
        server = session.where.server
        if not server.startswith(("unix:", "http://127.0.0.1", "https://127.0.0.1")):
            return
        data = session.client.server().get("data")
        with open(f"{data}/server.json", "rb") as file:
            here = loads(file.read())
    except Exception:
        return  # none is running, or it is not ours to look into
    if here.get("url") == server:
        args.add("data", str(data))
        if here.get("config"):
            args.add("config", str(here["config"]))


def tools(session: Session, args: Args) -> NoReturn:
    """Works on the data folder itself, not through the server."""
    if not (args.flag("config") or args.flag("data") or os.environ.get("DANLU_CONFIG")):
        _use_running(session, args)
    become("danlu.server.tools", args, session.json)


def slurm(session: Session, args: Args) -> NoReturn:
    """Works on this machine and the cluster's, not through the server."""
    become("danlu.server.slurm", args, session.json)


def snapshot(session: Session, args: Args) -> int:
    return session.print_json(session.client.scheduling.snapshot())


def replay(session: Session, args: Args) -> NoReturn:
    become("danlu.server.replay", args, session.json)


def admin(session: Session, args: Args) -> NoReturn:
    """Works on the data folder itself, not through the server."""
    become("danlu.server.reset_password", args, session.json)


def become(module: str, args: Args, json: bool) -> NoReturn:
    words: list[str] = []
    for option in args.command.options:
        if args.flag(option.long):
            value = args.get(option.long)
            words += [f"--{option.long}"] + ([value or ""] if option.metavar else [])
    # After --, so that any file name works.
    words += ["--", *args.words] if args.words else []
    if json:
        words.insert(0, "--json")
    language = args.get("lang")
    if language:
        os.environ["DANLU_LANG"] = language
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(sys.executable, [sys.executable, "-m", module, *words])  # noqa: S606
    except OSError as error:
        cause = error.strerror or str(error)
        raise Failure("up.cannot", program=sys.executable, cause=cause) from None


def down(session: Session, args: Args) -> int:
    """Stops the server and lists the jobs that keep running."""
    running = session.client.shutdown()
    if session.json:
        return session.print_json({"running": running})
    server = session.client.wire.address.text
    sys.stdout.write(t("down.done", server=server) + "\n")
    if running:
        sys.stdout.write(t("down.running", count=len(running)) + "\n")
        for job in running:
            sys.stdout.write(f"  {job['ref']}  {state_words(job)}  {job.get('command') or ''}\n")
    else:
        sys.stdout.write(t("down.nothing") + "\n")
    return codes.OK
