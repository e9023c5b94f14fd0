"""Default names for jobs, derived from the command."""

from __future__ import annotations

import re

from danlu.spec.job import Command, RunAs

LONGEST = 40
_FALLBACK = "job"

_SUFFIXES = (".py", ".sh", ".bash", ".ipynb", ".R", ".jl", ".pl", ".js", ".lua")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_LEADS_IN = frozenset(
    {"exec", "env", "nohup", "time", "sudo", "set", "cd", "source", ".", "export"}
)


def default_name(command: Command) -> str:
    """`python train.py` is train, `python -m pkg.train` is train, `nvidia-smi -L` is nvidia-smi."""
    if command.run_as is RunAs.TOOL:
        return command.words[0]
    if command.run_as is RunAs.SCRIPT:
        return _tidy(_without_suffix(_last_part(command.words[0])))
    words = _words(command)
    for index, word in enumerate(words):
        if word.endswith(_SUFFIXES) and "=" not in word:
            return _tidy(_without_suffix(_last_part(word)))
        if word == "-m" and index > 0 and "python" in words[index - 1] and index + 1 < len(words):
            module = words[index + 1]
            # Launchers run something else, which is what the job is about.
            if not module.startswith(("torch.distributed", "accelerate")):
                return _tidy(module.rpartition(".")[2])
    for index, word in enumerate(words):
        leads_in = word in _LEADS_IN or (index > 0 and words[index - 1] in ("cd", "source", "set"))
        if not leads_in and not _ASSIGNMENT.fullmatch(word) and _NOT_IN_NAMES.sub("", word):
            return _tidy(_last_part(word))
    return _FALLBACK


def _words(command: Command) -> list[str]:
    if command.run_as is RunAs.ARGV:
        return [word[:4096].strip() for word in command.words[:50]]
    words: list[str] = []
    for line in command.words[0][:4096].splitlines():
        if not line.lstrip().startswith("#"):
            words.extend(word.strip("\"'();&|") for word in line.split())
    return [word for word in words if word]


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _without_suffix(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _tidy(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-.")[:LONGEST].rstrip("-.") or _FALLBACK
