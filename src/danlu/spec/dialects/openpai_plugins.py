"""Runtime plugins of OpenPAI v2: commands before and after those of a role."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys, as_text_list
from danlu.spec.errors import Path
from danlu.spec.text import Text

KNOWN = ("ssh", "tensorboard", "teamwise_storage", "cmd", "git", "image_checker")
_PREFIX = "com.microsoft.pai.runtimeplugin."
TENSORBOARD_PORT = "tensorBoardPort"


@dataclass(slots=True)
class Around:
    """Shell text around the commands of one role."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)  # run if the commands succeeded
    ports: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)

    def wrap(self, commands: str) -> str:
        """Plugins start in order and end in reverse."""
        text = "\n".join([*self.before, commands])
        if not self.after:
            return text
        after = "\n".join(reversed(self.after))
        # A bare `exit` inside must not skip what runs after success.
        return f"(\n{text}\n) || exit $?\n{after}"


class Plugins:
    def __init__(self, draft: Draft, roles: list[str]) -> None:
        self._draft = draft
        self._roles = roles
        self.around: dict[str, Around] = {role: Around() for role in roles}

    def add_all(self, plugins: list[Any], path: Path) -> None:
        for index, values in enumerate(plugins):
            place = (*path, index)
            if not isinstance(values, Mapping):
                self._draft.refuse(place, values, Text("is not a plugin", "不是插件"))
                continue
            self._add(Keys(self._draft, values, place))

    def add(self, name: str, values: Mapping[str, Any], path: Path, roles: list[str]) -> None:
        """A plugin among the prerequisites."""
        keys = Keys(self._draft, values, path)
        keys.taken |= values.keys() - {"callbacks", "failurePolicy"}
        self._run(name, keys, keys, roles)

    def _add(self, keys: Keys) -> None:
        draft = self._draft
        if not keys.required("plugin", Text("name the plugin", "请写插件名")):
            return
        name = keys.text("plugin") or ""
        roles = keys.read("taskroles", as_text_list) or self._roles
        for role in roles:
            if role not in self._roles:
                draft.refuse(
                    (*keys.path, "taskroles"),
                    role,
                    Text("is not a role of this job", "不是此任务的角色"),
                )
        parameters = Keys(draft, keys.mapping("parameters"), (*keys.path, "parameters"))
        self._run(name, keys, parameters, [role for role in roles if role in self._roles])
        keys.note_rest()

    def _run(self, name: str, keys: Keys, parameters: Keys, roles: list[str]) -> None:
        draft = self._draft
        plain = name.removeprefix(_PREFIX)
        ignore = keys.text("failurePolicy") == "ignore"
        match plain:
            case "ssh":
                self._ssh(parameters)
            case "tensorboard":
                self._tensorboard(parameters)
            case "teamwise_storage":
                self._storage(parameters, roles)
            case "cmd":
                self._cmd(parameters, roles, ignore)
            case "git":
                self._git(parameters, roles, ignore)
            case "image_checker":
                draft.note(keys.path, Text("images are checked by the platform", "镜像由平台检查"))
            case _:
                draft.refuse(
                    (*keys.path, "plugin"),
                    name,
                    Text(
                        f"is not a known plugin; available: {', '.join(KNOWN)}",
                        f"是未知的插件；可用：{'、'.join(KNOWN)}",
                    ),
                )

    def _ssh(self, parameters: Keys) -> None:
        for key in ("jobssh", "sshbarrier", "sshbarrierTimeout", "userssh"):
            parameters.raw(key)
        self._draft.note(
            parameters.path,
            Text(
                "tasks have no SSH server: enter one with danlu exec JOB --task N -- bash; tasks "
                "find each other through PAI_HOST_IP_* and PAI_PORT_LIST_*",
                "任务内不启动 SSH 服务：用 danlu exec 任务 --task N -- bash 进入；"
                "任务之间通过 PAI_HOST_IP_* 和 PAI_PORT_LIST_* 互相找到",
            ),
        )
        parameters.note_rest()

    def _tensorboard(self, parameters: Keys) -> None:
        draft = self._draft
        if not self._roles:
            return
        folders = parameters.mapping("logdir")
        if parameters.raw("port") is not None:
            draft.note(
                (*parameters.path, "port"),
                Text(
                    f"the port is leased and available as PORT_{TENSORBOARD_PORT.upper()} in the "
                    "task",
                    f"端口由平台分配；任务中为 PORT_{TENSORBOARD_PORT.upper()}",
                ),
            )
        where = ",".join(f"{name}:{path}" for name, path in folders.items())
        first = self.around[self._roles[0]]
        first.ports.append(TENSORBOARD_PORT)
        first.before.append(
            'if [ "$PAI_TASK_INDEX" = 0 ] && command -v tensorboard >/dev/null; then\n'
            f"  tensorboard --logdir={shlex.quote(where or '.')} --bind_all"
            f' --port="$PORT_{TENSORBOARD_PORT.upper()}" >/dev/null 2>&1 &\n'
            "fi"
        )
        draft.note(
            parameters.path,
            Text(
                "TensorBoard is started next to task 0 of the first role if the image has it",
                "镜像中有 TensorBoard 时，在第一个角色的 0 号任务旁启动",
            ),
        )
        parameters.note_rest()

    def _storage(self, parameters: Keys, roles: list[str]) -> None:
        names = parameters.read("storageConfigNames", as_text_list) or []
        for role in roles:
            self.around[role].volumes.extend(names)
        parameters.note_rest()

    def _cmd(self, parameters: Keys, roles: list[str], ignore: bool) -> None:
        path = (*parameters.path, "callbacks")
        for index, values in enumerate(parameters.items("callbacks")):
            place = (*path, index)
            if not isinstance(values, Mapping):
                self._draft.refuse(place, values, Text("is not a callback", "不是回调"))
                continue
            keys = Keys(self._draft, values, place)
            event = keys.text("event")
            commands = "\n".join(keys.read("commands", as_text_list) or [])
            if event not in ("taskStarts", "taskSucceeds"):
                self._draft.refuse(
                    (*place, "event"),
                    event,
                    Text(
                        "is not an event; use taskStarts or taskSucceeds",
                        "不是事件；请写 taskStarts 或 taskSucceeds",
                    ),
                )
                continue
            for role in roles if commands else ():
                around = self.around[role]
                chosen = around.before if event == "taskStarts" else around.after
                chosen.append(_guarded(commands, ignore))
        # Syntax of older versions of the plugin.
        for key in ("preCommands", "postCommands"):
            lines = "\n".join(parameters.read(key, as_text_list) or [])
            for role in roles if lines else ():
                around = self.around[role]
                chosen = around.before if key == "preCommands" else around.after
                chosen.append(_guarded(lines, ignore))
        parameters.note_rest()

    def _git(self, parameters: Keys, roles: list[str], ignore: bool) -> None:
        key = "repo" if parameters.has("repo") else "repo_uri"  # both appear in the manuals
        if not parameters.required(key, Text("write the repository", "请写仓库地址")):
            return
        uri = parameters.line(key) or ""
        options = parameters.read("options", as_text_list) or []
        folder = parameters.line("clone_dir")
        words = ["git", "clone", *options, uri, *([folder] if folder else [])]
        for role in roles:
            self.around[role].before.append(_guarded(shlex.join(words), ignore))
        parameters.note_rest()


def _guarded(commands: str, ignore: bool) -> str:
    return f"(\n{commands}\n) || true" if ignore else f"{{\n{commands}\n}} || exit $?"
