"""Which variables are kept, and what schedulers say of a program."""

from holter.probes.environment import allowed_variables, parse_environment
from holter.probes.schedulers import scheduler_identity


def test_only_names_on_the_list_are_kept() -> None:
    given = {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "OMP_NUM_THREADS": "4",
        "NCCL_DEBUG": "INFO",
        "MY_NOTE": "x",
        "HOME": "/home/a",
    }
    assert allowed_variables(given) == {"CUDA_VISIBLE_DEVICES": "0,1", "NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "4"}


def test_keys_are_left_out_and_what_looks_like_one_is_masked() -> None:
    given = {
        "HOLTER_API_KEY": "local-123",
        "HOLTER_PROJECT": "mnist",
        "HF_TOKEN": "hf_abc",
        "WANDB_API_KEY": "0123",
        "SLURM_JWT": "x",
        "TORCH_HUB_URL": "https://ada:pw@host/x",
        "XLA_NOTE": "0123456789abcdef0123456789abcdef01234567",
    }
    assert allowed_variables(given) == {
        "HOLTER_PROJECT": "mnist",
        "TORCH_HUB_URL": "https://…@host/x",
        "XLA_NOTE": "…",
    }


def test_a_long_value_is_cut() -> None:
    assert len(allowed_variables({"LD_LIBRARY_PATH": "/lib:" * 10_000})["LD_LIBRARY_PATH"]) == 2048


def test_the_environment_of_a_process_is_read() -> None:
    assert parse_environment(b"A=1\0B=x=y\0broken\0C=\0") == {"A": "1", "B": "x=y", "C": ""}


def test_each_launcher_says_what_it_calls_the_program() -> None:
    slurm = {"SLURM_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_PARTITION": "gpu"}
    torchrun = {"TORCHELASTIC_RUN_ID": "none", "RANK": "1", "WORLD_SIZE": "4"}
    assert scheduler_identity({**slurm, **torchrun, "RAY_JOB_ID": "01"}) == {
        "slurm": {"job_id": "77", "array_task_id": "3", "partition": "gpu"},
        "torchrun": {"run_id": "none", "rank": "1", "world_size": "4"},
        "ray": {"job_id": "01"},
    }


def test_a_pod_is_known_by_its_host_name_unless_it_is_told_more() -> None:
    found = scheduler_identity({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "train-0", "NODE_NAME": "n1"})
    assert found["kubernetes"]["pod"] == "train-0"
    assert found["kubernetes"]["node"] == "n1"
    named = scheduler_identity({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "x", "POD_NAME": "train-0"})
    assert named["kubernetes"]["pod"] == "train-0"


def test_without_a_launcher_there_is_nothing_to_say() -> None:
    assert scheduler_identity({"RANK": "0", "PATH": "/bin"}) == {}
