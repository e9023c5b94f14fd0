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
    "cmd.cluster": ("Adds up what all cards are doing", "汇总所有卡的使用情况"),
    "about.cluster": (
        "Every card is counted once: cards = free + reserved + used + out. Reserved: free, but "
        "kept for a waiting job. Out: on nodes that are down or taken out.",
        "每张卡只计一次：卡数 = 空闲 + 预留 + 占用 + 停用。预留：空闲，但留给某个等待的任务。"
        "停用：所在节点离线或被停用。",
    ),
    "cmd.drain": (
        "Takes nodes out: nothing new starts there, what runs goes on",
        "停用节点：不再开始新任务，运行中的继续",
    ),
    "cmd.resume": ("Takes nodes back in", "恢复节点"),
    "cmd.queue": (
        "Lists the queues; admins make, resize and merge them",
        "列出队列；管理员可建立、调整和合并",
    ),
    "about.queue": (
        "A queue is a share of the nodes with rules of its own. Changes hold at once, for jobs "
        "that wait, too; what runs is not touched:\n"
        "  danlu queue set vision --node n1 --node n2 --order fair\n"
        "  danlu queue set vision --all-nodes\n"
        "  danlu queue merge vision default\n"
        "Merged, its jobs and nodes are the other's, and jobs that name it go there. 'none' takes "
        "a rule back. Queues of danlu.toml are changed there.",
        "队列是一部分节点和自己的规则。修改立即生效，对等待的任务也一样；运行中的不受影响：\n"
        "  danlu queue set vision --node n1 --node n2 --order fair\n"
        "  danlu queue set vision --all-nodes\n"
        "  danlu queue merge vision default\n"
        "合并之后，任务和节点归另一个队列，写原名称的任务也会去那里。写 none 表示取消某条规则。"
        "danlu.toml 中的队列在那里修改。",
    ),
    "cmd.quota": (
        "Lists your quotas; admins set them for users and groups",
        "列出你的配额；管理员可为用户和组设置",
    ),
    "about.quota": (
        "How much somebody may hold at once; more waits, and says so. It holds at once. * stands "
        "for everybody who has none of their own, 0 allows none at all, 'none' takes a limit "
        "away:\n"
        "  danlu quota set user alice --gpus 8 --model A100=2\n"
        "  danlu quota set user '*' --gpus 4\n"
        "  danlu quota set group vision --gpus 16 --guaranteed 4\n"
        "Quotas of danlu.toml are changed there.",
        "某人或某组同时最多占用多少；超出的会排队并说明原因。立即生效。* 表示没有单独配额的所有人，"
        "0 表示完全不能用，none 表示取消某个上限：\n"
        "  danlu quota set user alice --gpus 8 --model A100=2\n"
        "  danlu quota set user '*' --gpus 4\n"
        "  danlu quota set group vision --gpus 16 --guaranteed 4\n"
        "danlu.toml 中的配额在那里修改。",
    ),
    "opt.queue.node": ("its nodes; may be repeated", "它的节点；可重复"),
    "opt.queue.all-nodes": ("all nodes", "所有节点"),
    "opt.order": (
        "who is next: fifo, easy, fair, short-first",
        "谁先：fifo、easy、fair、short-first",
    ),
    "opt.place": (
        "where: tight, spread, server, card, person, learned",
        "放在哪里：tight、spread、server、card、person、learned",
    ),
    "opt.backfill": (
        "whether a later job may start first where it delays nobody",
        "后来的任务在不耽误任何人时是否可以先开始",
    ),
    "opt.max-wait": (
        "having waited this long, a job goes before the order",
        "等了这么久的任务排到最前",
    ),
    "opt.half-life": ("fair: after this long, past use counts half", "fair：过去用量减半的时间"),
    "opt.lend": ("whether idle guaranteed cards are lent", "空闲的保障卡是否借出"),
    "opt.reclaim": (
        "whether lent cards come back by ending preemptible work",
        "是否靠结束可抢占的任务收回借出的卡",
    ),
    "opt.consolidate": (
        "whether preemptible work is moved together for a waiting job",
        "是否把可抢占的任务并到一起，让等待的任务开始",
    ),
    "opt.quota.gpus": ("cards in all", "总卡数"),
    "opt.quota.model": ("cards of a model; may be repeated", "某型号的卡数；可重复"),
    "opt.quota.cpus": ("CPUs in all", "总 CPU 数"),
    "opt.quota.memory": ("memory in all, as 512G", "总内存，如 512G"),
    "opt.guaranteed": (
        "cards that are the group's whenever it wants them",
        "组里任何时候想用就有的卡数",
    ),
    "opt.replay.job": ("explains this job only", "只说明这个任务"),
    "opt.replay.limit": (
        "explains at most so many jobs (default 100)",
        "最多说明多少个任务（默认 100）",
    ),
}
