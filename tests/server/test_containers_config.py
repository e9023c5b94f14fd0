"""danlu.toml and `danlu check`: containers and registries."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container.runtimes import Runtime, Search, find
from danlu.server.check_containers import containers
from danlu.server.engines import local_config
from danlu.server.settings import ConfigError, load


def read(tmp_path: Path, text: str) -> ContainerConfig:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    path.chmod(0o600)
    return load(path).engines[0].containers


def test_registries_are_read_with_their_passwords(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        """
[engine]
containers = "podman"
container_socket = "unix:///run/x.sock"
pull = "always"
[registries."reg.lab:5000"]
user = "lab"
password = "t0ken"
plain_http = true
[registries."mirror.lab"]
mirror_of = "docker.io"
""",
    )
    assert (config.runtime, config.socket, config.pull) == ("podman", "/run/x.sock", "always")
    assert config.registries == (
        Registry("reg.lab:5000", "lab", "t0ken", plain_http=True),
        Registry("mirror.lab", mirror_of=("docker.io",)),
    )
    assert "t0ken" not in repr(config)


def test_what_a_task_is_kept_from_is_read(tmp_path: Path) -> None:
    path = tmp_path / "danlu.toml"
    path.write_text(
        '[engine]\npids = 500\nseccomp = "off"\ndevices = ["/dev/fuse"]\n'
        'images_from = ["configured", "reg.lab:5000"]\n'
    )
    found = load(path)
    config = local_config(found.engines[0], found.around())
    assert (config.pids, config.seccomp, config.devices) == (500, "off", ("/dev/fuse",))
    assert config.containers.images_from == ("configured", "reg.lab:5000")
    path.write_text("")
    found = load(path)
    usual = local_config(found.engines[0], found.around())
    assert usual.devices == ("/dev/infiniband",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[engine]\ncontainers = "rkt"', '"docker"'),
        ('[engine]\ncontainer_socket = "docker.sock"', "absolute path"),
        ('[engine]\npull = "never"', '"missing"'),
        ('[engine]\nimages_from = ["http://reg.lab"]', '"configured", "public"'),
        ("[engine]\nimages_from = []", "at least one"),
        ("[engine]\npids = 3", "from 16 to"),
        ("[engine]\npids = true", "whole number"),
        ('[engine]\nseccomp = "on"', '"auto" or "off"'),
        ('[engine]\ndevices = ["/dev/../etc"]', "below /dev"),
        ('[registries."http://reg.lab"]', "without http://"),
        ('[registries."reg.lab"]\nuser = "lab"', "must both be set"),
        ('[registries."reg.lab"]\nuser = "lab"\npassword = 5', "in quotes"),
        ('[registries."reg.lab"]\nuser = "a"\npassword = "p"\npassword_file = "/f"', "keep one"),
        ('[registries."reg.lab"]\nmirrors = "docker.io"', "mirror_of"),
    ],
)
def test_mistakes_are_told_and_passwords_are_not(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert told in caught.value.message.en
    assert caught.value.message.zh
    assert "'p'" not in caught.value.message.en


def lines(runtime: Runtime, config: ContainerConfig, gpus: bool = False) -> dict[str, str]:
    found = containers(Search(runtime), config, gpus)
    return {what: f"{verdict}: {said.en} {said.zh}" for what, verdict, said in found}


def test_check_says_whether_containers_outlive_docker() -> None:
    on = lines(Runtime("docker", "/s", live_restore=True), ContainerConfig())
    off = lines(Runtime("docker", "/s", live_restore=False), ContainerConfig())
    assert on["live-restore"].startswith("yes")
    assert off["live-restore"].startswith("partly")
    assert '"live-restore": true' in off["live-restore"]
    assert "live-restore" not in lines(Runtime("podman", "/s"), ContainerConfig())


def test_check_says_which_registries_docker_will_not_talk_to() -> None:
    config = ContainerConfig(
        registries=(
            Registry("reg.lab:5000", plain_http=True),
            Registry("known.lab", plain_http=True),
            Registry("127.0.0.1:5000", plain_http=True),
            Registry("tls.lab"),
        )
    )
    found = lines(Runtime("docker", "/s", plain_http=("known.lab",)), config)
    assert [what for what in found if what.startswith("registry")] == ["registry reg.lab:5000"]
    assert "insecure-registries" in found["registry reg.lab:5000"]
    assert not any(what.startswith("registry") for what in lines(Runtime("podman", "/s"), config))


def test_check_says_which_password_cannot_be_read(tmp_path: Path) -> None:
    registry = Registry("reg.lab", "lab", password_file=f"{tmp_path}/none")
    found = lines(Runtime("podman", "/s"), ContainerConfig(registries=(registry,)))
    assert f"{tmp_path}/none" in found["registry reg.lab"]


def test_check_says_whether_containers_get_gpus() -> None:
    with_gpus = lines(Runtime("docker", "/s", gpus="nvidia"), ContainerConfig(), gpus=True)
    assert with_gpus["gpus"].startswith("yes")
    without = lines(Runtime("podman", "/s"), ContainerConfig(), gpus=True)
    assert "nvidia-ctk cdi generate" in without["gpus"]
    assert "gpus" not in lines(Runtime("docker", "/s"), ContainerConfig())


def test_without_a_runtime_it_is_said_what_to_do(tmp_path: Path) -> None:
    for config in (ContainerConfig("off"), ContainerConfig(socket=f"{tmp_path}/none.sock")):
        search = find(config)
        assert search.runtime is None
        assert search.missing.en
        assert search.missing.zh
        ((what, verdict, _),) = containers(search, config, False)
        assert (what, verdict) == ("containers", "no")
