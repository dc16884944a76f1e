"""From a result to the user's robot file, and back into the same torques."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from dynid import DynamicModel, load_robot
from dynid.arrays import Array
from dynid.cli import app
from dynid.identification.result import load_result
from dynid.model.sampling import random_states
from dynid.model.terms import parse_terms
from dynid.robot.formats.urdf_writer import urdf_text

TERMS = ("viscous", "coulomb", "armature", "offset")
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


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def made(folder: Path, robot_file: str, physical: str = "", terms: tuple[str, ...] = TERMS) -> Path:
    """A result of a robot whose bodies are 20 % heavier than its file says, with friction, from exact states."""
    robot = load_robot(robot_file)
    model = DynamicModel(robot, parse_terms(terms, robot))
    rng = np.random.default_rng(0)
    p = np.where(np.isnan(model.reference), rng.uniform(0.1, 0.5, len(model.names)), 1.2 * model.reference)
    t = np.arange(0.0, 10.0, 0.005)
    w = 2 * np.pi * np.array([0.31, 0.57, 0.83])
    sizes, phases = rng.uniform(0.2, 0.8, (2, robot.nv, 3))
    angle = np.multiply.outer(t, w)[:, None] + 6.0 * phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = model.inverse_dynamics(q, v, a, p) + 1e-3 * rng.normal(size=q.shape)
    columns = {f"q_{k}": q[:, k] for k in range(robot.nv)} | {f"tau_{k}": torque[:, k] for k in range(robot.nv)}
    pl.DataFrame({"t": t} | columns).write_csv(folder / "log.csv")
    experiment = folder / "experiment.toml"
    experiment.write_text(f"""
robot = "{robot_file}"
terms = {list(terms)}
[[log]]
position = {{ file = "log.csv", columns = "q_*" }}
torque = {{ file = "log.csv", columns = "tau_*" }}
time = {{ file = "log.csv", columns = "t" }}
[processing]
trim = 5
velocity_threshold = 0.05
{physical}
""")
    status, _, error = run("identify", experiment, "--out", folder / "result")
    assert status == 0, error
    return folder / "result"


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    text = urdf_text(load_robot("builtin:two_link")).replace("<robot ", "<!-- my arm -->\n<robot ", 1)
    path.write_text(text)
    return path


def identified_torques(folder: Path, q: Array, v: Array, a: Array) -> Array:
    result = load_result(folder)
    values = result.physical_values
    assert values is not None
    return result.base.model.inverse_dynamics(q, v, a, np.array(list(values.values())))


def torques_of_files(robot_file: Path, q: Array, v: Array, a: Array) -> Array:
    """Torques of a written robot with its own references, and what the YAML beside it adds."""
    robot = load_robot(robot_file)
    model = DynamicModel(robot, parse_terms(TERMS, robot))
    p = dict(zip(model.names, np.nan_to_num(model.reference).tolist(), strict=True))
    beside = robot_file.with_name(f"{robot_file.name}.yaml")
    if beside.exists():
        p |= {row["name"]: row["value"] for row in yaml.safe_load(beside.read_text())["parameters"]}
    return model.inverse_dynamics(q, v, a, np.array(list(p.values())))


def assert_same_torques(folder: Path, written: Path) -> None:
    states = random_states(load_result(folder).base.model, 20, np.random.default_rng(1))
    wanted, found = identified_torques(folder, *states), torques_of_files(written, *states)
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max()


def test_the_users_urdf_gets_identified_numbers_and_nothing_else(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf))
    status, output, _ = run("export", folder, "--to", "urdf", "--json")
    assert status == 0
    paths: dict[str, Any] = json.loads(output)
    written = Path(paths["path"])
    before, after = urdf.read_text(), written.read_text()
    assert before != after
    numbers = re.compile(r"(<(?:mass|inertia|dynamics|origin)\b)[^>]*")
    assert numbers.sub(r"\1", before) == numbers.sub(r"\1", after)
    assert_same_torques(folder, written)
    rest = {row["name"] for row in yaml.safe_load(Path(paths["beside"]).read_text())["parameters"]}
    assert rest == {"Ia1", "Ia2", "off1", "off2"}
    assert pin.buildModelFromUrdf(str(written)).nv == 2
    assert mujoco.MjModel.from_xml_path(str(written)).nv == 2


def test_the_users_mjcf_gets_identified_numbers(tmp_path: Path) -> None:
    source = tmp_path / "arm.xml"
    source.write_text(MJCF)
    folder = made(tmp_path, str(source))
    status, _, error = run("export", folder, "--to", "mjcf")
    assert status == 0, error
    written = folder / "arm_identified.xml"
    assert "<!-- two hinges -->" in written.read_text()
    assert_same_torques(folder, written)
    assert yaml.safe_load(written.with_name(f"{written.name}.yaml").read_text())["parameters"][0]["name"] == "off1"


@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_tables_become_robot_files(tmp_path: Path, form: str) -> None:
    folder = made(tmp_path, "builtin:two_link")
    out = tmp_path / f"mine{'.urdf' if form == 'urdf' else '.xml'}"
    status, output, error = run("export", folder, "--to", form, "--out", out)
    assert status == 0, error
    assert "a new file" in output
    assert_same_torques(folder, out)


def test_json_holds_every_number(tmp_path: Path) -> None:
    folder = made(tmp_path, "builtin:two_link")
    assert run("export", folder, "--to", "json")[0] == 0
    data = json.loads((folder / "two_link_identified.json").read_text())
    assert [link["name"] for link in data["links"]] == ["link_1", "link_2"]
    assert {row["name"] for row in data["terms"]} == {f"{s}{k}" for s in ("fv", "fs", "Ia", "off") for k in (1, 2)}


def test_existing_files_are_not_replaced_unless_asked(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf))
    before = urdf.read_bytes()
    status, _, error = run("export", folder, "--to", "urdf", "--out", urdf)
    assert (status, urdf.read_bytes()) == (2, before)
    assert "exists already" in error
    out = tmp_path / "new.urdf"
    beside = tmp_path / "new.urdf.yaml"
    beside.write_text("mine")
    for force in ([], ["--force"]):
        assert run("export", folder, "--to", "urdf", "--out", out, *force)[0] == 2
        assert not out.exists()
        assert beside.read_text() == "mine"
    beside.unlink()
    assert run("export", folder, "--to", "urdf", "--out", out)[0] == 0
    assert run("export", folder, "--to", "urdf", "--out", out)[0] == 2
    assert run("export", folder, "--to", "urdf", "--out", out, "--force")[0] == 0


def test_both_files_are_written_or_neither(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf))
    out = tmp_path / "locked.urdf"
    out.write_text("mine")
    out.chmod(0o444)
    assert run("export", folder, "--to", "urdf", "--out", out, "--force")[0] == 2
    assert out.read_text() == "mine"
    assert not (tmp_path / "locked.urdf.yaml").exists()


def test_a_robot_that_changed_since_is_refused(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf))
    urdf.write_text(urdf.read_text().replace('xyz="0.5 0 0.25"', 'xyz="0.7 0 0.25"'))
    status, _, error = run("export", folder, "--to", "urdf")
    assert status == 2
    assert "elsewhere now" in error


def test_what_the_model_has_no_term_for_is_kept_and_told(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf), terms=("offset",))
    status, output, _ = run("export", folder, "--to", "urdf")
    assert status == 0
    assert "damping of joint_1, joint_2" in " ".join(output.split())


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
    folder = made(tmp_path, str(source), terms=("viscous", "coulomb"))
    assert run("export", folder, "--to", "urdf")[0] == 0
    joints = {joint.name: joint.dynamics for joint in load_robot(folder / "gripper_identified.urdf").joints}
    assert (joints["jb"].damping, joints["jb"].friction) == (0.0, 0.0)
    assert joints["ja"].damping == pytest.approx(6.0, rel=0.01)


def test_torques_of_the_wrong_sign_keep_their_findings(tmp_path: Path) -> None:
    folder = made(tmp_path, "builtin:two_link")
    log = pl.read_csv(tmp_path / "log.csv").with_columns(-pl.col("^tau_.*$"))
    log.write_csv(tmp_path / "log.csv")
    status, output, error = run("identify", tmp_path / "experiment.toml", "--json")
    assert status == 0, error
    assert "drive.signs" in " ".join(finding["text"] for finding in json.loads(output)["findings"])
    assert folder.exists()


def test_a_target_that_cannot_be_written_is_an_error(tmp_path: Path, urdf: Path) -> None:
    folder = made(tmp_path, str(urdf))
    status, _, error = run("export", folder, "--to", "urdf", "--out", tmp_path / "nowhere" / "arm.urdf")
    assert status == 2
    assert "cannot be written" in error


def test_a_result_without_physical_links_is_no_robot(tmp_path: Path) -> None:
    folder = made(tmp_path, "builtin:two_link", "[physical]\nfit = false")
    status, _, error = run("export", folder, "--to", "urdf")
    assert status == 2
    assert "no physical links" in error


@pytest.mark.parametrize(
    ("physical", "words"),
    [
        (
            "total_mass = [0.1, 0.2]\nmasses = { link_1 = 1.0 }",
            "physical.total_mass = [0.1, 0.2] and physical.masses.link_1 = 1 exclude each other",
        ),
        ("masses = { link_7 = 1.0 }", "no moving link 'link_7'"),
        ('reference = "builtin:ur5"', "prior's robot 'ur5'"),
        ("in_geometry = true", "no shape of known size"),
        ("wieght = 3", "did you mean 'weight'?"),
        ('prior = "none"\nweight = 3.0', "neither a weight nor a reference"),
        ("fit = false\nweight = 3.0", "no effect"),
        ("weight = 0.0", "physical.weight"),
        ('weight = "cv"', "'cross-validation'"),
        ('fit = "no"', "boolean"),
        ("total_mass = [1.0, 2.0, 3.0]", "'physical.total_mass' is [1.0, 2.0, 3.0]"),
    ],
)
def test_wrong_physical_tables_are_errors(tmp_path: Path, physical: str, words: str) -> None:
    made(tmp_path, "builtin:two_link")
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(experiment.read_text() + f"[physical]\n{physical}\n")
    status, _, error = run("identify", experiment)
    assert status == 2
    assert words in " ".join(error.split())


def test_constraints_that_the_torques_contradict_are_told(tmp_path: Path) -> None:
    folder = made(tmp_path, "builtin:two_link", "[physical]\ntotal_mass = [0.1, 0.2]")
    data = load_result(folder).data
    assert data["physical"]["relative_error"] > 10.0 * data["relative_error"]
    assert any(finding["subject"] == "physical links" for finding in data["findings"])


def test_the_prior_can_come_from_another_file_and_its_weight_from_cross_validation(tmp_path: Path, urdf: Path) -> None:
    table = f'[physical]\nreference = "{urdf}"\nweight = "cross-validation"\ntotal_mass = 2.0'
    folder = made(tmp_path, "builtin:two_link", table)
    physical = load_result(folder).data["physical"]
    assert physical["weight"] in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    assert physical["total_mass"] == pytest.approx(2.0, abs=1e-4)
    assert {link["reference"] for link in physical["links"]} == {"file"}
