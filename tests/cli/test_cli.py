"""The command, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynid import __version__
from dynid.cli import app
from tests.references import example_robot_file
from tests.urdf_texts import BOMB, INERTIAL, LIMIT, joint, urdf

runner = CliRunner()


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def inspected(*arguments: str | Path) -> dict:
    status, out, _ = run("inspect", *arguments, "--json")
    assert status == 0
    return json.loads(out)


def test_json_has_what_the_documentation_promises() -> None:
    data = inspected("builtin:two_link", "--terms", "viscous,coulomb")
    assert data["robot"] == "two_link"
    assert [j["name"] for j in data["joints"]] == ["joint_1", "joint_2"]
    assert (data["standard_parameter_count"], data["base_parameter_count"]) == (24, 10)
    assert {"name": "mx1", "expression": "mx1 + 0.5*m2"}.items() <= data["base_parameters"][0].items()
    assert data["base_parameters"][0]["value"] == 0.75
    assert data["base_parameters"][0]["coefficients"] == {"mx1": 1.0, "m2": pytest.approx(0.5)}
    assert "m1" in data["unidentifiable"]
    assert {"code", "severity", "subject", "text", "values"} == set(data["findings"][0])


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["builtin:lwr4", "--gravity-only"], 12),
        (["builtin:two_link", "--wrench"], 13),
        (["builtin:two_link", "--wrench", "--moving"], 24),
        (["builtin:two_link", "--floating"], 24),
        (["builtin:two_link", "--wrench", "--gravity-only"], 7),
        (["builtin:two_link", "--centre-of-pressure"], 6),
        (["builtin:two_link", "--mounting", "link_1:0,0,0.1"], 7),
        (["builtin:two_link", "--measured", "wrench,joint_2"], 13),
        (["builtin:two_link", "--measured", "torques,centre_of_pressure"], 7),
        (["builtin:ur5", "--lock", "4,5,wrist_3_joint=0.5"], 15),
        (["builtin:spatial_3r", "--known", "Ixy2=0, Iyz2=0, Ixy3,Ixz3,Iyz3"], 10),
        (["builtin:tx40", "--terms", "viscous,coulomb,offset,armature,coupling"], 61),
        (["builtin:tx40", "--terms", "viscous,coulomb,offset,armature,coupling:5:6", "--selection", "pivoted"], 61),
        (["builtin:ur5", "--gravity", "0,0,9.81"], 36),
        (["builtin:ur5", "--gravity", "0,6.9367,-6.9367"], 38),
    ],
)
def test_options_change_what_is_identifiable(arguments: list[str], count: int) -> None:
    assert inspected(*arguments)["base_parameter_count"] == count


def test_parameters_asked_for_first_name_the_groups() -> None:
    data = inspected("builtin:two_link", "--wrench", "--order", "m2,my0,mx0,mz2,mx2,mz1,mx1", "--order", "Iyy1")
    expressions = {b["name"]: b["expression"] for b in data["base_parameters"]}
    assert expressions["m2"] == "m2 + m0 + m1"
    assert expressions["mx0"] == "mx0 - 0.25*m0"
    assert not {"m0", "m1"} & set(expressions)


def test_options_may_be_repeated() -> None:
    once = inspected("builtin:ur5", "--lock", "4,5", "--terms", "viscous,coulomb")
    twice = inspected("builtin:ur5", "--lock", "4", "--lock", "5", "--terms", "viscous", "--terms", "coulomb")
    assert once == twice
    assert [term["needs"] for term in once["terms"]] == [["v"], ["v"]]


def test_the_table_is_for_people_and_ends_with_what_to_do_next() -> None:
    status, out, err = run("inspect", "builtin:two_link")
    assert status == 0
    assert "6 base parameters" in out
    assert "mx1 + 0.5*m2" not in out
    assert "mx1 + 0.5*m2" in run("inspect", "builtin:two_link", "--full")[1]
    assert out.rstrip().splitlines()[-1].startswith("Next:") or "Next:" in "\n".join(out.splitlines()[-3:])
    assert err == ""


def test_names_from_files_are_not_markup(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    text = urdf(joint("[bold]j[/bold]", "base", "[red]arm"), links=("base", "[red]arm"))
    path.write_text(text.replace(LIMIT, '<limit velocity="1" effort="1"/>'))
    status, out, _ = run("inspect", path)
    assert status == 0
    assert "[bold]j[/bold]" in out


ARM = urdf(joint("j", "base", "arm"), joint("k", "arm", "hand"), links=("base", "arm", "hand"))
ERRORS = {
    "missing": (None, "there is no such file"),
    "not xml": ("no robot", "not well-formed XML"),
    "entity bomb": (BOMB, "declares XML entities"),
    "nan": (ARM.replace('value="1"', 'value="nan"'), "expected one finite number"),
    "no joints": (urdf(links=("base",)), "no joint that moves"),
    "huge mass": (ARM.replace('value="1"', 'value="1e308"'), "expected one finite number"),
    "huge axis": (ARM.replace(LIMIT, LIMIT + '<axis xyz="1e200 1e200 0"/>'), "expected three finite numbers"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_files_that_are_no_robot_end_with_status_2_and_one_sentence(case: str, tmp_path: Path) -> None:
    text, message = ERRORS[case]
    path = tmp_path / "robot.urdf"
    if text is not None:
        path.write_text(text)
    status, out, err = run("inspect", path)
    assert status == 2
    assert out == ""
    assert message in err
    assert str(path) in err
    assert len(err.strip().splitlines()) == 1


def test_a_massless_link_in_the_middle_and_a_negative_mass_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(ARM.replace(f'<link name="arm">{INERTIAL}</link>', '<link name="arm"/>'))
    data = inspected(path)
    assert data["base_parameter_count"] > 0
    assert "massless-link-in-chain" in {f["code"] for f in data["findings"]}
    path.write_text(ARM.replace('value="1"', 'value="-1"'))
    assert "mass-negative" in {f["code"] for f in inspected(path)["findings"] if f["severity"] == "error"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "builtin:ur6"], "no built-in robot 'ur6'; did you mean 'ur5'?"),
        (["inspect", "builtin:ur5", "--terms", "viscos"], "did you mean 'viscous'?"),
        (["inspect", "builtin:ur5", "--lock", "elbow=far"], "--lock: 'far' is no number"),
        (["inspect", "builtin:ur5", "--lock", "elbow"], "did you mean 'elbow_joint'?"),
        (["inspect", "builtin:ur5", "--known", "m9=1"], "no parameter 'm9'"),
        (["inspect", "builtin:ur5", "--order", "zz"], "no parameter 'zz'"),
        (["inspect", "builtin:ur5", "--moving"], "moving goes with wrench"),
        (["inspect", "builtin:ur5", "--wrench", "--moving", "--gravity-only"], "exclude each other"),
        (["inspect", "builtin:ur5", "--wrench", "--stands-on", "foot"], "no body 'foot' to stand on; choose from base"),
        (["inspect", "builtin:ur5", "--mounting", "hook"], "no body 'hook' to mount; choose from base"),
        (["inspect", "builtin:ur5", "--mounting", "base:1,2"], "three finite numbers"),
        (["inspect", "builtin:ur5", "--measured", "wrench,elbow"], "did you mean 'elbow_joint'?"),
        (["inspect", "builtin:ur5", "--wrench", "--total-mass-known"], "goes with the centre of pressure"),
        (["inspect", "builtin:ur5", "--gravity", "down"], "--gravity: 'down' is no number"),
        (["inspect", "builtin:ur5", "--gravity", "1,2"], "gravity must be three finite numbers"),
        (["convert", "builtin:ur5", "robot.sdf"], "must end in .urdf"),
        (["inspect", "builtin:ur5", "--known", "m1=3,m1=4"], "'m1' has two values"),
        (["inspect", "builtin:ur5", "--lock", "1,shoulder_pan_joint"], "is to be locked twice"),
        (["inspect", "builtin:ur5", "--tolerance", "nan"], "between 0 and 1"),
        (["inspect", "builtin:ur5", "--seed", "-1"], "--seed"),
        (["inspect", "builtin:ur5", "--gravity", "0,0,1e200"], "'1e200' is no number"),
    ],
)
def test_wrong_requests_end_with_status_2_and_advice(arguments: list[str], message: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_convert_writes_a_urdf_that_loads_and_never_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ur5.urdf"
    status, out, _ = run("convert", "builtin:ur5", path)
    assert status == 0
    assert f"dynid inspect {path}" in out.replace("\n", "")
    assert inspected(path)["base_parameter_count"] == 36
    before = path.read_text()
    path.write_text("mine")
    status, _, err = run("convert", "builtin:ur5", path)
    assert status == 2
    assert "exists already" in err
    assert path.read_text() == "mine"
    assert run("convert", "builtin:ur5", path, "--force")[0] == 0
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["ur5.urdf"]


def test_convert_never_replaces_the_robot_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(ARM)
    status, _, err = run("convert", path, path, "--force")
    assert status == 2
    assert "own file" in err
    assert path.read_text() == ARM


def test_names_of_outputs_are_not_markup(tmp_path: Path) -> None:
    path = tmp_path / "a[red]b.urdf"
    status, out, _ = run("convert", "builtin:pendulum", path)
    assert status == 0
    assert "a[red]b.urdf" in out.replace("\n", "")


def test_convert_says_when_the_folder_is_not_there(tmp_path: Path) -> None:
    status, _, err = run("convert", "builtin:ur5", tmp_path / "no" / "ur5.urdf")
    assert status == 2
    assert "cannot be written" in err


def test_a_doubtful_count_is_a_finding_with_what_to_try() -> None:
    path = example_robot_file("so101.urdf")
    (values,) = [f["values"] for f in inspected(path, "--exact-frames")["findings"] if f["code"] == "rank-doubtful"]
    assert values["tolerance"] == 1e-05
    assert "rank-doubtful" not in {
        f["code"] for f in inspected(path, "--exact-frames", "--tolerance", "1e-5")["findings"]
    }
    codes = {f["code"] for f in inspected(path)["findings"]}
    assert "frames-rounded" in codes
    assert "rank-doubtful" not in codes


def test_version_and_help() -> None:
    assert run("--version") == (0, f"dynid {__version__}\n", "")
    status, out, _ = run("inspect", "--help")
    assert status == 0
    assert "--gravity-only" in out


def test_heavy_parts_are_not_imported_before_they_are_needed() -> None:
    import subprocess
    import sys

    heavy = ("pinocchio", "mujoco", "scipy", "pydantic", "rich.table", "lxml")
    code = f"import dynid.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
