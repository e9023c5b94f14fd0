"""[carry], [disks] and [mirrors] of danlu.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.server.settings import ConfigError, load


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    found = load(
        config(
            tmp_path,
            '[carry]\nsize = "1G"\nfiles = 10\nkeep = "1d"\n'
            '[disks]\nwarning = 70\nimages = "2d"\nfree = "5G"\nclean = false\n'
            '[mirrors]\npip = "https://pypi.lab/simple"\napt = "http://apt.lab/debian"\n',
        )
    )
    assert (found.carry.size, found.carry.files, found.carry.keep) == (1 << 30, 10, 86400)
    assert (found.disks.warning, found.disks.images, found.disks.clean) == (70, 172800, False)
    assert found.disks.free == 5 << 30
    assert found.mirrors.pip == "https://pypi.lab/simple"
    assert found.mirrors.files


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[disks]\nwarning = 120\n", "percentage"),
        ("[disks]\nwarning = 90\nhigh = 85\n", "must be above warning"),
        ("[disks]\nclean_to = 90\n", "must be above clean_to"),
        ('[mirrors]\npip = "ftp://x"\n', "write an address"),
        ('[mirrors]\npip = "https://x y"\n', "write an address|spaces or quotes"),
        ("[carry]\nsizes = 1\n", "did you mean size"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(config(tmp_path, text))
