"""Options become the keys of a job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from danlu.cli.jobflags import add_command, carried_environment, job_keys, set_key, workdir
from danlu.cli.options import Args, UsageError, parse
from danlu.cli.registry import COMMON, find


def read(*words: str) -> Args:
    run = find("run")
    assert run is not None
    return parse(run, list(words), COMMON)


def keys(*words: str) -> dict[str, Any]:
    return job_keys(read(*words))


def test_each_option_is_a_key() -> None:
    found = keys(
        *("-c", "4", "-m", "64G", "--shm", "1G", "-t", "12h", "-p", "-5", "-q", "fast", "-n", "x"),
        *("--group", "g", "--retries", "2", "--array", "0-9%4", "--image", "i", "--count", "3"),
        *("--per-gpu", "--split-output", "--held", "--kind", "train", "--log-cap", "1M"),
    )
    assert found == {
        "cpus": 4,
        "memory": "64G",
        "shm": "1G",
        "time_limit": "12h",
        "priority": -5,
        "queue": "fast",
        "name": "x",
        "group": "g",
        "retries": 2,
        "array": "0-9%4",
        "image": "i",
        "count": 3,
        "processes": "per_gpu",
        "split_output": True,
        "held": True,
        "kind": "train",
        "log_cap": "1M",
    }


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["-g", "2"], 2),
        (["-g", "0.5"], 0.5),
        (["-g", "2:A100"], "2:A100"),
        (["-g", "2", "--model", "A100"], {"count": 2, "model": "A100"}),
        (["--model", "A100"], {"count": 1, "model": "A100"}),
        (["-g", "two"], "two"),
    ],
)
def test_gpus_in_every_writing(words: list[str], gpus: object) -> None:
    assert keys(*words) == {"gpus": gpus}


def test_a_model_named_twice_is_a_mistake() -> None:
    with pytest.raises(UsageError):
        keys("-g", "2:A100", "--model", "V100")


def test_lists_and_maps() -> None:
    found = keys(
        *("--secret", "WANDB", "--secret", "KEY=openai", "--mount", "fast:/fast:ro"),
        *("--port", "http", "--port", "api=2", "--after", "a-1", "--after", "bob/b-2:ended"),
    )
    assert found == {
        "secrets": {"WANDB": "WANDB", "KEY": "openai"},
        "mounts": ["fast:/fast:ro"],
        "ports": {"http": 1, "api": 2},
        "after": ["a-1", {"job": "bob/b-2", "when": "ended"}],
    }
    assert keys("--port", "3") == {"ports": 3}


def test_a_variable_without_a_value_is_taken_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LR", "0.1")
    monkeypatch.delenv("NOT_SET", raising=False)
    assert keys("-e", "LR", "-e", "A=b=c", "-e", "EMPTY=")["env"] == {
        "LR": "0.1",
        "A": "b=c",
        "EMPTY": "",
    }
    with pytest.raises(UsageError):
        keys("-e", "NOT_SET")
    with pytest.raises(UsageError):
        keys("-e", "=x")


def test_the_environment_goes_along_only_when_asked_and_without_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DANLU_TOKEN", "secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/x")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setenv("LR", "0.1")
    monkeypatch.setitem(os.environb, b"BINARY", b"\xff\xfe")  # type: ignore[misc]
    assert "env" not in keys()
    carried = keys("--carry-env", "-e", "LR=0.2")["env"]
    assert carried["LR"] == "0.2"
    assert "PATH" in carried
    assert not {"DANLU_TOKEN", "SSH_AUTH_SOCK", "CUDA_VISIBLE_DEVICES", "BINARY", "HOME"} & set(
        carried
    )
    assert carried_environment()["LR"] == "0.1"


def test_the_words_of_a_command_are_kept_exactly() -> None:
    job: dict[str, Any] = {}
    add_command(job, read("-g1", "--", "sh", "-c", "echo  'a b' $X", "", "-g"))
    assert job == {"command": ["sh", "-c", "echo  'a b' $X", "", "-g"]}


def test_a_script_takes_the_words_as_its_arguments() -> None:
    job: dict[str, Any] = {}
    add_command(job, read("--script", "./go.sh", "--", "--lr", "1"))
    assert job == {"script": "./go.sh", "args": ["--lr", "1"]}


def test_a_job_without_a_command_is_a_mistake() -> None:
    with pytest.raises(UsageError):
        add_command({}, read("-g1"))


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        add_command({}, read("--", "ls", "\udcff"))
    assert caught.value.key == "flags.not_text"


def test_the_folder_is_the_present_one_under_the_name_the_shell_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    assert workdir(read("ls")) == str(tmp_path / "link")
    assert workdir(read("-w", "..", "ls")) == str(tmp_path)
    assert workdir(read("-w", "/x", "ls")) == "/x"
    assert workdir(read("-w", "-", "ls")) is None
    assert workdir(read("--image", "i", "ls")) is None
    monkeypatch.setenv("PWD", "/elsewhere")
    assert workdir(read("ls")) == str(tmp_path / "real")


def test_any_key_can_be_set() -> None:
    job: dict[str, Any] = {
        "env": {"A": "1"},
        "roles": {"worker": {"gpus": 1}},
        "after": ["a-1", "b-2"],
    }
    for setting in (
        "gpus=4",
        "env.LR=0.1",
        "roles.worker.gpus=8",
        "after.1=c-3",
        "name=x y",
        "new.a=[1]",
    ):
        set_key(job, setting)
    assert job == {
        "gpus": 4,
        "env": {"A": "1", "LR": 0.1},
        "roles": {"worker": {"gpus": 8}},
        "after": ["a-1", "c-3"],
        "name": "x y",
        "new": {"a": [1]},
    }
    for bad in ("gpus", "=1", "a..b=1", "after.7=x", "after.x.y=1"):
        with pytest.raises(UsageError):
            set_key(job, bad)
