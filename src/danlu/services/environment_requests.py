"""What an environment may ask for, and the job that each start makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from danlu.access.errors import Unfit
from danlu.spec.complete import Submission, complete
from danlu.spec.defaults import Defaults
from danlu.spec.ids import uuid7
from danlu.spec.job import After, Dependency, Kind
from danlu.spec.refs import LONGEST_ENVIRONMENT as LONGEST_NAME
from danlu.spec.refs import environment_ref
from danlu.spec.text import Text

KEYS = (
    "image",
    "gpus",
    "cpus",
    "memory",
    "shm",
    "env",
    "secrets",
    "mounts",
    "ports",
    "workdir",
    "queue",
    "group",
    "priority",
    "time_limit",
    "idle_limit",
    "nodes",
    "grace",
    "log_cap",
    "bundle",
)
"""Keys of a native job file. The rest is not for a place to work in: one task, no command."""

RUNNING_KEYS = frozenset({"time_limit", "idle_limit"})
"""Can be changed while it runs."""

WAITING_KEYS = RUNNING_KEYS | {"gpus", "cpus", "memory", "queue", "priority", "nodes"}
"""Can be changed while its job waits in the queue, which it does not leave then."""


def check_name(name: str) -> None:
    if environment_ref(name) != (None, name):
        raise Unfit(
            "name",
            Text(
                f"{name[:64]!r} is not a name for an environment; use letters, digits and '_', at "
                f"most {LONGEST_NAME}, with at least one letter",
                f"{name[:64]!r} 不能作为环境的名称；请用字母、数字和下划线，最多 {LONGEST_NAME} "
                "个字符，至少一个字母",
            ),
        )


def tidy(request: Mapping[str, Any]) -> dict[str, Any]:
    """Without the keys that say nothing."""
    return {key: request[key] for key in KEYS if request.get(key) is not None}


def submission(
    name: str,
    request: Mapping[str, Any],
    defaults: Defaults,
    image: str | None = None,
    after: str | None = None,
) -> Submission:
    """The next job of an environment. Raises SpecError.

    `image`: instead of the request's; `after`: the id of the job that has to end first.
    """
    values = {**request, "name": name, "kind": Kind.ENVIRONMENT.value}
    if image is not None:
        values["image"] = image
    spec = complete(values, defaults)
    if after is not None:
        spec = replace(spec, after=(Dependency(after, After.ENDED),))
    return Submission(spec, uuid7())
