"""`danlu login`, `passwd`, `whoami`, `version`."""

from __future__ import annotations

import contextlib
import os
import sys

from danlu.cli import codes
from danlu.cli.failure import Failure, complain
from danlu.cli.terminal import is_terminal
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def login(session: Session, args: Args) -> int:
    """Turns a name and a password into a token, and keeps that."""
    from danlu.sdk.client import Client
    from danlu.sdk.context import write_context

    server, ca_file = _server(session, args)
    user = args.get("user") or _ask_user()
    password = _password(args, user)
    client = Client(server, "", ca_file=ca_file)
    answer = client.login(user, password)
    name = args.get("name") or client.wire.address.host
    path = write_context(name, server, answer["token"], ca_file)
    if session.json:
        shown = {"user": answer["user"], "server": server, "context": name, "file": path}
        return session.print_json(shown)
    sys.stdout.write(t("login.done", user=answer["user"], server=server, name=name) + "\n")
    if answer.get("must_change_password"):
        complain(t("login.must_change"))
    return codes.OK


def _server(session: Session, args: Args) -> tuple[str, str | None]:
    if args.words:
        address = args.words[0]
        known = address if "://" in address or address.startswith("unix:") else f"http://{address}"
        return known, os.environ.get("DANLU_CA_FILE")
    where = session.where
    return where.server, where.ca_file


def _ask_user() -> str:
    if not is_terminal(0):
        raise Failure("login.no_user", codes.USAGE)
    sys.stderr.write(t("login.user") + " ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _password(args: Args, user: str) -> str:
    if args.flag("password-stdin"):
        return sys.stdin.readline().rstrip("\r\n")
    return _secret_line("login.password", user=user)


def _secret_line(key: str, **more: str) -> str:
    """Asked without echo on a terminal, else the next line of the input."""
    if not is_terminal(0):
        return sys.stdin.readline().rstrip("\r\n")
    import getpass

    try:
        return getpass.getpass(t(key, **more) + " ")
    except EOFError:
        raise KeyboardInterrupt from None


def passwd(session: Session, args: Args) -> int:
    """Asks on a terminal; otherwise reads the present and the new password from two lines."""
    old = _secret_line("passwd.old")
    new = _secret_line("passwd.new")
    if is_terminal(0) and _secret_line("passwd.again") != new:
        raise Failure("passwd.twice", codes.USAGE)
    answer = session.client.change_password(old, new)
    if session.json:
        return session.print_json(answer)
    sys.stdout.write(t("passwd.done") + "\n")
    return codes.OK


def whoami(session: Session, args: Args) -> int:
    answer = session.client.whoami()
    if session.json:
        return session.print_json(answer)
    server = session.client.wire.address.text
    sys.stdout.write(t("whoami", user=answer["user"], role=answer["role"], server=server) + "\n")
    return codes.OK


def version(session: Session, args: Args) -> int:
    """This program's version, and the server's where one answers."""
    from danlu import __version__
    from danlu.sdk.context import ContextError
    from danlu.sdk.errors import ApiError, Lost, NoServer, ProtocolError, Unreachable

    server: str | None = None
    with contextlib.suppress(ApiError, Lost, NoServer, ProtocolError, Unreachable, ContextError):
        server = session.client.version()
    if session.json:
        return session.print_json({"client": __version__, "server": server})
    sys.stdout.write(f"danlu {__version__}\n")
    if server is not None:
        place = session.client.wire.address.text
        sys.stdout.write(t("version.server", version=server, server=place) + "\n")
    return codes.OK
