"""`scontrol`: shows jobs, nodes and queues; hold, release, requeue."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims import slurm
from danlu.cli.shims.flags import Table
from danlu.cli.shims.queues import nodes_of
from danlu.cli.shims.sinfo import gres, partitions, state
from danlu.cli.shims.squeue import Row, as_json, elements
from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLE = Table(
    {"clusters": "M", "uid": "u"},
    {
        "all": "a",
        "details": "d",
        "future": "F",
        "help": "h",
        "hide": "",
        "local": "",
        "oneliner": "o",
        "quiet": "Q",
        "verbose": "v",
        "version": "V",
    },
    ("json", "yaml"),
)


def scontrol(words: list[str]) -> int:
    flags = TABLE.read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    if not flags.words:
        raise Trouble(
            "nothing to do; use show job|node|partition, hold, release or requeue",
            "请写要做什么：show job|node|partition、hold、release、requeue",
        )
    verb, *rest = flags.words
    if verb == "show":
        return _show(rest, flags.has("oneliner"), flags.has("json"))
    if verb in ("hold", "uhold", "release", "requeue", "requeuehold"):
        return _act(verb, rest)
    if verb == "ping":
        slurm.client().whoami()
        sys.stdout.write("Slurmctld(primary) at danlu is UP\n")
        return 0
    raise Trouble(
        f"{verb} is not supported; available: show, hold, release, requeue, ping",
        f"这里不支持 {verb}；可用：show、hold、release、requeue、ping",
    )


def _show(words: list[str], one_line: bool, as_values: bool) -> int:
    what = words[0].lower() if words else ""
    # `show job=5` means `show job 5`.
    what, equals, value = what.partition("=")
    names = [value, *words[1:]] if equals else words[1:]
    if what in ("hostnames", "hostname", "hostlist", "hostlistsorted"):
        from danlu.steps.scontrol import scontrol as inside

        return inside(["show", what, *names])
    client = slurm.client()
    if what in ("job", "jobs", "jobid"):
        jobs = [job for ref in names for job in elements(client, ref)]
        jobs = jobs or [dict(client.show(job["id"])) for job in client.iter_jobs(active=True)]
        if as_values:
            import json

            json.dump({"jobs": [as_json(client, job) for job in jobs]}, sys.stdout)
            return 0
        blocks = [_job(client, job) for job in jobs]
    elif what in ("node", "nodes"):
        nodes = [dict(node) for node in client.nodes() if not names or node["name"] in names]
        queues = nodes_of(client)
        blocks = [_node(node, partitions(node, queues)) for node in nodes]
        if names and not nodes:
            raise Trouble(f"Node {names[0]} not found", f"没有节点 {names[0]}")
    elif what in ("partition", "partitions"):
        queues = nodes_of(client)
        known = [name for name in queues if not names or name in names]
        nodes = [dict(node) for node in client.nodes()]
        blocks = [
            _partition(name, [node for node in nodes if node["name"] in queues[name]])
            for name in known
        ]
        if names and not known:
            raise Trouble(f"Partition {names[0]} not found", f"没有队列 {names[0]}")
    elif what == "config":
        blocks = [["ClusterName=danlu", "SlurmUser=danlu"]]
    else:
        raise Trouble(f"invalid entity: {what}", f"无法显示 {what}")
    for block in blocks:
        text = " ".join(block) if one_line else "\n   ".join(block)
        sys.stdout.write(text + ("\n" if one_line else "\n\n"))
    return 0


def _job(client: Any, job: dict[str, Any]) -> list[str]:
    row = Row(client, job)
    spec = row.spec
    limit = slurm.seconds_of(spec.get("time_limit"))
    array = []
    if job.get("array_index") is not None:
        array = [f"ArrayJobId={slurm.array_number(job)} ArrayTaskId={job['array_index']}"]
    code = job.get("exit_code") or 0
    return [
        f"JobId={job['seq']} JobName={job['name']}",
        *array,
        f"UserId={job['owner']}(0) GroupId={job.get('group') or job['owner']}(0) MCS_label=N/A",
        f"Priority={job['priority']} Nice=0 Account={job.get('group') or '(null)'} QOS=normal",
        f"JobState={slurm.state(job)[0]} Reason={row.value('r')} Dependency={row.value('E')}",
        f"Requeue=1 Restarts={max(0, (job.get('attempt') or 1) - 1)} BatchFlag=1 ExitCode={code}:0",
        f"RunTime={slurm.clock(slurm.elapsed(job), short=False)}"
        f" TimeLimit={slurm.clock(limit, short=False)} TimeMin=N/A",
        f"SubmitTime={slurm.moment(job.get('submitted_at'))}"
        f" EligibleTime={slurm.moment(job.get('submitted_at'))}",
        f"StartTime={slurm.moment(job.get('started_at'), 'Unknown')} EndTime={row.value('e')}",
        f"Partition={job['queue']} AllocNode:Sid=danlu:0",
        f"NodeList={row.value('N') or '(null)'}",
        f"BatchHost={row.value('B')}",
        f"NumNodes={row.value('D')} NumCPUs={row.value('C')} NumTasks={job.get('task_count') or 1}",
        f"MinMemoryNode={row.value('m')} TresPerNode={row.value('b')}",
        f"Command={job.get('command') or '(null)'}",
        f"WorkDir={row.value('Z')}",
        f"StdOut={_output(spec, job)}",
    ]


def _output(spec: dict[str, Any], job: dict[str, Any]) -> str:
    from danlu.steps.patterns import expand

    files = spec.get("files") or {}
    if not files.get("output"):
        return "(null)"
    env = {"SLURM_JOB_ID": str(job["seq"]), "SLURM_JOB_NAME": job["name"], "USER": job["owner"]}
    if job.get("array_index") is not None:
        env["SLURM_ARRAY_JOB_ID"] = str(slurm.array_number(job))
        env["SLURM_ARRAY_TASK_ID"] = str(job["array_index"])
    name = expand(files["output"], env)
    first = slurm.roles(spec)[0]
    return os.path.join(first.get("workdir") or spec.get("workdir") or "/userhome", name)


def _node(node: dict[str, Any], queues: list[str]) -> list[str]:
    used = int(node["cpus"] - node["cpus_free"])
    return [
        f"NodeName={node['name']} Arch=x86_64 CoresPerSocket={int(node['cpus'])}",
        f"CPUAlloc={used} CPUTot={int(node['cpus'])} CPULoad=N/A",
        "AvailableFeatures=(null)",
        f"Gres={gres(node)}",
        f"GresUsed={gres(node, used=True)}",
        f"NodeAddr={node.get('address')} NodeHostName={node['name']}",
        f"RealMemory={int(node['memory']) >> 20} FreeMem={int(node['memory_free']) >> 20}",
        f"State={state(node).upper()} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A",
        f"Partitions={','.join(queues)}",
        f"Reason={node.get('note') or '(null)'}",
    ]


def _partition(name: str, nodes: list[dict[str, Any]]) -> list[str]:
    default = "YES" if name == "default" else "NO"
    return [
        f"PartitionName={name}",
        "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
        f"Default={default} QoS=N/A",
        "DefaultTime=NONE DisableRootJobs=NO Hidden=NO",
        "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0",
        f"Nodes={','.join(node['name'] for node in nodes)}",
        f"State=UP TotalCPUs={int(sum(node['cpus'] for node in nodes))} TotalNodes={len(nodes)}",
    ]


def _act(verb: str, words: list[str]) -> int:
    client = slurm.client()
    refs = [part for word in words for part in word.replace("jobid=", "").split(",") if part]
    if not refs:
        raise Trouble(f"too few arguments for keyword: {verb}", f"{verb} 缺少任务编号")
    for ref in refs:
        if verb in ("hold", "uhold"):
            client.hold(ref)
        elif verb == "release":
            client.release(ref)
        else:
            again = _requeued(client, ref, held=verb == "requeuehold")
            sys.stdout.write(f"Submitted batch job {again['jobs'][0]['seq']}\n")
    return 0


def _requeued(client: Any, ref: str, held: bool) -> Any:
    """Submits it again under a new number; a running job is ended first, as in Slurm."""
    state = client.show(ref)["state"]
    if state == "queued":
        raise Trouble(f"Job {ref} is pending execution already", f"任务 {ref} 已在排队")
    if state in ("starting", "running", "stopping"):
        client.stop(ref)
        client.wait(ref)  # what it still saves must be there for the next run
    return client.submit({**client.spec(ref), "held": True}) if held else client.rerun(ref)
