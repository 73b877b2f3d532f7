"""Exceptions as libraries, callbacks, remote workers and retries hand them on, and errors that look like limits."""

import textwrap
from typing import Any

from tests.zoo.fault import Fault, Place

RAISED, LEFT, DIVERGED = "uncaught-exception", "nonzero-exit", "diverged"
TORCH = ("torch",)

IMPORTS = """\
import asyncio, concurrent.futures, contextlib, ctypes, errno, logging, math, multiprocessing, os, signal, subprocess
import sys, threading, time, traceback
from training import RECORDS, begin, log, mark, stay, wait_for
"""


def written(name: str, body: str, *, cause: str | None, **more: Any) -> Fault:
    """A program that imports what most programs need and does the rest itself, `begin()` included."""
    return Fault(name=name, program=IMPORTS + textwrap.dedent(body), cause=cause, **more)


def failing(name: str, body: str, *, cause: str = RAISED, code: int = 1, **more: Any) -> Fault:
    """It ends by itself, badly."""
    return written(name, body, cause=cause, **{"ends": (code,), "state": "failed", **more})


FAULTS = [
    # The driver knows of the actor's error only what the actor wrote down.
    failing(
        "has an actor whose error comes back as text",
        """
        class TaskError(Exception):
            pass
        def actor(pipe):
            while True:
                name, args = pipe.recv()
                try:
                    pipe.send(("ok", {"scale": lambda x: 2 * x, "parse": int}[name](*args)))
                except Exception:
                    pipe.send(("error", traceback.format_exc()))
        begin()
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        context.Process(target=actor, args=(there,), daemon=True).start()
        for call in (("scale", (2,)), ("parse", ("17",)), ("parse", ("12.5e",))):
            here.send(call)
            kind, value = here.recv()
            if kind == "error":
                raise TaskError(f"actor(pid={os.getpid()}, node=10.0.0.7)\\n{value}")
            log(value=value)
        """,
    ),
    # torch cannot make such an exception again in the parent and raises another in its place.
    failing(
        "has a data loader whose workers raise what takes two arguments",
        """
        import torch
        class BadSample(Exception):
            def __init__(self, index, reason):
                super().__init__(f"sample {index}: {reason}")
        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 48
            def __getitem__(self, index):
                if index == 31:
                    raise BadSample(index, "truncated JPEG")
                return torch.zeros(3, 8, 8)
        begin()
        for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=2):
            log(size=len(batch))
        """,
        needs=TORCH,
    ),
    failing(
        "has samples of unequal length that a worker cannot stack",
        """
        import torch
        samples = [torch.arange(10 + (number == 21)) for number in range(40)]
        begin()
        for epoch in range(3):
            for batch in torch.utils.data.DataLoader(samples, batch_size=4, num_workers=2, persistent_workers=True):
                log(tokens=batch.numel())
        """,
        needs=TORCH,
    ),
    failing(
        "raises in a hook of the backward pass",
        """
        import torch
        def check(grad):
            if grad.shape[0] != 8:
                raise RuntimeError(f"gradient has {grad.shape[0]} rows, expected 8")
            return grad
        begin()
        weight = torch.randn(4, 4, requires_grad=True)
        hidden = weight * 2
        hidden.register_hook(check)
        hidden.sum().backward()
        """,
        needs=TORCH,
    ),
    failing(
        "resumes from a checkpoint of another size",
        """
        import torch
        begin()
        torch.save(torch.nn.Linear(16, 1000).state_dict(), "last.ckpt")
        print("Resuming from last.ckpt (the run before was Killed: out of memory)", flush=True)
        torch.nn.Linear(16, 1001).load_state_dict(torch.load("last.ckpt"))
        """,
        needs=TORCH,
    ),
    failing(
        "meets a token that its embedding has no row for",
        """
        import torch
        embedding = torch.nn.Embedding(32_000, 8)
        begin()
        for step in range(60):
            log(mean=embedding(torch.tensor([step, 31_990 + step // 4])).mean().item())
        """,
        needs=TORCH,
    ),
    # Somebody else holds the lock; nothing is used up, though the errno is that of too many processes.
    failing(
        "finds the lock of its cache held",
        """
        import fcntl
        begin()
        first, second = open("cache.lock", "w"), open("cache.lock", "w")
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        """,
    ),
    failing(
        "waits for a database that another process has locked",
        """
        import sqlite3
        begin()
        holder = sqlite3.connect("study.db", isolation_level=None)
        holder.execute("CREATE TABLE trial (value)")
        holder.execute("BEGIN EXCLUSIVE")
        sqlite3.connect("study.db", timeout=0.5).execute("INSERT INTO trial VALUES (0.91)")
        """,
    ),
    # More descriptors than select(2) can name, and far from the limit of open files.
    failing(
        "waits with select on a descriptor above 1023",
        """
        import select
        begin()
        shards = [open("/dev/null") for _ in range(1100)]
        select.select(shards, [], [], 1.0)
        """,
        place=Place(limits=("--nofile=8192",)),
    ),
    # The map is full, the disk is not.
    failing(
        "has a key-value store whose map is too small",
        """
        class MapFullError(Exception):
            pass
        begin()
        used, size = 0, 1 << 20
        while True:
            used += 48 << 10
            log(used=used)
            if used > size:
                raise MapFullError("mdb_put: MDB_MAP_FULL: Environment mapsize limit reached")
        """,
    ),
    failing(
        "may not write where it was told to save",
        """
        begin()
        with open("/sys/kernel/last.ckpt", "wb") as file:
            file.write(bytes(1 << 20))
        """,
    ),
    # As a data set that is mounted for reading only: nothing broke, yet the words are those of a disk that did.
    failing(
        "writes its cache beside a data set that is mounted for reading only",
        """
        begin()
        with open("dataset/train.cache", "wb") as file:
            file.write(bytes(100))
        """,
        place=Place(disks=(("dataset", "size=1m,ro"),)),
        also=("storage-fault",),
    ),
    failing(
        "is turned away by a hub that wants it to slow down",
        """
        import http.server, urllib.request
        class Hub(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_error(429, "Too Many Requests")
            def log_message(self, *_):
                pass
        hub = http.server.HTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        begin()
        urllib.request.urlopen(f"http://127.0.0.1:{hub.server_port}/resolve/main/tokenizer.json")
        """,
    ),
    # As what a library written in Rust raises: no Exception, so that nobody's `except Exception` hears it.
    failing(
        "has a tokenizer that panics",
        """
        class PanicException(BaseException):
            pass
        def encode(text):
            if "\\0" in text:
                sys.stderr.write("thread '<unnamed>' panicked at src/lib.rs:88:41:\\n"
                                 "called `Option::unwrap()` on a `None` value\\nnote: run with `RUST_BACKTRACE=1`\\n")
                raise PanicException("called `Option::unwrap()` on a `None` value")
            return text.split()
        begin()
        for text in ("a b", "c d", "e\\0f"):
            try:
                log(tokens=len(encode(text)))
            except Exception:
                print("skipped")
        """,
    ),
    failing(
        "asks a library that is written in Rust for a column that is not there",
        """
        import polars
        begin()
        frame = polars.DataFrame({"text": ["a", "b"], "label": [0, 1]})
        log(rows=frame.height)
        frame.select(polars.col("text").str.to_integer(strict=True) + polars.col("labels"))
        """,
    ),
    failing(
        "has a callback that C calls and a library that sees its error",
        """
        begin()
        COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        order = []
        def compare(a, b):
            order.append(a[0])
            raise LookupError("no rank for this sample")
        values = (ctypes.c_int * 6)(5, 2, 9, 1, 7, 3)
        ctypes.CDLL(None).qsort(values, 6, ctypes.sizeof(ctypes.c_int), COMPARE(compare))
        if list(values) != sorted(values):
            raise RuntimeError("sorting by length failed, see the log")
        """,
    ),
    failing(
        "hears of an error in a finalizer and fails for another",
        """
        class Writer:
            def __del__(self):
                raise OSError(errno.ENOSPC, "No space left on device")
        begin()
        Writer()
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        (1, 2, 3)[len([0] * 3)]
        """,
    ),
    failing(
        "adds notes to an error on its long way up",
        """
        def load(depth):
            try:
                if depth == 0:
                    return int("0x1g", 16)
                return load(depth - 1)
            except ValueError as error:
                error.add_note(f"in stage {depth} of the pipeline (worker killed? retry with more memory)")
                if depth % 2:
                    raise
                raise RuntimeError(f"stage {depth} failed") from error
        begin()
        load(5)
        """,
    ),
    failing(
        "takes every warning for an error",
        """
        import warnings
        begin()
        warnings.simplefilter("error")
        for step in range(20):
            log(loss=0.4)
        warnings.warn("lr_scheduler.step() before optimizer.step(): GPU memory may leak", UserWarning)
        """,
    ),
    failing(
        "waits for a worker that raised long before",
        """
        import queue
        def load(batches):
            for number in range(3):
                batches.put(number)
            raise ValueError("shard 3: bad magic number")
        begin()
        context = multiprocessing.get_context("fork")
        batches = context.Queue()
        context.Process(target=load, args=(batches,), daemon=True).start()
        while True:
            log(batch=batches.get(timeout=4))
        """,
    ),
    failing(
        "lowers its loss scale until there is nothing left to lower",
        """
        begin()
        scale = 2.0 ** 15
        for step in range(80):
            overflow = step >= 50
            log(loss=math.nan if overflow else 2.1, grad_norm=math.inf if overflow else 0.8, loss_scale=scale)
            if overflow:
                scale /= 2
            if scale < 1e-4:
                raise FloatingPointError("Minimum loss scale reached (0.0001). Your loss is probably exploding.")
        """,
        cause=DIVERGED,
        without_client=(DIVERGED, RAISED),
    ),
    # Its figures were fine; the gradient was not. Whoever looks for such a thing finds it as an exception.
    failing(
        "looks for anomalies and finds a gradient that is NaN",
        """
        import torch
        begin()
        weight = torch.ones(3, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            for step in range(30):
                value = ((weight * (0 if step == 29 else 1)) ** 2).sum().sqrt()
                log(loss=value.item())
                (value * 0 if step == 29 else value).backward()
        """,
        cause=DIVERGED,
        also=(RAISED,),
        needs=TORCH,
    ),
    failing(
        "has a disk that is nearly full and a shape that does not fit",
        """
        import numpy
        begin()
        open("disk/cache.bin", "wb").write(bytes(int(3.95 * (1 << 20))))
        for step in range(40):
            log(loss=0.4); time.sleep(0.02)
        numpy.ones((8, 3)) @ numpy.ones((4, 8))
        """,
        place=Place(disks=(("disk", "size=4m"),)),
    ),
    # What it logs to is full and says so at every line, which nobody minds; it fails for something else.
    failing(
        "cannot write its log for want of room and misses a key later",
        """
        begin()
        logging.basicConfig(filename="disk/train.log", level=logging.INFO)
        for step in range(30):
            logging.info("step %d %s", step, "x" * 60_000)
            log(loss=0.3); time.sleep(0.03)
        {"train": 1}["validation"]
        """,
        place=Place(disks=(("disk", "size=1m"),)),
    ),
    failing(
        "reads a configuration that somebody is still writing",
        """
        import json
        begin()
        text = json.dumps({"model": {"layers": 24, "heads": 16}, "optimizer": {"name": "adamw"}})
        open("config.json", "w").write(text[:-9])
        json.load(open("config.json"))
        """,
    ),
]
