"""Asking for work: one job or several, in JSON or YAML, all or nothing, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from danlu.spec.ids import uuid7
from tests.api.harness import Harness, details

YAML = {"Content-Type": "application/yaml"}
JSON = {"Content-Type": "application/json"}


def test_a_json_object_is_one_job(harness: Harness) -> None:
    answer = harness.http.post("/jobs", json={"name": "one", "command": "true"})
    assert answer.status_code == 201
    (job,) = answer.json()["jobs"]
    assert job["ref"] == f"admin/one-{job['number']}"
    assert job["state"] in ("queued", "starting")
    assert harness.wait(job)["state"] == "succeeded"


def test_yaml_text_is_a_job_too(harness: Harness) -> None:
    text = "name: yaml\ncommand: |\n  echo 一\n  echo 二\nenv: {LR: 0.1}\n"
    answer = harness.http.post("/jobs", content=text.encode(), headers=YAML)
    assert answer.status_code == 201, answer.text
    job = harness.wait(answer.json()["jobs"][0])
    assert harness.log(job).decode() == "一\n二\n"


def test_text_without_a_type_is_read_as_what_it_is(harness: Harness) -> None:
    for text in ("command: 'true'", '{"command": "true"}'):
        answer = harness.http.post("/jobs", content=text, headers={"Content-Type": "text/plain"})
        assert answer.status_code == 201, answer.text


def test_a_list_and_several_documents_are_several_jobs_in_order(harness: Harness) -> None:
    jobs = harness.submit_all(*({"name": name, "command": "true"} for name in ("x", "y", "z")))
    assert [job["name"] for job in jobs] == ["x", "y", "z"]
    text = "---\nname: p\ncommand: 'true'\n---\nname: q\ncommand: 'true'\n"
    answer = harness.http.post("/jobs", content=text, headers=YAML)
    assert [job["name"] for job in answer.json()["jobs"]] == ["p", "q"]
    numbers = [job["seq"] for job in jobs + answer.json()["jobs"]]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    "bad",
    [
        "name: bad\ncommand: 'true'\ngpus: two\n",
        "name: bad\ncommand: 'true'\ngpus: 5\n",
        "name: bad\ncommand: 'true'\nmounts: ['nowhere:/x']\n",
        "name: bad\ncommand: 'true'\nafter: [nobody-7]\n",
    ],
)
def test_one_bad_job_of_several_means_none_is_accepted(harness: Harness, bad: str) -> None:
    text = f"name: good\ncommand: 'true'\n---\n{bad}"
    before = harness.get("/jobs", limit=1)["jobs"]
    answer = harness.http.post("/jobs", content=text, headers=YAML)
    assert answer.status_code == 422
    assert [each["job"] for each in details(answer)] == [2], "it says which of them is bad"
    assert harness.get("/jobs", limit=1)["jobs"] == before


def test_the_same_id_again_is_the_same_job(harness: Harness) -> None:
    job = {"id": uuid7(), "name": "once", "command": "true"}
    first = harness.http.post("/jobs", json=job)
    again = harness.http.post("/jobs", json=job)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["jobs"][0]["ref"] == again.json()["jobs"][0]["ref"]
    assert first.json()["jobs"][0]["id"] == job["id"]
    assert harness.get("/jobs", name="once")["next"] is None
    assert len(harness.get("/jobs", name="once")["jobs"]) == 1
    harness.wait(first.json()["jobs"][0])
    ended = harness.http.post("/jobs", json=job)
    assert ended.status_code == 200
    assert ended.json()["jobs"][0]["state"] == "succeeded"


def test_the_same_id_of_an_array_gives_the_same_elements(harness: Harness) -> None:
    job = {"id": uuid7(), "name": "many", "command": "true", "array": 3, "held": True}
    first = harness.http.post("/jobs", json=job).json()["jobs"]
    again = harness.http.post("/jobs", json=job).json()["jobs"]
    assert [each["id"] for each in first] == [each["id"] for each in again]
    assert [each["array_index"] for each in again] == [0, 1, 2]


def test_one_id_twice_in_one_request_runs_the_first(harness: Harness) -> None:
    one = uuid7()
    jobs = [{"id": one, "command": f"echo {word}", "name": "twin"} for word in ("first", "second")]
    answer = harness.http.post("/jobs", json=jobs)
    assert answer.status_code == 201
    assert {job["id"] for job in answer.json()["jobs"]} == {one}
    job = harness.wait(answer.json()["jobs"][0])
    assert harness.log(job) == b"first\n"
    assert harness.show(job)["spec"]["command"] == "echo first"


def test_a_dry_run_tells_what_would_happen_and_does_nothing(harness: Harness) -> None:
    before = harness.get("/jobs", limit=1)["jobs"]
    answer = harness.http.post("/jobs?dry_run=true", json={"command": "true", "gpus": 2})
    assert answer.status_code == 200
    (preview,) = answer.json()["previews"]
    assert preview["why"]["starts_now"] is True
    assert preview["why"]["sentence_en"] == "Starts now on n1, GPUs 0–1"
    assert preview["why"]["sentence_zh"] == "立即开始：n1 的 0–1 号卡"
    assert preview["spec"]["cpus"] == 12, "what was left out is filled in, in proportion"
    assert harness.get("/jobs", limit=1)["jobs"] == before


def test_a_dry_run_names_what_the_job_would_wait_for(harness: Harness) -> None:
    harness.fill()
    first = harness.submit(name="prep", command="true", held=True)

    def why(**job: Any) -> dict[str, Any]:
        answer = harness.http.post("/jobs?dry_run=true", json={"command": "true", **job})
        found: dict[str, Any] = answer.json()["previews"][0]["why"]
        assert not found["starts_now"]
        return found

    assert why(gpus=1)["causes"][0]["kind"] == "cluster_full"
    assert why(held=True)["causes"][0]["kind"] == "held"
    after = why(after=[f"prep-{first['number']}"])
    assert after["sentence_en"] == f"Waiting for {first['ref']} to succeed"


# -- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "key", "said"),
    [
        ({"command": "true", "gpus": "two"}, "gpus", "'two'"),
        ({"command": "true", "gpu": 1}, "gpu", "'gpus'"),
        ({"command": "true", "memory": "12 parsecs"}, "memory", "'12 parsecs'"),
        ({"command": "true", "priority": 5000}, "priority", "5000"),
        ({"gpus": 1}, "command", "missing"),
        ({"command": "true", "env": {"A B": "1"}}, "env.'A B'", "'A B'"),
        ({"roles": {"w": {"command": "true", "cpus": -1}}}, "roles.w.cpus", "-1"),
        ({"command": "true", "queue": "gold"}, "queue", "'gold'"),
        ({"command": "true", "image": "pytorch:2.4"}, "image", "'pytorch:2.4'"),
        ({"command": "true", "mounts": ["nowhere:/x"]}, "mounts.0.volume", "'nowhere'"),
        ({"command": "true", "after": ["nobody-7"]}, "after.0", "'nobody-7'"),
        ({"command": "true", "gpus": 5}, "gpus", "largest node has 4"),
        ({"command": "true", "gpus": "1:H100"}, "gpus", "A100, RTX3090"),
        ({"command": "true", "cpus": 25}, "cpus", "largest node has 24"),
        (
            {"command": "true", "gpus": 4, "count": 3},
            "count",
            "do not fit even if everything is free",
        ),
        ({"command": "true", "cpus": 24, "gpus": 4, "memory": "201G"}, "memory", "200 GiB"),
    ],
)
def test_a_mistake_names_the_key_the_value_and_what_is_allowed(
    harness: Harness, job: dict[str, Any], key: str, said: str
) -> None:
    found = harness.refusal(**job)
    assert found["key"] == key
    assert said in found["message_en"]
    assert any("\u4e00" <= char <= "\u9fff" for char in found["message_zh"])
    assert key in found["message_zh"]


def test_every_mistake_is_told_at_once_with_its_line(harness: Harness) -> None:
    text = "name: x y\ncommand: 'true'\n# a comment\ngpus: two\nretrys: 3\n"
    answer = harness.http.post("/jobs", content=text, headers=YAML)
    found = {each["key"]: each for each in details(answer)}
    assert {key: each["line"] for key, each in found.items()} == {
        "name": 1,
        "gpus": 4,
        "retrys": 5,
    }
    assert "retries" in found["retrys"]["message_en"]
    assert "retries" in found["retrys"]["message_zh"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x00\x01",
        b"\x00" * 100,
        b"[" * 50_000,
        b"{" * 50_000,
        b"a: &a [*a, *a]",
        b"- " * 30_000,
        b'{"command": "\\ud800"}',
        b'{"command": 1e999, "cpus": NaN}',
        b'{"command": "true", "cpus": ' + b"9" * 5000 + b"}",
        b"command: !!python/object/apply:os.system ['true']",
        b"just some words",
        b"[1, 2, 3]",
        b"null",
        b'{"command": "true", "command": "false"}',
        b"\n".join(b"k%d: 1" % number for number in range(5000)),
    ],
)
def test_a_hostile_body_gets_a_clear_answer(harness: Harness, body: bytes) -> None:
    for headers in (JSON, YAML):
        answer = harness.http.post("/jobs", content=body, headers=headers)
        assert answer.status_code == 422, answer.text
        for each in details(answer):
            assert each["message_en"]
            assert each["message_zh"]
        assert len(answer.content) < 100_000


def test_a_huge_body_is_refused_before_it_is_read(harness: Harness) -> None:
    answer = harness.http.post("/jobs", content=b"# " + b"x" * (2 << 20), headers=YAML)
    assert answer.status_code == 413
    error = answer.json()["error"]
    assert error["code"] == "too_large"
    assert "1M" in error["message_en"]
    assert "1M" in error["message_zh"]


def test_a_huge_body_that_does_not_tell_its_size_is_refused_too(harness: Harness) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b"# " + b"x" * 65_000 + b"\n"

    answer = harness.http.post("/jobs", content=pieces(), headers=YAML)
    assert answer.status_code == 413


def test_a_body_just_below_the_limit_is_accepted(harness: Harness) -> None:
    padding = b"#" + b"x" * ((1 << 20) - 100) + b"\n"
    answer = harness.http.post("/jobs", content=padding + b"command: 'true'\n", headers=YAML)
    assert answer.status_code == 201, answer.text


# -- the job file of a job --------------------------------------------------------------------


@pytest.mark.parametrize(
    "job",
    [
        {"command": "echo hi"},
        {"command": ["echo", "a b", "$HOME", "", "一"]},
        {"script": "./start.sh", "args": ["--lr", "0.1"]},
        {"command": "true", "gpus": "2:RTX3090", "memory": "3G", "shm": "100M", "env": {"A": "x"}},
        {"command": "true", "gpus": 0.25, "priority": -3, "time_limit": "90m", "retries": 2},
        {"command": "a\nb\n", "mounts": ["fast:/f:ro"], "ports": {"http": 2}, "workdir": "/tmp"},
        {"command": "true", "array": "1,3,5%2", "split_output": True, "log_cap": "1M"},
        {
            "roles": {
                "ps": {"command": "true", "cpus": 1},
                "worker": {"command": "true", "count": 2, "gpus": 1, "processes": "per_gpu"},
            },
            "grace": "30s",
            "kind": "service",
        },
        {"command": "true", "secrets": {"KEY": "name"}},
    ],
)
def test_the_job_file_of_a_job_asks_for_the_same_job(harness: Harness, job: dict[str, Any]) -> None:
    for name in job.get("secrets", {}).values():
        harness.http.put(f"/secrets/{name}", json={"value": "x"})
    first = harness.submit(name="clone", held=True, **job)
    yaml = harness.http.get(f"/jobs/clone-{first['number']}/spec")
    assert yaml.headers["content-type"].startswith("application/yaml")
    again = harness.http.post("/jobs", content=yaml.content, headers=YAML)
    assert again.status_code == 201, again.text
    second = again.json()["jobs"][0]
    spec = harness.get(f"/jobs/clone-{first['number']}/spec", format="json")
    assert harness.get(f"/jobs/clone-{second['number']}/spec", format="json") == spec
    assert harness.show(second)["spec"] == harness.show(first)["spec"] == spec


def test_the_job_file_does_not_ask_for_the_terminal_of_the_first_run(harness: Harness) -> None:
    job = harness.submit(command="true", stdin="tty", held=True)
    assert "stdin" not in harness.get(f"/jobs/{job['id']}/spec", format="json")


def test_one_element_of_an_array_runs_again_alone_and_the_array_as_a_whole(
    harness: Harness,
) -> None:
    array = harness.submit_all({"name": "again", "command": "true", "array": "2,4,6", "held": True})
    for ref, indexes in ((f"again-{array[0]['number']}", [2, 4, 6]), (array[1]["id"], [4])):
        answer = harness.http.post(f"/jobs/{ref}/rerun")
        assert answer.status_code == 201
        assert [job["array_index"] for job in answer.json()["jobs"]] == indexes


def test_a_job_runs_again_under_a_new_number(harness: Harness) -> None:
    first = harness.run("echo $DANLU_JOB; exit 3", name="again", env={"A": "1"})
    answer = harness.http.post(f"/jobs/{first['id']}/rerun")
    assert answer.status_code == 201
    second = harness.wait(answer.json()["jobs"][0])
    assert second["number"] == first["number"] + 1
    assert second["exit_code"] == first["exit_code"] == 3
    assert harness.log(second).decode().strip() == second["ref"]
    assert harness.show(second)["spec"] == harness.show(first)["spec"]


def test_before_it_is_queued_a_job_is_told_what_it_would_be_told_in_the_queue(
    harness: Harness,
) -> None:
    harness.fill(time_limit="1h")
    job = {"command": "true", "gpus": "4:RTX3090", "time_limit": "10m"}
    preview = harness.http.post("/jobs?dry_run=true", json=job).json()["previews"][0]["why"]
    queued = harness.why(harness.submit(**job))
    for part in ("sentence_en", "sentence_zh", "position", "clear", "eta_basis"):
        assert preview[part] == queued[part], part
    assert [cause["kind"] for cause in preview["causes"]] == ["cluster_full"]
    tried = {one["kind"]: one["effect"] for one in preview["suggestions"]}
    assert tried == {one["kind"]: one["effect"] for one in queued["suggestions"]}
    assert tried["wait_for"] == "earlier"
    after = next(one for one in preview["suggestions"] if one["kind"] == "wait_for")
    assert after["en"].startswith("After admin/")
    assert after["effect_en"].startswith("starts about ")
