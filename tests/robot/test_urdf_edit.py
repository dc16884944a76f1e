"""New values in the user's own URDF file, and nothing else changed."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, DynidError, Robot
from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.model.sampling import random_states
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.formats.urdf_edit import edited_urdf
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.joints import JointDynamics
from dynid.robot.loading import read_description
from tests.references import assert_same_torques, example_robot_files, pinocchio_torques
from tests.robot_files import TRICKY_URDF as TRICKY
from tests.robot_files import bare_urdf, mujoco_torques, without_values
from tests.strategies import URDF_KINDS, random_inertia, robots

FILES = example_robot_files()


def perturbed(description: Description, rng: np.random.Generator) -> Description:
    """Other physical inertias for all bodies that have one, other damping and friction for all joints."""
    bodies = tuple(
        replace(body, inertia=frozen(random_inertia(rng))) if body.inertia is not None and body.inertia.any() else body
        for body in description.bodies
    )
    joints = tuple(
        replace(joint, dynamics=JointDynamics(*rng.uniform(0.1, 1, 2).tolist()))
        if joint.kind.nq == 1 and "/" not in joint.name
        else joint
        for joint in description.joints
    )
    return replace(description, bodies=bodies, joints=joints)


def assert_same_values(found: Description, wanted: Description, relative: float = 1e-12) -> None:
    for ours, theirs in zip(found.bodies, wanted.bodies, strict=True):
        assert ours.name == theirs.name
        p, w = (np.zeros(10) if body.inertia is None else body.inertia for body in (ours, theirs))
        for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
            assert np.abs(p - w)[part].max() <= relative * np.abs(w).max()
    for joint, other in zip(found.joints, wanted.joints, strict=True):
        assert joint.name == other.name
        for key in ("damping", "friction"):
            assert (getattr(joint.dynamics, key) or 0.0) == (getattr(other.dynamics, key) or 0.0)


def rewritten(path: Path, folder: Path, description: Description) -> Path:
    out = folder / path.name
    out.write_bytes(edited_urdf(path.read_bytes(), path, read_description(path), description))
    return out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example_robots_keep_every_byte_with_their_own_values_and_all_but_numbers_with_others(
    path: Path, tmp_path: Path
) -> None:
    try:
        old = read_description(path, exact_frames=True)
    except DynidError:
        return  # some of them are no robots
    content = path.read_bytes()
    assert edited_urdf(content, path, old, old) == content
    equal = replace(old, bodies=tuple(replace(b, inertia=_nudged(b.inertia)) for b in old.bodies))
    assert edited_urdf(content, path, old, equal) == content
    wanted = perturbed(old, np.random.default_rng(5))
    out = rewritten(path, tmp_path, wanted)
    assert without_values(out.read_bytes()) == without_values(content)
    assert_same_values(read_description(out), wanted)
    try:
        ours = assemble(wanted)
    except DynidError:
        return  # nothing moves
    theirs = pin.buildModelFromUrdf(str(out))
    q, v, a = random_states(DynamicModel(ours), 4, np.random.default_rng(2))
    expected = DynamicModel(ours).inverse_dynamics(q, v, a)
    assert_same_torques(pinocchio_torques(ours, theirs, q, v, a), expected)
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        model = mujoco.MjModel.from_xml_string(bare_urdf(out, floating=False))
    except ValueError as error:
        assert "mass and inertia of moving bodies" in str(error)  # noqa: PT017 (some links have no mass in the file)
        return
    if any(b.inertia is not None and b.inertia[0] == 0 and b.inertia.any() for b in wanted.bodies):
        return
    assert_same_torques(mujoco_torques(model, ours, q, v, a), expected)


def _nudged(parameters: Array | None) -> Array | None:
    """The same values with another last digit, as arithmetic leaves them."""
    return None if parameters is None else frozen(parameters * (1 + 4e-16))


@given(robots(URDF_KINDS), st.integers(0, 2**32 - 1))
def test_random_robots_have_the_new_values_after_a_round_trip(robot: Robot, seed: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(urdf_text(robot))
        old = read_description(path)
        rng = np.random.default_rng(seed)
        bodies = tuple(replace(body, inertia=frozen(random_inertia(rng))) for body in old.bodies)
        wanted = replace(perturbed(old, rng), bodies=bodies)
        (Path(folder) / "new").mkdir()
        out = rewritten(path, Path(folder) / "new", wanted)
        assert_same_values(read_description(out), wanted)
        back = edited_urdf(out.read_bytes(), out, wanted, old)
        out.write_bytes(back)
        assert_same_values(read_description(out), old)


VARIANTS = {
    "unix": TRICKY.encode(),
    "windows line ends": TRICKY.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + TRICKY.encode(),
    "latin-1": TRICKY.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
    "windows-1252": TRICKY.replace("UTF-8", "windows-1252").encode("cp1252"),
    "one line": re.sub(r"<!--.*?-->", "", TRICKY, flags=re.DOTALL)
    .replace("<inertial>\n", '<inertial><origin xyz="0 0 0"/>\n')
    .replace("\n", " ")
    .replace("\t", "")
    .encode(),
}


@pytest.mark.parametrize("content", VARIANTS.values(), ids=VARIANTS)
def test_odd_files_keep_their_bytes(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(content)
    old = read_description(path)
    assert edited_urdf(content, path, old, old) == content
    wanted = perturbed(old, np.random.default_rng(1))
    (tmp_path / "new").mkdir()
    out = rewritten(path, tmp_path / "new", wanted)
    assert without_values(out.read_bytes()) == without_values(content)
    assert_same_values(read_description(out), wanted)


def lines_added(before: bytes, after: bytes) -> list[str]:
    return [
        line[2:] for line in difflib.ndiff(before.decode().split("\n"), after.decode().split("\n")) if line[0] == "+"
    ]


def test_only_the_number_that_changed_has_a_new_text(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(content := VARIANTS["windows line ends"])
    old = read_description(path)
    arm = old.bodies[1]
    heavier = inertia.from_mass_com_inertia(1.75, np.zeros(3), 0.01 * np.eye(3))
    new = replace(old, bodies=(old.bodies[0], replace(arm, inertia=frozen(heavier)), *old.bodies[2:]))
    after = edited_urdf(content, path, old, new)
    assert after == content.replace(b"'1.50'", b"'1.75'")


def test_missing_elements_are_inserted_as_the_file_is_indented(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(content := VARIANTS["windows line ends"])
    old = read_description(path)
    body = frozen(inertia.from_mass_com_inertia(1.5, np.array([0.25, 0, -0.5]), 0.5 * np.eye(3)))
    new = replace(
        old,
        bodies=tuple(replace(b, inertia=body) if not b.virtual else b for b in old.bodies),
        joints=(
            replace(old.joints[0], dynamics=JointDynamics(0.1, 0.5)),
            *old.joints[1:-1],
            replace(old.joints[-1], dynamics=JointDynamics(0.2)),
        ),
    )
    after = edited_urdf(content, path, old, new)
    inertial = [
        "<inertial>\r",
        '\t<origin xyz="0.25 0 -0.5" rpy="0 0 0"/>\r',
        '\t<mass value="1.5"/>\r',
        '\t<inertia ixx="0.5" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.5"/>\r',
        "</inertial>\r",
    ]
    added = lines_added(content, after)
    assert added[:7] == ['\t<link name="base">\r', *(f"\t\t{line}" for line in inertial), "\t</link>\r"]
    assert '\t\t\t<origin xyz="0.25 0 -0.5" rpy="0 0 0"/>\r' in added
    assert "\t\t<dynamics damping='0.10' friction=\"0.5\"/>\r" in added
    assert '\t\t<dynamics damping="0.2"/>\r' in added
    pen = rb'<link name="pen">\r\n\t\t<inertial>\r\n\t\t\t<origin.*\r\n\t\t</inertial>\r\n\t</link>'
    assert re.search(pen, after, re.DOTALL)
    path.write_bytes(after)
    assert_same_values(read_description(path), new)


def test_values_that_a_file_cannot_hold_and_encodings_that_cannot_be_edited_are_clear_errors(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(content := TRICKY.replace("UTF-8", "UTF-16").encode("utf-16"))
    old = read_description(path)
    with pytest.raises(RobotFileError, match="save it as UTF-8"):
        edited_urdf(content, path, old, old)
    path.write_bytes(content := TRICKY.encode())
    old = read_description(path)
    impossible = replace(old.bodies[1], inertia=frozen([0.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(InvalidRequestError, match="'ünter>arm' is to have first moments but no mass"):
        edited_urdf(content, path, old, replace(old, bodies=(impossible,)))
    with pytest.raises(RobotFileError, match="entities"):
        edited_urdf(b'<!DOCTYPE a [<!ENTITY b "c">]><robot/>', path, old, old)
    with pytest.raises(RobotFileError, match="line 1"):
        edited_urdf(b"<robot><link></robot>", path, old, old)
    for encoding in ("shift_jis", "cp037"):
        text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="a"/>'
        with pytest.raises(RobotFileError, match="save it as UTF-8"):
            edited_urdf(text.encode(encoding), path, old, old)
