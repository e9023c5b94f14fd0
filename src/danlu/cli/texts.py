"""Every message of the command line: (en, zh)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EN, ZH = 0, 1

TEXTS: dict[str, tuple[str, str]] = {
    "ask.goes_on": ("Continuing", "继续"),
    "ask.interrupt": (
        "{ref}: [s]top the job, [d]etach (it keeps running), or any other key to continue?",
        "{ref}：[s] 停止任务，[d] 离开（任务继续运行），其他键留下？",
    ),
    "ask.interrupt_key": (
        "{ref}: [s]top the job, [d]etach (it keeps running), [i] or Ctrl-C again to interrupt the "
        "program, any other key to continue?",
        "{ref}：[s] 停止任务，[d] 离开（任务继续运行），[i] 或再按 Ctrl-C：中断程序，其他键留下？",
    ),
    "context.unreadable": (
        "Cannot use the context file {path}: {cause}. Fix or remove it, then run danlu login",
        "无法使用上下文文件 {path}：{cause}。请改正或删除它，然后运行 danlu login",
    ),
    "file.trouble": ("{cause}", "{cause}"),
    "file.unwritable": ("Cannot write {file}: {cause}", "无法写入 {file}：{cause}"),
    "flags.env_missing": (
        "--env {name}: not set in the current environment; use --env {name}=VALUE",
        "--env {name}：当前没有设置该变量；请写 --env {name}=值",
    ),
    "flags.env_name": (
        "--env {value!r}: missing name; use NAME=VALUE or NAME",
        "--env {value!r}：缺少名称；请写 NAME=VALUE 或 NAME",
    ),
    "flags.model_twice": (
        "--gpus {gpus} and --model {model} both name a model; use only one",
        "--gpus {gpus} 和 --model {model} 都指定了型号；只写其中一个",
    ),
    "flags.no_command": (
        "No command; write it after the options: danlu run -g 1 -- python train.py",
        "没有要运行的命令；请写在选项之后：danlu run -g 1 -- python train.py",
    ),
    "flags.no_command_exec": (
        "No command; write it after the job: danlu exec JOB -- nvidia-smi",
        "没有要运行的命令；请写在任务之后：danlu exec JOB -- nvidia-smi",
    ),
    "flags.no_command_submit": (
        "Nothing to submit: give a job file (danlu submit job.yaml), - for standard input, or a "
        "command after --",
        "没有要提交的内容：请给出任务文件（danlu submit job.yaml）、-（标准输入），"
        "或在 -- 之后写命令",
    ),
    "flags.no_folder": (
        "The current folder no longer exists; change to another one, or use --workdir",
        "当前目录已不存在；请切换到其他目录，或指定 --workdir",
    ),
    "flags.closed_folder": (
        "{folder} is only accessible to root, but tasks run as their users; this one starts in "
        "its own /userhome (-w FOLDER to change)",
        "{folder} 只有 root 能进入，而任务以各自用户的身份运行；本任务从自己的 /userhome 开始"
        "（用 -w 目录 指定其他目录）",
    ),
    "flags.not_text": (
        "{what}: not valid UTF-8",
        "{what}：含有非 UTF-8 字节，无法发送",
    ),
    "flags.port": (
        "--port {value}: port numbers are assigned by the platform. Name the port, such as --port "
        "web; the task finds its number in PORT_WEB",
        "--port {value}：端口号由平台分配。请给端口起名，例如 --port web；任务可从 PORT_WEB 得到"
        "端口号",
    ),
    "flags.set": (
        "--set {value!r}: must be key=value or outer.inner=value",
        "--set {value!r}：请写 key=value，或 outer.inner=value",
    ),
    "flags.set_path": (
        "--set {value!r}: cannot set {part!r} in this job",
        "--set {value!r}：任务中没有 {part!r} 这个位置",
    ),
    "help.more": (
        "Run danlu help COMMAND for details.",
        "danlu help COMMAND 说明某个命令。",
    ),
    "input.lost": (
        "Connection lost while sending input; the last part may be missing",
        "输入传送途中连接中断；最后一部分可能丢失",
    ),
    "input.refused": ("The job does not accept input: {cause}", "任务不接受输入：{cause}"),
    "internal": (
        "Internal error: {kind}: {cause}. Run with DANLU_DEBUG=1 for details; please report it",
        "程序内部错误：{kind}：{cause}。设置 DANLU_DEBUG=1 可看到位置；请反馈给我们",
    ),
    "jobs.head_command": ("COMMAND", "命令"),
    "jobs.head_gpus": ("GPUS", "GPU"),
    "jobs.head_job": ("JOB", "任务"),
    "jobs.head_state": ("STATE", "状态"),
    "jobs.head_submitted": ("SUBMITTED", "提交"),
    "jobs.head_time": ("RAN", "运行"),
    "jobs.head_where": ("WHERE", "位置"),
    "jobs.more": (
        "More available; use --limit {limit}",
        "还有更多；--limit {limit} 可多显示",
    ),
    "jobs.some_unknown": (
        "{states} ({count} unknown since {since})",
        "{states}（其中 {count} 个自 {since} 起状态未知）",
    ),
    "jobs.unknown": ("{state} (unknown since {since})", "{state}（自 {since} 起状态未知）"),
    "jobs.none": ("No jobs", "没有任务"),
    "jobs.none_active": (
        "No waiting or running jobs; --all includes ended ones",
        "没有等待或运行中的任务；--all 显示已结束的",
    ),
    "last.job": ("Your last job: {ref}", "你的上一个任务：{ref}"),
    "last.none": (
        "You have no jobs yet; name one: danlu jobs --all lists those you can see",
        "你还没有任务；请写明任务，danlu jobs --all 列出你能看到的",
    ),
    "lost.back": ("The server is back; nothing was lost", "服务已恢复；没有丢失内容"),
    "lost.following": (
        "Server not reachable ({cause}); the job keeps running. Retrying for up to {patience} s",
        "服务暂时离开（{cause}）；任务继续运行。最多重试 {patience} 秒",
    ),
    "lost.gave_up": (
        "The server did not come back ({cause}). {ref} may still be running; check later with "
        "danlu show {ref}",
        "服务没有恢复（{cause}）。{ref} 可能仍在运行；稍后用 danlu show {ref} 查看",
    ),
    "lost.gave_up_reading": (
        "The server did not come back ({cause}); the output so far is complete",
        "服务没有恢复（{cause}）；已输出的内容是完整的",
    ),
    "lost.gave_up_submission": (
        "The server did not confirm the submission ({cause}); check later with danlu jobs",
        "服务没有确认是否收到任务（{cause}）；稍后用 danlu jobs 查看",
    ),
    "lost.submission": (
        "No answer; asking again (the same job cannot be queued twice)",
        "应答丢失；正在重新询问（同一任务不会重复提交）",
    ),
    "lost.waiting": (
        "Server not reachable ({cause}); jobs keep running. Waiting for it",
        "服务暂时离开（{cause}）；任务继续运行，正在等待",
    ),
    "run.keys": (
        "After Enter: ~. detaches (the job keeps running), ~~ types a tilde",
        "按回车后：~. 离开任务（任务继续运行），~~ 输入波浪号",
    ),
    "run.left": (
        "{ref} keeps running. Follow it with danlu logs -f {ref}, stop it with danlu stop {ref}",
        "{ref} 继续运行。danlu logs -f {ref} 查看输出，danlu stop {ref} 停止它",
    ),
    "run.left_tty": (
        "{ref} keeps running. Come back with danlu attach {ref}, stop it with danlu stop {ref}",
        "{ref} 继续运行。danlu attach {ref} 返回，danlu stop {ref} 停止它",
    ),
    "run.no_input": (
        "Input cannot be sent to several tasks at once; they get none",
        "输入不能同时给多个子任务；它们没有输入",
    ),
    "run.no_terminal": (
        "--tty: standard input is not a terminal",
        "--tty：标准输入不是终端",
    ),
    "run.eta": ("about {time} (in {left})", "约 {time}（{left} 后）"),
    "run.position": ("number {position} in the queue", "队列第 {position} 位"),
    "run.too_many": (
        "{ref} is queued, but only {most} tasks can be followed at once; use danlu logs",
        "{ref} 已提交，但无法同时跟踪超过 {most} 个子任务；请使用 danlu logs",
    ),
    "run.ended": ("{ref}: {reason}", "{ref}：{reason}"),
    "run.ended_advice": ("{ref}: {reason}. {advice}", "{ref}：{reason}。{advice}"),
    "phase.absent": ("absent", "不存在"),
    "phase.exited": ("exited", "已退出"),
    "phase.lost": ("lost", "丢失"),
    "phase.pending": ("pending", "等待"),
    "phase.running": ("running", "运行"),
    "phase.starting": ("starting", "启动"),
    "state.failed": ("failed", "失败"),
    "state.held": ("held", "已挂起"),
    "state.queued": ("queued", "排队"),
    "state.running": ("running", "运行"),
    "state.starting": ("starting", "启动"),
    "state.stopped": ("stopped", "已停止"),
    "state.stopping": ("stopping", "停止中"),
    "state.succeeded": ("succeeded", "成功"),
    "stop.failed": (
        "Cannot stop {ref}: {cause}; it keeps running. Interrupt again to retry",
        "无法停止 {ref}：{cause}；任务继续运行。再次中断可重试",
    ),
    "stop.now": ("Killing {ref}", "立即结束 {ref}"),
    "stop.politely": (
        "Stopping {ref}; interrupt again to kill it",
        "正在停止 {ref}；再次中断则立即结束",
    ),
    "submit.file_and_command": (
        "Give job files or a command, not both",
        "请给出任务文件或命令，不能同时给出",
    ),
    "submit.not_editable": (
        "{file}: options cannot change this file, because its top-level keys are not one per "
        "line; reformat it, or edit the file itself",
        "{file}：无法用选项修改此文件，因为它的键不是逐行顶格书写；请改成这种写法，或直接修改文件",
    ),
    "submit.not_text": (
        "{file}:{line}: not a text file (null byte); a job file is YAML or JSON",
        "{file}:{line}：不是文本文件（含零字节）；任务文件应为 YAML 或 JSON",
    ),
    "submit.not_utf8": (
        "{file}:{line}: not UTF-8 (byte {at}); save it as UTF-8",
        "{file}:{line}：不是 UTF-8（第 {at} 字节）；请以 UTF-8 保存",
    ),
    "submit.too_large": (
        "{file}: larger than {size} MiB; a job file is a short text",
        "{file}：超过 {size} MiB；任务文件应是简短的文本",
    ),
    "submit.unreadable": ("Cannot read {file}: {cause}", "无法读取 {file}：{cause}"),
    "submitted.array": (
        "{ref}  queued, {count} {count:job|jobs}",
        "{ref}  已提交，共 {count} 个任务",
    ),
    "submitted.one": ("{ref}  queued", "{ref}  已提交"),
    "time.ago": ("{time} ago", "{time} 前"),
    "time.in": ("in {time}", "{time} 后"),
    "version.server": ("server {version} at {server}", "服务 {version}，位于 {server}"),
    "whoami": ("{user} ({role}) at {server}", "{user}（{role}），位于 {server}"),
}

# Tables that are loaded on demand, and the first words of their keys.
_TABLES = {
    "looking": "array basis clone convert edit exec gpu logs show usage why",
    "cluster": "gpus nodes volume",
    "server": "backup completion demo down login passwd secret server shims up",
    "people": "audit context group invite logout role signup status sure token user whoami",
    "scheduling": "cluster nodes queue quota",
    "metrics": "metrics",
    "live": "attach key open shell ssh top",
    "environments": "env sure",
    "images": "image save sure",
    "registry": "registry sure",
    "files": "files sure",
    "data": "bundle carry dataset disk storage volume",
    "tensorboard": "tensorboard",
}
_chosen: int | None = None


def language() -> int:
    """EN or ZH: from --lang, DANLU_LANG, or the locale."""
    global _chosen
    if _chosen is None:
        environ = os.environ
        names = ("DANLU_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
        found = next((environ[name] for name in names if environ.get(name)), "")
        _chosen = ZH if found.lower().startswith("zh") else EN
    return _chosen


def use(name: str) -> bool:
    """Whether it is a supported language: zh, en, or a locale of one of them."""
    global _chosen
    known = {"zh": ZH, "en": EN}.get(name.lower()[:2])
    _chosen = _chosen if known is None else known
    return known is not None


def t(key: str, **params: object) -> str:
    found = find(key)[language()]
    if "|" in found:
        params = {name: _Counted(value) for name, value in params.items()}
    return found.format(**params)


class _Counted:
    """A value that may choose an English word: `{count} {count:job|jobs}`."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __format__(self, form: str) -> str:
        one, bar, many = form.partition("|")
        # Some numbers come as they are shown: 0.5, 1.
        return (one if str(self._value) == "1" else many) if bar else format(self._value, form)


def find(key: str) -> tuple[str, str]:
    """Loads the table of some commands if the key is in one."""
    found = TEXTS.get(key)
    if found is not None:
        return found
    first = key.partition(".")[0]
    tables = (_table(name) for name, words in _TABLES.items() if first in words.split())
    found = next((table[key] for table in tables if key in table), None)
    if found is None:
        raise KeyError(key)
    return found


def known(key: str, otherwise: str) -> str:
    """The text of a word from the server, or the word itself if it is newer than this program."""
    try:
        return t(key)
    except KeyError:
        return otherwise


def everything() -> dict[str, tuple[str, str]]:
    found = dict(TEXTS)
    for name in _TABLES:
        found |= _table(name)
    return found


def _table(name: str) -> dict[str, tuple[str, str]]:
    module = __import__(f"danlu.cli.texts_{name}", fromlist=[name.upper()])
    found: dict[str, tuple[str, str]] = getattr(module, name.upper())
    return found


def both(key: str, **params: object) -> dict[str, str]:
    """A message in both languages, as the server's are."""
    found = find(key)
    return {"message_en": found[EN].format(**params), "message_zh": found[ZH].format(**params)}


def pick(source: Any, name: str) -> Any:
    """The server's text in the reader's language: `message` stands for message_en or message_zh."""
    suffix = "zh" if language() == ZH else "en"
    key = f"{name}_{suffix}" if name else suffix
    return source.get(key) if isinstance(source, dict) else getattr(source, key, None)
