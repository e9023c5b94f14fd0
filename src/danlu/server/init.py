"""`danlu init`: looks at the machine, asks a few questions, writes danlu.toml."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from danlu.engines.local import gpus
from danlu.engines.local.config import machine_cpus, machine_memory
from danlu.server.check import LOW_DISK
from danlu.server.settings import ConfigError, default_data, load, usual_file
from danlu.server.words import say
from danlu.spec.text import Text, counted
from danlu.spec.units import format_size

_ROOMY = 4  # another disk is proposed if it has so many times the usual one's space
_DISKS = ("ext2/ext3/ext4", "ext4", "xfs", "btrfs", "zfs", "nfs", "nfs4", "lustre")
_TRIES = 5  # answers to one question

T = TypeVar("T")


@dataclass(slots=True)
class Answers:
    data: Path
    network: bool = False
    port: int = 8080
    sign_up: str = "request"
    circle_of_trust: bool = False
    shared: Path | None = None
    pretended: tuple[str, int] | None = None  # GPUs, on a machine that has none


class Stopped(Exception):
    """The person left."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="danlu init")
    parser.add_argument("--config")
    parser.add_argument("--data")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(argv)
    file = Path(options.config) if options.config else usual_file()
    if file.exists() and not (options.force or options.dry_run):
        return _fail(
            Text(
                f"{file} already exists; --force replaces it and keeps the old one beside it",
                f"{file} 已存在；--force 会替换它，旧文件保留在旁边",
            )
        )
    _tell(_machine())
    answers = Answers(Path(options.data).absolute() if options.data else _proposed_data())
    try:
        if not options.yes and sys.stdin.isatty():
            Interview(answers, named=options.data is not None).hold()
        text = written(answers)
        if options.dry_run:
            print(text, end="")
            return 0
        _put(file, text)
    except Stopped:
        return _fail(Text("Nothing was written", "没有写入任何文件"))
    except ConfigError as error:
        return _fail(error.message)
    except OSError as error:
        return _fail(Text(f"Cannot write {file}: {error}", f"无法写入 {file}：{error}"))
    named = "" if file == usual_file() else f" --config {file}"
    _tell(
        Text(
            f"Wrote {file}. Next: danlu check{named}, then danlu up{named}",
            f"已写入 {file}。接下来：danlu check{named}，然后 danlu up{named}",
        )
    )
    return 0


class Interview:
    """The questions; an empty answer takes what is proposed."""

    def __init__(self, answers: Answers, named: bool) -> None:
        self._answers = answers
        self._named = named

    def hold(self) -> None:
        answers = self._answers
        if not self._named:
            answers.data = self._ask(
                Text("Data folder (database, logs, homes)", "数据目录（数据库、日志、用户目录）"),
                str(answers.data),
                _folder,
            )
        answers.network = self._yes(
            Text("Reachable from other machines?", "允许其他机器访问？"), False
        )
        if answers.network:
            answers.port = self._ask(Text("Port", "端口"), str(answers.port), _port)
            answers.sign_up = self._ask(
                Text(
                    "How people get an account: request (an admin approves), invite, off",
                    "如何获得账号：request（管理员批准）、invite（邀请码）、off（关闭）",
                ),
                answers.sign_up,
                _sign_up,
            )
            if os.geteuid() != 0:
                answers.circle_of_trust = self._yes(
                    Text(
                        "Without root all tasks run as you. Do all users trust each other?",
                        "没有 root 时所有任务都以你的身份运行。所有用户彼此信任吗？",
                    ),
                    False,
                )
        answers.shared = self._ask(
            Text(
                "A folder all tasks should see as /mnt/shared (empty: none)",
                "所有任务都能以 /mnt/shared 看到的目录（留空：没有）",
            ),
            "",
            _shared,
        )
        if not gpus.detect():
            answers.pretended = self._ask(
                Text(
                    "No GPU found. Declare some to try the scheduler? For example 4:A100 (empty: "
                    "none)",
                    "没有找到显卡。要声明几张虚拟的卡来试用调度吗？例如 4:A100（留空：没有）",
                ),
                "",
                _pretended,
            )

    def _yes(self, question: Text, usual: bool) -> bool:
        return self._ask(question, "y" if usual else "n", _boolean)

    def _ask(self, question: Text, usual: str, read: Callable[[str], T]) -> T:
        for _ in range(_TRIES):
            try:
                given = input(f"{say(question)} [{usual}] ").strip()
            except (EOFError, KeyboardInterrupt):
                print()
                raise Stopped from None
            try:
                return read(given or usual)
            except ValueError as wrong:
                print(f"  {wrong}")
        raise Stopped


def _folder(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError(say(Text("use an absolute path", "请写绝对路径")))
    if path.exists() and not path.is_dir():
        raise ValueError(say(Text("that is not a folder", "这不是目录")))
    return path


def _shared(text: str) -> Path | None:
    if not text:
        return None
    path = _folder(text)
    if not path.is_dir():
        raise ValueError(say(Text("there is no such folder", "没有这个目录")))
    return path


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise ValueError(say(Text("use a number from 1 to 65535", "请写 1 到 65535 的数")))
    return int(text)


def _sign_up(text: str) -> str:
    if text not in ("request", "invite", "off"):
        raise ValueError(say(Text("use request, invite or off", "请写 request、invite 或 off")))
    return text


def _boolean(text: str) -> bool:
    if text.lower() not in ("y", "yes", "n", "no", "是", "否"):
        raise ValueError(say(Text("use y or n", "请写 y 或 n")))
    return text.lower() in ("y", "yes", "是")


def _pretended(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    count, colon, model = text.partition(":")
    if not (count.isdigit() and 0 < int(count) <= 64 and colon and model.strip().isprintable()):
        raise ValueError(say(Text("use a number and a model: 4:A100", "请写数量和型号：4:A100")))
    return model.strip(), int(count)


def written(answers: Answers) -> str:
    """danlu.toml, with a word on every key."""
    parts = [
        f"# {say(Text('All keys: docs/admin.md', '全部设置见 docs/admin.zh.md'))}",
        f"data = {_quoted(str(answers.data))}",
        "",
        "[server]",
        f"listen = [{_quoted(f'0.0.0.0:{answers.port}' if answers.network else '127.0.0.1')}]",
        f"sign_up = {_quoted(answers.sign_up)}",
    ]
    if answers.circle_of_trust:
        parts.append("circle_of_trust = true")
    if answers.shared is not None:
        parts += ["", "[volumes.shared]", f"source = {_quoted(str(answers.shared))}"]
    if answers.pretended is not None:
        model, count = answers.pretended
        note = Text("These GPUs do not exist", "这些卡并不存在")
        parts += ["", f"# {say(note)}", "[[nodes]]", 'name = "n1"']
        parts.append(f"gpus = {_quoted(f'{count}:{model}')}")
    return "\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is one of JSON


def _put(file: Path, text: str) -> None:
    """Only a file that can be read is put in place; one that was there is kept beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        load(Path(temporary))
        if file.exists():
            os.replace(file, file.with_name(f"{file.name}.old"))
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def _machine() -> Text:
    found = Counter(gpu.model for gpu in gpus.detect())
    models = ", ".join(f"{count} x {model}" for model, count in found.items())
    cpus, memory = machine_cpus(), format_size(machine_memory())
    runtimes = [name for name in ("docker", "podman") if shutil.which(name)]
    listed = ", ".join(runtimes)
    return Text(
        f"This machine: {counted(cpus, 'CPU')}, {memory} memory, "
        f"{models or 'no GPU'}, {listed or 'no container runtime'}, "
        f"{'root' if os.geteuid() == 0 else 'without root'}",
        f"本机：{cpus:g} 个 CPU，{memory} 内存，{models or '没有显卡'}，"
        f"{listed or '没有容器运行时'}，{'root' if os.geteuid() == 0 else '没有 root 权限'}",
    )


def _proposed_data() -> Path:
    """The usual folder, unless another disk has far more room."""
    usual = default_data()
    here = _free(usual)
    mounts = [(_free(path), path) for path in _mounts()]
    most, path = max(mounts, default=(0, usual))
    if here < LOW_DISK or most > _ROOMY * here:
        return path / "danlu" if most > here else usual
    return usual


def _mounts() -> list[Path]:
    """Disks that can be written to; not the root of the system."""
    found = []
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, where, kind, options, *_ = line.split()
        path = Path(where.encode().decode("unicode_escape"))
        own = path == Path("/") or path.parts[1] in ("boot", "etc", "run", "proc")
        usable = kind in _DISKS and "rw" in options.split(",") and not own
        if usable and path.is_dir() and os.access(path, os.W_OK):
            found.append(path)
    return found


def _free(path: Path) -> int:
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return 0


def _tell(text: Text) -> None:
    print(say(text), file=sys.stderr)


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
