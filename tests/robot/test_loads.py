"""Loads on robots against Pinocchio's own adding of bodies."""

import numpy as np
import pinocchio as pin
import pytest

import dynid
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot.loads import Load, with_load, without_load
from tests.references import example_robot_file

TOOL = Load(2.0, np.array([0.01, -0.02, 0.08]), np.diag([0.01, 0.012, 0.008]), "tool0")


def test_a_load_adds_what_pinocchio_adds() -> None:
    path = example_robot_file("ur5_robot.urdf")
    robot = dynid.load_robot(path)
    model = pin.buildModelFromUrdf(str(path))
    frame = model.frames[model.getFrameId("tool0")]
    model.appendBodyToJoint(
        frame.parentJoint, pin.Inertia(TOOL.mass, TOOL.center_of_mass, TOOL.inertia), frame.placement
    )
    loaded = with_load(robot, TOOL)
    theirs = model.inertias[frame.parentJoint].toDynamicParameters()
    assert np.allclose(loaded.links[-1].parameters, theirs, rtol=1e-9, atol=1e-11)  # frames of the file are rounded
    for k in range(5):
        assert np.array_equal(loaded.links[k].parameters, robot.links[k].parameters)
    assert np.allclose(without_load(loaded, TOOL).parameters, robot.parameters, rtol=0, atol=1e-15)
    back = Load.of_parameters(TOOL.parameters, "tool0")
    assert np.allclose(back.of_link(robot)[1], TOOL.of_link(robot)[1], atol=1e-15)


def test_loads_that_cannot_be_are_refused() -> None:
    robot = dynid.load_robot(example_robot_file("ur5_robot.urdf"))
    with pytest.raises(UnknownNameError, match="tool0"):
        with_load(robot, Load(1.0, body="tool"))
    with pytest.raises(InvalidRequestError, match="does not move"):
        with_load(robot, Load(1.0, body="base_link"))
    with pytest.raises(InvalidRequestError, match="could not exist without a load of 5 kg"):
        without_load(robot, Load(5.0, body="wrist_3_link"))
    with pytest.raises(ShapeError, match="center_of_mass of a load"):
        Load(1.0, np.zeros(2))
    with pytest.raises(InvalidRequestError, match="finite"):
        Load(float("nan"))
