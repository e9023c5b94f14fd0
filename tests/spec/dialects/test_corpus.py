"""Every file of the corpus becomes the job, the notes or the mistakes written down beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from danlu.spec.complete import read_submissions
from danlu.spec.dialects import Dialect, recognise
from danlu.spec.errors import SpecError
from danlu.spec.native import to_native
from danlu.spec.native_yaml import to_yaml
from tests.spec.dialects import corpus

FILES = corpus.files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_becomes_what_is_written_down(path: Path) -> None:
    if os.environ.get("DANLU_UPDATE_CORPUS"):
        corpus.write_expected(path)
    assert corpus.outcome(path) == corpus.expected(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_files_language_is_recognised(path: Path) -> None:
    assert recognise(path.read_text()) is corpus.language_of(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_printed_native_job_is_the_same_job(path: Path) -> None:
    if "_bad_" in path.name:
        with pytest.raises(SpecError) as caught:
            corpus.converted(path)
        assert caught.value.language
        return
    for job in corpus.converted(path).jobs:
        again = read_submissions(to_yaml(job.spec))
        assert [to_native(each.spec) for each in again] == [to_native(job.spec)]
        assert again[0].spec == job.spec


@pytest.mark.parametrize("path", corpus.files(), ids=lambda path: path.name)
def test_what_is_wrong_is_told_with_its_line_in_both_languages(path: Path) -> None:
    for problem in corpus.outcome(path).get("problems", ()):
        assert problem["line"] is not None
        assert problem["en"]
        assert problem["zh"]
        assert re.search("[\u4e00-\u9fff]", problem["zh"]), problem["zh"]
    for note in corpus.outcome(path).get("notes", ()):
        assert re.search("[\u4e00-\u9fff]", note["zh"]), note["zh"]


def test_there_are_many_files_of_every_language_good_and_bad() -> None:
    assert len(FILES) >= 80
    for name in corpus.LANGUAGES:
        files = corpus.files(f"{name}_")
        bad = [path for path in files if "_bad_" in path.name]
        assert len(bad) >= 5
        assert len(files) - len(bad) >= 9


KEYS = {
    Dialect.OPENPAI_V1: """
        jobName image authFile dataDir outputDir codeDir taskRoles name taskNumber
        cpuNumber memoryMB gpuNumber shmMB portList label beginAt portNumber command
        minFailedTaskCount minSucceededTaskCount gpuType virtualCluster retryCount
        killAllOnCompletedTaskNumber jobEnvs extras storageGB needIBDevice isMainRole
        debug AII_
    """,
    Dialect.OPENPAI_V2: """
        protocolVersion name type version contributor description prerequisites
        parameters secrets jobRetryCount taskRoles deployments defaults virtualCluster
        deployment extras protocol_version dockerimage uri auth username password
        registryuri script output data plugin require callbacks event taskStarts
        taskSucceeds commands failurePolicy ignore fail instances completion
        minFailedInstances minSucceededInstances taskRetryCount dockerImage
        extraContainerOptions shmMB infiniband resourcePerInstance cpu memoryMB gpu
        ports preCommands postCommands submitFrom gangAllocation storages mountPath
        hivedScheduler jobPriorityClass crit prod test oppo skuType pinnedCellId skuNum
        affinityGroupName jobStatusChangeNotification running succeeded stopped failed
        retried ssh tensorboard teamwise_storage cmd git taskroles jobssh sshbarrier
        sshbarrierTimeout userssh value port logdir repo_uri options clone_dir
    """,
    Dialect.DLC: """
        name kind command workspace_id resource_id priority data_sources
        data_source_uris code_source code_branch code_commit thirdparty_libs
        thirdparty_lib_dir vpc_id switch_id security_group_id envs tags interactive
        job_max_running_time_minutes success_policy ChiefWorker AllWorkers oversold_type
        driver job_reserved_minutes job_reserved_policy advanced_settings node_names
        image_repo_username image_repo_password aimaster_enable aimaster_args
        enable_preemptible_job enable_priority_preemption workers masters ps chief
        evaluators graphlearns heads worker_count ps_count master_count evaluator_count
        graphlearn_count chief_count head_count worker_image worker_spec worker_cpu
        worker_gpu worker_gpu_type worker_memory worker_shared_memory master_image
        master_cpu ps_image ps_cpu chief_image evaluator_spec graphlearn_image
        head_image head_memory PyTorchJob TFJob BatchJob RayJob xgboostjob
    """,
    Dialect.DETERMINED: """
        description resources slots resource_pool agent_label priority weight shm_size
        devices max_slots bind_mounts host_path container_path read_only propagation
        environment image cpu cuda rocm gpu environment_variables force_pull_image
        registry_auth proxy_ports ports add_capabilities drop_capabilities pod_spec
        entrypoint work_dir idle_timeout notebook_idle_type tensorboard_args slurm
        slots_per_node gpu_type sbatch_args debug name labels workspace project data
        hyperparameters const int double log categorical minval maxval count base vals
        searcher single random grid adaptive_asha async_halving metric smaller_is_better
        max_trials max_concurrent_trials max_length max_time slots_per_trial
        checkpoint_storage checkpoint_policy max_restarts log_policies retention_policy
        reproducibility experiment_seed min_validation_period min_checkpoint_period
        scheduling_unit records_per_epoch profiling optimizations
        perform_initial_validation
    """,
    Dialect.SBATCH: """
        job-name partition account qos nodes ntasks ntasks-per-node cpus-per-task cpus-
        per-gpu mem mem-per-cpu mem-per-gpu gres gpus gpus-per-node gpus-per-task time
        begin output error open-mode input array dependency constraint exclude nodelist
        exclusive requeue no-requeue hold chdir export mail-type mail-user signal
        comment wrap wait parsable test-only uid %j %J %x %a %A %N %t %u %%
    """,
}


@pytest.mark.parametrize("dialect", KEYS, ids=str)
def test_every_key_of_the_language_appears(dialect: Dialect) -> None:
    texts = "\n".join(p.read_text() for p in FILES if corpus.language_of(p) is dialect)
    missing = [key for key in KEYS[dialect].split() if key not in texts]
    assert not missing
