"""How each tool is started. All of them listen on sockets in the task's own folder only."""

from __future__ import annotations

import contextlib
import os
import sys

from danlu.inside import strip
from danlu.inside.program import Program
from danlu.inside.words import Trouble

_HERE = os.path.dirname(os.path.abspath(__file__))
_RUN_PY = os.path.join(_HERE, "run.py")
_SOCKET_MODE = "0600"
# Set by images that start Jupyter themselves, on a port.
_NOT_FOR_LAB = ("JUPYTER_PORT", "JUPYTER_PORT_RETRIES", "JUPYTER_TOKEN", "JUPYTER_IP")


class Place:
    """Where the tools are, and the task's own folder."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.run = env["DANLU_RUN"]
        self.tools = env["DANLU_TOOLS"]

    def socket(self, name: str) -> str:
        return f"{self.run}/{name}.sock"


def lab(place: Place) -> Program:
    folder = os.getcwd()
    # Everything the task sees; but Jupyter shows nothing below a hidden folder.
    root = folder if "/." in folder else "/"
    socket = place.socket("lab")
    env = {name: value for name, value in place.env.items() if name not in _NOT_FOR_LAB}
    # The home is shared by all environments, and this is not.
    env["JUPYTER_RUNTIME_DIR"] = f"{place.run}/jupyter"
    extensions = f"{place.run}/lab-extensions"
    strip.put("lab", f"{extensions}/danlu-strip", "static/strip.js")
    words = [
        *_ours("lab"),
        f"--ServerApp.sock={socket}",
        f"--ServerApp.sock_mode={_SOCKET_MODE}",
        "--ServerApp.open_browser=False",
        "--ServerApp.allow_root=True",
        "--ServerApp.allow_remote_access=True",
        "--ServerApp.quit_button=False",
        f"--ServerApp.root_dir={root}",
        f"--FileContentsManager.preferred_dir={folder[len(root) :]}",
        "--IdentityProvider.token=",  # who gets here was let in by Danlu
        "--KernelManager.transport=ipc",
        "--FileContentsManager.delete_to_trash=False",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
        "--LabApp.extension_manager=readonly",
        f"--LabApp.extra_labextensions_path={extensions}",
        "--Application.log_level=ERROR",
    ]
    return Program("lab", words, env, socket, "/api")


def code(place: Place) -> Program:
    node = f"{place.tools}/node/bin/node"
    editor = f"{place.tools}/code/node_modules/code-server"
    entry = f"{editor}/out/node/entry.js"
    if not (os.path.exists(node) and os.path.exists(entry)):
        raise Trouble(
            "VS Code is not among the tools of this machine; the admin gets it with `danlu tools "
            "build`, or from a file: `danlu tools install FILE`",
            "本机的工具中没有 VS Code；管理员可用 `danlu tools build` 构建，"
            "或从文件安装：`danlu tools install 文件`",
        )
    socket = place.socket("code")
    words = [
        *(node, entry, "--auth", "none", "--socket", socket, "--socket-mode", _SOCKET_MODE[1:]),
        *("--session-socket", place.socket("code-session"), "--config", f"{place.run}/code.yaml"),
        *("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
        *("--builtin-extensions-dir", _extensions(place, f"{editor}/lib/vscode/extensions")),
        *("--disable-getting-started-override", os.getcwd()),
    ]
    return Program("code", words, place.env, socket, "/healthz")


def _extensions(place: Place, own: str) -> str:
    """A folder with VS Code's own and the strip: its own cannot be written to."""
    folder = f"{place.run}/code-extensions"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in os.listdir(own):
        with contextlib.suppress(FileExistsError):
            os.symlink(f"{own}/{name}", f"{folder}/{name}")
    strip.put("code", f"{folder}/danlu-strip", "strip.js")
    return folder


def tensorboard(place: Place, folders: list[str]) -> Program:
    socket = place.socket("tensorboard")
    words = [*_ours("tensorboard-server"), socket, f"{place.run}/tensorboard", *folders]
    # It writes where it can be found to a folder that is everybody's.
    return Program(
        "tensorboard", words, {**place.env, "TMPDIR": place.run}, socket, "/data/environment"
    )


def _ours(name: str) -> list[str]:
    return [sys.executable, "-I", _RUN_PY, name]
