"""The reasons of Slurm that are not limits: what each means, whose turn it is, and what to do."""

from __future__ import annotations

from enum import StrEnum

from danlu.spec.text import EMPTY, Text


class Turn(StrEnum):
    """Whose turn it is."""

    SLURM = "slurm"  # it starts by itself
    USER = "user"  # as requested, it does not start
    ADMIN = "admin"  # somebody else has to do something first
    ENDED = "ended"  # not a reason to wait: it tells how a job ended


DETAILS = {
    "reserved for maintenance": Text(" (reserved for maintenance)", "（已预留用于维护）"),
    "may be reserved for other job": Text(
        " (maybe reserved for another job)", "（可能已为其他任务预留）"
    ),
}

ASK_LESS = Text(
    "Request less, or ask the Slurm admin to raise the limit",
    "减少请求的资源，或请 Slurm 管理员放宽限制",
)
ASK_ADMIN = Text("Ask the Slurm admin", "请联系 Slurm 管理员")
_RESUBMIT = Text("Submit it again with what Slurm accepts", "修改后重新提交")
_RELEASE = Text("It continues after scontrol release", "执行 scontrol release 后继续排队")

Entry = tuple[Text, Turn, Text]

REASONS: dict[str, Entry] = {
    "None": (
        Text("Slurm has not looked at it yet", "Slurm 尚未处理到它"),
        Turn.SLURM,
        EMPTY,
    ),
    "Prolog": (
        Text("its nodes are being prepared (prolog)", "正在准备节点（prolog）"),
        Turn.SLURM,
        EMPTY,
    ),
    "Priority": (
        Text("jobs with a higher priority are before it", "前面有优先级更高的任务"),
        Turn.SLURM,
        EMPTY,
    ),
    "Resources": (
        Text(
            "it is next, and starts as soon as the resources it needs are free",
            "已排到最前，等待所需资源空出",
        ),
        Turn.SLURM,
        EMPTY,
    ),
    "Dependency": (
        Text("a job it depends on has not ended yet", "它依赖的任务尚未结束"),
        Turn.SLURM,
        EMPTY,
    ),
    "DependencyNeverSatisfied": (
        Text("a job it depends on did not end as required", "它依赖的任务未按要求的方式结束"),
        Turn.USER,
        Text("Stop it, and submit it without that dependency", "停止它，去掉该依赖后重新提交"),
    ),
    "BeginTime": (
        Text("its earliest start time has not come yet", "未到设定的最早开始时间"),
        Turn.SLURM,
        EMPTY,
    ),
    "JobHeldUser": (
        Text("its owner holds it in Slurm", "已被任务所有者在 Slurm 中挂起"),
        Turn.USER,
        _RELEASE,
    ),
    "JobHeldAdmin": (
        Text("a Slurm admin holds it", "已被 Slurm 管理员挂起"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "JobHoldMaxRequeue": (
        Text("Slurm requeued it too often and holds it now", "重新排队次数过多，已被 Slurm 挂起"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "JobArrayTaskLimit": (
        Text(
            "its array already runs as many tasks as it may at once", "数组任务的同时运行数已达上限"
        ),
        Turn.SLURM,
        EMPTY,
    ),
    "PartitionDown": (
        Text("its partition is down", "所在分区已停用（DOWN）"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "PartitionInactive": (
        Text("its partition accepts no jobs", "所在分区不接受任务（INACTIVE）"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "PartitionConfig": (
        Text("its partition does not allow what it asks for", "请求不符合所在分区的设置"),
        Turn.USER,
        _RESUBMIT,
    ),
    "PartitionNodeLimit": (
        Text(
            "it asks for more nodes than its partition has or allows",
            "请求的节点数超过分区拥有或允许的数量",
        ),
        Turn.USER,
        ASK_LESS,
    ),
    "PartitionTimeLimit": (
        Text(
            "its time limit is longer than its partition allows", "时间上限超过分区允许的最长时间"
        ),
        Turn.USER,
        Text("Set a shorter time limit", "缩短时间上限"),
    ),
    "ReqNodeNotAvail": (
        Text("a node it has to use is not available", "它必须使用的节点不可用"),
        Turn.ADMIN,
        Text("Let it use other nodes, or ask the Slurm admin", "改用其他节点，或联系 Slurm 管理员"),
    ),
    "NodeDown": (
        Text("a node it needs is down", "所需节点已宕机"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "FrontEndDown": (
        Text("no front end node is available", "没有可用的前端节点"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "BadConstraints": (
        Text("no node can ever have what it asks for", "没有节点能满足它的要求"),
        Turn.USER,
        _RESUBMIT,
    ),
    "Constraints": (
        Text("no node has what it asks for at present", "目前没有节点满足它的要求"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "Licenses": (
        Text("all licences it needs are in use", "所需许可证全部占用"),
        Turn.SLURM,
        EMPTY,
    ),
    "Reservation": (
        Text("its reservation has not begun yet", "它的预留时段尚未开始"),
        Turn.SLURM,
        EMPTY,
    ),
    "ReservationDeleted": (
        Text("its reservation was deleted", "它的预留已被删除"),
        Turn.USER,
        _RESUBMIT,
    ),
    "ReservationInvalid": (
        Text("its reservation cannot be used", "它的预留无效"),
        Turn.USER,
        _RESUBMIT,
    ),
    "Cleaning": (
        Text("Slurm still cleans up after its last run", "Slurm 正在清理上一次运行"),
        Turn.SLURM,
        EMPTY,
    ),
    "SchedDefer": (
        Text(
            "Slurm does not start jobs immediately here; it looks at the queue later",
            "此处不会立即启动任务，Slurm 稍后统一调度",
        ),
        Turn.SLURM,
        EMPTY,
    ),
    "MaxPoweredUpNodes": (
        Text("the limit of powered-up nodes is reached", "已开机节点数达到上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "MpiPortsBusy": (
        Text("all ports reserved for MPI are in use", "为 MPI 预留的端口全部占用"),
        Turn.SLURM,
        EMPTY,
    ),
    "PowerNotAvail": (
        Text("there is not enough power for it now", "当前可用电力不足"),
        Turn.SLURM,
        EMPTY,
    ),
    "PowerReserved": (
        Text("the power it needs is reserved", "所需电力已被预留"),
        Turn.SLURM,
        EMPTY,
    ),
    "BurstBufferResources": (
        Text("the burst buffer has too little space", "burst buffer 空间不足"),
        Turn.SLURM,
        EMPTY,
    ),
    "BurstBufferStageIn": (
        Text("its data are being copied to the burst buffer", "正在将数据复制到 burst buffer"),
        Turn.SLURM,
        EMPTY,
    ),
    "BurstBufferOperation": (
        Text("an operation on its burst buffer failed", "burst buffer 操作失败"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "BlockMaxError": (
        Text("a block of nodes has too many errors", "节点块错误过多"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "BlockFreeAction": (
        Text("a block of nodes is being freed", "节点块正在释放"),
        Turn.SLURM,
        EMPTY,
    ),
    "FedJobLock": (
        Text("another cluster of the federation starts it", "联邦中的另一集群正在处理它"),
        Turn.SLURM,
        EMPTY,
    ),
    "AccountNotAllowed": (
        Text("its partition does not admit its Slurm account", "分区不允许它的 Slurm 账户"),
        Turn.USER,
        Text("Use another account or partition", "换用其他账户或分区"),
    ),
    "InvalidAccount": (
        Text("its Slurm account does not exist", "它的 Slurm 账户不存在"),
        Turn.USER,
        ASK_ADMIN,
    ),
    "InvalidQOS": (
        Text("its QOS does not exist", "它的 QOS 不存在"),
        Turn.USER,
        ASK_ADMIN,
    ),
    "QOSNotAllowed": (
        Text("its account or partition does not admit its QOS", "账户或分区不允许它的 QOS"),
        Turn.USER,
        Text("Use another QOS, account or partition", "换用其他 QOS、账户或分区"),
    ),
    "QOSUsageThreshold": (
        Text("its account has used more than its QOS allows for now", "账户用量超过 QOS 的门限"),
        Turn.SLURM,
        EMPTY,
    ),
    "QOSJobLimit": (
        Text("its QOS has reached its number of jobs", "QOS 的任务数已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "QOSResourceLimit": (
        Text("its QOS has reached a limit of resources", "QOS 的资源用量已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "QOSTimeLimit": (
        Text("its QOS has reached its time limit", "QOS 的时间已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "AssociationJobLimit": (
        Text("its Slurm account has reached its number of jobs", "Slurm 账户的任务数已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "AssociationResourceLimit": (
        Text("its Slurm account has reached a limit of resources", "Slurm 账户的资源用量已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "AssociationTimeLimit": (
        Text("its Slurm account has reached its time limit", "Slurm 账户的时间已达上限"),
        Turn.SLURM,
        EMPTY,
    ),
    "AccountingPolicy": (
        Text("a limit of Slurm's accounting holds it back", "受 Slurm 记账策略限制"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "MaxMemPerLimit": (
        Text(
            "it asks for more memory than Slurm allows per CPU or node",
            "请求的内存超过每 CPU 或每节点的上限",
        ),
        Turn.USER,
        ASK_LESS,
    ),
    "DeadLine": (
        Text("it can no longer end before its deadline", "已无法在截止时间前完成"),
        Turn.ENDED,
        EMPTY,
    ),
    "SystemFailure": (
        Text("Slurm itself failed", "Slurm 自身出现故障"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "JobLaunchFailure": (
        Text("Slurm could not start it on its node", "Slurm 无法在节点上启动它"),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    "NonZeroExitCode": (
        Text("it ended with an error code", "以非零退出码结束"),
        Turn.ENDED,
        EMPTY,
    ),
    "RaisedSignal": (Text("a signal ended it", "被信号终止"), Turn.ENDED, EMPTY),
    "TimeLimit": (Text("it reached its time limit", "达到时间上限"), Turn.ENDED, EMPTY),
    "InactiveLimit": (
        Text("it was inactive for too long", "长时间没有活动"),
        Turn.ENDED,
        EMPTY,
    ),
    "OutOfMemory": (Text("it ran out of memory", "内存不足"), Turn.ENDED, EMPTY),
}

# What Slurm writes instead of one of its words.
SENTENCES: tuple[tuple[str, Text, Turn, Text], ...] = (
    (
        "nodes required for job are down",
        Text(
            "the nodes it needs are down, drained or kept for partitions with a higher priority",
            "所需节点已宕机、被停用，或保留给更高优先级的分区",
        ),
        Turn.ADMIN,
        ASK_ADMIN,
    ),
    (
        "launch failed requeued held",
        Text("a node could not start it, so Slurm holds it now", "节点无法启动它，已被 Slurm 挂起"),
        Turn.ADMIN,
        _RELEASE,
    ),
    (
        "job requeued in held state",
        Text("it was requeued and is held now", "已重新排队并被挂起"),
        Turn.ADMIN,
        _RELEASE,
    ),
)
