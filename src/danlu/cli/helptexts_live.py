"""Help for `attach`, `shell` and `top`: (en, zh)."""

LIVE: dict[str, tuple[str, str]] = {
    "cmd.attach": (
        "Come back to a running job: its output, and its terminal if it has one",
        "返回运行中的任务：查看输出；若有终端则继续使用",
    ),
    "about.attach": (
        "A job started with danlu run on a terminal (or danlu run -d --tty) keeps its terminal "
        "when you leave it with ~. after Enter. Without a job, your last one is used.\n"
        "  danlu run --tty -n work -- bash\n"
        "  danlu attach work-1",
        "在终端上用 danlu run 启动的任务（或 danlu run -d --tty），按回车后输入 ~. 离开，"
        "其终端会保留。不写任务时指上一个任务。\n"
        "  danlu run --tty -n work -- bash\n"
        "  danlu attach work-1",
    ),
    "cmd.shell": (
        "Open a shell on the cluster, or in a running job",
        "在集群上打开一个 shell，或进入运行中的任务",
    ),
    "about.shell": (
        "Without a job, a new one is queued with the resources asked for, and ends with the shell. "
        "Enter ~. leaves it running; danlu attach returns to it.\n"
        "  danlu shell -g 1\n"
        "  danlu shell mnist-3",
        "不写任务时按所要的资源提交一个新任务，退出 shell 即结束。按回车后输入 ~. 可离开而不结束，"
        "danlu attach 返回。\n"
        "  danlu shell -g 1\n"
        "  danlu shell mnist-3",
    ),
    "cmd.ssh": (
        "Enter a running job with ssh",
        "用 ssh 进入运行中的任务",
    ),
    "about.ssh": (
        "Starts the system's ssh with address, port and user; options and the command after the "
        "job are passed on. Without a job, your last one is used.\n"
        "  danlu ssh mnist-3\n"
        "  danlu ssh mnist-3.1 -L 8888:localhost:8888\n"
        "  danlu ssh mnist-3 -- nvidia-smi",
        "用正确的地址、端口和用户启动系统的 ssh；任务之后的选项和命令原样传给它。"
        "不写任务时指上一个任务。\n"
        "  danlu ssh mnist-3\n"
        "  danlu ssh mnist-3.1 -L 8888:localhost:8888\n"
        "  danlu ssh mnist-3 -- nvidia-smi",
    ),
    "cmd.ssh-config": (
        "Print your running jobs as hosts for ~/.ssh/config",
        "把运行中的任务输出为 ~/.ssh/config 的主机",
    ),
    "about.ssh-config": (
        "For scp, rsync, VS Code, PyCharm and everything else that uses ssh:\n"
        "  danlu ssh-config --install\n"
        "  scp data.tar mnist-3.danlu:",
        "供 scp、rsync、VS Code、PyCharm 等使用 ssh 的程序：\n"
        "  danlu ssh-config --install\n"
        "  scp data.tar mnist-3.danlu:",
    ),
    "opt.install": (
        "write them to ~/.ssh/danlu_config and have ~/.ssh/config include it",
        "写入 ~/.ssh/danlu_config，并让 ~/.ssh/config 引用它",
    ),
    "cmd.open": (
        "Open what a running job serves in the browser",
        "在浏览器中打开运行中任务的网页",
    ),
    "about.open": (
        "The page gets an address of its own, which only you and those who may enter the job can "
        "use. Without a door: JupyterLab of a development environment, or the only port of a job.\n"
        "  danlu open box lab\n"
        "  danlu open demo-3 7860",
        "网页有单独的地址，只有你和可以进入该任务的人能访问。"
        "不写入口时：开发环境打开 JupyterLab，其他任务打开它唯一的端口。\n"
        "  danlu open box lab\n"
        "  danlu open demo-3 7860",
    ),
    "opt.print": (
        "print the address and start no browser; it is valid once, for 30 seconds",
        "只输出地址，不启动浏览器；该地址 30 秒内有效，只能用一次",
    ),
    "cmd.key": (
        "Manage your public keys for SSH",
        "管理 SSH 登录用的公钥",
    ),
    "about.key": (
        "Without a file, the public key in ~/.ssh is added; - reads standard input.\n"
        "  danlu key add\n"
        "  danlu key add laptop.pub --label laptop",
        "不写文件时添加 ~/.ssh 中的公钥；- 表示标准输入。\n"
        "  danlu key add\n"
        "  danlu key add laptop.pub --label laptop",
    ),
    "opt.key.label": ("name of the key (default: its comment)", "公钥的名称（默认用其注释）"),
    "cmd.top": ("Watch the GPUs, their use and the queue", "实时查看显卡、使用率和队列"),
    "about.top": (
        "Redrawn every two seconds and when the window changes; q quits. If the output is not a "
        "terminal, it is printed once.",
        "每两秒刷新一次，窗口大小变化时立即刷新；按 q 退出。输出不是终端时只显示一次。",
    ),
    "cmd.init": (
        "Look at this machine, ask a few questions and write danlu.toml",
        "查看本机、询问几个问题并写出 danlu.toml",
    ),
    "about.init": (
        "Without a terminal, or with --yes, the suggested values are used. The file is written "
        "where "
        "danlu up looks for it, or to --config FILE, and only if danlu up can read it.",
        "没有终端或使用 --yes 时采用建议的值。文件写到 danlu up 查找的位置，或 --config "
        "指定的文件；只有 danlu up 能读取时才会写入。",
    ),
    "opt.init.config": ("file to write", "要写入的文件"),
    "opt.init.dry-run": ("print the file instead of writing it", "只输出文件内容，不写入"),
    "opt.init.force": (
        "replace an existing file; it is kept as danlu.toml.old",
        "替换已有的文件；旧文件保留为 danlu.toml.old",
    ),
    "opt.init.yes": ("do not ask: use the suggested values", "不询问：采用建议的值"),
    "opt.install-service": (
        "install and start a systemd service instead: for the machine as root, else for you",
        "改为安装并启动 systemd 服务：root 时为整机安装，否则为当前用户安装",
    ),
    "opt.up.dry-run": (
        "with --install-service: only print the unit",
        "与 --install-service 同用：只输出服务单元",
    ),
    "opt.every": ("how often to redraw (default 2s)", "多久刷新一次（默认 2s）"),
    "opt.once": ("print it once", "只显示一次"),
    "cmd.tools": (
        "Build or install the tools of environments (admins, on this machine)",
        "构建或安装环境所用的工具（管理员，在服务器上）",
    ),
    "about.tools": (
        "The tools tree has JupyterLab, VS Code, TensorBoard, git, a shell and more, and works in "
        "every image. build makes it from the package registries of this machine, in about a "
        "quarter of an hour; it needs mmdebstrap, and root or user namespaces. If this machine "
        "reaches no registries, install it from a file:\n"
        "  danlu tools build && danlu tools pack tools.tar.gz\n"
        "  danlu tools install tools.tar.gz",
        "工具目录包含 JupyterLab、VS Code、TensorBoard、git、shell 等，可用于任何镜像。"
        "build 用本机的软件包仓库构建，约需一刻钟；需要 mmdebstrap，以及 root 或用户命名空间。"
        "没有仓库的机器可用文件安装：\n"
        "  danlu tools build && danlu tools pack tools.tar.gz\n"
        "  danlu tools install tools.tar.gz",
    ),
    "opt.tools.force": ("build it again", "重新构建"),
}
