"""From a result to the user's robot file, and back into the same torques."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import yaml
from lxml import etree

from dynid import DynamicModel, DynidError, Result, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.files import OutputError
from dynid.findings import has
from dynid.identification.answers import Answer
from dynid.identification.robot_output import UntrustedResultError, default_path
from dynid.model.sampling import random_states
from dynid.model.terms import parse_terms
from dynid.robot.formats import Format
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.formats.xml_edits import WARNING, with_warning
from tests.identified_robots import TERMS, made

MJCF = """<mujoco model="arm">
  <!-- two hinges -->
  <worldbody>
    <body name="upper" pos='0 0 1'>
      <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <inertial pos="0.1 0 0.2" mass="2" diaginertia="0.05 0.06 0.02"/>
      <body name="lower" pos="0.5 0 0">
        <joint name="elbow" axis="0 1 0" armature="0.02"/>
        <geom type="capsule" size="0.04 0.2" mass="1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    text = urdf_text(load_robot("builtin:two_link")).replace("<robot ", "<!-- my arm -->\n<robot ", 1)
    path.write_text(text)
    return path


def torques_of_files(robot_file: Path, q: Array, v: Array, a: Array) -> Array:
    """Torques of a written robot with its own references, and what the YAML beside it adds."""
    robot = load_robot(robot_file)
    model = DynamicModel(robot, parse_terms(TERMS, robot))
    p = dict(zip(model.names, np.nan_to_num(model.reference).tolist(), strict=True))
    beside = robot_file.with_name(f"{robot_file.name}.yaml")
    if beside.exists():
        p |= {row["name"]: row["value"] for row in yaml.safe_load(beside.read_text())["parameters"]}
    return model.inverse_dynamics(q, v, a, np.array(list(p.values())))


def assert_same_torques(result: Result, written: Path) -> None:
    states = random_states(result.model, 20, np.random.default_rng(1))
    wanted, found = result.predict(*states, physical=True), torques_of_files(written, *states)
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max()


def test_the_users_urdf_gets_identified_numbers_and_nothing_else(tmp_path: Path, urdf: Path) -> None:
    result = made(urdf)
    exported = result.export(tmp_path / "new.urdf")
    assert exported.edited
    before, after = urdf.read_text(), exported.path.read_text()
    assert before != after
    numbers = re.compile(r"(<(?:mass|inertia|dynamics|origin)\b)[^>]*")
    assert numbers.sub(r"\1", before) == numbers.sub(r"\1", after)
    assert_same_torques(result, exported.path)
    assert exported.beside is not None
    rest = {row["name"] for row in yaml.safe_load(exported.beside.read_text())["parameters"]}
    assert rest == {"Ia1", "Ia2", "off1", "off2"}
    assert pin.buildModelFromUrdf(str(exported.path)).nv == 2
    assert mujoco.MjModel.from_xml_path(str(exported.path)).nv == 2
    assert json.loads(json.dumps(exported.to_dict()))["beside"] == str(exported.beside)


def test_the_users_mjcf_gets_identified_numbers(tmp_path: Path) -> None:
    source = tmp_path / "arm.xml"
    source.write_text(MJCF)
    result = made(source)
    written = result.export(tmp_path / "arm_identified.xml").path
    assert "<!-- two hinges -->" in written.read_text()
    assert_same_torques(result, written)
    assert yaml.safe_load(written.with_name(f"{written.name}.yaml").read_text())["parameters"][0]["name"] == "off1"


@pytest.mark.parametrize(("form", "suffix"), [("urdf", ".urdf"), ("mjcf", ".xml")])
def test_tables_become_robot_files(tmp_path: Path, form: str, suffix: str) -> None:
    result = made("builtin:two_link")
    exported = result.export(str(tmp_path / f"mine{suffix}"))
    assert exported.format == form
    assert not exported.edited
    assert_same_torques(result, exported.path)


def test_json_holds_every_number(tmp_path: Path) -> None:
    result = made("builtin:two_link")
    result.export(tmp_path / "two_link.json")
    data = json.loads((tmp_path / "two_link.json").read_text())
    assert [link["name"] for link in data["links"]] == ["link_1", "link_2"]
    assert {row["name"] for row in data["terms"]} == {f"{s}{k}" for s in ("fv", "fs", "Ia", "off") for k in (1, 2)}
    found = {row["name"]: row["value"] for link in data["links"] for row in link["parameters"]}
    found |= {row["name"]: row["value"] for row in data["terms"]}
    assert found == result.physical_values


def test_formats_follow_the_path_or_are_stated(tmp_path: Path) -> None:
    result = made("builtin:two_link")
    with pytest.raises(UnknownNameError, match="stl"):
        result.export(tmp_path / "arm.stl")
    with pytest.raises(InvalidRequestError, match=r"\.json"):
        result.export(tmp_path / "arm.urdf", "json")
    assert default_path(result, tmp_path, Format.MJCF) == tmp_path / "two_link_identified.xml"


def test_existing_files_are_not_replaced_unless_asked(tmp_path: Path, urdf: Path) -> None:
    result = made(urdf)
    before = urdf.read_bytes()
    with pytest.raises(OutputExistsError, match="exists already"):
        result.export(urdf)
    assert urdf.read_bytes() == before
    out, beside = tmp_path / "new.urdf", tmp_path / "new.urdf.yaml"
    beside.write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(OutputExistsError):
            result.export(out, overwrite=overwrite)
        assert not out.exists()
        assert beside.read_text() == "mine"
    beside.unlink()
    result.export(out)
    with pytest.raises(OutputExistsError):
        result.export(out)
    result.export(out, overwrite=True)


def test_both_files_are_written_or_neither(tmp_path: Path, urdf: Path) -> None:
    out = tmp_path / "locked.urdf"
    out.write_text("mine")
    out.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        made(urdf).export(out, overwrite=True)
    assert out.read_text() == "mine"
    assert not (tmp_path / "locked.urdf.yaml").exists()


def test_what_the_model_has_no_term_for_is_kept_and_listed(tmp_path: Path, urdf: Path) -> None:
    exported = made(urdf, terms=("offset",)).export(tmp_path / "new.urdf")
    assert "damping of joint_1, joint_2" in exported.kept


def test_friction_of_mimic_joints_is_not_counted_twice(tmp_path: Path) -> None:
    source = tmp_path / "gripper.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    finger = (
        '<link name="{0}">' + inertial + '</link><joint name="j{0}" type="prismatic"><parent link="base"/>'
        '<child link="{0}"/><axis xyz="0 0 1"/><dynamics damping="5" friction="4"/>{1}'
        '<limit lower="-2" upper="2" effort="9" velocity="9"/></joint>'
    )
    fingers = finger.format("a", "") + finger.format("b", '<mimic joint="ja" multiplier="-1"/>')
    source.write_text(f'<robot name="gripper"><link name="base"/>{fingers}</robot>')
    exported = made(source, terms=("viscous", "coulomb")).export(tmp_path / "new.urdf")
    joints = {joint.name: joint.dynamics for joint in load_robot(exported.path).joints}
    assert (joints["jb"].damping, joints["jb"].friction) == (0.0, 0.0)
    assert joints["ja"].damping == pytest.approx(6.0, rel=0.01)


def test_results_that_should_not_be_trusted_are_written_only_when_asked_for(tmp_path: Path, urdf: Path) -> None:
    result = made(urdf, sign=-1.0)
    assert result.verdict.answer is Answer.NO
    for name in ("new.urdf", "new.xml", "new.json"):
        path = tmp_path / name
        with pytest.raises(UntrustedResultError, match="anyway"):
            result.export(path)
        assert not path.exists()
        done = result.export(path, anyway=True)
        assert done.warning == result.verdict.headline
        assert result.verdict.reason.split(":")[0] in path.read_text()
    assert json.loads((tmp_path / "new.json").read_text())["warning"] == result.verdict.headline
    assert yaml.safe_load((tmp_path / "new.urdf.yaml").read_text())["warning"] == result.verdict.headline
    assert_same_torques(result, tmp_path / "new.urdf")
    assert pin.buildModelFromUrdf(str(tmp_path / "new.urdf")).nv == 2
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml")).nv == 2


def test_a_warning_in_the_users_file_is_not_handed_on(tmp_path: Path, urdf: Path) -> None:
    urdf.write_bytes(with_warning(urdf.read_bytes(), "of an earlier result"))
    trusted = made(urdf).export(tmp_path / "good.urdf")
    assert trusted.warning == ""
    assert WARNING.decode() not in trusted.path.read_text()


@pytest.mark.parametrize("head", ["", '<?xml version="1.0" encoding="ISO-8859-1"?>\r\n', "\ufeff<?xml version='1.0'?>"])
@pytest.mark.parametrize("text", ["a -- b --- c->", "joint 'é\x00\n<&>]]>': 50 %", "--"])
def test_warnings_are_comments_that_any_reader_takes(head: str, text: str) -> None:
    content = f"{head}<robot name='r'/>".encode()
    warned = with_warning(content, text)
    assert etree.fromstring(warned).tag == "robot"
    assert warned.count(WARNING) == 1
    assert with_warning(with_warning(warned, text), "") == content


def test_a_target_that_cannot_be_written_is_an_error(tmp_path: Path, urdf: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        made(urdf).export(tmp_path / "nowhere" / "arm.urdf")


def test_a_result_without_physical_links_is_no_robot(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"physical\.fit"):
        made("builtin:two_link", {"fit": False}).export(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    ("physical", "words"),
    [
        (
            {"total_mass": [0.1, 0.2], "masses": {"link_1": 1.0}},
            r"physical.total_mass = \[0.1, 0.2\] and physical.masses.link_1 = 1 exclude each other",
        ),
        ({"masses": {"link_7": 1.0}}, "no moving link 'link_7'"),
        ({"reference": "builtin:ur5"}, "prior's robot 'ur5'"),
        ({"in_geometry": True}, "no shape of known size"),
        ({"wieght": 3}, "no key 'wieght'"),
        ({"prior": "none", "weight": 3.0}, "neither a weight nor a reference"),
        ({"fit": False, "weight": 3.0}, "no effect"),
        ({"weight": 0.0}, "weight"),
        ({"weight": "cv"}, "'cross-validation'"),
        ({"fit": "no"}, "boolean"),
        ({"total_mass": [1.0, 2.0, 3.0]}, r"total_mass' is \[1.0, 2.0, 3.0\]"),
    ],
    ids=str,
)
def test_wrong_physical_settings_are_errors(physical: dict[str, Any], words: str) -> None:
    with pytest.raises(DynidError, match=words):
        made("builtin:two_link", physical)


def test_constraints_that_the_torques_contradict_are_said() -> None:
    found = made("builtin:two_link", {"total_mass": [0.1, 0.2]})
    assert found.physical is not None
    assert found.physical.relative_error > 10.0 * found.relative_error
    (finding,) = [one for one in found.findings if one.code == "physical-fit-worse"]
    assert finding.values["ratio"] == pytest.approx(found.physical.relative_error / found.relative_error)


def test_the_prior_can_come_from_another_file_and_its_weight_from_cross_validation(urdf: Path) -> None:
    found = made("builtin:two_link", {"reference": str(urdf), "weight": "cross-validation", "total_mass": 2.0})
    assert found.physical is not None
    assert found.physical.weight in (1.0, 10.0, 100.0, 1000.0, 10_000.0)
    assert found.physical.total_mass == pytest.approx(2.0, abs=1e-4)
    assert {link.reference for link in found.physical.links} == {"file"}
    assert has(found.findings, "prior-weight", "prior-weight-small", "prior-weight-largest")
