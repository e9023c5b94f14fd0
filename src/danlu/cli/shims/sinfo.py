"""`sinfo`: queues and nodes, in Slurm's columns."""

from __future__ import annotations

import sys

from danlu.cli.shims import fields, slurm
from danlu.cli.shims.flags import Table
from danlu.cli.shims.queues import nodes_of
from danlu.cli.shims.squeue import long_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags

USUAL = "%9P %.5a %.10l %.6D %.6t %N"
BY_NODE = "%N %.6D %.9P %6t"
BY_NODE_LONG = "%N %.6D %.9P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E"
SUMMARY = "%9P %.5a %.10l %.16F %N"
NAMES = {
    "a": "AVAIL",
    "A": "NODES(A/I)",
    "b": "ACTIVE_FEATURES",
    "C": "CPUS(A/I/O/T)",
    "c": "CPUS",
    "D": "NODES",
    "d": "TMP_DISK",
    "E": "REASON",
    "e": "FREE_MEM",
    "f": "AVAIL_FEATURES",
    "F": "NODES(A/I/O/T)",
    "G": "GRES",
    "g": "GROUPS",
    "h": "OVERSUBSCRIBE",
    "I": "PRIO_JOB_FACTOR",
    "l": "TIMELIMIT",
    "m": "MEMORY",
    "n": "HOSTNAMES",
    "N": "NODELIST",
    "o": "NODE_ADDR",
    "O": "CPU_LOAD",
    "P": "PARTITION",
    "R": "PARTITION",
    "r": "ROOT",
    "s": "JOB_SIZE",
    "S": "ALLOCNODES",
    "t": "STATE",
    "T": "STATE",
    "w": "WEIGHT",
    "X": "SOCKETS",
    "Y": "CORES",
    "Z": "THREADS",
    "z": "S:C:T",
}
WORDS = {
    "partition": "P",
    "partitionname": "R",
    "available": "a",
    "time": "l",
    "nodes": "D",
    "nodelist": "N",
    "nodehost": "n",
    "statecompact": "t",
    "statelong": "T",
    "cpus": "c",
    "cpusstate": "C",
    "memory": "m",
    "freemem": "e",
    "gres": "G",
    "gresused": "x",
    "features": "f",
    "reason": "E",
}
TABLE = Table(
    {
        "clusters": "M",
        "format": "o",
        "Format": "O",
        "iterate": "i",
        "nodes": "n",
        "partition": "p",
        "sort": "S",
        "states": "t",
    },
    {
        "all": "a",
        "dead": "d",
        "exact": "e",
        "help": "",
        "hide": "",
        "list-reasons": "R",
        "long": "l",
        "noheader": "h",
        "Node": "N",
        "responding": "r",
        "summarize": "s",
        "verbose": "v",
        "version": "V",
    },
    ("json", "yaml"),
)


def sinfo(words: list[str]) -> int:
    flags = TABLE.read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    client = slurm.client()
    nodes = _wanted(client.nodes(), flags)
    asked, known = flags.items("partition"), nodes_of(client)
    queues = {name: known[name] for name in known if not asked or name in asked}
    nodes = [node for node in nodes if any(node["name"] in names for names in queues.values())]
    if flags.has("json"):
        import json

        listed = [node_json(node, partitions(node, queues)) for node in nodes]
        json.dump({"sinfo": listed, "errors": []}, sys.stdout)
        sys.stdout.write("\n")
        return 0
    pieces = _pieces(flags)
    names = {**NAMES, "x": "GRES_USED"}
    head = fields.header(pieces, names)
    if not flags.has("noheader"):
        sys.stdout.write(head.rstrip() + "\n")
    by_node = flags.has("Node") or any(piece.letter in ("n", "o") for piece in pieces)
    for queue, members in queues.items():
        for group in _grouped([node for node in nodes if node["name"] in members], by_node):
            row = fields.line(pieces, lambda letter, q=queue, g=group: value(letter, q, g))  # type: ignore[misc]
            sys.stdout.write(row.rstrip() + "\n")
    return 0


def partitions(node: dict[str, Any], queues: dict[str, list[str]]) -> list[str]:
    return [queue for queue, names in queues.items() if node["name"] in names]


def _pieces(flags: Flags) -> list[fields.Piece]:
    if flags.has("Format"):
        return long_pieces(flags.get("Format"), WORDS)
    if flags.has("format"):
        return fields.parse(flags.get("format"))
    if flags.has("Node"):
        return fields.parse(BY_NODE_LONG if flags.has("long") else BY_NODE)
    return fields.parse(SUMMARY if flags.has("summarize") else USUAL)


def _wanted(nodes: list[Any], flags: Flags) -> list[dict[str, Any]]:
    names = flags.items("nodes")
    states = {word.lower() for word in flags.items("states")}
    found = [dict(node) for node in nodes if not names or node["name"] in names]
    return [
        node
        for node in found
        if not states
        or states & {state(node), {"mixed": "mix", "allocated": "alloc"}.get(state(node), "")}
    ]


def _grouped(nodes: list[dict[str, Any]], by_node: bool) -> list[list[dict[str, Any]]]:
    if by_node:
        return [[node] for node in nodes]
    groups: dict[str, list[dict[str, Any]]] = {}
    for node in nodes:
        groups.setdefault(state(node), []).append(node)
    return list(groups.values())


def state(node: dict[str, Any]) -> str:
    if not node.get("up", True):
        return "down"
    if node.get("drained"):
        return "drained"
    used = node["cpus"] - node["cpus_free"]
    gpus = node.get("gpus") or []
    busy = sum(gpu["state"] == "used" for gpu in gpus)
    if gpus and busy == len(gpus):
        return "allocated"
    if used <= 0 and not busy:
        return "idle"
    return "allocated" if node["cpus_free"] < 1 else "mixed"


_SHORT = {"allocated": "alloc", "mixed": "mix", "drained": "drain"}


def value(letter: str, queue: str, nodes: list[dict[str, Any]]) -> str:
    first = nodes[0]
    states = [state(node) for node in nodes]
    busy = sum(one in ("allocated", "mixed") for one in states)
    idle, other = states.count("idle"), states.count("down") + states.count("drained")
    cpus = [int(sum(node[key] for node in nodes)) for key in ("cpus", "cpus_free")]
    found: dict[str, Any] = {
        "P": f"{queue}*" if queue == "default" else queue,
        "R": queue,
        "a": "up",
        "l": "infinite",
        "D": len(nodes),
        "t": _SHORT.get(states[0], states[0]),
        "T": states[0],
        "N": ",".join(node["name"] for node in nodes),
        "n": first["name"],
        "o": first.get("address", first["name"]),
        "c": int(first["cpus"]),
        "C": f"{cpus[0] - cpus[1]}/{cpus[1]}/0/{cpus[0]}",
        "m": int(first["memory"]) >> 20,
        "e": int(first["memory_free"]) >> 20,
        "G": gres(first),
        "x": gres(first, used=True),
        "A": f"{busy}/{idle}",
        "F": f"{busy}/{idle}/{other}/{len(nodes)}",
        "E": first.get("note") or "none",
        "f": "(null)",
        "b": "(null)",
        "z": f"1:{int(first['cpus'])}:1",
        "d": 0,
        "w": 1,
        "O": "N/A",
        "h": "NO",
        "g": "all",
        "s": "1-infinite",
        "r": "no",
    }
    return str(found.get(letter, "N/A"))


def gres(node: dict[str, Any], used: bool = False) -> str:
    counts: dict[str, int] = {}
    for gpu in node.get("gpus") or []:
        model = str(gpu["model"]).replace(" ", "_")
        counts[model] = counts.get(model, 0) + int(not used or gpu["state"] == "used")
    return ",".join(f"gpu:{model}:{count}" for model, count in counts.items()) or "(null)"


def node_json(node: dict[str, Any], queues: list[str]) -> dict[str, Any]:
    return {
        "name": node["name"],
        "address": node.get("address"),
        "state": [state(node).upper()],
        "partitions": queues,
        "cpus": int(node["cpus"]),
        "alloc_cpus": int(node["cpus"] - node["cpus_free"]),
        "real_memory": int(node["memory"]) >> 20,
        "free_mem": {"set": True, "number": int(node["memory_free"]) >> 20},
        "gres": gres(node),
        "gres_used": gres(node, used=True),
        "reason": node.get("note") or "",
    }
