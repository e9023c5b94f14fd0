"""Slurm's commands on a lab without Slurm."""

from __future__ import annotations

import json
import re

import pytest

from tests.dialects.harness import ShimHarness, eventually

SCRIPT = """#!/bin/bash
#SBATCH --job-name=poll
#SBATCH --output=%x-%j.txt
echo "begin $1"
while [ ! -e go ]; do sleep 0.1; done
echo "end"
"""

# A script such as people keep for years: it knows nothing but Slurm.
DRIVER = """
job=$(sbatch --parsable poll.sh "two words")
case $job in *[!0-9]*) echo "no number: $job" >&2; exit 1;; esac
until [ "$(squeue -h -j $job -o %T)" = RUNNING ]; do sleep 0.1; done
squeue -h -j $job -o '%i|%j|%u|%t|%D'
touch go
while [ -n "$(squeue -h -j $job -o %T)" ]; do sleep 0.1; done
sacct -n -X -P -j $job -o State,ExitCode
rm go
other=$(sbatch --parsable poll.sh)
until [ "$(squeue --noheader --jobs=$other --format=%t)" = R ]; do sleep 0.1; done
scancel $other
while [ -n "$(squeue -h -j $other -o %T)" ]; do sleep 0.1; done
sacct -n -X -P -j $other -o State
cat poll-$job.txt
"""


def test_a_script_that_drives_sbatch_squeue_and_scancel_works_unchanged(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file("poll.sh", SCRIPT)
    done = shim_harness.shell(DRIVER)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"\d+\|poll\|admin\|R\|1", lines[0])
    assert lines[1] == "COMPLETED|0:0"
    assert lines[2] == "CANCELLED"
    assert lines[3:] == ["begin two words", "end"]


def test_sbatch_says_the_number_as_slurm_does(shim_harness: ShimHarness) -> None:
    done = shim_harness.run("sbatch", "--wrap", "true")
    assert re.fullmatch(r"Submitted batch job \d+\n", done.stdout)


def test_the_callers_environment_and_folder_go_along(shim_harness: ShimHarness) -> None:
    shim_harness.file("e.sh", "#!/bin/bash\n#SBATCH -o said\necho $MY_OWN in $PWD\n")
    done = shim_harness.run("sbatch", "--wait", "e.sh", env={"MY_OWN": "variable"})
    assert done.returncode == 0, done.stderr
    assert (shim_harness.folder / "said").read_text() == f"variable in {shim_harness.folder}\n"
    shim_harness.run("sbatch", "--wait", "--export=NONE", "e.sh", env={"MY_OWN": "variable"})
    assert (shim_harness.folder / "said").read_text() == f"in {shim_harness.folder}\n"


def test_options_of_the_command_line_win_over_the_scripts(shim_harness: ShimHarness) -> None:
    shim_harness.file("o.sh", "#!/bin/bash\n#SBATCH -J one --gres=gpu:1\nsleep 100\n")
    number = shim_harness.run(
        "sbatch", "--parsable", "-J", "two", "--gres=gpu:2", "o.sh"
    ).stdout.strip()
    job = shim_harness.show(number)
    assert job["name"] == "two"
    assert job["gpus"] == 2


def test_sbatch_waits_and_ends_as_the_job_ends(shim_harness: ShimHarness) -> None:
    assert shim_harness.run("sbatch", "--wait", "--wrap", "exit 3").returncode == 3


def test_a_bad_option_is_told_by_sbatch(shim_harness: ShimHarness) -> None:
    done = shim_harness.run("sbatch", "--gres=gpu:x:y:z", "--wrap", "true")
    assert done.returncode == 1
    assert "sbatch: error:" in done.stderr
    assert "--gres" in done.stderr
    assert shim_harness.run("sbatch", "--no-such-thing", "--wrap", "true").returncode == 1
    assert "#!" in shim_harness.run("sbatch", str(shim_harness.file("plain.txt", "hello\n"))).stderr


def test_an_array_has_one_number_and_elements_below_it(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "a.sh",
        "#!/bin/bash\n#SBATCH --array=3-7:2 -o %A_%a.out\n"
        "echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID\nsleep 100\n",
    )
    number = shim_harness.run("sbatch", "--parsable", "a.sh").stdout.strip()

    def all_run() -> bool:
        states = shim_harness.run("squeue", "-h", "-j", number, "-o", "%t").stdout.split()
        return states == ["R", "R", "R"]

    eventually(all_run)
    listed = shim_harness.run("squeue", "-h", "-j", number, "-S", "i", "-o", "%i %F %K").stdout
    assert listed == "".join(f"{number}_{i} {number} {i}\n" for i in (3, 5, 7))
    assert shim_harness.run("scancel", f"{number}_5").returncode == 0
    eventually(
        lambda: (
            shim_harness.run("squeue", "-h", "-j", number, "-o", "%K").stdout.split() == ["3", "7"]
        )
    )
    said = shim_harness.folder / f"{number}_7.out"
    eventually(lambda: said.exists() and said.read_text() == f"{number} 7\n")
    shim_harness.run("scancel", number)
    eventually(lambda: shim_harness.run("squeue", "-h", "-j", number).stdout == "")


def test_a_dependency_by_number_is_waited_for(shim_harness: ShimHarness) -> None:
    first = shim_harness.run(
        "sbatch", "--parsable", "--wrap", "while [ ! -e go ]; do sleep .1; done"
    )
    number = first.stdout.strip()
    second = shim_harness.run(
        "sbatch", "--parsable", f"--dependency=afterok:{number}", "--wrap", "true"
    )
    waiting = shim_harness.run("squeue", "-h", "-j", second.stdout.strip(), "-o", "%t %r")
    assert waiting.stdout == "PD Dependency\n"
    shim_harness.file("go", "")
    assert shim_harness.wait(second.stdout.strip())["state"] == "succeeded"


def test_of_single_jobs_of_one_name_one_runs_at_a_time(shim_harness: ShimHarness) -> None:
    words = ["sbatch", "--parsable", "-J", "alone", "-d", "singleton", "--wrap"]
    first = shim_harness.run(*words, "while [ ! -e go ]; do sleep .1; done").stdout.strip()
    second = shim_harness.run(*words, "true").stdout.strip()
    other = shim_harness.run(
        "sbatch", "--parsable", "-d", "singleton", "--wrap", "true"
    ).stdout.strip()
    assert shim_harness.wait(other)["state"] == "succeeded"
    assert shim_harness.run("squeue", "-h", "-j", second, "-o", "%t %r").stdout == "PD Dependency\n"
    assert shim_harness.show(first)["state"] in ("starting", "running")
    shim_harness.file("go", "")
    assert shim_harness.wait(second)["state"] == "succeeded"


def test_held_jobs_are_released_by_scontrol(shim_harness: ShimHarness) -> None:
    number = shim_harness.run("sbatch", "--parsable", "--hold", "--wrap", "true").stdout.strip()
    assert shim_harness.run("squeue", "-h", "-j", number, "-o", "%R").stdout == "(JobHeldUser)\n"
    shown = shim_harness.run("scontrol", "show", "job", number).stdout
    assert f"JobId={number} JobName=wrap" in shown
    assert "JobState=PENDING" in shown
    assert shim_harness.run("scontrol", "release", number).returncode == 0
    assert shim_harness.wait(number)["state"] == "succeeded"


def test_requeue_ends_what_runs_and_runs_it_again(shim_harness: ShimHarness) -> None:
    wrap = "trap 'sleep .3; touch saved; exit' TERM; ls saved && exit; sleep 100 & wait"
    number = shim_harness.run("sbatch", "--parsable", "--wrap", wrap).stdout.strip()
    eventually(lambda: shim_harness.show(number)["state"] == "running" or None)
    done = shim_harness.run("scontrol", "requeue", number)
    assert shim_harness.show(number)["state"] == "stopped", done.stderr
    again = done.stdout.split()[-1]
    assert shim_harness.wait(again)["state"] == "succeeded", "it found what the first one had saved"
    held = shim_harness.run("scontrol", "requeuehold", again).stdout.split()[-1]
    assert shim_harness.run("squeue", "-h", "-j", held, "-o", "%R").stdout == "(JobHeldUser)\n"
    assert "pending execution" in shim_harness.run("scontrol", "requeue", held).stderr


def test_a_job_that_would_requeue_itself_is_told_what_does_so_here(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file(
        "again.sh",
        "#!/bin/bash\n[ $SLURM_RESTART_COUNT = 1 ] && exit 0\n"
        "scontrol requeue $SLURM_JOB_ID\nexit 1\n",
    )
    done = shim_harness.danlu("--json", "submit", "--retries", "1", "again.sh")
    job = shim_harness.wait(json.loads(done.stdout)["jobs"][0]["id"])
    assert (job["state"], job["attempt"]) == ("succeeded", 2)
    first = shim_harness.danlu("logs", "--attempt", "1", job["id"]).stdout
    assert "cannot put itself back into the queue" in first
    assert "--retries" in first
    assert "不能自己重新排队" in first


def test_scancel_by_name_and_user_leaves_the_others(shim_harness: ShimHarness) -> None:
    kept = shim_harness.run(
        "sbatch", "--parsable", "-J", "keep", "--wrap", "sleep 100"
    ).stdout.strip()
    gone = shim_harness.run(
        "sbatch", "--parsable", "-J", "drop", "--wrap", "sleep 100"
    ).stdout.strip()
    assert shim_harness.run("scancel", "-u", "admin", "-n", "drop").returncode == 0
    assert shim_harness.wait(gone)["state"] == "stopped"
    assert shim_harness.show(kept)["state"] != "stopped"
    assert shim_harness.run("scancel").returncode == 1
    assert shim_harness.run("scancel", "987654321").returncode == 1


def test_nodes_and_queues_are_listed(shim_harness: ShimHarness) -> None:
    shim_harness.run("sbatch", "--gres=gpu:4", "--wrap", "sleep 100")
    eventually(lambda: "alloc" in shim_harness.run("sinfo", "-h", "-N", "-o", "%t").stdout)
    assert shim_harness.run("sinfo", "-h", "-N", "-o", "%R %n %G").stdout.splitlines() == [
        "default n1 gpu:RTX3090:4",
        "default n2 gpu:RTX3090:4",
        "vision n2 gpu:RTX3090:4",
    ]
    assert (
        shim_harness.run("sinfo", "-h", "-p", "vision", "-o", "%P %D %N").stdout == "vision 1 n2\n"
    )
    assert shim_harness.run("sinfo").stdout.splitlines()[0].split() == [
        *("PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST")
    ]
    assert "Gres=gpu:RTX3090:4" in shim_harness.run("scontrol", "show", "node", "n1").stdout
    assert "Partitions=default,vision" in shim_harness.run("scontrol", "show", "node", "n2").stdout
    assert "PartitionName=default" in shim_harness.run("scontrol", "show", "partition").stdout
    assert "Nodes=n2\n" in shim_harness.run("scontrol", "show", "partition", "vision").stdout
    assert (
        shim_harness.run("scontrol", "show", "hostnames", "n[1-3,7]").stdout == "n1\nn2\nn3\nn7\n"
    )


def test_nodes_may_be_named_and_left_out(shim_harness: ShimHarness) -> None:
    said = shim_harness.run("srun", "-w", "n2,elsewhere[1-2]", "sh", "-c", "echo $SLURMD_NODENAME")
    assert said.stdout == "n2\n", said.stderr
    assert "elsewhere1, elsewhere2" in said.stderr
    said = shim_harness.run("srun", "--exclude=n[2-5]", "sh", "-c", "echo $SLURMD_NODENAME")
    assert said.stdout == "n1\n", said.stderr
    wrong = shim_harness.run("sbatch", "-w", "n[x]", "--wrap", "true")
    assert wrong.returncode == 1
    assert "--nodelist" in wrong.stderr
    native = shim_harness.danlu("run", "--set", 'nodes=["n9"]', "--", "true")
    assert native.returncode == 2
    assert "'n9' is not a node here; available: n1, n2" in native.stderr


def test_json_is_json(shim_harness: ShimHarness) -> None:
    number = shim_harness.run("sbatch", "--parsable", "--wrap", "sleep 100").stdout.strip()
    (job,) = json.loads(shim_harness.run("squeue", "--json", "-j", number).stdout)["jobs"]
    assert job["job_id"] == int(number)
    assert len(json.loads(shim_harness.run("sinfo", "--json").stdout)["sinfo"]) == 2
    assert json.loads(shim_harness.run("sacct", "--json", "-j", number).stdout)["jobs"]


def test_srun_runs_in_the_foreground_and_ends_as_its_command_does(
    shim_harness: ShimHarness,
) -> None:
    done = shim_harness.run(
        "srun", "--gres=gpu:2", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exit 5"
    )
    assert done.stdout == "0,1\n"
    assert done.returncode == 5
    many = shim_harness.run("srun", "-N", "2", "-n", "4", "-l", "sh", "-c", "echo $SLURM_PROCID")
    assert sorted(many.stdout.splitlines()) == ["0: 0", "1: 1", "2: 2", "3: 3"]


def test_salloc_gives_a_place_where_srun_uses_all_nodes(shim_harness: ShimHarness) -> None:
    done = shim_harness.run("salloc", "-N", "2", "srun", "sh", "-c", "echo node $SLURM_NODEID")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["node 0", "node 1"]
    assert "Granted job allocation" in done.stderr


STEPS = """#!/bin/bash
#SBATCH -N 2 -n 4 --gres=gpu:2 -o said
srun -N 1 -n 1 sh -c 'echo one of $SLURM_NTASKS'
srun --gpus-per-task=1 sh -c 'echo GPU $CUDA_VISIBLE_DEVICES of $SLURM_NODEID.$SLURM_LOCALID'
srun -n 2 sh -c 'exit $SLURM_PROCID'; echo "status $?"
srun -n 1 -o step-%t.txt echo to a file
srun --export=NONE,ONLY=this sh -c 'echo "${ONLY}${HIDDEN:-}"' | sort -u
printf '0 echo zero\\n1-3 echo task %%t\\n' > many.conf
srun -n 4 --multi-prog many.conf | sort
srun -n 1 --cpu_bind=cores echo underscores
srun -n 1 --container-image=lab/train:2 true || echo "no image of its own"
srun -n 1 no-such-program; echo "status $?"
srun sleep 100 & sleep 1; kill -TERM $!; wait $!; echo "ended $?"
"""


def test_steps_inside_a_script_behave_as_slurms(shim_harness: ShimHarness) -> None:
    shim_harness.file("steps.sh", STEPS)
    done = shim_harness.run("sbatch", "--wait", "steps.sh", env={"HIDDEN": "x"})
    said = (shim_harness.folder / "said").read_text()
    assert done.returncode == 0, said
    lines = said.splitlines()
    assert "one of 1" in lines
    gpus = sorted(line for line in lines if line.startswith("GPU"))
    assert len({line.split()[1] for line in gpus}) >= 2
    assert [line.split()[-1] for line in gpus] != []
    assert len(gpus) == 4
    assert "status 1" in lines
    assert (shim_harness.folder / "step-0.txt").read_text() == "to a file\n"
    assert "this" in lines
    assert [line for line in lines if line.startswith(("zero", "task "))] == [
        *("task 1", "task 2", "task 3", "zero")
    ]
    assert {"underscores", "no image of its own"} <= set(lines)
    assert "#SBATCH --container-image" in said
    assert "status 127" in lines
    assert any(line.startswith("ended 143") for line in lines)


WARNED = """#!/bin/bash
#SBATCH -N 2 -n 2 -o {name} --time=1:00 --signal={wish}@42
trap 'echo the script was warned; warned=1' USR1
srun bash task.sh &
step=$!
wait $step
[ -n "$warned" ] && kill $step && wait $step
echo over
"""
WARNED_TASK = """
trap 'echo "task $SLURM_PROCID was warned"; exit 0' USR1
for i in $(seq 500); do sleep 0.1; done
"""


def test_a_signal_before_the_limit_goes_to_the_steps_or_to_the_script(
    shim_harness: ShimHarness,
) -> None:
    shim_harness.file("task.sh", WARNED_TASK)
    jobs = {}
    for name, wish in (("steps", "USR1"), ("script", "B:SIGUSR1")):
        shim_harness.file(f"{name}.sh", WARNED.format(name=name, wish=wish))
        jobs[name] = shim_harness.run("sbatch", "--parsable", f"{name}.sh").stdout.strip()
    said = {}
    for name, job in jobs.items():
        assert shim_harness.wait(job)["state"] == "succeeded"
        said[name] = set((shim_harness.folder / name).read_text().splitlines())
    assert {"task 0 was warned", "task 1 was warned", "over"} <= said["steps"]
    assert "the script was warned" not in said["steps"]
    assert {"the script was warned", "over"} <= said["script"]
    assert not {"task 0 was warned", "task 1 was warned"} & said["script"]


def test_a_script_that_fails_fails_the_job_and_frees_the_waiting_nodes(
    shim_harness: ShimHarness,
) -> None:
    done = shim_harness.run(
        "sbatch", "--parsable", "--wait", "-N", "2", "--wrap", "srun true; exit 9"
    )
    assert done.returncode == 9
    job = shim_harness.show(done.stdout.split()[0])
    assert job["state"] == "failed"
    assert job["exit_code"] == 9


@pytest.mark.parametrize(("words", "gpus"), [(["q", "default", "gpu", "0,1,2,3"], 4), ([], 0)])
def test_ilaunch_counts_the_gpus(shim_harness: ShimHarness, words: list[str], gpus: int) -> None:
    done = shim_harness.run(
        "ilaunch", *words, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; pwd; exit 6"
    )
    shown, folder = done.stdout.splitlines()
    assert len([gpu for gpu in shown.split(",") if gpu]) == gpus
    assert folder == str(shim_harness.folder)
    assert done.returncode == 6
    assert ("not fixed" in done.stderr) == bool(gpus)


def test_zlaunch_takes_a_queue_by_its_first_letters_or_an_alias(shim_harness: ShimHarness) -> None:
    done = shim_harness.run(
        "zlaunch", "-q", "d", "--gpu=2", "--env", "A=b", "--", "sh", "-c", "echo $A"
    )
    assert done.stdout == "b\n"
    wrong = shim_harness.run("zlaunch", "-q", "z", "--gpu=1", "--", "true")
    assert wrong.returncode == 2
    assert "default" in wrong.stderr
    (shim_harness.folder / ".config" / "danlu").mkdir(parents=True)
    (shim_harness.folder / ".config" / "danlu" / "queues").write_text("z = default\n")
    assert shim_harness.run("zlaunch", "-q", "z", "--", "true").returncode == 0
    assert shim_harness.run("zlaunch", "--list").stdout == "default\nvision\n"
    number = shim_harness.run(
        "sbatch", "--parsable", "-p", "vision", "--wrap", "sleep 100"
    ).stdout.strip()
    assert (
        shim_harness.run("squeue", "-h", "-p", "vision", "-o", "%i %P").stdout
        == f"{number} vision\n"
    )
    done = shim_harness.run("zlaunch", "-q", "v", "--gpu=4", "--", "sh", "-c", "echo $DANLU_NODE")
    assert (done.stdout, done.returncode) == ("n2\n", 0), done.stderr
