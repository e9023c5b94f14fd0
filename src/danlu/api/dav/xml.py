"""The XML of WebDAV: what clients ask for, and answers."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from danlu.services.dav_locks import MOST_OWNER, Lock

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
LARGEST = 64 << 10  # bytes of a request
MOST_NAMES, LONGEST_NAME = 100, 500
"""Properties that one request may ask for, and characters of each: every entry is answered with all
of them.
"""
Name = tuple[str, str]  # namespace and name
_QUOTA = ("quota-available-bytes", "quota-used-bytes")
_SUPPORTED = "".join(
    f"<D:lockentry><D:lockscope><D:{scope}/></D:lockscope><D:locktype><D:write/></D:locktype>"
    "</D:lockentry>"
    for scope in ("exclusive", "shared")
)


class Unreadable(Exception):
    """Not XML, or not what WebDAV means by it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which properties; None: all."""

    names: tuple[Name, ...] | None = None
    only_names: bool = False


def read(body: bytes) -> ElementTree.Element | None:
    """None: there is no body. No entities are declared or fetched here."""
    if not body.strip():
        return None
    # With zeros it would be UTF-16, in which declarations look different.
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body or b"\0" in body:
        raise Unreadable
    try:
        # Entities, which could grow without bound, were refused above.
        return ElementTree.fromstring(body)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise Unreadable from error


def asked(body: bytes) -> Asked:
    root = read(body)
    if root is None:
        return Asked()
    if root.tag != "{DAV:}propfind":
        raise Unreadable
    if root.find("{DAV:}propname") is not None:
        return Asked(only_names=True)
    wanted = root.find("{DAV:}prop")
    return Asked() if wanted is None else Asked(names_of(wanted))


def names_of(elements: Iterable[ElementTree.Element]) -> tuple[Name, ...]:
    """Each once, however often it is named. Raises Unreadable if they are too many."""
    tags = dict.fromkeys(each.tag for each in elements)
    if len(tags) > MOST_NAMES or any(len(tag) > LONGEST_NAME for tag in tags):
        raise Unreadable
    return tuple(map(name_of, tags))


def name_of(tag: str) -> Name:
    space, brace, name = tag.rpartition("}")
    return (space[1:], name) if brace else ("", name)


def href(path: str, folder: bool) -> str:
    shown = quote(f"/dav{path}".rstrip("/").encode("utf-8", "surrogateescape"), safe="/")
    return f"{shown}/" if folder else shown


def response(
    entry: dict[str, Any], asked: Asked, locks: Iterable[Lock], quota: tuple[int, int] | None
) -> str:
    """One element of a multistatus answer."""
    folder = entry["kind"] == "folder" or entry["target_kind"] == "folder"
    known = _values(entry, folder, locks, quota)
    if asked.only_names:
        known = dict.fromkeys(known, "")
    names = asked.names
    if names is None:
        names = tuple(("DAV:", name) for name in known if name not in _QUOTA)
    found = [n for n in names if n[0] == "DAV:" and n[1] in known]
    missing = [n for n in names if n not in found]
    parts = [f"<D:response><D:href>{escape(href(entry['path'], folder))}</D:href>"]
    for status, those in (("200 OK", found), ("404 Not Found", missing)):
        if those:
            inner = "".join(
                _element(name, known[name[1]] if status[0] == "2" else "") for name in those
            )
            parts.append(_propstat(inner, status))
    return "".join([*parts, "</D:response>\n"])


def _values(
    entry: dict[str, Any], folder: bool, locks: Iterable[Lock], quota: tuple[int, int] | None
) -> dict[str, str]:
    at = float(entry["modified_at"])
    values = {
        "resourcetype": "<D:collection/>" if folder else "",
        "displayname": escape(_printable(entry["name"])),
        "getlastmodified": formatdate(at, usegmt=True),
        "creationdate": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "supportedlock": _SUPPORTED,
        "lockdiscovery": "".join(active(lock) for lock in locks),
    }
    if not folder:
        values["getcontentlength"] = str(entry["size"])
        kind = mimetypes.guess_type(str(entry["name"]))[0] or "application/octet-stream"
        values["getcontenttype"] = escape(kind)
    elif quota is not None:
        values |= dict(zip(_QUOTA, map(str, quota), strict=True))
    return values


def _element(name: Name, inner: str) -> str:
    space, local = name
    if space == "DAV:":
        return f"<D:{local}>{inner}</D:{local}>" if inner else f"<D:{local}/>"
    return f"<X:{local} xmlns:X={quoteattr(space)}/>" if space else f"<{local}/>"


def _propstat(inner: str, status: str) -> str:
    return (
        f"<D:propstat><D:prop>{inner}</D:prop><D:status>HTTP/1.1 {status}</D:status></D:propstat>"
    )


def refused(path: str, folder: bool, names: Iterable[Name], status: str) -> str:
    """The same status for all these properties."""
    inner = "".join(_element(name, "") for name in names)
    return (
        f"{HEAD}<D:multistatus xmlns:D='DAV:'><D:response>"
        f"<D:href>{escape(href(path, folder))}</D:href>"
        f"{_propstat(inner, status)}</D:response></D:multistatus>"
    )


def active(lock: Lock) -> str:
    scope = "exclusive" if lock.exclusive else "shared"
    depth = "infinity" if lock.deep else "0"
    return (
        f"<D:activelock><D:lockscope><D:{scope}/></D:lockscope><D:locktype><D:write/></D:locktype>"
        f"<D:depth>{depth}</D:depth><D:owner>{lock.owner}</D:owner>"
        f"<D:timeout>Second-{lock.seconds}</D:timeout>"
        f"<D:locktoken><D:href>{lock.token}</D:href></D:locktoken>"
        f"<D:lockroot><D:href>{escape(href(lock.path, False))}</D:href></D:lockroot></D:activelock>"
    )


def granted(lock: Lock) -> str:
    return (
        f"{HEAD}<D:prop xmlns:D='DAV:'><D:lockdiscovery>{active(lock)}</D:lockdiscovery></D:prop>"
    )


def lock_asked(body: bytes) -> tuple[bool, str] | None:
    """Whether it is exclusive, and its owner as escaped text; None: a lock is to be refreshed."""
    root = read(body)
    if root is None:
        return None
    scope, kind = root.find("{DAV:}lockscope"), root.find("{DAV:}locktype/{DAV:}write")
    if root.tag != "{DAV:}lockinfo" or scope is None or kind is None:
        raise Unreadable
    owner = root.find("{DAV:}owner")
    text = "" if owner is None else "".join(owner.itertext()).strip()
    address = owner is not None and owner.find("{DAV:}href") is not None
    shown = escape(_printable(text[:MOST_OWNER]))
    exclusive = scope.find("{DAV:}shared") is None
    return exclusive, f"<D:href>{shown}</D:href>" if address else shown


def _printable(text: str) -> str:
    """XML cannot say control characters at all."""
    return "".join(c if c.isprintable() or c in "\t\n" else "\ufffd" for c in text)
