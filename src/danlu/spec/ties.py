"""Readers for references to things outside the job: volumes, ports, other jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from danlu.spec.errors import Wrong, wrong
from danlu.spec.fields import LONGEST_PATH, choice, integer, read_flag, read_line, read_name
from danlu.spec.forms import Collected, bounded
from danlu.spec.job import After, Bundle, Dependency, Files, Mount, NodeChoice
from danlu.spec.refs import every_of, parse_ref
from danlu.spec.text import Text

MOST_MOUNTS = 100
MOST_PORTS = 64
MOST_DEPENDENCIES = 1_000
MOST_NODES = 1_000
UNNAMED_PORTS = "main"
"""The label of ports given as a number (`ports: 2`)."""

_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
KEPT_BY_THE_SYSTEM = (
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/.etc",  # the machine's, where a task has one of its own
    "/boot",
    "/run",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
)
OPEN_ALL_THE_SAME = ("/usr/local/", "/usr/share/", "/run/determined/")
_NOT_AS_A_WHOLE = ("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var")  # noqa: S108

_BUNDLE = re.compile(r"[0-9a-f]{64}", re.ASCII)
MOST_DATASETS = 50


# Bundles and datasets


def read_bundle(value: object) -> Bundle:
    found = Collected()
    given: Mapping[str, object] = value if isinstance(value, Mapping) else {"id": value}
    found.keys(given, ("id", "folder"))
    below = given.get("folder")
    folder = "" if below is None else found.read(read_folder, below, "folder")
    id = given.get("id")
    if not isinstance(id, str) or not _BUNDLE.fullmatch(id):
        found.add(
            id,
            Text(
                "is not the id of a folder that was brought along; use danlu run --carry",
                "不是随任务上传的目录的编号；请使用 danlu run --carry",
            ),
        )
    found.done()
    return Bundle(str(id), folder or "")


def read_datasets(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise wrong(
            value,
            Text(
                "is not a list of datasets; use [imagenet, coco]",
                "不是数据集列表；请写 [imagenet, coco]",
            ),
        )
    bounded(value, MOST_DATASETS)
    found = Collected()
    names = [found.read(read_name, item, index) for index, item in enumerate(value)]
    found.done()
    return tuple(dict.fromkeys(name for name in names if name))


# Mounts

HOST_FOLDER = Text(
    "is a folder of the machine; only volumes can be mounted",
    "是机器上的目录；只能挂载存储卷",
)
_MOUNT = Text(
    "is not a mount; use volume:/path, volume:/path:ro, or {volume: fast, path: /fast}",
    "不是挂载；请写 卷:/路径、卷:/路径:ro，或 {volume: fast, path: /fast}",
)


def read_mounts(value: object) -> tuple[Mount, ...]:
    if not isinstance(value, list):
        raise wrong(
            value,
            Text(
                "is not a list of mounts; use [fast:/fast:ro] or [{volume: fast, path: /fast}]",
                "不是挂载列表；请写 [fast:/fast:ro] 或 [{volume: fast, path: /fast}]",
            ),
        )
    bounded(value, MOST_MOUNTS)
    found = Collected()
    mounts: dict[str, Mount] = {}
    for index, item in enumerate(value):
        mount = found.read(_read_mount, item, index)
        if mount is None:
            continue
        if mount.path in mounts:
            found.add(
                mount.path,
                Text(
                    "is mounted twice; use a different path for each mount",
                    "被挂载两次；每个挂载要有自己的路径",
                ),
                (index,),
            )
        mounts[mount.path] = mount
    found.done()
    return tuple(mounts.values())


def _read_mount(value: object) -> Mount:
    found = Collected()
    if isinstance(value, str):
        parts = value.split(":")
        if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
            raise wrong(value, _MOUNT)
        if parts[0].startswith("/"):
            raise wrong(parts[0], HOST_FOLDER)
        volume = found.read(read_name, parts[0])
        path = found.read(read_target, parts[1])
        found.done()
        return Mount(volume or "", path or "", parts[-1] == "ro")
    if not isinstance(value, Mapping) or value.get("volume") is None or value.get("path") is None:
        raise wrong(value, _MOUNT)
    found.keys(value, ("volume", "path", "read_only", "folder"))
    volume = found.read(read_name, value["volume"], "volume")
    path = found.read(read_target, value["path"], "path")
    below = value.get("folder")
    folder = "" if below is None else found.read(read_folder, below, "folder")
    flag = value.get("read_only")
    read_only = flag is not None and found.read(read_flag, flag, "read_only")
    found.done()
    return Mount(volume or "", path or "", bool(read_only), folder or "")


def read_folder(value: object) -> str:
    """A folder below a volume's root."""
    text = read_line(value, LONGEST_PATH)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise wrong(
            text,
            Text(
                "is not a folder of the volume; use a path without '..', e.g. alice/data",
                "不是存储卷中的目录；请写不含 '..' 的路径，例如 alice/data",
            ),
        )
    return "/".join(parts)


def read_target(value: object) -> str:
    """Where a volume appears in the task."""
    text = read_line(value, LONGEST_PATH)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    path = "/" + "/".join(parts)
    if not text.startswith("/") or ".." in parts or ":" in text:
        raise wrong(
            text,
            Text(
                "is not a mount path; use an absolute path without '..' or ':', e.g. /fast",
                "不是挂载路径；请写不含 '..' 和 ':' 的绝对路径，例如 /fast",
            ),
        )
    kept = any(path == kept or path.startswith(kept + "/") for kept in KEPT_BY_THE_SYSTEM)
    if path in _NOT_AS_A_WHOLE or (kept and not path.startswith(OPEN_ALL_THE_SAME)):
        raise wrong(
            text,
            Text(
                "belongs to the system; mount at another folder, e.g. /data or /mnt/data",
                "属于系统；请挂载到单独的目录，例如 /data 或 /mnt/data",
            ),
        )
    return path


# Ports

_read_port_count = integer(1, MOST_PORTS)


def read_ports(value: object) -> dict[str, int]:
    if isinstance(value, Mapping):
        pairs = list(value.items())[: MOST_PORTS + 1]
    elif isinstance(value, list):
        pairs = [(label, 1) for label in value[: MOST_PORTS + 1]]
    else:
        return {UNNAMED_PORTS: _read_port_total(value)}
    found = Collected()
    ports: dict[str, int] = {}
    for label, count in pairs:
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            found.add(
                label,
                Text(
                    "is not a port label; use up to 32 letters, digits and '_', starting with a "
                    "letter, e.g. http",
                    "不是端口标签；请用最多 32 个字母、数字和 '_'，以字母开头，例如 http",
                ),
            )
            continue
        # Labels become upper-case variables, so they must differ in more than case.
        if label.upper() in {other.upper() for other in ports}:
            found.add(
                label, Text("appears twice; use each label once", "出现两次；每个标签只用一次")
            )
            continue
        ports[label] = found.read(_read_port_count, count, label) or 0
    if sum(ports.values()) > MOST_PORTS or len(pairs) > MOST_PORTS:
        found.add(
            value, Text(f"asks for more than {MOST_PORTS} ports", f"超过 {MOST_PORTS} 个端口")
        )
    found.done()
    return ports


def _read_port_total(value: object) -> int:
    try:
        return _read_port_count(value)
    except Wrong:
        raise wrong(
            value,
            Text(
                "is not a valid value for ports; use a number from 1 to 64, a list of labels "
                "([http]) or labels with numbers ({http: 1})",
                "不是端口；请写 1 到 64 的数、标签列表（[http]），或标签和数量（{http: 1}）",
            ),
        ) from None


# Dependencies

_read_when = choice(After)


def read_after(value: object) -> tuple[Dependency, ...]:
    items = value if isinstance(value, list) else [value]
    bounded(items, MOST_DEPENDENCIES)
    found = Collected()
    after: dict[Dependency, None] = {}
    for index, item in enumerate(items):
        path = (index,) if isinstance(value, list) else ()
        dependency = found.read(_read_dependency, item, *path)
        if dependency is not None:
            after[dependency] = None
    found.done()
    return tuple(after)


def _read_dependency(value: object) -> Dependency:
    if isinstance(value, str):
        return Dependency(_read_job(value))
    if not isinstance(value, Mapping) or value.get("job") is None:
        raise wrong(
            value,
            Text(
                "is not a dependency; use mnist-2 or {job: mnist-2, when: ended}",
                "不是依赖；请写 mnist-2 或 {job: mnist-2, when: ended}",
            ),
        )
    found = Collected()
    found.keys(value, ("job", "when"))
    job = found.read(_read_job, value["job"], "job")
    when = value.get("when")
    after = After.SUCCEEDED if when is None else found.read(_read_when, when, "when")
    found.done()
    return Dependency(job or "", after or After.SUCCEEDED)


def _read_job(value: object) -> str:
    text = read_line(value, 256).strip()
    if every_of(text) is None:
        parse_ref(text)
    return text


# Files


def read_files(value: object) -> Files:
    if not isinstance(value, Mapping):
        raise wrong(
            value,
            Text(
                "does not name files; use {output: train-%j.out}",
                "不是文件；请写 {output: train-%j.out}",
            ),
        )
    found = Collected()
    found.keys(value, ("output", "error", "input", "append"))
    names: dict[str, str | None] = {}
    for key in ("output", "error", "input"):
        name = value.get(key)
        names[key] = None if name is None else found.read(read_line, name, key)
    flag = value.get("append")
    append = flag is not None and found.read(read_flag, flag, "append")
    found.done()
    return Files(names["output"], names["error"], names["input"], bool(append))


# Nodes


def read_nodes(value: object) -> NodeChoice:
    if isinstance(value, list):
        value = {"only": value}
    if not isinstance(value, Mapping):
        raise wrong(
            value,
            Text(
                "does not name nodes; use [n1, n2], or {only: [n1], exclude: [n2], labels: [ib]}",
                "不是节点；请写 [n1, n2]，或 {only: [n1], exclude: [n2], labels: [ib]}",
            ),
        )
    found = Collected()
    found.keys(value, ("only", "exclude", "labels"))
    lists = [_names(value.get(key), key, found) for key in ("only", "exclude", "labels")]
    found.done()
    return NodeChoice(*lists)


def _names(value: object, key: str, found: Collected) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    bounded(items, MOST_NODES)
    names = [found.read(read_name, item, key) for item in items]
    return tuple(dict.fromkeys(name for name in names if name is not None))
