"""Programs that fail by themselves as people write them: retries, hooks, wrappers, and words that mislead."""

from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place

RAISED, LEFT = "uncaught-exception", "nonzero-exit"


def failing(name: str, body: str, *, cause: str = RAISED, code: int = 1, **more: Any) -> Fault:
    """A program that ends by itself, badly."""
    imports = "import asyncio, concurrent.futures, errno, logging, math, os, signal, sys, threading, time, traceback"
    program = f"{imports}\nfrom training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(code,), state="failed", cause=cause, **more)


def reported(name: str, body: str, **more: Any) -> Fault:
    """It prints a traceback itself and leaves.

    From outside that and the code are all that an uncaught exception would leave as well.
    """
    return failing(name, body, cause=LEFT, without_client=(LEFT, RAISED), **more)


def diverged(name: str, body: str, *, outside: str = RAISED, **more: Any) -> Fault:
    """Its figures stop being numbers, and it ends for that; what is printed need not show them."""
    return failing(name, body, cause="diverged", without_client=("diverged", outside), **more)


STEPS = "for step in range({count}):\n    log(loss=1 / (step + 1), lr=3e-4); time.sleep(0.02)\n"

# A server that promises more than it sends.
HALF = """
import http.client, socket
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    peer.recv(1000)
    peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000000\\r\\n\\r\\n" + bytes(5000))
    peer.close()
threading.Thread(target=serve).start()
connection = http.client.HTTPConnection(*server.getsockname())
connection.request("GET", "/shard-0")
print(len(connection.getresponse().read()))
"""

FAULTS = [
    failing(
        "printed progress bars for hours and meets a label that it does not know",
        "for step in range(40_000):\n"
        "    print(f'\\rtrain: {step / 400:5.1f} %|{\"#\" * (step % 50):50s}| loss 0.4', end='')\n"
        "print()\nclasses = {'cat': 0, 'dog': 1}\nprint(classes['cta'])",
    ),
    failing(
        "tries a download three times and gives up",
        "for attempt in range(3):\n"
        "    try:\n        raise ConnectionResetError(104, 'Connection reset by peer')\n"
        "    except OSError:\n        logging.exception('attempt %d failed, trying again', attempt); time.sleep(0.3)\n"
        "raise RuntimeError('no manifest for dataset v7 in 3 attempts')",
    ),
    failing(
        "collects the errors of its shards and raises all of them",
        "errors = []\nfor shard in ('0', 'x', '2.5'):\n    try:\n        int(shard)\n"
        "    except ValueError as error:\n        errors.append(error)\n"
        "raise ExceptionGroup('preprocessing', [ExceptionGroup('shards', errors), KeyError('vocabulary')])",
    ),
    # The exception is the reason; the hook chose the way.
    failing(
        "has a hook that leaves with 42",
        "def hook(kind, error, trace):\n    traceback.print_exception(error); sys.stderr.flush(); os._exit(42)\n"
        "sys.excepthook = hook\nraise TypeError('forward() takes 2 positional arguments but 3 were given')",
        code=42,
        also=(LEFT,),
    ),
    failing(
        "kept an error for later and raises it at the end of the epoch",
        "kept = None\ntry:\n    [].pop()\nexcept IndexError as error:\n    kept = error\n"
        + STEPS.format(count=60)
        + "raise kept",
    ),
    reported(
        "logs what went wrong and leaves with 1",
        "def main():\n    raise ValueError('num_heads must divide 768')\n"
        "try:\n    main()\nexcept Exception:\n    logging.exception('training failed')\n    sys.exit(1)",
    ),
    reported(
        "prints its traceback in colour and leaves hard with 3",
        "try:\n    {}['optimizer']\nexcept KeyError:\n"
        "    sys.stderr.write('\\x1b[31m' + traceback.format_exc() + '\\x1b[0m')\n"
        "    sys.stderr.flush()\n    os._exit(3)",
        code=3,
    ),
    failing(
        "leaves with a dictionary",
        "raise SystemExit({'status': 'error', 'reason': 'Segmentation fault in worker'})",
        cause=LEFT,
    ),
    failing(
        "wants another optimizer than its parser knows",
        "import argparse\nparser = argparse.ArgumentParser(prog='train.py')\n"
        "parser.add_argument('--optimizer', choices=['sgd', 'adamw'])\nparser.parse_args(['--optimizer', 'killed'])",
        cause=LEFT,
        code=2,
    ),
    failing(
        "notices that its prefetching thread failed",
        "failed = []\ndef prefetch():\n    try:\n        open('/data/imagenet/train-00017.tar')\n"
        "    except OSError as error:\n        failed.append(error)\n"
        "thread = threading.Thread(target=prefetch)\nthread.start()\nthread.join()\n"
        "if failed:\n    raise RuntimeError('the prefetcher died') from failed[0]",
    ),
    # A thread's exception is the reason; the hook chose the way.
    failing(
        "leaves with 13 as soon as any thread fails",
        "def hook(args):\n    traceback.print_exception(args.exc_value); sys.stderr.flush(); os._exit(13)\n"
        "threading.excepthook = hook\nthreading.Thread(target=lambda: float('n/a')).start()\ntime.sleep(20)",
        code=13,
        also=(LEFT,),
    ),
    # `connection-lost` is that of a run to its server; what a program reads its data from may be meant as well.
    failing("has a download that ends in the middle", HALF, also=("connection-lost",)),
    failing(
        "asks for a host that nobody knows",
        "import urllib.request\nurllib.request.urlopen('https://datasets.invalid/c4.tar')",
        also=("connection-lost",),
    ),
    failing(
        "awaits an evaluation for too long",
        "async def evaluate():\n    await asyncio.sleep(60)\nasyncio.run(asyncio.wait_for(evaluate(), 0.7))",
    ),
    failing(
        "has an alarm that raises",
        "def ring(*_):\n    raise TimeoutError('validation took longer than 1 s')\n"
        "signal.signal(signal.SIGALRM, ring)\nsignal.alarm(1)\ntime.sleep(20)",
    ),
    # It counts for itself: there is room on the disk, and memory.
    failing(
        "has a quota of its own and raises what a full disk would",
        "used, allowed = 12 << 30, 10 << 30\n"
        "if used > allowed:\n    raise OSError(errno.ENOSPC, 'No space left on device', 'team/checkpoints')",
    ),
    failing(
        "has a token budget that is a kind of MemoryError",
        "class ContextOverflow(MemoryError):\n    pass\n"
        "tokens = 140_000\nif tokens > 131_072:\n"
        "    raise ContextOverflow('prompt does not fit: 140000 > 131072 tokens')",
    ),
    failing(
        "printed the kernel's log of yesterday and changes what it walks through",
        "print('[81233.1] Out of memory: Killed process 9120 (python3) total-vm:81203344kB', file=sys.stderr)\n"
        "print('[81233.2] oom_reaper: reaped process 9120 (python3)', file=sys.stderr)\n"
        + STEPS.format(count=20)
        + "buffers = {'a': 1, 'b': 2}\nfor name in buffers:\n    del buffers[name]",
    ),
    failing(
        "reads a pickle that ends in the middle",
        "import pickle\nopen('state.pkl', 'wb').write(pickle.dumps(list(range(100_000)))[:5000])\n"
        "pickle.load(open('state.pkl', 'rb'))",
    ),
    failing(
        "loads half of a model with torch",
        "import torch\ntorch.save(torch.nn.Linear(256, 256).state_dict(), 'model.pt')\n"
        "os.truncate('model.pt', 100_000)\n"
        "torch.load('model.pt')",
        needs=("torch",),
    ),
    failing(
        "multiplies matrices that do not fit",
        "import torch\nprint('CUDA error: out of memory (fell back to the CPU)', file=sys.stderr)\n"
        "torch.nn.Linear(256, 10)(torch.zeros(64, 512))",
        needs=("torch",),
    ),
    failing(
        "changes in place what the gradient needs",
        "import torch\nweight = torch.ones(3, requires_grad=True)\nhidden = torch.exp(weight)\nhidden += 1\n"
        "hidden.sum().backward()",
        needs=("torch",),
    ),
    failing("leaves in place of its error", "try:\n    1 / 0\nfinally:\n    sys.exit(7)", cause=LEFT, code=7),
    failing(
        "prints what Python prints at a fault and leaves with 139",
        "print('Fatal Python error: Segmentation fault\\n\\nCurrent thread 0x00007f (most recent call first):\\n'\n"
        "      '  File \"train.py\", line 80 in forward', file=sys.stderr)\nsys.exit(139)",
        cause=LEFT,
        code=139,
    ),
    failing(
        "has a last act that leaves with 5",
        "import atexit\natexit.register(os._exit, 5)\n" + STEPS.format(count=5),
        cause=LEFT,
        code=5,
    ),
    failing(
        "gives itself two seconds and leaves when they are over",
        "import faulthandler\nfaulthandler.dump_traceback_later(2, exit=True)\ntime.sleep(20)",
        cause=LEFT,
    ),
    failing(
        "has a watchdog that sees no progress and leaves with 70",
        "def watch():\n    time.sleep(1.5)\n"
        "    print('watchdog: no step for 1.5 s, giving up', file=sys.stderr, flush=True)\n"
        "    os._exit(70)\nthreading.Thread(target=watch, daemon=True).start()\ntime.sleep(20)",
        cause=LEFT,
        code=70,
    ),
    failing(
        "fails under a script that prints how others die",
        "raise AssertionError('expected 50257 tokens, got 50304')",
        command=(
            "bash",
            "-c",
            f"{PYTHON} {SCRIPT}; code=$?; echo 'Killed' >&2; echo 'exit code 137 (OOMKilled)' >&2; exit $code",
        ),
    ),
    failing(
        "fails in a small cgroup after it gave most of its memory back",
        "held = [bytearray(b'x') * (1 << 20) for _ in range(90)]\nheld.clear()\n"
        + STEPS.format(count=30)
        + "raise ZeroDivisionError('empty validation set')",
        place=Place(memory_bytes=200 << 20),
    ),
    # As the code of many detectors does it: the program says why it leaves, and leaves with 1.
    diverged(
        "sees that its loss is not finite and leaves",
        "for step in range(40):\n    loss = 0.7 if step < 36 else float('nan')\n    log(loss=loss)\n"
        "    if step > 37 and not math.isfinite(loss):\n        print(f'Loss is {loss}, stopping training')\n"
        "        sys.exit(1)",
        outside=LEFT,
    ),
    diverged(
        "draws from a distribution whose mean became NaN",
        "import torch\nfor step in range(30):\n    log(policy_loss=-0.2 if step < 20 else float('nan'), reward=3.0)\n"
        "torch.distributions.Normal(torch.tensor([math.nan]), 1.0)",
        needs=("torch",),
    ),
    diverged(
        "factorizes a matrix that became NaN",
        "import torch\nfor step in range(25):\n    log(elbo=-3.0 if step < 18 else math.nan, kl=0.4)\n"
        "torch.linalg.cholesky(torch.full((4, 4), math.nan))",
        needs=("torch",),
    ),
    diverged(
        "grows without bounds and asserts",
        "for step in range(60):\n    value = 1.5 ** (step * step) if step < 40 else math.inf\n"
        "    log(loss=value, grad_norm=value)\n"
        "assert math.isfinite(value), 'gradient overflow'",
    ),
    # Infinite is where it begins, as it should.
    failing(
        "starts with the best loss at infinity and lacks an attribute",
        "for step in range(30):\n    log(best_loss=math.inf, loss=0.9); time.sleep(0.02)\nNone.eval()",
    ),
    failing(
        "skipped one step that was not finite and reads a column that is not there",
        "for step in range(120):\n    log(loss=math.inf if step == 4 else 0.3, scale=65536 / (1 + (step > 4)))\n"
        "[{'text': 'a'}][0]['label']",
    ),
]
