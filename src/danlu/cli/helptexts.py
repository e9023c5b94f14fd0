"""Help texts: (en, zh). Loaded only when help is shown."""

from danlu.cli.helptexts_data import DATA
from danlu.cli.helptexts_environments import ENVIRONMENTS
from danlu.cli.helptexts_files import FILES
from danlu.cli.helptexts_images import IMAGES
from danlu.cli.helptexts_live import LIVE
from danlu.cli.helptexts_people import PEOPLE
from danlu.cli.helptexts_registry import REGISTRY
from danlu.cli.helptexts_scheduling import SCHEDULING
from danlu.cli.helptexts_slurm import SLURM
from danlu.cli.texts_tensorboard import HELP as TENSORBOARD

HELP: dict[str, tuple[str, str]] = {
    "danlu": (
        "Danlu: run jobs on the lab's GPUs, and always know why they wait.",
        "丹炉：在实验室的 GPU 上运行任务，随时知道它为什么等待。",
    ),
    "cmd.backup": (
        "Back up everything into one file, while the server runs",
        "在服务器运行时把所有内容写入一个文件",
    ),
    "about.backup": (
        "Contains a consistent copy of the database, the logs, the settings and the keys; with "
        "--homes also the users' home folders. The file contains everyone's secrets: keep it "
        "safe.\n"
        "By default the server creates it, which requires an admin. With --data or --config the "
        "data "
        "folder is read directly, whether or not a server is running:\n"
        "  danlu backup --data /var/lib/danlu danlu.backup",
        "包括某一时刻的数据库、日志、设置和密钥；使用 --homes 时还包括用户目录。"
        "文件中有所有人的密钥：只有你能读取，请妥善保管。\n"
        "由管理员向服务器请求。使用 --data 或 --config 时直接读取数据目录，服务器不运行也可以：\n"
        "  danlu backup --data /var/lib/danlu danlu.backup",
    ),
    "cmd.restore": ("Restore a backup on this machine", "在本机恢复备份"),
    "about.restore": (
        "The server must not be running. A data folder or database that is not empty is not "
        "touched unless --force is given; then its content is moved aside. SQLite backups can be "
        "restored into PostgreSQL and vice versa, as the configuration says. Jobs that were "
        "running when the backup was made and are not running here are retried by their own "
        "rules.\n"
        "A damaged or incomplete file changes nothing.",
        "服务器不能在运行。数据目录或数据库不为空时不做改动，除非使用 --force；"
        "此时已有内容会移到一边。SQLite 的备份可以恢复到 PostgreSQL，反之亦可：由配置决定。"
        "备份时正在运行而本机没有运行的任务，会按各自的规则重试。\n"
        "损坏或不完整的文件不会改变任何内容。",
    ),
    "opt.homes": ("include the users' home folders", "包括用户自己的目录"),
    "opt.force": ("move existing data aside", "把已有内容移到一边"),
    "opt.check": (
        "only check that it is complete, and show what it contains",
        "只检查是否完整、包含什么",
    ),
    "cmd.volume": (
        "List the folders tasks can mount; admins manage them",
        "列出任务可见的目录（存储卷）；由管理员声明",
    ),
    "about.volume": (
        "A volume is a named folder of the machine. Jobs mount it by name (--mount fast:/data). "
        "Users list what they may use; an admin declares volumes:\n"
        "  danlu volume add fast /nvme/shared --tier fast --note 'SSD, not backed up'\n"
        "  danlu volume add scans /srv/scans --group medical --read-only --on-request\n"
        "  danlu volume set scans --user alice --node n1\n"
        "Volumes in danlu.toml are changed there.",
        "存储卷是机器上有名称的目录。任务按名称挂载（--mount fast:/data）。每个人都能列出自己可用的"
        "存储卷；由管理员声明：\n"
        "  danlu volume add fast /nvme/shared --tier fast --note '固态盘，不备份'\n"
        "  danlu volume add scans /srv/scans --group medical --read-only --on-request\n"
        "  danlu volume set scans --user alice --node n1\n"
        "danlu.toml 中声明的在那里修改。",
    ),
    "opt.path": ("path in tasks (default /mnt/NAME)", "任务中的路径（默认 /mnt/名称）"),
    "opt.source": ("folder on the machine", "机器上的目录"),
    "opt.read-only": ("read-only for all tasks", "对所有任务只读"),
    "opt.writable": ("writable, subject to the folder's permissions", "任务可写，以目录权限为准"),
    "opt.everywhere": ("mounted in every task (default)", "每个任务中都有（默认）"),
    "opt.on-request": ("mounted only in tasks that ask for it", "只在要求它的任务中"),
    "opt.volume.group": ("only for this group (repeatable)", "只给此组；可重复"),
    "opt.volume.user": ("only for this user (repeatable)", "只给此用户；可重复"),
    "opt.everybody": ("for all users again", "重新对所有人开放"),
    "opt.volume.node": ("exists only on this node (repeatable)", "只在此节点上存在；可重复"),
    "opt.all-nodes": ("exists on all nodes", "在所有节点上存在"),
    "opt.tier": ("a label to choose by, such as fast or large", "便于选择的标签，如 fast、large"),
    "opt.yes": (
        "skip the confirmation",
        "跳过确认",
    ),
    "opt.reason": ("why; shown to all users", "原因，所有用户可见"),
    "opt.note": ("a short description", "一行说明"),
    "title.usage": ("Usage", "用法"),
    "title.commands": ("Commands", "命令"),
    "title.options": ("Options", "选项"),
    "title.option": ("Option", "选项"),
    "title.common": ("Common options", "通用选项"),
    "title.environment": ("Environment variables", "环境变量"),
    "title.codes": ("Exit codes", "退出码"),
    "title.reference": ("The command line", "命令行"),
    "environment": (
        "DANLU_SERVER, DANLU_TOKEN: server and token, instead of the context file\n"
        "DANLU_CONTEXT: the context in ~/.config/danlu/context.json to use\n"
        "DANLU_CA_FILE: certificates to trust for https\n"
        "DANLU_LANG: zh or en, instead of the locale's language\n"
        "NO_COLOR: disable colors\n"
        "DANLU_DEBUG: show a traceback on failure",
        "DANLU_SERVER, DANLU_TOKEN: 服务地址和令牌，代替上下文文件\n"
        "DANLU_CONTEXT: 使用 ~/.config/danlu/context.json 中的哪个上下文\n"
        "DANLU_CA_FILE: https 所信任的证书\n"
        "DANLU_LANG: zh 或 en，代替系统语言\n"
        "NO_COLOR: 不使用颜色\n"
        "DANLU_DEBUG: 显示出错的位置",
    ),
    "codes": (
        "0: success\n"
        "1: the server cannot be reached, or failed; logs --search: no match\n"
        "2: invalid command line or job file\n"
        "3: no such job\n"
        "4: not logged in, or not allowed\n"
        "5: not possible in the job's current state\n"
        "70: a bug in danlu\n"
        "125: run, wait, exec: the command has no exit code, or it is unknown\n"
        "128+n: ended by signal n; otherwise run and exec return the command's own exit code",
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
        "Run a command as a job: shows its output, returns its exit code",
        "以任务方式运行命令：输出显示在这里，退出码与命令相同",
    ),
    "about.run": (
        "Everything after the options is the command, word for word:\n"
        "  danlu run -g 2 -- python train.py --lr 0.1\n"
        "It starts in the current folder. Standard input goes to the command: a terminal as a "
        "terminal, a file or pipe as such, /dev/null as none. While the job waits, the reason is "
        "shown on stderr.\n"
        "Ctrl-C asks whether to stop the job, detach, or stay. With --tty every key goes to the "
        "command, including Ctrl-C; Enter ~ . detaches. Without a terminal, SIGINT stops the job "
        "(a second one kills it), SIGTERM and SIGHUP detach.\n"
        "If the server goes away (restart, kill -9), danlu waits for it and the output continues "
        "where it left off; --patience sets for how long.\n"
        "With several tasks or an array, all are followed, each line prefixed with its number.",
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
        "Queue jobs from files, or a command, and return at once",
        "提交任务文件或命令，立即返回",
    ),
    "about.submit": (
        "A file contains one or several jobs, as YAML or JSON; - reads standard input. With "
        "several files, all are queued or none. Options override keys of the file. A job without "
        "a workdir starts in the current folder.",
        "一个文件包含一个或多个任务，格式为 YAML 或 JSON；- 表示从标准输入读取。多个文件"
        "要么全部提交，要么都不提交。选项会替换文件中的键。没有 workdir 的任务在当前目录"
        "启动。",
    ),
    "cmd.convert": (
        "Convert a job file of another platform",
        "转换其他平台的任务文件",
    ),
    "about.convert": (
        "Reads files of OpenPAI (v1 JSON, v2 YAML), DLC (params) and Determined (YAML), and "
        "sbatch scripts. The native job is printed to standard output, notes on what was mapped "
        "to standard error. If a file cannot be converted, the exit status is 2 and the errors "
        "say what and where.\n"
        "The server converts the file, because it knows the volumes; without one (or with "
        "--offline) the file is converted locally, and --volume names the folders that count as "
        "volumes.",
        "读取 OpenPAI（v1 JSON、v2 YAML）、DLC（params）、Determined（YAML）的任务文件和 sbatch "
        "脚本。原生任务写到标准输出，改动说明写到标准错误。无法照办的文件以状态 2 结束，"
        "并说明何处有何问题。\n"
        "由服务器转换，因为它知道有哪些存储卷；没有服务器（或使用 --offline）时在本机转换，"
        "--volume 指定哪些目录算作存储卷。",
    ),
    "cmd.shims": (
        "Install dlc, sbatch, squeue and other platforms' commands",
        "安装 dlc、sbatch、squeue 等其他平台的命令",
    ),
    "about.shims": (
        "Installs dlc, sbatch, srun, salloc, squeue, scancel, sinfo, sacct, scontrol, ilaunch and "
        "zlaunch next to danlu (or into --dir). Real commands on the PATH are not replaced unless "
        "--over is given. They use the same server and login as danlu.",
        "把 dlc、sbatch、srun、salloc、squeue、scancel、sinfo、sacct、scontrol、ilaunch、zlaunch "
        "放到 danlu 旁边（或 --dir 目录）。PATH 中已有的真命令不会被替代，除非使用 --over。"
        "它们与 danlu 使用同一服务和登录。",
    ),
    "cmd.jobs": ("List waiting and running jobs", "列出等待和运行中的任务"),
    "about.jobs": (
        "By default, running jobs and then waiting ones, newest first. An array is one line, with "
        "the number of its jobs in each state. Filters can be combined:\n"
        "  danlu jobs --all --since 1d --text train.py --sort -ended\n"
        "With --watch the list is redrawn on every change, until Ctrl-C.",
        "不带选项时先列出运行中的任务，再列出等待的，最新的在前。数组任务占一行，写明各状态的数量。"
        "过滤条件可以组合：\n"
        "  danlu jobs --all --since 1d --text train.py --sort -ended\n"
        "使用 --watch 时，有变化就重新显示列表；Ctrl-C 结束。",
    ),
    "cmd.show": ("Show all details of a job", "显示一个任务的全部信息"),
    "cmd.why": ("Explain why a job waits, or how it ended", "说明任务为何等待，或如何结束"),
    "cmd.events": ("Show what happened to a job, and who did it", "显示任务经历了什么、由谁引起"),
    "about.events": (
        "With -f it follows the job until it ends; without a job it follows all jobs you may see, "
        "from now on. If the server goes away, danlu waits for it; no event is lost or repeated.",
        "使用 -f 时持续显示，直到任务结束；不给任务时显示你能看到的所有任务从现在起的事件。"
        "服务暂时离开时会等待它恢复，事件不会丢失也不会重复。",
    ),
    "cmd.logs": ("Show a job's output, byte for byte", "输出任务打印的内容，逐字节一致"),
    "cmd.stop": (
        "Stop jobs; the name of an array stops all of it",
        "停止任务；数组名停止整个数组",
    ),
    "cmd.wait": ("Wait for jobs to end", "等待任务结束"),
    "about.wait": (
        "Exits with 0 if all succeeded, else with the highest exit code.",
        "全部成功时以 0 结束，否则以最大的退出码结束。",
    ),
    "cmd.rerun": ("Submit the same job again", "再次提交同样的任务"),
    "cmd.hold": ("Keep queued jobs from starting", "让排队的任务暂不启动"),
    "cmd.release": ("Let held jobs start", "放行被挂起的任务"),
    "cmd.edit": ("Change waiting jobs; they keep their turn", "修改等待中的任务，保留其排队次序"),
    "about.edit": (
        "Changing the number of GPUs changes CPUs and memory in proportion, unless these are "
        "given too.\n"
        "The word none removes a limit. The name of an array changes all its elements, that of an "
        "element only this one:\n"
        "  danlu edit mnist-3 --gpus 2\n"
        "  danlu edit sweep-1.7 --time none --set nodes=null",
        "改变卡数时，CPU 和内存按比例变化，除非另外指定。none 表示去掉限制。\n"
        "数组整体修改，也可只改一个元素：\n"
        "  danlu edit mnist-3 --gpus 2\n"
        "  danlu edit sweep-1.7 --time none --set nodes=null",
    ),
    "cmd.clone": (
        "Print a job as a file, or submit a modified copy",
        "把任务输出为文件，或提交修改后的副本",
    ),
    "about.clone": (
        "Without options it prints the job. --set and --edit submit a modified copy:\n"
        "  danlu clone mnist-3 --set gpus=4 --set env.LR=0.01\n"
        "With another number of GPUs their model stays, and default CPUs and memory follow.",
        "不带选项时输出任务文件。--set 和 --edit 提交修改后的副本：\n"
        "  danlu clone mnist-3 --set gpus=4 --set env.LR=0.01\n"
        "改变显卡数量时型号不变，默认的 CPU 和内存随之调整。",
    ),
    "cmd.exec": ("Run a command inside a running job", "在运行中的任务里执行命令"),
    "about.exec": (
        "If both ends are terminals, the command gets one: danlu exec mnist-3 -- bash\n"
        "Enter ~ . leaves it.",
        "两端都是终端时，命令也会得到终端：danlu exec mnist-3 -- bash\n回车后输入 ~. 离开。",
    ),
    "cmd.secret": (
        "Manage secrets: values for jobs that are not in their files",
        "保存任务要用、但不写在文件里的值",
    ),
    "about.secret": (
        "The value is prompted for, or read from standard input:\n"
        "  danlu secret set wandb < key.txt\n"
        "  danlu run --secret WANDB_API_KEY=wandb -- python train.py",
        "值会提示输入，或从标准输入读取：\n"
        "  danlu secret set wandb < key.txt\n"
        "  danlu run --secret WANDB_API_KEY=wandb -- python train.py",
    ),
    "cmd.nodes": ("List the nodes and what is free on them", "列出机器及其空闲资源"),
    "cmd.gpus": ("List the GPUs and who uses them", "列出 GPU 及其使用者"),
    "cmd.login": ("Log in to a server and remember it", "登录服务并记住它"),
    "cmd.passwd": ("Change your password", "修改自己的密码"),
    "cmd.whoami": ("Show who you are logged in as, and where", "显示当前用户和服务"),
    "cmd.up": ("Start the platform on this machine", "在本机启动平台"),
    "cmd.down": ("Stop the platform; running tasks keep running", "停止平台；运行中的任务不受影响"),
    "cmd.admin": (
        "Set a new one-time password on the server's machine",
        "在服务器本机设置新的一次性密码",
    ),
    "cmd.check": (
        "Check what this machine supports",
        "检查本机支持哪些功能",
    ),
    "cmd.completion": ("Print a shell completion script", "输出 shell 补全脚本"),
    "about.completion": (
        '  bash, zsh:  eval "$(danlu completion bash)"\n'
        "  fish:       danlu completion fish | source",
        '  bash、zsh：eval "$(danlu completion bash)"\n  fish：     danlu completion fish | source',
    ),
    "cmd.version": (
        "Show the versions of this program and the server",
        "显示本程序和服务的版本",
    ),
    "cmd.help": ("Explain a command", "说明某个命令"),
    "opt.json": ("print the server's answer as JSON", "以 JSON 输出服务的应答"),
    "opt.run.json": (
        "no output; print the job as JSON when it has ended",
        "不显示输出；结束后以 JSON 显示任务",
    ),
    "opt.server": ("server address", "服务地址"),
    "opt.token": ("token to use", "所用令牌"),
    "opt.context": ("use the server saved under this name", "以此名称保存的服务"),
    "opt.lang": ("zh or en", "zh 或 en"),
    "opt.help": ("show this help", "显示帮助"),
    "opt.gpus": (
        "GPUs per task: 2, 2:RTX3090, or 0.5 of one",
        "每个子任务的 GPU；如 2、2:RTX3090 或 0.5 张",
    ),
    "opt.model": ("GPU model", "GPU 型号"),
    "opt.cpus": ("CPUs per task", "每个子任务的 CPU 数"),
    "opt.memory": ("memory per task, such as 64G", "每个子任务的内存，如 64G"),
    "opt.shm": ("shared memory (/dev/shm), such as 16G", "共享内存（/dev/shm），如 16G"),
    "opt.env": (
        "environment variable; without a value, the current one",
        "环境变量；不写值则取当前的值",
    ),
    "opt.carry-env": (
        "pass the whole environment, except session variables (HOME, USER, PWD, TERM, SSH_*, "
        "XDG_*, DANLU_*, ...)",
        "带上整个环境，但不含属于当前会话的变量（HOME、USER、PWD、TERM、SSH_*、XDG_*、DANLU_* 等）",
    ),
    "opt.secret": ("pass a secret as an environment variable", "放入环境变量的密钥"),
    "opt.mount": ("mount a volume at a path; :ro for read-only", "把卷挂载到路径；:ro 表示只读"),
    "opt.port": ("lease a port (or N) under this name", "以此名称租用一个（或 N 个）端口"),
    "opt.up.port": ("port to listen on", "监听的端口"),
    "opt.time": ("time limit, such as 90m, 12h, 2d", "时间上限，如 90m、12h、2d"),
    "opt.priority": ("-1000 to 1000; higher goes first", "-1000 到 1000；越大越先"),
    "opt.queue": ("queue", "队列"),
    "opt.group": ("group whose quota it counts against", "计入配额的组"),
    "opt.name": ("job name", "任务名称"),
    "opt.jobs.name": ("only jobs of this name", "只显示此名称的任务"),
    "opt.login.name": ("name to save this server under", "保存此服务所用的名称"),
    "opt.kind": ("train, environment or service", "train、environment 或 service"),
    "opt.retries": ("how many times to retry after a failure", "失败后重试的次数"),
    "opt.grace": ("time between SIGTERM and SIGKILL", "SIGTERM 与 SIGKILL 之间的时间"),
    "opt.after": (
        "wait for another job; WHEN: succeeded (default), failed, ended, started",
        "等待另一个任务；WHEN：succeeded（默认）、failed、ended、started",
    ),
    "opt.array": (
        "one job per index: 0-9, 1,3,5 or 0-99%4 (4 at a time)",
        "每个下标一个任务，如 0-9、1,3,5 或 0-99%4（同时 4 个）",
    ),
    "opt.workdir": (
        "working directory; - for the task's own",
        "启动目录；- 表示任务自己的目录",
    ),
    "opt.image": ("container image", "容器镜像"),
    "opt.count": ("number of tasks", "子任务数量"),
    "opt.per-gpu": ("one process per GPU, with LOCAL_RANK", "每张 GPU 一个进程，带 LOCAL_RANK"),
    "opt.split-output": ("keep stderr separate from stdout", "把 stderr 与 stdout 分开"),
    "opt.log-cap": ("how much output to keep, such as 1G", "保留多少输出，如 1G"),
    "opt.held": (
        "queue it, but do not start it before danlu release",
        "提交但不启动，直到 danlu release",
    ),
    "opt.node": ("only on this node (repeatable)", "只在此节点上；可重复"),
    "opt.exclude": ("not on this node (repeatable)", "不在此节点上；可重复"),
    "opt.label": ("only on nodes with this label (repeatable)", "只在有此标签的节点上；可重复"),
    "opt.preemptible": (
        "may be preempted: ended and queued again if others need its GPUs",
        "其他任务需要它的卡时，可以被结束并重新排队",
    ),
    "opt.script": (
        "a script instead of a command; the words after the options are its arguments",
        "用脚本代替命令；选项之后的内容是它的参数",
    ),
    "opt.set": (
        "set any key of the job, such as env.LR=0.1; the value may be JSON",
        "任务的任意键，如 env.LR=0.1；可写 JSON",
    ),
    "opt.dry-run": (
        "do not queue; show when it would start, and why not now",
        "不提交；说明何时能启动、为何不能马上启动",
    ),
    "opt.detach": ("queue it and return at once", "提交后立即返回"),
    "opt.tty": (
        "give the command this terminal, including every key",
        "把终端交给命令，包括所有按键",
    ),
    "opt.no-tty": ("no terminal for the command", "不给命令终端"),
    "opt.no-stdin": ("no input for the command", "不给命令输入"),
    "opt.quiet": ("only the job's own output", "只显示任务自己的输出"),
    "opt.unfold": ("one line for each job of an array", "数组中的每个任务各占一行"),
    "opt.jobs.quiet": ("names only", "只显示名称"),
    "opt.patience": (
        "how long to wait for a server that went away (default 10m)",
        "服务离开后等待多久（默认 10m）",
    ),
    "opt.all": ("include ended jobs", "包括已结束的任务"),
    "opt.state": ("only jobs in this state (repeatable)", "只显示此状态的任务；可重复"),
    "opt.owner": ("only this user's jobs", "只显示此用户的任务"),
    "opt.jobs.group": ("only jobs of this group", "只显示此组的任务"),
    "opt.jobs.kind": ("only jobs of this kind", "只显示此类任务"),
    "opt.jobs.queue": ("only jobs of this queue", "只显示此队列的任务"),
    "opt.since": (
        "submitted since: 2h (ago), 2026-11-15 or '2026-11-15 14:30'",
        "此时刻之后提交的：2h（多久以前）、2026-11-15 或 '2026-11-15 14:30'",
    ),
    "opt.until": ("submitted before", "此时刻之前提交的"),
    "opt.text": (
        "only jobs with this text in their name or command",
        "只显示名称或命令中包含此文字的",
    ),
    "opt.sort": (
        "sort by submitted, started, ended, name, owner, state or priority; prefix - to reverse",
        "排序：submitted、started、ended、name、owner、state 或 priority；前面加 - 表示从大到小",
    ),
    "opt.watch": ("redraw the list on every change", "有变化时重新显示列表"),
    "opt.events.follow": ("keep following", "持续显示发生的事件"),
    "opt.limit": ("at most this many", "最多显示多少"),
    "opt.follow": ("follow the output until the job ends", "持续输出，直到任务结束"),
    "opt.task": ("which task (default 0)", "哪个子任务（默认 0）"),
    "opt.logs.task": ("which task (default 0), or all", "哪个子任务（默认 0），或 all"),
    "opt.attempt": ("only this attempt", "只看某次尝试"),
    "opt.tail": ("only the last N lines", "只看最后几行"),
    "opt.offset": ("start at this byte", "从此字节开始"),
    "opt.err": ("stderr, if kept separately", "stderr（分开保存时）"),
    "opt.search": ("only lines containing this text", "只显示包含此文字的行"),
    "opt.ignore-case": ("ignore case when searching", "搜索时忽略大小写"),
    "opt.output": ("write to this file", "写入此文件"),
    "opt.raw": ("do not mask your secrets", "不遮盖你的密钥"),
    "opt.now": ("kill at once, without SIGTERM first", "立即结束，不先发 SIGTERM"),
    "opt.timeout": ("wait at most this long", "最多等待多久"),
    "opt.dialect": (
        "language of the file (default: detected)",
        "文件的语言（默认自动识别）",
    ),
    "opt.as": (
        "Determined: the kind of the file, if it does not say",
        "Determined：文件没有写明时，它是什么",
    ),
    "opt.submit.config": (
        "Determined: change a value of the file, such as resources.slots=2",
        "Determined：修改文件中的值，例如 resources.slots=2",
    ),
    "opt.convert.config": (
        "Determined: change a value of the file, such as resources.slots=2",
        "Determined：修改文件中的值，例如 resources.slots=2",
    ),
    "opt.volume": (
        "a folder on the nodes that counts as a volume (offline)",
        "算作存储卷的节点目录（离线时）",
    ),
    "opt.offline": ("convert locally, without a server", "在本机转换，不询问服务器"),
    "opt.dir": ("install into this folder", "放到此目录"),
    "opt.over": ("even if a real command of that name exists", "即使已有同名的真命令"),
    "opt.edit": ("open the copy in EDITOR, then submit it", "用 EDITOR 打开副本，然后提交"),
    "opt.user": ("user name", "用户名"),
    "opt.password-stdin": ("read the password from standard input", "从标准输入读取密码"),
    "opt.host": ("address to listen on (default 127.0.0.1)", "监听地址（默认 127.0.0.1）"),
    "opt.data": ("data folder", "数据目录"),
    "opt.config": ("configuration file, danlu.toml", "配置文件 danlu.toml"),
    "opt.demo": (
        "a made-up cluster with people and jobs, in a folder of its own",
        "虚构的集群，带人员和任务，使用单独的目录",
    ),
    "opt.reset": (
        "with --demo: delete the demo and start over",
        "与 --demo 一起用：清除演示，重新开始",
    ),
    "opt.first-job": ("run a small job at startup", "启动后运行一个小任务"),
    "opt.markdown": ("print all commands as Markdown", "以 Markdown 输出全部命令"),
}

HELP |= (
    PEOPLE
    | SCHEDULING
    | LIVE
    | ENVIRONMENTS
    | SLURM
    | REGISTRY
    | IMAGES
    | FILES
    | DATA
    | TENSORBOARD
)
