"""Tables: what they mean, and what is wrong with them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, inertial_regressor, joint_poses, load_robot
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.model.sampling import random_states
from dynid.robot.assembly import assemble
from dynid.robot.formats.denavit_hartenberg import parse_table
from dynid.robot.formats.urdf_writer import left_out, urdf_text
from dynid.robot.loading import builtin_names
from tests.references import example_robot_file


def transform(axis: str, angle: float, along: tuple[float, float, float]) -> np.ndarray:
    """Rotation about a coordinate axis and translation, written out independently of the package."""
    c, s = math.cos(angle), math.sin(angle)
    R = {
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }[axis]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, along
    return T


def row_transform(convention: str, theta: float, d: float, a: float, alpha: float) -> np.ndarray:
    turn, twist = transform("z", theta, (0, 0, d)), transform("x", alpha, (a, 0, 0))
    return turn @ twist if convention == "standard" else twist @ turn


rows = st.lists(
    st.tuples(
        st.sampled_from(["revolute", "prismatic"]),
        *(st.floats(-2, 2).map(lambda x: round(x, 3)) for _ in range(4)),
    ),
    min_size=1,
    max_size=6,
)


def table(convention: str, entries: list, extra: str = "") -> str:
    text = f'name = "t"\nconvention = "{convention}"\n{extra}\n'
    for k, (kind, theta, d, a, alpha) in enumerate(entries):
        text += (
            f'[[joint]]\nname = "j{k}"\ntype = "{kind}"\ntheta = {theta}\nd = {d}\na = {a}\nalpha = {alpha}\n'
            f"mass = {k + 1}\ncom = [0.1, 0.2, {0.1 * k}]\ninertia = {{ xx = 0.4, yy = 0.5, zz = 0.6, xy = 0.01 }}\n"
        )
    return text


@given(st.sampled_from(["standard", "modified"]), rows, st.integers(0, 100))
def test_link_frames_follow_the_convention(convention: str, entries: list, seed: int) -> None:
    robot = assemble(parse_table(table(convention, entries), "table"))
    q = np.random.default_rng(seed).uniform(-1, 1, (1, robot.nq))
    rotations, origins = joint_poses(robot, q)
    expected = np.eye(4)
    for k, (kind, theta, d, a, alpha) in enumerate(entries):
        turn, slide = (q[0, k], 0.0) if kind == "revolute" else (0.0, q[0, k])
        expected = expected @ row_transform(convention, theta + turn, d + slide, a, alpha)
        joint_frame = np.eye(4)
        joint_frame[:3, :3], joint_frame[:3, 3] = rotations[k, 0], origins[k, 0]
        assert np.allclose(joint_frame @ robot.links[k].bodies[0].placement, expected, atol=1e-12)


@given(st.sampled_from(["standard", "modified"]), rows, st.integers(0, 100))
def test_a_table_written_as_urdf_has_the_same_kinematics_and_regressor(
    tmp_path_factory, convention: str, entries: list, seed: int
) -> None:
    robot = assemble(parse_table(table(convention, entries), "table"))
    path = tmp_path_factory.mktemp("dh") / "robot.urdf"
    path.write_text(urdf_text(robot))
    assert_same_robot(robot, load_robot(path), seed)


def assert_same_robot(robot, again, seed: int = 0) -> None:
    q, v, a = random_states(DynamicModel(robot), 3, np.random.default_rng(seed))
    for mine, theirs in zip(joint_poses(robot, q), joint_poses(again, q), strict=True):
        assert np.abs(mine - theirs).max() <= 1e-12
    W, expected = inertial_regressor(again, q, v, a), inertial_regressor(robot, q, v, a)
    assert np.abs(W - expected).max() <= 1e-12 * np.abs(expected).max()
    assert again.parameters == pytest.approx(robot.parameters, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", builtin_names())
def test_the_embedded_robots_written_as_urdf_are_the_same(name: str, tmp_path: Path) -> None:
    robot = load_robot(f"builtin:{name}")
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_text(robot))
    again = load_robot(path)
    assert_same_robot(robot, again)
    for mine, theirs in zip(robot.joints, again.joints, strict=True):
        assert mine.limits == theirs.limits
        assert (mine.dynamics.damping, mine.dynamics.friction) == (theirs.dynamics.damping, theirs.dynamics.friction)
    ends = {body.name for link in again.links for body in link.bodies}
    assert {body.name for link in robot.links for body in link.bodies} <= ends


def test_what_urdf_cannot_hold_is_said() -> None:
    assert left_out(load_robot("builtin:tx40")) == ["couplings of joints"]
    assert left_out(load_robot("builtin:ur5", gravity=(0, 0, 9.81))) == [
        "gravity [0.0, 0.0, 9.81] m/s^2",
        "motor inertia (armature)",
    ]


def test_angles_in_degrees_are_exact_right_angles_and_scale_limits() -> None:
    text = """
name = "t"
convention = "modified"
angles = "deg"
joint = [
  { name = "a", alpha = 90, lower = -180, upper = 90, velocity = 360 },
  { name = "b", type = "prismatic", theta = 90, lower = -1, upper = 2, velocity = 3 },
]
"""
    robot = assemble(parse_table(text, "t"))
    assert robot.joints[0].placement[:3, :3].tolist() == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    assert robot.joints[0].limits.lower == -math.pi
    assert robot.joints[0].limits.velocity == 2 * math.pi
    assert robot.joints[1].limits.velocity == 3


def test_inertia_about_the_frame_is_not_moved_and_about_the_centre_of_mass_is() -> None:
    row = "mass = 2\ncom = [0.5, 0, 0]\ninertia = { xx = 1, yy = 2, zz = 2 }\n"
    head = 'name = "t"\nconvention = "modified"\n'
    about_com = assemble(parse_table(f'{head}[[joint]]\nname = "a"\n{row}', "t"))
    about_frame = assemble(parse_table(f'{head}inertia_about = "frame"\n[[joint]]\nname = "a"\n{row}', "t"))
    assert about_com.parameters.tolist() == [2, 1, 0, 0, 1, 0, 2.5, 0, 0, 2.5]
    assert about_frame.parameters.tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 0, 2]


def test_tables_can_branch_and_mimic() -> None:
    text = """
name = "t"
convention = "frames"
[[joint]]
name = "a"
[[joint]]
name = "left"
xyz = [0, 1, 0]
[[joint]]
name = "right"
parent = "a"
xyz = [0, -1, 0]
mimic = { joint = "left", ratio = -1 }
"""
    robot = assemble(parse_table(text, "t"))
    assert [joint.parent for joint in robot.joints] == [-1, 0, 0]
    assert robot.joints[2].leader == 1
    assert robot.nq == robot.nv == 2


HEAD = 'name = "t"\nconvention = "standard"\n'
WRONG = {
    "no toml": ("joint = [", "not valid TOML"),
    "no name": ('convention = "standard"\n[[joint]]\nname = "a"', "the key 'name' is missing"),
    "no joints": (HEAD, "the key 'joint' is missing"),
    "unknown key": (
        HEAD + '[[joint]]\nname = "a"\nalfa = 1',
        r"\[\[joint\]\] entry 1: .*key 'alfa'; did you mean 'alpha'",
    ),
    "unknown key at the top": (HEAD + 'conventon = "x"\n[[joint]]\nname = "a"', "key 'conventon'; did you mean"),
    "unknown convention": ('name = "t"\nconvention = "std"\n[[joint]]\nname = "a"', "'convention' is 'std'"),
    "a word": (HEAD + '[[joint]]\nname = "a"\nd = "long"', "entry 1: the key 'd' is 'long'"),
    "nan": (HEAD + '[[joint]]\nname = "a"\nd = nan', "'d' is nan.*finite"),
    "com alone": (HEAD + '[[joint]]\nname = "a"\ncom = [1, 0, 0]', "com and inertia need a mass"),
    "half an inertia": (HEAD + '[[joint]]\nname = "a"\nmass = 1\ninertia = { xx = 1 }', "'inertia.yy' is missing"),
    "other convention's key": (
        HEAD + '[[joint]]\nname = "a"\nxyz = [0, 0, 1]',
        "'xyz', which the convention 'standard'",
    ),
    "name twice": (HEAD + '[[joint]]\nname = "a"\n[[joint]]\nname = "a"', "second joint is named 'a'"),
    "link twice": (HEAD + '[[joint]]\nname = "a"\nlink = "base"', "second link is named 'base'"),
    "no such parent": (HEAD + '[[joint]]\nname = "a"\nparent = "b"', "no joint 'b' .*the parent of joint 'a'"),
    "name of nothing": (HEAD + '[[joint]]\nname = " "', "the key 'name' is ' '"),
    "joint called base": (HEAD + '[[joint]]\nname = "base"', "named 'base', which stands for the base"),
    "com alone in the second": (
        HEAD + '[[joint]]\nname = "a"\n[[joint]]\nname = "b"\ncom = [1, 0, 0]',
        "entry 2: com and",
    ),
    "number as text": (HEAD + '[[joint]]\nname = "a"\nmass = "3"', "'mass' is '3'"),
    "huge": (HEAD + '[[joint]]\nname = "a"\nd = 1e200', "'d' is 1e"),
    "zero axis": (
        'name = "t"\nconvention = "frames"\n[[joint]]\nname = "a"\naxis = [0, 0, 0]',
        "axis of joint 'a' is zero",
    ),
    "deep nesting": ("a = " + "[" * 5000 + "]" * 5000, "not valid TOML"),
    "limits swapped": (HEAD + '[[joint]]\nname = "a"\nlower = 2\nupper = 1', "lower = 2 above upper = 1"),
    "no such coupling": (HEAD + 'couplings = [["a", "c"]]\n[[joint]]\nname = "a"', r"no joint 'c' \(in couplings\)"),
}


@pytest.mark.parametrize("case", WRONG, ids=list(WRONG))
def test_a_wrong_table_gives_an_error_that_names_the_entry_and_the_key(case: str, tmp_path: Path) -> None:
    text, message = WRONG[case]
    path = tmp_path / "robot.toml"
    path.write_text(text)
    with pytest.raises(RobotFileError, match=message) as caught:
        load_robot(path)
    assert str(path) in str(caught.value)


def test_the_base_can_be_turned_and_moved() -> None:
    text = """
name = "t"
convention = "modified"
angles = "deg"
[base]
xyz = [0, 0, 0.5]
rpy = [180, 0, 0]
[[joint]]
name = "a"
d = 0.2
"""
    _, origins = joint_poses(assemble(parse_table(text, "t")), [[0.0]])
    assert origins[0, 0] == pytest.approx([0, 0, 0.3])


def test_one_link_may_have_its_inertia_about_its_frame() -> None:
    text = """
name = "t"
convention = "modified"
[[joint]]
name = "a"
mass = 2
com = [0.5, 0, 0]
inertia = { xx = 1, yy = 2, zz = 2 }
inertia_about = "frame"
"""
    assert assemble(parse_table(text, "t")).parameters[-1] == 2


def test_offsets_of_mimic_joints_are_angles_too() -> None:
    text = """
name = "t"
convention = "modified"
angles = "deg"
joint = [{ name = "a" }, { name = "b", mimic = { joint = "a", ratio = 2, offset = 90 } }]
"""
    assert assemble(parse_table(text, "t")).joints[1].offset == pytest.approx(math.pi / 2)


def test_names_that_the_writer_adds_do_not_collide(tmp_path: Path) -> None:
    text = """
name = "t"
convention = "standard"
joint = [{ name = "x_end_fixed", link = "x", d = 1 }, { name = "b", link = "x_end", d = 1 }]
"""
    path = tmp_path / "robot.urdf"
    robot = assemble(parse_table(text, "t"))
    path.write_text(urdf_text(robot))
    assert_same_robot(robot, load_robot(path))


def test_what_changes_in_urdf_is_said() -> None:
    head = 'name = "t"\nconvention = "frames"\n'
    half = assemble(parse_table(head + 'joint = [{ name = "a", lower = -1 }]', "t"))
    assert left_out(half) == ["ranges with one end only (a)"]
    branches = head + 'joint = [{ name = "b" }, { name = "a", parent = "base" }]'
    assert "order of joints" in left_out(assemble(parse_table(branches, "t")))[0]
    assert left_out(load_robot(example_robot_file("ur5_robot.urdf"))) == ["meshes (visual and collision)"]
    with pytest.raises(InvalidRequestError, match="cannot hold"):
        urdf_text(assemble(parse_table(head + r'joint = [{ name = "a\u0007" }]', "t")))
