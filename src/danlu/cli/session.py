"""What every command is given: the server to talk to and how to answer."""

from __future__ import annotations

import sys

from danlu.cli.texts import ZH, language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.options import Args
    from danlu.sdk.client import Client
    from danlu.sdk.context import Where


class Session:
    """The server is looked up only when a command asks for it."""

    def __init__(self, args: Args) -> None:
        self.json = args.flag("json")
        self._args = args
        self._client: Client | None = None

    @property
    def where(self) -> Where:
        from danlu.sdk.context import find

        args = self._args
        return find(args.get("server"), args.get("token"), args.get("context"))

    @property
    def client(self) -> Client:
        if self._client is None:
            from danlu.sdk.client import Client

            where = self.where
            token = where.token or ""
            if not (token.isascii() and token.isprintable()):
                from danlu.cli import codes
                from danlu.cli.failure import Failure

                raise Failure("server.bad_token", codes.DENIED)
            self._client = Client(where.server, token, ca_file=where.ca_file)
            self._client.wire.language = ("en", "zh")[language() == ZH]
        return self._client

    def print_json(self, value: Any) -> int:
        """The API's answer: indented for people, one line for programs."""
        if sys.stdout.isatty():
            import json

            text = json.dumps(value, indent=2, ensure_ascii=False)
        else:
            from danlu.sdk.fastjson import dumps

            text = dumps(value)
        sys.stdout.write(text + "\n")
        return 0
