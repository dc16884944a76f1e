"""How much is identifiable of a humanoid, counted from Pinocchio's regressors at the same states."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import null_space

from dynid import DynamicModel, Inspection, Observed, Robot, inspect, load_robot
from dynid.arrays import Array
from dynid.model.sampling import random_states
from dynid.robot.pinocchio import to_pinocchio
from tests.references import example_robot_file, pinocchio_regressor

LEFT, RIGHT = "left_sole_link", "right_sole_link"
FEET = {"one foot": (LEFT,), "both feet": (LEFT, RIGHT)}


@cache
def talos() -> Robot:
    return load_robot(example_robot_file("talos_reduced.urdf"), floating_base=True)


def rank(matrix: Array) -> int:
    """Numerical rank of a matrix with columns of unit length, with a gap of five digits or more."""
    lengths = np.linalg.norm(matrix, axis=0)
    values = np.linalg.svd(matrix / np.where(lengths > 1e-9 * lengths.max(), lengths, np.inf), compute_uv=False)
    found = int(np.count_nonzero(values > 1e-8 * values[0]))
    assert values[found - 1] > 1e5 * values[found : found + 1].max(initial=0.0)
    return found


def soles(names: tuple[str, ...]) -> list[int]:
    return [places(talos())[name][0] for name in names]


def places(robot: Robot) -> dict[str, tuple[int, Array]]:
    """For each body its link, and its pose in that link's joint frame."""
    return {body.name: (k, body.placement) for k, link in enumerate(robot.links) for body in link.bodies}


@pytest.mark.parametrize("moving", [True, False])
def test_from_the_wrench_alone(moving: bool) -> None:
    inspection = inspect(talos(), wrench=True, moving=moving)
    states = random_states(inspection.model, 100, np.random.default_rng(7))
    W = pinocchio_regressor(talos(), *states)
    assert len(inspection.base_parameters) == rank(W[:6].reshape(-1, W.shape[2]))


@pytest.mark.parametrize("feet", FEET)
def test_from_the_wrench_on_feet_with_and_without_torques(feet: str) -> None:
    model = DynamicModel(talos(), (), Observed(("wrench",), stands_on=FEET[feet]))
    states = random_states(model, 100, np.random.default_rng(7))
    W = pinocchio_regressor(talos(), *states)
    alone = inspect(talos(), wrench=True, stands_on=FEET[feet])
    both = inspect(talos(), measured=["wrench", "torques"], stands_on=FEET[feet])
    assert len(alone.base_parameters) == rank(W[:6].reshape(-1, W.shape[2]))
    assert len(both.base_parameters) == rank(W.reshape(-1, W.shape[2]))
    assert len(alone.base_parameters) < len(both.base_parameters) or feet == "one foot"


@pytest.mark.parametrize("feet", FEET)
def test_from_torques_alone_while_forces_on_feet_are_unknown(feet: str) -> None:
    model = to_pinocchio(talos())
    data = model.createData()
    inspection = inspect(talos(), measured=["torques"], stands_on=FEET[feet])
    q, v, a = random_states(inspection.model, 40, np.random.default_rng(7))
    W = pinocchio_regressor(talos(), q, v, a).transpose(1, 0, 2)
    rows = []
    for one_q, of_one in zip(q, W, strict=True):
        J = np.concatenate([pin.computeJointJacobian(model, data, one_q, k + 1) for k in soles(FEET[feet])])
        rows.append(null_space(J).T @ of_one)
    assert len(inspection.base_parameters) == rank(np.concatenate(rows))


def test_a_quadruped_on_points_whose_forces_are_unknown() -> None:
    robot = load_robot(example_robot_file("go1.urdf"), floating_base=True)
    feet = [f"{side}_foot" for side in ("FL", "FR", "RL", "RR")]
    inspection = inspect(robot, measured=["torques"], stands_on=[f"{foot}:point" for foot in feet])
    model = to_pinocchio(robot)
    data = model.createData()
    q, v, a = random_states(inspection.model, 100, np.random.default_rng(7))
    W = pinocchio_regressor(robot, q, v, a).transpose(1, 0, 2)
    rows = []
    for one_q, of_one in zip(q, W, strict=True):
        J = []
        for link, placement in (places(robot)[foot] for foot in feet):
            at_foot = pin.SE3(placement).toActionMatrixInverse()
            J.append((at_foot @ pin.computeJointJacobian(model, data, one_q, link + 1))[:3])
        rows.append(null_space(np.concatenate(J)).T @ of_one)
    assert len(inspection.base_parameters) == rank(np.concatenate(rows))


def first_moments(q: Array) -> Array:
    """First moments of all masses in the world over link parameters, by Pinocchio's joint poses; (samples, 3, 10 n)."""
    model = to_pinocchio(talos())
    data = model.createData()
    X = np.zeros((len(q), 3, 10 * len(talos().links)))
    for k, one in enumerate(q):
        pin.forwardKinematics(model, data, one)
        for i in range(len(talos().links)):
            X[k, :, 10 * i] = data.oMi[i + 1].translation
            X[k, :, 10 * i + 1 : 10 * i + 4] = data.oMi[i + 1].rotation
    return X


MASS = np.tile(np.eye(10)[0], 33)
"""The total mass over link parameters."""


def ground() -> Array:
    model = to_pinocchio(talos())
    data = model.createData()
    pin.forwardKinematics(model, data, talos().neutral)
    (link,) = soles((LEFT,))
    return data.oMi[link + 1].act(places(talos())[LEFT][1][:3, 3])


@pytest.mark.parametrize("feet", FEET)
def test_from_the_centre_of_pressure_parameters_are_determined_relative_to_the_total_mass(feet: str) -> None:
    found = inspect(talos(), centre_of_pressure=True, stands_on=FEET[feet])
    q, _, _ = random_states(found.model, 200, np.random.default_rng(7))
    X = (first_moments(q) - ground()[:, None] * MASS)[:, :2]
    count = rank(X.reshape(-1, 330))
    assert len(found.base_parameters) == count
    # What is measured, for the links of the file: its null space holds them, and no other scale of theirs fits less.
    p = talos().parameters
    measured = (X - (X @ p / (MASS @ p))[:, :, None] * MASS).reshape(-1, 330)
    assert np.abs(measured @ p).max() < 1e-9 * np.abs(X @ p).max()
    assert rank(measured) == count
    assert_scale(found, is_determined=False, count=count)
    assert codes(found) == {"scale-needs-total-mass"}


def test_a_robot_that_was_weighed_has_a_scale() -> None:
    weighed = inspect(talos(), centre_of_pressure=True, stands_on=[LEFT], has_total_mass=True)
    assert_scale(weighed, is_determined=True, count=len(weighed.base_parameters))
    assert not codes(weighed)


def test_on_a_free_pivot_one_common_factor_is_undetermined() -> None:
    found = inspect(talos(), mounting="base_link")
    weighed = inspect(talos(), mounting="base_link", has_total_mass=True)
    q = random_states(found.model, 200, np.random.default_rng(7))[0]
    q[:, :7] = talos().neutral[:7]
    h = first_moments(q)
    count = rank(h.reshape(-1, 330))
    down = h @ talos().parameters
    measured = np.cross(h, down[:, :, None], axis=1)
    assert len(found.base_parameters) == count
    assert rank(measured.reshape(-1, 330)) == count - 1
    for inspection in (found, weighed):
        assert_scale(inspection, is_determined=False, count=count - 1)
        assert codes(inspection) == {"scale-undetermined"}
    known = inspect(talos(), mounting="base_link", known={found.base_parameters.names[-1]: 0.5})
    assert_scale(known, is_determined=True, count=count - 1)


def test_torques_beside_the_centre_of_pressure_give_the_total_mass() -> None:
    found = inspect(talos(), measured=["torques", "centre_of_pressure"], stands_on=[LEFT])
    static = inspect(talos(), wrench=True, gravity_only=True, stands_on=[LEFT])
    assert len(found.base_parameters) == len(static.base_parameters)
    assert found.scale is not None
    assert found.scale.is_determined
    assert inspect(talos(), wrench=True).scale is None


def assert_scale(inspection: Inspection, *, is_determined: bool, count: int) -> None:
    assert inspection.scale is not None
    assert (inspection.scale.is_determined, inspection.scale.count) == (is_determined, count)
    assert inspection.to_dict()["scale"]["count"] == count


def codes(inspection: Inspection) -> set[str]:
    return {finding.code for finding in inspection.findings if finding.code.startswith("scale")}
