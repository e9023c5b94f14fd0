"""The wording of the audit log: one line per action, in both languages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from danlu.access.principal import Asker
from danlu.spec.text import Text
from danlu.store import audit
from danlu.store.rows import AuditRow
from danlu.store.tx import Tx

NOBODY = "-"
"""The actor where nobody was signed in."""

_MOST_VALUES = 500  # characters
_KINDS_ZH = {"user": "用户", "group": "组"}

WORDS: dict[str, Text] = {
    "login": Text("{actor} signed in", "{actor} 登录"),
    "login.failed": Text("Sign-in as {thing} failed ({why})", "以 {thing} 登录失败（{why}）"),
    "login.throttled": Text(
        "{count} sign-ins were rejected without checking: too many attempts",
        "{count} 次登录因尝试过多被直接拒绝",
    ),
    "token.wrong": Text("{count} requests had an invalid token", "{count} 个请求的令牌无效"),
    "signup.throttled": Text(
        "{count} sign-ups were rejected without checking: too many attempts",
        "{count} 次注册因尝试过多被直接拒绝",
    ),
    "logout": Text("{actor} signed out", "{actor} 退出登录"),
    "sessions.ended": Text(
        "{actor} ended {count} other sessions", "{actor} 结束了其他 {count} 个会话"
    ),
    "password.changed": Text("{actor} changed their password", "{actor} 修改了密码"),
    "password.failed": Text(
        "{actor} entered a wrong current password",
        "{actor} 修改密码时原密码错误",
    ),
    "password.reset": Text(
        "{actor} set a one-time password for {thing}",
        "{actor} 为 {thing} 设置了一次性密码",
    ),
    "user.added": Text("{actor} added the account {thing}", "{actor} 添加了账号 {thing}"),
    "user.changed": Text("{actor} changed the account {thing}", "{actor} 修改了账号 {thing}"),
    "user.disabled": Text("{actor} disabled the account {thing}", "{actor} 停用了账号 {thing}"),
    "user.enabled": Text("{actor} enabled the account {thing}", "{actor} 启用了账号 {thing}"),
    "user.removed": Text("{actor} removed the account {thing}", "{actor} 删除了账号 {thing}"),
    "user.handed_over": Text(
        "{actor} transferred everything {thing} owned to {to}",
        "{actor} 把 {thing} 的东西移交给 {to}",
    ),
    "group.added": Text("{actor} created the group {thing}", "{actor} 建立了组 {thing}"),
    "group.changed": Text("{actor} changed the group {thing}", "{actor} 修改了组 {thing}"),
    "group.removed": Text("{actor} removed the group {thing}", "{actor} 删除了组 {thing}"),
    "member.joined": Text(
        "{actor} joined {thing} by an invitation of {by}", "{actor} 凭 {by} 的邀请码加入 {thing}"
    ),
    "member.added": Text("{actor} added {user} to {thing}", "{actor} 把 {user} 加入 {thing}"),
    "member.changed": Text(
        "{actor} changed the role of {user} in {thing}",
        "{actor} 修改了 {user} 在 {thing} 中的身份",
    ),
    "member.removed": Text("{actor} removed {user} from {thing}", "{actor} 把 {user} 移出 {thing}"),
    "token.made": Text("{actor} created the token {thing}", "{actor} 创建了令牌 {thing}"),
    "token.revoked": Text("{actor} revoked the token {thing}", "{actor} 撤销了令牌 {thing}"),
    "invite.made": Text("{actor} created the invitation {thing}", "{actor} 创建了邀请 {thing}"),
    "invite.revoked": Text("{actor} revoked the invitation {thing}", "{actor} 撤销了邀请 {thing}"),
    "signup.joined": Text("{thing} signed up with an invitation", "{thing} 凭邀请码注册"),
    "signup.failed": Text("A sign-up failed ({why})", "注册失败（{why}）"),
    "signup.asked": Text("Someone requested the account {thing}", "有人申请账号 {thing}"),
    "request.approved": Text("{actor} approved {thing}", "{actor} 批准了 {thing}"),
    "request.declined": Text("{actor} declined {thing}", "{actor} 拒绝了 {thing}"),
    "job.stopped": Text("{actor} stopped {thing}", "{actor} 停止了 {thing}"),
    "job.edited": Text("{actor} changed {thing}", "{actor} 修改了 {thing}"),
    "job.held": Text("{actor} held {thing}", "{actor} 挂起了 {thing}"),
    "job.released": Text("{actor} released {thing}", "{actor} 释放了 {thing}"),
    "job.entered": Text("{actor} entered {thing}", "{actor} 进入了 {thing}"),
    "job.attached": Text("{actor} took over the input of {thing}", "{actor} 接管了 {thing} 的输入"),
    "environment.created": Text(
        "{actor} created the environment {thing}", "{actor} 创建了环境 {thing}"
    ),
    "environment.started": Text(
        "{actor} started the environment {thing}", "{actor} 启动了环境 {thing}"
    ),
    "environment.stopped": Text(
        "{actor} stopped the environment {thing}", "{actor} 停止了环境 {thing}"
    ),
    "environment.extended": Text(
        "{actor} extended the environment {thing}", "{actor} 延长了环境 {thing}"
    ),
    "environment.changed": Text(
        "{actor} changed the environment {thing}", "{actor} 修改了环境 {thing}"
    ),
    "environment.deleted": Text(
        "{actor} deleted the environment {thing}", "{actor} 删除了环境 {thing}"
    ),
    "environment.shared": Text(
        "{actor} shared the environment {thing} with {user}",
        "{actor} 把环境 {thing} 共享给 {user}",
    ),
    "image.added": Text("{actor} added the image {thing}", "{actor} 添加了镜像 {thing}"),
    "image.changed": Text("{actor} changed the image {thing}", "{actor} 修改了镜像 {thing}"),
    "image.removed": Text(
        "{actor} removed the image {thing} from the catalogue", "{actor} 从目录中移除了镜像 {thing}"
    ),
    "image.shared": Text("{actor} shared the image {thing}", "{actor} 共享了镜像 {thing}"),
    "image.unshared": Text(
        "{actor} no longer shares the image {thing}", "{actor} 取消了镜像 {thing} 的共享"
    ),
    "image.proposed": Text(
        "{actor} proposed the image {thing} as a ready one", "{actor} 提名镜像 {thing} 为公共镜像"
    ),
    "image.accepted": Text(
        "{actor} made the image {thing} a ready one", "{actor} 把镜像 {thing} 定为公共镜像"
    ),
    "image.rejected": Text(
        "{actor} declined the image {thing}", "{actor} 拒绝了镜像 {thing} 的提名"
    ),
    "image.pulling": Text(
        "{actor} had the image {thing} pulled to nodes", "{actor} 让节点预先拉取镜像 {thing}"
    ),
    "image.saving": Text(
        "{actor} began to save {job} as the image {thing}",
        "{actor} 开始把 {job} 保存为镜像 {thing}",
    ),
    "image.verifying": Text(
        "{actor} had the image {thing} verified", "{actor} 让平台验证镜像 {thing}"
    ),
    "image.building": Text(
        "{actor} began to build the image {thing}", "{actor} 开始构建镜像 {thing}"
    ),
    "environment.unshared": Text(
        "{actor} no longer shares the environment {thing} with {user}",
        "{actor} 不再把环境 {thing} 共享给 {user}",
    ),
    "secret.set": Text("{actor} set the secret {thing}", "{actor} 设置了密钥 {thing}"),
    "secret.deleted": Text("{actor} deleted the secret {thing}", "{actor} 删除了密钥 {thing}"),
    "ssh_key.added": Text("{actor} added the SSH key {thing}", "{actor} 添加了 SSH 密钥 {thing}"),
    "ssh_key.removed": Text(
        "{actor} removed the SSH key {thing}", "{actor} 删除了 SSH 密钥 {thing}"
    ),
    "registry.login": Text("{actor} signed in to the image registry", "{actor} 登录了镜像仓库"),
    "registry.collected": Text(
        "{actor} had unused images collected", "{actor} 清理了镜像仓库中不再使用的内容"
    ),
    "image.deleted": Text("{actor} deleted the image {thing}", "{actor} 删除了镜像 {thing}"),
    "dataset.added": Text("{actor} added the dataset {thing}", "{actor} 添加了数据集 {thing}"),
    "dataset.proposed": Text(
        "{actor} proposed the dataset {thing}", "{actor} 提议了数据集 {thing}"
    ),
    "dataset.accepted": Text(
        "{actor} accepted the dataset {thing}", "{actor} 接受了数据集 {thing}"
    ),
    "dataset.rejected": Text(
        "{actor} rejected the dataset {thing}", "{actor} 拒绝了数据集 {thing}"
    ),
    "dataset.changed": Text("{actor} changed the dataset {thing}", "{actor} 修改了数据集 {thing}"),
    "dataset.removed": Text("{actor} removed the dataset {thing}", "{actor} 移除了数据集 {thing}"),
    "dataset.staged": Text(
        "{actor} had the dataset {thing} copied to fast volumes",
        "{actor} 把数据集 {thing} 复制到高速存储卷",
    ),
    "dataset.unstaged": Text(
        "{actor} removed the fast copies of the dataset {thing}",
        "{actor} 删除了数据集 {thing} 的高速副本",
    ),
    "volume.measured": Text("{actor} measured the volume {thing}", "{actor} 测量了存储卷 {thing}"),
    "storage.asked": Text(
        "{actor} requested the storage {thing} ({address})",
        "{actor} 申请了存储 {thing}（{address}）",
    ),
    "storage.approved": Text(
        "{actor} approved the storage {thing} of {owner}", "{actor} 批准了 {owner} 的存储 {thing}"
    ),
    "storage.rejected": Text(
        "{actor} rejected the storage {thing} of {owner}", "{actor} 拒绝了 {owner} 的存储 {thing}"
    ),
    "storage.withdrawn": Text(
        "{actor} withdrew the request of {owner} for the storage {thing}",
        "{actor} 撤回了 {owner} 对存储 {thing} 的申请",
    ),
    "disk.filling": Text(
        "The disk of {thing} is {percent} % full; most is taken by: {largest}",
        "{thing} 所在磁盘已用 {percent}%；占用最多的：{largest}",
    ),
    "dav.login": Text("{actor} signed in through WebDAV", "{actor} 通过 WebDAV 登录"),
    "folder_quota.set": Text(
        "{actor} set the disk quota of {thing} to {most}",
        "{actor} 把 {thing} 的磁盘配额设为 {most}",
    ),
    "folder_quota.removed": Text(
        "{actor} removed the disk quota of {thing}", "{actor} 删除了 {thing} 的磁盘配额"
    ),
    "disk.cleaned": Text("{actor} cleaned disks", "{actor} 清理了磁盘"),
    "volume.added": Text("{actor} declared the volume {thing}", "{actor} 声明了存储卷 {thing}"),
    "volume.changed": Text("{actor} changed the volume {thing}", "{actor} 修改了存储卷 {thing}"),
    "volume.removed": Text("{actor} removed the volume {thing}", "{actor} 删除了存储卷 {thing}"),
    "queue.set": Text("{actor} set the queue {thing}", "{actor} 设置了队列 {thing}"),
    "queue.removed": Text("{actor} removed the queue {thing}", "{actor} 删除了队列 {thing}"),
    "queue.merged": Text(
        "{actor} merged the queue {thing} into {into} ({jobs} jobs)",
        "{actor} 把队列 {thing} 并入 {into}（{jobs} 个任务）",
    ),
    "quota.set": Text("{actor} set the quota of {thing}", "{actor} 设置了{whose_zh} 的配额"),
    "quota.removed": Text(
        "{actor} removed the quota of {thing}", "{actor} 删除了{whose_zh} 的配额"
    ),
    "node.drained": Text("{actor} drained the node {thing}", "{actor} 停用了节点 {thing}"),
    "node.resumed": Text("{actor} resumed the node {thing}", "{actor} 恢复了节点 {thing}"),
    "server.backup": Text("{actor} created a backup", "{actor} 制作了备份"),
    "server.shutdown": Text("{actor} stopped the server", "{actor} 停止了服务器"),
}


def note(tx: Tx, asker: Asker, act: str, thing: str, **data: Any) -> None:
    """Records it in the same transaction as the change: both are committed, or neither."""
    audit.append(tx, time.time(), asker.name, act, thing, data, asker.address)


def note_stranger(tx: Tx, address: str, act: str, thing: str, **data: Any) -> None:
    audit.append(tx, time.time(), NOBODY, act, thing, data, address)


def words(line: AuditRow) -> Text:
    text = WORDS.get(line.act, Text("{actor}: {act} {thing}", "{actor}：{act} {thing}"))
    blanks = _Blanks(line.data)
    blanks.update(actor=line.actor, act=line.act, thing=line.thing or "?")
    blanks["whose_zh"] = _whose_zh(line.thing)
    values = _values(text, line.data)
    told = text.format(blanks)
    return told + Text(f": {values}", f"：{values}") if values else told


def _values(text: Text, data: Mapping[str, Any]) -> str:
    """What the sentence does not say: `gpus 8, models A100=2`, by the names of the settings."""
    return ", ".join(
        f"{key} {_shown(value)}"
        for key, value in data.items()
        if value not in (None, "", [], {}) and (key, value) != ("more", 0)
        if f"{{{key}}}" not in text.en
    )[:_MOST_VALUES]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "+".join(f"{key}={_shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "+".join(_shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _whose_zh(thing: str) -> str:
    """`user alice`, as quotas are recorded, in Chinese."""
    kind, _, name = thing.partition(" ")
    return f"{_KINDS_ZH.get(kind, kind)} {name}"


class _Blanks(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"
