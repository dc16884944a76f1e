"""Samples to regressors and factors, beside a plain loop over Pinocchio in the same run."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.model.chunks import Chunk
from dynid.model.kernels.kernel import RegressorPlan
from dynid.model.row_bases import row_bases
from dynid.model.sampling import random_states
from dynid.robot.pinocchio import to_pinocchio

SAMPLES = 20_000


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, tuple[Array, Array, Array]]:
    robot = load_robot("builtin:panda")
    return robot, random_states(DynamicModel(robot), SAMPLES, np.random.default_rng(0))


def block_plan(robot: Robot) -> RegressorPlan:
    """Every row with the links that its joint moves, and no others."""
    n = len(robot.joints)
    places = [np.where(np.arange(10 * n) < 10 * row, -1, np.arange(10 * n) - 10 * row) for row in range(n)]
    return RegressorPlan(robot, tuple(10 * (n - row) for row in range(n)), tuple(places))


def pinocchio_loop(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """What everybody writes first: a Python loop over samples."""
    model = to_pinocchio(robot)
    data = model.createData()
    W = np.empty((len(q), model.nv, 10 * model.nv))
    for k in range(len(q)):
        W[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
    return W


@pytest.mark.benchmark(group="regressor, 7-axis arm, 20,000 samples")
def test_kernel(benchmark, arm) -> None:
    robot, states = arm
    plan = block_plan(robot)
    plan.evaluate(*states)
    benchmark(plan.evaluate, *states)


@pytest.mark.benchmark(group="regressor, 7-axis arm, 20,000 samples")
def test_loop_over_pinocchio(benchmark, arm) -> None:
    robot, states = arm
    benchmark(pinocchio_loop, robot, *states)


@pytest.mark.benchmark(group="samples to factors, 7-axis arm, 20,000 samples")
def test_factorise(benchmark, arm) -> None:
    robot, (q, v, a) = arm
    model = DynamicModel(robot)
    row_bases(model)
    samples = [Chunk(q, v, a, np.random.default_rng(0).normal(size=(SAMPLES, 7)))]
    factorise(model, samples)
    benchmark(factorise, model, samples)


@pytest.mark.benchmark(group="samples to factors, 7-axis arm, 20,000 samples")
def test_loop_over_pinocchio_and_qr(benchmark, arm) -> None:
    robot, states = arm
    base = find_base_parameters(DynamicModel(robot))
    torque = np.random.default_rng(0).normal(size=(SAMPLES * 7, 1))

    def plain() -> Array:
        W = pinocchio_loop(robot, *states).reshape(-1, 70)[:, list(base.columns)]
        return np.asarray(np.linalg.qr(np.hstack([W, torque]), mode="r"))

    benchmark.pedantic(plain, rounds=3)


@pytest.mark.benchmark(group="base parameters")
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_base_parameters(benchmark, name: str) -> None:
    benchmark(find_base_parameters, DynamicModel(load_robot(f"builtin:{name}")))
