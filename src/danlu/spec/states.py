"""Where a job can be, and why it got there: one enum each, one table of consequences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def final(self) -> bool:
        return self in FINAL


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.STOPPED})


class Retry(StrEnum):
    NEVER = "never"  # trying again cannot help
    BUDGET = "budget"  # up to the job's own `retries`
    PLATFORM = "platform"  # not the job's fault: tried again without touching its budget
    ALWAYS = "always"  # ended for others: queued again at once, however often


class Reason(StrEnum):
    COMPLETED = "completed"
    EXIT_CODE = "exit_code"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out_of_memory"
    OUT_OF_GPU_MEMORY = "out_of_gpu_memory"
    OUT_OF_SHARED_MEMORY = "out_of_shared_memory"
    DISK_FULL = "disk_full"
    COMMAND_NOT_FOUND = "command_not_found"
    NOT_EXECUTABLE = "not_executable"
    WORKDIR_MISSING = "workdir_missing"
    MODULE_MISSING = "module_missing"
    FILE_LIMIT = "file_limit"
    PORT_IN_USE = "port_in_use"
    LEASED_PORT_TAKEN = "leased_port_taken"
    PEER_UNREACHABLE = "peer_unreachable"
    TIME_LIMIT = "time_limit"
    STOPPED_BY_USER = "stopped_by_user"
    DEPENDENCY_FAILED = "dependency_failed"
    REFUSED = "refused"
    VOLUME_MISSING = "volume_missing"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - a reason, not a secret
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_DENIED = "image_denied"
    IMAGE_FAILED = "image_failed"
    REGISTRY_UNREACHABLE = "registry_unreachable"
    CONTAINER_ENDED = "container_ended"
    LAUNCH_FAILED = "launch_failed"
    LOST = "lost"
    MACHINE_RESTARTED = "machine_restarted"
    PREEMPTED = "preempted"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a reason entails. The texts may use {code}, {signal}, {detail} and {limit}."""

    state: State
    retry: Retry
    en: str
    zh: str
    advice_en: str = ""
    advice_zh: str = ""


def _failed(
    en: str, zh: str, advice_en: str, advice_zh: str, retry: Retry = Retry.BUDGET
) -> Meaning:
    return Meaning(State.FAILED, retry, en, zh, advice_en, advice_zh)


MEANINGS: dict[Reason, Meaning] = {
    Reason.COMPLETED: Meaning(State.SUCCEEDED, Retry.NEVER, "Completed", "已完成"),
    Reason.EXIT_CODE: _failed(
        "The command ended with status {code}",
        "命令以状态 {code} 结束",
        "The end of the log shows what the program said",
        "日志末尾有程序自己的说明",
    ),
    Reason.SIGNAL: _failed(
        "The command was ended by signal {signal}",
        "命令被信号 {signal} 终止",
        "Nobody stopped it through the platform; its log and the kernel's may tell more",
        "不是通过平台停止的；请看日志和机器的内核日志",
    ),
    Reason.OUT_OF_MEMORY: _failed(
        "Out of memory: the task reached its limit of {limit}",
        "内存不足：任务达到 {limit} 的上限",
        "Ask for more memory, or use smaller batches or fewer data loader workers",
        "申请更多内存，或减小 batch、减少 data loader 进程数",
    ),
    Reason.OUT_OF_GPU_MEMORY: _failed(
        "Out of GPU memory",
        "显存不足",
        "Use a smaller batch or model, or a card with more memory",
        "减小 batch 或模型，或换显存更大的卡",
    ),
    Reason.OUT_OF_SHARED_MEMORY: _failed(
        "Out of shared memory: /dev/shm of {limit} is full",
        "共享内存不足：/dev/shm 的 {limit} 已用满",
        "Ask for more shared memory (shm), or use fewer data loader workers",
        "申请更多共享内存（shm），或减少 data loader 进程数",
    ),
    Reason.DISK_FULL: _failed(
        "No space left on a disk the task wrote to",
        "任务写入的磁盘已满",
        "Free space in the folder the log names, then run again. If it names none, it may have "
        "been shared memory (/dev/shm): ask for more shm",
        "清理日志中提到的目录后重新运行。如果日志没有提到目录，也可能是共享内存（/dev/shm）已满："
        "请申请更多 shm",
    ),
    Reason.COMMAND_NOT_FOUND: _failed(
        "Command not found: {detail}",
        "找不到命令：{detail}",
        "Check the spelling, PATH and the working directory",
        "检查拼写、PATH 和工作目录",
        Retry.NEVER,
    ),
    Reason.NOT_EXECUTABLE: _failed(
        "Cannot be executed: {detail}",
        "无法执行：{detail}",
        "chmod +x the file and check its first line (#!)",
        "给文件加执行权限（chmod +x），并检查首行（#!）",
        Retry.NEVER,
    ),
    Reason.WORKDIR_MISSING: _failed(
        "There is no such working directory for the task: {detail}",
        "任务没有这个工作目录：{detail}",
        "Name a folder that the task can see and its user may enter; /userhome is always there",
        "请填写任务能看到、其用户能进入的目录；/userhome 始终可用",
        Retry.NEVER,
    ),
    Reason.MODULE_MISSING: _failed(
        "A Python module is missing: {detail}",
        "缺少 Python 模块：{detail}",
        "Install it in the environment the command uses, or activate the right environment",
        "在命令使用的环境中安装它，或激活正确的环境",
    ),
    Reason.FILE_LIMIT: _failed(
        "Too many open files",
        "打开的文件过多",
        "Use fewer workers, or torch.multiprocessing.set_sharing_strategy('file_system')",
        "减少进程数，或使用 torch.multiprocessing.set_sharing_strategy('file_system')",
    ),
    Reason.PORT_IN_USE: _failed(
        "A port the program wanted is already in use",
        "程序要用的端口已被占用",
        "Use the leased ports (MASTER_PORT, PORT_*) instead of a fixed number",
        "使用平台分配的端口（MASTER_PORT、PORT_*），不要写死端口号",
    ),
    Reason.LEASED_PORT_TAKEN: _failed(
        "A port that was leased to it is used by something outside the platform",
        "分配给它的端口被平台之外的程序占用",
        "It is tried again with other ports; if it comes back, tell the admin what uses the port",
        "会换端口重试；如果反复出现，请告诉管理员是什么占用了端口",
        Retry.PLATFORM,
    ),
    Reason.PEER_UNREACHABLE: _failed(
        "The tasks could not reach each other",
        "任务之间无法互相连接",
        "Check that all tasks use MASTER_ADDR and MASTER_PORT as given",
        "检查所有任务都按给定的 MASTER_ADDR 和 MASTER_PORT 连接",
    ),
    Reason.TIME_LIMIT: _failed(
        "Reached its time limit of {limit}",
        "达到时间上限 {limit}",
        "Ask for more time, or save checkpoints and continue in a new run",
        "申请更长时间，或保存检查点后接着运行",
        Retry.NEVER,
    ),
    Reason.STOPPED_BY_USER: Meaning(
        State.STOPPED, Retry.NEVER, "Stopped by {detail}", "被 {detail} 停止"
    ),
    Reason.DEPENDENCY_FAILED: Meaning(
        State.STOPPED,
        Retry.NEVER,
        "Not started: {detail} did not end as required",
        "未启动：{detail} 没有按要求结束",
    ),
    Reason.REFUSED: _failed(
        "The machine refused to start it: {detail}",
        "机器拒绝启动：{detail}",
        "Change what the message names, then submit again",
        "按提示修改后重新提交",
        Retry.NEVER,
    ),
    Reason.VOLUME_MISSING: _failed(
        "The folder of a volume is not there: {detail}",
        "存储卷的目录不存在：{detail}",
        "Tell the admin: the folder was moved, or its disk is not mounted",
        "请告知管理员：目录被移走，或磁盘没有挂载",
        Retry.NEVER,
    ),
    Reason.SECRET_MISSING: _failed(
        "A secret does not exist: {detail}",
        "密钥不存在：{detail}",
        "Create it, or take it out of the job",
        "请先创建，或从任务中去掉",
        Retry.NEVER,
    ),
    Reason.IMAGE_NOT_FOUND: _failed(
        "There is no such image: {detail}",
        "没有这个镜像：{detail}",
        "Check its name and tag; an image of your own must be pushed to a registry first",
        "检查镜像名称和标签；自己的镜像需要先推送到仓库",
        Retry.NEVER,
    ),
    Reason.IMAGE_DENIED: _failed(
        "The registry does not give out the image: {detail}",
        "镜像仓库拒绝提供镜像：{detail}",
        "Check the image's name; if it is private, the admin sets the registry's user and password",
        "检查镜像名称；若是私有镜像，请管理员配置仓库的用户名和密码",
        Retry.NEVER,
    ),
    Reason.IMAGE_FAILED: _failed(
        "The image cannot be fetched: {detail}",
        "无法获取镜像：{detail}",
        "It is tried again by itself; if it stays, tell the admin",
        "平台会自动重试；若持续出现请告知管理员",
        Retry.PLATFORM,
    ),
    Reason.REGISTRY_UNREACHABLE: _failed(
        "The registry of the image does not answer: {detail}",
        "镜像仓库没有响应：{detail}",
        "It is tried again by itself; if it stays, check the registry's address and the network",
        "平台会自动重试；若持续出现请检查仓库地址和网络",
        Retry.PLATFORM,
    ),
    Reason.CONTAINER_ENDED: _failed(
        "Its container was ended from outside: {detail}",
        "容器被外部终止：{detail}",
        "The container runtime was restarted, or somebody removed the container; it runs again by "
        "itself",
        "容器运行时被重启，或有人删除了容器；平台会自动重新运行",
        Retry.PLATFORM,
    ),
    Reason.LAUNCH_FAILED: _failed(
        "It could not be started: {detail}",
        "未能启动：{detail}",
        "It is tried again by itself; if it stays, tell the admin",
        "平台会自动重试；若持续出现请告知管理员",
        Retry.PLATFORM,
    ),
    Reason.LOST: _failed(
        "The task vanished without a status: {detail}",
        "任务消失且没有留下状态：{detail}",
        "Its keeper process was ended from outside; nothing of the job was at fault",
        "看护进程被外部终止，不是任务本身的问题",
        Retry.PLATFORM,
    ),
    Reason.MACHINE_RESTARTED: _failed(
        "The machine restarted while it ran",
        "运行期间机器重启",
        "It runs again by itself; keep checkpoints so that little is lost",
        "平台会自动重新运行；保存检查点可减少损失",
        Retry.PLATFORM,
    ),
    Reason.PREEMPTED: Meaning(
        State.STOPPED,
        Retry.ALWAYS,
        "Lent cards went back: {detail} has a right to them",
        "借用的卡已归还：{detail} 有权使用",
    ),
    Reason.MOVED: Meaning(
        State.STOPPED,
        Retry.ALWAYS,
        "Moved to another node, so that {detail} can start",
        "移到其他节点，让 {detail} 可以开始",
    ),
}

PLATFORM_RETRIES = 3
"""How often in a row the platform's own faults are retried before the job fails."""


def meaning(reason: Reason) -> Meaning:
    return MEANINGS[reason]
