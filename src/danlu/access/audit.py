"""The audit log in words: one line for each thing that was done, in both languages."""

from __future__ import annotations

import time
from typing import Any

from danlu.access.principal import Asker
from danlu.store import audit
from danlu.store.rows import AuditRow
from danlu.store.tx import Tx

Pair = tuple[str, str]
NOBODY = "-"
"""The actor where nobody was signed in."""

WORDS: dict[str, Pair] = {
    "login": ("{actor} signed in", "{actor} 登录"),
    "login.failed": ("Sign-in as {thing} failed ({why})", "以 {thing} 登录失败（{why}）"),
    "login.throttled": (
        "{count} sign-ins were refused unseen: too many tries",
        "{count} 次登录因尝试过多被直接拒绝",
    ),
    "token.wrong": ("{count} requests came with no valid token", "{count} 个请求的令牌无效"),
    "signup.throttled": (
        "{count} sign-ups were refused unseen: too many tries",
        "{count} 次注册因尝试过多被直接拒绝",
    ),
    "logout": ("{actor} signed out", "{actor} 退出登录"),
    "sessions.ended": ("{actor} ended {count} other sessions", "{actor} 结束了其他 {count} 个会话"),
    "password.changed": ("{actor} changed the password", "{actor} 修改了密码"),
    "password.failed": (
        "{actor} gave a wrong present password",
        "{actor} 修改密码时原密码错误",
    ),
    "password.reset": (
        "{actor} gave {thing} a one-time password",
        "{actor} 为 {thing} 设置了一次性密码",
    ),
    "user.added": ("{actor} added the account {thing}", "{actor} 添加了账号 {thing}"),
    "user.changed": ("{actor} changed the account {thing}", "{actor} 修改了账号 {thing}"),
    "user.disabled": ("{actor} disabled the account {thing}", "{actor} 停用了账号 {thing}"),
    "user.enabled": ("{actor} enabled the account {thing}", "{actor} 启用了账号 {thing}"),
    "user.removed": ("{actor} removed the account {thing}", "{actor} 删除了账号 {thing}"),
    "user.handed_over": (
        "{actor} handed what {thing} had to {to}",
        "{actor} 把 {thing} 的东西移交给 {to}",
    ),
    "group.added": ("{actor} made the group {thing}", "{actor} 建立了组 {thing}"),
    "group.changed": ("{actor} changed the group {thing}", "{actor} 修改了组 {thing}"),
    "group.removed": ("{actor} removed the group {thing}", "{actor} 删除了组 {thing}"),
    "member.added": ("{actor} added {user} to {thing}", "{actor} 把 {user} 加入 {thing}"),
    "member.changed": (
        "{actor} changed the part of {user} in {thing}",
        "{actor} 修改了 {user} 在 {thing} 中的身份",
    ),
    "member.removed": ("{actor} took {user} out of {thing}", "{actor} 把 {user} 移出 {thing}"),
    "token.made": ("{actor} made the token {thing}", "{actor} 创建了令牌 {thing}"),
    "token.revoked": ("{actor} revoked the token {thing}", "{actor} 撤销了令牌 {thing}"),
    "invite.made": ("{actor} made the invitation {thing}", "{actor} 创建了邀请 {thing}"),
    "invite.revoked": ("{actor} revoked the invitation {thing}", "{actor} 撤销了邀请 {thing}"),
    "signup.joined": ("{thing} signed up with an invitation", "{thing} 凭邀请码注册"),
    "signup.failed": ("A sign-up failed ({why})", "注册失败（{why}）"),
    "signup.asked": ("Somebody asked for the account {thing}", "有人申请账号 {thing}"),
    "request.approved": ("{actor} let {thing} in", "{actor} 批准了 {thing}"),
    "request.declined": ("{actor} did not let {thing} in", "{actor} 拒绝了 {thing}"),
    "job.stopped": ("{actor} stopped {thing}", "{actor} 停止了 {thing}"),
    "job.held": ("{actor} held {thing}", "{actor} 挂起了 {thing}"),
    "job.released": ("{actor} released {thing}", "{actor} 释放了 {thing}"),
    "job.entered": ("{actor} went into {thing}", "{actor} 进入了 {thing}"),
    "job.attached": ("{actor} took over the input of {thing}", "{actor} 接管了 {thing} 的输入"),
    "secret.set": ("{actor} set the secret {thing}", "{actor} 设置了密钥 {thing}"),
    "secret.deleted": ("{actor} deleted the secret {thing}", "{actor} 删除了密钥 {thing}"),
    "volume.added": ("{actor} declared the volume {thing}", "{actor} 声明了存储卷 {thing}"),
    "volume.changed": ("{actor} changed the volume {thing}", "{actor} 修改了存储卷 {thing}"),
    "volume.removed": ("{actor} removed the volume {thing}", "{actor} 删除了存储卷 {thing}"),
    "queue.set": ("{actor} set the queue {thing}", "{actor} 设置了队列 {thing}"),
    "queue.removed": ("{actor} removed the queue {thing}", "{actor} 删除了队列 {thing}"),
    "queue.merged": (
        "{actor} merged the queue {thing} into {into} ({jobs} jobs)",
        "{actor} 把队列 {thing} 并入 {into}（{jobs} 个任务）",
    ),
    "quota.set": ("{actor} set the quota of {thing}", "{actor} 设置了 {thing} 的配额"),
    "quota.removed": ("{actor} removed the quota of {thing}", "{actor} 删除了 {thing} 的配额"),
    "node.drained": ("{actor} took the node {thing} out", "{actor} 停用了节点 {thing}"),
    "node.resumed": ("{actor} took the node {thing} back in", "{actor} 恢复了节点 {thing}"),
    "server.backup": ("{actor} made a backup", "{actor} 制作了备份"),
    "server.shutdown": ("{actor} stopped the server", "{actor} 停止了服务器"),
}


def note(tx: Tx, asker: Asker, act: str, thing: str, **data: Any) -> None:
    """In the transaction of the change itself: both, or neither."""
    audit.append(tx, time.time(), asker.name, act, thing, data, asker.address)


def note_stranger(tx: Tx, address: str, act: str, thing: str, **data: Any) -> None:
    audit.append(tx, time.time(), NOBODY, act, thing, data, address)


def words(line: AuditRow) -> Pair:
    en, zh = WORDS.get(line.act, ("{actor}: {act} {thing}", "{actor}：{act} {thing}"))
    blanks = _Blanks(line.data)
    blanks.update(actor=line.actor, act=line.act, thing=line.thing or "?")
    return en.format_map(blanks), zh.format_map(blanks)


class _Blanks(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"
