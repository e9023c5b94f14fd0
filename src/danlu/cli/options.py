"""Options by table: one description parses, documents and completes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Option:
    """One option of a command. Without a metavar it is a flag; one in brackets may be left out."""

    __slots__ = ("long", "many", "metavar", "short", "words")

    def __init__(
        self, long: str, metavar: str = "", short: str = "", many: bool = False, words: str = ""
    ) -> None:
        self.long = long
        self.metavar = metavar
        self.short = short
        self.many = many
        self.words = words  # completion: words separated by spaces, or <job>, <file>, <dir>

    @property
    def names(self) -> list[str]:
        return [f"-{self.short}", f"--{self.long}"] if self.short else [f"--{self.long}"]


class Command:
    """A command: where its code is, and what it accepts."""

    __slots__ = (
        "arguments",
        "default",
        "fewest",
        "hidden",
        "module",
        "most",
        "name",
        "options",
        "passes",
        "tail",
        "words",
    )

    def __init__(
        self,
        name: str,
        module: str,
        options: tuple[Option, ...] = (),
        arguments: str = "",
        fewest: int = 0,
        most: int = 0,
        words: str = "",
        tail: bool = False,
        hidden: bool = False,
        default: str = "",
        passes: bool = False,
    ) -> None:
        self.name = name
        self.module = module
        self.options = options
        self.arguments = arguments  # as the usage line shows them
        self.fewest = fewest
        self.most = most  # -1: any number
        self.words = words
        self.tail = tail  # its arguments are followed by the words of another command
        self.hidden = hidden
        self.default = default  # the verb, if none is given
        self.passes = passes  # what follows its arguments, or is no option of ours, is the tail


class UsageError(Exception):
    """An invalid command line. `usage`: how it is written, where that helps."""

    def __init__(self, key: str, command: str = "", usage: str = "", **params: object) -> None:
        super().__init__(key)
        self.key = key
        self.command = command
        self.usage = usage
        self.params = params


class Args:
    """The parsed options."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.words: list[str] = []
        self.tail: list[str] | None = None
        self._values: dict[str, list[str]] = {}

    def add(self, name: str, value: str) -> None:
        self._values.setdefault(name, []).append(value)

    def flag(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> str | None:
        """The last value given."""
        found = self._values.get(name)
        return found[-1] if found else None

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def integer(self, name: str) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        try:
            return int(value)
        except ValueError:
            raise UsageError(
                "usage.not_a_number", self.command.name, option=f"--{name}", value=value
            ) from None

    @property
    def given(self) -> Iterable[str]:
        return self._values


def parse(command: Command, words: list[str], common: tuple[Option, ...] = ()) -> Args:
    """Parses the words after the command's name. Raises UsageError."""
    return _Parser(command, common).read(words)


class _Parser:
    def __init__(self, command: Command, common: tuple[Option, ...]) -> None:
        self.command = command
        self.args = Args(command)
        self.long = {o.long: o for o in (*common, *command.options)}
        self.short = {o.short: o for o in (*common, *command.options) if o.short}

    def read(self, words: list[str]) -> Args:
        args, command = self.args, self.command
        at = 0
        while at < len(words):
            word = words[at]
            if command.passes and (len(args.words) >= command.most or self._is_foreign(word)):
                args.tail = words[at:]
                break
            at += 1
            if word == "--":
                if command.tail:
                    args.tail = words[at:]
                else:
                    args.words += words[at:]
                break
            if word.startswith("--"):
                at += self._take_long(word, words[at:])
            elif word.startswith("-") and word != "-":
                at += self._take_short(word, words[at:])
            elif command.tail and 0 <= command.most <= len(args.words):
                args.tail = words[at - 1 :]
                break
            else:
                args.words.append(word)
        if not args.flag("help"):
            self._check_count()
        return args

    def _is_foreign(self, word: str) -> bool:
        if word.startswith("--"):
            return word[2:].partition("=")[0] not in self.long
        return word.startswith("-") and word[1:2] not in self.short

    def _take_long(self, word: str, after: list[str]) -> int:
        name, equals, value = word[2:].partition("=")
        option = self.long.get(name)
        if option is None:
            raise self._unknown(f"--{name}")
        if not option.metavar:
            if equals:
                raise UsageError("usage.takes_no_value", self.command.name, option=f"--{name}")
            self.args.add(option.long, "")
            return 0
        if equals:
            self.args.add(option.long, value)
            return 0
        return self._take_value(option, f"--{name}", after)

    def _take_short(self, word: str, after: list[str]) -> int:
        for at, letter in enumerate(word[1:], 2):
            option = self.short.get(letter)
            if option is None:
                raise self._unknown(f"-{letter}")
            if option.metavar:
                if word[at:]:
                    self.args.add(option.long, word[at:].removeprefix("="))
                    return 0
                return self._take_value(option, f"-{letter}", after)
            self.args.add(option.long, "")
        return 0

    def _take_value(self, option: Option, shown: str, after: list[str]) -> int:
        if option.metavar.startswith("[") and not _is_value(after):
            self.args.add(option.long, "")
            return 0
        if not after:
            raise UsageError(
                "usage.needs_value", self.command.name, option=shown, metavar=option.metavar
            )
        self.args.add(option.long, after[0])
        return 1

    def _check_count(self) -> None:
        if not self.args.words and self.command.default:
            self.args.words.append(self.command.default)
        count, command = len(self.args.words), self.command
        if count < command.fewest:
            raise too_few(command, count)
        if 0 <= command.most < count:
            extra = self.args.words[command.most]
            raise UsageError("usage.too_many", command.name, word=extra)

    def _unknown(self, shown: str) -> UsageError:
        near = nearest(shown, [name for o in self.long.values() for name in o.names])
        if near:
            return UsageError(
                "usage.unknown_option_near", self.command.name, option=shown, near=near
            )
        return UsageError("usage.unknown_option", self.command.name, option=shown)


def _is_value(after: list[str]) -> bool:
    """Whether the next word is the value of an option that needs none, rather than the command."""
    if not after or after[0].startswith("-"):
        return False
    alone = len(after) > 1 and after[1].startswith("-")
    return alone or "/" in after[0] or after[0] in (".", "..")


def misused(args: Args) -> UsageError:
    """A command with verbs was given an unknown one, or the wrong number of arguments."""
    command, verb, words = args.command, args.words[0], args.words[1:]
    forms = {form.split()[0].strip("[]"): form for form in command.arguments.split(" | ")}
    if verb not in forms:
        listed = ", ".join(forms)
        return UsageError(
            "usage.unknown_word", command.name, name=command.name, word=verb, known=listed
        )
    wanted = forms[verb].split()[1:]
    usage = " ".join(["danlu", command.name, verb, *wanted, "[OPTION...]"])
    if len(words) > len(wanted):
        return UsageError("usage.too_many", command.name, usage, word=words[len(wanted)])
    missing = ", ".join(_required(wanted)[len(words) :])
    return UsageError("usage.too_few", command.name, usage, arguments=missing)


def too_few(command: Command, count: int = 0) -> UsageError:
    """Names what is missing after so many words."""
    arguments, usage = command.arguments, f"danlu {command.name} [OPTION...] {command.arguments}"
    if " | " not in arguments:
        arguments = ", ".join(_required(arguments.split())[: command.fewest][count:])
    return UsageError("usage.too_few", command.name, usage, arguments=arguments)


def _required(arguments: list[str]) -> list[str]:
    return [each.removesuffix("...") for each in arguments if not each.startswith("[")]


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word closest to this one, if any is close."""
    import difflib

    found = difflib.get_close_matches(word, list(known), 1, 0.6)
    return found[0] if found else ""
