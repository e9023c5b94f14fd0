"""Messages and help of `danlu tensorboard`: (en, zh). Loaded on demand."""

TENSORBOARD: dict[str, tuple[str, str]] = {
    "tensorboard.ended": (
        "{ref} has ended: {reason}; see danlu logs {ref}",
        "{ref} 已结束：{reason}；详见 danlu logs {ref}",
    ),
    "tensorboard.queued": (
        "{ref} queued; danlu open {ref} opens it once it runs",
        "{ref} 已排队；开始运行后用 danlu open {ref} 打开",
    ),
    "tensorboard.which": (
        "Name folders with event files, or a job: danlu tensorboard runs, or danlu tensorboard "
        "--job mnist-3",
        "请写含事件文件的目录，或一个任务：danlu tensorboard runs，或 danlu tensorboard "
        "--job mnist-3",
    ),
}

HELP: dict[str, tuple[str, str]] = {
    "cmd.tensorboard": (
        "Show curves of your folders in the browser",
        "在浏览器中查看目录中的训练曲线",
    ),
    "about.tensorboard": (
        "Starts TensorBoard as a job of yours without GPUs, which sees your folders read-only, and "
        "opens it. It is stopped when nobody has looked at it for an hour (--idle). Folders are "
        "those of your tasks; a path that does not begin with / is below the current folder.\n"
        "  danlu tensorboard /userhome/project/runs\n"
        "  danlu tensorboard runs baseline/runs\n"
        "  danlu tensorboard --job mnist-3",
        "以你的名义启动一个不占 GPU 的 TensorBoard 任务，它只能读取你的目录，然后在浏览器中打开。"
        "一小时（--idle）无人查看即停止。目录按任务所见书写；不以 / 开头的路径从当前目录算起。\n"
        "  danlu tensorboard /userhome/project/runs\n"
        "  danlu tensorboard runs baseline/runs\n"
        "  danlu tensorboard --job mnist-3",
    ),
    "opt.job": (
        "the folders with event files that this job of yours has written",
        "你的这个任务写入事件文件的目录",
    ),
    "opt.tensorboard.detach": (
        "do not wait until it runs, and do not open it",
        "不等待它运行，也不打开",
    ),
    "opt.tensorboard.idle": (
        "stop it after this long without a visitor; 1h unless given",
        "无人查看多久后停止；默认 1h",
    ),
}
