"""What a role runs: a command, a script or one of Danlu's own tools, but only one of them."""

from __future__ import annotations

from danlu.spec.errors import NO_VALUE, Finding, Path
from danlu.spec.job import Command, Files, Kind, Processes, RunAs, Tool
from danlu.spec.request import RoleRequest
from danlu.spec.text import Text


def command_of(
    request: RoleRequest, path: Path, kind: Kind | None
) -> tuple[Command | None, list[Finding]]:
    """And what contradicts it. None without findings: nothing says what to run."""
    findings = _several(request, path)
    args = request.args or ()
    if request.command is not None:
        if args:
            findings.append(_no_args(path, args))
        return request.command, findings
    if request.script is not None:
        return Command(RunAs.SCRIPT, (request.script, *args)), findings
    tool = request.tool
    if tool is None and kind is Kind.ENVIRONMENT:
        tool = Tool.ENVIRONMENT
    if tool is None:
        return None, findings
    if tool is Tool.ENVIRONMENT and args:
        findings.append(_no_args(path, args))
    if tool is Tool.TENSORBOARD:
        findings.extend(_folders(path, args))
    return Command(RunAs.TOOL, (tool.value, *args)), findings


def no_command(path: Path) -> Finding:
    return Finding(
        (*path, "command"),
        NO_VALUE,
        Text(
            "is missing; write what to run, e.g. command: python train.py, or script: ./start.sh",
            "缺少；请写要运行的内容，例如 command: python train.py，或 script: ./start.sh",
        ),
    )


def tool_findings(
    command: Command, request: RoleRequest, files: Files | None, path: Path
) -> list[Finding]:
    """A tool is one process, whose output goes to the log."""
    if command.run_as is not RunAs.TOOL:
        return []
    found: list[tuple[Path, object]] = []
    if request.processes not in (None, Processes.ONE):
        found.append(((*path, "processes"), request.processes.value))
    if files is not None:
        found.append((("files",), NO_VALUE))
    message = Text("needs a command or a script", "需要 command 或 script")
    return [Finding(where, value, message) for where, value in found]


def _several(request: RoleRequest, path: Path) -> list[Finding]:
    given = [key for key in ("command", "script", "tool") if getattr(request, key) is not None]
    return [
        Finding(
            (*path, key),
            NO_VALUE if key == "command" else str(getattr(request, key)),
            Text(
                f"cannot be combined with {given[0]}; keep one",
                f"与 {given[0]} 同时出现；请只保留一个",
            ),
        )
        for key in given[1:]
    ]


def _no_args(path: Path, args: tuple[str, ...]) -> Finding:
    return Finding(
        (*path, "args"),
        list(args),
        Text(
            "can only be used with script or tool: tensorboard; put them into command",
            "属于 script 或 tool: tensorboard；请写进 command",
        ),
    )


def _folders(path: Path, args: tuple[str, ...]) -> list[Finding]:
    wrong = [word for word in args if not word.startswith("/")] if args else [""]
    message = Text(
        "must name folders as the task sees them, e.g. args: [/userhome/logs]",
        "须写任务中看到的目录，例如 args: [/userhome/logs]",
    )
    return [Finding((*path, "args"), word or NO_VALUE, message) for word in wrong[:1]]
