"""`danlu disk`: how full the disks are, and what could go."""

from __future__ import annotations

import json
import urllib.request

from tests.support.server import DanluServer


def test_an_admin_sees_the_disk_of_the_data_folder(server: DanluServer) -> None:
    found = json.loads(server.cli("disk", "--json").stdout)
    places = {place["path"]: disk for disk in found["disks"] for place in disk["places"]}
    disk = places[str(server.data)]
    assert 0 < disk["free"] < disk["size"]
    assert disk["level"] in ("ok", "warning", "high", "critical")
    assert found["own"][0]["kind"] == "home"
    shown = server.cli("disk")
    assert shown.returncode == 0
    assert b"% used" in shown.stdout
    assert "已用" in server.cli("disk", "--lang", "zh").stdout.decode()


def test_a_dry_run_removes_nothing_and_says_so(server: DanluServer) -> None:
    done = server.cli("disk", "clean", "--dry-run")
    assert done.returncode == 0
    assert b"would be freed" in done.stdout
    done = server.cli("disk", "clean", "--dry-run", "--rule", "homes")
    assert done.returncode == 2
    assert b"bundles, images, logs" in done.stderr


def test_disks_are_among_the_metrics(server: DanluServer) -> None:
    request = urllib.request.Request(
        f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    assert "danlu_disk_free_bytes{" in text
