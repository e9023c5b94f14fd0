"""Job files as text: just enough to add keys without parsing YAML.

The server parses YAML; a YAML library would cost the command line more than everything else it
does. Here it is enough to find the top-level keys of a document, blank them out, and append others,
keeping track of which line sent is which line of the file.
"""

from __future__ import annotations

from danlu.cli.foreign import looks_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 8 * 1024 * 1024


class NotEditable(Exception):
    """A document whose top level is not written as `key: value` lines."""


class Document:
    """One job of a file."""

    def __init__(self, lines: list[str], last_line: int) -> None:
        self.lines = lines  # with line ends; a separator comes first if there is one
        self.last_line = last_line  # in the file, counted from 1
        self.added: dict[str, Any] = {}
        self.is_empty = not any(_significant(line) for line in lines)
        self.keys: dict[str, tuple[int, int]] | None = _top_keys(lines)

    def has(self, key: str) -> bool:
        return key in self.added or bool(self.keys and key in self.keys)

    def set(self, key: str, value: Any) -> None:
        """Replaces a top-level key, or adds it."""
        if self.keys is None:
            raise NotEditable
        if key in self.keys:
            first, last = self.keys.pop(key)
            for at in range(first, last):
                self.lines[at] = _line_end(self.lines[at])
        self.added[key] = value

    def offer(self, key: str, value: Any) -> None:
        """Adds a key if the document allows it and lacks it."""
        if self.keys is not None and not self.is_empty and not self.has(key):
            self.added[key] = value

    def text(self) -> str:
        from danlu.sdk.fastjson import dumps

        text = "".join(self.lines)
        if self.added and text and not text.endswith("\n"):
            text += "\n"
        added = (f"{key}: {_as_yaml(dumps(value))}\n" for key, value in self.added.items())
        return text + "".join(added)


class JobFile:
    """A file with one or several jobs."""

    def __init__(self, source: str, text: str, dialect: str | None = None) -> None:
        self.source = source
        self._json = _as_json(text)
        self.foreign = dialect not in (None, "native") or (
            dialect is None and looks_foreign(text, self._json)
        )
        self.written = text
        self._keys: dict[str, Any] = {}
        self._offers: dict[str, Any] = {}
        if self.foreign:
            self._json = None
        self.documents = [] if self._json is not None or self.foreign else _split(text)

    def set(self, keys: dict[str, Any]) -> None:
        """Sets these keys in every job of the file. Raises NotEditable."""
        if self.foreign:
            self._keys.update(keys)
        for job in self._json or []:
            job.update(keys)
        for document in self.documents:
            if not document.is_empty:
                for key, value in keys.items():
                    document.set(key, value)

    def offer(self, key: str, value: Any, unless: tuple[str, ...] = ()) -> None:
        """Adds this key to every job that lacks it; `value` may be a function called for each."""
        if self.foreign:
            self._offers.setdefault(key, value() if callable(value) else value)
        for job in self._json or []:
            if not any(other in job for other in (key, *unless)):
                job[key] = value() if callable(value) else value
        for document in self.documents:
            if not any(document.has(other) for other in unless):
                document.offer(key, value() if callable(value) else value)

    @property
    def repeatable(self) -> bool:
        """Whether every job has an id, so that sending the file twice is harmless."""
        jobs = self._json or []
        documents = [each for each in self.documents if not each.is_empty]
        return all("id" in job for job in jobs) and all(each.has("id") for each in documents)

    def place(self, line: object) -> str:
        """`file:line: ` for a line as sent; empty if it is not a line of the file."""
        if not isinstance(line, int) or self._json is not None:
            return ""
        if self.foreign:
            return f"{self.source}:{line}: "
        passed = 0  # lines that options added before this one
        for document in self.documents:
            if line - passed <= document.last_line:
                return f"{self.source}:{line - passed}: "
            passed += len(document.added)
            if line - passed <= document.last_line:
                return ""
        return ""

    def query(self) -> dict[str, Any]:
        """What the options change in a file sent as it is."""
        from danlu.sdk.fastjson import dumps

        both = {"keys": self._keys, "offers": self._offers}
        return {name: dumps(values) for name, values in both.items() if values}

    def body(self) -> tuple[bytes, str]:
        from danlu.sdk.fastjson import dumps

        if self.foreign:
            return self.written.encode(), "text/plain"
        if self._json is not None:
            return dumps(self._json).encode(), "application/json"
        return "".join(each.text() for each in self.documents).encode(), "application/yaml"


def _as_yaml(text: str) -> str:
    """JSON is YAML on one line, except for characters that JSON writes as surrogate pairs."""
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        length = 6 if text[found + 1] == "u" else 2
        escape = text[found : found + length]
        if (
            escape[:4] in ("\\ud8", "\\ud9", "\\uda", "\\udb")
            and text[found + 6 : found + 8] == "\\u"
        ):
            high, low = int(escape[2:], 16), int(text[found + 8 : found + 12], 16)
            escape = f"\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"
            length = 12
        parts.append(escape)
        at = found + length
    return "".join(parts) + text[at:]


def _as_json(text: str) -> list[dict[str, Any]] | None:
    from danlu.sdk.fastjson import loads

    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    jobs = value if isinstance(value, list) else [value]
    return jobs if jobs and all(isinstance(job, dict) for job in jobs) else None


def _split(text: str) -> list[Document]:
    documents: list[list[str]] = [[]]
    for line in _lines(text):
        # A separator belongs to the document it opens, so that joining restores the file.
        if line.rstrip() == "---" or line.startswith(("--- ", "---\t")):
            documents.append([])
        documents[-1].append(line)
    made: list[Document] = []
    passed = 0
    for lines in documents:
        passed += len(lines)
        if lines:
            made.append(Document(lines, passed))
    return made


def _lines(text: str) -> list[str]:
    # str.splitlines would also split at form feeds and the like.
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _significant(line: str) -> bool:
    bare = line.strip("\ufeff \t\r\n")
    return bool(bare) and not bare.startswith("#") and bare not in ("---", "...")


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _top_keys(lines: list[str]) -> dict[str, tuple[int, int]] | None:
    """Where each top-level key begins and ends; None if there is anything else at the left edge."""
    keys: dict[str, tuple[int, int]] = {}
    current = ""
    for at, line in enumerate(lines):
        if line.rstrip() == "..." or (line.startswith("--- ") and _significant(line[4:])):
            return None
        if not _significant(line) or line[0] in " \t":
            if not current and _significant(line):
                return None
            continue
        if current and line.startswith(("- ", "-\n", "-\r")):
            continue  # a list may have the same indentation as its key
        key = _key(line.removeprefix("\ufeff"))
        if not key or key in keys:
            return None
        if current:
            keys[current] = (keys[current][0], at)
        keys[key] = (at, len(lines))
        current = key
    return keys


def _key(line: str) -> str:
    name, colon, value = line.partition(":")
    if not colon or (value and value[0] not in " \t\r\n"):
        return ""
    name = name.strip()
    if len(name) > 2 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1]
    return name if name.replace("-", "_").isidentifier() else ""
