"""Tasks that run as their users: from the first start, after an upgrade, and when told not to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.server.settings import ConfigError, load
from tests.support.server import DanluServer

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it switches uids")
OFF = '[engine]\nidentities = "off"\n'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path / "data")
    yield server
    server.cleanup()


def begin(server: DanluServer, config: str = "") -> None:
    server.stop()
    server.config.write_text(config)
    server.start()


def run(server: DanluServer, command: str, **job: object) -> list[str]:
    done = server.wait(server.submit(command=command, **job))
    assert done["state"] == "succeeded", server.bytes_of(f"/jobs/{done['id']}/logs")
    return server.bytes_of(f"/jobs/{done['id']}/logs").decode().split()


def uid_of_admin(server: DanluServer) -> int:
    uid = int(server.get("/users/admin")["uid"])
    assert 200_000 <= uid <= 299_999
    return uid


@needs_root
def test_what_was_roots_is_given_to_its_user_at_the_first_start_of_a_task(
    server: DanluServer,
) -> None:
    begin(server, OFF)
    assert run(server, "id -u; mkdir -p d; echo mine > d/f; ln -s /etc/hostname l") == ["0"]
    home = server.data / "home" / "admin"
    assert home.stat().st_uid == 0
    begin(server)
    uid, word = run(server, "id -u; cat d/f; echo more >> d/f; touch d/g")
    assert (int(uid), word) == (uid_of_admin(server), "mine")
    assert {path.lstat().st_uid for path in [home, *home.rglob("*")]} == {int(uid)}
    assert os.stat("/etc/hostname").st_uid == 0
    begin(server, OFF)
    assert run(server, "id -u; echo again >> d/f; tail -1 d/f") == ["0", "again"]


@needs_root
def test_two_servers_on_one_machine_give_their_people_different_uids(
    server: DanluServer, tmp_path: Path
) -> None:
    """Both began at 200000: the tasks of one server's users could touch those of the other's."""
    (tmp_path / "second").mkdir()
    other = DanluServer(tmp_path / "second" / "data")
    server.start()
    other.start()
    try:
        assert uid_of_admin(server) != uid_of_admin(other)
    finally:
        other.cleanup()


@needs_root
def test_a_number_the_admin_writes_down_later_takes_the_home_along(server: DanluServer) -> None:
    begin(server)
    run(server, "echo mine > f")
    begin(server, "[users.admin]\nuid = 54321\ngid = 54322\ngroups = [54323]\n")
    assert run(server, "id -u; id -G; cat f") == ["54321", "54322", "54323", "mine"]
    assert (server.data / "home" / "admin" / "f").stat().st_uid == 54321


@needs_root
def test_a_home_that_is_somebody_elses_is_not_taken(server: DanluServer) -> None:
    begin(server)
    run(server, "true")
    home = server.data / "home" / "admin"
    os.chown(home, 4242, 4242)
    done = server.wait(server.submit(command="true"))
    assert done["reason"] == "refused"
    assert "belongs to uid 4242" in done["reason_en"]
    assert home.stat().st_uid == 4242


@needs_root
def test_without_namespaces_a_user_still_has_a_home_and_shared_data(server: DanluServer) -> None:
    begin(server, '[engine]\nnamespaces = "off"\n')
    (server.data / "gdata" / "set").write_text("numbers")
    (server.data / "gdata" / "set").chmod(0o644)
    uid, home, folder, word = run(server, "id -u; echo $HOME; pwd; touch f; cat $DANLU_GDATA/set")
    assert int(uid) == uid_of_admin(server)
    assert home == folder == str(server.data / "home" / "admin")
    assert word == "numbers"
    assert server.data.stat().st_mode & 0o777 == 0o711
    assert all(
        not path.stat().st_mode & 0o077
        for path in server.data.iterdir()
        if path.name not in ("home", "volumes", "gdata")
    ), "what is not for users is closed to them"


@needs_root
def test_with_namespaces_the_data_folder_is_closed(server: DanluServer) -> None:
    begin(server)
    if run(server, "pwd") != ["/userhome"]:
        pytest.skip("no namespaces here")
    assert server.data.stat().st_mode & 0o777 == 0o700


class TestSettings:
    def write(self, folder: Path, text: str) -> Path:
        path = folder / "danlu.toml"
        path.write_text(text)
        return path

    def test_everything_about_places_and_people(self, tmp_path: Path) -> None:
        config = load(
            self.write(
                tmp_path,
                """
                [uids]
                range = "300000-300999"
                umask = "027"
                [users.alice]
                uid = 5000
                gid = 5001
                groups = [5002, 5003]
                [groups.vision]
                gid = 6000
                [volumes.fast]
                source = "/nvme"
                path = "/fast"
                read_only = true
                groups = ["vision"]
                users = "alice"
                nodes = ["n1", "n2"]
                tier = "fast"
                note = "SSD"
                [volumes.user]
                source = "/nas/user"
                """,
            )
        )
        assert (config.uids.first, config.uids.last, config.uids.umask) == (300000, 300999, 0o027)
        assert config.uids.users["alice"].groups == (5002, 5003)
        assert config.uids.groups == {"vision": 6000}
        fast = config.volumes["fast"]
        assert (fast.target, fast.groups, fast.users) == ("/fast", ("vision",), ("alice",))
        assert (fast.nodes, fast.tier, fast.note) == (("n1", "n2"), "fast", "SSD")

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('[uids]\nrange = "0-99"', "uids.range"),
            ('[uids]\nrange = "5000"', "uids.range"),
            ("[uids]\numask = 7", "uids.umask"),
            ("[users.eve]\nuid = 0", "users.eve.uid"),
            ("[users.eve]\nuid = 999", "from 1000"),
            ("[users.eve]\ngid = 5000", "users.eve.uid"),
            ("[users.eve]\nuid = 5000\ngroups = [4]", "users.eve.groups"),
            ("[users.a]\nuid = 5000\n[users.b]\nuid = 5000", "needs a different uid"),
            ("[users]\neve = 5000", "[users.NAME]"),
            ("[groups.g]\ngid = 6", "groups.g.gid"),
            ('[volumes.v]\nsource = "/"', "volumes.v.source"),
            ('[volumes.v]\nsource = "/etc"', "belongs to the system"),
            ('[volumes.v]\nsource = "x"', "absolute path"),
            ('[volumes.v]\nsource = "/x"\npath = "/proc/x"', "volumes.v.path"),
            ('[volumes.userhome]\nsource = "/x"', "always the user's own"),
            ('[volumes."share.x"]\nsource = "/x"', "is built in"),
            ('data = "/d"\n[volumes.v]\nsource = "/d/home"', "data folder"),
            ('data = "/d/x"\n[volumes.v]\nsource = "/d"', "data folder"),
            ('data = "/d"\n[volumes.share]\nsource = "/d/home"', "data folder"),
            ('[volumes.v]\nsource = "/x"\ngroups = [1]', "volumes.v.groups"),
        ],
    )
    def test_a_mistake_is_told_with_its_key(self, tmp_path: Path, text: str, told: str) -> None:
        with pytest.raises(ConfigError) as caught:
            load(self.write(tmp_path, text))
        assert told in caught.value.message.en
        assert caught.value.message.zh

    def test_a_data_folder_named_at_the_start_is_checked_too(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        server = DanluServer(data, f'[volumes.v]\nsource = "{data}/logs"\n')
        server.launch()
        assert server.process is not None
        assert server.process.wait(180) == 2
        assert "data folder" in server.tail()
