"""What holter costs a program that uses a GPU: `watch`, scalars, pictures; and the search for a batch size."""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.gpu.scene import Done, begin, finish, play, result
from tests.gpu.sharing import column

WATCH = """
import json, time, holter, torch
run = holter.init(project="gpu", name="watch")
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, dropout=0.0)
layers = torch.nn.TransformerEncoder(layer, 12)
net = torch.nn.Sequential(torch.nn.Embedding(20000, 768), layers, torch.nn.Linear(768, 8)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
words = torch.randint(0, 20000, (64, 512), device="cuda")
def block(steps=100):
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(words).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        run.log({"loss": loss})
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / steps
block(20)
took = {"off": [], "gradients": [], "all": []}
until = time.monotonic() + 40
while time.monotonic() < until:
    for log in took:
        if log != "off":
            run.watch(net, log=log, log_freq=100)
        block(1)
        took[log].append(block())
        run.unwatch(net)
print(json.dumps({"parameters": sum(each.numel() for each in net.parameters()), "took": took}))
"""
SCALARS = """
import json, statistics, time, holter, torch
run = holter.init(project="gpu", name="scalars")
x = torch.zeros((), device="cuda")
CYCLES = 90000
def kernels(count):
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(count):
        torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / count
kernels(200)
CYCLES = int(CYCLES * 50e-6 / kernels(2000))
def loop(log, count=2000):
    torch.cuda.synchronize()
    calls = []
    began = time.perf_counter()
    for _ in range(count):
        torch.cuda._sleep(CYCLES)
        x.add_(1)
        if log is not None:
            before = time.perf_counter()
            log()
            calls.append(time.perf_counter() - before)
    torch.cuda.synchronize()
    took = (time.perf_counter() - began) / count
    return took, calls
ways = {"none": None, "tensor": lambda: run.log({"loss": x}), "item": lambda: run.log({"loss": x.item()})}
loop(ways["tensor"], 300)
loops, calls = {way: [] for way in ways}, {way: [] for way in ways}
until = time.monotonic() + 9
while time.monotonic() < until:
    for way, log in ways.items():
        took, found = loop(log)
        loops[way].append(took)
        calls[way] += found
def figures(values):
    ordered = sorted(values)
    if not ordered:
        return {}
    return {"p50": ordered[len(ordered) // 2], "p95": ordered[int(0.95 * len(ordered))], "most": ordered[-1]}
steps = 3000
x.zero_()
for step in range(steps):
    torch.cuda._sleep(CYCLES)
    x.add_(1)
    run.log({"count": x})
run.finish()
print(json.dumps({"cycles": CYCLES, "loops": loops, "calls": {way: figures(each) for way, each in calls.items()}}))
"""
DIES = """
import os, signal, time, holter, torch
run = holter.init(project="gpu", name="dies")
x = torch.zeros((), device="cuda")
for step in range(50):
    x.add_(1)
    run.log({"loss": x})
torch.cuda.synchronize()
run.log({"loss": 0.0})
torch.cuda._sleep(int(1.9e9 * 5))
for step in range(10):
    x.add_(1)
    run.log({"loss": x})
time.sleep(0.5)
os.kill(os.getpid(), signal.SIGKILL)
"""
GRAPHS = """
import json, holter, torch
run = holter.init(project="gpu", name="graphs")
x = torch.zeros((), device="cuda")
run.log({"before": x})
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        x.add_(1)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.add_(1)
    run.log({"inside": x})
for step in range(20):
    graph.replay()
    run.log({"replayed": x})
with torch.cuda.stream(side):
    y = torch.zeros((), device="cuda")
    for step in range(50):
        torch.cuda._sleep(200000)
        y.add_(1)
        run.log({"side": y})
        y.add_(1000)
        y.sub_(1000)
run.finish()
rows = list(holter.Api().run(run.id).scan_history())
print(json.dumps({
    "replayed": [row["replayed"] for row in rows if row.get("replayed") is not None],
    "side": [row["side"] for row in rows if row.get("side") is not None],
    "inside": [row["inside"] for row in rows if row.get("inside") is not None],
    "start": float(3.0),
}))
"""
MEDIA = """
import json, time, holter, torch
run = holter.init(project="gpu", name="media")
picture = torch.rand(3, 512, 512, device="cuda")
values = torch.randn(1_000_000, device="cuda")
run.log({"first": holter.Image(picture)})
run.log({"histogram": holter.Histogram(values)})
def timed(make, busy):
    found = []
    for _ in range(5):
        torch.cuda.synchronize()
        if busy:
            torch.cuda._sleep(int(1.9e9 * 0.2))
        began = time.perf_counter()
        run.log(make())
        found.append(1000 * (time.perf_counter() - began))
    return sorted(found)[2]
took = {}
makers = {"image": lambda: {"image": holter.Image(picture)}, "histogram": lambda: {"h": holter.Histogram(values)}}
for name, make in makers.items():
    for busy in (False, True):
        try:
            took[f"{name} {'busy' if busy else 'idle'}"] = timed(make, busy)
        except Exception as error:
            took[f"{name} error"] = repr(error)
print(json.dumps(took))
"""
FORK = """
import json, random, holter, torch
def step(size):
    torch.rand(1)
    random.random()
    torch.empty(size << 29, dtype=torch.uint8, device="cuda").zero_()
torch.manual_seed(1)
before = torch.get_rng_state().sum().item()
size = holter.fit_batch_size(step, 16)
same = before == torch.get_rng_state().sum().item()
initialised = torch.cuda.is_initialized()
gib = torch.cuda.mem_get_info()[1] / 2**30
print(json.dumps({"size": size, "same": same, "initialised": initialised, "gib": gib}))
"""
MODULE = """
import torch
class Step:
    def __init__(self):
        self.net = torch.nn.Linear(1024, 1024).cuda()
        self.optimizer = torch.optim.AdamW(self.net.parameters())
    def __call__(self, size):
        self.optimizer.zero_grad()
        self.net(torch.ones(size * 4096, 1024, device="cuda")).sum().backward()
        self.optimizer.step()
"""
SPAWN = """
import json, holter, torch
from a_step import Step
if __name__ == "__main__":
    step = Step()
    weights = step.net.weight.sum().item()
    size = holter.fit_batch_size(step, 64, most=4096)
    same = weights == step.net.weight.sum().item()
    print(json.dumps({"size": size, "same": same, "reserved": torch.cuda.memory_reserved()}))
"""


def _json(done: Done) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(done.out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {}
    return found


def watch_cost() -> dict[str, Any]:
    """A model of 100 M parameters, watched and not, turn by turn."""
    done = play(WATCH, within_s=100)
    found = _json(done)
    took = {log: statistics.median(each) for log, each in found.get("took", {}).items() if each}
    shares = {log: each / took["off"] - 1 for log, each in took.items()} if took else {}
    return result(
        {
            "gradients cost 2 % at most": shares.get("gradients", 1) <= 0.02,
            "all costs 6 % at most": shares.get("all", 1) <= 0.06,
        },
        **done.told(),
        **found,
        step_ms={log: 1000 * each for log, each in took.items()},
        shares=shares,
    )


def scalars() -> dict[str, Any]:
    """`log()` of a scalar on the GPU in a loop of kernels of 50 µs, against none and against `.item()`."""
    done = play(SCALARS, within_s=50)
    found = _json(done)
    loops = {way: statistics.median(each) for way, each in found.get("loops", {}).items() if each}
    counted = [value for _, value in column(done.home, "count")]
    dies = play(DIES, within_s=30)
    return result(
        {
            "a call takes 30 µs at most": found.get("calls", {}).get("tensor", {}).get("p50", 1) <= 30e-6,
            "the loop is as fast as without": loops.get("tensor", 1) <= 1.02 * loops.get("none", 0),
            "each value is its own": counted == [float(step + 1) for step in range(3000)],
            "a death in between is told": "10 values" in str(dies.run) + str(dies.why) or "pending" in str(dies.run),
        },
        **done.told(),
        **found,
        loops_us={way: 1e6 * each for way, each in loops.items()},
        counted=len(counted),
        dies=dies.told(),
        dies_run=dies.run,
    )


def graphs_and_streams() -> dict[str, Any]:
    """Capturing a CUDA graph is not disturbed, and values are those of the stream that made them."""
    done = play(GRAPHS, within_s=60)
    found = _json(done)
    return result(
        {
            "the program went through": done.code == 0,
            "replays are logged": found.get("replayed") == [float(4 + step) for step in range(20)],
            "a side stream's values are its own": found.get("side") == [float(step + 1) for step in range(50)],
            "what is captured gets a sentence": "captured" in done.err,
        },
        **done.told(),
        **found,
    )


def media() -> dict[str, Any]:
    """How long `log()` takes for a picture and a histogram on the GPU, with the GPU idle and busy for 200 ms."""
    done = play(MEDIA, within_s=38)
    return result({"the program went through": done.code == 0}, **done.told(), took_ms=_json(done))


def batch_size() -> dict[str, Any]:
    """`fit_batch_size` before and after this process used the GPU."""
    fork = play(FORK, within_s=90)
    found = _json(fork)
    home = Path(tempfile.mkdtemp(prefix="spawn-"))
    (home / "a_step.py").write_text(MODULE)
    began = time.monotonic()
    spawn = finish(begin(SPAWN, home), home, within_s=90, began=began)
    there = _json(spawn)
    return result(
        {
            "fork: the largest that fits": 0.8 * found.get("gib", 0) / 0.5
            < found.get("size", 0)
            < found.get("gib", 0) / 0.5,
            "fork: nothing is changed": found.get("same") is True and found.get("initialised") is False,
            "spawn: found, and nothing is changed": there.get("size", 0) >= 64 and there.get("same") is True,
        },
        fork={**fork.told(), **found},
        spawn={**spawn.told(), **there},
    )
