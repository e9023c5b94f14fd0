"""Help texts of the commands about scheduling: (en, zh)."""

SCHEDULING: dict[str, tuple[str, str]] = {
    "cmd.snapshot": (
        "Print the scheduler's input as JSON",
        "以 JSON 输出调度器决策所依据的全部内容",
    ),
    "about.snapshot": (
        "Nodes, running and waiting jobs, quotas, past usage and queue rules; no commands, "
        "variables or secrets. For admins. Save it when a decision looks wrong:\n"
        "  danlu snapshot > odd.json\n"
        "  danlu replay odd.json",
        "包括节点、运行和等待的任务、配额、历史用量和队列规则；不含命令、变量和密钥。仅管理员可用。"
        "调度结果可疑时请保存：\n"
        "  danlu snapshot > odd.json\n"
        "  danlu replay odd.json",
    ),
    "cmd.replay": (
        "Repeat the decision on a snapshot, and explain why each job waits",
        "对快照重新决策，并说明每个任务为什么等待",
    ),
    "about.replay": (
        "Runs the server's own scheduling code on the file, without a server: what would start "
        "where, and what keeps each of the other jobs waiting.",
        "不需要服务器，用与服务器相同的代码处理该文件：什么任务会在哪里开始，"
        "其余任务各被什么拦住。",
    ),
    "cmd.usage": (
        "Show the usage of a job or node: CPU, memory, GPUs, disk, network",
        "显示任务或节点的用量：CPU、内存、GPU、磁盘、网络",
    ),
    "about.usage": (
        "For a job from start to end, for a node the last hour:\n"
        "  danlu usage mnist-3\n"
        "  danlu usage mnist-3 --task 1 --since 2h\n"
        "  danlu usage --node n1\n"
        "Sampled every 10 seconds and kept for a month, at falling resolution. Gaps in the chart "
        "are times without samples. Declared GPUs without hardware have no utilization.",
        "任务显示从开始到结束的用量，节点显示最近一小时的用量：\n"
        "  danlu usage mnist-3\n"
        "  danlu usage mnist-3 --task 1 --since 2h\n"
        "  danlu usage --node n1\n"
        "每 10 秒测量一次，保留一个月；越早的越粗略。图中的空白表示当时没有测量。"
        "没有硬件的声明卡没有利用率。",
    ),
    "opt.usage.task": ("only this task", "只看此子任务"),
    "opt.usage.node": ("show this node instead of a job", "显示此节点，而不是任务"),
    "opt.usage.since": (
        "since: 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "从此时刻起：2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
    "opt.usage.until": ("until", "到此时刻为止"),
    "opt.learned": (
        "show the usual requests that jobs are packed for",
        "显示放置任务时依据的平常请求",
    ),
    "cmd.cluster": ("Summarize what all GPUs are doing", "汇总所有卡的使用情况"),
    "about.cluster": (
        "Every GPU is counted once: total = free + reserved + used + out. Reserved: free, but "
        "kept for a waiting job. Out: on nodes that are down or drained.",
        "每张卡只计一次：卡数 = 空闲 + 预留 + 占用 + 停用。预留：空闲，但留给某个等待的任务。"
        "停用：所在节点离线或被停用。",
    ),
    "cmd.drain": (
        "Drain nodes: nothing new starts there, running jobs continue",
        "停用节点：不再开始新任务，运行中的继续",
    ),
    "opt.reason": (
        "why, shown wherever the node is: --reason 'new fan on Friday'",
        "原因，显示在该节点出现的各处：--reason '周五换风扇'",
    ),
    "cmd.resume": ("Resume drained nodes", "恢复节点"),
    "cmd.queue": (
        "List queues; admins create, change and merge them",
        "列出队列；管理员可建立、调整和合并",
    ),
    "about.queue": (
        "A queue is a set of nodes with its own rules. Changes take effect at once, also for "
        "waiting jobs; running jobs are not affected:\n"
        "  danlu queue set vision --node n1 --node n2 --order fair\n"
        "  danlu queue set vision --all-nodes\n"
        "  danlu queue merge vision default\n"
        "Merging moves its jobs and nodes to the other queue; jobs that still name it go there. "
        "'none' resets a rule. Queues in danlu.toml are changed there.",
        "队列是一部分节点和自己的规则。修改立即生效，对等待的任务也一样；运行中的不受影响：\n"
        "  danlu queue set vision --node n1 --node n2 --order fair\n"
        "  danlu queue set vision --all-nodes\n"
        "  danlu queue merge vision default\n"
        "合并之后，任务和节点归另一个队列，写原名称的任务也会去那里。写 none 表示取消某条规则。"
        "danlu.toml 中的队列在那里修改。",
    ),
    "cmd.quota": (
        "List your quotas; admins set them for users and groups",
        "列出你的配额；管理员可为用户和组设置",
    ),
    "about.quota": (
        "Limits how much a user or group may use at once; jobs beyond it wait, and say why. "
        "Changes take effect at once. * means everyone without a quota of their own, 0 allows "
        "nothing, 'none' removes a limit:\n"
        "  danlu quota set user alice --gpus 8 --model A100=2\n"
        "  danlu quota set user '*' --gpus 4\n"
        "  danlu quota set group vision --gpus 16 --guaranteed 4\n"
        "  danlu quota set user '*' --disk 500G\n"
        "Quotas in danlu.toml are changed there.",
        "某人或某组同时最多占用多少；超出的会排队并说明原因。立即生效。* 表示没有单独配额的所有人，"
        "0 表示完全不能用，none 表示取消某个上限：\n"
        "  danlu quota set user alice --gpus 8 --model A100=2\n"
        "  danlu quota set user '*' --gpus 4\n"
        "  danlu quota set group vision --gpus 16 --guaranteed 4\n"
        "  danlu quota set user '*' --disk 500G\n"
        "danlu.toml 中的配额在那里修改。",
    ),
    "opt.queue.engine": (
        "the engine that runs its jobs ([engines.NAME] in danlu.toml)",
        "运行其任务的引擎（danlu.toml 中的 [engines.名称]）",
    ),
    "opt.queue.kind": (
        "take only jobs of this kind (may be repeated; none: all kinds)",
        "只接受此类任务（可重复；none 表示所有类型）",
    ),
    "opt.queue.node": ("a node of the queue (repeatable)", "它的节点；可重复"),
    "opt.queue.all-nodes": ("all nodes", "所有节点"),
    "opt.order": (
        "order: fifo, easy, fair, short-first",
        "排队顺序：fifo、easy、fair、short-first",
    ),
    "opt.place": (
        "placement: tight, spread, server, gpu, person, learned",
        "放置策略：tight、spread、server、gpu、person、learned",
    ),
    "opt.backfill": (
        "whether a later job may start first if it delays nobody",
        "后来的任务在不耽误任何人时是否可以先开始",
    ),
    "opt.max-wait": (
        "jobs that have waited this long go first",
        "等了这么久的任务排到最前",
    ),
    "opt.half-life": ("fair: half-life of past usage", "fair：历史用量的半衰期"),
    "opt.lend": ("whether to lend idle guaranteed GPUs", "空闲的保障卡是否借出"),
    "opt.reclaim": (
        "whether to preempt jobs to reclaim lent GPUs",
        "是否靠结束可抢占的任务收回借出的卡",
    ),
    "opt.consolidate": (
        "whether to move preemptible jobs together so that a waiting job fits",
        "是否把可抢占的任务并到一起，让等待的任务开始",
    ),
    "opt.preempt": (
        "which preemptible jobs may be preempted for a waiting one: never, lower-priority",
        "等待的任务可以抢占哪些可抢占的任务：never、lower-priority（优先级更低的）",
    ),
    "opt.queue.priority": (
        "on nodes shared by several queues, higher goes first",
        "多个队列共用的节点上，数值大的队列优先",
    ),
    "opt.weight": (
        "its share of nodes used by several queues, relative to their weights",
        "在共用节点上与其他队列相比的份额",
    ),
    "opt.quota.gpus": ("total GPUs", "总卡数"),
    "opt.quota.model": ("GPUs of a model (repeatable)", "某型号的卡数；可重复"),
    "opt.quota.cpus": ("total CPUs", "总 CPU 数"),
    "opt.quota.disk": (
        "what may be kept in the home of a user, or the folder of a group: 500G, or none",
        "用户主目录（或组目录）可存放的大小，如 500G；none 表示不限",
    ),
    "opt.quota.memory": ("total memory, such as 512G", "总内存，如 512G"),
    "opt.guaranteed": (
        "GPUs guaranteed to the group",
        "为该组保障的卡数",
    ),
    "opt.replay.job": ("explain only this job", "只说明这个任务"),
    "opt.replay.limit": (
        "explain at most this many jobs (default 100)",
        "最多说明多少个任务（默认 100）",
    ),
}
