"""Help for `env`: (en, zh)."""

ENVIRONMENTS: dict[str, tuple[str, str]] = {
    "cmd.env": (
        "Keep environments to work in, and start them again",
        "管理开发环境，可随时再次启动",
    ),
    "about.env": (
        "An environment is kept under a name: letters, digits and '_', at most 27. Each start "
        "queues a job with the same image, resources and home folder; danlu ssh, exec, logs and "
        "why take the name of the environment, too. It has GPUs only if you ask for them.\n"
        "  danlu env create dev --image pytorch:2.4 -g 1 --time 8h\n"
        "  danlu env open dev code\n"
        "  danlu ssh dev\n"
        "  danlu env extend dev 2h\n"
        "  danlu env change dev -g 0\n"
        "  danlu env save dev torch:3\n"
        "  danlu env stop dev\n"
        "  danlu env start dev\n"
        "open prints the address of JupyterLab (lab), VS Code (code), TensorBoard or a terminal, "
        "and opens it in the browser. change takes effect at the next start; a running "
        "environment has to be restarted for it, after you confirm. none resets an option to "
        "its default. extend without a time gives the usual time again, from now on, and prints "
        "when it ends. With an idle "
        "limit, an environment that nobody uses is stopped after a warning. save turns the "
        "changes in its container into an image, from which it starts the next time; with --stop "
        "its command is ended first. People you share it with may enter it as you do, but not "
        "stop, change or delete it; unshare cuts them off at once. Another person's environment "
        "is OWNER/NAME.",
        "环境以名称保存：字母、数字和下划线，最多 27 个字符。每次启动都提交一个任务，"
        "使用相同的镜像、资源和用户目录；danlu ssh、exec、logs 和 why 也接受环境的名称。"
        "只有申请时才分配 GPU。\n"
        "  danlu env create dev --image pytorch:2.4 -g 1 --time 8h\n"
        "  danlu env open dev code\n"
        "  danlu ssh dev\n"
        "  danlu env extend dev 2h\n"
        "  danlu env change dev -g 0\n"
        "  danlu env save dev torch:3\n"
        "  danlu env stop dev\n"
        "  danlu env start dev\n"
        "open 输出 JupyterLab（lab）、VS Code（code）、TensorBoard 或终端（terminal）的地址，"
        "并在浏览器中打开。change 在下次启动时生效；运行中的环境需要停止并重新启动，会先询问。"
        "none 恢复选项的默认值。"
        "extend 不写时间时，从现在起再给一次通常的时间，并告知到期时间。"
        "设置了闲置上限的环境无人使用时，会先提醒再停止。save 把容器中的改动保存为镜像，"
        "下次从它启动；--stop 先结束其中的命令。共享给的人可以像你一样进入，但不能停止、"
        "修改或删除；unshare 立即切断。别人的环境写作 所有者/名称。",
    ),
    "opt.env.all": ("of everybody, as far as you may see them", "列出你可以看到的所有人的环境"),
    "opt.env.dry-run": (
        "create nothing; show when it would start, and why not now",
        "不创建；说明何时能启动、为何不能马上启动",
    ),
    "opt.idle": (
        "stop it after this long without use, such as 2h; 0: never",
        "闲置多久后停止，如 2h；0 表示不停止",
    ),
    "opt.no-start": ("create it without starting it", "只创建，不启动"),
}
