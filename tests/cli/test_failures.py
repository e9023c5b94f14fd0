"""Whatever goes wrong is a sentence and an exit code, never a traceback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.little_server import answer, read_request, serving


def danlu(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "LC_", "LANG"))}
    return subprocess.run(
        [sys.executable, "-m", "danlu.cli", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**kept, "XDG_CONFIG_HOME": "/nonexistent", **env},
        check=False,
        timeout=180,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runn"], "did you mean danlu run?"),
        (["qqqq"], "Unknown command 'qqqq'"),
        (["jobs", "--ownr", "x"], "did you mean --owner?"),
        (["jobs", "extra"], "Unexpected argument 'extra'"),
        (["stop"], "Missing argument: JOB"),
        (["jobs", "-l", "x"], "not an integer"),
        (["quota", "set", "user", "x", "--gpus", "many"], "as 4 or 0.5"),
        (["quota", "set", "user", "x", "--model", "A100=nan"], "as 4 or 0.5"),
        (["run"], "No command"),
        (["submit"], "give a job file"),
        (["exec", "mnist-1"], "danlu exec JOB -- "),
        (["user", "qqqq"], "Unknown command danlu user qqqq; available: list, show, add"),
        (["user", "show"], "Missing argument: NAME\n"),
        (["queue", "merge", "x"], "Missing argument: INTO\n"),
        (["cp", "x"], "Missing argument: TARGET\n"),
        (["convert"], "Missing argument: FILE... | -\n"),
        (["env", "list", "x"], "Unexpected argument 'x'\n"),
        (["key", "add", "x", "y"], "Usage: danlu key add [FILE|-] [OPTION...]\n"),
        (["bin", "restore", "x", "--overwrite", "--keep-both"], "cannot be combined"),
        (["context", "qqqq"], "available: list, use, remove"),
        (["--lang", "fr", "jobs"], "--lang 'fr': must be zh or en"),
        (["submit", "a.yaml", "--", "ls"], "not both"),
        (["run", "--tty", "--no-tty", "ls"], "cannot be combined"),
        (["run", "--tty", "ls"], "not a terminal"),
        (["run", "--patience", "soon", "ls"], "not a duration"),
        (["completion", "tcsh"], "bash, zsh, fish"),
        (["--nonsense"], "Unknown option --nonsense"),
        (["jobs", "--server", "ftp://x", "--token", "t"], "not a server address"),
    ],
)
def test_bad_usage_ends_with_2_and_says_what_to_do(words: list[str], said: str) -> None:
    done = danlu(*words, DANLU_SERVER="http://127.0.0.1:1", DANLU_TOKEN="t")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "missing", "usage"),
    [
        (["env", "stop"], "NAME", "danlu env stop NAME... [OPTION...]"),
        (["env", "extend"], "NAME", "danlu env extend NAME [TIME] [OPTION...]"),
        (["env", "save"], "NAME, IMAGE", "danlu env save NAME IMAGE [OPTION...]"),
        (["env", "share", "dev"], "USER", "danlu env share NAME USER... [OPTION...]"),
        (["quota", "set", "user"], "NAME", "danlu quota set user|group NAME [OPTION...]"),
        (["stop"], "JOB", "danlu stop [OPTION...] JOB..."),
    ],
)
def test_what_is_missing_is_told_with_how_this_command_is_written(
    words: list[str], missing: str, usage: str
) -> None:
    done = danlu(*words, DANLU_SERVER="http://127.0.0.1:1", DANLU_TOKEN="t")
    assert done.returncode == 2
    told = [f"danlu: Missing argument: {missing}", f"danlu: Usage: {usage}"]
    assert done.stderr.splitlines() == [*told, f"danlu: See danlu {words[0]} --help"]


@pytest.mark.parametrize("command", ["show", "why", "logs", "events", "stop", "rerun", "wait"])
def test_a_name_that_is_empty_names_no_job(command: str) -> None:
    """As `danlu logs "$JOB"` where JOB was never set."""
    done = danlu(command, "", DANLU_SERVER="http://127.0.0.1:1", DANLU_TOKEN="t")
    assert done.returncode == 3
    assert "There is no job" in done.stderr


@pytest.mark.parametrize("token", ["坏", "two\nlines"])
def test_what_cannot_be_a_token_is_told_as_such(token: str) -> None:
    done = danlu("jobs", "--token", token, DANLU_SERVER="http://127.0.0.1:1")
    assert done.returncode == 4
    assert "Invalid token" in done.stderr


def test_without_a_server_it_says_how_to_get_one() -> None:
    done = danlu("jobs")
    assert done.returncode == 1
    assert "danlu up" in done.stderr
    assert "danlu login" in done.stderr


def test_a_server_that_is_not_there_is_named() -> None:
    done = danlu("jobs", DANLU_SERVER="http://127.0.0.1:1", DANLU_TOKEN="t")
    assert done.returncode == 1
    assert "http://127.0.0.1:1: Connection refused" in done.stderr


def answers(content: bytes) -> Any:
    def act(link: socket.socket) -> None:
        read_request(link)
        link.sendall(content)

    return act


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "Not a Danlu server"),
        (answer(b"<html>hello</html>"), "Not a Danlu server"),
        (answer(b"moved", "302 Found"), "Not a Danlu server"),
        (answer(b"gateway broke", "502 Bad Gateway"), "gateway broke"),
        (answer(b"", "500 Internal Server Error"), "HTTP 500"),
        (answer(b"[" * 100_000), "Not a Danlu server"),
        (b"", "lost"),
    ],
)
def test_a_server_that_answers_nonsense_is_told_about(content: bytes, said: str) -> None:
    with serving(answers(content)) as server:
        done = danlu("jobs", DANLU_SERVER=server.url, DANLU_TOKEN="t")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("status", ["401 X", "403 X", "404 Not Found", "405 X", "422 X"])
@pytest.mark.parametrize("body", [b"<html><h1>Not Found</h1>", b'{"detail": "Not Found"}', b""])
def test_another_web_server_is_named_instead_of_its_page(status: str, body: bytes) -> None:
    with serving(answers(answer(body, status))) as server:
        done = danlu("show", "a-1", DANLU_SERVER=server.url, DANLU_TOKEN="t")
    assert done.returncode == 1, "not the code for a missing job"
    assert "Not a Danlu server" in done.stderr
    assert server.url in done.stderr
    assert "<" not in done.stderr
    assert "Not Found" not in done.stderr


@pytest.mark.parametrize("status", ["500 X", "501 Unsupported method", "502 Bad Gateway"])
def test_another_server_that_fails_is_named_with_its_address(status: str) -> None:
    """As Python's own file server answers a POST, or a proxy whose server is away."""
    body = b"<!DOCTYPE HTML><html><title>Error response</title></html>"
    with serving(answers(answer(body, status))) as server:
        done = danlu("whoami", DANLU_SERVER=server.url, DANLU_TOKEN="t")
        zh = danlu("--lang", "zh", "whoami", DANLU_SERVER=server.url, DANLU_TOKEN="t")
    assert done.returncode == 1
    assert f"does not look like a Danlu server: HTTP {status[:3]}" in done.stderr
    assert "不像是 Danlu 服务" in zh.stderr
    assert server.url in done.stderr
    assert "<" not in done.stderr


@pytest.mark.parametrize(
    ("words", "env", "source"),
    [
        ([], {"DANLU_TOKEN": "old"}, "DANLU_TOKEN"),
        (["--token", "old"], {}, "--token"),
        (["--token", "old"], {"DANLU_TOKEN": "older"}, "--token"),
    ],
)
def test_an_invalid_token_is_told_with_where_it_came_from(
    words: list[str], env: dict[str, str], source: str
) -> None:
    body = b'{"error": {"code": "not_signed_in", "message_en": "no", "message_zh": "n"}}'
    with serving(answers(answer(body, "401 X"))) as server:
        done = danlu("jobs", *words, DANLU_SERVER=server.url, **env)
        zh = danlu("--lang", "zh", "jobs", *words, DANLU_SERVER=server.url, **env)
    assert done.returncode == 4
    assert f"The token came from {source}" in done.stderr
    assert f"令牌来自 {source}" in zh.stderr


def test_a_server_without_tls_and_certificates_that_cannot_be_used_are_told_apart() -> None:
    def plain_http(link: socket.socket) -> None:
        link.recv(65536)
        link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with serving(plain_http) as server:
        url = server.url.replace("http:", "https:")
        plain = danlu("jobs", DANLU_SERVER=url, DANLU_TOKEN="t")
        missing = danlu("jobs", DANLU_SERVER=url, DANLU_TOKEN="t", DANLU_CA_FILE="/nonexistent")
    assert plain.returncode == missing.returncode == 1
    assert "does not use TLS" in plain.stderr and "danlu up" not in plain.stderr
    assert "DANLU_CA_FILE: No such file" in missing.stderr


def test_an_answer_of_another_shape_is_our_mistake_and_no_traceback() -> None:
    with serving(answers(answer(b'{"jobs": 7}'))) as server:
        done = danlu("jobs", DANLU_SERVER=server.url, DANLU_TOKEN="t")
        debugged = danlu("jobs", DANLU_SERVER=server.url, DANLU_TOKEN="t", DANLU_DEBUG="1")
    assert done.returncode == 70
    assert "DANLU_DEBUG=1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in debugged.stderr


def test_refusals_have_exit_codes_of_their_own() -> None:
    for status, code in (
        (401, 4),
        (403, 4),
        (404, 3),
        (409, 5),
        (422, 2),
        (413, 2),
        (429, 1),
        (503, 1),
    ):
        body = (
            b'{"error": {"code": "x", "message_en": "because", "message_zh": "y", "details": []}}'
        )
        with serving(answers(answer(body, f"{status} X"))) as server:
            done = danlu("show", "a-1", DANLU_SERVER=server.url, DANLU_TOKEN="t")
        assert (done.returncode, "because" in done.stderr) == (code, True)


def test_a_lost_answer_never_makes_two_jobs() -> None:
    seen: list[bytes] = []

    def lose(link: socket.socket) -> None:
        seen.append(read_request(link)[2])

    def take(link: socket.socket) -> None:
        seen.append(read_request(link)[2])
        link.sendall(
            answer(b'{"jobs": [{"ref": "a/x-1", "owner": "a", "name": "x", "number": 1}]}')
        )

    with serving(lose, lose, take) as server:
        done = danlu("run", "-d", "--", "true", DANLU_SERVER=server.url, DANLU_TOKEN="t")
    assert done.returncode == 0, done.stderr
    assert "a/x-1" in done.stdout
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert b'"id":"' in seen[0]


def test_output_nobody_reads_is_no_failure_worth_words() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "danlu.cli", "help", "--markdown"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_closed_streams_are_no_failure() -> None:
    command = f"{sys.executable} -m danlu.cli help"
    for closed in (">&-", "2>&-", ">&- 2>&-", "<&-"):
        done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_that_knows_no_chinese_gets_question_marks() -> None:
    done = danlu("help", "--lang", "zh", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "danlu help COMMAND ?" in done.stdout


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "danlu.cli", "help"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_language_follows_the_locale() -> None:
    assert "没有命令" in danlu("qqqq", LANG="zh_CN.UTF-8").stderr
    assert "Unknown command" in danlu("qqqq", LANG="de_DE.UTF-8").stderr
    assert "Unknown command" in danlu("qqqq", LANG="zh_CN.UTF-8", LC_ALL="C.UTF-8").stderr
    assert "没有命令" in danlu("qqqq", LANG="C", DANLU_LANG="zh").stderr
