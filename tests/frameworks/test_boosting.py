"""XGBoost, LightGBM and CatBoost record each round."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy
import pytest
import xgboost

import holter.integrations.catboost
import holter.integrations.lightgbm
import holter.integrations.xgboost

X = numpy.random.default_rng(0).normal(size=(80, 3))
Y = X[:, 0] * 2 + X[:, 1]


def test_xgboost_records_each_round(recorded: Callable[[], Any]) -> None:
    data = xgboost.DMatrix(X, Y)
    callback = holter.integrations.xgboost.HolterCallback()
    xgboost.train(
        {"eta": 0.25}, data, num_boost_round=5, evals=[(data, "train")], callbacks=[callback], verbose_eval=False
    )
    run = recorded()
    assert [row["_step"] for row in run.scan_history(["train/rmse"])] == [0, 1, 2, 3, 4]
    assert run.config["gradient_booster"]["tree_train_param"]["eta"].startswith("0.25")


def test_xgboost_cv_has_means_and_deviations(recorded: Callable[[], Any]) -> None:
    callback = holter.integrations.xgboost.HolterCallback()
    xgboost.cv({}, xgboost.DMatrix(X, Y), num_boost_round=3, callbacks=[callback])
    assert {"test/rmse", "test/rmse_std"} <= set(recorded().keys())


def test_lightgbm_records_each_round(recorded: Callable[[], Any]) -> None:
    data = lightgbm.Dataset(X, Y)
    callback = holter.integrations.lightgbm.HolterCallback()
    params = {"learning_rate": 0.25, "verbose": -1, "objective": "l2"}
    lightgbm.train(params, data, num_boost_round=5, valid_sets=[data], callbacks=[callback])
    run = recorded()
    assert [row["_step"] for row in run.scan_history(["training/l2"])] == [0, 1, 2, 3, 4]
    assert run.config["learning_rate"] == 0.25


def test_catboost_records_each_iteration(recorded: Callable[[], Any]) -> None:
    callback = holter.integrations.catboost.HolterCallback()
    catboost.CatBoostRegressor(iterations=5, allow_writing_files=False).fit(X, Y, verbose=False, callbacks=[callback])
    assert [row["_step"] for row in recorded().scan_history(["learn/RMSE"])] == [1, 2, 3, 4, 5]


AUTOLOG = """
import holter
holter.autolog()
import catboost, lightgbm, xgboost
from tests.frameworks.test_boosting import X, Y
xgboost.XGBRegressor(n_estimators=3).fit(X, Y, eval_set=[(X, Y)], verbose=False)
lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X, Y, eval_set=[(X, Y)])
catboost.CatBoostRegressor(iterations=3, allow_writing_files=False).fit(X, Y, verbose=False)
"""


def test_autolog_records_estimators(recorded: Callable[[], Any], pytestconfig: pytest.Config) -> None:
    subprocess.run([sys.executable, "-c", AUTOLOG], cwd=pytestconfig.rootpath, check=True, capture_output=True)
    assert {"validation_0/rmse", "training/l2", "learn/RMSE"} <= set(recorded().keys())
