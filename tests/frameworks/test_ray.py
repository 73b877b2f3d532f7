"""Ray Tune's trials are runs."""

from pathlib import Path

import ray
from ray import tune

from holter.api.recorded_runs import Api
from holter.integrations.ray import HolterLoggerCallback


def test_each_trial_is_a_run(tmp_path: Path) -> None:
    # Pickled by its value, since it is no module's: workers know nothing of this file.
    def trial(config: dict[str, float]) -> None:
        for step in range(3):
            tune.report({"loss": config["lr"] / (step + 1)})
        if config["lr"] > 1:
            raise ValueError("too fast")

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        where = tune.RunConfig(
            storage_path=str(tmp_path / "ray"), callbacks=[HolterLoggerCallback(project="cats")], verbose=0
        )
        tune.Tuner(trial, param_space={"lr": tune.grid_search([0.5, 2.0])}, run_config=where).fit()
    finally:
        ray.shutdown()
    found = {run.config["lr"]: run for run in Api().runs()}
    assert {lr: run.state for lr, run in found.items()} == {0.5: "finished", 2.0: "failed"}
    assert [row["loss"] for row in found[0.5].scan_history(["loss"])] == [0.5, 0.25, 0.5 / 3]
    assert [row["_step"] for row in found[0.5].scan_history(["loss"])] == [1, 2, 3]


def test_a_trial_that_ray_starts_again_goes_on_in_its_run(tmp_path: Path) -> None:
    once = str(tmp_path / "died")

    def trial(config: dict[str, float]) -> None:
        import os

        import holter

        run = holter.init(project="cats", resume="auto", config={"lr": config["lr"]})
        for step in range(run.step, 4):
            run.log({"loss": step})
            if step == 1 and config["lr"] > 1 and not os.path.exists(once):
                open(once, "w").close()
                os.kill(os.getpid(), 9)
        run.finish()
        tune.report({"loss": 0.0})

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        again = tune.FailureConfig(max_failures=1)
        where = tune.RunConfig(storage_path=str(tmp_path / "ray"), failure_config=again, verbose=0)
        tune.Tuner(trial, param_space={"lr": tune.grid_search([0.5, 2.0])}, run_config=where).fit()
    finally:
        ray.shutdown()
    found = {run.config["lr"]: run for run in Api().runs()}
    assert {lr: [row["loss"] for row in run.scan_history(["loss"])] for lr, run in found.items()} == {
        0.5: [0, 1, 2, 3],
        2.0: [0, 1, 2, 3],
    }
