"""The nearest possible robot to an impossible one."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dynid.errors import DynidError, OutputExistsError, RobotFileError
from dynid.files import OutputError
from dynid.robot import inertia
from dynid.robot.description import Description
from dynid.robot.frames import rotation_from_rpy
from dynid.robot.loading import read_description
from dynid.robot.repair import CONSISTENT_MARGIN, SMALLEST_MASS, nearest_inertia, repair, repaired
from tests.commands import run
from tests.references import example_robot_files
from tests.robot_files import bare_urdf, without_values


def impossible(description: Description) -> list[str]:
    return [
        b.name for b in description.bodies if b.inertia is not None and inertia.violations(b.inertia, tolerance=0.0)
    ]


def mujocos_complaint(path: Path) -> str:
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        mujoco.MjModel.from_xml_string(bare_urdf(path, floating=True))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", example_robot_files(), ids=lambda path: path.stem)
def test_wrong_example_robots_are_possible_afterwards_and_other_bodies_are_untouched(
    path: Path, tmp_path: Path
) -> None:
    try:
        before = read_description(path)
    except DynidError:
        return  # some of them are no robots
    if not impossible(before):
        assert repaired(path.read_bytes(), path) == (path.read_bytes(), ())
        return
    done = repair(path, out := tmp_path / path.name)
    assert sorted(body.body for body in done.bodies) == sorted(impossible(before))
    assert all(body.violations and body.changes for body in done.bodies)
    after = read_description(out)
    assert not impossible(after)
    repaired_bodies = {body.body for body in done.bodies}
    for old, new in zip(before.bodies, after.bodies, strict=True):
        if old.name not in repaired_bodies and old.inertia is not None:
            assert new.inertia is not None
            assert np.array_equal(old.inertia, new.inertia)
    assert without_values(out.read_bytes()) == without_values(path.read_bytes())
    lines = difflib.unified_diff(path.read_text().splitlines(), out.read_text().splitlines(), n=0)
    assert sum(line.startswith("+") for line in lines) <= 1 + 2 * len(done.bodies)
    complaint = mujocos_complaint(out)
    assert not complaint or "mass and inertia of moving bodies" in complaint  # a link without mass is another matter
    try:
        model = pin.buildModelFromUrdf(str(out), pin.JointModelFreeFlyer())
    except ValueError:
        return
    total = [body.inertia for body in after.bodies if body.inertia is not None]
    assert pin.computeTotalMass(model) == pytest.approx(sum(p[0] for p in total))


def distance_by_another_optimiser(matrix: np.ndarray) -> float:
    """Least distance to matrices tr(S) 1 - S with S = L L' + margin, over all L: no use of principal axes."""
    margin = CONSISTENT_MARGIN * np.abs(np.linalg.eigvalsh(matrix)).max()
    rows, columns = np.tril_indices(3)

    def candidate(x: np.ndarray) -> np.ndarray:
        L = np.zeros((3, 3))
        L[rows, columns] = x
        S = L @ L.T + margin * np.eye(3)
        return np.trace(S) * np.eye(3) - S

    starts = np.random.default_rng(0).normal(size=(3, 6))
    found = [minimize(lambda x: np.sum((candidate(x) - matrix) ** 2), x, method="SLSQP", tol=1e-14) for x in starts]
    return float(np.sqrt(min(result.fun for result in found)))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_repaired_inertia_is_the_nearest_possible_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R = rotation_from_rpy(*rng.uniform(-3, 3, 3))
    matrix = R @ np.diag(rng.normal(size=3) + rng.uniform(0, 1)) @ R.T
    nearest = nearest_inertia(matrix)
    assert not inertia.violations(inertia.from_mass_com_inertia(1.0, np.zeros(3), nearest), tolerance=0.0)
    assert np.linalg.norm(nearest - matrix) <= distance_by_another_optimiser(matrix) + 1e-6
    again = nearest_inertia(nearest, margin=0.0)
    assert np.allclose(again, nearest, rtol=0, atol=1e-12)
    assert np.allclose(nearest_inertia(1e-20 * matrix), 1e-20 * nearest, rtol=0, atol=1e-32)
    single = nearest.astype(np.float32).astype(float)
    assert inertia.is_physical(inertia.from_mass_com_inertia(1.0, np.zeros(3), single), tolerance=0.0)


URDF = """<robot name="r"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0.3 0 0"/><mass value="{mass}"/>
<inertia ixx="{ixx}" ixy="0.0" ixz="0" iyy="1.0" iyz="0" izz="1.00"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>
"""


@pytest.mark.parametrize(
    ("mass", "ixx", "law", "expected"),
    [
        ("0", "1.5", "without mass", ('<mass value="0"', f'<mass value="{SMALLEST_MASS}"')),
        ("-2", "1.5", "mass >= 0", ('<mass value="-2"', f'<mass value="{SMALLEST_MASS}"')),
    ],
)
def test_a_mass_that_is_not_positive_becomes_a_small_one_and_the_rest_stays(
    mass: str, ixx: str, law: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    text = URDF.format(mass=mass, ixx=ixx)
    content, (body,) = repaired(text.encode(), tmp_path / "r.urdf")
    assert law in body.violations[0].law
    assert content.decode() == text.replace(*expected)


def test_a_negative_mass_with_an_impossible_inertia_has_both_repaired(tmp_path: Path) -> None:
    content, (body,) = repaired(URDF.format(mass="-2", ixx="9").encode(), tmp_path / "r.urdf")
    assert [violation.law.split()[0] for violation in body.violations] == ["mass", "I1"]
    assert [change.what for change in body.changes] == ["mass", "principal moments"]
    again, bodies = repaired(content, tmp_path / "r.urdf")
    assert again == content
    assert not bodies


MJCF = """<mujoco>
  <worldbody><!-- <inertial mass="1"/> -->
    <body name="a"><joint axis="0 1 0"/>
      <inertial pos="0.1 0 0" euler="10 20 30" mass="1" diaginertia='1.0 1 3'/>
      <body><joint/><inertial pos="0 0 0" mass="1.0" fullinertia="1 2 9 0.1 0 0"/>
        <body name="good"><joint/><inertial pos="0 0 0" mass="1.0" diaginertia="1 2 2.50"/></body>
        <body name="plate"><joint/><inertial pos="0 0 0" mass="1.0" diaginertia="0.1 0.7 0.8"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_mjcf_files_that_mujoco_refuses_are_taken_after_their_repair(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    with pytest.raises(RobotFileError, match="MuJoCo cannot load it"):
        read_description(path)
    done = repair(path)
    assert [(body.body, body.line) for body in done.bodies] == [("a", 4), ("(unnamed)", 5), ("plate", 7)]
    assert done.output == tmp_path / "arm_repaired.xml"
    assert done.output is not None
    assert not impossible(read_description(done.output))
    text = done.output.read_text()
    assert 'pos="0.1 0 0" euler="10 20 30" mass="1" diaginertia=\'1.333' in text
    assert '<body name="good"><joint/><inertial pos="0 0 0" mass="1.0" diaginertia="1 2 2.50"/></body>' in text


def test_the_command_tells_what_was_wrong_and_what_changed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    path = tmp_path / "r.urdf"
    path.write_text(URDF.format(mass="-2", ixx="9"))
    status, out, _ = run("repair", path)
    assert status == 0
    assert "1 physically inconsistent body" in out
    assert "triangle" in out
    assert "write the real one" in out
    assert out.strip().splitlines()[-1] == f"Next: dynid inspect {tmp_path / 'r_repaired.urdf'}"
    assert (tmp_path / "r_repaired.urdf").exists()
    status, _, err = run("repair", path)
    assert (status, "exists already" in err) == (2, True)
    status, out, _ = run("repair", path, "--force", "--json")
    data = json.loads(out)
    assert data["output"].endswith("r_repaired.urdf")
    assert data["bodies"][0]["changes"][1].keys() == {"what", "unit", "before", "after", "relative"}
    status, out, _ = run("repair", tmp_path / "r_repaired.urdf", "--json")
    assert (status, json.loads(out)["output"]) == (0, None)
    status, out, _ = run("repair", tmp_path / "r_repaired.urdf")
    assert (status, "nothing to repair" in out) == (0, True)
    assert not (tmp_path / "r_repaired_repaired.urdf").exists()


def test_the_users_own_file_is_replaced_only_when_asked_twice(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(text := URDF.format(mass="1", ixx="9"))
    with pytest.raises(OutputExistsError):
        repair(path, path)
    assert path.read_text() == text
    path.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        repair(path, path, overwrite=True)
    path.chmod(0o644)
    repair(path, path, overwrite=True)
    assert not impossible(read_description(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.urdf"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.toml", "", "is a table.*dynid convert"),
        ("r.urdf", "<robot", "not well-formed"),
        ("r.urdf", URDF.format(mass="x", ixx="9"), r"line 2: <mass> has value=\"x\""),
        (
            "r.xml",
            MJCF.replace('mass="1"', 'mass="x"'),
            r"line 4: <inertial> has mass=\"x\"; expected one",
        ),
        ("r.xml", MJCF.replace("<joint axis", "<joint class"), "cannot be read after its repair"),
        ("r.urdf", "<html/>", "root element"),
    ],
)
def test_what_cannot_be_repaired_is_a_clear_error_and_nothing_is_written(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(RobotFileError, match=message):
        repair(path)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_built_in_robot_a_missing_file_and_another_format_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"dynid convert builtin:ur5 ur5\.urdf"):
        repair("builtin:ur5")
    with pytest.raises(RobotFileError, match="no such file"):
        repair(tmp_path / "none.urdf")
    (tmp_path / "r.urdf").write_text(URDF.format(mass="1", ixx="9"))
    with pytest.raises(RobotFileError, match=r"ends in \.urdf"):
        repair(tmp_path / "r.urdf", tmp_path / "r.xml")
