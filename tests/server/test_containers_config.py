"""danlu.toml and `danlu check`: containers and registries."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container.runtimes import Runtime, Search, find
from danlu.server.check_containers import containers
from danlu.server.settings import ConfigError, load


def read(tmp_path: Path, text: str) -> ContainerConfig:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    return load(path).engine().containers


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[engine]\ncontainers = "rkt"', '"docker"'),
        ('[engine]\ncontainer_socket = "docker.sock"', "absolute path"),
        ('[engine]\npull = "never"', '"missing"'),
        ('[registries."http://reg.lab"]', "without http://"),
        ('[registries."reg.lab"]\nuser = "lab"', "go together"),
        ('[registries."reg.lab"]\nuser = "lab"\npassword = 5', "in quotes"),
        ('[registries."reg.lab"]\nuser = "a"\npassword = "p"\npassword_file = "/f"', "keep one"),
        ('[registries."reg.lab"]\nmirrors = "docker.io"', "mirror_of"),
    ],
)
def test_mistakes_are_told_and_passwords_are_not(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert told in caught.value.en
    assert caught.value.zh
    assert "'p'" not in caught.value.en


def lines(runtime: Runtime, config: ContainerConfig, cards: bool = False) -> dict[str, str]:
    found = containers(Search(runtime), config, cards)
    return {what: f"{verdict}: {en} {zh}" for what, verdict, en, zh in found}


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


def test_check_says_whether_containers_get_cards() -> None:
    with_cards = lines(Runtime("docker", "/s", gpus="nvidia"), ContainerConfig(), cards=True)
    assert with_cards["cards"].startswith("yes")
    without = lines(Runtime("podman", "/s"), ContainerConfig(), cards=True)
    assert "nvidia-ctk cdi generate" in without["cards"]
    assert "cards" not in lines(Runtime("docker", "/s"), ContainerConfig())


def test_without_a_runtime_it_is_said_what_to_do(tmp_path: Path) -> None:
    for config in (ContainerConfig("off"), ContainerConfig(socket=f"{tmp_path}/none.sock")):
        search = find(config)
        assert search.runtime is None
        assert search.en
        assert search.zh
        ((what, verdict, _, _),) = containers(search, config, False)
        assert (what, verdict) == ("containers", "no")
