"""`danlu login`, `logout`, `passwd`, `whoami`, `version`."""

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
    """Exchanges a name and password for a token, and saves it."""
    from danlu.sdk.client import Client
    from danlu.sdk.context import write_context

    server, ca_file = server_of(session, args)
    user = args.get("user") or ask_user()
    password = ask_password(args, user)
    client = Client(server, "", ca_file=ca_file)
    answer = client.login(user, password)
    name = context_name(args, answer["user"], client.wire.address.name)
    path = write_context(name, server, answer["token"], ca_file)
    if session.json:
        shown = {"user": answer["user"], "server": server, "context": name, "file": path}
        return session.print_json(shown)
    sys.stdout.write(t("login.done", user=answer["user"], server=server, name=name) + "\n")
    if answer.get("must_change_password"):
        complain(t("login.must_change"))
    return codes.OK


def logout(session: Session, args: Args) -> int:
    """Revokes the token on the server and removes the context."""
    from danlu.sdk.context import read_contexts, remove_context
    from danlu.sdk.errors import ApiError

    where = session.where
    ended = 0
    try:
        if args.flag("everywhere"):
            ended = session.client.people.end_sessions()
        session.client.people.logout()
    except ApiError as error:
        if error.status != 401:  # a token that is already invalid is forgotten all the same
            raise
    if where.source in read_contexts()["contexts"]:
        remove_context(where.source)
    if session.json:
        return session.print_json({"server": where.server, "sessions_ended": ended})
    sys.stdout.write(t("logout.done", server=where.server) + "\n")
    return codes.OK


def context_name(args: Args, user: str, place: str) -> str:
    """With user and port, so that one login does not replace another."""
    return args.get("name") or args.get("context") or f"{user}@{place}"


def server_of(session: Session, args: Args) -> tuple[str, str | None]:
    if args.words:
        address = args.words[0]
        known = address if "://" in address or address.startswith("unix:") else f"http://{address}"
        return known.rstrip("/"), os.environ.get("DANLU_CA_FILE")
    where = session.where
    return where.server, where.ca_file


def ask_user() -> str:
    if not is_terminal(0):
        raise Failure("login.no_user", codes.USAGE)
    sys.stderr.write(t("login.user") + " ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def ask_password(args: Args, user: str) -> str:
    if args.flag("password-stdin"):
        return sys.stdin.readline().rstrip("\r\n")
    return secret_line("login.password", user=user)


def secret_line(key: str, **more: str) -> str:
    """Prompts without echo on a terminal, else reads the next line of the input."""
    if not is_terminal(0):
        return sys.stdin.readline().rstrip("\r\n")
    import getpass

    try:
        return getpass.getpass(t(key, **more) + " ")
    except EOFError:
        raise KeyboardInterrupt from None


def passwd(session: Session, args: Args) -> int:
    """Prompts on a terminal; otherwise reads the current and new password from two lines."""
    old = secret_line("passwd.old")
    new = secret_line("passwd.new")
    if is_terminal(0) and secret_line("passwd.again") != new:
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
    role = t(f"role.{answer['role']}")
    sys.stdout.write(t("whoami", user=answer["user"], role=role, server=server) + "\n")
    leads, groups = answer.get("leads") or [], answer.get("groups") or []
    if groups:
        shown = [t("whoami.leads", group=name) if name in leads else name for name in groups]
        sys.stdout.write(t("whoami.groups", groups=", ".join(shown)) + "\n")
    if answer.get("scope") == "read":
        sys.stdout.write(t("whoami.read_only") + "\n")
    if answer.get("must_change_password"):
        complain(t("login.must_change"))
    return codes.OK


def version(session: Session, args: Args) -> int:
    """The version of this program and, if one answers, of the server."""
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
