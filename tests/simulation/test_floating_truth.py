"""The simulated truth of floating robots: MuJoCo's force sensors, Pinocchio's dynamics and ours agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from dynid import DynamicModel, identify
from dynid.arrays import Array, frozen
from dynid.model.dynamic_model import Observed
from dynid.robot import JointKind, Limits, inertia
from dynid.robot.description import BodyDescription, Description, JointDescription
from tests.floating_kinematics import Frame, centre_of_mass, on_base, poses, pushes
from tests.floating_motions import KNOTS, StandingMotion, along, based, leg_by_leg, swinging
from tests.floating_robots import GO1, TALOS, LeggedRobot
from tests.floating_scores import score
from tests.floating_sensors import measured
from tests.floating_simulation import residual, simulate
from tests.floating_truth import OFF, off, true_joints, true_parameters
from tests.references import is_possible_body
from tests.strategies import random_inertia, random_pose

FOOT = "b3"
"""The body of the tree that rests."""


@cache
def tree(seed: int = 5) -> LeggedRobot:
    """A random tree of five joints, one of them prismatic: it stands on the last body of a chain of three."""
    rng = np.random.default_rng(seed)
    bodies, joints = [BodyDescription("base", frozen(random_inertia(rng)))], []
    for i, parent in enumerate(("base", "b1", "b2", "base", "b4"), start=1):
        axis = rng.normal(size=3)
        bodies.append(BodyDescription(f"b{i}", frozen(random_inertia(rng))))
        kind = JointKind.PRISMATIC if i == 2 else JointKind.REVOLUTE
        placement, unit = frozen(random_pose(rng, False)), frozen(axis / np.linalg.norm(axis))
        joints.append(JointDescription(f"j{i}", kind, parent, f"b{i}", placement, unit, Limits(-2.0, 2.0, 3.0)))
    return LeggedRobot("tree", Description("tree", "tree", tuple(bodies), tuple(joints)), (FOOT,), {}, (0, 0, 0, 0))


def waving(legged: LeggedRobot, seconds: float, seed: int) -> StandingMotion:
    """A motion of all joints of a tree, on which the base rides; no axis of the foot is where the file has it."""
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * KNOTS) + 1) / KNOTS
    fade = np.clip(np.minimum(t, t[-1] - t), 0.0, 1.0) ** 3
    waves = np.sin(2.0 * np.pi * rng.uniform(0.2, 0.8, (3, 5)) * t[:, None, None] + rng.uniform(0.0, 6.3, (3, 5)))
    return along(legged, t, based(legged, 0.3 * fade[:, None] * waves.sum(axis=1), FOOT, np.eye(4)), [FOOT])


@pytest.mark.parametrize("seed", range(5))
def test_base_rows_times_parameters_are_what_a_force_sensor_of_mujoco_measures(seed: int) -> None:
    legged = tree(seed)
    p = true_parameters(legged.robot, seed)
    run = simulate(legged, p, true_joints(legged, seed), waving(legged, 3.0, seed))
    q, v, a = run.q[::20], run.v[::20], run.a[::20]
    W = DynamicModel(legged.robot, (), Observed.WRENCH_MOVING).regressor(q, v, a)
    found = on_base(legged.robot, q, {body: wrench[::20] for body, wrench in run.wrenches.items()})
    assert np.abs((W @ p).T - found).max() < 1e-8 * np.abs(found).max()
    assert np.ptp(found, axis=0).min() > 1.0  # it moved


def test_the_wrench_under_a_foot_alone_halves_the_error_of_the_file() -> None:
    legged = tree()
    robot, true, joints = legged.robot, true_parameters(legged.robot, 0), true_joints(legged, 0)
    motions = [waving(legged, 15.0, 1), waving(legged, 6.0, 2)]
    first, other = (simulate(legged, true, joints, motion) for motion in motions)
    result = identify(robot, [measured(first, motions[0], 0)], terms=[])
    assert result.physical is not None
    found = np.array([result.physical.values[name] for name in DynamicModel(robot, ()).names])
    better, file = (score(robot, p, true, other.q[1000:5000:500], other) for p in (found, robot.parameters))
    assert better.impossible == 0
    assert better.mass < 3e-3 < file.mass
    assert better.wrench < 0.5 * file.wrench
    assert better.centre < 3e-3


@pytest.mark.parametrize("feet", [(), ("left_sole_link",)], ids=["both feet", "left foot"])
def test_talos_stands_in_balance_while_the_sensors_measure_what_pinocchio_says(feet: tuple[str, ...]) -> None:
    motion = swinging(TALOS, 5.0, 0, feet)
    p = true_parameters(TALOS.robot, 0)
    run = simulate(TALOS, p, true_joints(TALOS, 0), motion)
    force, torque = residual(TALOS, p, run)
    assert force < 1e-6
    assert torque < 1e-6
    assert motion.margin(TALOS.robot.parameters, np.arange(0.1, 4.9, 0.02)) > 0.01
    for body, target in motion.feet.items():
        assert np.abs(Frame.of(TALOS.robot, body).pose(poses(TALOS.robot, run.q)) - target).max() < 1e-5


@pytest.mark.parametrize("make", [leg_by_leg, swinging])
def test_a_quadruped_feels_no_torque_under_feet_that_are_points(
    make: Callable[[LeggedRobot, float, int], StandingMotion],
) -> None:
    motion = make(GO1, 2.0, 0)
    p = true_parameters(GO1.robot, 0)
    run = simulate(GO1, p, true_joints(GO1, 0), motion)
    assert max(residual(GO1, p, run)) < 1e-6
    for body in set(motion.feet) & set(GO1.feet):
        assert np.abs(run.wrenches[body][:, 3:]).max() < 1e-6


def test_torques_of_joints_are_motors_less_friction_and_the_forces_at_the_feet() -> None:
    p, joints = true_parameters(GO1.robot, 0), true_joints(GO1, 0)
    joints[1] = 0.0  # dry friction is what it wants to be at rest
    run = simulate(GO1, p, joints, swinging(GO1, 2.0, 1))
    q, v, a = run.q[::50], run.v[::50], run.a[::50]
    tau = DynamicModel(GO1.robot, ()).inverse_dynamics(q, v, a, p)
    F = [poses_of(body, q)[:, :3, :3] @ run.wrenches[body][::50, :3, None] for body in GO1.feet]
    held = pushes(GO1.robot, q, GO1.feet, point=True) @ np.concatenate(F, axis=1)
    expected = tau[:, 6:] - held[:, 6:, 0] + joints[0] * v[:, 6:] + joints[2] * a[:, 6:]
    assert np.abs(run.torque[::50] - expected).max() < 1e-6


def poses_of(body: str, q: Array) -> Array:
    return Frame.of(GO1.robot, body).pose(poses(GO1.robot, q))


def test_centres_of_mass_are_pinocchios() -> None:
    from dynid.robot.pinocchio import to_pinocchio

    robot, q = TALOS.robot, swinging(TALOS, 2.0, 3).q[::50]
    model = to_pinocchio(robot)
    data = model.createData()
    expected = [pin.centerOfMass(model, data, each).copy() for each in q]
    assert np.allclose(centre_of_mass(robot, robot.parameters, q), expected, atol=1e-12)


def test_links_are_off_by_what_is_asked_for_and_stay_bodies() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        link = random_inertia(rng)
        other = off(link, rng)
        assert is_possible_body(other)
        sizes = inertia.sizes(link)
        assert np.linalg.norm((other - link) / sizes) == pytest.approx(OFF * np.linalg.norm(link / sizes), rel=0.05)


def test_motions_that_limits_do_not_allow_are_made_smaller() -> None:
    wide = replace(TALOS, pelvis=tuple(3.0 * x for x in TALOS.pelvis))
    ranges = [(joint.limits.lower, joint.limits.upper) for joint in TALOS.robot.joints[1:]]
    low, high = np.transpose(ranges)
    q = swinging(wide, 2.0, 0).q[:, 7:]
    assert (q >= low).all()
    assert (q <= high).all()
