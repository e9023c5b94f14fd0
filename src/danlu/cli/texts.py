"""Every sentence the command line says, in both languages: (en, zh)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EN, ZH = 0, 1

TEXTS: dict[str, tuple[str, str]] = {
    "array.first": (
        "{asked} is an array, this is {ref}; danlu jobs --all --name {name} lists all of it",
        "{asked} 是数组，这里显示的是 {ref}；danlu jobs --all --name {name} 列出全部",
    ),
    "ask.goes_on": ("Going on", "继续"),
    "ask.interrupt": (
        "{ref}: [s]top the job, [d]etach (it goes on), or any other key to stay?",
        "{ref}：[s] 停止任务，[d] 离开（任务继续运行），其他键留下？",
    ),
    "ask.interrupt_key": (
        "{ref}: [s]top the job, [d]etach (it goes on), [i] or Ctrl-C again: interrupt the program,"
        " any other key to stay?",
        "{ref}：[s] 停止任务，[d] 离开（任务继续运行），[i] 或再按 Ctrl-C：中断程序，其他键留下？",
    ),
    "backup.done": ("{file}: {size}, whole", "{file}：{size}，完整"),
    "basis.engine": ("says the engine", "引擎给出"),
    "basis.estimate": ("an estimate", "估计"),
    "basis.verified": ("verified", "已验证"),
    "clone.editor_failed": (
        "{editor} ended with status {status}; nothing was submitted",
        "{editor} 以状态 {status} 结束；没有提交任何任务",
    ),
    "clone.kept": (
        "Your text is kept in {file}; correct it and run: danlu submit {file}",
        "你的修改保存在 {file}；改正后运行：danlu submit {file}",
    ),
    "clone.no_editor": (
        "The editor {editor} cannot be started: {cause}. Set EDITOR, or use -o FILE",
        "无法启动编辑器 {editor}：{cause}。请设置 EDITOR，或使用 -o FILE",
    ),
    "clone.unchanged": ("Nothing was changed, nothing submitted", "没有改动，未提交"),
    "completion.unknown": (
        "No completion for {shell!r}; there is: {known}",
        "没有 {shell!r} 的补全；可用：{known}",
    ),
    "context.unreadable": (
        "The context file {path} cannot be used: {cause}. Correct or remove it, then danlu login",
        "无法使用上下文文件 {path}：{cause}。请改正或删除它，然后运行 danlu login",
    ),
    "down.done": ("The server at {server} stops", "服务 {server} 正在停止"),
    "down.nothing": ("No task is running", "没有正在运行的任务"),
    "down.running": (
        "Jobs that go on without it: {count}. danlu up takes them up again:",
        "{count} 个任务继续运行；danlu up 会重新接管它们：",
    ),
    "exec.cut": ("the connection ended", "连接中断"),
    "exec.keys": (
        "After Enter: ~. leaves, ~~ types a tilde",
        "按回车后：~. 离开，~~ 输入波浪号",
    ),
    "exec.refused": (
        "The command could not be run in {ref}: {cause}",
        "无法在 {ref} 中运行命令：{cause}",
    ),
    "file.trouble": ("{cause}", "{cause}"),
    "file.unwritable": ("{file} cannot be written: {cause}", "无法写入 {file}：{cause}"),
    "flags.env_missing": (
        "--env {name}: this variable is not set here; write --env {name}=VALUE",
        "--env {name}：当前没有设置该变量；请写 --env {name}=值",
    ),
    "flags.env_name": (
        "--env {value!r}: no name; write NAME=VALUE or NAME",
        "--env {value!r}：缺少名称；请写 NAME=VALUE 或 NAME",
    ),
    "flags.model_twice": (
        "--gpus {gpus} and --model {model} both name a model; give one of them",
        "--gpus {gpus} 和 --model {model} 都指定了型号；只写其中一个",
    ),
    "flags.no_command": (
        "No command to run; write it after the options: danlu run -g 1 -- python train.py",
        "没有要运行的命令；请写在选项之后：danlu run -g 1 -- python train.py",
    ),
    "flags.no_command_exec": (
        "No command to run; write it after the job: danlu exec JOB -- nvidia-smi",
        "没有要运行的命令；请写在任务之后：danlu exec JOB -- nvidia-smi",
    ),
    "flags.no_command_submit": (
        "Nothing to submit: name a job file (danlu submit job.yaml), - for standard input, or a "
        "command after --",
        "没有要提交的内容：请给出任务文件（danlu submit job.yaml）、-（标准输入），"
        "或在 -- 之后写命令",
    ),
    "flags.no_folder": (
        "The present folder does not exist any more; change to another one, or give --workdir",
        "当前目录已不存在；请切换到其他目录，或指定 --workdir",
    ),
    "flags.closed_folder": (
        "{folder} is closed to all but root, and tasks run as their users; this one starts in its "
        "own /userhome (-w FOLDER names another)",
        "{folder} 只有 root 能进入，而任务以各自用户的身份运行；本任务从自己的 /userhome 开始"
        "（用 -w 目录 指定其他目录）",
    ),
    "flags.not_text": (
        "{what}: holds bytes that are not UTF-8 and cannot be sent",
        "{what}：含有非 UTF-8 字节，无法发送",
    ),
    "flags.set": (
        "--set {value!r}: write key=value, or outer.inner=value",
        "--set {value!r}：请写 key=value，或 outer.inner=value",
    ),
    "flags.set_path": (
        "--set {value!r}: the job has no place {part!r} to set",
        "--set {value!r}：任务中没有 {part!r} 这个位置",
    ),
    "gpu.down": ("down", "不可用"),
    "gpu.drained": ("taken out", "已停用"),
    "gpu.free": ("free", "空闲"),
    "gpu.reserved": ("reserved", "预留"),
    "gpu.used": ("used", "占用"),
    "gpus.head_index": ("GPU", "卡号"),
    "gpus.head_job": ("JOB", "任务"),
    "gpus.head_model": ("MODEL", "型号"),
    "gpus.head_node": ("NODE", "节点"),
    "gpus.head_since": ("FOR", "时长"),
    "gpus.head_state": ("STATE", "状态"),
    "gpus.none": (
        "There are no GPUs here; danlu nodes shows what there is",
        "这里没有 GPU；danlu nodes 显示现有资源",
    ),
    "gpus.summary": ("{model}: {free} of {total} free", "{model}：{total} 张中 {free} 张空闲"),
    "help.more": (
        "danlu help COMMAND explains one command.",
        "danlu help COMMAND 说明某个命令。",
    ),
    "input.lost": (
        "The connection was lost while input was on its way; the last of it may be missing",
        "输入传送途中连接中断；最后一部分可能丢失",
    ),
    "input.refused": ("The job takes no input: {cause}", "任务不接受输入：{cause}"),
    "internal": (
        "This is a mistake of ours: {kind}: {cause}. DANLU_DEBUG=1 shows where; please report it",
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
        "There are more; --limit {limit} shows more of them",
        "还有更多；--limit {limit} 可多显示",
    ),
    "jobs.none": ("No jobs", "没有任务"),
    "jobs.none_active": (
        "No job waits or runs; --all shows ended ones",
        "没有等待或运行中的任务；--all 显示已结束的",
    ),
    "login.done": (
        "Logged in to {server} as {user}; kept as context {name}",
        "已以 {user} 登录 {server}；保存为上下文 {name}",
    ),
    "login.must_change": (
        "This password is meant to be used once: danlu passwd changes it",
        "这是一次性密码：请用 danlu passwd 修改",
    ),
    "login.no_user": ("Who logs in? Give --user NAME", "谁要登录？请指定 --user 用户名"),
    "login.password": ("Password of {user}:", "{user} 的密码："),
    "login.user": ("User:", "用户："),
    "logs.waits": (
        "{ref} waits in the queue and has printed nothing yet; danlu why {ref} says why",
        "{ref} 在排队，还没有输出；danlu why {ref} 说明原因",
    ),
    "logs.more_matches": ("There are more matches; raise --limit", "还有更多匹配；请增大 --limit"),
    "logs.no_json": (
        "--json does not go with raw output; danlu show --json tells about the job",
        "--json 不能用于原始输出；任务信息请用 danlu show --json",
    ),
    "lost.back": ("The server is back; nothing was lost", "服务已恢复；没有丢失内容"),
    "lost.following": (
        "The server is away ({cause}); the job goes on. Trying again for up to {patience} s",
        "服务暂时离开（{cause}）；任务继续运行。最多重试 {patience} 秒",
    ),
    "lost.gave_up": (
        "The server did not come back ({cause}). {ref} may still run; danlu show {ref} tells later",
        "服务没有恢复（{cause}）。{ref} 可能仍在运行；稍后用 danlu show {ref} 查看",
    ),
    "lost.gave_up_reading": (
        "The server did not come back ({cause}); what was printed so far is whole",
        "服务没有恢复（{cause}）；已输出的内容是完整的",
    ),
    "lost.gave_up_submission": (
        "The server did not say whether it took the job ({cause}); danlu jobs tells later",
        "服务没有确认是否收到任务（{cause}）；稍后用 danlu jobs 查看",
    ),
    "lost.submission": (
        "The answer was lost; asking again (the same job cannot be queued twice)",
        "应答丢失；正在重新询问（同一任务不会重复提交）",
    ),
    "lost.waiting": (
        "The server is away ({cause}); jobs go on, waiting for it",
        "服务暂时离开（{cause}）；任务继续运行，正在等待",
    ),
    "nodes.down": ("down", "离线"),
    "nodes.head_cpus": ("CPUS FREE", "空闲 CPU"),
    "nodes.head_gpus": ("GPUS FREE", "空闲 GPU"),
    "nodes.head_memory": ("MEMORY FREE", "空闲内存"),
    "nodes.head_node": ("NODE", "节点"),
    "nodes.head_note": ("NOTE", "说明"),
    "nodes.head_state": ("STATE", "状态"),
    "nodes.none": ("There are no nodes", "没有节点"),
    "nodes.up": ("up", "在线"),
    "run.keys": (
        "After Enter: ~. leaves the job (it goes on), ~~ types a tilde",
        "按回车后：~. 离开任务（任务继续运行），~~ 输入波浪号",
    ),
    "run.left": (
        "{ref} goes on. danlu logs -f {ref} follows it, danlu stop {ref} ends it",
        "{ref} 继续运行。danlu logs -f {ref} 查看输出，danlu stop {ref} 停止它",
    ),
    "run.no_input": (
        "Input is not given to several tasks at once; they see none",
        "输入不能同时给多个子任务；它们没有输入",
    ),
    "run.no_terminal": (
        "--tty: standard input is not a terminal",
        "--tty：标准输入不是终端",
    ),
    "run.too_many": (
        "{ref} is queued, but more than {most} tasks cannot be followed at once; use danlu logs",
        "{ref} 已提交，但无法同时跟踪超过 {most} 个子任务；请使用 danlu logs",
    ),
    "secret.ask": ("Value of {name} (not shown):", "{name} 的值（不显示）："),
    "secret.empty": (
        "{name}: no value; type it, or pipe it in: danlu secret set {name} < file",
        "{name}：没有值；请输入，或从文件读取：danlu secret set {name} < file",
    ),
    "secret.gone": ("{name} is deleted", "{name} 已删除"),
    "secret.none": ("No secrets", "没有密钥"),
    "secret.set": (
        "{name} is set; danlu run --secret VARIABLE={name} gives it to a job",
        "{name} 已设置；danlu run --secret VARIABLE={name} 可交给任务",
    ),
    "run.ended": ("{ref}: {reason}", "{ref}：{reason}"),
    "run.ended_advice": ("{ref}: {reason}. {advice}", "{ref}：{reason}。{advice}"),
    "server.bad_address": (
        "{address!r} is no server's address; write http://host:port, https://host or unix:/path",
        "{address!r} 不是服务地址；请写 http://主机:端口、https://主机 或 unix:/路径",
    ),
    "passwd.done": ("The password is changed", "密码已修改"),
    "passwd.new": ("New password (at least 10 characters):", "新密码（至少 10 个字符）："),
    "passwd.old": ("Present password:", "当前密码："),
    "passwd.twice": (
        "The two new passwords differ; nothing was changed",
        "两次输入的新密码不同；没有修改",
    ),
    "passwd.again": ("New password again:", "再输入一次新密码："),
    "server.login": (
        "danlu login gets a valid token",
        "运行 danlu login 获取有效令牌",
    ),
    "server.bad_token": (
        "This is no token: it holds characters that none has. Copy it once more, or danlu login",
        "这不是令牌：含有令牌不会有的字符。请重新复制，或运行 danlu login",
    ),
    "server.ca_file": (
        "The certificates of DANLU_CA_FILE cannot be used: {cause}. Name a file in PEM",
        "无法使用 DANLU_CA_FILE 指定的证书：{cause}。请指定 PEM 格式的文件",
    ),
    "server.no_tls": (
        "{where} speaks no TLS ({cause}). Write http:// instead of https://",
        "{where} 不使用 TLS（{cause}）。请把 https:// 改成 http://",
    ),
    "server.untrusted": (
        "{where} is not trusted: {cause}. If its certificate is your own: "
        "DANLU_CA_FILE=cert.pem danlu ...",
        "{where} 的证书不受信任：{cause}。如果是自己的证书：DANLU_CA_FILE=cert.pem danlu ...",
    ),
    "server.lost": (
        "The connection to {where} broke off ({cause}); what was asked may have been done",
        "与 {where} 的连接中断（{cause}）；请求可能已执行",
    ),
    "server.no_context": (
        "There is no context {name!r}; danlu login URL --name {name} makes it",
        "没有上下文 {name!r}；danlu login URL --name {name} 可创建",
    ),
    "server.none": (
        "No server is known. danlu up starts one on this machine; danlu login URL uses another",
        "没有已知的服务。danlu up 在本机启动；danlu login URL 使用其他服务",
    ),
    "server.refused": ("The server refused it (HTTP {status})", "服务拒绝了请求（HTTP {status}）"),
    "server.strange": (
        "Whatever answers there is no Danlu server: {cause}. Check the address",
        "对方不是 Danlu 服务：{cause}。请检查地址",
    ),
    "server.unreachable": (
        "No server answers at {where}: {cause}. danlu up starts it, --server names another",
        "{where} 没有服务响应：{cause}。用 danlu up 启动，或用 --server 指定其他服务",
    ),
    "phase.absent": ("absent", "不存在"),
    "phase.exited": ("exited", "已退出"),
    "phase.lost": ("lost", "丢失"),
    "phase.pending": ("pending", "等待"),
    "phase.running": ("running", "运行"),
    "phase.starting": ("starting", "启动"),
    "show.advice": ("Advice", "建议"),
    "show.command": ("Command", "命令"),
    "show.cpus": ("CPUs", "CPU"),
    "show.memory": ("Memory", "内存"),
    "show.tasks": ("Tasks", "子任务数"),
    "show.time_limit": ("Time limit", "时间上限"),
    "show.workdir": ("Folder", "工作目录"),
    "show.image": ("Image", "镜像"),
    "show.each": ("{value} for each task", "每个子任务 {value}"),
    "show.doing": ("Doing", "正在"),
    "show.ended": ("Ended", "结束"),
    "show.evidence": ("Log says", "日志"),
    "show.exit_code": ("Exit code", "退出码"),
    "show.gpus": ("GPUs", "GPU"),
    "show.group": ("Group", "组"),
    "show.head_attempt": ("ATTEMPT", "尝试"),
    "show.head_exit": ("EXIT", "退出码"),
    "show.head_gpus": ("GPUS", "卡号"),
    "show.head_node": ("NODE", "节点"),
    "show.head_phase": ("PHASE", "阶段"),
    "show.head_ran": ("RAN", "运行"),
    "show.head_reason": ("REASON", "原因"),
    "show.head_role": ("ROLE", "角色"),
    "show.head_started": ("STARTED", "开始"),
    "show.head_state": ("STATE", "状态"),
    "show.head_task": ("TASK", "子任务"),
    "show.id": ("Id", "编号"),
    "show.job": ("Job", "任务"),
    "show.nodes": ("Nodes", "节点"),
    "show.priority": ("Priority", "优先级"),
    "show.queue": ("Queue", "队列"),
    "show.ran": ("Ran", "运行时长"),
    "show.reason": ("Reason", "原因"),
    "show.retries": ("Retries left", "剩余重试"),
    "show.started": ("Started", "开始"),
    "show.state": ("State", "状态"),
    "show.submitted": ("Submitted", "提交"),
    "state.failed": ("failed", "失败"),
    "state.held": ("held", "已挂起"),
    "state.queued": ("queued", "排队"),
    "state.running": ("running", "运行"),
    "state.starting": ("starting", "启动"),
    "state.stopped": ("stopped", "已停止"),
    "state.stopping": ("stopping", "停止中"),
    "state.succeeded": ("succeeded", "成功"),
    "stop.failed": (
        "{ref} could not be stopped: {cause}; it goes on. Interrupt again to try again",
        "无法停止 {ref}：{cause}；任务继续运行。再次中断可重试",
    ),
    "stop.now": ("Ending {ref} at once", "立即结束 {ref}"),
    "stop.politely": (
        "Stopping {ref}; interrupt again to end it at once",
        "正在停止 {ref}；再次中断则立即结束",
    ),
    "convert.cannot": (
        "{file} cannot be honoured as it stands",
        "{file} 无法照原样执行",
    ),
    "convert.cannot_read_as": (
        "{file} (read as {language}) cannot be honoured as it stands",
        "{file}（按 {language} 读取）无法照原样执行",
    ),
    "convert.no_reader": (
        "No server answers, and the languages cannot be read here: {cause}",
        "没有服务响应，本机也无法转换：{cause}",
    ),
    "shims.installed": ("{path}  installed", "{path}  已安装"),
    "shims.none": (
        "None of these commands is ours in {folder}",
        "{folder} 中没有由 Danlu 安装的这些命令",
    ),
    "shims.not_on_path": (
        "{folder} is not on your PATH; add it: export PATH={folder}:$PATH",
        "{folder} 不在 PATH 中；请加入：export PATH={folder}:$PATH",
    ),
    "shims.real": (
        "{name} is left out: there is a real one at {real} (--over installs it all the same)",
        "没有安装 {name}：已有真命令 {real}（--over 强制安装）",
    ),
    "shims.removed": ("{path}  removed", "{path}  已删除"),
    "shims.unknown": (
        "There is no command {name!r} to install; there are: {known}",
        "没有可安装的命令 {name!r}；现有：{known}",
    ),
    "shims.verb": ("{verb!r}: write install or remove", "{verb!r}：请写 install 或 remove"),
    "submit.file_and_command": (
        "Give job files or a command, not both",
        "请给出任务文件或命令，不能同时给出",
    ),
    "submit.not_editable": (
        "{file}: options cannot change this file, because its keys do not stand one per line at the"
        " left edge; write it so, or change the file itself",
        "{file}：无法用选项修改此文件，因为它的键不是逐行顶格书写；请改成这种写法，或直接修改文件",
    ),
    "submit.not_text": (
        "{file}:{line}: not a text file (a zero byte); a job file is YAML or JSON",
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
    "submit.unreadable": ("{file} cannot be read: {cause}", "无法读取 {file}：{cause}"),
    "submitted.array": ("{ref}  queued, {count} jobs", "{ref}  已提交，共 {count} 个任务"),
    "submitted.one": ("{ref}  queued", "{ref}  已提交"),
    "time.ago": ("{time} ago", "{time} 前"),
    "time.in": ("in {time}", "{time} 后"),
    "up.cannot": ("{program} cannot be started: {cause}", "无法启动 {program}：{cause}"),
    "volume.all_nodes": ("all nodes", "所有节点"),
    "volume.everybody": ("everybody", "所有人"),
    "volume.everywhere": ("in every task", "每个任务"),
    "volume.gone": (
        "{name} is no volume any more; its folder stays as it is",
        "{name} 不再是存储卷；目录保持原样",
    ),
    "volume.head.declared": ("DECLARED", "声明"),
    "volume.head.name": ("NAME", "名称"),
    "volume.head.note": ("NOTE", "说明"),
    "volume.head.path": ("PATH", "路径"),
    "volume.head.rights": ("RIGHTS", "权限"),
    "volume.head.source": ("FOLDER", "目录"),
    "volume.head.tier": ("TIER", "层级"),
    "volume.head.when": ("WHEN", "时机"),
    "volume.head.where": ("NODES", "节点"),
    "volume.head.who": ("WHO", "谁可用"),
    "volume.no_change": (
        "Nothing to change: give at least one option, as in danlu volume set NAME --read-only",
        "没有要修改的内容：请至少给出一个选项，例如 danlu volume set 名称 --read-only",
    ),
    "volume.not_you": ("(not you)", "（不含你）"),
    "volume.on_request": ("where a job asks for it", "任务要求时"),
    "volume.read_only": ("read-only", "只读"),
    "volume.writable": ("read and write", "读写"),
    "volume.you": ("you", "你"),
    "usage.needs_value": (
        "{option} needs a value: {option} {metavar}",
        "{option} 需要一个值：{option} {metavar}",
    ),
    "usage.not_a_moment": (
        "{option} {value!r}: not a moment; write 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "{option} {value!r}：不是时刻；请写 2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
    "usage.not_a_number": (
        "{option} {value!r}: not a whole number",
        "{option} {value!r}：不是整数",
    ),
    "usage.not_a_time": (
        "{option} {value!r}: not a time; write seconds, or 90s, 10m, 2h, 1d",
        "{option} {value!r}：不是时间；请写秒数，或 90s、10m、2h、1d",
    ),
    "usage.not_both": ("{one} and {other} exclude each other", "{one} 和 {other} 不能同时使用"),
    "usage.see_help": ("{command} explains more", "详见 {command}"),
    "usage.takes_no_value": ("{option} takes no value", "{option} 不带值"),
    "usage.language": (
        "--lang {value!r}: write zh or en",
        "--lang {value!r}：请写 zh 或 en",
    ),
    "usage.unknown_word": (
        "There is no danlu {name} {word}; there is: {known}",
        "没有 danlu {name} {word}；可用：{known}",
    ),
    "usage.too_few": ("Something is missing: {arguments}", "缺少参数：{arguments}"),
    "usage.too_many": ("{word!r} is one word too many", "多余的参数 {word!r}"),
    "usage.unknown_command": ("There is no command {word!r}", "没有命令 {word!r}"),
    "usage.unknown_command_near": (
        "There is no command {word!r}; did you mean {near}?",
        "没有命令 {word!r}；是否想用 {near}？",
    ),
    "usage.unknown_option": ("There is no option {option}", "没有选项 {option}"),
    "usage.unknown_option_near": (
        "There is no option {option}; did you mean {near}?",
        "没有选项 {option}；是否想用 {near}？",
    ),
    "version.server": ("server {version} at {server}", "服务 {version}，位于 {server}"),
    "whoami": ("{user} ({role}) at {server}", "{user}（{role}），位于 {server}"),
    "why.eta": ("{words} ({time})", "{words}（{time}）"),
    "why.head_free": ("GPUS FREE", "空闲 GPU"),
    "why.head_holders": ("HELD BY", "占用者"),
    "why.change": ("- {change}: {effect}", "- {change}：{effect}"),
    "why.head_lacks": ("LACKS", "缺少"),
    "why.head_need": ("NEEDED", "需要"),
    "why.head_node": ("NODE", "节点"),
    "why.lacks_cards": ("cards", "卡"),
    "why.lacks_cpus": ("CPUs", "CPU"),
    "why.lacks_drained": ("taken out", "已停用"),
    "why.lacks_labels": ("label", "标签"),
    "why.lacks_memory": ("memory", "内存"),
    "why.lacks_model": ("model", "型号"),
    "why.lacks_named": ("not chosen", "未被选中"),
    "why.lacks_queue": ("not in its queue", "不在该队列"),
    "why.lacks_up": ("no answer", "未响应"),
    "why.lacks_volumes": ("volume", "存储卷"),
    "why.more_nodes": ("{count} more nodes have less", "另有 {count} 个节点更少"),
    "why.position": ("Place in the queue: {position}", "队列位置：{position}"),
    "why.sooner": ("What was tried to start it sooner:", "为提前开始而试过的改动："),
}

_chosen: int | None = None


def language() -> int:
    """EN or ZH: --lang, DANLU_LANG, then the locale."""
    global _chosen
    if _chosen is None:
        environ = os.environ
        names = ("DANLU_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
        found = next((environ[name] for name in names if environ.get(name)), "")
        _chosen = ZH if found.lower().startswith("zh") else EN
    return _chosen


def use(name: str) -> bool:
    """Whether it is a language that is spoken here: zh, en, or a locale of one of them."""
    global _chosen
    known = {"zh": ZH, "en": EN}.get(name.lower()[:2])
    _chosen = _chosen if known is None else known
    return known is not None


def t(key: str, **params: object) -> str:
    found = TEXTS.get(key) or everything()[key]
    return found[language()].format(**params)


def everything() -> dict[str, tuple[str, str]]:
    """Also what only some commands say: it is not loaded before one of them speaks."""
    from danlu.cli.texts_people import PEOPLE
    from danlu.cli.texts_scheduling import SCHEDULING

    return TEXTS | PEOPLE | SCHEDULING


def pick(source: Any, name: str) -> Any:
    """The server's text in the reader's language: `message` stands for message_en or message_zh."""
    suffix = "zh" if language() == ZH else "en"
    key = f"{name}_{suffix}" if name else suffix
    return source.get(key) if isinstance(source, dict) else getattr(source, key, None)
