"""What can go wrong with files, in both languages."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping
from typing import Any

from danlu.access.errors import AccessError
from danlu.spec.text import Text

log = logging.getLogger("danlu.files")
_SHOWN = 300  # characters of a path in a message

_WORDS: dict[str, tuple[int, Text]] = {
    "not_found": (404, Text("There is no {path}", "没有 {path}")),
    "no_volume": (
        404,
        Text(
            "There is no {path} here. What you may open begins with one of: {detail} (danlu ls / "
            "shows them)",
            "这里没有 {path}。你可以打开的目录：{detail}（danlu ls / 可列出）",
        ),
    ),
    "no_parent": (
        404,
        Text(
            "There is no folder {path}; danlu mkdir -p makes it as well",
            "没有目录 {path}；danlu mkdir -p 会一并创建",
        ),
    ),
    "no_permission": (
        403,
        Text(
            "You have no permission for {path}: its owner and mode do not allow it",
            "没有访问 {path} 的权限：它的所有者和权限位不允许",
        ),
    ),
    "not_a_folder": (409, Text("{path} is not a folder", "{path} 不是目录")),
    "is_a_folder": (409, Text("{path} is a folder", "{path} 是目录")),
    "is_a_volume": (
        409,
        Text(
            "{path} is a whole volume; choose something in it",
            "{path} 是整个存储卷；请选择其中的内容",
        ),
    ),
    "not_a_file": (
        409,
        Text(
            "{path} is not a regular file: devices, pipes and sockets are skipped",
            "{path} 不是普通文件：设备、管道和套接字不作处理",
        ),
    ),
    "exists": (
        409,
        Text(
            "{path} already exists; choose another name, or let it be overwritten or keep both",
            "{path} 已存在；请换一个名称，或选择覆盖或同时保留",
        ),
    ),
    "leads_out": (
        403,
        Text(
            "{path} leads out of its volume by a symbolic link, or is nested too deeply",
            "{path} 通过符号链接指向存储卷之外，或嵌套过深",
        ),
    ),
    "link_leads_out": (
        403,
        Text(
            "{path} was left out: it is a link to {detail}, outside the folder being copied; copy "
            "its target separately if you need it",
            "已略过 {path}：它是指向 {detail} 的链接，目标在所复制的目录之外；"
            "如有需要请单独复制其目标",
        ),
    ),
    "no_room": (
        413,
        Text(
            "There is not enough space for {path}; delete something (danlu du shows what is large) "
            "and try again",
            "{path} 所在位置空间不足；请清理后重试（danlu du 可查看占用）",
        ),
    ),
    "over_quota": (
        413,
        Text(
            "{path} would exceed the quota ({detail}). Delete something (danlu du shows what is "
            "large; the bin counts, too: danlu bin empty), or ask an admin for more",
            "{path} 超出配额（{detail}）。请清理后重试（danlu du 可查看占用；回收站里的内容也计入，"
            "可用 danlu bin empty 清空），或请管理员调高配额",
        ),
    ),
    "home_full": (
        409,
        Text(
            "Your folder is over its quota ({detail}), so no new job is started; running jobs and "
            "environments continue. Delete something (danlu du, danlu bin empty), or ask an admin "
            "for more",
            "你的目录已超出配额（{detail}），因此不再启动新任务；运行中的任务和环境不受影响。"
            "请清理（danlu du、danlu bin empty），或请管理员调高配额",
        ),
    ),
    "read_only_volume": (
        403,
        Text("{path} is in a read-only volume", "{path} 所在的存储卷是只读的"),
    ),
    "name_too_long": (
        422,
        Text(
            "The name of {path} is too long: at most 255 bytes",
            "{path} 的名称过长：最多 255 字节",
        ),
    ),
    "bad_name": (
        422,
        Text(
            "{path} cannot be used: names must not be '..', nor begin with .danlu-, nor contain a "
            "zero byte",
            "不能使用 {path}：名称不能是 '..'，不能以 .danlu- 开头，也不能包含零字节",
        ),
    ),
    "into_itself": (
        409,
        Text(
            "{path} cannot be put into or onto itself",
            "不能把 {path} 放到它自己里面或覆盖它自己",
        ),
    ),
    "no_bin": (
        409,
        Text(
            "{path} cannot go to the bin: you cannot write in the top folder of its volume. Delete "
            "it for good instead (danlu rm --forever)",
            "{path} 无法移入回收站：你不能写入所在存储卷的顶层目录。可以改为彻底删除"
            "（danlu rm --forever）",
        ),
    ),
    "volume_away": (
        503,
        Text(
            "The storage of {path} does not answer; try again later, or tell the admin",
            "{path} 所在的存储没有响应；请稍后重试，或联系管理员",
        ),
    ),
    "volume_elsewhere": (
        404,
        Text(
            "{path} is not on the server's machine; open it from a task on its nodes",
            "{path} 不在服务器这台机器上；请在其节点上的任务中打开",
        ),
    ),
    "no_home": (
        409,
        Text(
            "Your folder cannot be opened: {detail}",
            "无法打开你的目录：{detail}",
        ),
    ),
    "interrupted": (
        503,
        Text(
            "The process that works on your files was ended; try again",
            "处理你的文件的进程被终止；请重试",
        ),
    ),
    "too_busy": (
        503,
        Text(
            "Too many file operations at once, or the folder is too large; try again",
            "同时进行的文件操作过多，或目录过大；请稍后重试",
        ),
    ),
    "too_long": (
        503,
        Text("{path} takes too long; try a smaller folder", "{path} 耗时过长；请选择较小的目录"),
    ),
    "too_many_entries": (
        413,
        Text(
            "{path} has too many files for one archive; use danlu cp -r, rsync or a job",
            "{path} 中的文件过多，无法打成一个包；请用 danlu cp -r、rsync 或任务处理",
        ),
    ),
    "too_large_to_zip": (
        413,
        Text(
            "{path} is too large for a zip; download it as tar, which can be resumed",
            "{path} 过大，不能打成 zip；请下载 tar，可断点续传",
        ),
    ),
    "bad_bundle": (
        422,
        Text(
            "The uploaded bundle for {path} is not a tar file ({detail})",
            "上传到 {path} 的包不是 tar 文件（{detail}）",
        ),
    ),
    "changed": (
        409,
        Text(
            "{path} has changed while it was being read; try again",
            "{path} 在读取过程中被修改；请重试",
        ),
    ),
    "busy": (
        423,
        Text(
            "This upload is being written to by another request; try again",
            "该上传正由另一个请求写入；请稍后重试",
        ),
    ),
    "offset": (
        409,
        Text(
            "The upload continues at byte {detail}",
            "该上传应从第 {detail} 字节继续",
        ),
    ),
    "checksum": (
        460,
        Text(
            "The checksum does not match; send this piece again",
            "校验和不一致；请重新发送这一段",
        ),
    ),
    "too_much": (
        413,
        Text(
            "More bytes were sent than Upload-Length says",
            "发送的字节超过了 Upload-Length",
        ),
    ),
    "failed": (500, Text("{path}: {detail}", "{path}：{detail}")),
}


class FileFault(AccessError):
    def __init__(self, code: str, path: str = "", detail: str = "") -> None:
        status, words = _WORDS.get(code, _WORDS["failed"])
        shown = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}..."
        super().__init__(code, words.format({"path": shown, "detail": detail[:_SHOWN]}))
        self.status = status
        self.detail = detail


def fault(values: Mapping[str, Any]) -> FileFault:
    """From what a helper says, which is not to be trusted."""
    code, path, detail = (str(values.get(key, "")) for key in ("error", "path", "detail"))
    if code not in _WORDS or code == "failed":
        log.warning("a file helper failed: %.300s", detail)
        code = "failed"
    return FileFault(code, path, detail)


def root_fault(error: OSError, path: str) -> FileFault:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FileFault("volume_elsewhere", path)
    away = error.errno in (errno.ESTALE, errno.EIO, errno.ETIMEDOUT, errno.EHOSTDOWN)
    return FileFault("volume_away" if away else "no_permission", path)
