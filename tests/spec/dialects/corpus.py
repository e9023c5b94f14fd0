"""The corpus: job files of our own writing, and what each must become.

`DANLU_UPDATE_CORPUS=1 pytest tests/spec/dialects/test_corpus.py` writes the expectations anew; read
the difference before you keep it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from danlu.spec.dialects import Converted, Dialect, Options, Site, SiteVolume, convert
from danlu.spec.errors import SpecError
from danlu.spec.native import to_native

FOLDER = Path(__file__).parent / "corpus"
EXPECTED = FOLDER / "expected"
LANGUAGES = {
    "v1": Dialect.OPENPAI_V1,
    "v2": Dialect.OPENPAI_V2,
    "dlc": Dialect.DLC,
    "det": Dialect.DETERMINED,
    "sbatch": Dialect.SBATCH,
}
SITE = Site(
    (
        SiteVolume("userhome", "/srv/home/alice", "/userhome"),
        SiteVolume("slow", "/srv/slow", "/slow"),
        SiteVolume("fast", "/srv/fast", "/fast"),
    )
)
OPTIONS = Options(offers={"workdir": "/work/here"})


def files(language: str = "") -> list[Path]:
    return sorted(
        path for path in FOLDER.iterdir() if path.is_file() and path.name.startswith(language)
    )


def language_of(path: Path) -> Dialect:
    return LANGUAGES[path.name.partition("_")[0]]


def converted(path: Path) -> Converted:
    return convert(path.read_bytes(), options=OPTIONS, site=SITE)


def outcome(path: Path) -> dict[str, Any]:
    """What a file becomes, as plain values."""
    try:
        found = converted(path)
    except SpecError as error:
        return {
            "language": error.language,
            "problems": [
                {"line": each.line, "key": each.key, "en": each.message.en, "zh": each.message.zh}
                for each in error.problems
            ],
        }
    return {
        "dialect": found.dialect.value,
        "jobs": [to_native(job.spec) for job in found.jobs],
        "notes": [note.values() for note in found.notes],
    }


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXPECTED / f"{path.name}.yaml").read_text())
    return found


def write_expected(path: Path) -> None:
    EXPECTED.mkdir(exist_ok=True)
    text = yaml.safe_dump(outcome(path), sort_keys=False, allow_unicode=True, width=100)
    (EXPECTED / f"{path.name}.yaml").write_text(text)
