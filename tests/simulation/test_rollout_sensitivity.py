"""Sensitivities of rollouts equal central differences of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dynid import DynamicModel, DynidError, Robot, load_robot
from dynid.model.terms import Armature, Coulomb, Coupling, Offset, Spring, Term, Viscous
from dynid.simulation import ControlInput, RolloutParameters, SimulatedRobot, roll_out, sensitivities
from dynid.simulation.branches import independent_branches
from dynid.simulation.control_rollout import Rollout
from tests.rollouts import LAW, TWO_ARMS, commands, difference, everything
from tests.strategies import ARMS

VALUES = {
    "Ia": 0.3, "fv": 0.5, "fs": 0.4, "off": 0.2, "k": 3.0, "fst": 0.2, "fsp": 0.3, "fsn": 0.5, "fsig": 1.0,
    "Iam": 0.05, "fvm": 0.1, "fsm": 0.2, "Ia_motor": 0.2, "fv_motor": 0.5, "fs_motor": 0.3, "k_diff1_": 2.0,
}  # fmt: skip
"""Values of terms' parameters, by symbol."""


def valued(model: DynamicModel, seed: int = 0) -> np.ndarray:
    """The robot file's links with some friction and actuator terms."""
    rng = np.random.default_rng(seed)
    values = [VALUES.get(name.rstrip("0123456789"), 0.0) * rng.uniform(0.7, 1.3) for name in model.names]
    links = 10 * len(model.robot.solid_links)
    return np.where(np.arange(len(values)) < links, np.nan_to_num(model.reference), values)


def assert_exact(
    model: DynamicModel,
    law: dict[str, Any] | None = None,
    forms: dict[str, Any] | None = None,
    *,
    every: int = 1,
    samples: int = 25,
) -> np.ndarray:
    """Compare every so-manieth column with its central difference; the modes of motors."""
    n, rng = model.robot.nv, np.random.default_rng(1)
    time, held = commands(n, samples, uneven=True)
    feeds: dict[str, Any] = {"velocity": 0.1 * rng.normal(size=held.shape), "torque": 0.3 * rng.normal(size=held.shape)}
    control = ControlInput(time, held, **({"kp": np.full(n, 30.0), "kd": np.ones(n)} | feeds | (law or {})))
    robot = SimulatedRobot.of(model, valued(model), **(forms or {}))
    q0, v0, b = 0.9 * held[0], 0.3 * rng.normal(size=n), 0.02 * rng.normal(size=n)
    rollout = roll_out(robot, control, q0, v0, delay=0.0073, bias=b, steps_kept=True)
    assert rollout.ended is None
    parameters = everything(model)
    found = sensitivities(rollout, parameters, with_turns=False)  # tiny changes turn in the same steps
    both = np.stack([found.position, found.velocity])
    masses = robot.parameters[: 10 * len(model.robot.solid_links) : 10]
    columns = [
        column
        for column, (kind, at) in list(enumerate(parameters.columns))[::every]
        if not (kind == "model" and at < 10 * len(masses) and masses[at // 10] == 0.0)  # no link to change a little
    ]
    compared = 0
    for column in columns:
        wanted = difference(rollout, parameters, column, **(forms or {}))
        if wanted is not None:
            compared += 1
            size = np.abs(wanted).max(axis=(1, 2), keepdims=True)
            name = parameters.names(model)[column]
            assert (np.abs(both[..., column] - wanted) <= 1e-5 * size + 1e-7).all(), name
    assert compared >= 0.8 * len(columns)
    assert rollout.steps is not None
    return rollout.steps.saturated


def test_over_everything_on_a_chain_with_dry_friction() -> None:
    assert_exact(DynamicModel("builtin:two_link", ["armature", "viscous", "coulomb", "offset"]))
    assert_exact(DynamicModel("builtin:ur5", ["armature", "coulomb", "spring"]), every=3, samples=15)


@pytest.mark.parametrize("rate", [None, 300.0])
def test_where_motors_are_at_their_limits(rate: float | None) -> None:
    model = DynamicModel("builtin:two_link", ["armature", "viscous", "coulomb"])
    saturated = assert_exact(model, {"limit": np.full(2, 6.0), "rate": rate})
    assert 0.05 < np.mean(saturated != 0.0) < 0.8


@pytest.mark.parametrize(
    ("terms", "forms"),
    [
        (["armature", "viscous", "coulomb"], {"smoothing": 0.1}),
        (["armature", "viscous", "coulomb"], {"stribeck": (1.5, 0.1)}),
        (["armature", "stribeck"], {}),
        (["armature", "sigmoid"], {}),
        ([Armature(), Viscous(), Coulomb(), Coupling(1, 2), Offset(), Spring()], {}),
        ([*(f"motor_{name}:1=2*1+3*2:2=2*1-3*2" for name in ("inertia", "viscous", "coulomb")), "spring:1-2@0.2"], {}),
    ],
)
def test_of_other_forms_of_friction(terms: list[Term | str], forms: dict[str, Any]) -> None:
    gains = np.random.default_rng(0).uniform(20.0, 40.0, (25, 2))
    assert_exact(DynamicModel("builtin:two_link", terms), {"kp": gains}, forms)


def test_of_independent_branches_and_prismatic_joints(tmp_path) -> None:
    path = tmp_path / "two_arms.xml"
    path.write_text(TWO_ARMS)
    model = DynamicModel(load_robot(path), ["armature", "viscous", "coulomb"])
    forces = SimulatedRobot.of(model, valued(model)).forces
    assert [branch.tolist() for branch in independent_branches(model.robot, forces)] == [[0, 1, 2], [3, 4]]
    assert_exact(model, LAW, every=4)


@settings(max_examples=5)
@given(ARMS)
def test_of_any_robot(robot: Robot) -> None:
    model = DynamicModel(robot, ["armature", "viscous", "coulomb"])
    assert_exact(model, every=max(1, len(model.names) // 6), samples=6)


def test_turns_of_dry_elements_move_with_parameters() -> None:
    model = DynamicModel("builtin:two_link", ["armature", "viscous", "coulomb", "offset"])
    time = np.arange(0.0, 3.0, 0.01)
    held = np.sin(np.outer(time, [4.0, 7.0]))
    control = ControlInput(time, held, np.full(2, 60.0), np.full(2, 4.0))
    parameters = RolloutParameters(model=tuple(range(20, len(model.names))), delay=True)
    p = valued(model) * np.where([name.startswith("fs") for name in model.names], 20.0, 1.0)

    def rolled(values: np.ndarray, step: float, delay: float = 5e-3) -> Rollout:
        return roll_out(SimulatedRobot.of(model, values), control, held[0], delay=delay, step=step, steps_kept=True)

    rollout = rolled(p, 2.5e-3)
    found, held_modes = (sensitivities(rollout, parameters, with_turns=some).position for some in (True, False))
    errors = []
    for column, (kind, at) in enumerate(parameters.columns):
        change = 1e-3 if kind == "delay" else 0.02 * p[at]  # many turns move over several fine steps
        d = np.eye(len(p))[at] * change if kind == "model" else 0.0 * p
        late = change if kind == "delay" else 0.0
        wide = (rolled(p + d, 2e-4, 5e-3 + late).q - rolled(p - d, 2e-4, 5e-3 - late).q) / (2.0 * change)
        errors.append([np.linalg.norm(some[..., column] - wide) / np.linalg.norm(wide) for some in (found, held_modes)])
    with_turns, without = np.max(errors, axis=0)
    assert with_turns < 0.06
    assert without > 3.0 * with_turns


def test_only_branches_that_a_parameter_acts_on_have_it() -> None:
    model = DynamicModel("builtin:two_link", ["armature"])
    time, held = commands(2, 10)
    robot = SimulatedRobot.of(model, valued(model))
    control = ControlInput(time, held, np.full(2, 30.0), np.ones(2))
    parameters = RolloutParameters(model=(20,), delay=True, bias=(1,))
    found = sensitivities(roll_out(robot, control, held[0], steps_kept=True), parameters)
    assert parameters.names(model) == ("Ia1", "delay", "bias2")
    assert found.position.shape == (10, 2, 3)
    assert found.position[0].tolist() == [[0.0] * 3] * 2  # the measured start does not depend on the bias
    with pytest.raises(DynidError):
        sensitivities(roll_out(robot, control, held[0]), parameters)
