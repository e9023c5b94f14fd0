"""The part of danlu.toml about a Slurm engine.

[engines.cluster]
kind = "slurm"
shared = "/gpfs/danlu"                  # the same folder on all nodes
partitions = { train = "makkapakka" }   # queue -> partition; else the one of the queue's name
models = { RTX3090 = "3090" }           # model -> gres type, or "constraint:FEATURE"
bin = "/opt/slurm/bin"
conf = "/etc/slurm/slurm.conf"
slurmrestd = "unix:/run/slurmrestd.socket"   # read through it; without it, through commands
python = "/usr/bin/python3"             # on the nodes
options = ["--account=lab"]             # for every sbatch
containers = "podman"                   # for images: auto, apptainer, podman, enroot, docker, off
container_program = "/opt/bin/podman"   # its command on the nodes
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from danlu.server.values import Values
from danlu.spec.text import Text

if TYPE_CHECKING:
    from danlu.engines.slurm.config import SlurmConfig

KEYS = (
    "shared",
    "partitions",
    "models",
    "bin",
    "conf",
    "slurmrestd",
    "python",
    "path",
    "options",
    "ports",
    "cycle",
    "lost_after",
    "deadline",
    "containers",
    "container_program",
)
_RUNTIMES = ("auto", "apptainer", "podman", "enroot", "docker", "off")
_OPTION = re.compile(r"--[a-z][a-z-]*(=[\x20-\x7e]*)?")
_OURS = frozenset(
    {"comment", "no-requeue", "requeue", "output", "error", "chdir", "parsable", "wrap", "uid"}
)
_WORD = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class SlurmTable(Values):
    def read(self, table: dict[str, Any], key: str) -> dict[str, Any]:
        """The values of SlurmConfig that the table gives."""
        if "shared" not in table:
            raise self._wrong(
                f"{key}.shared",
                None,
                Text(
                    "name a folder that all Slurm nodes see under the same path",
                    "请写一个 Slurm 所有节点都能以同一路径看到的目录",
                ),
            )
        found: dict[str, Any] = {}
        for name in ("shared", "bin", "conf", "python", "container_program"):
            if name in table:
                found[name] = self._absolute(f"{key}.{name}", table[name])
        if "slurmrestd" in table:
            found["slurmrestd"] = self._socket(f"{key}.slurmrestd", table["slurmrestd"])
        if "path" in table:
            folders = self._text(f"{key}.path", table["path"]).split(":")
            found["path"] = ":".join(self._absolute(f"{key}.path", each) for each in folders)
        for name in ("partitions", "models"):
            if name in table:
                found[name] = self._words(f"{key}.{name}", table[name])
        for name in ("cycle", "lost_after", "deadline"):
            if name in table:
                found[name] = self._number(f"{key}.{name}", table[name])
        if "containers" in table:
            found["runtime"] = self._runtime(f"{key}.containers", table["containers"])
        if "container_program" in found and found.get("runtime", "auto") in ("auto", "off"):
            which = Text("needs containers to name the runtime", "请用 containers 指明运行时")
            raise self._wrong(f"{key}.container_program", found["container_program"], which)
        if "options" in table:
            found["options"] = self._options(f"{key}.options", table["options"])
        return found

    def _runtime(self, key: str, value: Any) -> str:
        if value not in _RUNTIMES:
            listed = ", ".join(_RUNTIMES)
            raise self._wrong(key, value, Text(f"must be one of {listed}", f"可用的有：{listed}"))
        return str(value)

    def _absolute(self, key: str, value: Any) -> str:
        path = self._text(key, value)
        if not path.startswith("/") or os.path.normpath(path) != path or not path.isprintable():
            raise self._wrong(key, value, Text("must be an absolute path", "请写绝对路径"))
        return path

    def _socket(self, key: str, value: Any) -> str:
        scheme, _, path = self._text(key, value).partition(":")
        if scheme != "unix" or not path.startswith("/"):
            only = Text(
                'must be a socket of this machine, as in "unix:/run/slurmrestd.socket"; Danlu does '
                "not ask slurmrestd over the network",
                '请写本机的套接字，例如 "unix:/run/slurmrestd.socket"；'
                "Danlu 不通过网络访问 slurmrestd",
            )
            raise self._wrong(key, value, only)
        return f"unix:{self._absolute(key, path)}"

    def _words(self, key: str, value: Any) -> dict[str, str]:
        good = isinstance(value, dict) and all(
            isinstance(word, str) and _WORD.fullmatch(word) for word in value.values()
        )
        if not good:
            raise self._wrong(
                key,
                value,
                Text('must be a table of words: { train = "gpu" }', '请写成 { train = "gpu" }'),
            )
        return dict(value)

    def _options(self, key: str, value: Any) -> tuple[str, ...]:
        options = self._texts(key, value) if value != [] else []
        for option in options:
            name = option[2:].partition("=")[0]
            if not _OPTION.fullmatch(option) or name in _OURS:
                raise self._wrong(
                    key,
                    option,
                    Text(
                        'write long options of sbatch, as in ["--account=lab", "--qos=high"]; '
                        f"not {', '.join(sorted(_OURS))}",
                        '请写 sbatch 的长选项，例如 ["--account=lab", "--qos=high"]；'
                        f"不能是 {', '.join(sorted(_OURS))}",
                    ),
                )
        return tuple(options)


def slurm_config(
    values: dict[str, Any], data: Path, log_cap: int | None, identities: bool
) -> SlurmConfig:
    from danlu.engines.slurm.config import SlurmConfig

    own = dict(values)
    shared = Path(own.pop("shared"))
    return SlurmConfig(data, shared, log_cap=log_cap, identities=identities, **own)
