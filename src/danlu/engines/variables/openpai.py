"""PAI_*: the variables of an OpenPAI task about itself, its role and its peers."""

from __future__ import annotations

from danlu.engines.api import TaskLaunch
from danlu.engines.variables.gang import Gang, megabytes, whole
from danlu.spec.job import Role

Words = dict[str, str]


def variables(gang: Gang, index: int) -> Words:
    found = {**_job(gang), **_roles(gang), **_own(gang, gang.tasks[index])}
    # Job files from some portals use AII_ instead of PAI_.
    return {**found, **{f"AII_{name[4:]}": value for name, value in found.items() if _pai(name)}}


def _pai(name: str) -> bool:
    return name.startswith("PAI_")


def _job(gang: Gang) -> Words:
    spec, origin = gang.spec, gang.origin
    names = ",".join(role.name for role in spec.roles)
    name = f"{origin.user}~{spec.name}"
    tasks, roles = str(spec.tasks), str(len(spec.roles))
    return {
        "PAI_JOB_NAME": name,
        "PAI_FRAMEWORK_NAME": name,
        "PAI_USER_NAME": origin.user,
        "PAI_USERNAME": origin.user,
        "PAI_VIRTUAL_CLUSTER": spec.queue,
        "PAI_DEFAULT_FS_URI": "",
        "PAI_DATA_DIR": "",
        "PAI_OUTPUT_DIR": "",
        "PAI_CODE_DIR": "",
        "PAI_TASK_ROLE_COUNT": roles,
        "PAI_TASK_ROLES_NUM": roles,
        "PAI_JOB_TASK_ROLE_COUNT": roles,
        "PAI_TASK_ROLE_LIST": names,
        "PAI_JOB_TASK_ROLE_LIST": names,
        "PAI_TASKS_NUM": tasks,
        "PAI_JOB_TASK_COUNT": tasks,
        "PAI_TASK_ROLE_INSTANCES": ",".join(
            f"{task.role}:{task.role_index}" for task in gang.tasks
        ),
    }


def _roles(gang: Gang) -> Words:
    found: Words = {}
    for number, role in enumerate(gang.spec.roles):
        found[f"PAI_TASK_ROLE_TASK_COUNT_{role.name}"] = str(role.count)
        found[f"PAI_RESOURCE_{role.name}"] = _resource(role)
        found[f"PAI_MIN_FAILED_TASK_COUNT_{role.name}"] = _failed(role)
        found[f"PAI_MIN_SUCCEEDED_TASK_COUNT_{role.name}"] = _succeeded(role)
        tasks = gang.of_role(role.name)
        hosts = ",".join(f"{gang.hosts[task.index]}:{_port(gang, task, 'http')}" for task in tasks)
        found[f"PAI_TASK_ROLE_{role.name}_HOST_LIST"] = hosts
        found[f"PAI_TASK_ROLE_{number}_HOST_LIST"] = hosts
        for task in tasks:
            found |= _of_task(gang, role, task)
    return found


def _of_task(gang: Gang, role: Role, task: TaskLaunch) -> Words:
    place = f"{role.name}_{task.role_index}"
    found = {f"PAI_HOST_IP_{place}": gang.hosts[task.index]}
    for label, ports in gang.labelled[task.index].items():
        listed = ",".join(map(str, ports))
        found[f"PAI_PORT_LIST_{place}_{label}"] = listed
        found[f"PAI_{place}_{label}_PORT"] = listed
    return found


def _own(gang: Gang, task: TaskLaunch) -> Words:
    role = next(each for each in gang.spec.roles if each.name == task.role)
    need = role.resources
    index, count = str(task.role_index), str(role.count)
    cpus, memory = whole(need.cpus), megabytes(need.memory)
    gpus = str(need.gpus.count)
    labelled = gang.labelled[task.index]
    http = _port(gang, task, "http")
    found = {
        "PAI_WORK_DIR": task.workdir or "/userhome",
        "PAI_CURRENT_TASK_ROLE_NAME": role.name,
        "PAI_TASK_ROLE_NAME": role.name,
        "PAI_TASK_ROLE_NO": str(gang.spec.roles.index(role)),
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": index,
        "PAI_TASK_INDEX": index,
        "PAI_TASK_ROLE_INDEX": index,
        "PAI_CURRENT_TASK_ROLE_TASK_COUNT": count,
        "PAI_TASK_ROLE_NUM": count,
        "PAI_CURRENT_TASK_ROLE_CPU_COUNT": cpus,
        "PAI_CURRENT_TASK_ROLE_MEM_MB": memory,
        "PAI_CURRENT_TASK_ROLE_GPU_COUNT": gpus,
        "PAI_CURRENT_TASK_ROLE_SHM_MB": megabytes(need.shm),
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": _failed(role),
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": _succeeded(role),
        "PAI_TASK_CPU_NUM": cpus,
        "PAI_TASK_MEM_MB": memory,
        "PAI_TASK_GPU_NUM": gpus,
        "PAI_RESOURCE": _resource(role),
        "PAI_CONTAINER_HOST_IP": gang.hosts[task.index],
        "PAI_CURRENT_CONTAINER_IP": gang.hosts[task.index],
        "PAI_CONTAINER_HOST_PORT": http,
        "PAI_CURRENT_CONTAINER_PORT": http,
        "PAI_CONTAINER_SSH_PORT": _port(gang, task, "ssh"),
        "PAI_CONTAINER_HOST_PORT_LIST": "".join(
            f"{label}:{','.join(map(str, ports))};" for label, ports in labelled.items()
        ),
        "FC_TASK_INDEX": index,
        "FC_TASKROLE_NAME": role.name,
        "FC_POD_UID": f"{gang.launch.attempt_id}-{task.index}",
    }
    for label, ports in labelled.items():
        found[f"PAI_CONTAINER_HOST_{label}_PORT_LIST"] = ",".join(map(str, ports))
    return found


def _port(gang: Gang, task: TaskLaunch, label: str) -> str:
    ports = gang.labelled[task.index].get(label)
    return str(ports[0]) if ports else ""


def _resource(role: Role) -> str:
    need = role.resources
    amounts = (str(need.gpus.count), whole(need.cpus), megabytes(need.memory), megabytes(need.shm))
    return ",".join(amounts)


def _failed(role: Role) -> str:
    return str(role.min_failed or "null")


def _succeeded(role: Role) -> str:
    return str(role.min_succeeded or "null")
