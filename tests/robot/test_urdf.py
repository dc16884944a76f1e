"""Reading URDF files: what they mean, and what is wrong with them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, find_base_parameters, joint_poses, load_robot
from dynid.arrays import frozen
from dynid.errors import RobotFileError
from dynid.model.sampling import random_states
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, Geometry, JointDescription
from dynid.robot.formats.urdf_reader import find_mesh
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.frames import pose, rotation_from_rpy
from dynid.robot.joints import JointKind
from dynid.robot.repair import repair
from tests.references import assert_same_torques
from tests.strategies import URDF_KINDS, robots
from tests.urdf_texts import BOMB, INERTIAL, LIMIT, joint, urdf


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str | bytes, name: str = "robot.urdf") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_joints_have_their_limits_axes_and_dynamics(write) -> None:
    inside = LIMIT + '<axis xyz="0 2 0"/><dynamics damping="0.5"/><origin xyz="1 2 3" rpy="0 0 1"/>'
    robot = load_robot(write(urdf(joint("j", "base", "arm", inside))))
    found = robot.joints[0]
    assert found.axis.tolist() == [0, 1, 0]
    assert (found.limits.lower, found.limits.upper, found.limits.velocity, found.limits.effort) == (-1, 1, 2, 3)
    assert (found.dynamics.damping, found.dynamics.friction) == (0.5, None)
    assert np.allclose(found.placement[:3, 3], [1, 2, 3])
    assert np.allclose(found.placement[:2, 0], [math.cos(1), math.sin(1)])
    assert [(f.code, f.values["length"]) for f in robot.description.findings] == [("axis-not-unit", 2.0)]


def test_the_axis_is_x_where_the_file_says_nothing(write) -> None:
    assert load_robot(write(urdf(joint("j", "base", "arm")))).joints[0].axis.tolist() == [1, 0, 0]


def test_joints_on_one_link_are_counted_by_their_names(write) -> None:
    text = urdf(joint("z", "base", "a"), joint("b", "base", "c"), joint("a", "c", "b"), links=("base", "a", "b", "c"))
    assert [j.name for j in load_robot(write(text)).joints] == ["b", "a", "z"]


def test_bodies_on_fixed_joints_are_one_link(write) -> None:
    move = '<origin xyz="0 0 1"/>'
    text = urdf(joint("j", "base", "arm"), joint("w", "arm", "tool", move, "fixed"), links=("base", "arm", "tool"))
    robot = load_robot(write(text))
    assert [body.name for body in robot.links[0].bodies] == ["arm", "tool"]
    assert robot.links[0].parameters[:4].tolist() == [2, 0, 0, 1]


def test_a_planar_joint_is_two_slides_and_a_turn(write) -> None:
    robot = load_robot(write(urdf(joint("p", "base", "arm", '<axis xyz="0 0 1"/>', "planar"))))
    assert [j.kind for j in robot.joints] == [JointKind.PRISMATIC, JointKind.PRISMATIC, JointKind.CONTINUOUS]
    rotations, origins = joint_poses(robot, [[0.3, 0.4, 0.5]])
    assert np.hypot(*origins[-1, 0, :2]) == pytest.approx(0.5)
    assert rotations[-1, 0, 0, 0] == pytest.approx(math.cos(0.5))
    # A plate moves with its mass and its inertia about the normal, and feels its centre of mass.
    assert len(find_base_parameters(DynamicModel(robot))) == 4


def test_a_floating_joint_of_the_file_is_a_floating_base(write) -> None:
    robot = load_robot(write(urdf(joint("free", "base", "arm", "", "floating"))), floating_base=False)
    assert robot.has_floating_base
    assert robot.joints[0].number == 0


@given(robots(URDF_KINDS), st.integers(0, 100))
def test_written_and_read_again_a_robot_is_the_same(tmp_path_factory, robot: Robot, seed: int) -> None:
    path = tmp_path_factory.mktemp("urdf") / "robot.urdf"
    path.write_text(urdf_text(robot))
    again = load_robot(path, gravity=robot.gravity)
    order = [next(k for k, j in enumerate(again.joints) if j.name == joint.name) for joint in robot.joints]
    q, v, a = random_states(DynamicModel(robot), 3, np.random.default_rng(seed))
    q2, v2, a2 = np.zeros_like(q), np.zeros_like(v), np.zeros_like(a)
    for one, k in zip(robot.joints, order, strict=True):
        q2[:, again.joints[k].q] = q[:, one.q]
        v2[:, again.joints[k].v], a2[:, again.joints[k].v] = v[:, one.v], a[:, one.v]
        assert again.joints[k].limits == one.limits
    for mine, theirs in zip(joint_poses(robot, q), joint_poses(again, q2)[:2], strict=True):
        assert np.allclose(mine, theirs[order], atol=1e-12)
    found = DynamicModel(again).inverse_dynamics(q2, v2, a2)
    columns = np.concatenate([np.arange(again.nv)[again.joints[k].v] for k in order])
    rows = np.concatenate([np.arange(robot.nv)[joint.v] for joint in robot.joints])
    assert_same_torques(found[:, columns], DynamicModel(robot).inverse_dynamics(q, v, a)[:, rows], 1e-11)


def test_shapes_are_written_and_read_again(tmp_path: Path) -> None:
    turned = frozen(pose(rotation_from_rpy(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0])))
    given = [Geometry("box", (0.1, 0.2, 0.3), turned), Geometry("sphere", (0.1,), turned)]
    given += [Geometry("cylinder", (0.1, 0.5), turned), Geometry("capsule", (0.1, 0.5), turned)]
    held = frozen(pose(translation=np.array([0.0, 0.0, 0.5])))
    bodies = (BodyDescription("base"), BodyDescription("arm", np.ones(10), held, tuple(given)))
    robot = assemble(Description("r", "r", bodies, (JointDescription("j", JointKind.REVOLUTE, "base", "arm"),)))
    (tmp_path / "robot.urdf").write_text(urdf_text(robot))
    found = next(body for body in load_robot(tmp_path / "robot.urdf").links[0].bodies if body.name == "arm").geometry
    assert [shape.shape for shape in found] == ["box", "sphere", "cylinder", "cylinder", "sphere", "sphere"]
    for shape in found[:4]:
        assert np.allclose(shape.placement, held @ turned, atol=1e-12)
    ends = [shape.placement[:3, 3] - found[3].placement[:3, 3] for shape in found[4:]]
    assert np.allclose(ends, np.outer((-0.25, 0.25), turned[:3, 2]), atol=1e-12)


NAMED = {"a/hinge": True, "a/b/c": False, "b/hinge": False, "hinge": False}


@pytest.mark.parametrize("name", NAMED)
def test_a_link_without_inertia_between_the_joints_of_one_body_is_no_body(write, name: str) -> None:
    first, second = joint("one", "base", name), joint("two", name, "a")
    text = urdf(first, second, links=("base", name, "a", "b"))
    text = text.replace(f'<link name="{name}">{INERTIAL}</link>', f'<link name="{name}"/>')
    text = text.replace("</robot>", joint("three", "a", "b") + "</robot>")
    robot = load_robot(write(text))
    assert robot.links[0].is_virtual == NAMED[name]


WRONG = {
    "not xml": ("hello, robot", "not well-formed XML"),
    "cut off": ("<robot name='a'><link name='b'>", "not well-formed XML"),
    "empty": ("", "is empty"),
    "entity bomb": (BOMB, "declares XML entities"),
    "entity bomb in utf-16": (BOMB.replace("?>", ' encoding="utf-16"?>').encode("utf-16"), "declares XML entities"),
    "other root": ("<sdf><model/></sdf>", r"root element is <sdf>; expected <robot>"),
    "no links": ("<robot name='a'/>", "no links"),
    "no joints": (urdf(links=("base",)), "no joint that moves"),
    "nan mass": (
        urdf(joint("j", "base", "arm")).replace('value="1"', 'value="nan"'),
        'value="nan"; expected one finite',
    ),
    "word for a number": (urdf(joint("j", "base", "arm")).replace('ixx="1"', 'ixx="heavy"'), 'ixx="heavy"; expected'),
    "two numbers": (urdf(joint("j", "base", "arm", '<origin xyz="1 2"/>')), 'xyz="1 2"; expected three finite numbers'),
    "infinite origin": (urdf(joint("j", "base", "arm", '<origin xyz="1 2 inf"/>')), "expected three finite numbers"),
    "no mass": (urdf(joint("j", "base", "arm")).replace('<mass value="1"/>', ""), "lacks <mass>"),
    "no inertia": (urdf(joint("j", "base", "arm")).replace('ixx="1" ', ""), "<inertia> lacks the attribute 'ixx'"),
    "no parent": (urdf(joint("j", "base", "arm").replace('<parent link="base"/>', "")), "lacks <parent"),
    "misspelt link": (urdf(joint("j", "base", "amr")), "no link 'amr' .* did you mean 'arm'"),
    "misspelt type": (urdf(joint("j", "base", "arm", kind="revolut")), "joint type 'revolut'; did you mean 'revolute'"),
    "zero axis": (urdf(joint("j", "base", "arm", '<axis xyz="0 0 0"/>')), "axis of joint 'j' is zero"),
    "link twice": (urdf(links=("a", "a")), "second link is named 'a'"),
    "joint twice": (
        urdf(joint("j", "base", "arm"), joint("j", "arm", "b"), links=("base", "arm", "b")),
        "second joint",
    ),
    "two parents": (
        urdf(joint("j", "base", "arm"), joint("k", "b", "arm"), links=("base", "arm", "b")),
        "child of 'j' and",
    ),
    "two roots": (urdf(joint("j", "base", "arm"), links=("base", "arm", "stray")), "'base', 'stray'"),
    "circle": (urdf(joint("j", "a", "b"), joint("k", "b", "a"), links=("base", "a", "b")), "loop"),
    "mimic circle": (
        urdf(
            joint("j", "base", "a", LIMIT + '<mimic joint="k"/>'),
            joint("k", "a", "b", LIMIT + '<mimic joint="j"/>'),
            links=("base", "a", "b"),
        ),
        "in a circle",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=list(WRONG))
def test_a_wrong_file_gives_an_error_that_names_it_and_what_is_wrong(case: str, write) -> None:
    text, message = WRONG[case]
    path = write(text)
    with pytest.raises(RobotFileError, match=message) as caught:
        load_robot(path)
    assert str(path) in str(caught.value)


def test_errors_name_the_line(write) -> None:
    text = urdf(joint("j", "base", "arm")).replace("<joint", "\n\n<joint").replace("<limit", "\n<limit lower='x'")
    text = text.replace('lower="-1" ', "")
    with pytest.raises(RobotFileError, match="line 4: <limit> has lower"):
        load_robot(write(text))


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match="no such file"):
        load_robot(tmp_path / "nothing.urdf")
    with pytest.raises(RobotFileError, match="builtin:ur5"):
        load_robot("ur5")
    with pytest.raises(RobotFileError, match="is a folder"):
        load_robot(tmp_path)


def test_a_mimic_joint_without_leader_is_independent_and_reported(write) -> None:
    text = urdf(joint("finger", "base", "arm", LIMIT + '<mimic joint="fingr"/>'))
    robot = load_robot(write(text))
    assert robot.joints[0].leader is None
    (finding,) = robot.description.findings
    assert (finding.code, dict(finding.values)) == ("mimic-leader-unknown", {"leader": "fingr", "near": ["finger"]})


def test_joints_of_extensions_are_no_joints(write) -> None:
    text = urdf(joint("j", "base", "arm"), '<joint name="j"><hardware/></joint>')
    assert load_robot(write(text)).nv == 1


def test_meshes_are_found_beside_and_above_the_file(tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "arm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    mesh = package / "meshes" / "arm.stl"
    mesh.touch()
    robot = package / "urdf" / "arm.urdf"
    assert find_mesh(robot, "package://arm_description/meshes/arm.stl") == mesh
    assert find_mesh(robot, "../meshes/arm.stl") is not None
    assert find_mesh(tmp_path / "elsewhere.urdf", "package://other/meshes/arm.stl") is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(package))
    assert find_mesh(Path("/nowhere/arm.urdf"), "package://arm_description/meshes/arm.stl") == mesh
    assert find_mesh(robot, "x" * 400) is None


def test_one_missing_end_of_a_range_is_zero_and_two_are_none(write) -> None:
    one = load_robot(write(urdf(joint("j", "base", "arm", '<limit upper="2" velocity="1" effort="1"/>'))))
    assert (one.joints[0].limits.lower, one.joints[0].limits.upper) == (0, 2)
    none = load_robot(write(urdf(joint("j", "base", "arm", '<limit velocity="1" effort="1"/>'))))
    assert math.isinf(none.joints[0].limits.upper)


def test_files_that_say_version_0_0_are_read_repaired_and_left_so(write) -> None:
    """As many public files do, though no such XML exists."""
    text = f'<?xml version="0.0" ?>\n{urdf(joint("elbow", "base", "arm"))}'.replace('ixx="1"', 'ixx="9"')
    path = write(text)
    assert [j.name for j in load_robot(path).joints] == ["elbow"]
    done = repair(path)
    assert done.output is not None
    assert done.output.read_text().startswith('<?xml version="0.0" ?>')
