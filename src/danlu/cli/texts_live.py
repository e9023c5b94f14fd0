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
        "{ref} has a terminal, but standard input is none; showing its output only",
        "{ref} 使用终端，而标准输入不是终端；只显示输出",
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
