"""Every message of the command line: (en, zh)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EN, ZH = 0, 1

TEXTS: dict[str, tuple[str, str]] = {
    "array.first": (
        "{asked} is an array; showing {ref}. List all with danlu jobs --all --name {name}",
        "{asked} 是数组，这里显示的是 {ref}；danlu jobs --all --name {name} 列出全部",
    ),
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
    "backup.done": ("{file}: {size}, complete", "{file}：{size}，完整"),
    "basis.engine": ("from the engine", "引擎给出"),
    "basis.estimate": ("estimated", "估计"),
    "basis.verified": ("verified", "已验证"),
    "edit.nothing": (
        "Nothing to change: give at least one option, e.g. danlu edit mnist-3 --gpus 2",
        "没有要修改的内容：请至少给出一个选项，例如 danlu edit mnist-3 --gpus 2",
    ),
    "clone.editor_failed": (
        "{editor} exited with status {status}; nothing was submitted",
        "{editor} 以状态 {status} 结束；没有提交任何任务",
    ),
    "clone.kept": (
        "Your changes are saved in {file}; fix it and run: danlu submit {file}",
        "你的修改保存在 {file}；改正后运行：danlu submit {file}",
    ),
    "clone.no_editor": (
        "Cannot start the editor {editor}: {cause}. Set EDITOR, or use -o FILE",
        "无法启动编辑器 {editor}：{cause}。请设置 EDITOR，或使用 -o FILE",
    ),
    "clone.unchanged": ("No changes; nothing was submitted", "没有改动，未提交"),
    "completion.unknown": (
        "No completion for {shell!r}; available: {known}",
        "没有 {shell!r} 的补全；可用：{known}",
    ),
    "context.unreadable": (
        "Cannot use the context file {path}: {cause}. Fix or remove it, then run danlu login",
        "无法使用上下文文件 {path}：{cause}。请改正或删除它，然后运行 danlu login",
    ),
    "down.done": ("Stopping the server at {server}", "服务 {server} 正在停止"),
    "down.nothing": ("No tasks are running", "没有正在运行的任务"),
    "down.running": (
        "{count} {count:job keeps|jobs keep} running; danlu up adopts {count:it|them} again:",
        "{count} 个任务继续运行；danlu up 会重新接管它们：",
    ),
    "exec.cut": ("connection closed", "连接中断"),
    "exec.keys": (
        "After Enter: ~. detaches, ~~ types a tilde",
        "按回车后：~. 离开，~~ 输入波浪号",
    ),
    "exec.refused": (
        "Cannot run the command in {ref}: {cause}",
        "无法在 {ref} 中运行命令：{cause}",
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
    "gpu.down": ("down", "不可用"),
    "gpu.drained": ("drained", "已停用"),
    "gpu.free": ("free", "空闲"),
    "gpu.outside": ("outside", "外部占用"),
    "gpu.reserved": ("reserved", "预留"),
    "gpu.unknown": ("unknown", "未知"),
    "gpu.used": ("used", "占用"),
    "gpus.head_index": ("GPU", "卡号"),
    "gpus.head_job": ("JOB", "任务"),
    "gpus.head_model": ("MODEL", "型号"),
    "gpus.head_node": ("NODE", "节点"),
    "gpus.head_since": ("FOR", "时长"),
    "gpus.head_state": ("STATE", "状态"),
    "gpus.none": (
        "No GPUs here; danlu nodes lists the nodes",
        "这里没有 GPU；danlu nodes 显示现有资源",
    ),
    "gpus.summary": ("{model}: {free} of {total} free", "{model}：{total} 张中 {free} 张空闲"),
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
    "login.done": (
        "Logged in to {server} as {user}; saved as context {name}",
        "已以 {user} 登录 {server}；保存为上下文 {name}",
    ),
    "login.must_change": (
        "This is a one-time password: change it with danlu passwd",
        "这是一次性密码：请用 danlu passwd 修改",
    ),
    "login.no_user": ("User name missing: use --user NAME", "缺少用户名：请指定 --user 用户名"),
    "login.password": ("Password for {user}:", "{user} 的密码："),
    "login.user": ("User:", "用户："),
    "logs.waits": (
        "{ref} is waiting in the queue and has no output yet; see danlu why {ref}",
        "{ref} 在排队，还没有输出；danlu why {ref} 说明原因",
    ),
    "logs.more_matches": (
        "More matches available; increase --limit",
        "还有更多匹配；请增大 --limit",
    ),
    "logs.no_json": (
        "--json cannot be used with raw output; see danlu show --json",
        "--json 不能用于原始输出；任务信息请用 danlu show --json",
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
    "nodes.away": ("unknown", "未知"),
    "nodes.down": ("down", "离线"),
    "nodes.head_cpus": ("CPUS FREE", "空闲 CPU"),
    "nodes.head_gpus": ("GPUS FREE", "空闲 GPU"),
    "nodes.head_memory": ("MEMORY FREE", "空闲内存"),
    "nodes.head_node": ("NODE", "节点"),
    "nodes.head_note": ("NOTE", "说明"),
    "nodes.head_state": ("STATE", "状态"),
    "nodes.none": ("No nodes", "没有节点"),
    "nodes.up": ("up", "在线"),
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
    "secret.ask": ("Value of {name} (hidden):", "{name} 的值（不显示）："),
    "secret.empty": (
        "{name}: no value; type it, or pipe it in: danlu secret set {name} < file",
        "{name}：没有值；请输入，或从文件读取：danlu secret set {name} < file",
    ),
    "secret.gone": ("{name} deleted", "{name} 已删除"),
    "secret.none": ("No secrets", "没有密钥"),
    "secret.set": (
        "{name} saved; pass it to a job with danlu run --secret VARIABLE={name}",
        "{name} 已设置；danlu run --secret VARIABLE={name} 可交给任务",
    ),
    "run.ended": ("{ref}: {reason}", "{ref}：{reason}"),
    "run.ended_advice": ("{ref}: {reason}. {advice}", "{ref}：{reason}。{advice}"),
    "server.bad_address": (
        "{address!r} is not a server address; use http://host:port, https://host or unix:/path",
        "{address!r} 不是服务地址；请写 http://主机:端口、https://主机 或 unix:/路径",
    ),
    "passwd.done": ("Password changed", "密码已修改"),
    "passwd.new": ("New password (at least 10 characters):", "新密码（至少 10 个字符）："),
    "passwd.old": ("Current password:", "当前密码："),
    "passwd.twice": (
        "The new passwords do not match; nothing was changed",
        "两次输入的新密码不同；没有修改",
    ),
    "passwd.again": ("New password again:", "再输入一次新密码："),
    "server.login": (
        "Get a valid token with danlu login",
        "运行 danlu login 获取有效令牌",
    ),
    "server.login_instead_of": (
        "The token came from {source} and is not valid here: it may have expired. Set a valid one, "
        "or leave {source} out to use your login (danlu login)",
        "令牌来自 {source}，在这里无效，可能已过期。请换一个有效的，"
        "或去掉 {source} 以使用已保存的登录（danlu login）",
    ),
    "server.asked": (
        "The address was {server}. danlu context list shows the servers you have logged in to",
        "地址是 {server}。danlu context list 列出你登录过的服务",
    ),
    "server.bad_token": (
        "Invalid token: unexpected characters. Copy it again, or run danlu login",
        "令牌无效：含有意外的字符。请重新复制，或运行 danlu login",
    ),
    "server.disk_full": (
        "Warning: the server's disk has been full since {since}. New jobs are refused until space "
        "is freed; output of running jobs may be lost",
        "警告：服务器磁盘自 {since} 起已满。清理空间之前不接受新任务；运行中任务的输出可能丢失",
    ),
    "server.disk_low": (
        "Warning: the server's disk has been almost full since {since}: {free} left. Delete what "
        "you no longer need; running jobs may fill it",
        "警告：服务器磁盘自 {since} 起快满了，剩余 {free}。请删除不再需要的文件；"
        "运行中的任务可能把它写满",
    ),
    "server.ca_file": (
        "Cannot use the certificates in DANLU_CA_FILE: {cause}. It must be a PEM file",
        "无法使用 DANLU_CA_FILE 指定的证书：{cause}。请指定 PEM 格式的文件",
    ),
    "server.no_tls": (
        "{where} does not use TLS ({cause}). Use http:// instead of https://",
        "{where} 不使用 TLS（{cause}）。请把 https:// 改成 http://",
    ),
    "server.untrusted": (
        "Certificate of {where} not trusted: {cause}. For a self-signed one: "
        "DANLU_CA_FILE=cert.pem danlu ...",
        "{where} 的证书不受信任：{cause}。如果是自签名证书：DANLU_CA_FILE=cert.pem danlu ...",
    ),
    "server.lost": (
        "Connection to {where} lost ({cause}); the request may have been processed",
        "与 {where} 的连接中断（{cause}）；请求可能已执行",
    ),
    "server.no_context": (
        "No such context: {name!r}; create it with danlu login URL --name {name}",
        "没有上下文 {name!r}；danlu login URL --name {name} 可创建",
    ),
    "server.none": (
        "No server configured. Start one here with danlu up, or use another with danlu login URL",
        "没有已知的服务。danlu up 在本机启动；danlu login URL 使用其他服务",
    ),
    "server.refused": (
        "The server rejected the request (HTTP {status})",
        "服务拒绝了请求（HTTP {status}）",
    ),
    "server.strange": (
        "Not a Danlu server: {cause}. Check the address",
        "对方不是 Danlu 服务：{cause}。请检查地址",
    ),
    "server.unreachable": (
        "No server at {where}: {cause}. Start it with danlu up, or choose another with --server",
        "{where} 没有服务响应：{cause}。用 danlu up 启动，或用 --server 指定其他服务",
    ),
    "phase.absent": ("absent", "不存在"),
    "phase.exited": ("exited", "已退出"),
    "phase.lost": ("lost", "丢失"),
    "phase.pending": ("pending", "等待"),
    "phase.running": ("running", "运行"),
    "phase.starting": ("starting", "启动"),
    "show.advice": ("Advice", "建议"),
    "show.before": ("Earlier run", "此前运行"),
    "show.command": ("Command", "命令"),
    "show.cpus": ("CPUs", "CPU"),
    "show.memory": ("Memory", "内存"),
    "show.tasks": ("Tasks", "子任务数"),
    "show.time_limit": ("Time limit", "时间上限"),
    "show.waits_again": (
        "ran {ran} until {ended}, waits again. {reason}",
        "运行 {ran}，到 {ended} 为止，重新等待。{reason}",
    ),
    "show.workdir": ("Folder", "工作目录"),
    "show.image": ("Image", "镜像"),
    "show.each": ("{value} per task", "每个子任务 {value}"),
    "show.doing": ("Doing", "正在"),
    "show.ended": ("Ended", "结束"),
    "show.evidence": ("Log", "日志"),
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
    "show.head_role_command": ("COMMAND", "命令"),
    "show.head_role_cpus": ("CPUS", "CPU"),
    "show.head_role_gpus": ("GPUS", "GPU"),
    "show.head_role_image": ("IMAGE", "镜像"),
    "show.head_role_memory": ("MEMORY", "内存"),
    "show.head_role_role": ("ROLE", "角色"),
    "show.head_role_tasks": ("TASKS", "子任务"),
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
        "Cannot stop {ref}: {cause}; it keeps running. Interrupt again to retry",
        "无法停止 {ref}：{cause}；任务继续运行。再次中断可重试",
    ),
    "stop.now": ("Killing {ref}", "立即结束 {ref}"),
    "stop.politely": (
        "Stopping {ref}; interrupt again to kill it",
        "正在停止 {ref}；再次中断则立即结束",
    ),
    "convert.cannot": (
        "{file} cannot be converted",
        "{file} 无法转换",
    ),
    "convert.cannot_read_as": (
        "{file} (read as {language}) cannot be converted",
        "{file}（按 {language} 读取）无法转换",
    ),
    "convert.no_reader": (
        "No server available, and the file cannot be converted locally: {cause}",
        "没有服务响应，本机也无法转换：{cause}",
    ),
    "shims.installed": ("{path}  installed", "{path}  已安装"),
    "shims.none": (
        "None of these commands were installed by Danlu in {folder}",
        "{folder} 中没有由 Danlu 安装的这些命令",
    ),
    "shims.not_on_path": (
        "{folder} is not in your PATH; add it: export PATH={folder}:$PATH",
        "{folder} 不在 PATH 中；请加入：export PATH={folder}:$PATH",
    ),
    "shims.real": (
        "Skipped {name}: a real one exists at {real} (--over installs it anyway)",
        "没有安装 {name}：已有真命令 {real}（--over 强制安装）",
    ),
    "shims.removed": ("{path}  removed", "{path}  已删除"),
    "shims.unknown": (
        "No command {name!r} to install; available: {known}",
        "没有可安装的命令 {name!r}；现有：{known}",
    ),
    "shims.verb": ("{verb!r}: use install or remove", "{verb!r}：请写 install 或 remove"),
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
    "demo.note": (
        "(demo: people, jobs and GPU usage are made up)",
        "（演示：人员、任务和显卡使用情况均为虚构）",
    ),
    "up.cannot": ("Cannot start {program}: {cause}", "无法启动 {program}：{cause}"),
    "volume.all_nodes": ("all nodes", "所有节点"),
    "volume.everybody": ("everybody", "所有人"),
    "volume.everywhere": ("in every task", "每个任务"),
    "volume.gone": (
        "Volume {name} removed; its folder is unchanged",
        "存储卷 {name} 已删除；目录保持原样",
    ),
    "volume.head.declared": ("DECLARED", "声明方式"),
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
        "Nothing to change: give at least one option, e.g. danlu volume set NAME --read-only",
        "没有要修改的内容：请至少给出一个选项，例如 danlu volume set 名称 --read-only",
    ),
    "volume.not_you": ("(not you)", "（不含你）"),
    "volume.on_request": ("if a job asks for it", "任务要求时"),
    "volume.read_only": ("read-only", "只读"),
    "volume.writable": ("read-write", "读写"),
    "volume.you": ("you", "你"),
    "usage.needs_value": (
        "{option} needs a value: {option} {metavar}",
        "{option} 需要一个值：{option} {metavar}",
    ),
    "usage.not_a_moment": (
        "{option} {value!r}: not a time; use 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "{option} {value!r}：不是时刻；请写 2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
    "usage.not_a_number": (
        "{option} {value!r}: not an integer",
        "{option} {value!r}：不是整数",
    ),
    "usage.not_a_time": (
        "{option} {value!r}: not a duration; use seconds, or 90s, 10m, 2h, 1d",
        "{option} {value!r}：不是时长；请写秒数，或 90s、10m、2h、1d",
    ),
    "usage.not_both": ("{one} and {other} cannot be combined", "{one} 和 {other} 不能同时使用"),
    "usage.see_help": ("See {command}", "详见 {command}"),
    "usage.takes_no_value": ("{option} takes no value", "{option} 不带值"),
    "usage.language": (
        "--lang {value!r}: must be zh or en",
        "--lang {value!r}：请写 zh 或 en",
    ),
    "usage.unknown_word": (
        "Unknown command danlu {name} {word}; available: {known}",
        "没有 danlu {name} {word}；可用：{known}",
    ),
    "usage.too_few": ("Missing argument: {arguments}", "缺少参数：{arguments}"),
    "usage.too_many": ("Unexpected argument {word!r}", "多余的参数 {word!r}"),
    "usage.unknown_command": ("Unknown command {word!r}", "没有命令 {word!r}"),
    "usage.unknown_command_near": (
        "Unknown command {word!r}; did you mean danlu {near}?",
        "没有命令 {word!r}；是否想用 danlu {near}？",
    ),
    "usage.unknown_option": ("Unknown option {option}", "没有选项 {option}"),
    "usage.unknown_option_near": (
        "Unknown option {option}; did you mean {near}?",
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
    "why.lacks_gpus": ("GPUs", "卡"),
    "why.lacks_cpus": ("CPUs", "CPU"),
    "why.lacks_drained": ("drained", "已停用"),
    "why.lacks_labels": ("label", "标签"),
    "why.lacks_memory": ("memory", "内存"),
    "why.lacks_model": ("model", "型号"),
    "why.lacks_named": ("not requested", "未被选中"),
    "why.lacks_queue": ("not in its queue", "不在该队列"),
    "why.lacks_up": ("not responding", "未响应"),
    "why.lacks_volumes": ("volume", "存储卷"),
    "why.more_nodes": ("{count} more {count:node has|nodes have} less", "另有 {count} 个节点更少"),
    "why.position": ("Position in the queue: {position}", "队列位置：{position}"),
    "why.sooner": ("Tried to start it sooner:", "为提前开始而试过的改动："),
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
    found = (TEXTS.get(key) or everything()[key])[language()]
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


def everything() -> dict[str, tuple[str, str]]:
    """Also looks in the tables of some commands, loaded only when needed."""
    from danlu.cli.texts_data import DATA
    from danlu.cli.texts_environments import ENVIRONMENTS
    from danlu.cli.texts_files import FILES
    from danlu.cli.texts_images import IMAGES
    from danlu.cli.texts_live import LIVE
    from danlu.cli.texts_metrics import METRICS
    from danlu.cli.texts_people import PEOPLE
    from danlu.cli.texts_registry import REGISTRY
    from danlu.cli.texts_scheduling import SCHEDULING
    from danlu.cli.texts_tensorboard import TENSORBOARD

    return (
        TEXTS
        | PEOPLE
        | SCHEDULING
        | METRICS
        | LIVE
        | ENVIRONMENTS
        | IMAGES
        | REGISTRY
        | FILES
        | DATA
        | TENSORBOARD
    )


def both(key: str, **params: object) -> dict[str, str]:
    """A message in both languages, as the server's are."""
    found = TEXTS.get(key) or everything()[key]
    return {"message_en": found[EN].format(**params), "message_zh": found[ZH].format(**params)}


def pick(source: Any, name: str) -> Any:
    """The server's text in the reader's language: `message` stands for message_en or message_zh."""
    suffix = "zh" if language() == ZH else "en"
    key = f"{name}_{suffix}" if name else suffix
    return source.get(key) if isinstance(source, dict) else getattr(source, key, None)
