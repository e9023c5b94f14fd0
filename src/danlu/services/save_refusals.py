"""Why a container is not saved as an image, and how far it is."""

from __future__ import annotations

from danlu.access.errors import Clash, Unfit
from danlu.engines.api import SaveProgress
from danlu.spec.text import Text
from danlu.spec.units import format_size
from danlu.store.rows import JobRow

ENDING = Text("Ending its command", "正在结束它的命令")
QUOTA = Text("the quota of images", "镜像配额")
REGISTRY_DISK = Text("the registry's disk", "镜像仓库的磁盘")
INTERRUPTED = Text(
    "The server was restarted meanwhile, and nothing was saved; save it again",
    "保存期间服务器重启，未能保存；请重新保存",
)
UNEXPECTED = Text(
    "An unexpected error (see the server's log); nothing was saved",
    "发生意外错误，详见服务器日志；未保存任何内容",
)
KEPT = Text(
    ". Its container is kept for an hour: save it again until then",
    "。它的容器会保留一小时：在此之前可以重新保存",
)
DOES_NOT_END = Text(
    "Its command does not end, so it was not saved",
    "它的命令没有结束，因此未保存",
)


def on_node(where: str) -> Text:
    return Text(f"the disk with {where}", f"{where} 所在磁盘")


def no_room(changed: int, room: int, what: Text) -> Text:
    size, left = format_size(changed), format_size(room)
    return Text(
        f"Not enough space: its changes to the image take {size}, and {what.en} has {left} left "
        "for images. Remove what you do not need, move data to a volume, or delete old images",
        f"空间不够：它相对镜像改动了 {size}，而{what.zh}只剩 {left} 可用于镜像。请删除不需要保留的"
        "内容、把数据移到存储卷，或删除旧镜像",
    )


def not_running(job: JobRow) -> Clash:
    return Clash(
        "not_running",
        Text(
            f"{job.ref} is not running, so there is no container to save",
            f"{job.ref} 没有在运行，没有可保存的容器",
        ),
    )


def no_task(job: JobRow, task: int, count: int) -> Unfit:
    return Unfit(
        "task",
        Text(
            f"{job.ref} has tasks 0 to {count - 1}, not {task}",
            f"{job.ref} 的子任务编号为 0 到 {count - 1}，没有 {task}",
        ),
    )


def no_image(job: JobRow) -> Clash:
    return Clash(
        "no_image",
        Text(
            f"{job.ref} runs without an image, so there is none to save; its files are in its "
            "volumes",
            f"{job.ref} 没有使用镜像，没有可保存的内容；它的文件都在存储卷里",
        ),
    )


def words_of(image: str, now: SaveProgress) -> Text:
    done, total = format_size(now.done), format_size(now.total)
    if now.base:
        text = Text("Sending the image below to the registry", "正在把基础镜像送往仓库")
        return text + Text(f": {done} of {total}", f"：{total} 中的 {done}") if now.total else text
    return Text(
        f"Saving as image {image}: {done} of {total}",
        f"正在保存为镜像 {image}：{total} 中的 {done}",
    )
