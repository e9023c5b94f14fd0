"""danlu.toml refines what works without it, and every mistake is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from danlu.server.settings import Address, ConfigError, load
from danlu.server.web_table import PortRange


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    return path


def test_everything_can_be_said(tmp_path: Path) -> None:
    found = load(
        config(
            tmp_path,
            """
            data = "/srv/danlu"
            [server]
            listen = ["0.0.0.0:80", "[::1]:8080", "lab"]
            [database]
            url = "postgresql://danlu@db/danlu"
            [metrics]
            size = "200M"
            [[nodes]]
            name = "n1"
            cpus = 16
            memory = "64G"
            gpus = ["4:RTX3090", "1:A100"]
            [[nodes]]
            [volumes.fast]
            source = "/ssd"
            target = "/fast"
            read_only = true
            [defaults]
            cpus_per_gpu = 6
            memory_per_cpu = "8G"
            max_time_limit = "3d"
            max_array = 50
            [engine]
            namespaces = "off"
            ports = "30000-30100"
            """,
        )
    )
    assert found.data == Path("/srv/danlu")
    assert found.listen == (Address("0.0.0.0", 80), Address("::1", 8080), Address("lab"))
    assert found.database_url.startswith("postgresql://")
    assert found.metrics_size == 200 << 20
    assert found.nodes[0].gpus == (("RTX3090", 4), ("A100", 1))
    assert found.nodes[0].memory == 64 << 30
    assert found.nodes[1].name == "n2"
    assert found.nodes[1].cpus > 0
    assert found.volumes["fast"].read_only
    assert found.defaults.cpus_per_gpu == 6
    assert found.defaults.memory_per_cpu == 8 << 30
    assert found.defaults.max_time_limit == 3 * 86400
    assert found.defaults.max_array == 50
    assert found.engines[0].namespaces == "off"
    assert found.engines[0].ports == (30000, 30100)


def test_nothing_needs_to_be_said() -> None:
    found = load(None)
    assert found.listen == (Address("127.0.0.1", None),)
    assert found.database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("dta = '/x'", "did you mean data?"),
        ("[sever]\nlisten = 'x'", "did you mean server?"),
        ("[server]\nlisten = 'host:99999'", "server.listen"),
        ("[server]\ntls_cert = '/c'", "tls_key"),
        ("[[nodes]]\ncpus = 0", "nodes.0.cpus"),
        ("[[nodes]]\nmemory = 'many'", "nodes.0.memory"),
        ("[[nodes]]\ngpus = '4'", '"5:RTX3090"'),
        ("[[nodes]]\ngpus = '99999999:T4'", "at most 4096 GPUs"),
        ("[[nodes]]\nname='a/b'", "nodes.0.name: 'a/b': is not a valid name"),
        ("[[nodes]]\nname='a'\n[[nodes]]\nname='a'", "its own name"),
        ("[[nodes]]\nname='a'\n[queues.v]\nnodes=['b']", "'b': is not a node; [[nodes]] has: a"),
        ("[[nodes]]\nname='a'\n[volumes.v]\nsource='/srv/v'\nnodes=['b']", "volumes.v.nodes: 'b'"),
        ("nodes = 3", "[[nodes]]"),
        ("[volumes.x]\ntarget = '/x'", "source"),
        ("[volumes.x]\nsource = 'relative'", "absolute"),
        ("[defaults]\ncpu_per_gpu = 1", "did you mean cpus_per_gpu?"),
        ("[defaults]\nmax_time_limit = 'soon'", "defaults.max_time_limit"),
        ("[engine]\ncgroups = 'maybe'", '"auto" or "off"'),
        ("[engine]\nports = '80-90'", "20000-29999"),
        ("[metrics]\nsize = '10K'", "at least 1M"),
        ("[metrics]\nsize = 'big'", "metrics.size"),
        ("data = ", "not valid TOML"),
    ],
)
def test_mistakes_name_the_key_and_what_is_allowed(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(config(tmp_path, text))
    assert named in error.value.message.en
    assert "danlu.toml" in error.value.message.en
    assert any("\u4e00" <= ch <= "\u9fff" for ch in error.value.message.zh)


def test_all_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    text = """\
dta = "/x"

[server]
listen = 3
sign_up = "maybe"   # neither

[[nodes]]
name = "a"

[[nodes]]
name = "b"
cpus = 0

[volumes.scans]
source = "relative"

[defaults]
max_time_limit = "soon"
"""
    with pytest.raises(ConfigError) as error:
        load(config(tmp_path, text))
    for lines in (error.value.message.en, error.value.message.zh):
        places = [re.search(r"toml:(\d+)[:：]", line) for line in lines.splitlines()]
        assert [found and found[1] for found in places] == ["1", "4", "5", "12", "15", "18"]
    assert f"{tmp_path}/danlu.toml:12: nodes.1.cpus: 0: must be" in error.value.message.en


def test_a_mistake_does_not_cause_others(tmp_path: Path) -> None:
    text = "[server]\ntls_cert = '/c'\n[[nodes]]\nname='a'\n[[nodes]]\nname='a'\n"
    with pytest.raises(ConfigError) as error:
        load(config(tmp_path, f"{text}[queues.q]\nnodes = ['a']\n"))
    assert len(error.value.message.en.splitlines()) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path / "nowhere.toml")
    assert "nowhere.toml: No such file" in error.value.message.en


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", Address("127.0.0.1")),
        ('listen = ["0.0.0.0:80", "lab"]', Address("0.0.0.0")),
        ('ssh = "10.0.0.5:22"', Address("10.0.0.5", 22)),
        ('ssh = "lab"', Address("lab")),
        ('ssh = "off"', None),
    ],
)
def test_ssh_clients_come_in_where_the_pages_are_unless_said(
    tmp_path: Path, text: str, address: Address | None
) -> None:
    assert load(config(tmp_path, f"[server]\n{text}\n")).ssh_address == address


@pytest.mark.parametrize("value", ['"lab:port"', "22", "true"])
def test_a_place_for_ssh_that_is_none_is_told(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.ssh"):
        load(config(tmp_path, f"[server]\nssh = {value}\n"))


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", PortRange("127.0.0.1", 8800, 8899)),
        ('listen = "10.0.0.5:80"', PortRange("10.0.0.5", 8800, 8899)),
        ('web = "10.0.0.5:443"', PortRange("10.0.0.5", 443, 443)),
        ('web = "[::1]:9000-9010"', PortRange("::1", 9000, 9010)),
        ('web = "off"', None),
    ],
)
def test_web_doors_are_where_the_pages_are_unless_said(
    tmp_path: Path, text: str, ports: PortRange | None
) -> None:
    assert load(config(tmp_path, f"[server]\n{text}\n")).web_ports == ports


@pytest.mark.parametrize(
    "line",
    [
        'web = "10.0.0.5"',
        'web = "10.0.0.5:9-8"',
        'web = "10.0.0.5:0-8"',
        'web = "10.0.0.5:1-70000"',
        "web = 8800",
        'web_domain = "https://x"',
        'web_domain = "x:0"',
        'web_domain = "*.x"',
    ],
)
def test_places_for_web_doors_that_are_none_are_told(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.web"):
        load(config(tmp_path, f"[server]\n{line}\n"))
