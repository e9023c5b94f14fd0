"""What every command receives: the server to talk to, and how to answer."""

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
    """The server is looked up only when a command needs it."""

    def __init__(self, args: Args) -> None:
        self.json = args.flag("json")
        self._args = args
        self._client: Client | None = None
        self._token_source = ""
        self._warned = False

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
            self._token_source = where.token_source
            if not (token.isascii() and token.isprintable()):
                from danlu.cli import codes
                from danlu.cli.failure import Failure

                raise Failure("server.bad_token", codes.DENIED)
            self._client = Client(where.server, token, ca_file=where.ca_file)
            self._client.wire.language = ("en", "zh")[language() == ZH]
            self._client.wire.on_disk_full = self._warn_of_full_disk
            self._client.wire.on_disk_low = self._warn_of_low_disk
        return self._client

    def add_details(self, error: BaseException) -> None:
        """What only the session knows: which server was asked, and whose token it got."""
        if self._client is None:
            return
        from danlu.sdk.errors import ApiError

        if isinstance(error, ApiError):
            error.server = self._client.wire.address.text
            error.token_source = self._token_source

    def _warn_of_full_disk(self, since: str) -> None:
        if self._warned:
            return
        self._warned = True
        from danlu.cli.failure import complain
        from danlu.cli.formats import clock
        from danlu.cli.texts import t

        complain(t("server.disk_full", since=clock(float(since))))

    def _warn_of_low_disk(self, since: str, free: str) -> None:
        if self._warned:
            return
        self._warned = True
        from danlu.cli.failure import complain
        from danlu.cli.formats import clock, size
        from danlu.cli.texts import t

        complain(t("server.disk_low", since=clock(float(since)), free=size(int(free))))

    def tell_of_demo(self) -> None:
        """On stderr, so that the output can still be piped."""
        if self._client is not None and self._client.wire.demo and not self.json:
            from danlu.cli.texts import t

            sys.stdout.flush()
            sys.stderr.write(t("demo.note") + "\n")

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
