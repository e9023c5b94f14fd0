"""Which server to use: from flags, then the environment, then the context file."""

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
    """A server and the token for it."""

    def __init__(
        self,
        server: str,
        token: str | None,
        ca_file: str | None,
        source: str,
        token_source: str = "",
    ) -> None:
        self.server = server
        self.token = token
        self.ca_file = ca_file
        self.source = source  # "flags", or the context's name
        self.token_source = token_source  # "--token", "DANLU_TOKEN"; "": the context


def context_path() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return f"{base}/danlu/context.json"


def read_contexts() -> dict[str, Any]:
    """The whole file; empty if there is none."""
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
    """Adds or replaces a context and makes it current. Returns the file's path."""
    everything = read_contexts()
    entry = {"server": server, "token": token}
    if ca_file:
        entry["ca_file"] = ca_file
    everything["contexts"][name] = entry
    everything["current"] = name
    return _write(everything)


def use_context(name: str) -> None:
    """Makes it current. Raises NoServer if there is no context of that name."""
    everything = read_contexts()
    if name not in everything["contexts"]:
        raise NoServer(name)
    everything["current"] = name
    _write(everything)


def remove_context(name: str) -> None:
    """Removes a server and its token. Raises NoServer if there is no context of that name."""
    everything = read_contexts()
    if name not in everything["contexts"]:
        raise NoServer(name)
    del everything["contexts"][name]
    if everything.get("current") == name:
        everything["current"] = next(iter(everything["contexts"]), None)
    _write(everything)


def _write(everything: dict[str, Any]) -> str:
    """Atomic, and readable by the owner only. Returns the file's path."""
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
    """The server to use. Raises NoServer if none is configured.

    A server given by a flag or the environment never receives another server's token: the context's
    token is used only with its own server.
    """
    environ = os.environ
    server = server or (None if name else environ.get("DANLU_SERVER"))
    from_flag = bool(token)
    token = token or (None if name else environ.get("DANLU_TOKEN"))
    token_source = "--token" if from_flag else "DANLU_TOKEN" if token else ""
    ca_file = environ.get("DANLU_CA_FILE")
    if server and token:
        return Where(server, token, ca_file, "flags", token_source)
    everything = read_contexts()
    contexts, current = everything["contexts"], everything.get("current")
    if server:
        known = _context_of(server, contexts, current)
        if known is None:
            return Where(server, None, ca_file, "flags")
        entry = contexts[known]
        ca_file = ca_file or entry.get("ca_file")
        return Where(entry["server"], entry.get("token"), ca_file, known)
    chosen = name or environ.get("DANLU_CONTEXT") or current
    entry = contexts.get(chosen) if isinstance(chosen, str) else None
    if not isinstance(entry, dict) or not isinstance(entry.get("server"), str):
        raise NoServer(chosen or "")
    return Where(
        entry["server"],
        token or entry.get("token"),
        ca_file or entry.get("ca_file"),
        str(chosen),
        token_source,
    )


def _context_of(server: str, contexts: dict[str, Any], current: object) -> str | None:
    """The context of this server; of several, the current one or else the newest."""
    known = [
        name
        for name, entry in contexts.items()
        if isinstance(entry, dict)
        and isinstance(entry.get("server"), str)
        and _same(server, entry["server"])
    ]
    if isinstance(current, str) and current in known:
        return current
    return known[-1] if known else None


def _same(typed: str, known: str) -> bool:
    """Whether both name the same server; what is typed may lack the scheme and a slash."""
    if typed == known:
        return True
    typed, known = typed.rstrip("/").lower(), known.rstrip("/").lower()
    scheme, found, place = known.partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme)
    if not found or port is None:
        return typed == known
    wanted, separator, rest = typed.partition("://")
    if separator and wanted != scheme:
        return False
    return (rest if separator else typed).removesuffix(port) == place.removesuffix(port)
