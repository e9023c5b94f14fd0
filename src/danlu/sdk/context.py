"""Which server to talk to: flags, then the environment, then the context file."""

from __future__ import annotations

import os

from danlu.sdk.errors import NoServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ContextError(Exception):
    """The context file cannot be read or written."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"{path}: {cause}")
        self.path = path
        self.cause = cause


class Where:
    """A server and how to be known there."""

    def __init__(self, server: str, token: str | None, ca_file: str | None, source: str) -> None:
        self.server = server
        self.token = token
        self.ca_file = ca_file
        self.source = source  # what named it: "flags", "environment" or the context's name


def context_path() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return f"{base}/danlu/context.json"


def read_contexts() -> dict[str, Any]:
    """The whole file; empty when there is none."""
    from danlu.sdk.fastjson import loads

    path = context_path()
    try:
        with open(path, "rb") as file:
            found = loads(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return {"current": None, "contexts": {}}
    except OSError as error:
        raise ContextError(path, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise ContextError(path, str(error)) from None
    if not isinstance(found, dict) or not isinstance(found.get("contexts"), dict):
        raise ContextError(path, 'no "contexts" in it')
    return found


def write_context(name: str, server: str, token: str | None, ca_file: str | None = None) -> str:
    """Adds or replaces one context and makes it the current one. Gives back the file's path."""
    everything = read_contexts()
    entry = {"server": server, "token": token}
    if ca_file:
        entry["ca_file"] = ca_file
    everything["contexts"][name] = entry
    everything["current"] = name
    return _write(everything)


def use_context(name: str) -> None:
    """Makes it the current one. Raises NoServer where there is none of that name."""
    everything = read_contexts()
    if name not in everything["contexts"]:
        raise NoServer(name)
    everything["current"] = name
    _write(everything)


def remove_context(name: str) -> None:
    """Forgets a server and the token for it. Raises NoServer where there is none of that name."""
    everything = read_contexts()
    if name not in everything["contexts"]:
        raise NoServer(name)
    del everything["contexts"][name]
    if everything.get("current") == name:
        everything["current"] = next(iter(everything["contexts"]), None)
    _write(everything)


def _write(everything: dict[str, Any]) -> str:
    """Whole or not at all, and for nobody else's eyes. Gives back the file's path."""
    from danlu.sdk.fastjson import dumps

    path = context_path()
    fresh = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        out = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(out, dumps(everything).encode())
            os.fsync(out)
        finally:
            os.close(out)
        os.replace(fresh, path)
    except OSError as error:
        raise ContextError(path, error.strerror or str(error)) from None
    return path


def find(server: str | None = None, token: str | None = None, name: str | None = None) -> Where:
    """The server to use. Raises NoServer when nothing names one.

    A server named by a flag or the environment never gets the token of another one: the context's
    token is used only with the context's own server.
    """
    environ = os.environ
    server = server or (None if name else environ.get("DANLU_SERVER"))
    token = token or (None if name else environ.get("DANLU_TOKEN"))
    ca_file = environ.get("DANLU_CA_FILE")
    if server and token:
        return Where(server, token, ca_file, "flags")
    contexts = read_contexts()["contexts"]
    if server:
        for known, entry in contexts.items():
            if isinstance(entry, dict) and entry.get("server") == server:
                return Where(server, token or entry.get("token"), ca_file, known)
        return Where(server, token, ca_file, "flags")
    chosen = name or environ.get("DANLU_CONTEXT") or read_contexts().get("current")
    entry = contexts.get(chosen) if isinstance(chosen, str) else None
    if not isinstance(entry, dict) or not isinstance(entry.get("server"), str):
        raise NoServer(chosen or "")
    return Where(
        entry["server"], token or entry.get("token"), ca_file or entry.get("ca_file"), str(chosen)
    )
