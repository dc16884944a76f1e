"""Identified values are put on the bodies of links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import Robot, load_robot
from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.formats.revision import identified, revised
from dynid.robot.frames import pose
from dynid.robot.joints import JointDynamics, JointKind
from tests.strategies import random_inertia, random_pose, robots


def assert_same_parameters(found: Array, wanted: Array) -> None:
    for p, w in zip(found.reshape(-1, 10), wanted.reshape(-1, 10), strict=True):
        assert np.abs(p - w).max() <= 1e-12 * np.abs(w).max()


@given(robots(), st.integers(0, 2**32 - 1), st.floats(0.05, 3.0))
def test_bodies_add_up_to_the_links_and_stay_possible(robot: Robot, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    wanted = np.concatenate([scale * random_inertia(rng) for _ in robot.solid_links])
    new = revised(robot, wanted, {})
    assert_same_parameters(new.parameters, wanted)
    for link in new.links:
        assert all(inertia.is_physical(body.inertia) for body in link.bodies if body.inertia is not None)


@given(robots(), st.integers(0, 2**32 - 1))
def test_a_link_that_does_not_change_keeps_its_bodies(robot: Robot, seed: int) -> None:
    wanted = robot.parameters.reshape(-1, 10).copy()
    wanted[0] = random_inertia(np.random.default_rng(seed))
    new = identified(robot, wanted, {})
    touched = {body.name for body in robot.links[robot.solid_links[0]].bodies}
    for before, after in zip(robot.description.bodies, new.bodies, strict=True):
        assert before.name in touched or after is before
    same = identified(robot, robot.parameters, {})
    assert all(a is b for a, b in zip(same.bodies, robot.description.bodies, strict=True))


def welded(*bodies: BodyDescription) -> Robot:
    """A link of several bodies on a hinge; the first is the one that the joint holds."""
    joints = [JointDescription("hinge", JointKind.REVOLUTE, "base", bodies[0].name)]
    joints += [JointDescription(f"weld {b.name}", JointKind.FIXED, bodies[0].name, b.name) for b in bodies[1:]]
    return assemble(Description("arm", "arm", (BodyDescription("base"), *bodies), tuple(joints)))


def test_the_body_that_the_joint_holds_takes_the_change_where_it_can() -> None:
    rng = np.random.default_rng(0)
    tool = BodyDescription("tool", frozen(random_inertia(rng)), frozen(random_pose(rng, False)))
    robot = welded(BodyDescription("arm", frozen(random_inertia(rng))), tool)
    new = identified(robot, robot.parameters + random_inertia(rng), {})
    assert new.bodies[2].inertia is tool.inertia
    assert new.bodies[1].inertia is not robot.description.bodies[1].inertia


def test_the_heaviest_takes_it_where_the_held_body_has_no_inertia() -> None:
    rng = np.random.default_rng(0)
    light, heavy = 0.1 * random_inertia(rng), random_inertia(rng)
    robot = welded(BodyDescription("arm"), BodyDescription("a", frozen(light)), BodyDescription("b", frozen(heavy)))
    new = identified(robot, robot.parameters * 2, {})
    assert new.bodies[1].inertia is None
    assert new.bodies[2].inertia is robot.description.bodies[2].inertia
    nothing = welded(BodyDescription("arm"), BodyDescription("a"))
    assert identified(nothing, light, {}).bodies[1].inertia is not None


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_a_lighter_link_is_a_deformed_one_with_all_bodies_possible(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    bodies = [
        BodyDescription(f"b{k}", frozen(random_inertia(rng)), frozen(random_pose(rng, False))) for k in range(count)
    ]
    point = frozen(inertia.from_mass_com_inertia(0.1, np.zeros(3), np.zeros((3, 3))))
    bodies.append(BodyDescription("point", point, frozen(random_pose(rng, False))))
    robot = welded(BodyDescription("arm", frozen(0.01 * random_inertia(rng))), *bodies)
    wanted = 0.2 * random_inertia(rng)
    new = revised(robot, wanted, {})
    assert_same_parameters(new.parameters, wanted)
    assert all(inertia.is_physical(body.inertia, 0.0) for body in new.links[0].bodies if body.inertia is not None)
    half = identified(robot, 0.5 * robot.parameters, {})  # the deformation is then a scale of mass
    for before, after in zip(robot.links[0].bodies, half.bodies[1:], strict=True):
        assert before.inertia is not None
        assert after.inertia is not None
        assert np.allclose(after.inertia, 0.5 * before.inertia, rtol=0, atol=1e-12)


def test_a_link_on_the_boundary_as_solvers_leave_it_is_no_harder() -> None:
    rng = np.random.default_rng(3)
    tool = BodyDescription("tool", frozen(random_inertia(rng)), frozen(random_pose(rng, False)))
    robot = welded(BodyDescription("arm", frozen(0.1 * random_inertia(rng))), tool)
    for outside in (0.0, 1e-9):
        plate = np.diag([1.0, 2.0, 3.0 + outside])
        wanted = inertia.from_mass_com_inertia(0.5, np.array([0.1, 0.2, 0.0]), 0.01 * plate)
        new = revised(robot, wanted, {})
        assert_same_parameters(new.parameters, wanted)
        assert all(inertia.is_physical(b.inertia, 1e-6) for b in new.links[0].bodies if b.inertia is not None)


def test_points_on_a_line_and_impossible_bodies_do_not_stop_it() -> None:
    point = frozen(inertia.from_mass_com_inertia(1.0, np.array([0.1, 0, 0]), np.zeros((3, 3))))
    impossible = frozen(inertia.from_mass_com_inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0])))
    wanted = inertia.from_mass_com_inertia(0.5, np.array([0.2, 0, 0]), 0.01 * np.eye(3))
    for held, other in ((point, point), (point, impossible)):
        at = frozen(pose(translation=np.array([0.3, 0.0, 0.0])))
        new = revised(welded(BodyDescription("arm", held), BodyDescription("tool", other, at)), wanted, {})
        assert_same_parameters(new.parameters, wanted)
        primary = new.links[0].bodies[0].inertia
        assert primary is not None
        assert inertia.is_physical(primary)


def test_dynamics_are_updated_by_name_and_locks_and_gravity_stay() -> None:
    robot = load_robot("builtin:ur5", lock={"elbow_joint": 0.7, "5": 0.0}, gravity=(0, 0, 9.81))
    assert robot.locked == {"elbow_joint": 0.7, "wrist_2_joint": 0.0}
    new = revised(robot, robot.parameters, {robot.joints[0].name: JointDynamics(damping=2.0)})
    before = robot.joints[0].dynamics
    assert new.joints[0].dynamics == replace(before, damping=2.0)
    assert [joint.name for joint in new.joints] == [joint.name for joint in robot.joints]
    assert all(np.array_equal(a.placement, b.placement) for a, b in zip(new.joints, robot.joints, strict=True))
    assert np.array_equal(new.gravity, robot.gravity)
    with pytest.raises(UnknownNameError, match="did you mean"):
        identified(robot, robot.parameters, {"elbow_joint_": JointDynamics(1.0)})
    with pytest.raises(ShapeError, match="link parameters"):
        identified(robot, robot.parameters[:-1], {})
    with pytest.raises(InvalidRequestError, match="NaN"):
        identified(robot, np.nan * robot.parameters, {})
