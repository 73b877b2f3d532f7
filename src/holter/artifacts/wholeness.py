"""Whether a checkpoint is whole or torn, by what its saver leaves: of many ranks' files, all have to be there.

Nothing is loaded and no pickle is read: only names, sizes and headers.
"""

import json
import os
import re
import struct
import zipfile
from typing import Any

import msgspec

from holter.artifacts.ocdbt import needed_files
from holter.artifacts.splitting import ODD, read_header

_SHARD = re.compile(rb"__\d+_\d+\.distcp")
_RANK_OF = re.compile(r"(.*?)rank[-_]?(\d+)[-_]of[-_](\d+)(.*)")
_TF_DATA = re.compile(r"(.+)\.data-(\d{5})-of-(\d{5})")
_ZERO = re.compile(r"(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)(?:_\d+)?_optim_states\.pt")
_MODEL = re.compile(r"(?:zero_pp_rank_\d+_)?mp_rank_(\d+)_model_states\.pt")
_STEP = re.compile(r"(?:step|iter|checkpoint|ckpt|epoch)s?[-_=]?0*(\d+)", re.IGNORECASE)
_UNFINISHED = (".orbax-checkpoint-tmp", ".partial", ".tmp", ".incomplete")
SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".keras", ".h5", ".bin", ".pkl", ".npz", ".msgpack")
"""How the file of a checkpoint may be called."""


class Judged(msgspec.Struct, frozen=True):
    """What a checkpoint is."""

    saver: str = ""
    """Whose form it has; empty where that is not known."""
    trouble: str = ""
    """Why it is torn; empty where it is whole, as far as anybody can tell."""
    step: int | None = None
    """The step that it says itself, or that stands in its name."""


def judge(path: str) -> Judged:
    """Look at a file or folder. Never raises: what can't be read is torn."""
    try:
        name = os.path.basename(path.rstrip("/"))
        if any(mark in name for mark in _UNFINISHED):
            return Judged(trouble="its saver has not finished it", step=step_in(path))
        found = _judge_folder(path) if os.path.isdir(path) else _judge_file(path)
    except (OSError, *ODD) as error:
        return Judged(trouble=f"it can't be read: {error}", step=step_in(path))
    step = found.step if found.step is not None else step_in(path)
    return Judged(found.saver, found.trouble, step)


def step_in(path: str) -> int | None:
    """The step in a name such as `checkpoint-1200` or `epoch=3-step=900.ckpt`."""
    name = os.path.basename(path.rstrip("/"))
    steps = [match for match in _STEP.finditer(name) if match[0].lower().startswith(("step", "iter"))]
    match = steps[-1] if steps else _STEP.search(name)
    return int(match[1]) if match else None


def _judge_file(path: str) -> Judged:
    size = os.stat(path).st_size
    if not size:
        return Judged(trouble="it is empty")
    with open(path, "rb") as file:
        head = file.read(9)
        file.seek(0)
        if path.endswith(".safetensors"):
            return Judged("safetensors", _torn_safetensors(read_header(file, size), size, head))
    if head.startswith(b"PK\x03\x04"):
        saver = "keras" if path.endswith(".keras") else "torch"
        return Judged(saver, "" if zipfile.is_zipfile(path) else "its end is missing: the file was not written whole")
    return Judged()


def _torn_safetensors(header: dict[str, dict[str, Any]], size: int, head: bytes) -> str:
    if not header:
        return "its header is missing"
    ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    wanted = 8 + int(struct.unpack_from("<Q", head)[0]) + max(ends, default=0)
    return "" if size >= wanted else f"it has {size:,} of {wanted:,} bytes"


def _judge_folder(path: str) -> Judged:
    names = sorted(os.listdir(path))
    for look in (_distributed, _deepspeed, _megatron, _huggingface, _orbax, _saved_model, _ranks):
        if (found := look(path, names)) is not None:
            return found
    if not names:
        return Judged(trouble="the folder is empty")
    torn = [f"{name}: {found.trouble}" for name in names if (found := _part(path, name)).trouble]
    return Judged(trouble=torn[0] if torn else "")


def _part(path: str, name: str) -> Judged:
    inner = os.path.join(path, name)
    return _judge_file(inner) if os.path.isfile(inner) and name.endswith(SUFFIXES) else Judged()


def _distributed(path: str, names: list[str]) -> Judged | None:
    """torch.distributed.checkpoint, also FSDP's: the coordinator writes `.metadata` when all ranks have written."""
    if not any(name.endswith(".distcp") for name in names):
        return None
    if ".metadata" not in names:
        return Judged("dcp", "its .metadata is missing: not all ranks have written")
    with open(os.path.join(path, ".metadata"), "rb") as file:
        wanted = {match.decode() for match in _SHARD.findall(file.read())}
    missing = sorted(wanted - set(names)) + [n for n in names if n.endswith(".distcp") and not _size(path, n)]
    return Judged("dcp", f"{missing[0]} is missing" if missing else "")


def _deepspeed(path: str, names: list[str]) -> Judged | None:
    """`latest` names the newest folder that all ranks have written; then such a folder is looked at."""
    if "latest" in names and any(os.path.isdir(os.path.join(path, name)) for name in names):
        with open(os.path.join(path, "latest"), encoding="utf-8") as file:
            tag = file.read(200).strip()
        if not tag or os.sep in tag or tag not in names:
            return Judged("deepspeed", f"`latest` names {tag[:80]!r}, which is not there")
        inner = os.path.join(path, tag)
        found = _deepspeed(inner, sorted(os.listdir(inner))) or Judged("deepspeed", f"{tag} has no files of ranks")
        return Judged("deepspeed", found.trouble, step_in(tag))
    models = [int(match[1]) for name in names if (match := _MODEL.fullmatch(name))]
    zeros = [(int(match[2]), int(match[1])) for name in names if (match := _ZERO.fullmatch(name))]
    if not models and not zeros:
        return None
    latest = os.path.join(os.path.dirname(path.rstrip("/")), "latest")
    if not os.path.exists(latest):
        return Judged("deepspeed", "`latest` is missing beside it: not all ranks have written")
    columns = {model: sorted(rank for m, rank in zeros if m == model) for model in {m for m, _ in zeros} | set(models)}
    most = max((len(ranks) for ranks in columns.values()), default=0)
    for model, ranks in sorted(columns.items()):
        if zeros and ranks != list(range(most)):
            return Judged("deepspeed", f"optimizer states of ranks are missing (model rank {model})")
    return Judged("deepspeed", _first_torn(path, [name for name in names if name.endswith(".pt")]), step_in(path))


def _megatron(path: str, names: list[str]) -> Judged | None:
    if "latest_checkpointed_iteration.txt" not in names:
        return None
    with open(os.path.join(path, "latest_checkpointed_iteration.txt"), encoding="utf-8") as file:
        said = file.read(40).strip()
    folder = "release" if said == "release" else f"iter_{int(said):07d}"
    step = None if said == "release" else int(said)
    return Judged("megatron", "" if folder in names else f"{folder} is missing", step)


def _huggingface(path: str, names: list[str]) -> Judged | None:
    indexes = [name for name in names if name.endswith((".safetensors.index.json", ".bin.index.json"))]
    weights = [
        n for n in names if n.endswith((".safetensors", ".bin")) and n.startswith(("model", "pytorch_", "adapter"))
    ]
    if not indexes and not {"config.json", "trainer_state.json", "training_args.bin"} & set(names):
        return None
    if not weights:
        return Judged("huggingface", "it has no weights")
    wanted = set(weights)
    for index in indexes:
        wanted |= {str(name) for name in _json(path, index)["weight_map"].values()}
    if missing := sorted(wanted - set(names)):
        return Judged("huggingface", f"{missing[0]} is missing")
    step = _json(path, "trainer_state.json")["global_step"] if "trainer_state.json" in names else None
    is_trainers = "training_args.bin" in names and step_in(path) is not None
    if step is None and (is_trainers or any(name.startswith(("optimizer", "scheduler.pt")) for name in names)):
        return Judged("huggingface", "trainer_state.json is missing: the trainer was still writing")
    return Judged("huggingface", _first_torn(path, sorted(wanted)), step)


def _orbax(path: str, names: list[str]) -> Judged | None:
    marks = ("_CHECKPOINT_METADATA", "_METADATA", "_sharding", "manifest.ocdbt", "commit_success.txt")
    if not any(mark in names for mark in marks):
        return None
    trouble = next((f"{name} is not finished" for name in names if ".orbax-checkpoint-tmp" in name), "")
    about = _json(path, "_CHECKPOINT_METADATA") if "_CHECKPOINT_METADATA" in names else {}
    if about.get("commit_timestamp_nsecs", 0) is None:
        trouble = "its saver has not finished it"
    items = about.get("item_handlers")
    for item in items if isinstance(items, dict) else ():
        trouble = trouble or ("" if item in names else f"{item} is missing") or _torn_item(os.path.join(path, item))
    return Judged("orbax", trouble or _torn_item(path), _number(path))


def _torn_item(path: str) -> str:
    """Of the arrays that several ranks wrote into one folder each, the files of all, and what joins them."""
    names = os.listdir(path) if os.path.isdir(path) else []
    if "_METADATA" not in names or not _json(path, "_METADATA").get("use_ocdbt"):
        return ""
    said = os.path.join(path, "array_metadatas")
    told = {name.removeprefix("process_") for name in (os.listdir(said) if os.path.isdir(said) else ())}
    wrote = {name.removeprefix("ocdbt.process_") for name in names if name.startswith("ocdbt.process_")}
    if missing := (told | wrote) - (wrote & told if told else wrote):
        return f"what rank {min(missing)} wrote is missing"
    for folder in ("", *sorted(f"ocdbt.process_{rank}" for rank in wrote)):
        inner = os.path.join(path, folder)
        if "manifest.ocdbt" not in os.listdir(inner) or not os.listdir(os.path.join(inner, "d")):
            return f"{os.path.join(folder, 'manifest.ocdbt')} is missing"
    try:
        needed = needed_files(path)
    except (OSError, *ODD) as error:
        return f"manifest.ocdbt can't be read: {error}"
    lost = (place for place, size in sorted(needed.items()) if not os.path.isfile(place) or _size("", place) < size)
    return next((f"{os.path.relpath(place, path)} is missing or cut off" for place in lost), "")


def _saved_model(path: str, names: list[str]) -> Judged | None:
    """TensorFlow: SavedModel, and checkpoints of several files."""
    shards = [match for name in names if (match := _TF_DATA.fullmatch(name))]
    inner = os.path.join(path, "variables")
    if "saved_model.pb" in names:
        found = _saved_model(inner, sorted(os.listdir(inner))) if os.path.isdir(inner) else None
        return Judged("tensorflow", found.trouble if found else "its variables are missing")
    if not shards:
        return None
    for match in shards:
        if f"{match[1]}.index" not in names:
            return Judged("tensorflow", f"{match[1]}.index is missing")
        count = int(match[3])
        if missing := [n for n in range(count) if f"{match[1]}.data-{n:05d}-of-{count:05d}" not in names]:
            return Judged("tensorflow", f"part {missing[0]} of {count} is missing")
    return Judged("tensorflow")


def _ranks(path: str, names: list[str]) -> Judged | None:
    """Any saver that numbers its files `rank3_of_8`."""
    found = [match for name in names if (match := _RANK_OF.fullmatch(name))]
    if not found:
        return None
    for match in found:
        ranks = {int(other[2]) for other in found if (other[1], other[3], other[4]) == (match[1], match[3], match[4])}
        if missing := sorted(set(range(int(match[3]))) - ranks):
            return Judged("ranks", f"the file of rank {missing[0]} of {match[3]} is missing")
    return Judged("ranks", _first_torn(path, [match[0] for match in found]))


def _first_torn(path: str, names: list[str]) -> str:
    return next((f"{name}: {found.trouble}" for name in names if (found := _part(path, name)).trouble), "")


def _size(path: str, name: str) -> int:
    return os.stat(os.path.join(path, name)).st_size


def _json(path: str, name: str) -> dict[str, Any]:
    with open(os.path.join(path, name), encoding="utf-8") as file:
        found = json.load(file)
    if not isinstance(found, dict):
        raise ValueError(f"{name} is no object")
    return found


def _number(path: str) -> int | None:
    name = os.path.basename(path.rstrip("/"))
    return int(name) if name.isdecimal() else None
