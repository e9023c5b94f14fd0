"""Guesses whether a job file is in another platform's language.

A cheap check: files that look foreign are sent as they are, and the server decides. Files that look
native may be changed by options before they are sent.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NATIVE = frozenset(("command", "script", "roles"))
_SIGNS = frozenset(
    (
        *("protocolVersion", "protocol_version", "taskRoles", "jobName", "prerequisites"),
        *("entrypoint", "resources", "environment", "bind_mounts", "searcher", "hyperparameters"),
        *("description", "tensorboard_args", "idle_timeout", "work_dir", "notebook_idle_type"),
    )
)


def looks_foreign(text: str, jobs: list[dict[str, Any]] | None) -> bool:
    """`jobs`: the parsed value, if the text is JSON."""
    if jobs is not None:
        return any(_by_keys(job) for job in jobs)
    lines = [line for line in text.split("\n")[:2000] if line.strip("\ufeff \t\r")]
    if not lines:
        return False
    if lines[0].startswith("#!") or any(line.startswith("#SBATCH") for line in lines):
        return True
    if lines[0].lstrip().startswith(("{", "//", "/*")):
        return '"taskRoles"' in text or '"jobName"' in text
    keys = [_key(line) for line in lines if line[0] not in " \t#-"]
    named = {key for key in keys if key}
    if named:
        return _by_keys(dict.fromkeys(named))
    return any(_assigns(line) for line in lines)


def usual_name(path: str, text: str, dialect: str | None) -> str | None:
    """The default job name on the file's own platform: for sbatch, the file name.

    None: the platform has no such convention.
    """
    script = text.startswith(("#!", "#SBATCH")) or "\n#SBATCH" in text
    if path == "-" or not (script if dialect is None else dialect == "sbatch"):
        return None
    return tidy(path.rpartition("/")[2])


def tidy(text: str) -> str:
    """A name the server accepts."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in text)
    return plain.strip("-.")[:64] or "sbatch"


def _by_keys(keys: dict[str, Any]) -> bool:
    if "taskRoles" in keys or "protocolVersion" in keys:
        return True
    return not _NATIVE & keys.keys() and bool(_SIGNS & keys.keys())


def _key(line: str) -> str:
    name, colon, rest = line.partition(":")
    name = name.strip().strip("'\"")
    return name if colon and rest[:1] in ("", " ", "\t", "\r") and name.isidentifier() else ""


def _assigns(line: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(equals) and name.strip().removeprefix("--").isidentifier()
