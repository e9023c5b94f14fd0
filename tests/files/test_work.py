"""What people do with files all day: through the HTTP interface, as a member."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.files.people import CONFIG, Someone, join
from tests.files.test_transfers import helpers
from tests.support.server import DanluServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    shared = tmp_path_factory.mktemp("scans")
    (shared / "one").write_text("scan")
    config = CONFIG + f'[volumes.scans]\nsource = "{shared}"\nread_only = true\n'
    found = DanluServer(tmp_path_factory.mktemp("files") / "data", config)
    shared.chmod(0o755)
    found.start()
    found.post("/groups", {"name": "lab"})
    yield found
    found.stop()


@pytest.fixture(scope="module")
def alice(server: DanluServer) -> Someone:
    return join(server, "alice", "lab")


def test_the_volumes_one_may_open_are_listed_with_their_space(alice: Someone) -> None:
    roots = {root["path"]: root for root in alice.get("/roots")["roots"]}
    assert set(roots) == {"/userhome", "/mnt/share/lab", "/gdata", "/mnt/scans"}
    assert roots["/userhome"]["free"] > 0 and roots["/userhome"]["bin"]
    assert roots["/mnt/scans"]["read_only"] and not roots["/mnt/scans"]["bin"]
    assert alice.content("/mnt/scans/one").content == b"scan"
    refused = alice.begin("/mnt/scans/two", 1)
    assert refused.json()["error"]["code"] == "read_only_volume"


def test_a_folder_is_paged_and_sorted(alice: Someone) -> None:
    alice.post("/folders", path="/userhome/list/zfolder", parents=True)
    for number in range(5):
        alice.upload(
            f"/userhome/list/{number}.txt", b"x" * (10 - number), modified=str(1000 + number)
        )
    alice.upload("/userhome/list/.hidden", b"")

    def page(**query: object) -> list[str]:
        found = alice.get("/list", path="/userhome/list", **query)
        assert (found["total"], found["complete"]) == (
            6 if query.get("hidden") is False else 7,
            True,
        )
        return [entry["name"] for entry in found["entries"]]

    assert page(hidden=False) == ["zfolder", "0.txt", "1.txt", "2.txt", "3.txt", "4.txt"]
    assert page(offset=1, limit=2, hidden=False) == ["0.txt", "1.txt"]
    assert page(sort="-name", limit=2) == ["zfolder", "4.txt"]
    assert page(sort="-size", limit=2) == ["0.txt", "1.txt"]
    assert page(sort="modified", limit=1) == ["0.txt"]
    assert ".hidden" in page()


def test_things_are_moved_copied_and_renamed_also_between_volumes(alice: Someone) -> None:
    alice.upload("/userhome/m/a/one", b"1")
    alice.upload("/userhome/m/two", b"2")
    done = alice.post("/copy", paths=["/userhome/m/a", "/userhome/m/two"], into="/mnt/share/lab")
    assert done["results"] == ["/mnt/share/lab/a", "/mnt/share/lab/two"]
    again = alice.post("/copy", paths=["/userhome/m/a"], into="/mnt/share/lab")
    assert (again["state"], again["problem_count"]) == ("failed", 1)
    assert "already exists" in again["message_en"] and "已存在" in again["message_zh"]
    both = alice.post("/copy", paths=["/userhome/m/a"], into="/mnt/share/lab", conflict="rename")
    assert both["results"] == ["/mnt/share/lab/a (1)"]
    alice.post("/move", paths=["/mnt/share/lab/a (1)"], to="/userhome/m/renamed")
    assert alice.content("/userhome/m/renamed/one").content == b"1"
    assert alice.names("/mnt/share/lab") == ["a", "two"]
    nowhere = alice.post("/move", paths=["/userhome/m/two"], to="/userhome/no/such")
    assert "There is no /userhome/no" in nowhere["message_en"], nowhere
    into_itself = alice.post("/move", paths=["/userhome/m"], to="/userhome/m/a/m")
    assert into_itself["state"] == "failed"
    over = alice.post(
        "/move", paths=["/userhome/m/renamed"], to="/userhome/m/a", conflict="overwrite"
    )
    assert over["state"] == "done"
    replaced = [item["path"] for item in alice.get("/bin")["items"]]
    assert "/userhome/m/a" in replaced, "a folder that is replaced goes to the bin"


def test_what_is_deleted_can_be_restored(alice: Someone) -> None:
    alice.upload("/userhome/b/deep/x", b"kept")
    assert alice.post("/delete", paths=["/userhome/b/deep"])["state"] == "done"
    assert alice.names("/userhome/b") == []
    alice.post("/delete", paths=["/userhome/b"])
    items = {item["path"]: item for item in alice.get("/bin")["items"]}
    found = items["/userhome/b/deep"]
    assert (found["kind"], found["name"]) == ("folder", "deep")
    back = alice.post("/bin/restore", ids=[found["id"]])
    assert back["results"] == ["/userhome/b/deep"]
    assert alice.content("/userhome/b/deep/x").content == b"kept"
    taken = alice.post("/bin/restore", ids=[items["/userhome/b"]["id"]])
    assert taken["state"] == "failed", "there is one of that name again"
    assert ".danlu-bin" not in alice.names("/userhome")
    emptied = alice.post("/bin/empty")
    assert emptied["state"] == "done"
    assert alice.get("/bin")["items"] == []


def test_previews_are_data_and_bounded(alice: Someone) -> None:
    def preview(name: str, data: bytes, **query: object) -> dict[str, object]:
        alice.upload(f"/userhome/p/{name}", data, conflict="overwrite")
        found: dict[str, object] = alice.get("/preview", path=f"/userhome/p/{name}", **query)
        return found

    assert preview("a.py", "print('你好')\n".encode())["text"] == "print('你好')\n"
    chinese = preview("a.txt", "炼丹需要耐心".encode("gb18030"))
    assert (chinese["encoding"], chinese["text"]) == ("gb18030", "炼丹需要耐心")
    assert preview("a.bin", bytes(range(256)) * 10)["kind"] == "binary"
    log = b"".join(b"line %d\n" % number for number in range(100_000))
    tail = preview("a.log", log, tail=100)
    assert str(tail["text"]).endswith("line 99999\n") and not tail["complete"]
    assert len(str(preview("a.log", log)["text"])) == 256 << 10
    assert preview("a.html", b"<script>alert(1)</script>")["kind"] == "text"
    book = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "execution_count": 3,
                "source": "plot()",
                "outputs": [
                    {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m"]},
                    {"data": {"image/png": "aGk=", "text/html": "<script>"}},
                    {"data": {"image/png": '" onerror=alert(1)', "text/plain": "plain"}},
                ],
            },
        ],
        "metadata": {"kernelspec": {"language": "python"}},
    }
    shown = preview("a.ipynb", json.dumps(book).encode())
    assert shown["kind"] == "notebook" and shown["language"] == "python"
    cells = shown["cells"]
    assert isinstance(cells, list)
    assert cells[1]["texts"] == ["red", "plain"]
    assert cells[1]["images"] == ["data:image/png;base64,aGk="]
    assert "script" not in json.dumps(cells)
    assert preview("b.ipynb", b"[" * 100_000)["kind"] == "text", "nothing that a parser trips over"


def test_names_are_searched_and_sizes_measured(alice: Someone) -> None:
    for path in ("s/Train.py", "s/deep/train_2.PY", "s/deep/other"):
        alice.upload(f"/userhome/{path}", b"x" * 5000)

    def search(**query: str) -> list[str]:
        answer = alice.http.get("/search", params={"path": "/userhome/s", **query})
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert lines[-1]["end"]["complete"]
        return sorted(line["entry"]["path"] for line in lines if "entry" in line)

    assert search(q="train") == ["/userhome/s/Train.py", "/userhome/s/deep/train_2.PY"]
    assert search(q="*.py", kind="file") == search(q="train")
    assert search(q="deep", kind="folder") == ["/userhome/s/deep"]
    found = alice.get("/usage", path="/userhome/s")
    while found["operation"] is not None:
        alice.get(f"/operations/{found['operation']}", wait=5)
        found = alice.get("/usage", path="/userhome/s")
    assert (found["files"], found["folders"], found["complete"]) == (3, 1, True)
    assert found["size"] >= 15_000
    assert [child["name"] for child in found["children"]] == ["deep", "Train.py"]


def test_only_folders_are_measured(alice: Someone) -> None:
    alice.upload("/userhome/odd/file", b"x")
    os.mkfifo(alice.home() / "odd/pipe")
    (alice.home() / "odd/out").symlink_to("/etc")
    refused = {}
    for name in ("file", "pipe", "out", r"\x2e\x2e/bob", "nothing"):
        answer = alice.http.get("/usage", params={"path": f"/userhome/odd/{name}"})
        error = answer.json()["error"]
        refused[name] = answer.status_code, error["code"]
        assert error["message_en"] != error["message_zh"]
    assert refused == {
        "file": (409, "not_a_folder"),
        "pipe": (409, "not_a_folder"),
        "out": (403, "leads_out"),
        r"\x2e\x2e/bob": (422, "bad_name"),
        "nothing": (404, "not_found"),
    }


def operations(who: Someone) -> list[Any]:
    found: list[Any] = who.get("/operations")["operations"]
    return found


def test_a_long_operation_is_cancelled_and_leaves_no_half_copy(alice: Someone) -> None:
    alice.post("/folders", path="/userhome/long")
    for number in range(20_000):
        (alice.home() / f"long/{number}").touch()
    order = {"paths": ["/userhome/long"], "to": "/userhome/copied"}
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(alice.http.post, "/copy", json=order)
        while not (going := [e for e in operations(alice) if e["state"] == "running"]):
            assert not asked.done()
        operation = going[0]
        gone = alice.http.delete(f"/operations/{operation['id']}").json()
    assert gone["state"] == "cancelled", "it is long enough not to be done by then"
    assert "copied" not in alice.names("/userhome")
    assert operation["id"] in [each["id"] for each in operations(alice)]


def test_a_helper_that_hangs_holds_up_nobody_else(server: DanluServer, alice: Someone) -> None:
    bob = join(server, "bob")
    bob.get("/roots")
    alice.get("/roots")
    stopped = helpers(server)
    if os.geteuid() == 0:
        stopped = [pid for pid in stopped if _uid(pid) == alice.home().stat().st_uid]
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    order = {"paths": ["/userhome/long"], "to": "/userhome/c"}
    try:
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(alice.http.post, "/copy", json=order) for _ in range(5)]
            answers = [each.result() for each in asked]
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 200, 429]
        assert {each.json()["state"] for each in answers if each.status_code == 200} == {"running"}
        hanging = alice.get("/roots")["roots"]
        assert all("does not answer" in root["problem_en"] for root in hanging)
        if os.geteuid() == 0:
            assert bob.get("/roots")["roots"][0]["free"] > 0
        assert server.get("/server")
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
    assert alice.get("/roots")["roots"][0]["problem_en"] == ""
    states = {each["state"] for each in alice.get("/operations")["operations"]}
    assert "failed" in states, "those that were lost with it are not taken for done"


def _uid(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("Uid:"))
    return int(line.split()[1])
