"""Robots read from MJCF move and weigh as they do in MuJoCo."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid import DynamicModel, Robot, Severity, joint_poses, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.model.sampling import random_states
from dynid.model.terms import Armature
from dynid.robot import inertia
from dynid.robot.audit import audit
from dynid.robot.description import Description
from dynid.robot.formats.mjcf_reader import read_mjcf
from dynid.robot.joints import JointKind, rotation_from_quaternion
from tests.mjcf_texts import FOLLOWERS, INERTIAL, TEXTS, TIP, wrapped

mujoco: Any = importlib.import_module("mujoco")  # it has no type information


def described(folder: Path, text: str) -> Description:
    path = folder / "robot.xml"
    path.write_text(text)
    return read_mjcf(path)


def states(robot: Robot) -> tuple[Array, Array, Array]:
    return random_states(DynamicModel(robot), 10, np.random.default_rng(1))


def to_mujoco(robot: Robot, model: Any, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """MuJoCo's qpos, and J, b with qvel = J v and qacc = J a + b: its free joints have linear parts in the world."""
    qpos, J, b = np.zeros(model.nq), np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
    for j, joint in enumerate(robot.joints):
        own = q[joint.q] if joint.leader is None else joint.ratio * q[joint.q] + joint.offset
        if joint.kind.has_quaternion:
            own = np.concatenate([own[:-4], own[-1:], own[-4:-1]])
        first = model.jnt_dofadr[j]
        qpos[model.jnt_qposadr[j] :][: len(own)] = own
        J[first : first + joint.kind.nv, joint.v] = joint.ratio * np.eye(joint.kind.nv)
        if joint.kind is JointKind.FREE_FLYER:
            R = rotation_from_quaternion(q[joint.q][None, 3:])[0]
            linear, angular = v[joint.v][:3], v[joint.v][3:]
            J[first : first + 3, joint.v] = np.hstack([R, np.zeros((3, 3))])
            b[first : first + 3] = R @ np.cross(angular, linear)
    return qpos, J, b


def mujoco_torques(robot: Robot, q: Array, v: Array, a: Array, *, armature: bool = False) -> Array:
    """Torques of the tree without friction, springs and constraints, felt by the independent joints."""
    model = mujoco.MjModel.from_xml_path(robot.description.source)
    assert model.njnt == len(robot.joints)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = model.dof_frictionloss[:] = model.jnt_stiffness[:] = 0.0
    if not armature:
        model.dof_armature[:] = 0.0
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)  # it keeps a copy of the mass matrix
    rows = []
    for k in range(len(q)):
        qpos, J, b = to_mujoco(robot, model, q[k], v[k])
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos, J @ v[k], J @ a[k] + b
        mujoco.mj_inverse(model, data)
        rows.append(J.T @ data.qfrc_inverse)
    return np.array(rows)


def assert_close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(1e-3, np.abs(expected).max()))


@pytest.mark.parametrize("gravity", ["0 0 -9.81", "3 -4 -8"])
@pytest.mark.parametrize("name", TEXTS)
def test_torques_are_those_of_mujoco(name: str, gravity: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(TEXTS[name].replace("<worldbody>", f'<option gravity="{gravity}"/><worldbody>', 1))
    robot = load_robot(path)
    q, v, a = states(robot)
    assert_close(DynamicModel(robot).inverse_dynamics(q, v, a), mujoco_torques(robot, q, v, a))


@pytest.mark.parametrize("name", TEXTS)
def test_bodies_are_where_mujoco_has_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(TEXTS[name])
    robot = load_robot(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q, v, _ = states(robot)
    R, origins = joint_poses(robot, q)
    for k in range(len(q)):
        data.qpos[:] = to_mujoco(robot, model, q[k], v[k])[0]
        mujoco.mj_kinematics(model, data)
        for i, link in enumerate(robot.links):
            last = link.bodies[-1]  # the one whose placement counts most steps
            if "/" not in last.name:
                number = int(last.name.removeprefix("body_")) if last.name != "tip" else model.body("tip").id
                np.testing.assert_allclose(
                    R[i, k] @ last.placement[:3, 3] + origins[i, k], data.xpos[number], atol=1e-12
                )
                np.testing.assert_allclose(
                    R[i, k] @ last.placement[:3, :3], data.xmat[number].reshape(3, 3), atol=1e-12
                )


def test_motor_inertia_comes_through_its_term(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(TEXTS["motor inertia and friction"])
    robot = load_robot(path)
    q, v, a = states(robot)
    with_motors = DynamicModel(robot, [Armature()]).inverse_dynamics(q, v, a)
    assert_close(with_motors, mujoco_torques(robot, q, v, a, armature=True))
    assert np.abs(with_motors - DynamicModel(robot).inverse_dynamics(q, v, a)).max() > 0.1


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "actuator_armature"), reason="this MuJoCo has no such attribute")
def test_motor_inertia_of_actuators_is_seen_through_the_gear(tmp_path: Path) -> None:
    motor = '<actuator><motor joint="last" gear="3" armature=".2" damping=".1"/></actuator>'
    path = tmp_path / "robot.xml"
    path.write_text(wrapped(TIP, motor))
    robot = load_robot(path)
    q, v, a = states(robot)
    assert robot.joints[0].dynamics.damping == pytest.approx(0.9)
    with_motors = DynamicModel(robot, [Armature()]).inverse_dynamics(q, np.zeros_like(v), a)
    assert_close(with_motors, mujoco_torques(robot, q, np.zeros_like(v), a, armature=True))


def test_included_files_are_part_of_the_robot(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(wrapped(TIP))
    description = described(tmp_path, '<mujoco><include file="parts/arm.xml"/></mujoco>')
    assert [joint.name for joint in description.joints] == ["last"]


def test_description_has_the_files_name_source_and_gravity(tmp_path: Path) -> None:
    description = described(tmp_path, wrapped(TIP, '<option gravity="1 2 3"/>'))
    assert (description.name, description.source) == ("robot", str(tmp_path / "robot.xml"))
    assert description.gravity.tolist() == [1.0, 2.0, 3.0]


def test_gravity_that_is_switched_off_is_zero(tmp_path: Path) -> None:
    description = described(tmp_path, wrapped(TIP, '<option><flag gravity="disable"/></option>'))
    assert description.gravity.tolist() == [0.0, 0.0, 0.0]


def test_kinds_follow_the_type_and_the_limits(tmp_path: Path) -> None:
    joints = """<joint name="a" range="-1 2"/><joint name="b" axis="1 0 0"/><joint name="c" type="slide"/>"""
    description = described(tmp_path, wrapped(f'<body name="x">{joints}{INERTIAL}</body>'))
    assert [joint.kind.value for joint in description.joints] == ["revolute", "continuous", "prismatic"]
    assert (description.joints[0].limits.lower, description.joints[0].limits.upper) == (-1.0, 2.0)
    assert math.isinf(description.joints[1].limits.upper)


def test_several_joints_on_a_body_are_a_chain_of_bodies_without_inertia(tmp_path: Path) -> None:
    text = wrapped(f'<body name="x"><joint name="a"/><joint name="b" axis="1 0 0"/>{INERTIAL}</body>')
    description = described(tmp_path, text)
    assert [(joint.parent, joint.child) for joint in description.joints] == [(None, "x/a"), ("x/a", "x")]
    assert [body.inertia is None for body in description.bodies] == [True, False]


def test_bodies_without_joints_are_fixed(tmp_path: Path) -> None:
    description = described(tmp_path, wrapped(f'<body name="base"><body name="mount">{TIP}</body></body>'))
    assert [joint.parent for joint in description.joints] == [None, "base", "mount"]
    assert [joint.kind for joint in description.joints[:2]] == [JointKind.FIXED, JointKind.FIXED]
    assert [body.inertia is None for body in description.bodies] == [True, True, False]


def test_names_that_are_made_up_differ_from_those_in_the_file(tmp_path: Path) -> None:
    text = wrapped(
        f"""<body><joint/><joint axis="1 0 0"/>{INERTIAL}
        <body name="body_1"><joint name="body_1_2_joint"/>{INERTIAL}</body></body>"""
    )
    description = described(tmp_path, text)
    assert [body.name for body in description.bodies] == ["body_1_2/body_1_2_joint_2", "body_1_2", "body_1"]
    assert [joint.name for joint in description.joints] == ["body_1_2_joint_2", "body_1_2_joint_3", "body_1_2_joint"]


def test_lines_are_those_of_the_elements(tmp_path: Path) -> None:
    text = f'<mujoco>\n<worldbody>\n<body name="x">\n<joint name="j"/>{INERTIAL}</body></worldbody></mujoco>'
    description = described(tmp_path, text)
    assert (description.bodies[0].line, description.joints[0].line) == (3, 4)


def test_friction_and_motor_inertia_are_read_for_single_coordinates_only(tmp_path: Path) -> None:
    attributes = 'damping="2" frictionloss="3" armature="4"'
    text = wrapped(
        f'<body><joint type="ball" {attributes}/>{INERTIAL}<body><joint {attributes}/>{INERTIAL}</body></body>'
    )
    ball, hinge = (joint.dynamics for joint in described(tmp_path, text).joints)
    assert (hinge.damping, hinge.friction, hinge.armature) == (2.0, 3.0, 4.0)
    assert (ball.damping, ball.friction, ball.armature) == (None, None, None)


@pytest.mark.parametrize(
    ("joint", "actuator", "effort"),
    [
        ('actuatorfrcrange="-7 5"', '<motor joint="j" forcerange="-1 1"/>', 7.0),
        ("", '<motor joint="j" gear="-10" forcerange="-2 3"/>', 30.0),
        ("", '<position joint="j" kp="5" ctrlrange="-9 9" forcerange="-2 2"/>', 2.0),
        ("", '<motor joint="j" gear="50" ctrlrange="-1 .5"/>', 50.0),
        ("", '<motor joint="j" forcerange="-2 2"/><motor joint="j" gear="2" forcerange="-2 2"/>', 6.0),
        ("", '<position joint="j" kp="5" ctrlrange="-9 9"/>', math.inf),
        ("", '<motor joint="j"/>', math.inf),
        ("", '<motor joint="other" forcerange="-2 3"/>', math.inf),
    ],
)
def test_effort_is_what_the_actuators_can_do(joint: str, actuator: str, effort: float, tmp_path: Path) -> None:
    bodies = f'<body><joint name="j" {joint}/><joint name="other" axis="1 0 0"/>{INERTIAL}</body>'
    description = described(tmp_path, wrapped(bodies, f"<actuator>{actuator}</actuator>"))
    assert description.joints[0].limits.effort == effort


def test_followers_keep_ratio_and_offset_of_positions(tmp_path: Path) -> None:
    finger = described(tmp_path, FOLLOWERS).joints[1]
    assert finger.mimic is not None
    assert (finger.mimic.leader, finger.mimic.ratio) == ("leader", -0.3)
    assert finger.mimic.offset == pytest.approx(0.1 + 0.05 + 0.3 * 0.4)  # y0 + a0 - a1 x0


EQUALITIES = {
    '<weld body1="tip"/>': ("loop-cut-open", {"kind": "weld", "between": ["tip", "world"]}),
    '<connect name="loop" body1="tip" body2="arm" anchor="0 0 0"/>': (
        "loop-cut-open",
        {"kind": "connect", "between": ["tip", "arm"]},
    ),
    '<tendon tendon1="string"/>': ("loop-cut-open", {"kind": "tendon", "between": ["string"]}),
    '<joint joint1="last" polycoef=".5 0 0 0 0"/>': ("joint-lock-ignored", {"joint": "last", "position": 0.5}),
    '<joint joint1="last" joint2="first" polycoef=".5 0 0 0 0"/>': (
        "joint-lock-ignored",
        {"joint": "last", "position": 0.5},
    ),
    '<joint joint1="last" joint2="first" polycoef="0 1 2 0 0"/>': (
        "mimic-curve-ignored",
        {"joint": "last", "leader": "first"},
    ),
}


def constrained(equality: str) -> str:
    tendon = '<tendon><fixed name="string"><joint joint="last" coef="1"/></fixed></tendon>'
    arm = f'<body name="arm"><joint name="first"/>{INERTIAL}{TIP}</body>'
    return wrapped(arm, f"{tendon}<equality>{equality}</equality>")


@pytest.mark.parametrize("equality", EQUALITIES)
def test_constraints_that_are_ignored_are_warned_about(equality: str, tmp_path: Path) -> None:
    description = described(tmp_path, constrained(equality))
    (finding,) = description.findings
    assert finding.severity is Severity.WARNING
    assert (finding.code, dict(finding.values)) == EQUALITIES[equality]
    assert finding.subject == ("equality 'loop'" if "loop" in equality else "equality 1")
    assert all(joint.mimic is None for joint in description.joints)


@pytest.mark.parametrize(
    "second",
    ['<joint joint1="first" joint2="last"/>', '<joint joint1="last" joint2="first" polycoef="0 2 0 0 0"/>'],
)
def test_a_second_constraint_of_the_same_joints_is_warned_about(second: str, tmp_path: Path) -> None:
    description = described(tmp_path, constrained('<joint joint1="last" joint2="first"/>' + second))
    assert [joint.mimic is None for joint in description.joints] == [True, False]
    assert [(f.code, f.subject) for f in description.findings] == [("mimic-repeated", "equality 2")]


def test_constraints_that_are_not_active_are_left_out(tmp_path: Path) -> None:
    description = described(tmp_path, constrained('<weld body1="tip" active="false"/>'))
    assert description.findings == ()


def test_springs_and_weight_compensation_are_noted(tmp_path: Path) -> None:
    text = wrapped(f'<body name="x" gravcomp="1"><joint name="j" stiffness="3" springref=".5"/>{INERTIAL}</body>')
    weight, spring = described(tmp_path, text).findings
    assert (weight.code, weight.subject) == ("gravity-compensated", "body 'x'")
    assert (spring.code, spring.subject) == ("joint-spring-preloaded", "joint 'j'")
    assert spring.values == {"stiffness": 3.0, "rest": 0.5}


def test_forces_that_no_term_describes_are_noted(tmp_path: Path) -> None:
    tendon = '<tendon><fixed stiffness="2"><joint joint="last" coef="1"/></fixed></tendon>'
    bodies = f'<body><joint name="ball" type="ball" damping="1"/>{INERTIAL}{TIP}</body>'
    description = described(tmp_path, wrapped(bodies, '<option density="1.2"/>' + tendon))
    codes = [finding.code for finding in description.findings]
    assert codes == ["joint-forces-ignored", "medium-ignored", "tendon-forces-ignored"]


def test_what_mujoco_warns_about_is_noted_and_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    handler = mujoco.get_mju_user_warning()
    description = described(tmp_path, wrapped(TIP, compiler='settotalmass="3"'))
    assert all(finding.code == "mujoco-warning" for finding in description.findings)
    assert description.bodies[0].inertia is not None
    assert description.bodies[0].inertia[0] == pytest.approx(3.0)
    assert [path.name for path in tmp_path.iterdir()] == ["robot.xml"]
    assert mujoco.get_mju_user_warning() is handler


def test_shapes_have_full_edges_and_lengths(tmp_path: Path) -> None:
    shapes = """<geom type="box" size="1 2 3" pos="0 0 1"/><geom type="sphere" size="2"/>
        <geom type="cylinder" size=".1 .4"/><geom type="capsule" size=".1 .5"/><geom type="ellipsoid" size="1 2 3"/>
        <geom type="sphere" size="9" contype="0" conaffinity="0"/>"""
    (body,) = described(tmp_path, wrapped(f"<body><joint/>{shapes}</body>")).bodies
    assert [(shape.shape, shape.size) for shape in body.geometry] == [
        ("box", (2.0, 4.0, 6.0)),
        ("sphere", (2.0,)),
        ("cylinder", (0.1, 0.8)),
        ("capsule", (0.1, 1.0)),
        ("box", (2.0, 4.0, 6.0)),
    ]
    assert body.geometry[0].placement[:3, 3].tolist() == [0.0, 0.0, 1.0]


def test_shapes_for_show_stand_in_where_none_collide(tmp_path: Path) -> None:
    shape = '<geom type="sphere" size="9" contype="0" conaffinity="0"/>'
    assert len(described(tmp_path, wrapped(f"<body><joint/>{shape}</body>")).bodies[0].geometry) == 1


CORNERS = '<mesh name="wedge" vertex="0 0 0  1 0 0  0 2 0  0 0 3"/>'


def test_a_mesh_is_the_box_around_it(tmp_path: Path) -> None:
    text = wrapped('<body><joint/><geom type="mesh" mesh="wedge"/></body>', f"<asset>{CORNERS}</asset>")
    (body,) = described(tmp_path, text).bodies
    box = body.geometry[0]
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]) - box.placement[:3, 3]
    inside = corners @ box.placement[:3, :3]
    np.testing.assert_allclose(2 * np.abs(inside).max(axis=0), box.size, atol=1e-6)


LOST_MESH = '<asset><mesh name="lost" file="lost.stl"/></asset>'
SHOWN = '<geom name="shown" type="mesh" mesh="lost"/>'


def test_a_missing_mesh_is_noted_where_inertia_is_stated(tmp_path: Path) -> None:
    more = LOST_MESH + '<sensor><framepos objtype="geom" objname="shown"/></sensor>'
    bodies = f'<body><joint/>{INERTIAL}{SHOWN}<geom size=".1"/></body>'
    description = described(tmp_path, wrapped(bodies, more))
    (finding,) = description.findings
    assert finding.code == "meshes-missing"
    assert "lost.stl" in finding.values["file"]
    assert [shape.shape for shape in description.bodies[0].geometry] == ["sphere"]
    inertia = described(tmp_path, wrapped(f"<body><joint/>{INERTIAL}</body>")).bodies[0].inertia
    np.testing.assert_array_equal(description.bodies[0].inertia, inertia)


@pytest.mark.parametrize(
    ("bodies", "compiler"),
    [
        (f'<body name="x"><joint/>{SHOWN}</body>', ""),
        (f'<body name="x"><joint/>{INERTIAL}{SHOWN}</body>', 'inertiafromgeom="true"'),
    ],
)
def test_a_missing_mesh_is_an_error_where_it_determines_the_inertia(bodies: str, compiler: str, tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"lost\.stl' is missing; meshes determine the inertia of 'x': put it"):
        described(tmp_path, wrapped(bodies, LOST_MESH, compiler))


def test_missing_textures_do_not_matter(tmp_path: Path) -> None:
    assets = f"""<asset>{CORNERS}<texture name="lost" type="2d" file="lost.png"/>
        <material name="paint" texture="lost"/></asset>"""
    bodies = '<body><joint/><geom type="mesh" mesh="wedge" material="paint"/></body>'
    description = described(tmp_path, wrapped(bodies, assets))
    assert description.findings == ()
    assert description.bodies[0].inertia is not None
    assert description.bodies[0].inertia[0] == pytest.approx(1000.0)  # a sixth of 1 x 2 x 3 m^3 of water


INVALID = {
    "<bodi/>": "MuJoCo cannot load it: Schema violation: unrecognized element",
    '<body name="x"><joint/></body>': "moves, but has no mass or no inertia; give it an <inertial>",
    '<body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/></body>': "inertia must satisfy",
    '<body><joint axis="0 0 0"/><geom size="1"/></body>': "axis too small",
    '<body pos="nan 0 0"><joint/><geom size="1"/></body>': 'has pos="nan 0 0"; expected finite numbers',
    '<body><joint damping="NaN"/><geom size="1"/></body>': 'has damping="NaN"',
}


@pytest.mark.parametrize("bodies", INVALID)
def test_invalid_files_are_refused_in_clear_words(bodies: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RobotFileError) as caught:
        described(tmp_path, f"<mujoco>\n<worldbody>\n{bodies}</worldbody></mujoco>")
    assert INVALID[bodies] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()  # MuJoCo itself leaves this behind when it warns


def test_missing_includes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"MuJoCo cannot load it: Error opening file.*lost\.xml"):
        described(tmp_path, '<mujoco><include file="lost.xml"/></mujoco>')


def test_nan_in_an_included_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(wrapped('<body pos="0 nan 0"/>'))
    with pytest.raises(RobotFileError, match=r"arm\.xml, line 2: <body> has pos"):
        described(tmp_path, '<mujoco><include file="arm.xml"/></mujoco>')


@pytest.mark.parametrize(
    "text",
    [
        wrapped(TIP, '<option gravity="0 0 inf"/>'),
        wrapped('<body pos="inf 0 0"><joint/><geom size="1"/></body>'),
        wrapped('<body><joint/><inertial pos="0 0 0" mass="inf" diaginertia="1 1 1"/></body>'),
    ],
)
def test_infinite_values_are_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where some versions of MuJoCo leave a log
    with pytest.raises(RobotFileError, match=r"not finite|expected three finite|Inf"):
        described(tmp_path, text)


@pytest.mark.parametrize("bodies", ["<bodi/>", '<body quat="nan 0 0 0"/>'])
def test_errors_name_the_line(bodies: str, tmp_path: Path) -> None:
    with pytest.raises(RobotFileError) as caught:
        described(tmp_path, f"<mujoco>\n<worldbody>\n{bodies}</worldbody></mujoco>")
    assert caught.value.line == 3


def test_a_base_that_is_welded_to_the_world_can_be_left_free(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="base" pos="0 0 1"><geom size=".1"/><body name="arm"><joint name="j"/>
    <geom size=".1"/></body></body></worldbody></mujoco>"""
    path = tmp_path / "arm.xml"
    path.write_text(text)
    robot = load_robot(path, floating_base=True)
    assert [joint.number for joint in robot.joints] == [0, 1]
    assert [link.name for link in robot.links] == ["base", "arm"]
    path.write_text(
        text.replace('<body name="base" pos="0 0 1"><geom size=".1"/>', "").replace("</body></body>", "</body>")
    )
    with pytest.raises(InvalidRequestError, match="no base to leave free"):
        load_robot(path, floating_base=True)


def test_two_joints_on_one_body_have_one_set_of_parameters(tmp_path: Path) -> None:
    path = tmp_path / "gimbal.xml"
    path.write_text(
        """<mujoco><worldbody><body name="b"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/>
        <geom size=".1" pos=".1 .2 .3"/></body></worldbody></mujoco>"""
    )
    model = DynamicModel(load_robot(path))
    assert model.names == tuple(f"{symbol}2" for symbol in inertia.PARAMETER_SYMBOLS)
    assert not [finding for finding in audit(model.robot) if finding.code.startswith("massless")]
