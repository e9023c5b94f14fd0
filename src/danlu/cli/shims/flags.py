"""Command lines of other platforms: options by table, long and short, with or without values."""

from __future__ import annotations

from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Flags:
    """The parsed options by long name, and the remaining words."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.raw: list[str] = []  # the options as written

    def add(self, name: str, value: str) -> None:
        self._values.setdefault(name, []).append(value)

    def has(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, absent: str = "") -> str:
        found = self._values.get(name)
        return found[-1] if found else absent

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def items(self, name: str) -> list[str]:
        """The comma-separated parts of all occurrences."""
        parts = (part.strip() for value in self.all(name) for part in value.split(","))
        return [part for part in parts if part]


class Table:
    """`valued` and `flags`: long name -> short letter (or empty); `optional` take a value after '='
    only. With `stop`, the first word that is not an option ends the options.
    """

    def __init__(
        self,
        valued: Mapping[str, str],
        flags: Mapping[str, str],
        optional: tuple[str, ...] = (),
        stop: bool = False,
    ) -> None:
        self._valued = valued
        self._flags = flags
        self._optional = optional
        self._stop = stop
        self._short = {s: n for table in (valued, flags) for n, s in table.items() if s}

    def read(self, words: list[str]) -> Flags:
        found = Flags()
        at = 0
        while at < len(words):
            word = words[at]
            if word == "--":
                found.words += words[at + 1 :]
                break
            if not word.startswith("-") or word == "-":
                if self._stop:
                    found.words += words[at:]
                    break
                found.words.append(word)
                at += 1
                continue
            end = (
                self._long(word, words, at, found)
                if word[1] == "-"
                else self._few(words, at, found)
            )
            found.raw += words[at:end]
            at = end
        return found

    def _long(self, word: str, words: list[str], at: int, found: Flags) -> int:
        name, equals, value = word[2:].partition("=")
        name = self._whole(name)
        if name in self._flags or name in self._optional:
            found.add(name, value)
            return at + 1
        if equals:
            found.add(name, value)
            return at + 1
        return self._value(name, word, words, at, found)

    def _few(self, words: list[str], at: int, found: Flags) -> int:
        word = words[at]
        for place, letter in enumerate(word[1:], 2):
            name = self._short.get(letter)
            if name is None:
                raise unknown(f"-{letter}")
            if name in self._flags:
                found.add(name, "")
                continue
            if word[place:]:
                found.add(name, word[place:].removeprefix("="))
                return at + 1
            return self._value(name, f"-{letter}", words, at, found)
        return at + 1

    def _value(self, name: str, shown: str, words: list[str], at: int, found: Flags) -> int:
        if at + 1 >= len(words):
            raise Trouble(f"option {shown} requires a value", f"选项 {shown} 需要一个值")
        found.add(name, words[at + 1])
        return at + 2

    def _whole(self, name: str) -> str:
        every = (*self._valued, *self._flags, *self._optional)
        if name in every:
            return name
        name = name.replace("_", "-")
        close = [known for known in every if known.startswith(name)]
        if len(close) == 1:
            return close[0]
        raise unknown(f"--{name}")


def unknown(option: str) -> Trouble:
    return Trouble(f"unrecognized option '{option}'", f"没有选项 '{option}'")
