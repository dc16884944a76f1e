"""Friction models are compared on held-out logs, and the poorest that none is clearly better than is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid import DynamicModel, DynidError
from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.identification.friction_comparison import FrictionTrial, _carried_over, _chosen
from dynid.logs import Control
from tests.servo_truth import MODELS, ServoPendulum, creeps, servo_log

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


def test_a_few_blocks_with_large_errors_do_not_hide_the_others() -> None:
    rng = np.random.default_rng(3)
    rare = np.where(np.arange(60) % 20 == 7, 200.0, 1.0)  # a joint that sticks for a second, or does not
    found = [trial("M5", 9, rare * rng.uniform(1.2, 2.0, 60)), trial("M6", 11, rng.uniform(0.9, 1.1, 60))]
    assert _chosen(found) == "M6"
    overfitted = [trial("M5", 9, np.ones(60)), trial("M6", 11, 0.95 * rare)]  # better in most blocks, far worse in some
    assert _chosen(overfitted) == "M5"


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


def test_estimates_of_a_poorer_model_are_where_a_richer_one_starts() -> None:
    truth = ServoPendulum(friction=MODELS["M4"].friction, offset=0.01)
    log = servo_log(truth, 1, seconds=4.0)

    def robot_of(terms: tuple[str, ...]) -> CommandedRobot:
        model = DynamicModel(truth.robot, ["armature", *terms, "offset"])
        return CommandedRobot(model, truth.robot.parameters, {}, (log,), Control(**LAW))  # type: ignore[arg-type]

    robots = [robot_of(MODELS[name].terms) for name in ("M4", "M5", "M6")]
    none = np.zeros(1)
    m4 = LawPoint(truth.parameters(robots[0].model), 0.0, "continuous", none + 1.0, none, np.array([0.3]))
    m5 = _carried_over(robots[0].model, m4, robots[1])
    np.testing.assert_allclose(robots[1].roll_out(0, m5).q, robots[0].roll_out(0, m4).q, atol=1e-12)
    m6 = _carried_over(robots[1].model, m5, robots[2])
    squares = [robots[2].model.names.index(name) for name in ("qm1", "qe1")]
    assert np.all(m6.p[squares] > 0.0)  # at zero, which is a bound, they may never leave it
    m6.p[squares] = 0.0
    np.testing.assert_allclose(robots[2].roll_out(0, m6).q, robots[0].roll_out(0, m4).q, atol=1e-12)


def test_squares_of_loads_are_found_and_no_local_minimum_beside_them() -> None:
    truth = ServoPendulum(mass=0.3, friction=MODELS["M6"].friction, offset=0.01)
    truth = replace(truth, servo=truth.servo.model_copy(update={"kp": 1.5}))
    weights = (0.0, 0.7, 1.7, 1.2)
    logs = [servo_log(truth, k, seconds=8.0, motion=creeps, added=added) for k, added in enumerate(weights)]
    found = dynid.compare_friction(truth.robot, logs[:3], logs[3:], control=LAW, models=["M5", "M6"])
    assert found.chosen == "M6"
    assert found["M6"].rmse < 0.5e-3  # an encoder of 4096 counts has 0.44 mrad
    true = {**truth.friction, "Ia": truth.armature}
    for key in ("Ia", "ke", "vs"):
        assert found["M6"].values[f"{key}1"] == pytest.approx(true[key], rel=0.05)
