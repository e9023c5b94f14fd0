"""`sbatch`: queues a script and prints its number."""

from __future__ import annotations

import os
import sys

from danlu.cli.foreign import tidy
from danlu.cli.shims import slurm
from danlu.cli.shims.submitting import query, table, write_notes
from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags


def sbatch(words: list[str]) -> int:
    flags = table().read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    if flags.has("help"):
        sys.stdout.write("Usage: sbatch [OPTIONS(0)...] [script [args(0)...]] | --wrap=COMMAND\n")
        return 0
    name, text, arguments = _script(flags)
    client = slurm.client()
    asked = query(flags, arguments)
    asked["offers"] = _with_name(asked["offers"], name)
    test = flags.has("test-only")
    answer: Any = client.submit_text(text.encode(), "text/plain", dry_run=test, **asked)
    if not flags.has("quiet"):
        write_notes("sbatch", answer)
    if test:
        return _tell_test(answer)
    jobs = answer["jobs"]
    number = jobs[0]["seq"]
    parsable = flags.has("parsable")
    sys.stdout.write(f"{number}\n" if parsable else f"Submitted batch job {number}\n")
    sys.stdout.flush()
    if flags.has("wait"):
        return max(_wait(client, job["id"]) for job in jobs)
    return 0


def _with_name(offers: str, name: str) -> str:
    from danlu.sdk.fastjson import dumps, loads

    found = loads(offers)
    found["name"] = name
    return dumps(found)


def _script(flags: Flags) -> tuple[str, str, list[str]]:
    """The default job name, the script's text, and its arguments."""
    if flags.has("wrap"):
        if flags.words:
            raise Trouble("Script arguments not permitted with --wrap option", "--wrap 不能带脚本")
        return "wrap", f"#!/bin/sh\n{flags.get('wrap')}\n", []
    if not flags.words or flags.words[0] == "-":
        return "sbatch", _decoded(sys.stdin.buffer.read(), "stdin"), flags.words[1:]
    path, *arguments = flags.words
    found = path if os.path.exists(path) else _on_path(path)
    try:
        with open(found, "rb") as file:
            text = _decoded(file.read(8 << 20), path)
    except OSError as error:
        raise Trouble(
            f"Unable to open file {path}: {error.strerror}", f"无法打开 {path}：{error.strerror}"
        ) from None
    if not text.startswith("#!"):
        raise Trouble(
            "This does not look like a batch script. The first line must start with #! followed by"
            " the path to an interpreter, as in: #!/bin/sh",
            "这不像批处理脚本。第一行必须以 #! 开头，后接解释器路径，例如 #!/bin/sh",
        )
    return tidy(os.path.basename(path)), text, arguments


def _on_path(name: str) -> str:
    import shutil

    return (shutil.which(name) if "/" not in name else None) or name


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Trouble(f"{path} is not UTF-8 text", f"{path} 不是 UTF-8 文本") from None


def _tell_test(answer: Any) -> int:
    from danlu.cli.texts import pick

    for preview in answer.get("previews") or []:
        sys.stderr.write(f"sbatch: {pick(preview['why'], 'sentence')}\n")
    return 0


def _wait(client: Any, ref: str) -> int:
    job = client.wait(ref)
    code = job.get("exit_code")
    return int(code) if code is not None else int(job["state"] != "succeeded")
