"""`danlu slurm check`: what does not fit together is named, with the machine and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.server.check import Finding
from danlu.server.slurm import judge
from danlu.server.slurm.check import gres_files, only_of_those_asked, read_conf
from danlu.server.slurm.probe import Facts, Question, here, parse
from danlu.server.slurm.programs import real
from danlu.spec.text import Text

FINE = Facts(
    host="gpu1",
    slurmd="22.05.8",
    files={"slurm.conf": "a"},
    munge="MUNGE:x",
    devices=frozenset({"/dev/nvidia0", "/dev/nvidia1"}),
    shared="s",
    accounts={"ann": (1001, 1001), "bob": (1002, 1002)},
)
WANTED = {"gpu1": ["/dev/nvidia0", "/dev/nvidia1"], "gpu2": ["/dev/nvidia0"]}


def one(findings: Iterator[Finding]) -> Finding:
    (found,) = findings
    assert re.search("[\u4e00-\u9fff]|^Slurm", found.message.zh)
    return found


def all_of(changed: Facts) -> dict[str, Facts]:
    return {"gpu1": FINE, "gpu2": changed}


def test_what_fits_is_said_once() -> None:
    there = all_of(FINE)
    found = [
        one(judge.versions("22.05.8", there)),
        one(judge.clocks(there)),
        one(judge.accounts(FINE, there)),
        one(judge.munge(there, lambda credential: "")),
        one(judge.files(FINE, there)),
        one(judge.devices(WANTED, there)),
        one(judge.shared("/shared", "s", there)),
    ]

    assert {finding.verdict for finding in found} == {"yes"}


@pytest.mark.parametrize(
    ("controller", "slurmd", "verdict"),
    [("22.05.8", "23.02.1", "no"), ("23.02.1", "22.05.8", "partly"), ("21.08.5", "21.08.5", "no")],
)
def test_versions_that_do_not_work_together(controller: str, slurmd: str, verdict: str) -> None:
    there = all_of(replace(FINE, slurmd=slurmd))

    assert one(judge.versions(controller, there)).verdict == verdict


@pytest.mark.parametrize(("ahead", "verdict"), [(-30.0, "partly"), (900.0, "no")])
def test_a_clock_that_is_wrong_is_named_with_its_error(ahead: float, verdict: str) -> None:
    found = one(judge.clocks(all_of(replace(FINE, ahead=ahead))))

    assert found.verdict == verdict
    assert f"gpu2 {ahead:+.0f} s" in found.message.en


def test_the_time_it_takes_to_ask_is_no_error_of_the_clock() -> None:
    assert parse(["time\t105.5"], (100.0, 110.0)).ahead == 0
    assert parse(["time\t115.5"], (100.0, 110.0)).ahead == 5.5
    assert parse(["time\t95"], (100.0, 110.0)).ahead == -5


def test_accounts_with_another_uid_or_none_are_named() -> None:
    theirs = {"ann": (1001, 1001), "bob": (2002, 1002)}
    other = one(judge.accounts(FINE, all_of(replace(FINE, accounts=theirs))))
    gone = one(judge.accounts(FINE, all_of(replace(FINE, accounts={"ann": (1001, 1001)}))))

    assert (other.verdict, gone.verdict) == ("no", "partly")
    assert "bob (gpu2: 2002, here 1002)" in other.message.en
    assert "bob (gpu2)" in gone.message.en


def test_a_credential_that_cannot_be_read_here_means_another_key() -> None:
    found = one(judge.munge(all_of(replace(FINE, munge="MUNGE:y")), _only("MUNGE:x")))

    assert (found.what, found.verdict) == ("munge gpu2", "no")
    assert "Invalid credential" in found.message.en


def test_munge_that_does_not_run_says_what_it_said() -> None:
    away = replace(FINE, munge="munge: Error: Failed to access socket")

    assert "Failed to access socket" in one(judge.munge(all_of(away), _only("MUNGE:x"))).message.en


def test_files_devices_and_folders_that_differ_are_named() -> None:
    other = all_of(
        replace(FINE, files={"slurm.conf": "b"}, devices=frozenset(), shared="No such file")
    )
    files = one(judge.files(FINE, other))
    devices = one(judge.devices(WANTED, other))
    shared = one(judge.shared("/shared", "s", other))

    assert {files.verdict, devices.verdict, shared.verdict} == {"no"}
    assert "gpu2: slurm.conf" in files.message.en
    assert devices.what == "gpus gpu2"
    assert "gpu2" in shared.message.en


def test_a_name_that_nobody_knows_is_told() -> None:
    found = one(judge.names({"no-such-machine.invalid": "", "also-none": "no-such.invalid"}))

    assert found.verdict == "no"
    assert "no-such-machine.invalid" in found.message.en


def test_a_machine_that_was_not_reached_says_why() -> None:
    found = one(
        judge.answers(
            all_of(Facts(Text("Permission denied (publickey)", "Permission denied (publickey)")))
        )
    )

    assert (found.what, found.verdict) == ("gpu2", "no")
    assert "publickey" in found.message.en


def test_the_probe_tells_what_is_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\n")
    marker = tmp_path / "it's here"
    marker.write_text("secret")
    absent = str(tmp_path / "none")

    facts = here(Question(str(tmp_path), ("/dev/null", absent), str(marker)))

    assert not facts.problem
    assert facts.shared == "secret"
    assert facts.devices == {"/dev/null"}
    assert set(facts.files or {}) == {"slurm.conf"}
    assert abs(facts.ahead) < 1


def test_configurations_are_read_as_slurm_reads_them(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x # mine\nAuthInfo=socket=/run/m.sock\nNodeName=n1 CPUs=4\n"
    )
    (tmp_path / "gres.conf").write_text(
        "# none\nNodeName=n[1-2] Name=gpu Type=a File=/dev/nvidia[0-1]\nName=nic File=/dev/nic0\n"
    )

    assert read_conf(tmp_path / "slurm.conf") == {
        "clustername": "x",
        "authinfo": "socket=/run/m.sock",
    }
    assert gres_files(tmp_path / "gres.conf", {"n1", "n3"}) == {
        "n1": ["/dev/nvidia0", "/dev/nvidia1"]
    }


def _only(good: str) -> judge.Decode:
    return lambda credential: "" if credential == good else "Invalid credential"


def test_nothing_is_fine_on_a_machine_that_nobody_could_ask() -> None:
    fine = one(judge.clocks(all_of(FINE)))

    assert only_of_those_asked(fine, []) == fine
    found = only_of_those_asked(fine, ["gpu3"])
    assert found.verdict == "partly"
    assert found.message.en.endswith("not known of gpu3")
    wrong = Finding("clocks", "no", Text("differ", "不一致"))
    assert only_of_those_asked(wrong, ["gpu3"]) == wrong


def test_danlus_own_srun_is_not_slurms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, text in (
        (ours, "#!/usr/bin/python3\nfrom danlu.cli.shims.main import start\n"),
        (theirs, "#!/bin/sh\nexec true\n"),
    ):
        folder.mkdir()
        (folder / "srun").write_text(text)
        (folder / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{ours}:{theirs}")
    assert real("srun") == str(theirs / "srun")
    monkeypatch.setenv("PATH", str(ours))
    assert real("srun") is None


def test_programs_that_tasks_need_are_named_with_their_node() -> None:
    assert one(judge.programs(all_of(FINE))).verdict == "yes"
    found = one(judge.programs(all_of(replace(FINE, lacks=("Python 3.9",)))))
    assert found.verdict == "no"
    assert "gpu2 (Python 3.9)" in found.message.en
    assert here(Question("/etc/slurm")).lacks == ()
