"""`danlu signup`: creates an account with an invitation, or requests one."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.commands.session import ask_user, context_name, secret_line, server_of
from danlu.cli.failure import Failure
from danlu.cli.terminal import is_terminal
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.cli.session import Session


def signup(session: Session, args: Args) -> int:
    """With a code the account is created at once and logged in to."""
    from danlu.sdk.client import Client
    from danlu.sdk.context import write_context

    server, ca_file = server_of(session, args)
    user = args.get("user") or ask_user()
    password = _new_password(args)
    values: dict[str, Any] = {}
    for option, key in (("code", "code"), ("group", "group"), ("note", "note")):
        if args.get(option) is not None:
            values[key] = args.get(option)
    if args.get("full-name") is not None:
        values["full_name"] = args.get("full-name")
    client = Client(server, "", ca_file=ca_file)
    answer = client.people.sign_up(user, password, **values)
    if answer["status"] != "active":
        if session.json:
            return session.print_json(answer)
        sys.stdout.write(t("signup.pending", user=user) + "\n")
        return codes.OK
    name = context_name(args, user, client.wire.address.name)
    path = write_context(name, server, client.login(user, password)["token"], ca_file)
    if session.json:
        return session.print_json({**answer, "server": server, "context": name, "file": path})
    sys.stdout.write(t("signup.done", user=user, server=server, name=name) + "\n")
    return codes.OK


def _new_password(args: Args) -> str:
    if args.flag("password-stdin"):
        return sys.stdin.readline().rstrip("\r\n")
    password = secret_line("passwd.new")
    if is_terminal(0) and secret_line("passwd.again") != password:
        raise Failure("passwd.twice", codes.USAGE)
    return password
