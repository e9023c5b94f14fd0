"""srun's options: those that place and shape a step; others are accepted and ignored."""

from __future__ import annotations

from danlu.steps import slurm_options
from danlu.steps.main import Trouble

VALUED = {**slurm_options.VALUED, **slurm_options.VALUED_OF_STEPS}
FLAGS = {**slurm_options.FLAGS, **slurm_options.FLAGS_OF_STEPS}
OPTIONAL = (*slurm_options.OPTIONAL, *slurm_options.OPTIONAL_OF_STEPS)
_SHORT_OPTIONAL = {"K": "kill-on-bad-exit", "I": "immediate"}
_SHORT = {short: name for table in (VALUED, FLAGS) for name, short in table.items() if short}
_EVERY = (*VALUED, *FLAGS, *OPTIONAL)


class Options:
    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def put(self, name: str, value: str) -> None:
        self._values[name] = value

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def has(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        # Of a range of nodes, take the first number.
        first = value.partition("-")[0].rpartition(":")[2]
        if not first.isdigit():
            raise Trouble(f"--{name}={value} is not a number")
        return int(first)

    @property
    def names(self) -> list[str]:
        return list(self._values)


def read(words: list[str]) -> tuple[Options, list[str]]:
    """The options, and the command after them."""
    options = Options()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return options, words[at + 1 :]
        if not word.startswith("-") or word == "-":
            return options, words[at:]
        at += 1
        if word.startswith("--"):
            at = _long(word, words, at, options)
        else:
            at = _short(word, words, at, options)
    return options, []


def _long(word: str, words: list[str], at: int, options: Options) -> int:
    name, equals, value = word[2:].partition("=")
    name = _whole_name(name)
    if name in VALUED and not equals:
        if at >= len(words):
            raise Trouble(f"--{name} needs a value")
        value = words[at]
        at += 1
    options.put(name, value)
    return at


def _short(word: str, words: list[str], at: int, options: Options) -> int:
    for place, letter in enumerate(word[1:], 2):
        if letter in _SHORT_OPTIONAL:
            options.put(_SHORT_OPTIONAL[letter], word[place:].lstrip("="))
            break
        name = _SHORT.get(letter)
        if name is None:
            raise Trouble(f"-{letter} is not an option of srun")
        if name in FLAGS:
            options.put(name, "")
            continue
        value = word[place:]
        if not value:
            if at >= len(words):
                raise Trouble(f"-{letter} needs a value")
            value = words[at]
            at += 1
        options.put(name, value[1:] if value.startswith("=") else value)
        break
    return at


def _whole_name(name: str) -> str:
    name = name.replace("_", "-")
    if name in _EVERY:
        return name
    if name.removeprefix("no-").startswith("container-"):
        raise Trouble(
            f"--{name}: a step runs in its job's image; set it for the whole job (#SBATCH"
            " --container-image=...) and remove the option here"
        )
    close = [known for known in _EVERY if known.startswith(name)]
    if len(close) == 1:
        return close[0]
    raise Trouble(f"--{name} is not an option of srun")
