"""Friction of loaded gears in rollouts: against a simulation that has nothing of dynid in it, and its slopes."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, DynidError
from dynid.arrays import Array
from dynid.simulation import ControlInput, SimulatedRobot, roll_out, sensitivities
from tests.rollouts import commands, difference, everything
from tests.servo_truth import MODELS, ServoPendulum, servo_log

TERMS = ("load_friction", "load_stribeck", "directional_friction", "quadratic_friction")
VALUES = {"fs": 0.3, "fst": 0.2, "kl": 0.05, "kls": 0.06, "km": 0.03, "ke": 0.08, "kms": 0.05, "kes": 0.1}
VALUES |= {"qm": 0.01, "qe": 0.02, "Ia": 0.3, "fv": 0.5}


@pytest.mark.parametrize("name", MODELS)
def test_rollouts_are_those_of_another_simulation(name: str) -> None:
    truth = ServoPendulum(friction=MODELS[name].friction, offset=0.01)
    log = servo_log(truth, 3, counts=0, seconds=12.0)
    model = DynamicModel(truth.robot, ["armature", *MODELS[name].terms, "offset"])
    model = model.at_nonlinear({one.name: truth.friction["vs"] for one in model.nonlinear})
    robot = SimulatedRobot.of(model, truth.parameters(model))
    found = roll_out(robot, ControlInput.of(log.time, log.commands), log.position[0], step=5e-4)
    assert np.sqrt(np.mean((found.q - log.position) ** 2)) < 3e-4
    assert np.ptp(log.position) > 1.0


def valued(model: DynamicModel) -> Array:
    rng = np.random.default_rng(2)
    reference = np.nan_to_num(model.reference)
    drawn = [VALUES.get(name.rstrip("0123456789"), 0.0) * rng.uniform(0.8, 1.2) for name in model.names]
    return np.where(np.arange(len(reference)) < len(model.robot.parameters), reference, drawn)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("rate", [None, 300.0])
def test_slopes_are_central_differences(term: str, rate: float | None) -> None:
    model = DynamicModel("builtin:two_link", ["armature", "viscous", term])
    rng = np.random.default_rng(1)
    time, held = commands(2, 20, uneven=True)
    control = ControlInput(
        time,
        held,
        np.full(2, 40.0),
        np.ones(2),
        limit=np.array([12.0, np.inf]),
        rate=rate,
        back_emf=np.array([1.0, 0.0]),
    )
    start = {"q0": 0.9 * held[0], "v0": 0.3 * rng.normal(size=2), "delay": 0.0073, "bias": np.array([0.01, -0.02])}
    rollout = roll_out(SimulatedRobot.of(model, valued(model)), control, **start, steps_kept=True)
    assert rollout.steps is not None
    assert np.mean(rollout.steps.mode != 0.0) > 0.3
    parameters = everything(model)
    found = sensitivities(rollout, parameters, with_turns=False)
    both, compared = np.stack([found.position, found.velocity]), 0
    columns = [k for k, (kind, at) in enumerate(parameters.columns) if kind != "model" or at >= 20 or at % 4 == 1]
    for column in columns:
        wanted = difference(rollout, parameters, column)
        if wanted is not None:
            compared += 1
            size = np.abs(wanted).max(axis=(1, 2), keepdims=True)
            assert (np.abs(both[..., column] - wanted) <= 2e-5 * size + 2e-7).all(), parameters.names(model)[column]
    assert compared >= 0.7 * len(columns)


def test_what_cannot_be_simulated_is_refused() -> None:
    model = DynamicModel("builtin:two_link", ["load_friction"])
    p = np.where([name == "kl1" for name in model.names], -0.1, np.nan_to_num(model.reference))
    with pytest.raises(DynidError, match="negative parameter"):
        SimulatedRobot.of(model, p)
    with pytest.raises(DynidError, match="no smooth form"):
        SimulatedRobot.of(model, np.abs(p), smoothing=0.1)


def test_friction_that_is_near_rest_alone_is_that_of_a_tiny_level_at_speed() -> None:
    model = DynamicModel("builtin:two_link", ["armature", "viscous", "stribeck"])
    time, held = commands(2, 20, uneven=True)
    control = ControlInput(time, held, np.full(2, 40.0), np.ones(2))
    levels = [k for k, name in enumerate(model.names) if name in ("fs1", "fs2")]
    found = []
    for level in (0.0, 1e-9):
        p = valued(model)
        p[levels] = level
        found.append(roll_out(SimulatedRobot.of(model, p), control, 0.9 * held[0], steps_kept=True))
    np.testing.assert_allclose(found[0].q, found[1].q, atol=1e-7)
    slopes = [sensitivities(one, everything(model), with_turns=False).position for one in found]
    assert np.isfinite(slopes[0]).all()
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-5 * np.abs(slopes[1]).max())
