"""`danlu up --install-service`: the systemd unit that starts the server with the machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from danlu.server.words import say
from danlu.spec.text import Text

NAME = "danlu.service"


def install(words: list[str], dry_run: bool) -> int:
    """Writes the unit, enables it and starts it; as root for all, else for this user."""
    system = os.geteuid() == 0
    text, file = unit(words, system), _file(system)
    if dry_run:
        print(f"# {file}\n{text}", end="")
        return 0
    if shutil.which("systemctl") is None:
        return _fail(
            Text(
                "There is no systemctl here; --dry-run prints the unit",
                "本机没有 systemctl；--dry-run 可输出服务单元",
            )
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    except OSError as error:
        return _fail(Text(f"Cannot write {file}: {error}", f"无法写入 {file}：{error}"))
    manager = ["systemctl"] if system else ["systemctl", "--user"]
    for verbs in (["daemon-reload"], ["enable", "--now", NAME]):
        done = subprocess.run([*manager, *verbs], capture_output=True, text=True, check=False)
        if done.returncode:
            command = shlex.join([*manager, *verbs])
            return _fail(
                Text(
                    f"Wrote {file}, but {command} failed: {done.stderr.strip()}",
                    f"已写入 {file}，但 {command} 失败：{done.stderr.strip()}",
                )
            )
    journal = f"journalctl {'' if system else '--user '}-u danlu"
    print(
        say(
            Text(
                f"Installed {file} and started it; its log: {journal}",
                f"已安装 {file} 并启动；日志：{journal}",
            )
        )
    )
    if not system:
        linger = "loginctl enable-linger"
        print(
            say(
                Text(
                    f"To keep it running when you log out: {linger}",
                    f"若要在退出登录后继续运行：{linger}",
                )
            )
        )
    return 0


def unit(words: list[str], system: bool) -> str:
    """`words`: the options of `danlu up` to start it with."""
    command = " ".join(_escaped(word) for word in (sys.executable, "-m", "danlu.cli", "up", *words))
    # Without root, systemd refuses to restart a delegated unit while tasks are still in it.
    delegate = "Delegate=yes\n" if system else ""
    target = "multi-user.target" if system else "default.target"
    return (
        "[Unit]\n"
        "Description=Danlu\n"
        "Wants=network-online.target\n"
        "After=network-online.target\n"
        "\n"
        "[Service]\n"
        f"ExecStart={command}\n"
        f"Environment={_escaped('PATH=' + _path(system), '%')}\n"
        f"{delegate}"
        "# Tasks outlive the server.\n"
        "KillMode=process\n"
        "Restart=on-failure\n"
        "RestartSec=5\n"
        "TasksMax=infinity\n"
        "LimitNOFILE=65536\n"
        "\n"
        "[Install]\n"
        f"WantedBy={target}\n"
    )


def _file(system: bool) -> Path:
    if system:
        return Path("/etc/systemd/system") / NAME
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "systemd" / "user" / NAME


def _path(system: bool) -> str:
    """The caller's, which tasks inherit, without Danlu's own programs and, as root, root's."""
    hidden = {os.path.dirname(sys.executable)}
    home = os.path.expanduser("~/") if system else ""
    found = [part for part in os.environ.get("PATH", os.defpath).split(":") if part]
    kept = [part for part in found if part not in hidden and not (home and part.startswith(home))]
    return ":".join(dict.fromkeys(kept)) or os.defpath


def _escaped(word: str, doubled: str = "%$") -> str:
    """A word of a unit file: quoted, with systemd's own signs doubled."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    for sign in doubled:
        plain = plain.replace(sign, sign * 2)
    return f'"{plain}"' if plain != word or any(c in " \t;'" for c in word) else word


def _fail(message: Text) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return 2
