"""Friction models are compared on held-out logs, and the poorest that none is clearly better than is chosen."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid import DynidError
from dynid.identification.friction_comparison import FrictionTrial, _chosen
from tests.servo_truth import MODELS, ServoPendulum, servo_log

LAW = {"delay": 0.0, "law": "continuous", "bias": False}


def trial(name: str, count: int, blocks: np.ndarray) -> FrictionTrial:
    return FrictionTrial(name, (), count, float(np.sqrt(blocks.mean())), {}, {}, blocks)


def test_a_richer_model_must_be_clearly_better() -> None:
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.9, 1.1, 60)
    same = [trial("M1", 4, noise), trial("M3", 5, noise * rng.uniform(0.98, 1.02, 60)), trial("M5", 9, 0.999 * noise)]
    assert _chosen(same) == "M1"
    better = [trial("M1", 4, 3.0 * noise), trial("M3", 5, noise), trial("M5", 9, 0.999 * noise)]
    assert _chosen(better) == "M3"
    lost = [trial("M1", 4, np.full(60, np.inf)), trial("M3", 5, noise)]
    assert _chosen(lost) == "M3"


def test_load_friction_is_found_on_held_out_logs() -> None:
    truth = ServoPendulum(friction=MODELS["M3"].friction, offset=0.01)
    logs = [servo_log(truth, seed, seconds=12.0) for seed in (1, 2)]
    found = dynid.compare_friction(truth.robot, logs[:1], logs[1:], control=LAW, models=["M1", "M3"])
    assert found.chosen == "M3"
    assert found["M3"].values["kl1"] == pytest.approx(0.06, rel=0.1)
    assert found.to_dict()["models"][0]["rmse"] > found["M3"].rmse
    assert len(repr(found)) < 200


def test_models_and_logs_that_are_missing_are_named() -> None:
    truth = ServoPendulum(friction={"fs": 0.05})
    log = servo_log(truth, 1, seconds=5.0)
    with pytest.raises(DynidError, match="'M7' is no friction model"):
        dynid.compare_friction(truth.robot, [log], [log], models=["M7"])
    with pytest.raises(DynidError, match="give both"):
        dynid.compare_friction(truth.robot, [log], [])
