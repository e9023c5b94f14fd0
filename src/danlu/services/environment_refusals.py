"""Why something cannot be done to an environment."""

from __future__ import annotations

from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit
from danlu.control.live_job import LiveJob
from danlu.spec.text import Text
from danlu.spec.units import format_duration
from danlu.store.rows import EnvironmentRow


def too_long(row: EnvironmentRow, by: float, most: float, ruled: bool) -> Unfit:
    """`ruled`: by the admin, for every job."""
    asked, longest = format_duration(by), format_duration(most)
    en = f"{asked} is too long; {row.name} may run for at most {longest} from now on"
    zh = f"{asked} 过长；{row.name} 从现在起最多再运行 {longest}"
    if not ruled:
        en += f". To change its time limit: danlu env change {row.name} --time TIME"
        zh += f"。要换一个时间上限，请用 danlu env change {row.name} --time 时间"
    return Unfit("by", Text(en, zh))


def not_yours(row: EnvironmentRow) -> NotAllowed:
    return NotAllowed(
        Text(
            f"Only {row.owner} or an admin may do this to {row.ref}",
            f"只有 {row.owner} 或管理员可以对 {row.ref} 执行此操作",
        )
    )


def only_its_owner(row: EnvironmentRow) -> NotAllowed:
    return NotAllowed(
        Text(
            f"Only {row.owner} may share {row.ref}: whoever enters has all files of {row.owner}",
            f"只有 {row.owner} 可以共享 {row.ref}：进入的人可以读写 {row.owner} 的所有文件",
        )
    )


def gone(row: EnvironmentRow) -> NotThere:
    return NotThere(Text(f"environment {row.ref}", f"环境 {row.ref}"))


def id_taken(id: str) -> Clash:
    return Clash(
        "id_taken",
        Text(
            f"The id {id} belongs to another environment; leave it out, or make a new one",
            f"编号 {id} 属于另一个环境；请不写编号，或换一个新的",
        ),
    )


def restart_needed(row: EnvironmentRow, live: LiveJob) -> Clash:
    return Clash(
        "restart_needed",
        Text(
            f"{row.name} is {live.row.state.value}: this change stops it and starts it again. "
            "Files in your folders stay; running programs, and changes to the container outside "
            "your folders, do not. Confirm with restart",
            f"{row.name} 正在使用：此修改会停止并重新启动它。你目录中的文件会保留；正在运行的程序、"
            "以及容器中你的目录以外的改动不会保留。请用 restart 确认",
        ),
    )


def only_owner_starts(row: EnvironmentRow) -> NotAllowed:
    return NotAllowed(
        Text(
            f"Only {row.owner} may start {row.ref}: it counts towards their quota",
            f"只有 {row.owner} 可以启动 {row.ref}：它计入其配额",
        )
    )


def name_taken(name: str) -> Clash:
    return Clash(
        "name_taken",
        Text(
            f"You already have an environment {name}; start it with danlu env start {name}, or "
            "choose another name",
            f"你已有环境 {name}；用 danlu env start {name} 启动，或换一个名称",
        ),
    )
