"""Which folders a job gets to see, and which it never does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.access.identities import Person
from danlu.engines.api import Refused
from danlu.files.declaring import check
from danlu.files.folders import hand_over, make_shared
from danlu.files.settings import FileSettings, VolumeConfig
from danlu.files.volumes import Volumes, below
from danlu.spec.complete import complete
from danlu.spec.errors import SpecError, Wrong
from danlu.spec.job import JobSpec

ALICE = Person("alice", 200_000, 200_000, {"vision": 200_100})
EVE = Person("eve", 200_001, 200_001)
NODES = ("n1", "n2")
ROOT = os.geteuid() == 0


def volume(name: str, source: str, **values: object) -> VolumeConfig:
    target = str(values.pop("target", f"/mnt/{name}"))
    return VolumeConfig(name, Path(source), target, **values)  # type: ignore[arg-type]


def volumes(data: Path, *declared: VolumeConfig) -> Volumes:
    return Volumes(FileSettings(data, {each.name: each for each in declared}))


def job(**values: object) -> JobSpec:
    return complete({"command": "true", **values})


def places(found: Volumes, who: Person, spec: JobSpec, node: str = "n1") -> dict[str, str]:
    """Where a task sees what; read-only ones are marked."""
    return {
        mount.target: mount.source + (" ro" if mount.read_only else "")
        for mount in found.mounts(spec.roles[0], who, node)
    }


def messages(found: Volumes, who: Person, spec: JobSpec) -> list[str]:
    return [finding.message.en for finding in found.findings(spec, who, NODES)]


def hides(found: Volumes, workdir: str) -> bool:
    return found.hides(job(workdir=workdir).roles[0], ALICE)


class TestWhatATaskSees:
    def test_everybody_has_a_home_and_the_folders_of_their_groups(self, tmp_path: Path) -> None:
        found = volumes(tmp_path)
        home = f"{tmp_path}/home/alice"
        assert places(found, ALICE, job()) == {
            "/userhome": home,
            "/mnt/user/alice": home,
            "/mnt/share/vision": f"{tmp_path}/volumes/share/vision",
        }
        assert set(places(found, EVE, job())) == {"/userhome", "/mnt/user/eve"}

    def test_an_admin_puts_the_folders_of_users_and_groups_elsewhere(self, tmp_path: Path) -> None:
        found = volumes(
            tmp_path,
            volume("user", "/nas/user", everywhere=True),
            volume("share", "/nas/share", everywhere=True, read_only=True),
        )
        assert places(found, ALICE, job()) == {
            "/userhome": f"{tmp_path}/home/alice",
            "/mnt/user/alice": "/nas/user/alice",
            "/mnt/share/vision": "/nas/share/vision ro",
        }

    def test_volumes_are_there_for_those_who_may(self, tmp_path: Path) -> None:
        found = volumes(
            tmp_path,
            volume("all", "/a", everywhere=True),
            volume("ours", "/b", everywhere=True, groups=("vision",)),
            volume("mine", "/c", everywhere=True, users=("eve",)),
            volume("rare", "/d", everywhere=False),
        )
        assert {"/mnt/all", "/mnt/ours"} <= set(places(found, ALICE, job()))
        assert "/mnt/mine" not in places(found, ALICE, job())
        assert {"/mnt/all", "/mnt/mine"} <= set(places(found, EVE, job()))
        assert "/mnt/ours" not in places(found, EVE, job())
        assert "/mnt/rare" not in places(found, EVE, job())
        assert places(found, EVE, job(mounts=["rare:/x"]))["/x"] == "/d"

    def test_a_job_moves_a_volume_and_may_only_take_rights_away(self, tmp_path: Path) -> None:
        found = volumes(
            tmp_path,
            volume("fast", "/a", everywhere=True),
            volume("sets", "/b", everywhere=True, read_only=True),
        )
        seen = places(found, ALICE, job(mounts=["fast:/x:ro", "sets:/y:rw", "userhome:/home/me"]))
        assert (seen["/x"], seen["/y"]) == ("/a ro", "/b ro")
        assert not {"/mnt/fast", "/mnt/sets"} & set(seen)
        assert seen["/home/me"] == seen["/userhome"]

    def test_a_volume_on_some_nodes_is_there_and_only_there(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("ssd", "/ssd", everywhere=True, nodes=("n2",)))
        assert "/mnt/ssd" not in places(found, ALICE, job(), "n1")
        assert "/mnt/ssd" in places(found, ALICE, job(), "n2")
        assert found.limited == {"ssd"}
        assert found.by_node(NODES) == {"n1": frozenset(), "n2": frozenset({"ssd"})}

    def test_who_was_put_out_of_the_group_meanwhile_is_refused(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("ours", "/b", groups=("vision",)))
        spec = job(mounts=["ours:/x"])
        assert places(found, ALICE, spec)["/x"] == "/b"
        with pytest.raises(Refused, match="ours is not available to alice"):
            found.mounts(spec.roles[0], replace(ALICE, groups={}), "n1")

    def test_a_link_is_followed_when_declared_and_never_again(self, tmp_path: Path) -> None:
        (tmp_path / "disk1").mkdir()
        link = tmp_path / "link"
        link.symlink_to(tmp_path / "disk1")
        found = volumes(tmp_path / "data", volume("v", str(link), everywhere=True))
        link.unlink()
        link.symlink_to("/etc")
        assert places(found, ALICE, job())["/mnt/v"] == str(tmp_path / "disk1")


class TestWhatAJobIsRefused:
    def test_a_volume_on_nodes_that_are_not_here_any_more(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("ssd", "/b", nodes=("n9",)))
        (told,) = messages(found, ALICE, job(mounts=["ssd:/x"]))
        assert told.startswith("exists on n9 only, and no such node is present")

    @pytest.mark.parametrize(
        "name", ["ours", "nothing", "share.speech", "user.bob", "share", "admin", "home"]
    )
    def test_anothers_volume_is_told_like_none_at_all(self, tmp_path: Path, name: str) -> None:
        found = volumes(tmp_path, volume("ours", "/b", groups=("vision",)))
        (told,) = messages(found, EVE, job(mounts=[f"{name}:/x"]))
        assert told == "is not a volume you may use; available: user, userhome"

    @pytest.mark.parametrize(
        "mount",
        [
            "/:/host",
            "/etc:/x",
            "../../etc:/x",
            "..:/x",
            ".:/x",
            "./userhome:/x",
            "userhome/../bob:/x",
            "userhome/link:/x",
            "~/x:/x",
            "$HOME:/x",
            "file:///etc:/x",
            {"volume": "/var/lib/danlu", "path": "/x"},
            {"volume": "../home/bob", "path": "/x"},
            {"volume": "userhome", "source": "/etc", "path": "/x"},
            {"volume": "userhome", "path": "/x", "subpath": "../bob"},
            {"type": "bind", "source": "/", "target": "/host"},
        ],
    )
    def test_a_folder_of_the_machine_is_never_a_volume(self, mount: object) -> None:
        with pytest.raises(SpecError):
            job(mounts=[mount])

    @pytest.mark.parametrize(
        "path",
        [
            *("/", "//", "/.", "/..", "/x/../etc", "relative", ""),
            *("/proc", "/proc/1", "/sys/fs/cgroup", "/dev", "/dev/shm", "/etc", "/etc/passwd"),
            *("/usr", "/usr/bin", "/bin", "/sbin/x", "/lib", "/lib64/y", "/boot", "/run/x"),
            *("/tmp", "/home", "/mnt", "/var", "/root", "/opt"),
        ],
    )
    def test_nothing_is_mounted_over_the_system(self, path: str) -> None:
        with pytest.raises(SpecError):
            job(mounts=[{"volume": "fast", "path": path}])

    @pytest.mark.parametrize("path", ["/data", "/mnt/x", "/home/me", "/usr/local/sets", "/opt/x"])
    def test_folders_of_its_own_are_free(self, path: str) -> None:
        assert job(mounts=[{"volume": "fast", "path": path}]).roles[0].mounts[0].path == path

    def test_no_other_volume_takes_the_place_of_the_home(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("fast", "/a"))
        assert "every task's home" in messages(found, ALICE, job(mounts=["fast:/userhome"]))[0]
        assert not messages(found, ALICE, job(mounts=["userhome:/userhome"]))

    def test_a_volume_on_no_node_here_is_refused_with_that_reason(self, tmp_path: Path) -> None:
        found = volumes(
            tmp_path,
            volume("far", "/a", nodes=("n9",)),
            volume("one", "/b", nodes=("n1",)),
            volume("two", "/c", nodes=("n2",)),
        )
        assert "exists on n9 only" in messages(found, ALICE, job(mounts=["far:/x"]))[0]
        assert not messages(found, ALICE, job(mounts=["one:/x"]))
        (told,) = messages(found, ALICE, job(mounts=["one:/x", "two:/y"]))
        assert "no node has all" in told

    def test_the_servers_own_folder_is_no_place_to_work_in(self, tmp_path: Path) -> None:
        found = volumes(tmp_path)
        for path in ("", "/run", "/home/bob", "/home", "/home/alice/../bob", "/volumes/share/x"):
            assert hides(found, f"{tmp_path}{path}")
        mine = (
            f"{tmp_path}/home/alice/x",
            f"{tmp_path}/volumes/share/vision",
            "/data",
            "/userhome/x",
        )
        assert not any(hides(found, path) for path in mine)

    def test_nor_is_a_folder_of_others(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("secret", "/s", target="/data/secret", users=("eve",)))
        for path in ("/data/secret", "/data/secret/x", "/mnt/user/eve", "/mnt/share/sound/x"):
            assert hides(found, path)
        assert not any(hides(found, path) for path in ("/mnt/user/alice/x", "/mnt/share/vision"))
        assert not any(hides(found, path) for path in ("/data", "/data/secrets"))

    def test_a_link_is_no_way_around_that(self, tmp_path: Path) -> None:
        found = volumes(tmp_path, volume("open", str(tmp_path / "open"), target="/open"))
        home = tmp_path / "home" / "alice"
        home.mkdir(parents=True)
        for name, to in {
            "data": str(tmp_path),
            "bob": "../bob",
            "again": "data",
            "eve": "/mnt/user/eve/x",
            "loop": "loop",
            "here": "code/../code",
            "open": "/open/x",
            "group": "/mnt/share/vision",
            "self": f"{home}/code",
        }.items():
            (home / name).symlink_to(to)
        assert hides(found, "/mnt/user/alice/data/home/bob")
        for name in ("data", "again", "eve"):
            assert hides(found, f"/userhome/{name}"), name
        for name in ("here", "open", "group", "loop", "self", "bob"):
            assert not hides(found, f"/userhome/{name}"), name

    def test_a_folder_of_a_volume_that_leads_out_of_it_is_refused(self, tmp_path: Path) -> None:
        inside = tmp_path / "open"
        inside.mkdir()
        (inside / "out").symlink_to("/etc")
        (inside / "in").symlink_to("sub")
        found = volumes(tmp_path / "data", volume("open", str(inside), target="/open"))

        def mounted(folder: str) -> list[str]:
            mount = {"volume": "open", "path": "/x", "folder": folder}
            return messages(found, ALICE, job(mounts=[mount]))

        (told,) = mounted("out")
        assert "leads out of the volume" in told
        assert not mounted("in")

    @given(st.text(min_size=1, max_size=40))
    def test_whatever_is_written_only_known_names_become_folders(self, text: str) -> None:
        """Either it is refused when read, or it is a name, and then only one in the catalogue."""
        found = volumes(Path("/var/lib/danlu"), volume("ours", "/b", groups=("vision",)))
        for mount in (
            f"{text}:/x",
            {"volume": text, "path": "/x"},
            {"volume": "user", "path": text},
        ):
            try:
                spec = job(mounts=[mount])
            except SpecError:
                continue
            if found.findings(spec, EVE, NODES):
                with pytest.raises(Refused):
                    found.mounts(spec.roles[0], EVE, "n1")
                continue
            for each in found.mounts(spec.roles[0], EVE, "n1"):
                assert each.source == "/var/lib/danlu/home/eve"
                assert ".." not in each.target.split("/")
                assert each.target.startswith("/") and each.target != "/"

    @given(st.lists(st.sampled_from(["..", ".", "", "a", "etc", "proc", "usr", "bin"]), max_size=6))
    def test_no_way_of_writing_a_path_reaches_the_system(self, parts: list[str]) -> None:
        path = "/" + "/".join(parts)
        try:
            spec = job(mounts=[{"volume": "fast", "path": path}])
        except SpecError:
            return
        target = spec.roles[0].mounts[0].path
        assert target == os.path.normpath(target)
        assert target.split("/")[1] not in ("", "etc", "proc", "usr", "bin")


class TestWhatMayBeDeclared:
    def refusal(self, config: VolumeConfig, data: str = "/srv/danlu") -> str:
        with pytest.raises(Wrong) as caught:
            check(config, Path(data), {})
        return caught.value.findings[0].message.en

    @pytest.mark.parametrize(
        "source",
        ["/", "/etc", "/etc/danlu", "/proc/1/root", "/sys", "/dev", "/usr", "/var", "/tmp"],
    )
    def test_not_the_system(self, source: str) -> None:
        assert "belongs to the system" in self.refusal(volume("v", source))

    @pytest.mark.parametrize(
        "source",
        ["/srv", "/srv/danlu", "/srv/danlu/home/bob", "/srv/danlu/run", "/srv/danlu/volumesX"],
    )
    def test_not_what_would_show_the_data_folder(self, source: str) -> None:
        assert "data folder" in self.refusal(volume("v", source))

    def test_not_by_a_link_either(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        (data / "home").mkdir(parents=True)
        (tmp_path / "innocent").symlink_to(data / "home")
        told = self.refusal(volume("v", str(tmp_path / "innocent")), str(data))
        assert "data folder" in told
        (tmp_path / "root").symlink_to("/")
        assert ("belongs to the system") in self.refusal(
            volume("v", str(tmp_path / "root")), str(data)
        )

    @pytest.mark.parametrize("source", ["relative", "/a/../b", "/a\nb", "/a\0b"])
    def test_not_what_is_no_plain_path(self, source: str) -> None:
        assert "is not a folder" in self.refusal(volume("v", source))

    @pytest.mark.parametrize("name", ["userhome", "user", "share", "share.vision"])
    def test_not_under_a_name_that_is_built_in(self, name: str) -> None:
        assert "is built in" in self.refusal(volume(name, "/data"))

    @pytest.mark.parametrize("target", ["/userhome", "/mnt/user/bob", "/mnt/share/x"])
    def test_not_over_the_folders_of_others(self, target: str) -> None:
        assert "is reserved for" in self.refusal(volume("v", "/data", target=target))

    def test_the_servers_own_area_for_volumes_is_free(self) -> None:
        for source in ("/srv/danlu/volumes/fast", "/srv/danlu/gdata", "/data"):
            check(volume("v", source), Path("/srv/danlu"), {})

    def test_two_in_every_task_need_two_places(self) -> None:
        first = volume("a", "/a", target="/x", everywhere=True)
        second = volume("b", "/b", target="/x/", everywhere=True)
        with pytest.raises(Wrong, match="path of volume a"):
            check(second, Path("/srv/danlu"), {"a": first})
        check(replace(second, everywhere=False), Path("/srv/danlu"), {"a": first})

    @given(st.text(alphabet="/.ab", max_size=30), st.text(alphabet="/.ab", max_size=12))
    def test_no_declared_folder_holds_or_is_in_the_data_folder(self, tail: str, data: str) -> None:
        own = os.path.normpath(f"/srv/{data}/danlu")
        source = f"/srv/{tail}"
        try:
            check(volume("v", source), Path(own), {})
        except Wrong:
            return
        real = os.path.realpath(source)
        assert not below(os.path.realpath(own), real)
        assert not below(real, own) or below(real, f"{own}/volumes") or below(real, f"{own}/gdata")


@pytest.mark.skipif(not ROOT, reason="needs root")
class TestHandingOver:
    def test_all_below_changes_hands_and_nothing_else(self, tmp_path: Path) -> None:
        home, outside = tmp_path / "home", tmp_path / "outside"
        (home / "a" / "b").mkdir(parents=True)
        for path in (home / "f", home / "a" / "g", outside):
            path.write_text("x")
        (home / "to-outside").symlink_to(outside)
        (home / "to-etc").symlink_to("/etc")
        os.link(home / "f", home / "a" / "f-again")
        os.link(outside, home / "also-outside")
        (home / "anothers").write_text("x")
        os.chown(home / "anothers", 4242, 4242)
        before = os.stat("/etc")
        hand_over(str(home), {0}, 200_000, 200_001)
        given_away = {path.name: path.lstat().st_uid for path in [home, *home.rglob("*")]}
        assert given_away.pop("also-outside") == 0, "it has a name outside, too"
        assert given_away.pop("anothers") == 4242
        assert set(given_away.values()) == {200_000}
        assert (home / "a" / "g").stat().st_gid == 200_001
        assert outside.stat().st_uid == 0
        assert os.stat("/etc").st_uid == before.st_uid

    def test_depth_does_not_matter(self, deep: Path) -> None:
        fd = os.open(deep, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=fd)
            inner = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = inner
        (deep / "d" / "z").write_text("after all that is deeper")
        hand_over(str(deep), {0}, 200_000, 200_001)
        assert os.fstat(fd).st_uid == 200_000
        assert (deep / "d" / "z").stat().st_uid == 200_000
        os.close(fd)

    @pytest.fixture
    def deep(self, tmp_path: Path) -> Iterator[Path]:
        yield tmp_path
        # pytest's own way to remove a folder recurses
        subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)

    def test_a_folder_of_a_group_is_the_groups(self, tmp_path: Path) -> None:
        folder = tmp_path / "share" / "vision"
        make_shared(str(folder), 200_100)
        make_shared(str(folder), 200_100)
        found = folder.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (0, 200_100, 0o2770)
        assert os.listdir(tmp_path / "share") == ["vision"]
