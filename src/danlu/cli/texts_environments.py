"""Messages of `danlu env`: (en, zh). Loaded on demand."""

ENVIRONMENTS: dict[str, tuple[str, str]] = {
    "env.bad_door": (
        "{word}: cannot be opened; use lab, code, tensorboard or terminal",
        "没有 {word} 这个入口；请写 lab、code、tensorboard 或 terminal",
    ),
    "env.deleted": (
        "{name} deleted; files in your folders stay",
        "{name} 已删除；你目录中的文件保留",
    ),
    "env.extended": ("{name} runs until {at} ({left} left)", "{name} 运行到 {at}（剩余 {left}）"),
    "env.field_doing": ("Doing", "进展"),
    "env.field_ends": ("Ends", "到期"),
    "env.field_host_key": ("SSH host key", "SSH 主机密钥"),
    "env.field_job": ("Job", "任务"),
    "env.field_name": ("Name", "名称"),
    "env.field_nodes": ("Nodes", "节点"),
    "env.field_owner": ("Owner", "所有者"),
    "env.field_reason": ("Reason", "原因"),
    "env.field_saved_image": ("Saved image", "已保存镜像"),
    "env.field_shared": ("Shared with", "共享给"),
    "env.field_ssh": ("SSH", "SSH 连接"),
    "env.field_state": ("State", "状态"),
    "env.field_idle": ("Idle", "闲置"),
    "env.idle": (
        "not used; stops in {time} unless somebody uses it",
        "闲置；若无人使用，{time} 后停止",
    ),
    "env.head_gpus": ("GPUS", "显卡"),
    "env.head_image": ("IMAGE", "镜像"),
    "env.head_left": ("LEFT", "剩余"),
    "env.head_name": ("NAME", "名称"),
    "env.head_shared": ("SHARED WITH", "共享给"),
    "env.head_state": ("STATE", "状态"),
    "env.is_running": (
        "{name} is {state}; danlu env open {name} opens JupyterLab, danlu ssh {name} a shell",
        "{name}：{state}；danlu env open {name} 打开 JupyterLab，danlu ssh {name} 打开终端",
    ),
    "env.is_stopped": (
        "{name} is {state}; danlu env start {name} starts it again",
        "{name}：{state}；danlu env start {name} 再次启动",
    ),
    "env.is_stopping": ("{name} is {state}", "{name}：{state}"),
    "env.is_waits": (
        "{name} is {state}; danlu why {name} says what it waits for",
        "{name}：{state}；danlu why {name} 说明在等什么",
    ),
    "env.no_end": (
        "{name} has no time limit; its idle time starts again from now",
        "{name} 没有时间上限；已重新计算闲置时间",
    ),
    "env.none": (
        "No environments; create one with danlu env create NAME",
        "没有环境；danlu env create 名称 创建一个",
    ),
    "env.nothing": (
        "Nothing to change: give at least one option, e.g. danlu env change dev -g 0",
        "没有要修改的内容：请至少给出一个选项，例如 danlu env change dev -g 0",
    ),
    "env.save_no_image": (
        "{name} runs without an image, so there is none to save; its files are in your folders",
        "{name} 没有使用镜像，没有可保存的内容；它的文件都在你的目录里",
    ),
    "env.save_not_running": (
        "{name} is not running, so there is nothing to save; start it with: danlu env start {name}",
        "{name} 没有在运行，没有可保存的内容；请先启动：danlu env start {name}",
    ),
    "env.not_running": (
        "{name} is not running; start it with danlu env start {name}",
        "{name} 没有在运行；用 danlu env start {name} 启动",
    ),
    "env.not_shared": ("{name} is not shared with anybody", "{name} 没有共享给任何人"),
    "env.shared": (
        "{name} is shared with {people}",
        "{name} 已共享给 {people}",
    ),
    "env.restarted": (
        "{name} was stopped and starts again with the change; files in your folders stay, running "
        "programs and changes to the container outside your folders do not",
        "{name} 已停止，并按修改后的设置重新启动；你目录中的文件保留，正在运行的程序、以及容器中"
        "你的目录以外的改动不保留",
    ),
    "sure.env": (
        "Delete {name}? Programs running in it are stopped; files in your folders stay.",
        "确定删除 {name}？其中运行的程序会停止；你目录中的文件保留。",
    ),
    "sure.restart": (
        "{name} has to be stopped and started again for this. Files in your folders stay; running "
        "programs, and changes to the container outside your folders, do not. Restart it?",
        "此修改需要停止并重新启动 {name}。你目录中的文件保留；正在运行的程序、以及容器中你的目录"
        "以外的改动不保留。确定重启？",
    ),
}
