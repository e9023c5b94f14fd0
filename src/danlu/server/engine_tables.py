"""The parts of danlu.toml about engines: [engine], the engine `local`, and [engines.NAME]."""

from __future__ import annotations

from typing import Any

from danlu.engines.local.config import SYSTEM_PATH, NodeConfig
from danlu.server.confinement import Confinements
from danlu.server.engines import KINDS, LOCAL, SLURM, EngineConfig, with_nodes
from danlu.server.runtimes import Runtimes
from danlu.server.slurm_table import SlurmTable
from danlu.server.values import Values
from danlu.spec.fields import read_name
from danlu.spec.text import Text


class EngineTables(Values):
    def engines(
        self, values: dict[str, Any], nodes: list[tuple[str, NodeConfig]]
    ) -> tuple[EngineConfig, ...]:
        tables = values.get("engines", {})
        if not isinstance(tables, dict):
            raise self._wrong(
                "engines", tables, Text("must be [engines.NAME] tables", "请写 [engines.名称]")
            )
        registries = values.get("registries", {})
        found: list[EngineConfig] = []
        if "engine" in values or not tables:
            table = self._table(values, "engine", (*KINDS[LOCAL].keys, "identities"))
            found.append(self._local(LOCAL, "engine", table, registries))
        if "engine" in values and LOCAL in tables:
            raise self._wrong(
                "engines.local",
                LOCAL,
                Text(
                    "[engine] already is the engine local; keep one of the two",
                    "[engine] 就是引擎 local；二者只写其一",
                ),
            )
        found += [self._one(name, table, registries) for name, table in tables.items()]
        by_engine = self._owned(nodes, [engine.name for engine in found])
        engines = with_nodes(tuple(found), by_engine)
        self._apart([engine for engine in engines if engine.kind == LOCAL])
        return engines

    def _one(self, name: str, table: Any, registries: Any) -> EngineConfig:
        key = f"engines.{name}"
        self._parsed(key, name, read_name)
        if not isinstance(table, dict):
            raise self._wrong(key, table, Text(f"must be a [{key}] table", f"请写 [{key}] 表"))
        kind = table.get("kind")
        if kind not in KINDS:
            listed = ", ".join(f'"{each}"' for each in KINDS)
            raise self._wrong(
                f"{key}.kind", kind, Text(f"must be one of {listed}", f"请写 {listed}")
            )
        self._known(key, table, ("kind", *KINDS[kind].keys))
        if kind == LOCAL:
            return self._local(name, key, table, registries)
        if kind == SLURM:
            values = SlurmTable(self._where).read(table, key)
            if "ports" in table:
                values["ports"] = self._ports(f"{key}.ports", table["ports"])
            return EngineConfig(name, kind, values=values)
        own = {each: value for each, value in table.items() if each != "kind"}
        return EngineConfig(name, kind, values=own)

    def _local(self, name: str, key: str, table: dict[str, Any], registries: Any) -> EngineConfig:
        ports = self._ports(f"{key}.ports", table["ports"]) if "ports" in table else None
        return EngineConfig(
            name,
            namespaces=self._choice(f"{key}.namespaces", table.get("namespaces", "auto")),
            cgroups=self._choice(f"{key}.cgroups", table.get("cgroups", "auto")),
            ports=ports or EngineConfig().ports,
            path=self._path(f"{key}.path", table["path"]) if "path" in table else SYSTEM_PATH,
            containers=Runtimes(self._where).containers(table, registries, key),
            confinement=Confinements(self._where).read(table, key),
        )

    def _owned(
        self, nodes: list[tuple[str, NodeConfig]], engines: list[str]
    ) -> dict[str, tuple[NodeConfig, ...]]:
        found: dict[str, tuple[NodeConfig, ...]] = {}
        for index, (engine, node) in enumerate(nodes):
            name = engine or engines[0]
            if name not in engines:
                listed = ", ".join(engines)
                raise self._wrong(
                    f"nodes.{index}.engine",
                    engine,
                    Text(
                        f"is not an engine here; available: {listed}",
                        f"不是引擎；现有：{listed}",
                    ),
                )
            found[name] = (*found.get(name, ()), node)
        return found

    def _apart(self, engines: list[EngineConfig]) -> None:
        """Several engines on one machine: neither nodes nor ports in common."""
        for place, engine in enumerate(engines):
            if len(engines) > 1 and not engine.nodes:
                raise self._wrong(
                    f"engines.{engine.name}",
                    engine.name,
                    Text(
                        "beside another local engine it needs nodes of its own: [[nodes]] with "
                        f'engine = "{engine.name}"',
                        "与其他本地引擎并存时需要自己的节点：在 [[nodes]] 中写 "
                        f'engine = "{engine.name}"',
                    ),
                )
            for other in engines[:place]:
                if engine.ports[0] <= other.ports[1] and other.ports[0] <= engine.ports[1]:
                    shown = f"{engine.ports[0]}-{engine.ports[1]}"
                    raise self._wrong(
                        f"engines.{engine.name}.ports",
                        shown,
                        Text(
                            f"overlaps with the ports of engine {other.name}; use another range",
                            f"与引擎 {other.name} 的端口重叠；请换一段",
                        ),
                    )

    def _path(self, key: str, value: Any) -> str:
        folders = value.split(":") if isinstance(value, str) else [""]
        if not all(folder.startswith("/") and folder.isprintable() for folder in folders):
            raise self._wrong(
                key,
                value,
                Text(
                    'must be absolute folders joined by ":": "/opt/conda/bin:/usr/bin:/bin"',
                    '请写用 ":" 连接的绝对路径，例如 "/opt/conda/bin:/usr/bin:/bin"',
                ),
            )
        return ":".join(folders)

    def _ports(self, key: str, value: Any) -> tuple[int, int]:
        first, _, last = str(value).partition("-")
        if first.isdigit() and last.isdigit() and 1024 <= int(first) < int(last) < 65536:
            return int(first), int(last)
        raise self._wrong(
            key, value, Text('must be a range such as "20000-29999"', '请写 "20000-29999"')
        )
