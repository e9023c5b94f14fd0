"""`danlu secret`: values jobs use without having them in their files."""

from __future__ import annotations

import sys

from danlu.cli import codes
from danlu.cli.asking import make_sure
from danlu.cli.failure import Failure
from danlu.cli.options import misused
from danlu.cli.terminal import is_terminal
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session


def secret(session: Session, args: Args) -> int:
    verb, *names = args.words
    if (verb, len(names)) == ("list", 0):
        return _list(session)
    if verb not in ("set", "rm") or len(names) != 1:
        raise misused(args)
    name = names[0]
    if verb == "set":
        session.client.set_secret(name, _value(name))
    else:
        make_sure(args, "sure.secret", name=name)
        session.client.delete_secret(name)
    if session.json:
        return session.print_json({"names": [name]})
    sys.stdout.write(t("secret.set" if verb == "set" else "secret.gone", name=name) + "\n")
    return codes.OK


def _list(session: Session) -> int:
    names = session.client.secrets()
    if session.json:
        return session.print_json({"names": names})
    sys.stdout.write("".join(f"{name}\n" for name in names) or t("secret.none") + "\n")
    return codes.OK


def _value(name: str) -> str:
    """Typed without echo, or read from a file or pipe; never an argument, which others
    could see.
    """
    if is_terminal(0):
        import getpass

        try:
            value = getpass.getpass(t("secret.ask", name=name) + " ")
        except EOFError:
            raise KeyboardInterrupt from None
    else:
        try:
            value = sys.stdin.read().removesuffix("\n")
        except UnicodeDecodeError:
            raise Failure("flags.not_text", codes.USAGE, what=name) from None
    if not value:
        raise Failure("secret.empty", codes.USAGE, name=name)
    return value
