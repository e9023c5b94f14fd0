"""Runs a task's command in an image, with the container runtime that its node has.

Everything is done by the user's own processes with the runtime's own command, so a container can do
nothing that its user could not. Values of variables never are among its words, which others see.
"""

from __future__ import annotations

import abc
import contextlib
import os
import resource
import stat
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

KINDS = ("apptainer", "podman", "enroot", "docker")  # in the order in which they are looked for
_PROGRAMS = {"apptainer": ("apptainer", "singularity")}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REMOVING = 60.0  # seconds
# Where a value for the container would mislead the runtime's own command.
_CLIENTS = frozenset({"PATH", "HOME", "TMPDIR", "IFS", "ENV", "BASH_ENV", "REGISTRY_AUTH_FILE"})
_CLIENTS_FAMILIES = ("LD_", "XDG_", "DOCKER_", "CONTAINER", "PODMAN", "BUILDAH", "STORAGE_",
                     "APPTAINER", "SINGULARITY", "ENROOT", "_CONTAINERS", "GODEBUG")  # fmt: skip
_INITS = {"podman": ("/usr/bin/catatonit", "/usr/libexec/podman/catatonit"),
          "docker": ("/usr/bin/docker-init", "/usr/libexec/docker/docker-init")}  # fmt: skip
_AS_SHELL = 'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; exec sh -c "$1"'
_AS_SCRIPT = (
    'case $1 in */*) f=$1;; *) f=./$1;; esac; shift; '
    '[ -x "$f" ] && exec "$f" "$@"; exec sh "$f" "$@"'
)  # fmt: skip


class NoContainer(Exception):
    """Why the image cannot be used: `hint` is a reason of Danlu's."""

    def __init__(self, hint: str, detail: str) -> None:
        super().__init__(detail)
        self.hint = hint
        self.detail = detail


def find(kind: str, program: str = "") -> tuple[str, str]:
    """The runtime and its command on this node. Raises NoContainer."""
    for each in KINDS if kind == "auto" else (kind,):
        for name in (program,) if program else _PROGRAMS.get(each, (each,)):
            path = name if "/" in name else _which(name)
            if path and os.access(path, os.X_OK):
                return each, path
    wanted = f"none of {', '.join(KINDS)}" if kind == "auto" else f"no {program or kind}"
    raise NoContainer("image_failed", f"this node has {wanted}")


def _which(name: str) -> str:
    folders = f"{os.environ.get('PATH', '')}:{_PATH}".split(":")
    found = (f"{folder}/{name}" for folder in folders if folder.startswith("/"))
    return next((path for path in found if os.access(path, os.X_OK)), "")


def make(task: dict[str, Any], name: str, gpus: list[int]) -> Container:
    """The container of a task, from what the server wrote. Raises NoContainer."""
    asked = task["image_run"]
    kind, program = find(asked["kind"], asked["program"])
    made: Container = _CLASSES[kind](program, asked, task, name, gpus)
    made.kind = kind
    return made


def words_of(words: list[str], run_as: str) -> list[str]:
    if run_as == "shell":
        return ["/bin/sh", "-c", _AS_SHELL, "sh", words[0]]
    if run_as == "script":
        return ["/bin/sh", "-c", _AS_SCRIPT, "sh", *words]
    return list(words)


class Container(abc.ABC):
    """One task's image. `main`: its command is being started, rather than another one."""

    kind = ""
    outside = "/"  # where the runtime's command runs

    def __init__(
        self, program: str, asked: dict[str, Any], task: dict[str, Any], name: str, gpus: list[int]
    ) -> None:
        self.program = program
        self.images: list[str] = asked["images"]
        self.image = self.images[0]
        self.main = False
        self._task = task
        self._asked = asked
        self._name = name
        self._count = 0
        self._gpus = gpus if os.path.exists("/dev/nvidiactl") else []
        self._secrets: frozenset[str] = frozenset(asked["secret_names"])

    # -- what each runtime does in its own way -------------------------------------------------

    def fetch(self) -> list[str] | None:
        """The words that get the image to this node; None: it is there."""
        return None

    @abc.abstractmethod
    def start(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]: ...

    @abc.abstractmethod
    def enter(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]: ...

    def env_words(self, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """Options for these variables, and what the command's own environment has for them."""
        options, own = [], {}
        for name, value in env.items():
            if _is_clients(name) and name not in self._secrets:
                options += ["--env", f"{name}={value}"]
            else:
                options += ["--env", name]
                own[name] = value
        return options, own

    def removals(self) -> list[list[str]]:
        """Commands after which nothing is left of its containers."""
        return []

    # -- the same for all ----------------------------------------------------------------------

    def command(
        self, words: list[str], run_as: str, env: dict[str, str], workdir: str, tty: bool
    ) -> tuple[list[str], dict[str, str]]:
        """Words and environment of the process to start in place of a command."""
        inside = words_of(words, run_as)
        options, own = self.env_words(env)
        if self.main:
            name = f"{self._name}-{self._count}"
            self._count += 1
            argv = self.start(name, [*options, *self._image_words(inside)], workdir, tty)
        else:
            argv = self.enter(f"{self._name}-0", [*options, *self._enter_words(inside)],
                              workdir, tty)  # fmt: skip
        return argv, {**own, **self.client_env()}

    def _image_words(self, words: list[str]) -> list[str]:
        return [self.image, *words]

    def _enter_words(self, words: list[str]) -> list[str]:
        return [f"{self._name}-0", *words]

    def client_env(self) -> dict[str, str]:
        env = {"PATH": _PATH, "HOME": self._task["own_home"], "USER": self._asked["user"]}
        if os.environ.get("TMPDIR"):
            env["TMPDIR"] = os.environ["TMPDIR"]
        return env

    def client(self, words: list[str], out: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
        return _popen(words, self.client_env(), out)

    def cleanup(self, processes: int) -> dict[str, Any]:
        """How to remove everything, for whoever survives us."""
        count, self._count = self._count, processes
        words = self.removals()
        self._count = count
        return {"commands": words, "env": self.client_env()}

    def remove(self) -> None:
        if self._count:
            for words in self.removals():
                run_to_end(words, self.client_env())
        self._count = 0

    def _names(self) -> list[str]:
        return [f"{self._name}-{number}" for number in range(self._count)]

    @property
    def _mounts(self) -> list[dict[str, Any]]:
        own = self._task.get("own_run") or ""
        more = [{"source": own, "target": own, "read_only": False}] if own else []
        return [*self._task["mounts"], *more]


class Oci(Container, abc.ABC):
    """Docker and Podman, which have the same options."""

    def fetch(self) -> list[str] | None:
        for image in self.images:
            process = self.client([self.program, *self.exists(image)])
            process.communicate()
            if process.returncode == 0:
                self.image = image
                return None
        return [self.program, "pull", "--quiet", self.image]

    def env_words(self, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        if self._gpus:  # a container sees only its own, numbered from 0
            env = {**env, "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(len(self._gpus))))}
        return super().env_words(env)

    @abc.abstractmethod
    def exists(self, image: str) -> list[str]: ...

    @abc.abstractmethod
    def own_options(self) -> list[str]: ...

    def start(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]:
        options = [
            "--rm", "--name", name, "--network=host", "--cap-drop=all", "--pull=never",
            "--security-opt=no-new-privileges", "--log-driver=none", "--entrypoint", "",
            "--workdir", workdir, "--label", f"danlu={self._name}",
        ]  # fmt: skip
        if self._task["shm"]:
            options += ["--shm-size", str(self._task["shm"])]
        if any(os.path.exists(path) for path in _INITS[self.kind]):
            options.append("--init")  # so that a signal to its first process is one
        for mount in self._mounts:
            only = ",readonly" if mount["read_only"] else ""
            place = f"source={mount['source']},target={mount['target']}"
            options += ["--mount", f"type=bind,{place}{only}"]
        return [self.program, "run", *self._streams(tty), *options, *self.own_options(), *words]

    def enter(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]:
        who = self.who()
        return [self.program, "exec", *self._streams(tty, True), "--workdir", workdir, *who, *words]

    def who(self) -> list[str]:
        return []

    def _streams(self, tty: bool, always: bool = False) -> list[str]:
        heard = always or self._task["stdin"] in ("pipe", "tty")
        return [*(["--interactive"] if heard else []), *(["--tty"] if tty else [])]

    def removals(self) -> list[list[str]]:
        return [[self.program, "rm", "--force", "--volumes", *self._names()]]


class Podman(Oci):
    """Without root: its user is root inside, or themselves where subordinate ids are given out."""

    def exists(self, image: str) -> list[str]:
        return ["image", "exists", image]

    def own_options(self) -> list[str]:
        options = ["--ulimit=host", "--security-opt=label=disable"]
        options += ["--userns=keep-id"] if _has_subordinates(self._asked["user"]) else self.who()
        for gpu in self._gpus:
            options += ["--device", f"nvidia.com/gpu={gpu}"]
        return options

    def who(self) -> list[str]:
        return [] if _has_subordinates(self._asked["user"]) else ["--user=0:0"]

    def client_env(self) -> dict[str, str]:
        return {**super().client_env(), "XDG_RUNTIME_DIR": _runtime_folder()}

    def removals(self) -> list[list[str]]:
        return [[self.program, "rm", "--force", "--time=0", "--volumes", *self._names()]]


class Docker(Oci):
    """Its daemon starts the processes, outside Slurm's limits, so it is given the same ones."""

    def exists(self, image: str) -> list[str]:
        return ["image", "inspect", "--format={{.Id}}", image]

    def own_options(self) -> list[str]:
        task = self._task
        options = [*self.who(), "--userns=host", f"--ulimit=nofile={_most_files()}"]
        for group in os.getgroups():
            if group != os.getgid():
                options.append(f"--group-add={group}")
        if task["memory"]:
            memory = max(int(task["memory"]), 6 << 20)
            options += [f"--memory={memory}", f"--memory-swap={memory}"]
        if task["cpus"]:
            options.append(f"--cpus={task['cpus']:g}")
        if self._gpus:
            listed = ",".join(map(str, self._gpus))
            options += ["--gpus", f'"device={listed}"']
        return options

    def who(self) -> list[str]:
        return [f"--user={os.getuid()}:{os.getgid()}"]


class Apptainer(Container):
    """Its containers are the user's own processes: what ends those ends them."""

    def start(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]:
        options = ["exec", "--cleanenv", "--contain", "--writable-tmpfs", "--pwd", workdir]
        home = next((each for each in self._mounts if each["target"] == "/userhome"), None)
        own = self._task["own_home"]
        options += ["--home", f"{home['source']}:{home['target']}" if home else own]
        for mount in self._mounts:
            if mount is not home and mount["target"] != own:
                mode = "ro" if mount["read_only"] else "rw"
                options += ["--bind", f"{mount['source']}:{mount['target']}:{mode}"]
        if self._gpus:
            options.append("--nv")
        return [self.program, *options, *words]

    enter = start  # another container of the same image: network and processes are the node's

    def env_words(self, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        return [], {f"APPTAINERENV_{name}": value for name, value in env.items() if name != "HOME"}

    def _image_words(self, words: list[str]) -> list[str]:
        return [f"docker://{self.image}", *words]

    _enter_words = _image_words


class Enroot(Container):
    """An image becomes a folder of the user's, in which commands run."""

    def fetch(self) -> list[str] | None:
        host, _, rest = self.image.partition("/")
        file = f"{self._task['sockets']}/image.sqsh"
        script = '"$0" import -o "$1" "docker://$2" && "$0" create -f -n "$3" "$1"; s=$?; '
        words = [self.program, file, f"{host}#{rest}", f"{self._name}-0"]
        self._count = 1
        return ["/bin/sh", "-c", script + 'rm -f "$1"; exit $s', *words]

    def start(self, name: str, words: list[str], workdir: str, tty: bool) -> list[str]:
        options = ["start", "--rw"]
        for mount in self._mounts:
            mode = "x-create=dir,bind" + (",ro" if mount["read_only"] else "")
            options += ["--mount", f"{mount['source']}:{mount['target']}:none:{mode}"]
        count = next(place for place, word in enumerate(words) if word == f"{self._name}-0")
        # It has no option for the folder.
        inside = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', workdir, *words[count + 1 :]]
        return [self.program, *options, *words[: count + 1], *inside]

    enter = start

    def _image_words(self, words: list[str]) -> list[str]:
        return [f"{self._name}-0", *words]

    def client_env(self) -> dict[str, str]:
        gpus = ",".join(map(str, self._gpus)) or "void"
        return {**super().client_env(), "NVIDIA_VISIBLE_DEVICES": gpus}

    def removals(self) -> list[list[str]]:
        return [[self.program, "remove", "--force", f"{self._name}-0"]]


_CLASSES: dict[str, Callable[..., Container]] = {
    "podman": Podman,
    "docker": Docker,
    "apptainer": Apptainer,
    "enroot": Enroot,
}


def _popen(
    words: list[str], env: dict[str, str], out: Any = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        env=env,
        cwd="/",
        start_new_session=True,
    )


def run_to_end(words: list[str], env: dict[str, str]) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        process = _popen(words, env)
        try:
            process.communicate(timeout=_REMOVING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def why_not(image: str, said: str) -> NoContainer:
    """From what a runtime printed when it could not get an image."""
    low = said.lower()
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    detail = f"{image}: {(lines or ['failed without a message'])[-1]}"[:400]
    if any(words in low for words in ("denied", "unauthorized", "authentication required")):
        return NoContainer("image_denied", detail)
    if any(words in low for words in ("manifest unknown", "not found", "name unknown")):
        return NoContainer("image_not_found", detail)
    return NoContainer("image_failed", detail)


def _is_clients(name: str) -> bool:
    return name in _CLIENTS or name.startswith(_CLIENTS_FAMILIES)


def _most_files() -> int:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1048576 if hard == resource.RLIM_INFINITY else hard


def _has_subordinates(user: str) -> bool:
    with contextlib.suppress(OSError):
        with open("/etc/subuid", encoding="utf-8", errors="replace") as file:
            owners = {line.partition(":")[0] for line in file}
        return bool(owners & {user, str(os.getuid())}) and bool(_which("newuidmap"))
    return False


def _runtime_folder() -> str:
    """Podman wants the same one each time: it keeps there what runs on this node."""
    usual = f"/run/user/{os.getuid()}"
    if _is_own(usual):
        return usual
    path = f"/tmp/danlu-run-{os.getuid()}"  # noqa: S108 - used only if it is ours
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not _is_own(path):
        raise NoContainer("image_failed", f"{path} belongs to somebody else")
    return path


def _is_own(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    private = not found.st_mode & 0o077
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and private
