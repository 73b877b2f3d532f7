"""A study that somebody else runs, watched."""

from holter.catalog.catalog import Catalog
from tests.e2e.programs import data_directory, run

STUDY = """
import optuna
import holter
from holter.integrations.optuna import HolterCallback, watched

optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.report(x, 3)
    if trial.number == 1:
        raise optuna.TrialPruned()
    if trial.number == 2:
        raise ValueError("no")
    return x

study = optuna.create_study(study_name="mine", sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(watched(objective, project="tuning"), n_trials=4, catch=(ValueError,))
whole = holter.init(project="tuning", name="whole")
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2, callbacks=[HolterCallback()])
"""


def test_each_trial_is_a_run_with_its_end() -> None:
    program = run(STUDY)
    assert program.returncode == 0, program.stderr
    rows = {row.name: row for row in Catalog(str(data_directory())).rows()}
    states = [rows[f"trial {number}"].state for number in range(4)]
    assert states == ["finished", "finished", "failed", "finished"]
    first, pruned, failed = (rows[f"trial {number}"] for number in range(3))
    assert (first.group, first.last_step) == ("mine", 3)
    assert first.summary["value"] == first.config["x"]
    assert (pruned.summary["trial_state"], failed.summary["trial_state"]) == ("pruned", "failed")
    assert failed.cause == "uncaught-exception"
    assert {"params/x", "value", "best_value"} <= rows["whole"].summary.keys()
    assert (rows["whole"].rows, rows["whole"].last_step) == (2, 5)
