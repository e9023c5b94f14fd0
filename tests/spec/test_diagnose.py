"""A failed command is explained by what it really died of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.diagnose import MOST_EVIDENCE, TAIL, advise, describe, diagnose
from danlu.spec.job import GpuRequest, Resources
from danlu.spec.signs import SIGNS, WORDS
from danlu.spec.states import Reason
from danlu.spec.units import G

NEED = Resources(GpuRequest(1), 8.0, 80 * G, 16 * G)

BUS_ERROR = (
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient"
    " shared memory (shm).\n"
    "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible"
    " that dataloader's workers are out of shared memory. Please try to raise your shared memory"
    " limit.\n"
)
HEAP = """\
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/heap.py", line 83, in __init__
    os.ftruncate(self.fd, size)
OSError: [Errno 28] No space left on device
"""
SAVE = """\
Traceback (most recent call last):
  File "train.py", line 83, in save
    torch.save(model, "/userhome/x.pt")
OSError: [Errno 28] No space left on device
"""
RECOVERED = """\
CUDA out of memory. Trying again with a smaller batch
epoch 1 done
Traceback (most recent call last):
  File "train.py", line 9, in <module>
ValueError: labels do not match
"""
CHAINED = """\
Traceback (most recent call last):
  File "train.py", line 9, in step
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "train.py", line 20, in <module>
TrainingError: step 7 failed
"""
TORCHRUN = """\
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
[rank1]: RuntimeError: NCCL communicator was aborted: connection reset by peer
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
train.py FAILED
"""


@pytest.mark.parametrize(
    ("code", "log", "reason"),
    [
        (1, BUS_ERROR, Reason.OUT_OF_SHARED_MEMORY),
        (
            1,
            "RuntimeError: unable to open shared memory object </torch_12_34> in read-write mode:"
            " No space left on device (28)",
            Reason.OUT_OF_SHARED_MEMORY,
        ),
        (
            1,
            "RuntimeError: unable to write to file </torch_99_1>: unable to mmap x </torch_99_1>",
            Reason.OUT_OF_SHARED_MEMORY,
        ),
        (
            1,
            "OSError: [Errno 28] No space left on device: '/dev/shm/pym-12-x'",
            Reason.OUT_OF_SHARED_MEMORY,
        ),
        (1, HEAP, Reason.OUT_OF_SHARED_MEMORY),
        (
            1,
            "misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment nccl-shm",
            Reason.OUT_OF_SHARED_MEMORY,
        ),
        (135, "", Reason.OUT_OF_SHARED_MEMORY),
        (-7, "", Reason.OUT_OF_SHARED_MEMORY),
        (
            1,
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB)",
            Reason.OUT_OF_GPU_MEMORY,
        ),
        (1, "torch.OutOfMemoryError: CUDA out of memory.", Reason.OUT_OF_GPU_MEMORY),
        (1, "RuntimeError: CUDA error: out of memory", Reason.OUT_OF_GPU_MEMORY),
        (1, "cudaErrorMemoryAllocation", Reason.OUT_OF_GPU_MEMORY),
        (
            1,
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating"
            " tensor with shape[64,128]",
            Reason.OUT_OF_GPU_MEMORY,
        ),
        (
            1,
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying",
            Reason.OUT_OF_GPU_MEMORY,
        ),
        (1, "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", Reason.OUT_OF_GPU_MEMORY),
        (1, "Traceback (most recent call last):\nMemoryError", Reason.OUT_OF_MEMORY),
        (
            1,
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB",
            Reason.OUT_OF_MEMORY,
        ),
        (
            1,
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried",
            Reason.OUT_OF_MEMORY,
        ),
        (1, "OSError: [Errno 12] Cannot allocate memory", Reason.OUT_OF_MEMORY),
        (134, "terminate called after throwing 'std::bad_alloc'", Reason.OUT_OF_MEMORY),
        (
            1,
            "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.",
            Reason.OUT_OF_MEMORY,
        ),
        (137, "slurmstepd: error: Detected 1 oom_kill event in StepId=1", Reason.OUT_OF_MEMORY),
        (1, SAVE, Reason.DISK_FULL),
        (1, "cp: error writing 'x': No space left on device", Reason.DISK_FULL),
        (1, "OSError: [Errno 122] Disk quota exceeded", Reason.DISK_FULL),
        (1, "OSError: [Errno 24] Too many open files", Reason.FILE_LIMIT),
        (1, "RuntimeError: received 0 items of ancdata", Reason.FILE_LIMIT),
        (1, "ModuleNotFoundError: No module named 'torch'", Reason.MODULE_MISSING),
        (1, "/usr/bin/python3: No module named pkg.train", Reason.MODULE_MISSING),
        (1, "OSError: [Errno 98] Address already in use", Reason.PORT_IN_USE),
        (1, "Error: listen EADDRINUSE: address :::8080", Reason.PORT_IN_USE),
        (
            1,
            "RuntimeError: NCCL error in: x.cpp:1, unhandled system error: Connection refused",
            Reason.PEER_UNREACHABLE,
        ),
        (
            1,
            "torch.distributed.DistNetworkError: The client socket has timed out after 60s while"
            " trying to connect to (n1, 29500).",
            Reason.PEER_UNREACHABLE,
        ),
        (
            1,
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed"
            " by peer [127.0.0.1]:1234",
            Reason.PEER_UNREACHABLE,
        ),
        (1, "RuntimeError: Gloo connectFullMesh failed with ...", Reason.PEER_UNREACHABLE),
        (
            1,
            "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
            Reason.PEER_UNREACHABLE,
        ),
        (127, "bash: line 1: pyton: command not found", Reason.COMMAND_NOT_FOUND),
        (127, "sh: 1: pyton: not found", Reason.COMMAND_NOT_FOUND),
        (127, "/usr/bin/env: ‘pyton’: No such file or directory", Reason.COMMAND_NOT_FOUND),
        (127, "bash: ./x.sh: No such file or directory", Reason.COMMAND_NOT_FOUND),
        (127, "", Reason.COMMAND_NOT_FOUND),
        (127, "x: error while loading shared libraries: libcuda.so.1", Reason.EXIT_CODE),
        (126, "bash: line 1: ./x.sh: Permission denied", Reason.NOT_EXECUTABLE),
        (126, "bash: ./x: cannot execute binary file: Exec format error", Reason.NOT_EXECUTABLE),
        (126, "", Reason.NOT_EXECUTABLE),
        (1, "make: foo: command not found", Reason.EXIT_CODE),
        (1, "", Reason.EXIT_CODE),
        (3, "bye", Reason.EXIT_CODE),
        (1, RECOVERED, Reason.EXIT_CODE),
        (1, CHAINED, Reason.OUT_OF_GPU_MEMORY),
        (1, TORCHRUN, Reason.OUT_OF_GPU_MEMORY),
        (137, "", Reason.SIGNAL),
        (139, "Segmentation fault (core dumped)", Reason.SIGNAL),
        (-9, "", Reason.SIGNAL),
        (1, "Shared memory is used: 5 GB of 10 GB", Reason.EXIT_CODE),
    ],
)
def test_well_known_failures_are_recognised(code: int, log: str, reason: Reason) -> None:
    found = diagnose(code, tail=log.encode(), resources=NEED)
    assert found.reason is reason
    for line in found.evidence:
        assert line in log


@pytest.mark.parametrize("log", [BUS_ERROR, CHAINED, SAVE, "No module named 'x'", "\x00\xff"])
@pytest.mark.parametrize("hint", ["", "out_of_memory", "nonsense"])
def test_status_zero_is_success_whatever_the_log_says(log: str, hint: str) -> None:
    found = diagnose(0, None, hint, tail=log.encode(), resources=NEED)
    assert found == (Reason.COMPLETED, {"code": 0}, ())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("OSError: [Errno 28] No space left on device", Reason.OUT_OF_SHARED_MEMORY),
        ("cp: error writing 'x': No space left on device", Reason.OUT_OF_SHARED_MEMORY),
        ("OSError: [Errno 28] No space left on device: '/gdata/x'", Reason.DISK_FULL),
        ("cp: error writing '/gdata/x': No space left on device", Reason.DISK_FULL),
        ("OSError: [Errno 122] Disk quota exceeded", Reason.DISK_FULL),
        ("ValueError: bad", Reason.EXIT_CODE),
    ],
)
def test_a_full_shared_memory_is_the_cause_where_no_disk_is_named(
    line: str, reason: Reason
) -> None:
    assert diagnose(1, None, "shared_memory_full", tail=line.encode()).reason is reason


def test_what_the_engine_knows_better_wins_over_the_log() -> None:
    found = diagnose(137, 9, "out_of_memory", tail=BUS_ERROR.encode(), resources=NEED)
    assert found.reason is Reason.OUT_OF_MEMORY
    assert found.detail == {"code": 137, "signal": "SIGKILL (9)", "limit": "80G"}
    found = diagnose(None, None, "workdir_missing", "/userhome/x")
    assert found.reason is Reason.WORKDIR_MISSING
    assert found.detail == {"detail": "/userhome/x"}
    assert diagnose(1, None, "nonsense").reason is Reason.EXIT_CODE
    assert diagnose(1, None, "completed").reason is Reason.EXIT_CODE


@pytest.mark.parametrize(
    ("code", "signal", "log", "english", "mandarin"),
    [
        (2, None, "", "The command exited with status 2", "命令以状态 2 结束"),
        (None, 11, "", "The command was killed by signal SIGSEGV (11)", "信号 SIGSEGV (11) 终止"),
        (1, None, BUS_ERROR, "/dev/shm of 16G is full", "/dev/shm 的 16G 已用满"),
        (1, None, "MemoryError", "its limit of 80G", "达到 80G 的上限"),
        (
            1,
            None,
            "ModuleNotFoundError: No module named 'torch.x'",
            "Missing Python module: torch.x",
            "模块：torch.x",
        ),
        (127, None, "bash: line 1: pyton: command not found", "not found: pyton", "命令：pyton"),
        (126, None, "bash: line 1: ./x: Permission denied", "executed: ./x", "执行：./x"),
        (127, None, "", "not found: ?", "命令：?"),
    ],
)
def test_the_reason_is_told_in_both_languages(
    code: int | None, signal: int | None, log: str, english: str, mandarin: str
) -> None:
    found = diagnose(code, signal, tail=log.encode(), resources=NEED)
    text = describe(found.reason, found.detail)
    assert english in text.en
    assert mandarin in text.zh
    advice = advise(found.reason, found.detail)
    assert advice.en
    assert advice.zh


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_can_be_described_without_any_facts(reason: Reason) -> None:
    text, advice = describe(reason, {}), advise(reason, {})
    assert text.en
    assert text.zh
    assert bool(advice.en) == bool(advice.zh)
    assert "{" not in text.en + text.zh + advice.en + advice.zh


def test_facts_are_filled_in_as_text_and_never_as_templates_or_terminal_codes() -> None:
    text = describe(Reason.REFUSED, {"detail": "{code.__class__} \x1b[2J\x07x\u202e"})
    assert text.en == "The node refused to start it: {code.__class__} x"
    assert text.zh == "节点拒绝启动：{code.__class__} x"


def test_evidence_is_short_printable_and_without_repetition() -> None:
    line = b"\x1b[31mRuntimeError: CUDA out of memory\x1b[0m\n"
    longest = b"CUDA out of memory " + b"x" * 5000 + b"\n"
    found = diagnose(1, tail=line * 5 + longest + b"50%|###\r60%|####\rCUDA error: out of memory")
    assert found.reason is Reason.OUT_OF_GPU_MEMORY
    assert len(found.evidence) == MOST_EVIDENCE
    assert found.evidence[0] == "RuntimeError: CUDA out of memory"
    assert found.evidence[2] == "CUDA error: out of memory"
    assert all(len(line) <= 300 for line in found.evidence)


def test_an_unknown_failure_shows_the_last_words() -> None:
    log = b"Traceback (most recent call last):\n  x\nKeyError: 'lr'\nwandb: done\n"
    assert diagnose(1, tail=log).evidence == ("KeyError: 'lr'",)
    assert diagnose(1, tail=b"a\nb\n\n").evidence == ("b",)


def test_only_the_end_of_a_long_log_counts() -> None:
    log = b"RuntimeError: CUDA out of memory\n" + b"x" * 99 + b"\n" + b"all well\n" * TAIL
    assert diagnose(1, tail=log).reason is Reason.EXIT_CODE


OTHER_SAYINGS = """\
ncclInternalError: Internal check failed, cannot connect to a peer
RuntimeError: unable to mmap 128 bytes from file </torch_4711_9>: Cannot allocate memory (12)
/dev/shm/x: write failed, no space left on device
RuntimeError: cuda runtime error (2) : out of memory at THCStorage.cu:58
failed to allocate 10.75G: CUDA_ERROR_OUT_OF_MEMORY: out of memory
cuDNN error: CUDNN_STATUS_ALLOC_FAILED
RuntimeError: HIP out of memory. Tried to allocate 20.00 MiB
Resource exhausted: OOM when allocating tensor with shape[1,2]
[rank3]: MemoryError: Unable to allocate 3 GiB
java.lang.OutOfMemoryError: Java heap space
Out of memory: Killed process 4711 (python)
Error: ENOSPC: write failed
Error: EMFILE: open failed
Error in library(torch) : there is no package called \u2018torch\u2019
The port 8888 is already in use
ncclSystemError: System call (socket, malloc, munmap, etc) failed.
[c10d] TCPStore: connect to n1:29500 timed out
torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 joined
torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection failed
"""


def test_every_saying_is_looked_for_and_led_to_by_a_word() -> None:
    """A saying that no word leads to would never be found."""
    table = test_well_known_failures_are_recognised.pytestmark[0].args[1]  # type: ignore[attr-defined]
    logs = [log for _, log, _ in table]
    lines = [line for log in (*logs, OTHER_SAYINGS) for line in log.splitlines()]
    led_to = [line for line in lines if any(word in line.lower() for word in WORDS)]
    for sign in SIGNS:
        for part in sign.parts:
            pattern = re.compile(part, re.IGNORECASE)
            assert any(pattern.search(line) for line in led_to), part


def test_a_warning_about_a_module_that_is_not_needed_is_no_reason() -> None:
    log = b"Triton is not available. Error caught was: No module named 'triton'\nloss is nan\n"
    assert diagnose(1, tail=log).reason is Reason.EXIT_CODE


@given(
    st.integers(-64, 255) | st.none(),
    st.none() | st.integers(0, 64),
    st.sampled_from(["", "out_of_memory", "x"]),
    st.binary(max_size=400) | st.sampled_from([BUS_ERROR, TORCHRUN, CHAINED]).map(str.encode),
)
def test_any_end_is_described(code: int | None, signal: int | None, hint: str, tail: bytes) -> None:
    found = diagnose(code, signal, hint, "", tail, NEED)
    assert (found.reason is Reason.COMPLETED) == (code == 0 and not signal)
    assert len(found.evidence) <= MOST_EVIDENCE
    said = describe(found.reason, found.detail), advise(found.reason, found.detail)
    for text in (*(t for each in said for t in (each.en, each.zh)), *found.evidence):
        text.encode()
        assert text.isprintable()


def test_a_platform_fault_says_whether_it_is_retried_or_given_up() -> None:
    going_on = advise(Reason.REGISTRY_UNREACHABLE, {}, ended=False)
    over = advise(Reason.REGISTRY_UNREACHABLE, {}, ended=True)
    assert going_on.en.startswith("It is retried automatically; if it persists, check")
    assert "自动重试" in going_on.zh
    assert over.en == "Given up after 3 retries. Check the registry's address and the network"
    assert "自动重试" not in over.zh
