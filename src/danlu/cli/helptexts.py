"""What the help says: (en, zh). Loaded only when somebody asks for help."""

from danlu.cli.helptexts_people import PEOPLE
from danlu.cli.helptexts_scheduling import SCHEDULING

HELP: dict[str, tuple[str, str]] = {
    "danlu": (
        "Danlu: run work on the lab's GPUs, and always know why it waits.",
        "丹炉：在实验室的 GPU 上运行任务，随时知道它为什么等待。",
    ),
    "cmd.backup": (
        "Writes everything into one file, while the server runs",
        "在服务器运行时把所有内容写入一个文件",
    ),
    "about.backup": (
        "The database as it is at one moment, the logs, the settings and the keys; with --homes "
        "the users' folders, too. The file holds everybody's secrets: keep it to "
        "yourself.\n"
        "An admin's server is asked for it. With --data or --config the data folder is read "
        "directly, also when no server runs:\n"
        "  danlu backup --data /var/lib/danlu danlu.backup",
        "包括某一时刻的数据库、日志、设置和密钥；使用 --homes 时还包括用户目录。"
        "文件中有所有人的密钥：只有你能读取，请妥善保管。\n"
        "由管理员向服务器请求。使用 --data 或 --config 时直接读取数据目录，服务器不运行也可以：\n"
        "  danlu backup --data /var/lib/danlu danlu.backup",
    ),
    "cmd.restore": ("Puts a backup back, on this machine", "在本机恢复备份"),
    "about.restore": (
        "The server must not run. A data folder or database that is not empty is left alone unless "
        "--force is given; then what is there is moved aside. A backup of SQLite may be restored "
        "into PostgreSQL and the other way round: the configuration says which. Jobs that ran when "
        "the backup was made and do not run here are tried again by their own rules.\n"
        "A file that is damaged or cut off changes nothing.",
        "服务器不能在运行。数据目录或数据库不为空时不做改动，除非使用 --force；"
        "此时已有内容会移到一边。SQLite 的备份可以恢复到 PostgreSQL，反之亦可：由配置决定。"
        "备份时正在运行而本机没有运行的任务，会按各自的规则重试。\n"
        "损坏或不完整的文件不会改变任何内容。",
    ),
    "opt.homes": ("the users' own folders, too", "包括用户自己的目录"),
    "opt.force": ("moves aside what is there", "把已有内容移到一边"),
    "opt.check": ("only says whether it is whole and what is in it", "只检查是否完整、包含什么"),
    "cmd.volume": (
        "Lists the folders tasks may see; admins declare them",
        "列出任务可见的目录（存储卷）；由管理员声明",
    ),
    "about.volume": (
        "A volume is a folder of the machine with a name. Jobs mount it by that name "
        "(--mount fast:/data). Everybody lists what they may use; an admin declares:\n"
        "  danlu volume add fast /nvme/shared --tier fast --note 'SSD, not backed up'\n"
        "  danlu volume add scans /srv/scans --group medical --read-only --on-request\n"
        "  danlu volume set scans --user alice --node n1\n"
        "Those of danlu.toml are changed there.",
        "存储卷是机器上有名称的目录。任务按名称挂载（--mount fast:/data）。每个人都能列出自己可用的"
        "存储卷；由管理员声明：\n"
        "  danlu volume add fast /nvme/shared --tier fast --note '固态盘，不备份'\n"
        "  danlu volume add scans /srv/scans --group medical --read-only --on-request\n"
        "  danlu volume set scans --user alice --node n1\n"
        "danlu.toml 中声明的在那里修改。",
    ),
    "opt.path": ("where tasks see it (default /mnt/NAME)", "任务中的路径（默认 /mnt/名称）"),
    "opt.source": ("the folder of the machine", "机器上的目录"),
    "opt.read-only": ("no task may write to it", "任务不能写入"),
    "opt.writable": ("tasks may write where the folder's rights allow", "任务可写，以目录权限为准"),
    "opt.everywhere": ("in every task (the default)", "每个任务中都有（默认）"),
    "opt.on-request": ("only in tasks that ask for it", "只在要求它的任务中"),
    "opt.volume.group": ("only for this group; may be repeated", "只给此组；可重复"),
    "opt.volume.user": ("only for this user; may be repeated", "只给此用户；可重复"),
    "opt.everybody": ("for all users again", "重新对所有人开放"),
    "opt.volume.node": ("exists on this node only; may be repeated", "只在此节点上存在；可重复"),
    "opt.all-nodes": ("exists on all nodes", "在所有节点上存在"),
    "opt.tier": ("a word to choose by, as fast or large", "便于选择的词，如 fast、large"),
    "opt.yes": (
        "does not ask before what cannot be undone (only a terminal is asked)",
        "不可撤销的操作不再询问（只在终端上询问）",
    ),
    "opt.note": ("a line for people", "给人看的一行说明"),
    "title.usage": ("Usage", "用法"),
    "title.commands": ("Commands", "命令"),
    "title.options": ("Options", "选项"),
    "title.option": ("Option", "选项"),
    "title.common": ("Options of every command", "通用选项"),
    "title.environment": ("Environment variables", "环境变量"),
    "title.codes": ("Exit codes", "退出码"),
    "title.reference": ("The command line", "命令行"),
    "environment": (
        "DANLU_SERVER, DANLU_TOKEN: the server and the token, instead of the context file\n"
        "DANLU_CONTEXT: which context of ~/.config/danlu/context.json to use\n"
        "DANLU_CA_FILE: certificates to trust for https\n"
        "DANLU_LANG: zh or en, instead of the locale's language\n"
        "NO_COLOR: no colours\n"
        "DANLU_DEBUG: shows where a failure happened",
        "DANLU_SERVER, DANLU_TOKEN: 服务地址和令牌，代替上下文文件\n"
        "DANLU_CONTEXT: 使用 ~/.config/danlu/context.json 中的哪个上下文\n"
        "DANLU_CA_FILE: https 所信任的证书\n"
        "DANLU_LANG: zh 或 en，代替系统语言\n"
        "NO_COLOR: 不使用颜色\n"
        "DANLU_DEBUG: 显示出错的位置",
    ),
    "codes": (
        "0: all went well\n"
        "1: the server cannot be reached, or failed; logs --search: nothing found\n"
        "2: the command line or the job file is wrong\n"
        "3: there is no such job\n"
        "4: not logged in, or not allowed\n"
        "5: not possible in the job's present state\n"
        "70: a mistake in danlu itself\n"
        "125: run, wait, exec: the command never had an exit code, or it cannot be known\n"
        "128+n: ended by signal n; run and exec otherwise end with the command's own "
        "exit code",
        "0: 一切正常\n"
        "1: 无法连接服务，或服务出错；logs --search：没有找到\n"
        "2: 命令行或任务文件有误\n"
        "3: 没有这个任务\n"
        "4: 未登录，或没有权限\n"
        "5: 任务目前的状态不允许\n"
        "70: danlu 自身的错误\n"
        "125: run、wait、exec：命令没有退出码，或无法得知\n"
        "128+n: 被信号 n 终止；其他情况下 run 和 exec 以命令自己的退出码结束",
    ),
    "cmd.run": (
        "Runs a command as a job: its output here, its exit code as ours",
        "以任务方式运行命令：输出显示在这里，退出码与命令相同",
    ),
    "about.run": (
        "The command is everything after the options, word for word:\n"
        "  danlu run -g 2 -- python train.py --lr 0.1\n"
        "It starts in the present folder. Standard input goes to the command: a terminal "
        "as a terminal, a file or pipe as such, /dev/null as nothing. While the job "
        "waits, why it does is told on stderr.\n"
        "Ctrl-C asks: stop the job, detach, or stay. With --tty every key goes to the "
        "command, Ctrl-C too; Enter ~ . detaches. Without anyone to ask, SIGINT stops "
        "the job (a second one at once), SIGTERM and SIGHUP detach.\n"
        "A server that goes away (restart, kill -9) is waited for, and the output goes "
        "on where it was; --patience says for how long.\n"
        "Several tasks or an array: all are followed, each line with its number in front.",
        "命令是选项之后的全部内容，逐字传递：\n"
        "  danlu run -g 2 -- python train.py --lr 0.1\n"
        "在当前目录中启动。标准输入传给命令：终端作为终端，文件或管道照原样，/dev/null 表"
        "示没有输入。任务等待时，原因显示在 stderr。\n"
        "Ctrl-C 会询问：停止任务、离开、或留下。使用 --tty 时所有按键（包括 Ctrl-C）都传"
        "给命令；回车后输入 ~. 离开。无人可问时，SIGINT 停止任务（第二次立即结束），"
        "SIGTERM 和 SIGHUP 则离开。\n"
        "服务暂时离开（重启、kill -9）时会等待它恢复，输出从中断处继续；--patience 指定等"
        "待多久。\n"
        "多个子任务或任务数组：全部跟踪，每行前面带编号。",
    ),
    "cmd.submit": (
        "Queues jobs from files, or a command, and returns at once",
        "提交任务文件或命令，立即返回",
    ),
    "about.submit": (
        "A file holds one job or several, as YAML or JSON; - reads standard input. "
        "Several files are queued all or not at all. Options replace the keys of the "
        "file. A job without a workdir starts in the present folder.",
        "一个文件包含一个或多个任务，格式为 YAML 或 JSON；- 表示从标准输入读取。多个文件"
        "要么全部提交，要么都不提交。选项会替换文件中的键。没有 workdir 的任务在当前目录"
        "启动。",
    ),
    "cmd.convert": (
        "Prints what a job file of another platform means here",
        "显示其他平台的任务文件在这里的含义",
    ),
    "about.convert": (
        "Reads files of OpenPAI (v1 JSON, v2 YAML), DLC (params), Determined (YAML) and sbatch "
        "scripts. The native job goes to standard output, notes on what was mapped to standard "
        "error. A file that cannot be honoured ends with status 2 and says what and where.\n"
        "The server is asked, because it knows the volumes; without one (or with --offline) the "
        "file is read here, and --volume names the folders that count as volumes.",
        "读取 OpenPAI（v1 JSON、v2 YAML）、DLC（params）、Determined（YAML）的任务文件和 sbatch "
        "脚本。原生任务写到标准输出，改动说明写到标准错误。无法照办的文件以状态 2 结束，"
        "并说明何处有何问题。\n"
        "由服务器转换，因为它知道有哪些存储卷；没有服务器（或使用 --offline）时在本机转换，"
        "--volume 指定哪些目录算作存储卷。",
    ),
    "cmd.shims": (
        "Installs dlc, sbatch, squeue and other platforms' commands",
        "安装 dlc、sbatch、squeue 等其他平台的命令",
    ),
    "about.shims": (
        "Puts dlc, sbatch, srun, salloc, squeue, scancel, sinfo, sacct, scontrol, ilaunch and "
        "zlaunch beside danlu (or into --dir). A real one that is on the PATH is left alone, "
        "unless --over is given. They use the same server and login as danlu does.",
        "把 dlc、sbatch、srun、salloc、squeue、scancel、sinfo、sacct、scontrol、ilaunch、zlaunch "
        "放到 danlu 旁边（或 --dir 目录）。PATH 中已有的真命令不会被替代，除非使用 --over。"
        "它们与 danlu 使用同一服务和登录。",
    ),
    "cmd.jobs": ("Lists jobs that wait or run", "列出等待和运行中的任务"),
    "about.jobs": (
        "Without options, the jobs that wait or run, the newest first. Filters may be combined:\n"
        "  danlu jobs --all --since 1d --text train.py --sort -ended\n"
        "With --watch the list is shown again whenever something changes; Ctrl-C ends it.",
        "不带选项时列出等待和运行中的任务，最新的在前。过滤条件可以组合：\n"
        "  danlu jobs --all --since 1d --text train.py --sort -ended\n"
        "使用 --watch 时，有变化就重新显示列表；Ctrl-C 结束。",
    ),
    "cmd.show": ("Shows all about one job", "显示一个任务的全部信息"),
    "cmd.why": ("Says why a job waits, or how it ended", "说明任务为何等待，或如何结束"),
    "cmd.events": ("Tells what happened to a job, and by whom", "显示任务经历了什么、由谁引起"),
    "about.events": (
        "With -f it goes on until the job has ended; without a job it tells of all jobs you may "
        "see, from now on. A server that goes away is waited for; no event is lost or told twice.",
        "使用 -f 时持续显示，直到任务结束；不给任务时显示你能看到的所有任务从现在起的事件。"
        "服务暂时离开时会等待它恢复，事件不会丢失也不会重复。",
    ),
    "cmd.logs": ("Prints what a job printed, byte for byte", "输出任务打印的内容，逐字节一致"),
    "cmd.stop": (
        "Stops jobs; the name of an array stops all of it",
        "停止任务；数组名停止整个数组",
    ),
    "cmd.wait": ("Waits until jobs have ended", "等待任务结束"),
    "about.wait": (
        "Ends with 0 when all succeeded, else with the highest exit code.",
        "全部成功时以 0 结束，否则以最大的退出码结束。",
    ),
    "cmd.rerun": ("Queues the same job once more", "再次提交同样的任务"),
    "cmd.hold": ("Keeps queued jobs from starting", "让排队的任务暂不启动"),
    "cmd.release": ("Lets held jobs start", "放行被挂起的任务"),
    "cmd.clone": (
        "Prints a job as a file, or submits a changed copy",
        "把任务输出为文件，或提交修改后的副本",
    ),
    "about.clone": (
        "Without options it prints the job. --set and --edit submit a changed copy:\n"
        "  danlu clone mnist-3 --set gpus=4 --set env.LR=0.01",
        "不带选项时输出任务文件。--set 和 --edit 提交修改后的副本：\n"
        "  danlu clone mnist-3 --set gpus=4 --set env.LR=0.01",
    ),
    "cmd.exec": ("Runs a command inside a running job", "在运行中的任务里执行命令"),
    "about.exec": (
        "With a terminal on both ends the command gets one, too: danlu exec mnist-3 -- "
        "bash\n"
        "Enter ~ . leaves it.",
        "两端都是终端时，命令也会得到终端：danlu exec mnist-3 -- bash\n回车后输入 ~. 离开。",
    ),
    "cmd.secret": (
        "Keeps values that jobs get but no file says",
        "保存任务要用、但不写在文件里的值",
    ),
    "about.secret": (
        "The value is asked for, or read from standard input:\n"
        "  danlu secret set wandb < key.txt\n"
        "  danlu run --secret WANDB_API_KEY=wandb -- python train.py",
        "值会提示输入，或从标准输入读取：\n"
        "  danlu secret set wandb < key.txt\n"
        "  danlu run --secret WANDB_API_KEY=wandb -- python train.py",
    ),
    "cmd.nodes": ("Lists the machines and what is free on them", "列出机器及其空闲资源"),
    "cmd.gpus": ("Lists the GPUs and who uses them", "列出 GPU 及其使用者"),
    "cmd.login": ("Logs in to a server and remembers it", "登录服务并记住它"),
    "cmd.passwd": ("Changes your password", "修改自己的密码"),
    "cmd.whoami": ("Says who you are, and where", "显示当前用户和服务"),
    "cmd.up": ("Starts the platform on this machine", "在本机启动平台"),
    "cmd.down": ("Stops the platform; running tasks go on", "停止平台；运行中的任务不受影响"),
    "cmd.check": (
        "Looks at this machine and says what is possible here",
        "检查本机，说明能做什么",
    ),
    "cmd.completion": ("Prints completion for a shell", "输出 shell 补全脚本"),
    "about.completion": (
        '  bash, zsh:  eval "$(danlu completion bash)"\n'
        "  fish:       danlu completion fish | source",
        '  bash、zsh：eval "$(danlu completion bash)"\n  fish：     danlu completion fish | source',
    ),
    "cmd.version": (
        "Prints the versions of this program and of the server",
        "显示本程序和服务的版本",
    ),
    "cmd.help": ("Explains a command", "说明某个命令"),
    "opt.json": ("the server's answer as JSON", "以 JSON 输出服务的应答"),
    "opt.run.json": (
        "no output; when it has ended, the job as JSON",
        "不显示输出；结束后以 JSON 显示任务",
    ),
    "opt.server": ("the server's address", "服务地址"),
    "opt.token": ("the token to use there", "所用令牌"),
    "opt.context": ("a server known by this name", "以此名称保存的服务"),
    "opt.lang": ("zh or en", "zh 或 en"),
    "opt.help": ("this help", "显示帮助"),
    "opt.gpus": (
        "GPUs for each task; 2, 2:RTX3090, or 0.5 of one",
        "每个子任务的 GPU；如 2、2:RTX3090 或 0.5 张",
    ),
    "opt.model": ("the GPUs' model", "GPU 型号"),
    "opt.cpus": ("CPUs for each task", "每个子任务的 CPU 数"),
    "opt.memory": ("memory for each task, as 64G", "每个子任务的内存，如 64G"),
    "opt.shm": ("shared memory (/dev/shm), as 16G", "共享内存（/dev/shm），如 16G"),
    "opt.env": (
        "an environment variable; without a value, the one set here",
        "环境变量；不写值则取当前的值",
    ),
    "opt.carry-env": (
        "takes the whole environment along, except what belongs to this session (HOME, "
        "USER, PWD, TERM, SSH_*, XDG_*, DANLU_*, ...)",
        "带上整个环境，但不含属于当前会话的变量（HOME、USER、PWD、TERM、SSH_*、XDG_*、DANLU_* 等）",
    ),
    "opt.secret": ("a secret in an environment variable", "放入环境变量的密钥"),
    "opt.mount": ("a volume at a path; :ro for read-only", "把卷挂载到路径；:ro 表示只读"),
    "opt.port": ("leases a port (or N) under this name", "以此名称租用一个（或 N 个）端口"),
    "opt.up.port": ("the port to listen on", "监听的端口"),
    "opt.time": ("the time limit, as 90m, 12h, 2d", "时间上限，如 90m、12h、2d"),
    "opt.priority": ("-1000 to 1000; higher goes first", "-1000 到 1000；越大越先"),
    "opt.queue": ("the queue", "队列"),
    "opt.group": ("the group it counts for", "计入的组"),
    "opt.name": ("the job's name", "任务名称"),
    "opt.jobs.name": ("only jobs of this name", "只显示此名称的任务"),
    "opt.login.name": ("the name to remember this server by", "保存此服务所用的名称"),
    "opt.kind": ("train, environment or service", "train、environment 或 service"),
    "opt.retries": ("how often it is tried again when it fails", "失败后重试的次数"),
    "opt.grace": ("time between the polite signal and the end", "礼貌信号与强制结束之间的时间"),
    "opt.after": (
        "waits for another job; WHEN: succeeded (default), failed, ended, started",
        "等待另一个任务；WHEN：succeeded（默认）、failed、ended、started",
    ),
    "opt.array": (
        "one job per index, as 0-9, 1,3,5 or 0-99%4 (4 at once)",
        "每个下标一个任务，如 0-9、1,3,5 或 0-99%4（同时 4 个）",
    ),
    "opt.workdir": (
        "the folder it starts in; - for the task's own",
        "启动目录；- 表示任务自己的目录",
    ),
    "opt.image": ("the container image", "容器镜像"),
    "opt.count": ("how many tasks", "子任务数量"),
    "opt.per-gpu": ("one process per GPU, with LOCAL_RANK", "每张 GPU 一个进程，带 LOCAL_RANK"),
    "opt.split-output": ("keeps stderr apart from stdout", "把 stderr 与 stdout 分开"),
    "opt.log-cap": ("how much of the output is kept, as 1G", "保留多少输出，如 1G"),
    "opt.held": (
        "queued, but not started before danlu release",
        "提交但不启动，直到 danlu release",
    ),
    "opt.node": ("only on this node; may be repeated", "只在此节点上；可重复"),
    "opt.exclude": ("not on this node; may be repeated", "不在此节点上；可重复"),
    "opt.label": ("only on nodes with this label; may be repeated", "只在有此标签的节点上；可重复"),
    "opt.preemptible": (
        "may be ended and queued again where others need its cards",
        "其他任务需要它的卡时，可以被结束并重新排队",
    ),
    "opt.script": (
        "a script instead of a command; words after the options are its arguments",
        "用脚本代替命令；选项之后的内容是它的参数",
    ),
    "opt.set": (
        "any key of the job, as env.LR=0.1; JSON where it is JSON",
        "任务的任意键，如 env.LR=0.1；可写 JSON",
    ),
    "opt.dry-run": (
        "queues nothing; says when it would start, and why not now",
        "不提交；说明何时能启动、为何不能马上启动",
    ),
    "opt.detach": ("queues it and returns at once", "提交后立即返回"),
    "opt.tty": (
        "gives the command this terminal, every key included",
        "把终端交给命令，包括所有按键",
    ),
    "opt.no-tty": ("no terminal for the command", "不给命令终端"),
    "opt.no-stdin": ("no input for the command", "不给命令输入"),
    "opt.quiet": ("nothing but the job's own output", "只显示任务自己的输出"),
    "opt.jobs.quiet": ("names only", "只显示名称"),
    "opt.patience": (
        "how long a server that went away is waited for (default 10m)",
        "服务离开后等待多久（默认 10m）",
    ),
    "opt.all": ("ended jobs, too", "包括已结束的任务"),
    "opt.state": ("only jobs in this state; may be repeated", "只显示此状态的任务；可重复"),
    "opt.owner": ("only this user's jobs", "只显示此用户的任务"),
    "opt.jobs.group": ("only jobs of this group", "只显示此组的任务"),
    "opt.jobs.kind": ("only jobs of this kind", "只显示此类任务"),
    "opt.jobs.queue": ("only jobs of this queue", "只显示此队列的任务"),
    "opt.since": (
        "submitted since then: 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "此时刻之后提交的：2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
    "opt.until": ("submitted before then", "此时刻之前提交的"),
    "opt.text": ("only jobs with this in their name or command", "只显示名称或命令中包含此文字的"),
    "opt.sort": (
        "the order: submitted, started, ended, name, owner, state or priority; - in front: "
        "largest first",
        "排序：submitted、started、ended、name、owner、state 或 priority；前面加 - 表示从大到小",
    ),
    "opt.watch": ("shows the list again at every change", "有变化时重新显示列表"),
    "opt.events.follow": ("goes on with what happens", "持续显示发生的事件"),
    "opt.limit": ("at most so many", "最多显示多少"),
    "opt.follow": ("goes on as the job prints, until it ends", "持续输出，直到任务结束"),
    "opt.task": ("which task (default 0)", "哪个子任务（默认 0）"),
    "opt.logs.task": ("which task (default 0), or all", "哪个子任务（默认 0），或 all"),
    "opt.attempt": ("one attempt only", "只看某次尝试"),
    "opt.tail": ("only the last lines", "只看最后几行"),
    "opt.offset": ("from this byte on", "从此字节开始"),
    "opt.err": ("stderr, where it is kept apart", "stderr（分开保存时）"),
    "opt.search": ("only lines that hold this text", "只显示包含此文字的行"),
    "opt.ignore-case": ("search without regard to case", "搜索时忽略大小写"),
    "opt.output": ("into this file", "写入此文件"),
    "opt.now": ("at once, without the polite signal", "立即结束，不发礼貌信号"),
    "opt.timeout": ("waits no longer than this", "最多等待多久"),
    "opt.dialect": (
        "the file's language (default: recognised)",
        "文件的语言（默认自动识别）",
    ),
    "opt.as": (
        "Determined: what the file is, where it does not say",
        "Determined：文件没有写明时，它是什么",
    ),
    "opt.submit.config": (
        "Determined: changes a value of the file, as in resources.slots=2",
        "Determined：修改文件中的值，例如 resources.slots=2",
    ),
    "opt.convert.config": (
        "Determined: changes a value of the file, as in resources.slots=2",
        "Determined：修改文件中的值，例如 resources.slots=2",
    ),
    "opt.volume": (
        "a folder of the nodes that counts as a volume (offline)",
        "算作存储卷的节点目录（离线时）",
    ),
    "opt.offline": ("reads the file here, asks no server", "在本机转换，不询问服务器"),
    "opt.dir": ("the folder for them", "放到此目录"),
    "opt.over": ("also where a real command of that name is", "即使已有同名的真命令"),
    "opt.edit": ("opens the copy in EDITOR, then submits it", "用 EDITOR 打开副本，然后提交"),
    "opt.user": ("the user's name", "用户名"),
    "opt.password-stdin": ("reads the password from standard input", "从标准输入读取密码"),
    "opt.host": ("the address to listen on (default 127.0.0.1)", "监听地址（默认 127.0.0.1）"),
    "opt.data": ("the data folder", "数据目录"),
    "opt.config": ("the configuration file, danlu.toml", "配置文件 danlu.toml"),
    "opt.first-job": ("runs a small job at the start", "启动后运行一个小任务"),
    "opt.markdown": ("all commands as Markdown", "以 Markdown 输出全部命令"),
}

HELP |= PEOPLE | SCHEDULING
