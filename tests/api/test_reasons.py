"""Why a command ended is named, with what to do about it."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.engines.local.check import Abilities
from tests.api.harness import Harness, Job
from tests.support.folders import open_python


def _python(text: str) -> list[str]:
    return [open_python(), "-c", text]


@pytest.mark.parametrize(
    ("command", "reason", "code", "said"),
    [
        ("exit 0", "completed", 0, "Completed"),
        ("exit 1", "exit_code", 1, "status 1"),
        ("exit 255", "exit_code", 255, "status 255"),
        ("kill -SEGV $$", "signal", 139, "SIGSEGV (11)"),
        ("kill -KILL $$", "signal", 137, "SIGKILL (9)"),
        ("sh -c 'kill -ABRT $$'; exit $?", "signal", 134, "SIGABRT (6)"),
        ("no-such-program --x", "command_not_found", 127, "no-such-program"),
        (["no-such-program", "--x"], "command_not_found", 127, "no-such-program"),
        (["/etc/passwd"], "not_executable", 126, "/etc/passwd"),
        (_python("import no_such_module.sub"), "module_missing", 1, "no_such_module"),
        (_python("raise ValueError('mine')"), "exit_code", 1, "status 1"),
        (
            _python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')"),
            "out_of_gpu_memory",
            1,
            "Out of GPU memory",
        ),
        (_python("raise OSError(24, 'Too many open files')"), "file_limit", 1, "open files"),
        (
            _python(
                "import socket as s; a = s.socket(); a.bind(('127.0.0.1', 0)); a.listen();"
                " b = s.socket(); b.bind(a.getsockname())"
            ),
            "port_in_use",
            1,
            "already in use",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_reason_names_what_happened(
    harness: Harness, command: Any, reason: str, code: int, said: str
) -> None:
    job = harness.run(command)
    assert (job["reason"], job["exit_code"]) == (reason, code), harness.log(job)
    assert job["state"] == ("succeeded" if code == 0 else "failed")
    assert said in job["reason_en"]
    assert any("\u4e00" <= char <= "\u9fff" for char in job["reason_zh"])
    if code:
        assert job["advice_en"]
        assert job["advice_zh"]


def test_a_missing_working_directory_is_named(harness: Harness) -> None:
    job = harness.run("true", workdir="/no/such/folder")
    assert job["reason"] == "workdir_missing"
    assert "/no/such/folder" in job["reason_en"]


def test_the_line_of_the_log_that_shows_it_is_quoted(harness: Harness) -> None:
    job = harness.run(_python("print('fine'); import no_such_module"))
    assert job["evidence"] == ["ModuleNotFoundError: No module named 'no_such_module'"]


def test_what_went_to_stderr_alone_is_read_too(harness: Harness) -> None:
    job = harness.run(_python("import no_such_module"), split_output=True)
    assert job["reason"] == "module_missing"


def test_a_command_that_succeeds_has_succeeded_whatever_it_printed(harness: Harness) -> None:
    job = harness.run("echo 'CUDA out of memory'; echo 'No space left on device' >&2")
    assert (job["state"], job["reason"]) == ("succeeded", "completed")


def _shared_memory(abilities: Abilities) -> None:
    if not abilities.namespaces:
        pytest.skip("without namespaces /dev/shm is the machine's, of the machine's size")


def test_a_full_shared_memory_is_named_with_its_size(
    harness: Harness, abilities: Abilities
) -> None:
    _shared_memory(abilities)
    command = "dd if=/dev/zero of=/dev/shm/x bs=1M count=16"
    job = harness.run(command, memory="64M", shm="8M")
    assert job["reason"] == "out_of_shared_memory", harness.log(job)
    assert "8M" in job["reason_en"]
    assert "8M" in job["reason_zh"]
    assert "shm" in job["advice_en"]


def test_a_full_shared_memory_is_named_where_the_log_names_no_folder(
    harness: Harness, abilities: Abilities
) -> None:
    _shared_memory(abilities)
    text = "open('/dev/shm/x', 'wb').write(bytes(16 << 20))"
    job = harness.run(_python(text), memory="64M", shm="8M")
    assert b"/dev/shm" not in harness.log(job)
    assert job["reason"] == "out_of_shared_memory", harness.log(job)


def test_a_full_shared_memory_is_not_blamed_for_what_the_log_says_of_a_disk(
    harness: Harness, abilities: Abilities
) -> None:
    _shared_memory(abilities)
    fill = "head -c 16M /dev/zero > /dev/shm/x 2> /dev/null"
    job = harness.run(f"{fill}; cp /dev/shm/x /dev/full", memory="64M", shm="8M")
    assert job["reason"] == "disk_full", harness.log(job)
    job = harness.run(f"{fill}; exit 3", memory="64M", shm="8M")
    assert job["reason"] == "exit_code", harness.log(job)


def test_a_data_loader_that_dies_of_a_full_shared_memory_is_named(
    harness: Harness, abilities: Abilities
) -> None:
    """As PyTorch's workers do: the file is made large first, the write into it is a SIGBUS."""
    _shared_memory(abilities)
    text = (
        "import mmap, os; fd = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT);"
        " os.ftruncate(fd, 16 << 20); m = mmap.mmap(fd, 16 << 20); m[:] = bytes(16 << 20)"
    )
    job = harness.run(_python(text), memory="64M", shm="8M")
    assert (job["reason"], job["exit_code"]) == ("out_of_shared_memory", 135), harness.log(job)


def _out_of_memory(harness: Harness, **more: Any) -> Job:
    return harness.run(_python("x = bytearray(512 << 20); print('survived')"), memory="64M", **more)


def test_a_task_over_its_memory_is_named_with_its_limit(
    harness: Harness, abilities: Abilities
) -> None:
    if "memory" not in abilities.controllers:
        pytest.skip("memory limits need a cgroup that the server may write")
    job = _out_of_memory(harness)
    assert job["reason"] == "out_of_memory", harness.log(job)
    assert job["reason_en"] == "Out of memory: the task reached its limit of 64M"
    assert harness.log(job) == b""


def test_a_memory_failure_is_charged_to_the_jobs_own_retries(
    harness: Harness, abilities: Abilities
) -> None:
    if "memory" not in abilities.controllers:
        pytest.skip("memory limits need a cgroup that the server may write")
    job = _out_of_memory(harness, retries=1)
    assert (job["reason"], job["attempt"]) == ("out_of_memory", 2)
