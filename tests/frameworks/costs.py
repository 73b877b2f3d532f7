"""What a framework's calls of holter cost per step, in CPU time, beside those of its own W&B logger in offline mode.

    .venv-frameworks/bin/python -m tests.frameworks.costs [transformers|lightning|keras] …

Every step is logged. W&B's callback for Keras needs TensorFlow: what it would log is handed to `wandb.log`. All sides
pay for the measuring alike, and what it costs is what a training that nobody records has. Needs wandb beside what
`make frameworks` installs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 400
WARM = 50
"""Steps before anything is counted."""
REPEATS = 1

spent: list[int] = []
"""CPU ns of each call."""
began = [0.0]


def timed(owner: Any, name: str) -> None:
    """Have each call of a method note what its thread spent in it."""
    plain = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        before = time.thread_time_ns()
        try:
            return plain(*args, **options)
        finally:
            spent.append(time.thread_time_ns() - before)
            if len(spent) == WARM:
                began[0] = time.process_time()

    setattr(owner, name, call)


def net(size: int) -> Any:
    import torch

    torch.manual_seed(0)
    if size < 10:
        return torch.nn.Linear(4, 1)
    return torch.nn.Sequential(
        torch.nn.Linear(4, size), torch.nn.ReLU(), torch.nn.Linear(size, size), torch.nn.Linear(size, 1)
    )


def train_transformers(who: str, size: int) -> None:
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments
    from transformers.integrations import WandbCallback

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net(size)

        def forward(self, x: Any, labels: Any) -> Any:
            y = self.inner(x).squeeze(-1)
            return {"loss": ((y - labels) ** 2).mean(), "logits": y}

    silent = [] if who != "nobody" else [type("Nobody", (TrainerCallback,), {"on_log": lambda *_, **__: None})()]
    if who == "wandb":
        timed(WandbCallback, "on_log")
    elif who == "nobody":
        timed(type(silent[0]), "on_log")
    else:
        from holter.integrations.transformers import HolterCallback

        timed(HolterCallback, "on_log")
    data = [{"x": torch.ones(4) * i / 64, "labels": torch.tensor(float(i))} for i in range(64)]
    args = TrainingArguments(
        output_dir="out",
        max_steps=STEPS,
        per_device_train_batch_size=64,
        logging_steps=1,
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        report_to=who if not silent else "none",
        learning_rate=1e-4,
    )
    Trainer(model=Net(), args=args, train_dataset=data, callbacks=silent).train()


def train_lightning(who: str, size: int) -> None:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import WandbLogger
    from lightning.pytorch.loggers.logger import DummyLogger

    from holter.integrations.lightning import HolterLogger

    class Net(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net(size)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.inner(batch[0]).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-4)

    loggers: dict[str, Callable[[], Any]] = {
        "wandb": lambda: WandbLogger(project="p", save_dir=".", offline=True),
        "holter": lambda: HolterLogger(project="p"),
        "nobody": type("Nobody", (DummyLogger,), {"log_metrics": lambda *_, **__: None}),
    }
    logger = loggers[who]()
    timed(type(logger), "log_metrics")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(64 * STEPS, 4)), batch_size=64)
    Trainer(
        logger=logger,
        max_epochs=1,
        log_every_n_steps=1,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    ).fit(Net(), loader)


def train_keras(who: str, size: int) -> None:
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import numpy

    from holter.integrations.keras import HolterCallback

    class Nobody(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None: ...

    class WandbBatches(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            import wandb

            wandb.log({f"batch/{name}": value for name, value in (logs or {}).items()})

    if who == "wandb":
        import wandb

        wandb.init(project="p")
    layers = (
        [keras.layers.Dense(1)]
        if size < 10
        else [keras.layers.Dense(size, "relu"), keras.layers.Dense(size), keras.layers.Dense(1)]
    )
    model = keras.Sequential([keras.layers.Input((4,)), *layers])
    model.compile(optimizer="sgd", loss="mse")
    callbacks = {"wandb": WandbBatches, "holter": lambda: HolterCallback(project="p"), "nobody": Nobody}
    callback = callbacks[who]()
    timed(type(callback), "on_train_batch_end")
    x = numpy.ones((64 * STEPS, 4), "float32")
    model.fit(x, x[:, :1], batch_size=64, epochs=1, verbose=0, callbacks=[callback])


TRAININGS: dict[str, Callable[[str, int], None]] = {
    "transformers": train_transformers,
    "lightning": train_lightning,
    "keras": train_keras,
}


def measure(framework: str, who: str, size: int) -> dict[str, float]:
    """One training in a process of its own: µs of a call (median), and its share of all CPU of a step."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # its sidecar may still write
        environment = {
            **os.environ,
            "HOLTER_DIR": f"{place}/h",
            "HOLTER_SILENT": "1",
            "WANDB_MODE": "offline",
            "WANDB_SILENT": "true",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "tests.frameworks.costs", "--one", framework, who, str(size)]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:
        TRAININGS[arguments[1]](arguments[2], int(arguments[3]))
        whole = (time.process_time() - began[0]) / (len(spent) - WARM)
        calls = sorted(spent[WARM:])
        mean = sum(calls) / len(calls) / 1e9
        found = {"us": calls[len(calls) // 2] / 1e3, "mean_us": mean * 1e6, "step_us": whole * 1e6}
        print(json.dumps({**found, "share": mean / whole}))
        return
    for framework in arguments or TRAININGS:
        for size in (4, 512):
            for who in ("nobody", "holter", "wandb"):
                tries = (measure(framework, who, size) for _ in range(REPEATS))
                several = sorted(tries, key=lambda each: each["us"])
                found = several[REPEATS // 2]
                print(
                    f"{framework:13} {who:7} width {size:4}  call {found['us']:7.1f} µs (mean {found['mean_us']:6.1f}) "
                    f"step {found['step_us']:8.0f} µs  share {found['share']:6.2%}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
