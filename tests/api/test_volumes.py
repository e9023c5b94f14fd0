"""Volumes through the API, and what two people's real jobs can do to each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from danlu.engines.local.check import Abilities
from tests.api.lab import Lab, details
from tests.api.society import Society, Someone
from tests.support.folders import let_in

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root: uids keep people apart")


class Town:
    """Two members of one group and somebody who is in none."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.society = Society(lab)
        self.group = self.society.group()
        self.alice = self.society.person(self.group)
        self.bob = self.society.person(self.group)
        self.eve = self.society.person()
        self._declared: list[str] = []

    def run(self, who: Someone, command: str, **job: Any) -> str:
        """What a job of theirs prints; the job belongs to nobody else."""
        made = who.submit(command=command, held=False, **job)
        self.lab.wait(made)
        answer = who.http.get(f"/jobs/{made['id']}/logs")
        assert answer.status_code == 200
        return answer.text

    def declare(self, source: Path, **values: Any) -> str:
        name = self.society.name("v")
        order = {"name": name, "source": str(source), "everywhere": False, **values}
        self.society.admin.do("POST", "/volumes", order)
        self._declared.append(name)
        return name

    def close(self) -> None:
        for name in self._declared:
            self.society.admin.http.delete(f"/volumes/{name}")
        self.society.close()


@pytest.fixture(scope="module")
def town(server: Any) -> Iterator[Town]:
    lab = Lab(server)
    town = Town(lab)
    yield town
    lab.clear()
    town.close()
    lab.http.close()


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 422, answer.text
    return str(details(answer)[0]["message_en"])


def names(who: Someone) -> set[str]:
    return {volume["name"] for volume in who.get("/volumes")["volumes"]}


class TestDeclaring:
    def test_a_volume_is_there_at_once_for_those_who_may(self, town: Town, tmp_path: Path) -> None:
        (tmp_path / "set").write_text("numbers\n")
        name = town.declare(tmp_path, groups=[town.group], tier="fast", note="SSD")
        assert name in names(town.alice)
        assert name not in names(town.eve)
        assert town.run(
            town.alice, f"cat $DANLU_VOLUME_{name.upper()}/set", mounts=[f"{name}:/x"]
        ) == ("numbers\n")
        answer = town.eve.http.post("/jobs", json={"command": "true", "mounts": [f"{name}:/x"]})
        assert "is not a volume you may use" in refusal(answer)

    def test_members_do_not_see_where_it_is_and_who_else_may(
        self, town: Town, tmp_path: Path
    ) -> None:
        name = town.declare(tmp_path, groups=[town.group])
        seen = town.alice.get(f"/volumes/{name}")
        assert (seen["source"], seen["groups"], seen["users"]) == (None, None, None)
        assert seen["usable"]
        told = town.society.admin.get(f"/volumes/{name}")
        assert (told["source"], told["groups"]) == (str(tmp_path), [town.group])
        assert not told["usable"], "an admin who is not in the group does not mount it either"

    def test_what_is_changed_and_taken_back_holds_for_the_next_job(
        self, town: Town, tmp_path: Path
    ) -> None:
        name = town.declare(let_in(tmp_path))
        admin = town.society.admin
        admin.do("PATCH", f"/volumes/{name}", {"users": [town.eve.name]})
        assert name in names(town.eve)
        assert name not in names(town.alice)
        admin.do("DELETE", f"/volumes/{name}")
        assert name not in names(town.eve)
        assert town.eve.http.get(f"/volumes/{name}").status_code == 404
        acts = [line["act"] for line in town.society.acts(thing=name)]
        assert acts == ["volume.added", "volume.changed", "volume.removed"]
        assert tmp_path.exists()

    @pytest.mark.parametrize(
        ("order", "told"),
        [
            ({"source": "/"}, "is the system's"),
            ({"source": "/srv/../etc"}, "without '..'"),
            ({"source": "srv"}, "absolute path"),
            ({"source": "/no/such/folder"}, "no folder of this machine"),
            ({"source": "/srv", "path": "/etc"}, "belongs to the system"),
            ({"source": "/srv", "path": "/userhome"}, "is kept for"),
        ],
    )
    def test_what_cannot_be_declared_is_told(
        self, town: Town, order: dict[str, Any], told: str
    ) -> None:
        body = {"name": town.society.name("v"), **order}
        answer = town.society.admin.do("POST", "/volumes", body, expect=422)
        assert told in answer["error"]["message_en"]

    def test_the_data_folder_is_never_declared(self, town: Town) -> None:
        data = town.lab.server.data
        for source in (data, data.parent, data / "home", data / "logs"):
            body = {"name": town.society.name("v"), "source": str(source)}
            answer = town.society.admin.do("POST", "/volumes", body, expect=422)
            assert "data folder" in answer["error"]["message_en"]

    def test_what_the_file_declares_is_changed_in_the_file(self, town: Town) -> None:
        for name in ("fast", "gdata", "userhome"):
            town.society.admin.do("DELETE", f"/volumes/{name}", expect=409)
        town.society.admin.do("POST", "/volumes", {"name": "fast", "source": "/srv"}, expect=409)

    def test_it_is_still_there_after_a_restart(self, town: Town, tmp_path: Path) -> None:
        name = town.declare(tmp_path, nodes=["n1"], read_only=True)
        before = town.society.admin.get(f"/volumes/{name}")
        server = town.lab.server
        server.stop()
        server.start()
        assert town.society.admin.get(f"/volumes/{name}") == before


class TestPlacing:
    def test_a_job_goes_where_its_volume_is(self, town: Town, tmp_path: Path) -> None:
        name = town.declare(tmp_path, nodes=["n2"])
        assert town.run(town.alice, "echo $DANLU_NODE", mounts=[f"{name}:/x"]) == "n2\n"


class TestAskingForWhatIsNotOnes:
    @pytest.mark.parametrize(
        "mount",
        ["/:/x", "../:/x", "..:/x", "/etc:/x", "userhome/../x:/x", "userhome:/", "user:/etc"],
    )
    def test_folders_of_the_machine(self, town: Town, mount: str) -> None:
        refusal(town.eve.http.post("/jobs", json={"command": "true", "mounts": [mount]}))

    def test_the_data_folder(self, town: Town) -> None:
        data = town.lab.server.data
        for folder in (data, data / "home" / town.alice.name, data / "run"):
            for job in ({"mounts": [f"{folder}:/x"]}, {"workdir": str(folder)}):
                refusal(town.eve.http.post("/jobs", json={"command": "true", **job}))

    def test_the_folder_of_another_group(self, town: Town) -> None:
        mounts = [f"share.{town.group}:/x"]
        refusal(town.eve.http.post("/jobs", json={"command": "true", "mounts": mounts}))

    @needs_root
    def test_a_link_out_of_ones_volume_gains_nothing(self, town: Town) -> None:
        data = town.lab.server.data
        town.run(town.alice, "echo hush > diary; chmod 666 diary")
        diary = data / "home" / town.alice.name / "diary"
        town.run(town.eve, f"ln -s {diary} link; ln -s {diary.parent} folder; ln -s /root root")
        assert "hush" not in town.run(town.eve, "cat link folder/diary; ls root/ && echo LISTED")
        for workdir in ("/userhome/folder", f"{diary.parent}"):
            answer = town.eve.http.post("/jobs", json={"command": "cat diary", "workdir": workdir})
            if answer.status_code == 201:
                job = town.lab.wait(answer.json()["jobs"][0])
                assert job["reason"] == "workdir_missing"
        job = town.lab.wait(town.eve.submit(script="link", command=None, held=False))
        assert job["reason"] == "command_not_found"


@needs_root
class TestTwoPeople:
    def test_run_as_two_users_of_the_machine(self, town: Town, abilities: Abilities) -> None:
        ids = {who.name: town.run(who, "id -u; umask").split() for who in (town.alice, town.bob)}
        uids = {uid for uid, _ in ids.values()}
        assert len(uids) == 2
        assert all(int(uid) >= 200_000 for uid in uids)
        assert {umask for _, umask in ids.values()} == {"0007"}
        shown = town.society.admin.get(f"/users/{town.alice.name}")
        assert str(shown["uid"]) == ids[town.alice.name][0]
        if abilities.namespaces:
            assert town.run(town.alice, "whoami") == f"{town.alice.name}\n"

    def test_find_their_files_owned_by_themselves_and_closed_to_others(self, town: Town) -> None:
        town.run(town.alice, "mkdir -p d; echo hush > d/f; chmod -R 777 d")
        home = town.lab.server.data / "home" / town.alice.name
        uid = int(town.run(town.alice, "id -u"))
        assert {path.lstat().st_uid for path in [home, *home.rglob("*")]} == {uid}
        log = town.run(town.bob, f"cat {home}/d/f; ls {home}; echo x > {home}/x; echo tried")
        assert "hush" not in log
        assert log.endswith("tried\n")
        assert not (home / "x").exists()

    def test_share_the_folder_of_their_group(self, town: Town) -> None:
        variable = f"DANLU_VOLUME_SHARE_{town.group.upper()}"
        town.run(town.alice, f"mkdir ${variable}/d && echo alice > ${variable}/d/f")
        town.run(town.bob, f"echo bob >> ${variable}/d/f")
        assert town.run(town.alice, f"cat ${variable}/d/f") == "alice\nbob\n"
        folder = town.lab.server.data / "volumes" / "share" / town.group
        assert town.run(town.eve, f"ls {folder}/d; echo ${variable}").splitlines()[-1] == ""

    def test_lose_the_folder_when_they_leave_the_group(self, town: Town) -> None:
        admin, leaver = town.society.admin, town.society.person(town.group)
        assert f"/mnt/share/{town.group}" in {v["path"] for v in leaver.get("/volumes")["volumes"]}
        gid = str(admin.get(f"/groups/{town.group}")["gid"])
        assert gid in town.run(leaver, "id -G").split()
        admin.do("DELETE", f"/groups/{town.group}/members/{leaver.name}")
        assert gid not in town.run(leaver, "id -G").split()

    def test_do_not_see_each_others_processes_secrets_or_logs(self, town: Town) -> None:
        town.alice.do("PUT", "/secrets/key", {"value": "hush-hush"})
        job = town.alice.submit(
            command="echo hush-hush; exec sleep 1000", secrets={"KEY": "key"}, held=False
        )
        town.lab.until(job, "running")
        uid = int(town.run(town.alice, "id -u"))
        pids = [p for p in os.listdir("/proc") if p.isdigit() and _owner(p) == uid]
        assert pids
        data = town.lab.server.data
        log = town.run(
            town.eve,
            f"for p in {' '.join(pids)}; do cat /proc/$p/environ; kill -9 $p && echo KILLED; done;"
            f"cat {data}/logs/*/* {data}/run/*/* {data}/danlu.db {data}/server.json; echo tried",
        )
        assert "hush-hush" not in log
        assert "KILLED" not in log
        assert log.endswith("tried\n")
        assert town.alice.get(f"/jobs/{job['id']}")["state"] == "running"
        assert town.eve.http.get(f"/jobs/{job['id']}/logs").status_code == 404
        town.alice.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


def _owner(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return -1
