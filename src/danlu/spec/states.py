"""Job states and the reasons for them: one enum each, and one table of consequences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from danlu.spec.text import EMPTY, Text


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
    NEVER = "never"  # retrying cannot help
    BUDGET = "budget"  # up to the job's own `retries`
    PLATFORM = "platform"  # not the job's fault: retried without touching its budget
    ALWAYS = "always"  # ended for others: queued again at once, any number of times


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
    IDLE = "idle"
    STOPPED_BY_USER = "stopped_by_user"
    STOPPED_OUTSIDE = "stopped_outside"
    DEPENDENCY_FAILED = "dependency_failed"
    REFUSED = "refused"
    VOLUME_MISSING = "volume_missing"
    BUNDLE_MISSING = "bundle_missing"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - a reason, not a secret
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_DENIED = "image_denied"
    IMAGE_FAILED = "image_failed"
    REGISTRY_UNREACHABLE = "registry_unreachable"
    TOOLS_MISSING = "tools_missing"
    CONTAINER_ENDED = "container_ended"
    LAUNCH_FAILED = "launch_failed"
    LOST = "lost"
    MACHINE_RESTARTED = "machine_restarted"
    PREEMPTED = "preempted"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The consequences of a reason. The texts may use {code}, {signal}, {detail} and {limit}."""

    state: State
    retry: Retry
    message: Text
    advice: Text = EMPTY


def _failed(message: Text, advice: Text, retry: Retry = Retry.BUDGET) -> Meaning:
    return Meaning(State.FAILED, retry, message, advice)


MEANINGS: dict[Reason, Meaning] = {
    Reason.COMPLETED: Meaning(State.SUCCEEDED, Retry.NEVER, Text("Completed", "已完成")),
    Reason.EXIT_CODE: _failed(
        Text("The command exited with status {code}", "命令以状态 {code} 结束"),
        Text("See the end of the log", "请查看日志末尾"),
    ),
    Reason.SIGNAL: _failed(
        Text("The command was killed by signal {signal}", "命令被信号 {signal} 终止"),
        Text(
            "It was not stopped through the platform; check its log and the kernel log",
            "不是通过平台停止的；请看日志和机器的内核日志",
        ),
    ),
    Reason.OUT_OF_MEMORY: _failed(
        Text(
            "Out of memory: the task reached its limit of {limit}",
            "内存不足：任务达到 {limit} 的上限",
        ),
        Text(
            "Ask for more memory, or use smaller batches or fewer data loader workers",
            "申请更多内存，或减小 batch、减少 data loader 进程数",
        ),
    ),
    Reason.OUT_OF_GPU_MEMORY: _failed(
        Text("Out of GPU memory", "显存不足"),
        Text(
            "Use a smaller batch or model, or a GPU with more memory",
            "减小 batch 或模型，或换显存更大的卡",
        ),
    ),
    Reason.OUT_OF_SHARED_MEMORY: _failed(
        Text(
            "Out of shared memory: /dev/shm of {limit} is full",
            "共享内存不足：/dev/shm 的 {limit} 已用满",
        ),
        Text(
            "Ask for more shared memory (shm), or use fewer data loader workers",
            "申请更多共享内存（shm），或减少 data loader 进程数",
        ),
    ),
    Reason.DISK_FULL: _failed(
        Text("No space left on a disk the task wrote to", "任务写入的磁盘已满"),
        Text(
            "Free space in the folder named in the log, then run again. If none is named, it may "
            "be shared memory (/dev/shm): ask for more shm",
            "清理日志中提到的目录后重新运行。如果日志没有提到目录，也可能是共享内存（/dev/shm）已"
            "满：请申请更多 shm",
        ),
    ),
    Reason.COMMAND_NOT_FOUND: _failed(
        Text("Command not found: {detail}", "找不到命令：{detail}"),
        Text(
            "Check the spelling, PATH and the working directory; --carry-env passes the "
            "environment of your shell (conda, venv) to the task",
            "检查拼写、PATH 和工作目录；--carry-env 可把当前 shell 的环境（conda、venv）带给任务",
        ),
        Retry.NEVER,
    ),
    Reason.NOT_EXECUTABLE: _failed(
        Text("Cannot be executed: {detail}", "无法执行：{detail}"),
        Text(
            "Make it executable (chmod +x) and check its first line (#!)",
            "给文件加执行权限（chmod +x），并检查首行（#!）",
        ),
        Retry.NEVER,
    ),
    Reason.WORKDIR_MISSING: _failed(
        Text(
            "Working directory not found in the task: {detail}",
            "任务中没有这个工作目录：{detail}",
        ),
        Text(
            "Use a folder that exists in the task and is accessible to its user; /userhome always "
            "is",
            "请填写任务能看到、其用户能进入的目录；/userhome 始终可用",
        ),
        Retry.NEVER,
    ),
    Reason.MODULE_MISSING: _failed(
        Text("Missing Python module: {detail}", "缺少 Python 模块：{detail}"),
        Text(
            "Install it in the environment the command uses, or activate the right one",
            "在命令使用的环境中安装它，或激活正确的环境",
        ),
    ),
    Reason.FILE_LIMIT: _failed(
        Text("Too many open files", "打开的文件过多"),
        Text(
            "Use fewer workers, or torch.multiprocessing.set_sharing_strategy('file_system')",
            "减少进程数，或使用 torch.multiprocessing.set_sharing_strategy('file_system')",
        ),
    ),
    Reason.PORT_IN_USE: _failed(
        Text("A port the program needs is already in use", "程序要用的端口已被占用"),
        Text(
            "Use the leased ports (MASTER_PORT, PORT_*) instead of a fixed number",
            "使用平台分配的端口（MASTER_PORT、PORT_*），不要写死端口号",
        ),
    ),
    Reason.LEASED_PORT_TAKEN: _failed(
        Text(
            "A port leased to it is used by something outside the platform",
            "分配给它的端口被平台之外的程序占用",
        ),
        Text(
            "Tell the admin what uses the port",
            "请告诉管理员是什么占用了端口",
        ),
        Retry.PLATFORM,
    ),
    Reason.PEER_UNREACHABLE: _failed(
        Text("The tasks could not reach each other", "任务之间无法互相连接"),
        Text(
            "Check that all tasks use MASTER_ADDR and MASTER_PORT as given",
            "检查所有任务都按给定的 MASTER_ADDR 和 MASTER_PORT 连接",
        ),
    ),
    Reason.TIME_LIMIT: _failed(
        Text("Reached its time limit of {limit}", "达到时间上限 {limit}"),
        Text(
            "Ask for more time, or save checkpoints and continue in a new run",
            "申请更长时间，或保存检查点后接着运行",
        ),
        Retry.NEVER,
    ),
    Reason.IDLE: Meaning(
        State.STOPPED,
        Retry.NEVER,
        Text("Not used for {limit}, its idle limit", "闲置达到上限 {limit}"),
        Text(
            "Start it again when you need it; its files are where they were",
            "需要时再次启动；文件都还在原处",
        ),
    ),
    Reason.STOPPED_BY_USER: Meaning(
        State.STOPPED, Retry.NEVER, Text("Stopped by {detail}", "被 {detail} 停止")
    ),
    Reason.STOPPED_OUTSIDE: Meaning(
        State.STOPPED,
        Retry.NEVER,
        Text("Stopped, but not through the platform: {detail}", "不是通过平台停止的：{detail}"),
        Text("Run it again if that was a mistake", "如果是误操作，请重新运行"),
    ),
    Reason.DEPENDENCY_FAILED: Meaning(
        State.STOPPED,
        Retry.NEVER,
        Text("Not started: {detail} did not end as required", "未启动：{detail} 没有按要求结束"),
    ),
    Reason.REFUSED: _failed(
        Text("The node refused to start it: {detail}", "节点拒绝启动：{detail}"),
        Text("Fix what the message says, then submit again", "按提示修改后重新提交"),
        Retry.NEVER,
    ),
    Reason.VOLUME_MISSING: _failed(
        Text("The folder of a volume is missing: {detail}", "存储卷的目录不存在：{detail}"),
        Text(
            "Tell the admin: the folder was moved, or its disk is not mounted",
            "请告知管理员：目录被移走，或磁盘没有挂载",
        ),
        Retry.NEVER,
    ),
    Reason.BUNDLE_MISSING: _failed(
        Text(
            "The folder brought along could not be unpacked: {detail}",
            "随任务上传的目录无法展开：{detail_zh}",
        ),
        Text("Run it again with --carry", "请用 --carry 重新提交"),
        Retry.NEVER,
    ),
    Reason.SECRET_MISSING: _failed(
        Text("No such secret: {detail}", "密钥不存在：{detail}"),
        Text("Create it, or remove it from the job", "请先创建，或从任务中去掉"),
        Retry.NEVER,
    ),
    Reason.IMAGE_NOT_FOUND: _failed(
        Text("No such image: {detail}", "没有这个镜像：{detail}"),
        Text(
            "Check its name and tag; your own images must be pushed to a registry first",
            "检查镜像名称和标签；自己的镜像需要先推送到仓库",
        ),
        Retry.NEVER,
    ),
    Reason.IMAGE_DENIED: _failed(
        Text("The registry denied access to the image: {detail}", "镜像仓库拒绝访问：{detail}"),
        Text(
            "Check the image's name; if it is private, the admin must set the registry's user and "
            "password",
            "检查镜像名称；若是私有镜像，请管理员配置仓库的用户名和密码",
        ),
        Retry.NEVER,
    ),
    Reason.IMAGE_FAILED: _failed(
        Text("Cannot pull the image: {detail}", "无法拉取镜像：{detail}"),
        Text("Tell the admin", "请告知管理员"),
        Retry.PLATFORM,
    ),
    Reason.REGISTRY_UNREACHABLE: _failed(
        Text("The image's registry does not answer: {detail}", "镜像仓库没有响应：{detail}"),
        Text(
            "Check the registry's address and the network",
            "请检查仓库地址和网络",
        ),
        Retry.PLATFORM,
    ),
    Reason.TOOLS_MISSING: _failed(
        Text(
            "The tools for environments are missing: {detail}",
            "没有环境所需的工具：{detail_zh}",
        ),
        Text(
            "Tell the admin; `danlu tools status` shows what is installed",
            "请告知管理员；`danlu tools status` 可查看现有工具",
        ),
        Retry.NEVER,
    ),
    Reason.CONTAINER_ENDED: _failed(
        Text(
            "The container was ended by something other than Danlu: {detail}",
            "容器被外部终止：{detail}",
        ),
        Text(
            "Find out who restarts the container runtime or removes containers",
            "请查明是谁重启了容器运行时或删除了容器",
        ),
        Retry.PLATFORM,
    ),
    Reason.LAUNCH_FAILED: _failed(
        Text("Could not be started: {detail}", "未能启动：{detail}"),
        Text("Tell the admin", "请告知管理员"),
        Retry.PLATFORM,
    ),
    Reason.LOST: _failed(
        Text("The task disappeared without a status: {detail}", "任务消失且没有留下状态：{detail}"),
        Text(
            "Find out what kills its keeper process; the job is not at fault",
            "请查明是什么终止了看护进程；不是任务本身的问题",
        ),
        Retry.PLATFORM,
    ),
    Reason.MACHINE_RESTARTED: _failed(
        Text("The machine restarted while it was running", "运行期间机器重启"),
        Text(
            "Save checkpoints to lose little work",
            "请保存检查点以减少损失",
        ),
        Retry.PLATFORM,
    ),
    Reason.PREEMPTED: Meaning(
        State.STOPPED,
        Retry.ALWAYS,
        Text(
            "Preempted: {detail} needed its resources",
            "被抢占：资源让给了 {detail}",
        ),
    ),
    Reason.MOVED: Meaning(
        State.STOPPED,
        Retry.ALWAYS,
        Text(
            "Moved to another node so that {detail} can start",
            "移到其他节点，让 {detail} 可以开始",
        ),
    ),
}

PLATFORM_RETRIES = 3
"""How many consecutive platform faults are retried before the job fails."""


def meaning(reason: Reason) -> Meaning:
    return MEANINGS[reason]
