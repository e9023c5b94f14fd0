"""Turns a request into a complete `JobSpec`: fills gaps, enforces caps, reports contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from danlu.spec.completion import MOST_ROLES, ROLE_NAME, Completion, bad_role_name
from danlu.spec.defaults import Defaults
from danlu.spec.errors import (
    MOST_PROBLEMS,
    Finding,
    Path,
    Problem,
    SpecError,
    Wrong,
    spec_error,
    unknown_key,
)
from danlu.spec.job import JobSpec
from danlu.spec.read import RawJob, read_jobs
from danlu.spec.request import JOB_KEYS, ROLE_KEYS, JobRequest
from danlu.spec.text import Text

_DEFAULTS = Defaults()


@dataclass(frozen=True, slots=True)
class Submission:
    """One job of a request, with the client's id for it, if any."""

    spec: JobSpec
    id: str | None = None
    origin: Mapping[str, Any] | None = None  # for a foreign file: its language, and the notes


def read_submissions(
    text: bytes | str, media_type: str | None = None, defaults: Defaults = _DEFAULTS
) -> list[Submission]:
    """All jobs of a file or request; the errors of all of them are reported together."""
    submissions: list[Submission] = []
    problems: list[Problem] = []
    for raw in read_jobs(text, media_type):
        try:
            request = as_request(raw, defaults)
            submissions.append(Submission(_completed(request, defaults, raw), request.id))
        except SpecError as error:
            problems.extend(error.problems)
            if len(problems) >= MOST_PROBLEMS:
                break
    if problems:
        raise SpecError(problems)
    return submissions


def complete(
    job: RawJob | JobRequest | Mapping[str, Any], defaults: Defaults = _DEFAULTS
) -> JobSpec:
    """The complete job. Raises `SpecError` with all errors."""
    if isinstance(job, JobRequest):
        return _completed(job, defaults, None)
    raw = job if isinstance(job, RawJob) else RawJob(dict(job))
    return _completed(as_request(raw, defaults), defaults, raw)


def as_request(raw: RawJob, defaults: Defaults = _DEFAULTS) -> JobRequest:
    """The validated request. Raises `SpecError`, including contradictions."""
    roles = raw.values.get("roles")
    if len(raw.values) <= len(JOB_KEYS) and not (
        isinstance(roles, dict) and len(roles) > MOST_ROLES
    ):
        try:
            return JobRequest.model_validate(raw.values)
        except ValidationError:
            pass
    return _explained(raw, defaults)


def _explained(raw: RawJob, defaults: Defaults) -> JobRequest:
    """A second, slower pass, so that one answer contains every error.

    Invalid keys are reported and removed, and the rest goes on to the next check.
    """
    findings: list[Finding] = []
    values = _known_keys(raw.values, findings)
    bad: set[Path] = {found.path for found in findings}
    try:
        request = JobRequest.model_validate(values)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            bad.add(tuple(each["loc"]))
            findings.extend(_in_our_words(tuple(each["loc"]), each["input"], each.get("ctx")))
        request = JobRequest.model_validate(_without(values, bad))
    completion = Completion(request, defaults, frozenset(bad))
    completion.spec()
    findings.extend(completion.findings)
    if findings:
        raise spec_error(findings, raw.line_of, raw.number)
    return request


def _known_keys(values: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    known = _only(values, JOB_KEYS, findings, ())
    roles = known.get("roles")
    if isinstance(roles, dict):
        kept = {}
        # One more than allowed, so that the later check notices that there are too many.
        for name, role in list(roles.items())[: MOST_ROLES + 1]:
            if not ROLE_NAME.fullmatch(name):
                findings.append(bad_role_name(name))
            elif isinstance(role, dict):
                kept[name] = _only(role, ROLE_KEYS, findings, ("roles", name))
            else:
                kept[name] = role
        known["roles"] = kept
    return known


def _only(
    values: dict[str, Any], keys: tuple[str, ...], findings: list[Finding], path: Path
) -> dict[str, Any]:
    for key in values:
        if len(findings) > MOST_PROBLEMS:
            break
        if key not in keys:
            findings.append(unknown_key(key, keys, path))
    return {key: values[key] for key in keys if key in values}


def _in_our_words(path: Path, value: object, context: Mapping[str, Any] | None) -> list[Finding]:
    cause = (context or {}).get("error")
    if isinstance(cause, Wrong):
        return [found.below(path) for found in cause.findings]
    return [_not_a_mapping(path, value)]


def _not_a_mapping(path: Path, value: object) -> Finding:
    if path == ("roles",):
        return Finding(
            path,
            value,
            Text(
                "does not name roles; write {worker: {count: 2, command: ...}}",
                "不是角色；请写 {worker: {count: 2, command: ...}}",
            ),
        )
    return Finding(
        path,
        value,
        Text(
            "is not a role; write its keys and values, as in {count: 2, command: ...}",
            "不是角色；请写键和值，例如 {count: 2, command: ...}",
        ),
    )


def _without(values: dict[str, Any], bad: set[Path]) -> dict[str, Any]:
    kept = {key: value for key, value in values.items() if (key,) not in bad}
    roles = kept.get("roles")
    if isinstance(roles, dict):
        kept["roles"] = {
            name: {key: value for key, value in role.items() if ("roles", name, key) not in bad}
            for name, role in roles.items()
            if isinstance(role, dict)
        }
    return kept


def _completed(request: JobRequest, defaults: Defaults, raw: RawJob | None) -> JobSpec:
    completion = Completion(request, defaults)
    spec = completion.spec()
    if spec is None or completion.findings:
        raise spec_error(
            completion.findings, raw.line_of if raw else None, raw.number if raw else None
        )
    return spec
