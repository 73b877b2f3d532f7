"""Fits a line by gradient descent, and ends well."""

import time

import holter

POINTS = [(x / 10, 3 * x / 10 + 2) for x in range(-10, 11)]

config = {"lr": 0.2, "steps": 200}
slope = offset = 0.0

with holter.init(project="demo", name="finishes", config=config) as run:
    for step in range(200):
        errors = [(x, slope * x + offset - y) for x, y in POINTS]
        slope -= config["lr"] * sum(error * x for x, error in errors) / len(POINTS)
        offset -= config["lr"] * sum(error for _, error in errors) / len(POINTS)
        loss = sum(error**2 for _, error in errors) / len(POINTS)
        run.log({"train/loss": loss, "train/slope": slope}, step=step)
        time.sleep(0.005)
