"""Whether a job's tools (JupyterLab and others) can be had, before it is queued."""

from __future__ import annotations

from danlu.control.engines import EngineStatus
from danlu.engines.api import Tools
from danlu.spec.errors import NO_VALUE, Finding
from danlu.spec.job import JobSpec, RunAs
from danlu.spec.text import Text


def tools_findings(spec: JobSpec, status: EngineStatus) -> list[Finding]:
    wanted = {role.image is not None for role in spec.roles if role.command.run_as is RunAs.TOOL}
    if not wanted or not status.met:
        return []  # its features are unknown until it is back
    engine = status.engine
    if not isinstance(engine, Tools):
        message = Text(
            "needs a command: this engine has no JupyterLab, VS Code or TensorBoard",
            "需要命令：本引擎没有 JupyterLab、VS Code 和 TensorBoard",
        )
        return [Finding(("tool",), NO_VALUE, message)]
    problems = [engine.tools_problem(image) for image in sorted(wanted)]
    return [Finding(("tool",), NO_VALUE, found) for found in problems if found is not None]
