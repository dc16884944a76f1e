"""Motors that robot files state."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import InvalidRequestError
from dynid.logs import Drive, transmission_of
from dynid.robot import matrix_of

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINKS = "".join(f'<link name="l{k}"><inertial><mass value="1"/>{INERTIA}</inertial></link>' for k in range(4))
JOINTS = "".join(
    f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 0 1"/></joint>'
    for k in (1, 2, 3)
)


def transmission(kind: str, joints: str, actuators: str) -> str:
    """A transmission; joints and actuators are NAME:REDUCTION:OFFSET, each with the number of its role before it."""
    parts = []
    for tag, text in (("joint", joints), ("actuator", actuators)):
        for one in text.split():
            role, name, reduction, offset = one.split(":")
            parts.append(
                f'<{tag} name="{name}"><role>{tag}{role}</role><mechanicalReduction>{reduction}</mechanicalReduction>'
                f"<offset>{offset}</offset></{tag}>"
            )
    return f'<transmission name="t"><type>transmission_interface/{kind}</type>{"".join(parts)}</transmission>'


def robot_with(tmp_path, *transmissions: str):
    """A chain of three joints with transmissions."""
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm">{LINKS}{JOINTS}{"".join(transmissions)}</robot>')
    return load_robot(path)


def test_transmissions_are_those_of_ros_control(tmp_path) -> None:
    simple = transmission("SimpleTransmission", "1:j1:1:0.5", "1:m1:-80:0")
    wrist = transmission("DifferentialTransmission", "2:j3:-3:0 1:j2:2:0.1", "1:m2:-50:0 2:m3:40:0")
    robot = robot_with(tmp_path, simple, wrist)
    N, offsets = matrix_of(robot)
    # w1 = n_a1 (n_j1 v1 + n_j2 v2), w2 = n_a2 (n_j1 v1 - n_j2 v2): the class DifferentialTransmission
    assert N.tolist() == [[-80.0, 0.0, 0.0], [0.0, -100.0, 150.0], [0.0, 80.0, 120.0]]
    drive = transmission_of(Drive(matrix="robot", positions="motor", torques="motor"), robot)
    q = np.array([[0.3, -0.2, 0.7]])
    motors = (q - offsets) @ N.T  # x_a = N (x_j - x_off)
    assert np.allclose(drive.joint_positions(motors), q)
    assert [motor.name for motor in robot.motors] == ["m1", "m2", "m3"]


def test_a_four_bar_linkage_and_joints_without_a_motor(tmp_path) -> None:
    robot = robot_with(tmp_path, transmission("FourBarLinkageTransmission", "1:j2:2:0 2:j3:3:0", "1:m2:50:0 2:m3:40:0"))
    assert matrix_of(robot)[0].tolist() == [[1.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 40.0, 120.0]]
    held = load_robot(tmp_path / "arm.urdf", lock=["j2"])
    assert matrix_of(held)[0].tolist() == [[1.0, 0.0], [0.0, 120.0]]


BAD = {
    "type": transmission("GearboxTransmission", "1:j2:1:0 2:j3:1:0", "1:a:1:0 2:b:1:0"),
    "joints": transmission("DifferentialTransmission", "1:j2:1:0", "1:a:1:0 2:b:1:0"),
    "unknown": transmission("SimpleTransmission", "1:j9:1:0", "1:a:1:0"),
    "zero": transmission("SimpleTransmission", "1:j1:1:0", "1:a:0:0"),
    "text": transmission("SimpleTransmission", "1:j1:1:0", "1:a:fast:0"),
}


@pytest.mark.parametrize("case", BAD)
def test_transmissions_that_cannot_be_read_are_named(case: str, tmp_path) -> None:
    robot = robot_with(tmp_path, BAD[case])
    assert [finding.code for finding in robot.description.findings] == ["transmission-ignored"]
    with pytest.raises(InvalidRequestError, match="no transmissions"):
        matrix_of(robot)
