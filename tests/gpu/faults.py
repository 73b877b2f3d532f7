"""What goes wrong on a GPU in one program: refused memory, fragments, asserts, NaN, a leak, a kernel without end."""

from typing import Any

from tests.gpu.scene import Done, play, result

BEGIN = """
import time, holter, torch
run = holter.init(project="gpu", name="{name}"{more})
here = torch.zeros(1, device="cuda")
run.log({{"loss": 1.0}})
"""


def training(name: str, body: str, *, more: str = "", within_s: float = 40.0) -> Done:
    """A program that has begun to log, and then does this."""
    return play(BEGIN.format(name=name, more=more) + body, within_s=within_s)


def out_of_memory() -> dict[str, Any]:
    """Alone on the GPU: one refusal is caught, the next is not; the allocator's history is on."""
    done = training(
        "oom",
        """
torch.cuda.memory._record_memory_history(max_entries=20000)
try:
    torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print("caught", error)
kept = []
while True:
    kept.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))
    run.log({"held": len(kept)})
""",
    )
    files = list((done.home / "holter" / "runs").glob("*/gpu-memory-*.pickle"))
    texts = " | ".join(str(fact.get("text")) for fact in done.why.get("evidence", ()))
    return result(
        {
            "the cause is named": done.why.get("cause") == "gpu-out-of-memory",
            "a snapshot is kept for each": len(files) == 2,
            "the caught one is told apart": "had caught 1 refusal" in texts,
            "the snapshot is named": "gpu-memory-2.pickle" in texts,
        },
        **done.told(),
        files=[[path.name, path.stat().st_size] for path in files],
    )


def fragmentation() -> dict[str, Any]:
    """A tenth of the GPU in pieces, none of which holds what is asked for."""
    done = training(
        "fragments",
        """
torch.cuda.set_per_process_memory_fraction(0.1)
GIB = 1 << 30
kept = []
try:
    while True:
        whole = torch.empty(GIB, dtype=torch.uint8, device="cuda")
        del whole
        kept.append(torch.empty(int(0.6 * GIB), dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    print("caught", error)
torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
""",
    )
    texts = " | ".join(str(fact.get("text")) for fact in done.why.get("evidence", ()))
    return result(
        {
            "the cause is named": done.why.get("cause") == "gpu-out-of-memory",
            "pieces are told with the largest": "in pieces of at most" in texts,
            "the advice is expandable segments": "expandable_segments" in str(done.why.get("advice")),
        },
        **done.told(),
    )


def device_assert() -> dict[str, Any]:
    """An index that an embedding does not have."""
    done = training(
        "assert",
        """
time.sleep(2)
rows = torch.nn.Embedding(10, 4).cuda()
rows(torch.tensor([3, 99], device="cuda"))
torch.cuda.synchronize()
""",
    )
    return result({"the cause is named": done.why.get("cause") == "gpu-program-fault"}, **done.told())


def nan_layer() -> dict[str, Any]:
    """A weight in the middle becomes NaN; then an output; then a compiled model."""
    body = """
from collections import OrderedDict
torch.manual_seed(0)
from torch.nn import Linear
net = torch.nn.Sequential(OrderedDict(one=Linear(64, 64), two=Linear(64, 64), three=Linear(64, 1))).cuda()
watched = torch.compile(net, backend="eager") if {compiled} else net
holter.watch(watched, log="all", log_freq=10)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(40):
    if step == 23:
        net.two.weight.data[0, 0] = float("nan")
    optimizer.zero_grad()
    watched(torch.ones(8, 64, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    run.log({{"step": step}}, step=step)
    time.sleep(0.05)
"""
    plain = training("nan", body.format(compiled=False))
    compiled = training("nan-compiled", body.format(compiled=True))
    said = [text for text in plain.warnings if "first layer" in text or "NaN" in text]
    return result(
        {
            "layer and step are named": any("two" in text and "step 2" in text for text in said),
            "a compiled model gets a sentence": "compiled" in compiled.err,
            "and is told of its NaN": any("NaN" in text for text in compiled.warnings),
        },
        plain=plain.told(),
        compiled=compiled.told(),
    )


def forecast() -> dict[str, Any]:
    """A leak of 0.7 GiB/s up to two thirds of the GPU's memory, with a limit of the program's own to end it."""
    done = training(
        "leak",
        """
GIB = 1 << 30
total = torch.cuda.mem_get_info()[1]
kept = [torch.empty(int(0.62 * total), dtype=torch.uint8, device="cuda")]
began = time.monotonic()
step = 0
while time.monotonic() - began < 75 and torch.cuda.mem_get_info()[0] > 12 * GIB:
    kept.append(torch.empty(GIB // 5, dtype=torch.uint8, device="cuda"))
    run.log({"step": step})
    step += 1
    time.sleep(0.4)
""",
        within_s=95,
    )
    said = [each for each in done.run.get("warnings", ()) if each["guard"] == "memory-forecast"]
    return result({"the forecast names the GPU": any("GPU 0" in each["text"] for each in said)}, **done.told())


def waits_for_gpu() -> dict[str, Any]:
    """A kernel that runs on and on while the program waits for it."""
    done = training(
        "stall",
        """
for step in range(40):
    run.log({"step": step})
    time.sleep(0.1)
torch.cuda._sleep(int(1.9e9 * 70))
print(here.add_(1).item())
run.log({"step": 40})
""",
        within_s=100,
    )
    said = [text for text in done.warnings if text.startswith("stall")]
    return result({"it is said what it waits for": any("the GPU" in text for text in said)}, **done.told())
