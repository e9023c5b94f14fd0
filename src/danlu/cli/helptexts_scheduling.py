"""What the help says of the commands about scheduling: (en, zh)."""

SCHEDULING: dict[str, tuple[str, str]] = {
    "cmd.snapshot": (
        "Prints all that the scheduler decides on, as JSON",
        "以 JSON 输出调度器决策所依据的全部内容",
    ),
    "about.snapshot": (
        "Nodes, who runs and who waits, quotas, past use and the rules of the queues; no commands, "
        "no variables, no secrets. For admins. Keep it when a decision looks wrong:\n"
        "  danlu snapshot > odd.json\n"
        "  danlu replay odd.json",
        "包括节点、运行和等待的任务、配额、历史用量和队列规则；不含命令、变量和密钥。仅管理员可用。"
        "调度结果可疑时请保存：\n"
        "  danlu snapshot > odd.json\n"
        "  danlu replay odd.json",
    ),
    "cmd.replay": (
        "Decides again on a snapshot, and says why each job waits",
        "对快照重新决策，并说明每个任务为什么等待",
    ),
    "about.replay": (
        "Runs the very code of the server on the file, without a server: what would start where, "
        "and for each job that stays, what keeps it.",
        "不需要服务器，用与服务器相同的代码处理该文件：什么任务会在哪里开始，"
        "其余任务各被什么拦住。",
    ),
    "opt.replay.job": ("explains this job only", "只说明这个任务"),
    "opt.replay.limit": (
        "explains at most so many jobs (default 100)",
        "最多说明多少个任务（默认 100）",
    ),
}
