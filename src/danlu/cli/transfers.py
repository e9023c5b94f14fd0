"""What a transfer has to remember, so that repeating the command continues it."""

from __future__ import annotations

import hashlib
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Remembered:
    """A small file of values, named after what identifies the transfer."""

    def __init__(self, *key: object) -> None:
        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        text = json.dumps([str(each) for each in key])
        name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._path = os.path.join(base, "danlu", "transfers", f"{name}.json")
        self.values: dict[str, Any] = {}
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
            self.values = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass

    def keep(self, **values: Any) -> None:
        """Without it nothing is continued, and nothing else is lost."""
        self.values |= values
        draft = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(self.values, file)
            os.replace(draft, self._path)
        except OSError:
            pass

    def forget(self) -> None:
        self.values = {}
        try:  # noqa: SIM105
            os.unlink(self._path)
        except OSError:
            pass


def remote_name(name: bytes) -> str:
    """A name as the server writes it: bytes that are not UTF-8 as `\\xHH`."""
    import re

    name = re.sub(rb"\\x([0-9a-fA-F]{2})", rb"\\x5cx\1", name)
    return name.decode("utf-8", "backslashreplace")


def local_name(text: str) -> bytes:
    """The bytes of a name that the server has written with `\\xHH`."""
    import re

    raw = text.encode()
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), raw)
