"""`dlc create job` and `dlc submit KIND`: from a params file, from flags, or both."""

from __future__ import annotations

import sys

from danlu.cli.shims.dlc_config import client
from danlu.cli.shims.dlc_words import job_id, request_id, table
from danlu.cli.shims.trouble import Trouble, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags

KINDS = {
    "pytorchjob": "PyTorchJob",
    "tfjob": "TFJob",
    "xgboostjob": "XGBoostJob",
    "rayjob": "RayJob",
    "batchjob": "BatchJob",
    "mpijob": "MPIJob",
    "elasticbatchjob": "ElasticBatchJob",
}
_OWN = (
    "config",
    "params_file",
    "job_file",
    "help",
    "quiet",
    "force",
    "endpoint",
    "region",
    "protocol",
)


def submit(flags: Flags, words: list[str]) -> int:
    kind = words[0].lower() if words else ""
    if kind not in KINDS and kind not in ("job", "jobs"):
        raise Trouble(
            f"{kind!r} is not a kind of job; available: job, {', '.join(KINDS)}",
            f"{kind!r} 不是任务类型；现有：job、{'、'.join(KINDS)}",
            2,
        )
    values = {name: flags.get(name) for name in flags.names if name not in _OWN}
    if kind in KINDS:
        values["kind"] = KINDS[kind]
    path = flags.get("params_file") or flags.get("job_file")
    body, content_type = _body(values, path)
    from danlu.sdk.fastjson import dumps
    from danlu.sdk.ids import uuid7

    answer: Any = client(flags).submit_text(
        body, content_type, dialect="dlc", keys=dumps({"id": uuid7()})
    )
    _print(values, path, answer)
    return 0


def _body(values: dict[str, str], path: str) -> tuple[bytes, str]:
    """A file alone is sent as it is, so that errors show its lines; the file overrides flags."""
    import json

    if not path:
        return json.dumps(values).encode(), "application/json"
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise Trouble(f"cannot read {path}: {cause}", f"无法读取 {path}：{cause}", 2) from None
    known = {line.partition("=")[0].strip() for line in text.splitlines() if "=" in line}
    more = {name: value for name, value in values.items() if name not in known}
    if any("\n" in value for value in more.values()):
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
        whole = {**more, **{name.strip(): value for name, _, value in pairs}}
        return json.dumps(whole).encode(), "application/json"
    if text and not text.endswith("\n"):
        text += "\n"
    return (
        text + "".join(f"{name}={value}\n" for name, value in more.items())
    ).encode(), "text/plain"


def _print(values: dict[str, str], path: str, answer: Any) -> None:
    import json

    from danlu.cli.texts import pick

    shown = {name: value for name, value in values.items() if "password" not in name}
    if path:
        shown["params_file"] = path
    sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    rows = [[job_id(job["id"]), request_id()] for job in answer["jobs"]]
    sys.stdout.write(table(["JobId", "RequestId"], rows))
    sys.stdout.flush()
    for note in answer.get("notes") or []:
        say("dlc", f"[INFO] {pick(note, '')}")
