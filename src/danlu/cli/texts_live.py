"""Messages of the commands that stay with a job or the cluster: (en, zh). Loaded on demand."""

LIVE: dict[str, tuple[str, str]] = {
    "attach.ended": (
        "{ref} has ended; danlu logs {ref} shows its output",
        "{ref} 已结束；danlu logs {ref} 显示它的输出",
    ),
    "attach.no_input": (
        "{ref} takes no input; showing its output. Ctrl-C asks whether to leave it",
        "{ref} 不接受输入；只显示输出。Ctrl-C 可选择离开",
    ),
    "attach.not_a_terminal": (
        "{ref} uses a terminal, but standard input is not one; showing its output only",
        "{ref} 使用终端，而标准输入不是终端；只显示输出",
    ),
    "key.added": (
        "{fingerprint} added; danlu ssh JOB enters a running job",
        "已添加 {fingerprint}；danlu ssh 任务 可进入运行中的任务",
    ),
    "key.cannot_read": ("Cannot read {path}: {cause}", "无法读取 {path}：{cause}"),
    "key.head_added": ("ADDED", "添加"),
    "key.head_fingerprint": ("FINGERPRINT", "指纹"),
    "key.head_id": ("ID", "编号"),
    "key.head_label": ("LABEL", "标签"),
    "key.no_usual": (
        "No public key in ~/.ssh: make one with ssh-keygen -t ed25519, or name a file",
        "~/.ssh 中没有公钥：用 ssh-keygen -t ed25519 生成，或指定文件",
    ),
    "key.none": (
        "No SSH keys; danlu key add adds the one in ~/.ssh",
        "没有 SSH 公钥；danlu key add 添加 ~/.ssh 中的公钥",
    ),
    "key.private": (
        "{path} is a private key and was not sent; name the .pub file",
        "{path} 是私钥，没有发送；请指定 .pub 文件",
    ),
    "key.removed": ("{count} {count:key|keys} removed", "已删除 {count} 个公钥"),
    "key.too_large": (
        "{path} is too large for a public key; name a .pub file with one key",
        "{path} 太大，不是公钥；请指定只含一个公钥的 .pub 文件",
    ),
    "open.bad_door": (
        "{word} cannot be opened; use lab, code, tensorboard or a port",
        "没有入口 {word}；请写 lab、code、tensorboard 或端口号",
    ),
    "open.which": (
        "Which port of {ref}? danlu open {ref} PORT; its ports: {ports}",
        "要打开 {ref} 的哪个端口？danlu open {ref} 端口；分配给它的端口：{ports}",
    ),
    "open.which_none": (
        "Which port does {ref} listen on? danlu open {ref} PORT",
        "{ref} 监听哪个端口？danlu open {ref} 端口",
    ),
    "ssh.cannot_write": ("Cannot write {path}: {cause}", "无法写入 {path}：{cause}"),
    "ssh.host_key": (
        "The server's host key (ED25519): {fingerprint}",
        "服务器的主机密钥（ED25519）：{fingerprint}",
    ),
    "ssh.install_all": (
        "--install is for all running jobs; leave out the job",
        "--install 针对所有运行中的任务；请去掉任务名",
    ),
    "ssh.installed": (
        "Running jobs are in {file}: ssh JOB.danlu; the list is renewed whenever it is used",
        "运行中的任务已写入 {file}：ssh 任务.danlu；每次使用时自动更新",
    ),
    "ssh.no_client": (
        "No ssh program here; install OpenSSH, or use another client: {line}",
        "这里没有 ssh 程序；请安装 OpenSSH，或使用其他客户端：{line}",
    ),
    "ssh.none_running": (
        "# None of your jobs is running",
        "# 你没有运行中的任务",
    ),
    "ssh.off": (
        "This server does not accept SSH clients; use danlu shell or danlu exec, or ask the admin "
        "about server.ssh",
        "该服务器不接受 SSH 连接；请用 danlu shell 或 danlu exec，或向管理员询问 server.ssh",
    ),
    "shell.no_terminal": (
        "danlu shell needs a terminal; in scripts use danlu run or danlu exec",
        "danlu shell 需要终端；脚本中请用 danlu run 或 danlu exec",
    ),
    "shell.running_already": (
        "{option} is for a new shell; the job is running already",
        "{option} 只用于新开的 shell；任务已在运行",
    ),
    "shell.task_of_job": (
        "--task needs a job: danlu shell JOB --task N",
        "--task 需要写明任务：danlu shell JOB --task N",
    ),
    "top.away": ("server not reachable ({cause}); retrying", "服务不可达（{cause}）；正在重试"),
    "top.gpus": ("GPUs", "显卡"),
    "top.counts": (
        "{used} used · {free} free · {out} out",
        "占用 {used} · 空闲 {free} · 停用 {out}",
    ),
    "top.head_cpus": ("CPUS", "CPU"),
    "top.head_eta": ("STARTS", "预计开始"),
    "top.head_gpu": ("GPU USE", "GPU 使用率"),
    "top.head_gpus": ("GPUS", "GPU"),
    "top.head_left": ("LEFT", "剩余"),
    "top.head_memory": ("MEMORY", "内存"),
    "top.head_models": ("MODEL", "型号"),
    "top.head_node": ("NODE", "节点"),
    "top.head_ran": ("RAN", "运行"),
    "top.head_where": ("WHERE", "位置"),
    "top.head_why": ("WHY IT WAITS", "等待原因"),
    "top.jobs": ("{running} running · {waiting} waiting", "运行 {running} · 等待 {waiting}"),
    "top.keys": ("q quits", "q 退出"),
    "top.more": ("and {count} more", "另有 {count} 个"),
    "top.no_estimate": ("-", "—"),
    "top.now": ("now", "即将"),
    "top.outside": ("{count} outside", "外部 {count}"),
    "top.running": ("RUNNING", "运行中"),
    "top.unknown": ("{count} unknown", "未知 {count}"),
    "top.unknown_since": ("unknown since {since}", "自 {since} 起状态未知"),
    "top.waiting": ("WAITING", "等待中"),
}
