"""The variables of a program's environment that are worth knowing: those on a list, without secrets. Pure."""

import os
from collections.abc import Mapping

from holter.model.secret_names import tells_of_secret
from holter.model.secrets import mask_value

MOST_VALUE = 2048
MOST_VARIABLES = 400

NAMES = frozenset(
    "CONDA_DEFAULT_ENV CONDA_PREFIX CUBLAS_WORKSPACE_CONFIG GLIBC_TUNABLES GPU_DEVICE_ORDINAL JPY_SESSION_NAME LANG"
    " LC_ALL LD_LIBRARY_PATH LD_PRELOAD LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT NODE_NAME NODE_RANK"
    " NVIDIA_DRIVER_CAPABILITIES NVIDIA_TF32_OVERRIDE NVIDIA_VISIBLE_DEVICES PATH POD_NAME POD_NAMESPACE RANK TMPDIR"
    " TOKENIZERS_PARALLELISM TZ VIRTUAL_ENV WORLD_SIZE XDG_DATA_HOME".split()
)
PREFIXES = tuple(
    "ACCELERATE_ AIM_ AMD_ BLIS_ CUDA CUDNN_ DEEPSPEED_ DIFFUSERS_ DS_ FI_ FSDP_ GLOO_ GOMP_ HF_ HIP_ HOLTER_ HSA_"
    " JAX_ KERAS_ KMP_ LIGHTNING_ LSB_ MALLOC_ MIOPEN_ MKL_ MLFLOW_ NCCL_ NUMBA_ NUMEXPR_ NVTE_ OMPI_ OMP_"
    " OPENBLAS_ PBS_ PJRT_ PL_ PMIX_ PMI_ PYTHON PYTORCH_ RAY_ RCCL_ ROCBLAS_ ROCM_ ROCR_ SGE_ SLURMD_ SLURM_"
    " TENSORBOARD_ TF_ TORCH TPU_ TRANSFORMERS_ TRITON_ UCX_ VECLIB_ VLLM_ WANDB_ XLA_".split()
)


def allowed_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those whose name is on the list and tells of no secret, with values that look like one masked."""
    names = [name for name in sorted(environment) if name in NAMES or name.startswith(PREFIXES)]
    return {
        name: mask_value(environment[name])[:MOST_VALUE] for name in names[:MOST_VARIABLES] if not tells_of_secret(name)
    }


def parse_environment(text: bytes) -> dict[str, str]:
    """The variables in a `/proc/PID/environ`: those that the process was started with."""
    pairs = [os.fsdecode(entry).partition("=") for entry in text.split(b"\0")]
    return {name: value for name, equals, value in pairs if equals}
