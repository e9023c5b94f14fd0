"""What the local engine finds out about its machine, and its small parts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.engines.api import GpuInfo, Refused, Unreachable
from danlu.engines.local import gpus
from danlu.engines.local.check import TREE_GUARANTEES
from danlu.engines.local.config import LocalConfig, NodeConfig
from danlu.engines.local.engine import LocalEngine
from danlu.engines.local.keeper import cgroup, linux, pump
from tests.engines.conftest import as_root, engine_of
from tests.engines.harness import (
    EngineHarness,
    argv,
    shell,
)


class TestTheMachine:
    async def test_abilities_say_what_was_found_and_why_not(self, plain: EngineHarness) -> None:
        abilities = engine_of(plain).abilities
        assert not abilities.namespaces
        assert abilities.namespaces_why_not == "off by configuration"
        assert abilities.cgroup is None
        assert abilities.cgroup_why_not == "off by configuration"
        assert abilities.tree == "marker"
        assert all(text.en and text.zh for text in TREE_GUARANTEES.values())

    async def test_without_declared_nodes_there_is_this_machine(self, tmp_path: Path) -> None:
        engine = LocalEngine(LocalConfig(tmp_path))
        await engine.start()
        nodes = (await engine.inventory()).nodes
        await engine.close()
        assert len(nodes) == 1
        assert nodes[0].cpus == len(os.sched_getaffinity(0))
        assert nodes[0].memory > 1 << 20

    async def test_declared_gpus_are_shown(self, harness: EngineHarness) -> None:
        first, second = (await harness.engine.inventory()).nodes
        assert [(gpu.index, gpu.model) for gpu in first.gpus] == [
            (index, "RTX3090") for index in range(4)
        ]
        assert second.gpus == ()

    def test_the_spawner_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); "
            "import danlu.engines.local.keeper.spawner; print(*sys.modules)"
        )
        source = str(Path(linux.__file__).parents[4])
        result = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, source], stdout=subprocess.PIPE, check=True
        )
        loaded = set(result.stdout.decode().split())
        assert not loaded & {
            "asyncio",
            "dataclasses",
            "inspect",
            "logging",
            "subprocess",
            "pathlib",
        }
        ours = {name for name in loaded if name.startswith("danlu.")}
        assert all(
            name in ("danlu.engines", "danlu.engines.local")
            or name.startswith("danlu.engines.local.keeper")
            for name in ours
        )

    @as_root
    @pytest.mark.slow
    @pytest.mark.timeout(1800)  # hundreds of tests in one
    @pytest.mark.parametrize("which", ["TestLocalWithNamespaces", "TestLocalBare"])
    def test_all_of_it_without_root(
        self, which: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The conformance suite and this module again, as a user with no rights at all."""
        base = Path("/tmp") / f"danlu-test-{os.getpid()}-{which}"
        base.mkdir(mode=0o777)
        base.chmod(0o777)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        repo = Path(__file__).parents[2]
        if subprocess.run([*nobody, "test", "-r", __file__], check=False).returncode:
            pytest.skip("this checkout cannot be read by others")
        result = subprocess.run(
            [
                *nobody, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                f"--basetemp={base}/t", "-k", f"{which} or test_local_",
                "tests/engines",
            ],
            cwd=repo,
            env={"PATH": os.environ["PATH"], "HOME": str(base), "LANG": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        subprocess.run(["rm", "-rf", base], check=True)
        assert result.returncode == 0, result.stdout.decode()[-6000:]
        assert " passed" in result.stdout.decode()


class TestParts:
    def test_declared_nodes_share_the_real_gpus_in_order(self) -> None:
        nodes = (
            NodeConfig("a", 1, 1, (("X", 2),)),
            NodeConfig("b", 1, 1),
            NodeConfig("c", 1, 1, (("X", 1), ("Y", 1))),
        )
        real = tuple(GpuInfo(index, "X") for index in range(4))
        assert gpus.physical(nodes, real) == {"a": 0, "b": 2, "c": 2}
        assert gpus.physical(nodes, real[:3]) == {}
        assert gpus.physical(nodes, ()) == {}

    async def test_a_node_s_gpus_become_the_machine_s_own_numbers(
        self, harness: EngineHarness
    ) -> None:
        engine = engine_of(harness)
        assert engine._plan_context is not None
        engine._plan_context = replace(engine._plan_context, first_gpu={harness.node: 4})
        _, log = await harness.run(shell("echo $CUDA_VISIBLE_DEVICES"), gpus=[(0, 3)])
        assert log == b"4,7\n"

    async def test_an_image_is_refused_with_what_is_missing(self, harness: EngineHarness) -> None:
        # A runtime that is installed and does not run may be started: nothing is final then.
        with pytest.raises((Refused, Unreachable), match=r"pytorch:2\.4"):
            harness.engine.plan(harness.launch(argv("true"), image="pytorch:2.4"))

    @as_root
    def test_the_second_version_of_cgroups_ends_trees(self) -> None:
        mounts = cgroup._mounts()
        if "" not in mounts:
            pytest.skip("no cgroup2 file system is mounted")
        groups, why = cgroup._second_version(mounts[""], "/", f"test-{os.getpid()}")
        assert groups is not None, why
        group = groups.make("a.0", {"memory": 0, "cpus": 0, "pids": 0, "devices": []})
        child = subprocess.Popen(
            ["sh", "-c", "setsid sleep 600 & exec sleep 600"], preexec_fn=group.enter
        )
        while len(cgroup.members(group.folders)) < 2:
            time.sleep(0.01)
        reaper = threading.Thread(target=child.wait)
        reaper.start()
        assert cgroup.end(group.folders)
        reaper.join()
        assert not os.path.exists(group.folders[0])
        cgroup.give_back(sorted(set(groups.bases.values())))

    def test_a_gap_in_a_log_is_marked_where_it_is(self, tmp_path: Path) -> None:
        class Disk(pump.Log):
            full = False

            def _put(self, data: bytes) -> int:
                if self.full:
                    self._why = "no space left on device"
                    return 0
                return super()._put(data)

        path = tmp_path / "log"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        log = Disk(fd, pump.Budget(1 << 20))
        log.write(b"one")
        log.full = True
        log.write(b"two\n")
        log.write(b"three\n")
        log.full = False
        log.write(b"four\n")
        lines = path.read_text().splitlines()
        assert lines[0] == "one"
        assert lines[1].startswith("[danlu] 10 bytes of output were lost here: no space left")
        assert lines[2] == "four"
        assert log.lost_total == 10
        os.close(fd)
