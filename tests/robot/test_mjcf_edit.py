"""New values in the user's own MJCF file, and nothing else changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid.arrays import frozen
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.robot import inertia
from dynid.robot.description import Description
from dynid.robot.formats.mjcf_edit import edited_mjcf
from dynid.robot.joints import JointDynamics
from dynid.robot.loading import read_description
from tests.mjcf_texts import TEXTS
from tests.robot_files import TRICKY_MJCF as TRICKY
from tests.strategies import random_inertia

VARIANTS = {
    "unix": TRICKY.encode(),
    "windows line ends": TRICKY.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + TRICKY.encode(),
}


def perturbed(description: Description, rng: np.random.Generator) -> Description:
    bodies = tuple(b if b.virtual else replace(b, inertia=frozen(random_inertia(rng))) for b in description.bodies)
    joints = tuple(
        replace(j, dynamics=JointDynamics(*rng.uniform(0.1, 1, 3).tolist())) if j.kind.nq == 1 else j
        for j in description.joints
    )
    return replace(description, bodies=bodies, joints=joints)


def assert_same_values(found: Description, wanted: Description) -> None:
    for ours, theirs in zip(found.bodies, wanted.bodies, strict=True):
        assert ours.name == theirs.name
        p, w = (np.zeros(10) if body.inertia is None else body.inertia for body in (ours, theirs))
        assert np.abs(p - w).max() <= 1e-9 * np.abs(w).max()
    assert [joint.dynamics for joint in found.joints] == [joint.dynamics for joint in wanted.joints]


def without_values(content: bytes) -> bytes:
    """The text without `<inertial>` elements and what joints do of themselves."""
    parts = re.split(rb"(<!--.*?-->)", content, flags=re.DOTALL)
    kept = [
        part
        if part.startswith(b"<!--")
        else re.sub(
            rb"(<joint[^>]*?)(\s*/?>)",
            lambda tag: re.sub(rb"""\s+(damping|frictionloss|armature)\s*=\s*["'][^"']*["']""", b"", tag[1]) + b">",
            re.sub(rb"\s*<inertial[^>]*/>", b"", part),
        )
        for part in parts
    ]
    return b"".join(kept)


def rewritten(content: bytes, folder: Path, rng: np.random.Generator) -> tuple[bytes, Description, Description]:
    """New content, what it says to MuJoCo, and what it should say."""
    path = folder / "robot.xml"
    path.write_bytes(content)
    old = read_description(path)
    assert edited_mjcf(content, path, old, old) == content
    wanted = perturbed(old, rng)
    after = edited_mjcf(content, path, old, wanted)
    path.write_bytes(after)
    return after, read_description(path), wanted


@pytest.mark.parametrize("content", VARIANTS.values(), ids=VARIANTS)
def test_odd_files_keep_their_bytes_and_compile_to_the_wanted_values(content: bytes, tmp_path: Path) -> None:
    after, found, wanted = rewritten(content, tmp_path, np.random.default_rng(0))
    assert_same_values(found, wanted)
    assert without_values(after) == without_values(content)


# The frame of an aligned free base is not the one that the file gives it; see test_export.py.
@pytest.mark.parametrize("name", [name for name in TEXTS if "aligned" not in name])
def test_models_of_every_kind_compile_to_the_wanted_values(name: str, tmp_path: Path) -> None:
    _, found, wanted = rewritten(TEXTS[name].encode(), tmp_path, np.random.default_rng(1))
    assert_same_values(found, wanted)


def changed(content: str, folder: Path, name: str, parameters: np.ndarray) -> str:
    """The text after a change of one body's inertia."""
    path = folder / "robot.xml"
    path.write_text(content)
    old = read_description(path)
    assert any(body.name == name for body in old.bodies)
    bodies = tuple(replace(b, inertia=frozen(parameters)) if b.name == name else b for b in old.bodies)
    return edited_mjcf(content.encode(), path, old, replace(old, bodies=bodies)).decode()


def test_only_what_changed_has_a_new_text(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(TRICKY)
    old = read_description(path)
    first = next(body for body in old.bodies if not body.virtual)
    assert first.inertia is not None
    mass, com, about_com = inertia.to_mass_com_inertia(first.inertia)
    heavier = inertia.from_mass_com_inertia(1.75, com, about_com)
    assert changed(TRICKY, tmp_path, first.name, heavier) == TRICKY.replace("'1.50'", "'1.75'")
    moved = inertia.from_mass_com_inertia(mass, np.array([0.1, 0.5, 0]), about_com)
    assert changed(TRICKY, tmp_path, first.name, moved) == TRICKY.replace('"0.10 0 0" mass', '"0.10 0.5 0" mass')
    rounder = inertia.from_mass_com_inertia(mass, np.zeros(3), 0.5 * np.eye(3))
    assert changed(TRICKY, tmp_path, first.name, rounder) == TRICKY.replace(
        """"0.10 0 0" mass='1.50' diaginertia=".03 .02 .04" euler="10 20 30" />""",
        """"0 0 0" mass='1.50' fullinertia="0.5 0.5 0.5 0 0 0" />""",
    )
    fuller = inertia.from_mass_com_inertia(1.0, np.zeros(3), np.diag([1, 2, 2.5]))
    assert changed(TRICKY, tmp_path, "full", fuller) == TRICKY.replace("2.50 0.10 0 0", "2.50 0 0 0")
    shaped = changed(TRICKY, tmp_path, "shaped", inertia.from_mass_com_inertia(1.0, np.zeros(3), np.eye(3)))
    new = '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0"/>'
    assert shaped == TRICKY.replace('<joint name="shaped', f'{new}<joint name="shaped')


def test_joints_are_told_apart_and_classes_are_overridden(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(TRICKY)
    old = read_description(path)
    hinge, slide = old.joints[:2]
    assert hinge.dynamics == JointDynamics(0.3, 1.0, 0.5)
    joints = (
        replace(hinge, dynamics=JointDynamics(0.3, 0.0, 0.75)),
        replace(slide, dynamics=JointDynamics(2.75, 0.0, 0.0)),
        *old.joints[2:],
    )
    after = edited_mjcf(TRICKY.encode(), path, old, replace(old, joints=joints)).decode()
    assert '<joint class="stiff" axis="0 1 0" frictionloss="0" armature="0.75"/>' in after
    assert "<joint type='slide' damping = '2.75' />" in after
    path.write_text(after)
    assert_same_values(read_description(path), replace(old, joints=joints))


def test_values_without_a_place_are_clear_errors(tmp_path: Path) -> None:
    box = inertia.from_mass_com_inertia(1.0, np.zeros(3), np.eye(3))
    link = '<body name="{}"><joint name="j {}"/><geom size=".1"/></body>'
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody>{link.format('other', 'o')}</worldbody></mujoco>")
    included = f'<mujoco><include file="part.xml"/><worldbody>{link.format("own", "w")}</worldbody></mujoco>'
    assert "<inertial" in changed(included, tmp_path, "own", box)
    with pytest.raises(RobotFileError, match=r"body 'other' is not written in this file itself .*<include>"):
        changed(included, tmp_path, "other", box)
    copies = f'<mujoco><worldbody><replicate count="2">{link.format("a", "a")}</replicate></worldbody></mujoco>'
    (tmp_path / "robot.xml").write_text(copies)
    copied = next(body.name for body in read_description(tmp_path / "robot.xml").bodies)
    with pytest.raises(RobotFileError, match="<replicate>"):
        changed(copies, tmp_path, copied, box)
    override = f'<mujoco>\n<compiler inertiafromgeom="true"/><worldbody>{link.format("a", "a")}</worldbody></mujoco>'
    with pytest.raises(RobotFileError, match="line 2: inertiafromgeom"):
        changed(override, tmp_path, "a", box)


def test_motors_that_have_more_than_what_is_wanted_are_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="j" armature="1"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor joint="j" gear="2" armature="0.5"/></actuator></mujoco>'
    )
    old = read_description(path)
    if old.joints[0].dynamics.armature == 1.0:
        pytest.skip("this MuJoCo has no motors with inertia")

    def written(armature: float) -> bytes:
        joint = replace(old.joints[0], dynamics=JointDynamics(armature=armature))
        return edited_mjcf(path.read_bytes(), path, old, replace(old, joints=(joint,)))

    assert b'<joint name="j" armature="1.5"/>' in written(3.5)
    with pytest.raises(InvalidRequestError, match="motors alone have 2, more than the 1"):
        written(1.0)
