"""What schedulers and launchers call the place in which a program runs. Pure, but for a Kubernetes namespace."""

from collections.abc import Mapping

from holter.probes.procfs import read_file

NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

# The first variable of each is there exactly when the launcher is.
IDENTITIES: dict[str, dict[str, str]] = {
    "slurm": {
        "job_id": "SLURM_JOB_ID",
        "job_name": "SLURM_JOB_NAME",
        "cluster": "SLURM_CLUSTER_NAME",
        "array_job_id": "SLURM_ARRAY_JOB_ID",
        "array_task_id": "SLURM_ARRAY_TASK_ID",
        "step_id": "SLURM_STEP_ID",
        "partition": "SLURM_JOB_PARTITION",
        "qos": "SLURM_JOB_QOS",
        "account": "SLURM_JOB_ACCOUNT",
        "nodes": "SLURM_JOB_NODELIST",
        "node_count": "SLURM_JOB_NUM_NODES",
        "node": "SLURMD_NODENAME",
        "tasks": "SLURM_NTASKS",
        "task": "SLURM_PROCID",
        "local_task": "SLURM_LOCALID",
        "restart_count": "SLURM_RESTART_COUNT",
        "memory_per_node_mib": "SLURM_MEM_PER_NODE",
        "cpus_per_task": "SLURM_CPUS_PER_TASK",
        "gpus_on_node": "SLURM_GPUS_ON_NODE",
        "ends_at": "SLURM_JOB_END_TIME",
    },
    "kubernetes": {
        "service": "KUBERNETES_SERVICE_HOST",
        "pod": "POD_NAME",
        "namespace": "POD_NAMESPACE",
        "node": "NODE_NAME",
        "completion_index": "JOB_COMPLETION_INDEX",
    },
    "torchrun": {
        "run_id": "TORCHELASTIC_RUN_ID",
        "rank": "RANK",
        "local_rank": "LOCAL_RANK",
        "world_size": "WORLD_SIZE",
        "local_world_size": "LOCAL_WORLD_SIZE",
        "group_rank": "GROUP_RANK",
        "restart_count": "TORCHELASTIC_RESTART_COUNT",
        "max_restarts": "TORCHELASTIC_MAX_RESTARTS",
        "master_address": "MASTER_ADDR",
        "master_port": "MASTER_PORT",
    },
    "ray": {
        "job_id": "RAY_JOB_ID",
        "node_id": "RAY_NODE_ID",
        "address": "RAY_ADDRESS",
        "raylet_pid": "RAY_RAYLET_PID",
    },
    "mpi": {"rank": "OMPI_COMM_WORLD_RANK", "size": "OMPI_COMM_WORLD_SIZE", "local_rank": "OMPI_COMM_WORLD_LOCAL_RANK"},
    "pbs": {"job_id": "PBS_JOBID", "job_name": "PBS_JOBNAME", "queue": "PBS_QUEUE", "array_index": "PBS_ARRAY_INDEX"},
    "lsf": {"job_id": "LSB_JOBID", "job_name": "LSB_JOBNAME", "queue": "LSB_QUEUE", "array_index": "LSB_JOBINDEX"},
}


def scheduler_identity(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What each launcher that is there says of the program, by the launcher's name."""
    found = {}
    for launcher, variables in IDENTITIES.items():
        mark = next(iter(variables.values()))
        if mark in environment:
            found[launcher] = {key: environment[name] for key, name in variables.items() if name in environment}
    if "kubernetes" in found:
        found["kubernetes"] = _pod(environment) | found["kubernetes"]
    return found


def is_scheduled(environment: Mapping[str, str]) -> bool:
    """Whether a scheduler that may end the program's job started it, by its variables."""
    return any(next(iter(IDENTITIES[name].values())) in environment for name in ("slurm", "kubernetes", "pbs", "lsf"))


def _pod(environment: Mapping[str, str]) -> dict[str, str]:
    namespace = (read_file(NAMESPACE_FILE) or b"").decode(errors="replace").strip()
    named = {"pod": environment.get("HOSTNAME", ""), "namespace": namespace}
    return {key: value for key, value in named.items() if value}
