"""nodes.toml: the machines of a lab, from which Slurm's configuration is written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.server.mistakes import read_all
from danlu.server.values import ConfigError, Values
from danlu.spec.text import Text
from danlu.spec.units import format_size, parse_duration, parse_size

_LARGEST = 1 << 20  # bytes of the file
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,254}")
_GPUS = re.compile(r"(\d{1,3}):([A-Za-z0-9][A-Za-z0-9_.-]{0,63})")
_DEVICES = re.compile(r"/[A-Za-z0-9_./-]+(\[\d+-\d+\])?")
_TOP = ("cluster", "controller", "shared", "slurm_user", "nodes", "partitions")
_NODE = ("name", "address", "cpus", "memory", "gpus", "devices", "features")
_PARTITION = ("name", "nodes", "default", "time_limit")
MOST_NODES = 1024
_LEAST_MEMORY = 256 << 20  # bytes; less is a number without its unit


@dataclass(frozen=True, slots=True)
class Machine:
    name: str  # as `hostname -s` prints it there
    cpus: int
    memory: int  # bytes, as much as it has
    address: str = ""  # where it is reached, if not by its name
    gpus: int = 0
    model: str = ""
    devices: str = ""  # /dev/nvidia[0-3]
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    name: str
    nodes: tuple[str, ...]
    default: bool = False
    time_limit: float | None = None  # seconds


@dataclass(frozen=True, slots=True)
class Lab:
    cluster: str
    controller: str
    nodes: tuple[Machine, ...]
    partitions: tuple[PartitionPlan, ...]
    controller_address: str = ""
    shared: str = ""
    slurm_user: str = "slurm"


def read(path: Path) -> Lab:
    """Raises ConfigError with every mistake and its line."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise ConfigError(Text(f"{path}: larger than 1 MiB", f"{path}：超过 1 MiB"))
        text = raw.decode()
        values = tomllib.loads(text)
    except OSError as error:
        cause = error.strerror or str(error)
        raise ConfigError(Text(f"{path}: {cause}", f"{path}：{cause}")) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            Text(f"{path}: not valid TOML: {error}", f"{path}：不是合法的 TOML：{error}")
        ) from None
    return read_all(str(path), text, values, LabFile(str(path)).lab)


class LabFile(Values):
    def lab(self, values: dict[str, Any]) -> Lab:
        self._known("", values, _TOP)
        nodes = self._nodes(values)
        names = [node.name for node in nodes]
        controller = self._matching("controller", values.get("controller", names[0]), _NAME)
        shared = values.get("shared", "")
        if shared and (not isinstance(shared, str) or not re.fullmatch(r"/[^\s\"'#]+", shared)):
            hint = Text("must be an absolute path without spaces", "请写绝对路径，不含空格")
            raise self._wrong("shared", shared, hint)
        address = next((node.address for node in nodes if node.name == controller), "")
        return Lab(
            self._matching("cluster", values.get("cluster", "lab"), _NAME),
            controller,
            nodes,
            self._partitions(values, names),
            address,
            shared,
            self._matching("slurm_user", values.get("slurm_user", "slurm"), _WORD),
        )

    def _nodes(self, values: dict[str, Any]) -> tuple[Machine, ...]:
        tables = values.get("nodes")
        if not isinstance(tables, list) or not tables:
            raise self._wrong(
                "nodes", tables, Text("must have at least one [[nodes]]", "至少写一个 [[nodes]]")
            )
        if len(tables) > MOST_NODES:
            most = Text(f"at most {MOST_NODES} nodes", f"最多 {MOST_NODES} 个节点")
            raise self._wrong("nodes", len(tables), most)
        found: dict[str, Machine] = {}
        for number, table in enumerate(tables):
            node = self._node(f"nodes.{number}", table)
            if node.name in found:
                twice = Text("a node with this name already exists", "已有同名节点")
                raise self._wrong(f"nodes.{number}.name", node.name, twice)
            self._check_address(f"nodes.{number}.address", node, found.values())
            found[node.name] = node
        return tuple(found.values())

    def _check_address(self, key: str, node: Machine, others: Iterable[Machine]) -> None:
        for other in others:
            same = node.address and node.address.casefold() == other.address.casefold()
            if same or node.address == other.name or (other.address or None) == node.name:
                twice = Text(
                    f"is already the address of {other.name}; every machine needs its own",
                    f"已是 {other.name} 的地址；每台机器要有自己的地址",
                )
                raise self._wrong(key, node.address or node.name, twice)

    def _memory(self, key: str, value: Any) -> int:
        found = int(self._parsed(key, value, parse_size))
        if found < _LEAST_MEMORY:
            unit = Text(
                f"that is only {format_size(found)}; write the memory of the machine with its "
                "unit, "
                'e.g. "128G"',
                f'这只有 {format_size(found)}；请带单位写出机器的内存，如 "128G"',
            )
            raise self._wrong(key, value, unit)
        return found

    def _node(self, key: str, table: Any) -> Machine:
        if not isinstance(table, dict):
            raise self._wrong(key, table, Text("must be a [[nodes]] table", "请写 [[nodes]] 表"))
        self._known(key, table, _NODE)
        gpus, model = self._gpus(f"{key}.gpus", table.get("gpus", ""))
        devices = table.get("devices", f"/dev/nvidia[0-{gpus - 1}]" if gpus > 1 else "/dev/nvidia0")
        devices = self._matching(f"{key}.devices", devices, _DEVICES) if gpus else ""
        if gpus and _count(devices) != gpus:
            many = Text(
                f"these are {_count(devices)} files, but gpus is {gpus}",
                f"共 {_count(devices)} 个文件，而 gpus 写的是 {gpus}",
            )
            raise self._wrong(f"{key}.devices", devices, many)
        features = self._texts(f"{key}.features", table["features"]) if "features" in table else []
        address = table.get("address", "")
        return Machine(
            self._matching(f"{key}.name", table.get("name"), _NAME),
            self._cpus(f"{key}.cpus", table.get("cpus")),
            self._memory(f"{key}.memory", table.get("memory")),
            self._matching(f"{key}.address", address, _ADDRESS) if address else "",
            gpus,
            model,
            devices,
            tuple(self._matching(f"{key}.features", each, _WORD) for each in features),
        )

    def _cpus(self, key: str, value: Any) -> int:
        found = self._number(key, value)
        if found != int(found):
            raise self._wrong(key, value, Text("must be a whole number", "请写整数"))
        return int(found)

    def _gpus(self, key: str, value: Any) -> tuple[int, str]:
        if value == "":
            return 0, ""
        found = _GPUS.fullmatch(value) if isinstance(value, str) else None
        if found is None or not int(found[1]):
            hint = Text(
                'must be "NUMBER:MODEL", e.g. "4:RTX3090"', '请写 "数量:型号"，如 "4:RTX3090"'
            )
            raise self._wrong(key, value, hint)
        return int(found[1]), found[2]

    def _partitions(self, values: dict[str, Any], names: list[str]) -> tuple[PartitionPlan, ...]:
        tables = values.get("partitions", [{"name": "main"}])
        if not isinstance(tables, list) or not tables:
            hint = Text("must be [[partitions]] tables", "请写 [[partitions]] 表")
            raise self._wrong("partitions", tables, hint)
        found: dict[str, PartitionPlan] = {}
        for number, table in enumerate(tables):
            one = self._partition(f"partitions.{number}", table, names)
            if one.name in found:
                twice = Text("a partition with this name already exists", "已有同名分区")
                raise self._wrong(f"partitions.{number}.name", one.name, twice)
            found[one.name] = one
        if not any(one.default for one in found.values()):
            first = next(iter(found.values()))
            found[first.name] = PartitionPlan(first.name, first.nodes, True, first.time_limit)
        return tuple(found.values())

    def _partition(self, key: str, table: Any, names: list[str]) -> PartitionPlan:
        if not isinstance(table, dict):
            hint = Text("must be a [[partitions]] table", "请写 [[partitions]] 表")
            raise self._wrong(key, table, hint)
        self._known(key, table, _PARTITION)
        nodes = self._texts(f"{key}.nodes", table["nodes"]) if "nodes" in table else names
        for node in nodes:
            if node not in names:
                listed = ", ".join(names[:8])
                hint = Text(f"is not one of the nodes ({listed})", f"不在节点之中（{listed}）")
                raise self._wrong(f"{key}.nodes", node, hint)
        limit = None
        if "time_limit" in table:
            limit = float(self._parsed(f"{key}.time_limit", table["time_limit"], parse_duration))
        return PartitionPlan(
            self._matching(f"{key}.name", table.get("name"), _WORD),
            tuple(dict.fromkeys(nodes)),
            self._flag(f"{key}.default", table.get("default", False)),
            limit,
        )

    def _matching(self, key: str, value: Any, pattern: re.Pattern[str]) -> str:
        """Nothing that slurm.conf would read as another key, a comment or a second line."""
        if not isinstance(value, str) or not pattern.fullmatch(value):
            hint = Text(
                "must be a plain name: letters, digits and -", "请写简单的名称：字母、数字和 -"
            )
            raise self._wrong(key, value, hint)
        return value


def _count(devices: str) -> int:
    ranged = re.search(r"\[(\d+)-(\d+)\]$", devices)
    return int(ranged[2]) - int(ranged[1]) + 1 if ranged else 1
