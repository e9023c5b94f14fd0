"""[engines.NAME] of kind slurm in danlu.toml: what is read, and what is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.slurm.engine import SlurmEngine
from danlu.server.engines import make_engine
from danlu.server.settings import load
from danlu.server.values import ConfigError

TABLE = '[engines.cluster]\nkind = "slurm"\nshared = "/gpfs/danlu"\n'


def read(tmp_path: Path, more: str = "", table: str = TABLE) -> SlurmEngine:
    file = tmp_path / "danlu.toml"
    file.write_text(f'data = "{tmp_path}/data"\n{table}{more}')
    config = load(file)
    engine = make_engine(config.engines[0], config.around())
    assert isinstance(engine, SlurmEngine)
    return engine


def test_a_table_becomes_an_engine(tmp_path: Path) -> None:
    engine = read(
        tmp_path,
        'partitions = { train = "gpu" }\nmodels = { RTX3090 = "3090" }\ncycle = 2\n'
        'options = ["--account=lab", "--qos=high"]\nports = "30000-30999"\n'
        'bin = "/opt/slurm/bin"\nslurmrestd = "unix:/run/rest"\n',
    )
    config = engine.config
    assert engine.name == "cluster"
    assert config.shared == Path("/gpfs/danlu")
    assert config.data == tmp_path / "data" / "engines" / "cluster"
    assert (config.partitions, config.models) == ({"train": "gpu"}, {"RTX3090": "3090"})
    assert config.options == ("--account=lab", "--qos=high")
    assert config.slurmrestd == "unix:/run/rest"
    assert (config.ports, config.cycle, config.bin) == ((30000, 30999), 2.0, "/opt/slurm/bin")


def test_without_a_shared_folder_it_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"engines.cluster.shared.*same path"):
        read(tmp_path, table='[engines.cluster]\nkind = "slurm"\n')


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("cycle = 0", "cycle"),
        ('bin = "slurm/bin"', "bin"),
        ('bin = "/opt/../bin"', "bin"),
        ('partitions = "gpu"', "partitions"),
        ('partitions = { train = "gpu; rm" }', "partitions"),
        ('options = ["-A lab"]', "options"),
        ('options = ["--comment=mine"]', "options"),
        ('options = ["--account=lab\\n#SBATCH --uid=0"]', "options"),
        ('ports = "0-99999"', "ports"),
        ('slurmrestd = "http://head:6820"', "slurmrestd"),
        ('slurmrestd = "unix:rest"', "slurmrestd"),
        ("partition = 3", "partition"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_key(tmp_path: Path, line: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"engines.cluster.{key}"):
        read(tmp_path, line + "\n")
