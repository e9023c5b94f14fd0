"""Whatever is sent to the documented API: an answer that the document promises, never a 5xx."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, cast
from zlib import crc32

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from danlu.api.app import create_app
from danlu.services.services import Services
from tests.api.harness import PATIENCE, Harness, client
from tests.api.people_harness import PeopleHarness
from tests.support.server import DanluServer

bounded = settings(
    max_examples=int(os.environ.get("DANLU_TEST_EXAMPLES", "40")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
fewer = settings(bounded, max_examples=max(4, bounded.max_examples // 3))
few = settings(bounded, max_examples=4)
OPEN = {
    "GET /danlu/v1/version",
    "POST /danlu/v1/login",
    "POST /danlu/v1/session",
    "POST /danlu/v1/sign-up",
}
COSTLY = {
    "POST /danlu/v1/backup",
    "POST /danlu/v1/login",
    "POST /danlu/v1/password",
    "POST /danlu/v1/session",
    "POST /danlu/v1/sign-up",
    "POST /danlu/v1/users",
}
"""Each costs what a password's hash is meant to cost, or more."""
MARK = "zq7kept"
"""Stands in all that is the admin's own; nobody else may be shown it."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


# From the application itself, so that each operation is a test of its own; a test below holds it
# against what the running server hands out.
document = schemathesis.openapi.from_dict(create_app(cast(Services, None)).openapi())
document.config.generation.with_security_parameters = False
OPERATIONS: dict[str, Any] = {
    f"{operation.method.upper()} {operation.path}": operation
    for operation in (cast(Any, found).ok() for found in document.get_all_operations())
    # One ends the server, the other never ends.
    if operation.path not in ("/danlu/v1/server/shutdown", "/danlu/v1/stream")
}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    """A server of its own: thousands of strange jobs are left in its queue."""
    config = "[server]\ncircle_of_trust = true\n"
    server = DanluServer(tmp_path_factory.mktemp("schema") / "data", config)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture(scope="module")
def known(fuzzed: DanluServer) -> list[str]:
    """References that mean something: a job that ended, one that is held, one of an array."""
    harness = Harness(fuzzed)
    ended = harness.run(f"echo {MARK}; echo world", name="done", env={MARK: "1"})
    harness.submit(command="true", name="held", held=True)
    harness.submit(command="true", name="many", held=True, array="0-1")
    harness.http.put(f"/secrets/{MARK}", json={"value": MARK})
    return [ended["id"], "done-1", "admin~done-1", "held-1", "many-1", "many-1.1"]


@pytest.fixture(scope="module")
def member(fuzzed: DanluServer, known: list[str]) -> str:
    """A token of somebody to whom nothing of the admin's belongs."""
    people_harness = PeopleHarness(Harness(fuzzed))
    people_harness.admin.do("POST", "/groups", {"name": f"g{MARK}", "note": MARK})
    people_harness.admin.do("POST", "/users", {"name": f"u{MARK}", "groups": [f"g{MARK}"]})
    token = people_harness.with_token(people_harness.person(), label="fuzz", expires_in=86400).token
    people_harness.close()
    return token


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_the_document_promises(
    label: str, mode: GenerationMode, fuzzed: DanluServer, known: list[str]
) -> None:
    headers = {"Authorization": f"Bearer {fuzzed.token}"}

    @(few if label in COSTLY else bounded)
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        _tame(case, known)
        case.call_and_validate(
            base_url=fuzzed.url, session=session, headers=headers, checks=CHECKS, timeout=PATIENCE
        )

    with requests.Session() as session:
        session.trust_env = False
        try:
            ask()
        except Unsatisfiable:
            pytest.skip("nothing about this operation can be wrong")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_a_member_is_answered_as_promised_and_shown_nothing_of_others(
    label: str, mode: GenerationMode, fuzzed: DanluServer, known: list[str], member: str
) -> None:
    headers = {"Authorization": f"Bearer {member}"}

    @(few if label in COSTLY else fewer)
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        _tame(case, known)
        _aim(case)
        answer = case.call_and_validate(
            base_url=fuzzed.url, session=session, headers=headers, checks=CHECKS, timeout=PATIENCE
        )
        asked = f"{case.path_parameters} {case.query} {case.body}"
        if MARK not in asked:
            assert MARK not in answer.text
        elif answer.status_code < 300:
            # GPUs and nodes tell who holds them; nothing else of another's is found.
            assert not label.startswith("GET"), answer.text

    with requests.Session() as session:
        session.trust_env = False
        try:
            ask()
        except Unsatisfiable:
            pytest.skip("nothing about this operation can be wrong")


def _aim(case: Case[Any]) -> None:
    """Half of the names are those of something that exists and is another's."""
    parameters = case.path_parameters or {}
    for key, kind in (("name", "g" if "/groups/" in case.operation.path else "u"), ("user", "u")):
        if key in parameters and "/secrets" not in case.operation.path:
            dice = crc32(repr(parameters[key]).encode())
            if dice % 2:
                parameters[key] = f"{kind}{MARK}"


@pytest.mark.parametrize("label", sorted(OPERATIONS.keys() - OPEN))
def test_without_a_token_nothing_answers_but_the_door(label: str, fuzzed: DanluServer) -> None:
    @few
    @given(case=OPERATIONS[label].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def ask(case: Case[Any]) -> None:
        answer = case.call_and_validate(
            base_url=fuzzed.url, session=session, checks=CHECKS, timeout=PATIENCE
        )
        assert answer.status_code == 401

    with requests.Session() as session:
        session.trust_env = False
        ask()


def _tame(case: Case[Any], known: list[str]) -> None:
    """Half of the references exist, nothing waits for long, and no job of chance text runs."""
    label = case.operation.label
    parameters = case.path_parameters or {}
    if "ref" in parameters:
        dice = crc32(repr(parameters["ref"]).encode())
        starts = label.endswith(("/release", "/rerun"))
        chance = starts and str(parameters["ref"]).strip("%0123456789") == ""  # a job's number
        if dice % 2 or chance or "follow" in (case.query or {}):
            # Only what has ended may be followed or run again without end.
            ended = label.endswith(("/rerun", "/logs"))
            parameters["ref"] = known[dice // 2 % (3 if ended else len(known))]
    if label.endswith("/wait") and not _refused_wait((case.query or {}).get("timeout")):
        case.query["timeout"] = 0.01
    if label == "POST /danlu/v1/jobs":
        _hold(case)
    if label == "POST /danlu/v1/environments" and isinstance(case.body, dict):
        case.body = {**case.body, "start": False}


def _refused_wait(value: Any) -> bool:
    """Values that must be told to be wrong are sent as they are."""
    return value is not None and not (isinstance(value, int | float) and 0 <= value <= 300)


def _hold(case: Case[Any]) -> None:
    body = case.body
    native = (case.query or {}).get("dialect", "native") == "native"  # others know no `held`
    if native and isinstance(body, dict) and body.get("array") in (None, 1, 2, 3):
        case.body = {**body, "held": True}  # a copy: it may be the document's own example
        if crc32(repr(body).encode()) % 2:
            case.body.pop("nodes", None)  # no node is called by chance as it is called
    else:
        case.query = {**(case.query or {}), "dry_run": "true"}


def test_no_job_of_chance_text_was_started(fuzzed: DanluServer) -> None:
    harness = Harness(fuzzed)
    jobs = harness.get("/jobs", limit=1000)["jobs"]
    assert len(jobs) > 10, "the fuzzing got no job accepted: it tests less than it seems to"
    strange = [job for job in jobs if job["name"] not in ("done", "held", "many")]
    assert [job for job in strange if job["attempt"]] == []


def test_the_document_that_was_tried_is_the_one_the_server_hands_out(fuzzed: DanluServer) -> None:
    with client(fuzzed, None) as http:
        assert http.get("/openapi.json").json() == document.raw_schema
