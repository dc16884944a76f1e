"""Bodies that shall stand do so, as Pinocchio sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Observed, Robot, inspect, load_robot
from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.model.sampling import random_states
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointKind, Limits
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from dynid.robot.robot import Link
from tests.references import example_robot_file
from tests.strategies import FLOATING, random_inertia


def assert_still(robot: Robot, links: list[int], states: tuple[Array, Array, Array], tolerance: float) -> None:
    """By Pinocchio, the links are where the neutral posture has them, and neither move nor accelerate."""
    # Without masses: what moves where does not depend on them, and Pinocchio refuses some files' inertia.
    model = to_pinocchio(replace(robot, links=tuple(Link(link.name, ()) for link in robot.links)))
    data, there = model.createData(), model.createData()
    pin.forwardKinematics(model, there, tree_coordinates(robot, robot.neutral, np.zeros(robot.nv))[0])
    for q, v, a in zip(*states, strict=True):
        tree_q, tree_v = tree_coordinates(robot, q, v)
        pin.forwardKinematics(model, data, tree_q, tree_v, tree_coordinates(robot, q, a)[1])
        for link in links:
            assert np.abs((there.oMi[link + 1].inverse() * data.oMi[link + 1]).homogeneous - np.eye(4)).max() < 1e-11
            assert np.abs(pin.getVelocity(model, data, link + 1).vector).max() < tolerance
            assert np.abs(pin.getAcceleration(model, data, link + 1).vector).max() < 10 * tolerance


@given(FLOATING, st.integers(0, 1000))
def test_a_body_that_stands_is_where_the_neutral_posture_has_it_and_does_not_move(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    link = int(rng.integers(len(robot.links)))
    model = DynamicModel(robot, (), Observed(("wrench",), stands_on=(robot.links[link].name,)))
    states = random_states(model, 3, rng)
    assert_still(robot, [link], states, 1e-9)
    if any(joint.kind.nv == 1 for joint in robot.joints[1:]):
        assert np.ptp(states[0], axis=0).any()


@pytest.mark.parametrize(
    ("file", "soles"),
    [("talos_reduced.urdf", ("left_sole_link", "right_sole_link")), ("icub_reduced.urdf", ("l_sole", "r_sole"))],
)
def test_a_humanoid_stands_on_both_feet_within_its_limits(file: str, soles: tuple[str, str]) -> None:
    robot = load_robot(example_robot_file(file), floating_base=True)
    model = DynamicModel(robot, (), Observed(("wrench",), stands_on=soles))
    states = random_states(model, 30, np.random.default_rng(0))
    links = [k for k, link in enumerate(robot.links) if {body.name for body in link.bodies} & set(soles)]
    assert_still(robot, links, states, 1e-8)
    q, v, _ = states
    for joint in robot.independent_joints[1:]:
        if joint.limits.lower < joint.limits.upper:
            assert (q[:, joint.q] >= joint.limits.lower - 1e-12).all()
            assert (q[:, joint.q] <= joint.limits.upper + 1e-12).all()
    assert (np.ptp(q[:, :7], axis=0) > 0.01).all()  # the base still goes up and down, to the sides, and turns
    assert (np.abs(v).max(axis=0) > 0.1).all()


GO1 = tuple(f"{side}_foot:point" for side in ("FL", "FR", "RL", "RR"))


def test_a_quadruped_stands_on_points() -> None:
    """Its calves turn about the feet, whose origins stay where they are."""
    robot = load_robot(example_robot_file("go1.urdf"), floating_base=True)
    model = to_pinocchio(robot)
    data = model.createData()
    states = random_states(DynamicModel(robot, (), Observed(("wrench",), stands_on=GO1)), 20, np.random.default_rng(0))
    places = {body.name: (i + 1, body.placement[:3, 3]) for i, link in enumerate(robot.links) for body in link.bodies}
    pin.forwardKinematics(model, data, robot.neutral)
    there = [data.oMi[link].act(point) for link, point in (places[foot.removesuffix(":point")] for foot in GO1)]
    for q, v, a in zip(*states, strict=True):
        pin.forwardKinematics(model, data, q, v, a)
        for foot, before in zip(GO1, there, strict=True):
            link, point = places[foot.removesuffix(":point")]
            at = pin.SE3(np.eye(3), point)
            velocity = at.actInv(pin.getVelocity(model, data, link))
            acceleration = at.actInv(pin.getAcceleration(model, data, link))
            classical = acceleration.linear + np.cross(velocity.angular, velocity.linear)
            assert np.abs(data.oMi[link].act(point) - before).max() < 1e-12
            assert np.abs(velocity.linear).max() < 1e-10
            assert np.abs(classical).max() < 1e-9
    assert (np.ptp(states[0], axis=0) > 0.01).all()


def test_feet_stand_where_a_stated_posture_has_them() -> None:
    robot = load_robot(example_robot_file("talos_reduced.urdf"), floating_base=True)
    soles = ("left_sole_link", "right_sole_link")
    posture = robot.neutral
    posture[robot.joint("leg_left_1_joint").q] = 0.3
    observed = Observed(("wrench",), stands_on=soles, posture=tuple(posture))
    q, _, _ = random_states(DynamicModel(robot, (), observed), 5, np.random.default_rng(0))
    model = to_pinocchio(robot)
    data, there = model.createData(), model.createData()
    pin.forwardKinematics(model, there, posture)
    for one in q:
        pin.forwardKinematics(model, data, one)
        for k, link in enumerate(robot.links, 1):
            if {body.name for body in link.bodies} & set(soles):
                assert np.abs((there.oMi[k].inverse() * data.oMi[k]).homogeneous - np.eye(4)).max() < 1e-11
    with pytest.raises(ShapeError):
        DynamicModel(robot, (), Observed(("wrench",), stands_on=soles, posture=(0.0, 1.0)))
    for wrong in ({"leg_left_9_joint": 0.1}, {"root_joint": 0.1}):
        with pytest.raises((UnknownNameError, InvalidRequestError)):
            inspect(robot, wrench=True, stands_on=soles, posture=wrong)
    with pytest.raises(InvalidRequestError, match="stands_on"):
        inspect(robot, wrench=True, moving=True, posture={"leg_left_1_joint": 0.1})


def test_feet_that_cannot_be_reached_together_are_named() -> None:
    """The neutral posture, at zero, lies outside the limits of the only joint between them."""
    rng = np.random.default_rng(0)
    bodies = tuple(BodyDescription(name, frozen(random_inertia(rng))) for name in ("left", "right", "arm"))
    joints = (
        JointDescription("leg", JointKind.PRISMATIC, "left", "right", limits=Limits(0.5, 1.0)),
        JointDescription("swing", JointKind.REVOLUTE, "right", "arm"),
    )
    robot = assemble(Description("legs", "legs", bodies, joints), floating_base=True)
    assert len(inspect(robot, wrench=True, stands_on=["right"]).base_parameters)
    assert len(inspect(robot, wrench=True, stands_on=["left", "right"], posture={"leg": 0.7}).base_parameters)
    with pytest.raises(InvalidRequestError, match="left and right of 'legs' cannot be reached together"):
        inspect(robot, wrench=True, stands_on=["left", "right"])
