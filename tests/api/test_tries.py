"""Arrays, retries and time limits."""

from __future__ import annotations

from pathlib import Path

from tests.api.harness import Harness


def test_a_leased_port_that_others_use_is_not_charged_to_the_job(harness: Harness) -> None:
    said = "echo \"OSError: [Errno 98] Address already in use: ('', $PORT_MAIN)\""
    job = harness.run(f"[ $DANLU_ATTEMPT = 2 ] || {{ {said}; exit 1; }}", ports=1)
    assert (job["state"], job["attempt"], job["retries_left"]) == ("succeeded", 2, 0)
    assert harness.show(job)["attempts"][0]["reason"] == "leased_port_taken"


def test_every_element_of_an_array_knows_its_index(harness: Harness) -> None:
    jobs = harness.submit_all(
        {"command": "echo $DANLU_ARRAY_INDEX of $DANLU_ARRAY_SIZE", "array": 3}
    )
    assert [job["ref"].rpartition(".")[2] for job in jobs] == ["0", "1", "2"]
    assert len({job["number"] for job in jobs}) == 1
    for index, job in enumerate(jobs):
        assert harness.log(harness.wait(job)).decode() == f"{index} of 3\n"


def test_an_array_takes_ranges_and_lists(harness: Harness) -> None:
    for array, expected in (
        ("1,3,5-7", [1, 3, 5, 6, 7]),
        ([9, 4], [9, 4]),
        ("0-20:10", [0, 10, 20]),
    ):
        jobs = harness.submit_all({"command": "true", "array": array, "held": True})
        assert [job["array_index"] for job in jobs] == expected


def test_never_more_elements_than_the_limit_run_at_once(harness: Harness, tmp_path: Path) -> None:
    # Each notes how many there are while it runs.
    command = (
        f"mkdir {tmp_path}/on.$DANLU_ARRAY_INDEX; set -- {tmp_path}/on.*; echo $#;"
        f" sleep 0.1; rmdir {tmp_path}/on.$DANLU_ARRAY_INDEX"
    )
    jobs = harness.submit_all({"command": command, "array": "0-9%3"})
    most = 0
    for job in jobs:
        ended = harness.wait(job)
        assert ended["state"] == "succeeded", harness.log(job)
        most = max(most, int(harness.log(job)))
    assert most <= 3
    # And from the outside: an element starts only when others have ended.
    attempts = [harness.show(job)["attempts"][0] for job in jobs]
    begins = [(each["created_at"], 1) for each in attempts]
    ends = [(each["ended_at"], -1) for each in attempts]
    active = peak = 0
    for _, change in sorted(begins + ends):
        active += change
        peak = max(peak, active)
    assert peak == 3


def test_a_failing_job_is_tried_again_until_its_budget_is_used_up(harness: Harness) -> None:
    job = harness.run("echo try $DANLU_ATTEMPT; exit 4", retries=2)
    assert (job["state"], job["reason"], job["exit_code"]) == ("failed", "exit_code", 4)
    assert job["attempt"] == 3
    assert job["retries_left"] == 0
    attempts = harness.show(job)["attempts"]
    assert [attempt["number"] for attempt in attempts] == [1, 2, 3]
    assert {attempt["reason"] for attempt in attempts} == {"exit_code"}
    assert harness.log(job) == b"try 1\ntry 2\ntry 3\n", "the log is that of all attempts"
    assert [harness.log(job, attempt=number) for number in (1, 2, 3)] == [
        b"try 1\n",
        b"try 2\n",
        b"try 3\n",
    ]
    assert harness.kinds(job).count("requeued") == 2


def test_a_job_that_succeeds_at_the_second_try_has_succeeded(harness: Harness) -> None:
    job = harness.run("[ $DANLU_ATTEMPT = 2 ]", retries=5)
    assert (job["state"], job["exit_code"], job["attempt"]) == ("succeeded", 0, 2)
    assert job["retries_left"] == 4


def test_what_trying_again_cannot_help_is_not_tried_again(harness: Harness) -> None:
    job = harness.run(["no-such-program"], retries=5)
    assert (job["reason"], job["attempt"]) == ("command_not_found", 1)


def test_a_job_over_its_time_limit_is_ended_and_says_so(harness: Harness) -> None:
    job = harness.run("echo begun; sleep 1000", time_limit=3, retries=3, grace=0)
    assert (job["state"], job["reason"]) == ("failed", "time_limit")
    assert job["reason_en"] == "Reached its time limit of 3s"
    assert job["reason_zh"].startswith("达到时间上限")
    assert job["attempt"] == 1, "it is not tried again"
    assert harness.log(job) == b"begun\n"
    assert any("time limit" in event["en"] for event in harness.events(job))


def test_a_job_within_its_time_limit_is_left_alone(harness: Harness) -> None:
    job = harness.run("true", time_limit="1h")
    assert job["state"] == "succeeded"
