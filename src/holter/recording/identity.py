"""Which run is this?"""

import contextlib
import os
import sys
from collections.abc import Mapping

import msgspec

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_ADJECTIVES = (
    "amber brave bright brisk calm candid clever copper coral daring eager early fair fond gallant gentle glad golden"
    " hardy honest humble ivory jolly keen kind lively lucid lunar mellow merry mild misty nimble noble patient plain"
    " polar proud quick quiet rapid ready rosy rustic serene shy silver sleek solar spry steady stellar stout sunny"
    " swift tidy tranquil upbeat vivid warm wise witty young"
).split()
_ANIMALS = (
    "albatross badger beaver bison bittern bobcat buzzard caribou condor crane curlew dolphin dormouse eagle eider elk"
    " falcon ferret finch fox gannet gazelle gecko grouse hare heron hornet ibex jackdaw jaguar kestrel kite lark lemur"
    " linnet lynx marten merlin mole moose newt ocelot oriole osprey otter owl panda petrel pika plover puffin quail"
    " raven robin sable seal shrike sparrow starling stoat swan tern thrush toad vole walrus weasel wren"
).split()

# Kubernetes ends the names of a job's pods with five letters of its own, Kubeflow with a role and a number.
_SUFFIX_OF_POD = r"-[bcdfghjklmnpqrstvwxz2456789]{5}$"
_RANK_OF_POD = r"-(?:master|worker|launcher|chief|\d+)(?:-\d+)*$"


class Identity(msgspec.Struct, frozen=True):
    """A run's id, and this process's place in it."""

    run: str
    rank: int | None = None
    attempt: int | None = None
    """Known from a scheduler's restart count; None where only the run's directory can tell."""
    is_shared: bool = False
    """Other processes may compute the same id."""


def identify_run(chosen: str, environ: Mapping[str, str], *, agent: str) -> Identity:
    """`agent` names the parent process for good (boot id, pid, start time): some launchers have no id of their own."""
    rank = _number(environ.get("RANK") or environ.get("SLURM_PROCID"))
    restarts = _number(environ.get("TORCHELASTIC_RESTART_COUNT"))
    if "SLURM_JOB_ID" in environ and restarts is None:
        restarts = _number(environ.get("SLURM_RESTART_COUNT")) or 0
    attempt = None if restarts is None else restarts + 1
    if chosen:
        return Identity(chosen, rank, attempt, is_shared=rank is not None)
    if key := shared_key(environ, agent):
        import hashlib  # its cost falls only on those who share a run

        digest = hashlib.sha256(key.encode()).digest()
        return Identity(_base36(int.from_bytes(digest[:8], "big")), rank, attempt, is_shared=True)
    return Identity(new_run_id())


def shared_key(environ: Mapping[str, str], agent: str) -> str:
    """What all processes of a job have in common; empty where they are in none."""
    # An interactive shell inside an allocation starts many unrelated programs: only a batch job or a task is one run.
    if "SLURM_JOB_ID" in environ and environ.get("SLURM_JOB_NAME") not in ("interactive", "bash", "sh", "zsh"):
        parts = ("SLURM_CLUSTER_NAME", "SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID")
        return "slurm/" + "/".join(environ.get(part, "") for part in parts)
    elastic = environ.get("TORCHELASTIC_RUN_ID", "")
    if elastic and elastic != "none":
        return f"torchelastic/{elastic}"
    return f"agent/{agent}" if elastic else ""


def place_of(environ: Mapping[str, str]) -> str:
    """What a scheduler starts again under a name that stays: a pod's job and index, a trial of Ray; empty for none."""
    if "KUBERNETES_SERVICE_HOST" in environ:
        import re  # its cost falls only on those who are in a pod

        index, pod = environ.get("JOB_COMPLETION_INDEX", ""), environ.get("POD_NAME") or environ.get("HOSTNAME", "")
        job = re.sub(_SUFFIX_OF_POD, "", pod).removesuffix(f"-{index}")
        if "RANK" in environ:  # all ranks are one run
            job, index = re.sub(_RANK_OF_POD, "", job), ""
        return f"kubernetes/{environ.get('POD_NAMESPACE', '')}/{job}/{index}" if job else ""
    return _ray_trial()


def _ray_trial() -> str:
    for library in ("ray.tune", "ray.train"):
        if (module := sys.modules.get(library)) is None:
            continue
        with contextlib.suppress(Exception):  # it is no worker of Ray, or has another Ray than we know
            context = module.get_context()
            if trial := context.get_trial_id():
                return f"ray/{context.get_experiment_name()}/{trial}"
    return ""


def id_of_place(project: str, place: str) -> str:
    """The run of a place, on whichever machine it is started."""
    import hashlib  # its cost falls only on those who are started again

    return _base36(int.from_bytes(hashlib.sha256(f"{project}/{place}".encode()).digest()[:8], "big"))


def new_run_id() -> str:
    """Eight characters that `random.seed()` has no say in."""
    return _base36(_random())


def new_name() -> str:
    """Two words and a number that people can say to each other."""
    adjective, animal = _ADJECTIVES[_random() % len(_ADJECTIVES)], _ANIMALS[_random() % len(_ANIMALS)]
    return f"{adjective}-{animal}-{_random() % 99 + 1}"


def _random() -> int:
    return int.from_bytes(os.urandom(8), "big")


def _base36(number: int) -> str:
    characters = []
    for _ in range(8):
        number, digit = divmod(number, 36)
        characters.append(_ALPHABET[digit])
    return "".join(characters)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
