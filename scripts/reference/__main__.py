"""Writes all generated files; with --check only reports stale ones."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.reference import asyncify, models, pages


def made() -> dict[Path, str]:
    return {**asyncify.made(), **models.made(), **pages.made()}


def main() -> int:
    files = made()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(asyncify.ROOT)} is stale: run scripts/docs")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
        print(path.relative_to(asyncify.ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
