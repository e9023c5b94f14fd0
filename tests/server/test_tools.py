"""`danlu tools`: a tree goes from machine to machine, and nothing else is taken for one."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from danlu.engines.api import NoTools
from danlu.engines.local.tools import LAYOUT, MARK, ToolsFolder
from danlu.server.tools import __main__ as command
from danlu.server.tools import archive


def made_up(folder: ToolsFolder, **more: object) -> Path:
    tree = folder.path / "tree-0123456789ab"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "program").write_text("#!/bin/sh\n")
    (tree / "bin" / "program").chmod(0o755)
    (tree / "bin" / "link").symlink_to("program")
    machine = os.uname().machine
    mark = {"layout": LAYOUT, "kind": "tree", "hash": "0123456789ab", "machine": machine}
    (tree / MARK).write_text(json.dumps({**mark, "python": "3.11", "editor": "", **more}))
    return tree


def test_a_tree_goes_from_machine_to_machine_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    made_up(ToolsFolder(here))
    file = str(tmp_path / "tools.tar.gz")
    assert command.main(["--data", str(here), "--", "pack", file]) == 0
    assert command.main(["--data", str(there), "--", "install", file]) == 0
    tree = ToolsFolder(there).tree()
    assert tree is not None
    assert (tree / "bin" / "link").read_text() == "#!/bin/sh\n"
    assert (tree / "bin" / "program").stat().st_mode & 0o777 == 0o755
    capsys.readouterr()
    assert command.main(["--json", "--data", str(there), "--", "status"]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["used"] and listed["path"] == str(tree)


@pytest.mark.parametrize("what", ["another machine", "layout", "not a tree", "leads out"])
def test_a_file_that_is_no_tree_changes_nothing(tmp_path: Path, what: str) -> None:
    folder, file = ToolsFolder(tmp_path / "here"), tmp_path / "tools.tar.gz"
    more: dict[str, object] = {"machine": "pdp11"} if what == "another machine" else {}
    tree = made_up(folder, **({"layout": 0} if what == "layout" else more))
    archive.pack(tree, file)
    if what == "not a tree":
        file.write_bytes(b"something else")
    if what == "leads out":
        with tarfile.open(file, "w:gz") as out:
            out.add(tree / MARK, "danlu-tools/../../escaped")
    there = ToolsFolder(tmp_path / "there")
    with pytest.raises(NoTools):
        archive.install(there, file)
    assert list(there.path.iterdir()) == []
    assert not (tmp_path / "escaped").exists()
