"""Gains of control laws in MJCF files: the law that MuJoCo then applies, and nothing else changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from dynid.errors import InvalidRequestError, RobotFileError
from dynid.robot import PositionLaw, load_robot, write_back
from dynid.robot.formats.mjcf_actuators import ActuatorForm, with_position_laws

ARM = """<mujoco model="arm">
  <compiler autolimits="{autolimits}"/>
  <default>
    <default class="strong"><motor ctrlrange="-2 2" ctrllimited="true"/></default>
    <default class="stiff"><position kp="7" kv="3"/></default>
  </default>
  <worldbody>
    <body>
      <joint name="one" axis="0 1 0" ref="0.4"/>
      <geom size="0.1"/>
      <body pos="0.5 0 0">
        <joint name="two" type="slide" axis="1 0 0"/>
        <geom size="0.1"/>
        <body pos="0.5 0 0">
          <joint name="&quot;thr&amp;é&quot;" axis="0 1 0"/>
          <geom size="0.1"/>
        </body>
      </body>
    </body>
  </worldbody>
  {actuators}
</mujoco>
"""
CONSTANT = 0.25
THREE = '"thr&é"'
LAWS = {"one": PositionLaw(20.0, 0.5, 3.0), "two": PositionLaw(150.0, 4.0), THREE: PositionLaw(8.0, 0.0, 5.0)}


def written(
    tmp_path: Path, actuators: str, *, form: ActuatorForm, autolimits: str = "true"
) -> tuple[str, str, mujoco.MjModel]:
    """The file before and after, and MuJoCo's model of it."""
    source = tmp_path / "arm.xml"
    source.write_text(ARM.format(actuators=actuators, autolimits=autolimits), encoding="utf-8")
    robot = load_robot(source)
    laws = {name: replace(law, constant=CONSTANT if form == "general" else None) for name, law in LAWS.items()}
    done = write_back(robot, robot.parameters, {}, tmp_path / "new.xml", format="mjcf", laws=laws, actuators=form)
    assert done.edited
    return source.read_text("utf-8"), done.path.read_text("utf-8"), mujoco.MjModel.from_xml_path(str(done.path))


def torques(model: mujoco.MjModel, commands: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What MuJoCo's actuators do at the joints, where each command is behind its actuator's gear."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel = q, v
    joints = model.actuator_trnid[:, 0]
    data.ctrl = model.actuator_gear[:, 0] * commands[joints]
    mujoco.mj_forward(model, data)
    return data.qfrc_actuator.copy()


def law_torques(commands: np.ndarray, q: np.ndarray, v: np.ndarray, constant: float) -> np.ndarray:
    kp, kd, limit = np.array([(law.kp, law.kd, law.limit or np.inf) for law in LAWS.values()]).T
    return np.clip(kp * (commands - q) - kd * v + constant, -limit, limit)


POSITIONS = """<actuator>
    <position name="a" joint="one" kp='3' gear="2" ctrlrange="-9 9"/>  <!-- mine -->
    <general name="b" joint="two" gainprm="5" biastype="affine" biasprm="0 -5 -1"/>
    <position joint="&quot;thr&amp;é&quot;" class="stiff" dampratio="1"/>
  </actuator>"""
MOTORS = """<actuator>
    <motor name="a" joint="one" gear="50" class="strong"/>
    <general name="b" joint="two" ctrlrange="-8 8" ctrllimited="true"/>
  </actuator>"""


CASES = [(POSITIONS, "keep"), (MOTORS, "position"), ("", "position"), ("<actuator/>", "position")]
CASES += [(POSITIONS, "general"), (MOTORS, "general"), ("", "general")]


@pytest.mark.parametrize("autolimits", ["true", "false"])
@pytest.mark.parametrize(("actuators", "form"), CASES)
def test_mujoco_applies_the_law(tmp_path: Path, actuators: str, form: ActuatorForm, autolimits: str) -> None:
    if autolimits == "false":
        actuators = actuators.replace('ctrlrange="-9 9"', 'ctrlrange="-9 9" ctrllimited="true"')
    _, _, model = written(tmp_path, actuators, form=form, autolimits=autolimits)
    assert model.nu == 3
    for commands, q, v in np.random.default_rng(0).uniform(-0.3, 0.3, (20, 3, 3)):
        wanted = law_torques(commands, q, v, CONSTANT if form == "general" else 0.0)
        if actuators == MOTORS:  # it stated no limit for this joint, so that of its motor stays
            wanted[1] = np.clip(wanted[1], -8.0, 8.0)
        assert torques(model, commands, q, v) == pytest.approx(wanted, abs=1e-12)


def test_only_numbers_of_position_actuators_change(tmp_path: Path) -> None:
    before, after, model = written(tmp_path, POSITIONS, form="keep")
    assert before.split("<actuator>")[0] == after.split("<actuator>")[0]
    assert (
        """<position name="a" joint="one" kp='5' gear="2" ctrlrange="-9 9" kv="0.125" forcerange="-1.5 1.5"/>"""
        in after
    )
    assert "  <!-- mine -->\n" in after
    assert 'gainprm="150" biastype="affine" biasprm="0 -150 -4"/>' in after
    assert "dampratio" not in after
    assert model.actuator(0).name == "a"


def test_writing_the_same_law_again_changes_nothing(tmp_path: Path) -> None:
    _, after, _ = written(tmp_path, POSITIONS, form="keep")
    robot = load_robot(tmp_path / "new.xml")
    again = with_position_laws(after.encode(), tmp_path / "new.xml", robot.description, LAWS, form="keep")
    assert again == (after.encode(), {})


def test_motors_stay_motors_and_keep_their_names_when_replaced(tmp_path: Path) -> None:
    source = tmp_path / "arm.xml"
    source.write_text(ARM.format(actuators=MOTORS, autolimits="true"), encoding="utf-8")
    robot = load_robot(source)
    content = source.read_bytes()
    kept = with_position_laws(content, source, robot.description, LAWS, form="keep")
    assert kept == (content, {"motor": ["one", "two"], "none": [THREE]})
    _, _, model = written(tmp_path, MOTORS, form="position")
    assert [model.actuator(k).name for k in range(3)] == ["a", "b", THREE]
    assert not model.actuator_ctrllimited.any()


@pytest.mark.parametrize(
    "actuators",
    [
        '<actuator><position joint="one"/><velocity joint="one"/></actuator>',
        '<actuator><velocity joint="one"/></actuator>',
        '<actuator><position joint="one" kp="2"/><intvelocity joint="two" actrange="-1 1"/></actuator>',
    ],
)
def test_other_actuators_are_named_and_not_replaced(tmp_path: Path, actuators: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"joint '(one|two)' has"):
        written(tmp_path, actuators, form="position")
    assert not (tmp_path / "new.xml").exists()
    _, after, _ = written(tmp_path, actuators, form="keep")
    assert actuators.split("<")[-2] in after


def test_actuators_of_other_files_have_no_place(tmp_path: Path) -> None:
    (tmp_path / "drives.xml").write_text('<mujoco><actuator><position name="a" joint="one"/></actuator></mujoco>')
    source = tmp_path / "arm.xml"
    source.write_text(ARM.format(actuators='<include file="drives.xml"/>', autolimits="true"), encoding="utf-8")
    robot = load_robot(source)
    _, kept = with_position_laws(source.read_bytes(), source, robot.description, LAWS, form="keep")
    assert kept["elsewhere"] == ["one"]


def test_a_joint_without_a_name_cannot_get_an_actuator(tmp_path: Path) -> None:
    source = tmp_path / "arm.xml"
    source.write_text(ARM.format(actuators="", autolimits="true").replace('name="one" ', ""), encoding="utf-8")
    robot = load_robot(source)
    with pytest.raises(RobotFileError, match="no name"):
        with_position_laws(
            source.read_bytes(), source, robot.description, {robot.joints[0].name: LAWS["one"]}, form="position"
        )
