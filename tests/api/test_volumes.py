"""Volumes through the API, and what two people's real jobs can do to each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from danlu.engines.local.check import Abilities
from tests.api.harness import Harness, details
from tests.api.people_harness import PeopleHarness, Someone
from tests.support.folders import let_in

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root: uids keep people apart")


class VolumeHarness:
    """Two members of one group and somebody who is in none."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.people_harness = PeopleHarness(harness)
        self.group = self.people_harness.group()
        self.alice = self.people_harness.person(self.group)
        self.bob = self.people_harness.person(self.group)
        self.eve = self.people_harness.person()
        self._declared: list[str] = []

    def run(self, who: Someone, command: str, **job: Any) -> str:
        """What a job of theirs prints; the job belongs to nobody else."""
        made = who.submit(command=command, held=False, **job)
        self.harness.wait(made)
        answer = who.http.get(f"/jobs/{made['id']}/logs")
        assert answer.status_code == 200
        return answer.text

    def declare(self, source: Path, **values: Any) -> str:
        name = self.people_harness.name("v")
        order = {"name": name, "source": str(source), "everywhere": False, **values}
        self.people_harness.admin.do("POST", "/volumes", order)
        self._declared.append(name)
        return name

    def close(self) -> None:
        for name in self._declared:
            self.people_harness.admin.http.delete(f"/volumes/{name}")
        self.people_harness.close()


@pytest.fixture(scope="module")
def volume_harness(server: Any) -> Iterator[VolumeHarness]:
    harness = Harness(server)
    volume_harness = VolumeHarness(harness)
    yield volume_harness
    harness.clear()
    volume_harness.close()
    harness.http.close()


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 422, answer.text
    return str(details(answer)[0]["message_en"])


def names(who: Someone) -> set[str]:
    return {volume["name"] for volume in who.get("/volumes")["volumes"]}


class TestDeclaring:
    def test_a_volume_is_there_at_once_for_those_who_may(
        self, volume_harness: VolumeHarness, tmp_path: Path
    ) -> None:
        (tmp_path / "set").write_text("numbers\n")
        name = volume_harness.declare(
            tmp_path, groups=[volume_harness.group], tier="fast", note="SSD"
        )
        assert name in names(volume_harness.alice)
        assert name not in names(volume_harness.eve)
        assert volume_harness.run(
            volume_harness.alice, f"cat $DANLU_VOLUME_{name.upper()}/set", mounts=[f"{name}:/x"]
        ) == ("numbers\n")
        answer = volume_harness.eve.http.post(
            "/jobs", json={"command": "true", "mounts": [f"{name}:/x"]}
        )
        assert "is not a volume you may use" in refusal(answer)

    def test_members_do_not_see_where_it_is_and_who_else_may(
        self, volume_harness: VolumeHarness, tmp_path: Path
    ) -> None:
        name = volume_harness.declare(tmp_path, groups=[volume_harness.group])
        seen = volume_harness.alice.get(f"/volumes/{name}")
        assert (seen["source"], seen["groups"], seen["users"]) == (None, None, None)
        assert seen["usable"]
        told = volume_harness.people_harness.admin.get(f"/volumes/{name}")
        assert (told["source"], told["groups"]) == (str(tmp_path), [volume_harness.group])
        assert not told["usable"], "an admin who is not in the group does not mount it either"

    def test_what_is_changed_and_taken_back_holds_for_the_next_job(
        self, volume_harness: VolumeHarness, tmp_path: Path
    ) -> None:
        name = volume_harness.declare(let_in(tmp_path))
        admin = volume_harness.people_harness.admin
        admin.do("PATCH", f"/volumes/{name}", {"users": [volume_harness.eve.name]})
        assert name in names(volume_harness.eve)
        assert name not in names(volume_harness.alice)
        admin.do("DELETE", f"/volumes/{name}")
        assert name not in names(volume_harness.eve)
        assert volume_harness.eve.http.get(f"/volumes/{name}").status_code == 404
        acts = [line["act"] for line in volume_harness.people_harness.acts(thing=name)]
        assert acts == ["volume.added", "volume.changed", "volume.removed"]
        assert tmp_path.exists()

    @pytest.mark.parametrize(
        ("order", "told"),
        [
            ({"source": "/"}, "belongs to the system"),
            ({"source": "/srv/../etc"}, "without '..'"),
            ({"source": "srv"}, "absolute path"),
            ({"source": "/no/such/folder"}, "is not a folder on"),
            ({"source": "/srv", "path": "/etc"}, "belongs to the system"),
            ({"source": "/srv", "path": "/userhome"}, "is reserved for"),
        ],
    )
    def test_what_cannot_be_declared_is_told(
        self, volume_harness: VolumeHarness, order: dict[str, Any], told: str
    ) -> None:
        body = {"name": volume_harness.people_harness.name("v"), **order}
        answer = volume_harness.people_harness.admin.do("POST", "/volumes", body, expect=422)
        assert told in answer["error"]["message_en"]

    def test_the_data_folder_is_never_declared(self, volume_harness: VolumeHarness) -> None:
        data = volume_harness.harness.server.data
        for source in (data, data.parent, data / "home", data / "logs"):
            body = {"name": volume_harness.people_harness.name("v"), "source": str(source)}
            answer = volume_harness.people_harness.admin.do("POST", "/volumes", body, expect=422)
            assert "data folder" in answer["error"]["message_en"]

    def test_what_the_file_declares_is_changed_in_the_file(
        self, volume_harness: VolumeHarness
    ) -> None:
        for name in ("fast", "gdata", "userhome"):
            volume_harness.people_harness.admin.do("DELETE", f"/volumes/{name}", expect=409)
        volume_harness.people_harness.admin.do(
            "POST", "/volumes", {"name": "fast", "source": "/srv"}, expect=409
        )

    def test_it_is_still_there_after_a_restart(
        self, volume_harness: VolumeHarness, tmp_path: Path
    ) -> None:
        name = volume_harness.declare(tmp_path, nodes=["n1"], read_only=True)
        before = volume_harness.people_harness.admin.get(f"/volumes/{name}")
        server = volume_harness.harness.server
        server.stop()
        server.start()
        assert volume_harness.people_harness.admin.get(f"/volumes/{name}") == before


class TestPlacing:
    def test_a_job_goes_where_its_volume_is(
        self, volume_harness: VolumeHarness, tmp_path: Path
    ) -> None:
        name = volume_harness.declare(tmp_path, nodes=["n2"])
        assert (
            volume_harness.run(volume_harness.alice, "echo $DANLU_NODE", mounts=[f"{name}:/x"])
            == "n2\n"
        )


class TestAskingForWhatIsNotOnes:
    @pytest.mark.parametrize(
        "mount",
        ["/:/x", "../:/x", "..:/x", "/etc:/x", "userhome/../x:/x", "userhome:/", "user:/etc"],
    )
    def test_folders_of_the_machine(self, volume_harness: VolumeHarness, mount: str) -> None:
        refusal(volume_harness.eve.http.post("/jobs", json={"command": "true", "mounts": [mount]}))

    def test_the_data_folder(self, volume_harness: VolumeHarness) -> None:
        data = volume_harness.harness.server.data
        for folder in (data, data / "home" / volume_harness.alice.name, data / "run"):
            for job in ({"mounts": [f"{folder}:/x"]}, {"workdir": str(folder)}):
                refusal(volume_harness.eve.http.post("/jobs", json={"command": "true", **job}))

    def test_the_folder_of_another_group(self, volume_harness: VolumeHarness) -> None:
        mounts = [f"share.{volume_harness.group}:/x"]
        refusal(volume_harness.eve.http.post("/jobs", json={"command": "true", "mounts": mounts}))

    @needs_root
    def test_a_link_out_of_ones_volume_gains_nothing(self, volume_harness: VolumeHarness) -> None:
        data = volume_harness.harness.server.data
        volume_harness.run(volume_harness.alice, "echo hush > diary; chmod 666 diary")
        diary = data / "home" / volume_harness.alice.name / "diary"
        volume_harness.run(
            volume_harness.eve, f"ln -s {diary} link; ln -s {diary.parent} folder; ln -s /root root"
        )
        assert "hush" not in volume_harness.run(
            volume_harness.eve, "cat link folder/diary; ls root/ && echo LISTED"
        )
        for workdir in ("/userhome/folder", f"{diary.parent}"):
            answer = volume_harness.eve.http.post(
                "/jobs", json={"command": "cat diary", "workdir": workdir}
            )
            if answer.status_code == 201:
                job = volume_harness.harness.wait(answer.json()["jobs"][0])
                assert job["reason"] == "workdir_missing"
        job = volume_harness.harness.wait(
            volume_harness.eve.submit(script="link", command=None, held=False)
        )
        assert job["reason"] == "command_not_found"


@needs_root
class TestTwoPeople:
    def test_run_as_two_users_of_the_machine(
        self, volume_harness: VolumeHarness, abilities: Abilities
    ) -> None:
        ids = {
            who.name: volume_harness.run(who, "id -u; umask").split()
            for who in (volume_harness.alice, volume_harness.bob)
        }
        uids = {uid for uid, _ in ids.values()}
        assert len(uids) == 2
        assert all(int(uid) >= 200_000 for uid in uids)
        assert {umask for _, umask in ids.values()} == {"0007"}
        shown = volume_harness.people_harness.admin.get(f"/users/{volume_harness.alice.name}")
        assert str(shown["uid"]) == ids[volume_harness.alice.name][0]
        if abilities.namespaces:
            assert (
                volume_harness.run(volume_harness.alice, "whoami")
                == f"{volume_harness.alice.name}\n"
            )

    def test_find_their_files_owned_by_themselves_and_closed_to_others(
        self, volume_harness: VolumeHarness
    ) -> None:
        volume_harness.run(volume_harness.alice, "mkdir -p d; echo hush > d/f; chmod -R 777 d")
        home = volume_harness.harness.server.data / "home" / volume_harness.alice.name
        uid = int(volume_harness.run(volume_harness.alice, "id -u"))
        assert {path.lstat().st_uid for path in [home, *home.rglob("*")]} == {uid}
        log = volume_harness.run(
            volume_harness.bob, f"cat {home}/d/f; ls {home}; echo x > {home}/x; echo tried"
        )
        assert "hush" not in log
        assert log.endswith("tried\n")
        assert not (home / "x").exists()

    def test_share_the_folder_of_their_group(self, volume_harness: VolumeHarness) -> None:
        variable = f"DANLU_VOLUME_SHARE_{volume_harness.group.upper()}"
        volume_harness.run(
            volume_harness.alice, f"mkdir ${variable}/d && echo alice > ${variable}/d/f"
        )
        volume_harness.run(volume_harness.bob, f"echo bob >> ${variable}/d/f")
        assert volume_harness.run(volume_harness.alice, f"cat ${variable}/d/f") == "alice\nbob\n"
        folder = volume_harness.harness.server.data / "volumes" / "share" / volume_harness.group
        assert (
            volume_harness.run(volume_harness.eve, f"ls {folder}/d; echo ${variable}").splitlines()[
                -1
            ]
            == ""
        )

    def test_lose_the_folder_when_they_leave_the_group(self, volume_harness: VolumeHarness) -> None:
        admin, leaver = (
            volume_harness.people_harness.admin,
            volume_harness.people_harness.person(volume_harness.group),
        )
        assert f"/mnt/share/{volume_harness.group}" in {
            v["path"] for v in leaver.get("/volumes")["volumes"]
        }
        gid = str(admin.get(f"/groups/{volume_harness.group}")["gid"])
        assert gid in volume_harness.run(leaver, "id -G").split()
        admin.do("DELETE", f"/groups/{volume_harness.group}/members/{leaver.name}")
        assert gid not in volume_harness.run(leaver, "id -G").split()

    def test_do_not_see_each_others_processes_secrets_or_logs(
        self, volume_harness: VolumeHarness
    ) -> None:
        volume_harness.alice.do("PUT", "/secrets/key", {"value": "hush-hush"})
        job = volume_harness.alice.submit(
            command="echo hush-hush; exec sleep 1000", secrets={"KEY": "key"}, held=False
        )
        volume_harness.harness.until(job, "running")
        uid = int(volume_harness.run(volume_harness.alice, "id -u"))
        pids = [p for p in os.listdir("/proc") if p.isdigit() and _owner(p) == uid]
        assert pids
        data = volume_harness.harness.server.data
        log = volume_harness.run(
            volume_harness.eve,
            f"for p in {' '.join(pids)}; do cat /proc/$p/environ; kill -9 $p && echo KILLED; done;"
            f"cat {data}/logs/*/* {data}/run/*/* {data}/danlu.db {data}/server.json; echo tried",
        )
        assert "hush-hush" not in log
        assert "KILLED" not in log
        assert log.endswith("tried\n")
        assert volume_harness.alice.get(f"/jobs/{job['id']}")["state"] == "running"
        assert volume_harness.eve.http.get(f"/jobs/{job['id']}/logs").status_code == 404
        volume_harness.alice.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


def _owner(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return -1
