"""The batch regressor beside a plain loop over Pinocchio's, in one run."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from dynid import DynamicModel, find_base_parameters, inertial_regressor, load_robot
from dynid.model.sampling import random_states
from dynid.robot.pinocchio import to_pinocchio

SAMPLES = 2000


@pytest.fixture(scope="module", params=["ur5", "panda"])
def arm(request):
    robot = load_robot(f"builtin:{request.param}")
    return robot, random_states(DynamicModel(robot), SAMPLES, np.random.default_rng(0))


@pytest.mark.benchmark(group="regressor")
def test_batch(benchmark, arm) -> None:
    robot, states = arm
    benchmark(inertial_regressor, robot, *states)


@pytest.mark.benchmark(group="regressor")
def test_loop_over_pinocchio(benchmark, arm) -> None:
    robot, (q, v, a) = arm
    model = to_pinocchio(robot)
    data = model.createData()

    def loop() -> np.ndarray:
        W = np.empty((SAMPLES, model.nv, 10 * model.nv))
        for k in range(SAMPLES):
            W[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return W

    benchmark(loop)


@pytest.mark.benchmark(group="base parameters")
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_base_parameters(benchmark, name: str) -> None:
    benchmark(find_base_parameters, DynamicModel(load_robot(f"builtin:{name}")))
