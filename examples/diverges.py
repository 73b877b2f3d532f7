"""Fits a line with a learning rate that is too high, and raises when the loss has left the earth."""

import time

import holter

POINTS = [(x / 10, 3 * x / 10 + 2) for x in range(-10, 11)]

config = {"lr": 2.2, "steps": 200}
offset = 0.0

with holter.init(project="demo", name="diverges", config=config) as run:
    for step in range(200):
        error = sum(offset - y for _, y in POINTS) / len(POINTS)
        offset -= config["lr"] * error
        run.log({"train/loss": error**2}, step=step)
        if error**2 > 1e6:
            raise FloatingPointError(f"the loss is {error**2:.3g} at step {step}")
        time.sleep(0.005)
