"""What `danlu usage` says: (en, zh). Loaded when it speaks."""

METRICS: dict[str, tuple[str, str]] = {
    "metrics.cpu": ("CPU cores", "CPU 核数"),
    "metrics.disk_free": ("disk free", "磁盘剩余"),
    "metrics.disk_read": ("disk read", "磁盘读取"),
    "metrics.disk_written": ("disk written", "磁盘写入"),
    "metrics.gpu": ("GPU utilization", "GPU 利用率"),
    "metrics.gpu_index": ("GPU {index}", "{index} 号卡"),
    "metrics.gpu_memory": ("GPU memory", "显存"),
    "metrics.head_mean": ("MEAN", "平均"),
    "metrics.head_now": ("NOW", "当前"),
    "metrics.head_peak": ("PEAK", "峰值"),
    "metrics.head_task": ("TASK", "子任务"),
    "metrics.head_time": ("OVER TIME", "变化"),
    "metrics.head_what": ("METRIC", "指标"),
    "metrics.job_or_node": (
        "Give a job, or a node with --node",
        "请给出任务，或用 --node 给出节点",
    ),
    "metrics.memory": ("memory", "内存"),
    "metrics.net_received": ("network received", "网络接收"),
    "metrics.net_sent": ("network sent", "网络发送"),
    "metrics.nothing": (
        "No measurements: usage is measured every 10 seconds while something runs, and kept for a "
        "month",
        "没有用量记录：运行期间每 10 秒记录一次，保留一个月",
    ),
    "metrics.power": ("power", "功耗"),
    "metrics.processes": ("processes", "进程数"),
    "metrics.step": ("Each column is {time}", "每格为 {time}"),
    "metrics.temperature": ("temperature", "温度"),
}
