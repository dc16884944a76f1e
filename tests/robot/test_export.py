"""Identified robots as files: edited or new, and checked by their torques."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, DynidError, Robot, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import OutputError
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.formats import write_back as export
from dynid.robot.formats.revision import revised
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.formats.write_back import Format, write_back
from dynid.robot.joints import JointDynamics
from dynid.robot.pinocchio import largest_difference
from dynid.robot.robot import WORLD
from tests.references import assert_same_torques, example_robot_files
from tests.robot_files import TRICKY_MJCF, TRICKY_URDF
from tests.strategies import ALL_KINDS, SINGLE, URDF_KINDS, descriptions, random_inertia


def random_values(robot: Robot, seed: int = 0) -> tuple[Array, dict[str, JointDynamics]]:
    """Physical parameters for every solid link, and dynamics for every joint that has one coordinate."""
    rng = np.random.default_rng(seed)
    parameters = np.concatenate([random_inertia(rng) for _ in robot.solid_links])
    single = [joint.name for joint in robot.joints if joint.kind in SINGLE]
    return parameters, {name: JointDynamics(*rng.uniform(0.1, 1.0, 3).tolist()) for name in single}


def assert_wanted_torques(found: Robot, robot: Robot, parameters: Array, dynamics: dict, *, armature: bool) -> None:
    """The model's torques, with all terms, of a robot that was loaded from the written file."""
    terms = (Viscous(), Coulomb(), Armature()) if armature else (Viscous(), Coulomb())
    wanted = DynamicModel(revised(robot, parameters, dynamics), terms)
    q, v, a = random_states(wanted, 5, np.random.default_rng(1))
    assert [joint.name for joint in found.joints] == [joint.name for joint in robot.joints]
    assert_same_torques(DynamicModel(found, terms).inverse_dynamics(q, v, a), wanted.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("source", ["ur5", "tx40", "panda"])
@pytest.mark.parametrize(("form", "name"), [("urdf", "new.urdf"), ("mjcf", "new.xml")])
def test_tables_become_new_files(source: str, form: Format, name: str, tmp_path: Path) -> None:
    robot = load_robot(f"builtin:{source}")
    parameters, dynamics = random_values(robot)
    written = write_back(robot, parameters, dynamics, path := tmp_path / name, format=form)
    assert (written.path, written.edited) == (path, False)
    assert written.difference <= 1e-9
    assert ("motor inertia (armature)" in written.left_out) == (form == "urdf")
    assert_wanted_torques(load_robot(path), robot, parameters, dynamics, armature=form == "mjcf")


@pytest.mark.parametrize("path", example_robot_files()[::10], ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["urdf", "mjcf"])
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_example_robots_are_edited_or_become_mjcf(path: Path, form: Format, floating: bool, tmp_path: Path) -> None:
    try:
        robot = load_robot(path, floating_base=floating)
    except DynidError:
        return
    parameters, dynamics = random_values(robot)
    out = tmp_path / f"out.{'urdf' if form == 'urdf' else 'xml'}"
    written = write_back(robot, parameters, dynamics, out, format=form)
    assert written.edited == (form == "urdf")
    loaded = load_robot(out, floating_base=floating and form == "urdf")
    if form == "mjcf":
        assert largest_difference(revised(robot, parameters, dynamics), loaded) <= 1e-9
    else:
        held = {name: JointDynamics(own.damping, own.friction) for name, own in dynamics.items() if "/" not in name}
        assert_wanted_torques(loaded, robot, parameters, held, armature=False)
        # Their own values leave the file as it is.
        own = tmp_path / "own.urdf"
        write_back(robot, robot.parameters, {}, own, format="urdf")
        assert own.read_bytes() == path.read_bytes()


@given(descriptions(ALL_KINDS), st.integers(0, 2**32 - 1))
def test_random_robots_become_mjcf(description: Description, seed: int) -> None:
    robot = assemble(replace(description, source="builtin:random"))
    parameters, dynamics = random_values(robot, seed)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "new.xml"
        if any(joint.kind.nv == 6 and joint.parent != WORLD for joint in robot.joints):
            with pytest.raises(InvalidRequestError, match="free joint"):
                write_back(robot, parameters, dynamics, out, format="mjcf")
            return
        written = write_back(robot, parameters, dynamics, out, format="mjcf")
        assert written.difference <= 1e-9
        assert largest_difference(revised(robot, parameters, dynamics), load_robot(out)) <= 1e-9


@given(descriptions(URDF_KINDS), st.integers(0, 2**32 - 1), st.booleans())
def test_random_files_are_edited_whatever_is_locked(description: Description, seed: int, floating: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.urdf"
        source.write_text(urdf_text(assemble(description)))
        names = [joint.name for joint in assemble(description).independent_joints]
        lock = {names[-1]: 0.4} if len(names) > 1 else {}
        robot = load_robot(source, floating_base=floating, lock=lock, gravity=(1.0, 2.0, -9.0))
        parameters, dynamics = random_values(robot, seed)
        out = Path(folder) / "new.urdf"
        written = write_back(robot, parameters, dynamics, out, format="urdf")
        assert written.edited
        assert "gravity [1.0, 2.0, -9.0] m/s^2" in written.left_out
        loaded = load_robot(out, floating_base=floating, lock=lock, gravity=(1.0, 2.0, -9.0))
        assert_wanted_torques(loaded, robot, parameters, dynamics, armature=False)


def test_mjcf_files_are_edited_and_become_urdf(tmp_path: Path) -> None:
    source = tmp_path / "arm.xml"
    source.write_text(TRICKY_MJCF)
    robot = load_robot(source)
    parameters, dynamics = random_values(robot)
    written = write_back(robot, parameters, dynamics, tmp_path / "new.xml", format="mjcf")
    assert (written.edited, written.left_out) == (True, ())
    assert_wanted_torques(load_robot(tmp_path / "new.xml"), robot, parameters, dynamics, armature=True)
    with pytest.raises(InvalidRequestError, match="URDF has no spherical joints"):
        write_back(robot, parameters, dynamics, tmp_path / "new.urdf", format="urdf")
    source.write_text(TRICKY_MJCF.replace('<joint type="ball"/>', "<joint/>"))
    robot = load_robot(source, lock=["shaped joint"])
    parameters, dynamics = random_values(robot)
    written = write_back(robot, parameters, dynamics, tmp_path / "new.urdf", format="urdf")
    assert not written.edited
    assert "that locked joints can move (shaped joint)" in written.left_out


def test_planar_joints_of_urdf_become_three_joints_on_one_body(tmp_path: Path) -> None:
    source = tmp_path / "arm.urdf"
    source.write_text(TRICKY_URDF)
    robot = load_robot(source)
    parameters, dynamics = random_values(robot)
    write_back(robot, parameters, dynamics, tmp_path / "new.xml", format="mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    assert (model.nbody, model.njnt) == (1 + 3, 5)
    assert model.body("tool").jntnum == 3
    written = write_back(robot, parameters, dynamics, tmp_path / "new.urdf", format="urdf")
    assert "friction of planar joints" in written.left_out


def test_a_file_that_does_not_say_what_was_wanted_is_not_written(tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "arm.xml"
    body = '<body name="a"><joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
    source.write_text(f'<mujoco><compiler settotalmass="7"/><worldbody>{body}</worldbody></mujoco>')
    robot = load_robot(source)
    with pytest.raises(InvalidRequestError, match=r"body 'a' would not be the wanted one.*settotalmass"):
        write_back(robot, 2 * robot.parameters, {}, tmp_path / "new.xml", format="mjcf")
    free = body.replace("<joint", '<freejoint align="true"')
    source.write_text(f"<mujoco><worldbody>{free}</worldbody></mujoco>")
    aligned = load_robot(source)
    with pytest.raises(InvalidRequestError, match=r"body 'a' would not be the wanted one.*alignfree"):
        write_back(aligned, random_values(aligned)[0], {}, tmp_path / "new.xml", format="mjcf")
    ur5 = load_robot("builtin:ur5")
    monkeypatch.setattr(export, "_new", lambda *_: urdf_text(ur5).encode())
    with pytest.raises(InvalidRequestError, match=r"torques of what was to be written.* differ by"):
        write_back(ur5, 2 * ur5.parameters, {}, tmp_path / "new.urdf", format="urdf")
    monkeypatch.setattr(export, "_new", lambda *_: b"<robot>")
    with pytest.raises(InvalidRequestError, match="cannot be read again"):
        write_back(ur5, ur5.parameters, {}, tmp_path / "new.urdf", format="urdf")
    assert [entry.name for entry in tmp_path.iterdir()] == ["arm.xml"]


def test_outputs_that_exist_are_read_only_or_misnamed_are_clear_errors(tmp_path: Path) -> None:
    robot = load_robot("builtin:ur5")
    path = tmp_path / "arm.urdf"
    path.write_text("mine")
    with pytest.raises(OutputExistsError):
        write_back(robot, robot.parameters, {}, path, format="urdf")
    path.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        write_back(robot, robot.parameters, {}, path, format="urdf", overwrite=True)
    assert path.read_text() == "mine"
    with pytest.raises(InvalidRequestError, match=r"ends in \.xml or \.mjcf"):
        write_back(robot, robot.parameters, {}, path, format="mjcf")
    with pytest.raises(OutputError):
        write_back(robot, robot.parameters, {}, tmp_path / "nowhere" / "a.urdf", format="urdf")


def test_the_users_file_may_be_the_output_and_may_have_gone(tmp_path: Path) -> None:
    source = tmp_path / "arm.urdf"
    shutil.copy(next(path for path in example_robot_files() if path.name == "ur5_robot.urdf"), source)
    robot = load_robot(source)
    parameters, dynamics = random_values(robot)
    write_back(robot, parameters, dynamics, source, format="urdf", overwrite=True)
    assert_wanted_torques(load_robot(source), robot, parameters, dynamics, armature=False)
    source.unlink()
    with pytest.raises(DynidError, match="no such file"):
        write_back(robot, parameters, dynamics, tmp_path / "new.urdf", format="urdf")


def test_files_that_are_named_relative_to_another_folder_are_told(tmp_path: Path) -> None:
    source = tmp_path / "arm.urdf"
    shape = '<mesh filename="{}arm.stl"/>'
    (tmp_path / "out").mkdir()
    for prefix, expected in (("", 1), ("package://arm/", 0)):
        source.write_text(TRICKY_URDF.replace('<sphere radius="0.1"/>', shape.format(prefix)))
        robot = load_robot(source)
        for folder, told in ((tmp_path, 0), (tmp_path / "out", expected)):
            written = write_back(robot, robot.parameters, {}, folder / "new.urdf", format="urdf", overwrite=True)
            assert len(written.left_out) == told


def test_bodies_that_stay_impossible_are_told(tmp_path: Path) -> None:
    source = tmp_path / "arm.urdf"
    impossible = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/>'
    text = TRICKY_URDF.replace('<link name="pen"></link>', f'<link name="pen"><inertial>{impossible}</inertial></link>')
    source.write_text(text.replace('name="j3" type="continuous"', 'name="j3" type="fixed"'))
    robot = load_robot(source)
    heavier = np.concatenate([10 * random_inertia(np.random.default_rng(k)) for k in range(len(robot.solid_links))])
    written = write_back(robot, robot.parameters + heavier, {}, tmp_path / "new.urdf", format="urdf")
    assert written.impossible == ("pen",)
    ur5 = load_robot("builtin:ur5")
    assert write_back(ur5, *random_values(ur5), tmp_path / "a.urdf", format="urdf").impossible == ()


def test_robots_with_other_joints_differ() -> None:
    assert largest_difference(load_robot("builtin:ur5"), load_robot("builtin:tx40")) == np.inf
    assert largest_difference(load_robot("builtin:ur5"), load_robot("builtin:ur5", gravity=(0, 0, -9.8))) > 1e-4
