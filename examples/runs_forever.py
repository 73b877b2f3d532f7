"""Logs until somebody stops it, and says on standard output which steps `log()` has returned for."""

import math

import holter

with holter.init(project="demo", name="killed", config={"lr": 3e-4}) as run:
    step = 0
    while True:
        run.log({"train/loss": math.exp(-step / 10_000), "train/step": step}, step=step)
        print(step, flush=True)
        step += 1
