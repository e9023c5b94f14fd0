"""`danlu up`, `down`, `check`: the platform here. `snapshot`, `replay`: what it decided on."""

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
    """Becomes the server."""
    args.integer("port")  # told here as any other number that is none
    become("danlu.server", args, json=False)


def check(session: Session, args: Args) -> NoReturn:
    become("danlu.server.check", args, session.json)


def snapshot(session: Session, args: Args) -> int:
    return session.print_json(session.client.scheduling.snapshot())


def replay(session: Session, args: Args) -> NoReturn:
    become("danlu.server.replay", args, session.json)


def become(module: str, args: Args, json: bool) -> NoReturn:
    words: list[str] = []
    for option in args.command.options:
        if args.flag(option.long):
            value = args.get(option.long)
            words += [f"--{option.long}"] + ([value or ""] if option.metavar else [])
    # Behind a --, so that a file may be called whatever it is called.
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
    """Ends the server; says what goes on without it."""
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
