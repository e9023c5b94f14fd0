"""Recognises the language of a job file from its text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from danlu.spec.dialects.language import Dialect

# How a job is given to `dlc` on its command line.
COMMAND = re.compile(
    r"^[ \t]*(?:(?:[\w./~$-]*/)?dlc|[\"']?\$\{?\w*(?i:dlc)\w*\}?[\"']?)[ \t]+"
    r"(?:--?[a-z_]++(?:=|[ \t]++)[^\s=]\S*+[ \t]++){0,6}+"  # which server, and the credentials
    r"(?:(submit)[ \t]+(\w+)|create[ \t]+job)(?=[\s\\]|$)",
    re.MULTILINE | re.ASCII,
)
_TOP_KEY = re.compile(r"""^["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?\s*:(?:\s|$)""", re.ASCII)
_PAIR = re.compile(r"^\s*(?:--)?([A-Za-z_][A-Za-z0-9_]*)\s*=", re.ASCII)
_DIRECTIVE = re.compile(r"^#SBATCH(?:[\s-]|$)")
_V1_KEY = re.compile(r'"(?:jobName|taskRoles)"\s*:')

_NATIVE_KEYS = frozenset({"command", "script", "roles"})
_DETERMINED_KEYS = frozenset(
    {
        "agent_label",
        "bind_mounts",
        "checkpoint_policy",
        "checkpoint_storage",
        "description",
        "entrypoint",
        "environment",
        "hyperparameters",
        "idle_timeout",
        "max_restarts",
        "min_checkpoint_period",
        "min_validation_period",
        "notebook_idle_type",
        "records_per_epoch",
        "reproducibility",
        "resources",
        "searcher",
        "tensorboard_args",
        "work_dir",
    }
)
_DLC_KEYS = frozenset(
    {
        "command",
        "kind",
        "worker_count",
        "workers",
        "worker_image",
        "worker_gpu",
        "worker_cpu",
        "worker_spec",
        "workspace_id",
        "resource_id",
        "ps_count",
        "master_image",
        "job_type",
    }
)


def recognise(text: str) -> Dialect:
    """What no foreign language claims is native: its reader reports errors best."""
    text = text.removeprefix("\ufeff")
    lines = text.split("\n", 2000)[:2000]
    if COMMAND.search(text) and not any(_DIRECTIVE.match(line) for line in lines):
        return Dialect.DLC
    if _is_script(lines):
        return Dialect.SBATCH
    if _begins_with_brace(lines):
        keys = _quoted_keys(text)
        first = _V1_KEY.search(text) and not ("protocolVersion" in keys and "jobName" not in keys)
        return Dialect.OPENPAI_V1 if first else _from_keys(keys)
    tops = [match[1] for line in lines if (match := _TOP_KEY.match(line))]
    if not tops and _is_params(lines):
        return Dialect.DLC
    return _from_keys(dict.fromkeys(tops))


def _from_keys(keys: Mapping[str, object]) -> Dialect:
    if "protocolVersion" in keys or "protocol_version" in keys:
        return Dialect.OPENPAI_V2
    if "jobName" in keys and "taskRoles" in keys:
        return Dialect.OPENPAI_V1
    if "taskRoles" in keys or "prerequisites" in keys:
        return Dialect.OPENPAI_V2
    if {"worker_image", "worker_spec", "worker_count"} & keys.keys():
        return Dialect.DLC
    if _NATIVE_KEYS & keys.keys():
        return Dialect.NATIVE
    if _DETERMINED_KEYS & keys.keys():
        return Dialect.DETERMINED
    return Dialect.NATIVE


def _is_script(lines: list[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return first.startswith("#!") or any(_DIRECTIVE.match(line) for line in lines)


def _begins_with_brace(lines: list[str]) -> bool:
    """JSON, possibly after comments."""
    inside = False
    for line in lines:
        bare = line.strip()
        if inside or bare.startswith("/*"):
            inside = "*/" not in bare
        elif bare and not bare.startswith("//"):
            return bare.startswith(("{", "["))
    return False


def _quoted_keys(text: str) -> dict[str, None]:
    found = re.findall(r'"([A-Za-z_][A-Za-z0-9_]*)"\s*:', text[:100_000])
    return dict.fromkeys(found)


def _is_params(lines: list[str]) -> bool:
    pairs = [match[1] for line in lines if (match := _PAIR.match(line))]
    return bool(_DLC_KEYS & set(pairs))
