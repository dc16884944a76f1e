"""`dynid excite`: what it prints and writes, and what it says to bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dynid
from dynid import load_robot
from dynid.cli import app
from dynid.excitation import design
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.excitation.trajectory_files import read_coefficients, read_trajectory
from tests.designs import design_once
from tests.independent_condition import condition_number, read_csv
from tests.simulated import gentle

EXPERIMENT = """
robot = "builtin:two_link"

[excitation]
collisions = false
harmonics = 3
period = 4
rate = 50
position = [-2, 2]
velocity = 2
acceleration = 6
effort = 500
home = [0.1, -0.1]
"""

NO_LIMITS = """<robot name="bare"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<origin xyz="0.1 0 0"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["excite", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def plotly_script() -> str:
    from dynid.report.rendering import _plotly

    return _plotly()


@pytest.fixture(autouse=True)
def _each_is_designed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    design_once(monkeypatch)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "two_link.toml"
    path.write_text(EXPERIMENT)
    return path


def test_the_folder_holds_the_motion_as_table_and_coefficients(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "motion"
    status, text, _ = run(experiment, "--starts", 1, "--out", out, "--json")
    data = json.loads(text)
    assert status == 0
    names = {path.name for path in out.iterdir()}
    assert names == {
        "approach.csv", "excitation.json", "limits.html", "return.csv", "trajectory.csv", "trajectory.json",
        "trajectory_10_percent.csv", "trajectory_50_percent.csv",
    }  # fmt: skip
    assert {Path(name) for name in data["files"]} == set(out.iterdir())
    assert "warning" not in data
    assert json.loads((out / "excitation.json").read_text()) == data
    assert data["trajectory"] == str(out / "trajectory.csv")
    q, v, a = read_csv(out / "trajectory.csv")
    assert data["condition_number"] == pytest.approx(
        condition_number(load_robot("builtin:two_link"), q, v, a), rel=1e-6
    )
    assert {"name", "limit", "reached", "unit", "used", "kept"} == set(data["limits"][0])
    assert all(limit["kept"] for limit in data["limits"])
    assert all(row["std"] > 0 for row in data["parameters"])
    trajectory, joints = read_coefficients(out / "trajectory.json")
    assert joints == tuple(joint.name for joint in load_robot("builtin:two_link").joints)
    assert np.allclose(trajectory.states(np.arange(len(q)) / 50.0)[0], q)
    slow = read_csv(out / "trajectory_10_percent.csv")
    assert np.allclose(slow[0][::10], q, atol=1e-9)
    assert np.allclose(slow[1][::10], 0.1 * v, atol=1e-9)
    approach, back = read_csv(out / "approach.csv")[0], read_csv(out / "return.csv")[0]
    assert np.allclose(approach[0], [0.1, -0.1])
    assert np.allclose(approach[-1], q[0], atol=1e-3)
    assert np.allclose(back[0], q[0])
    page = (out / "limits.html").read_text()
    assert page.count('class="plot"') == 9
    assert not re.search(r'(src|href)="(?!#|data:image/png)', page.replace(plotly_script(), ""))  # nothing is loaded


def test_people_see_a_table_and_what_to_do_next(experiment: Path) -> None:
    status, text, _ = run(experiment, "--starts", 1)
    assert status == 0
    assert "condition number" in text
    assert "velocity of" in text
    assert "expected std" not in text
    assert "expected std" in run(experiment, "--starts", 1, "--full")[1]
    assert "Next: write it: repeat the command with --out" in text


def test_a_robot_alone_will_do_and_options_replace_the_files(experiment: Path) -> None:
    _, text, _ = run(
        "builtin:ur5",
        "--starts",
        1,
        "--period",
        6,
        "--harmonics",
        2,
        "--criterion",
        "determinant",
        "--json",
        "--no-collisions",
    )
    assert json.loads(text)["criterion"] == "determinant"
    _, text, _ = run(experiment, "--starts", 1, "--period", 3, "--rate", 20, "--noise", 2.5, "--json")
    assert json.loads(text)["duration"] == pytest.approx(3.0)


def test_a_written_motion_is_never_replaced_unasked(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "motion"
    assert run(experiment, "--starts", 1, "--out", out)[0] == 0
    before = (out / "trajectory.csv").read_text()
    status, _, err = run(experiment, "--starts", 1, "--seed", 5, "--out", out)
    assert (status, (out / "trajectory.csv").read_text()) == (2, before)
    assert "holds a trajectory already" in err
    assert run(experiment, "--starts", 1, "--seed", 5, "--out", out, "--force")[0] == 0
    assert (out / "trajectory.csv").read_text() != before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    assert "holds something else" in run(experiment, "--out", tmp_path / "other", "--force")[2]
    assert "is a file" in run(experiment, "--out", experiment)[2]


def too_far(problem: Any, x: Any) -> Any:
    trajectory = problem.trajectory(1.5 * x)
    return trajectory, design.fine_checks(problem, trajectory)


@pytest.fixture
def careless(monkeypatch) -> None:
    """Designs that violate limits."""
    monkeypatch.setattr(design, "within_limits", too_far)


@pytest.mark.usefixtures("careless")
def test_a_motion_that_violates_limits_is_written_only_if_allowed_and_replaces_nothing(
    experiment: Path, tmp_path: Path
) -> None:
    out = tmp_path / "motion"
    for options in ((), ("--force",)):
        status, _, err = run(experiment, "--starts", 1, "--out", out, *options)
        assert status == 2
        assert "is allowed" in err
        assert "--allow-broken-limits" in err
        assert not out.exists()
    assert run(experiment, "--starts", 1, "--out", out, "--force")[0] == 2  # the old option, which did both
    assert run(experiment, "--starts", 1, "--out", out, "--allow-broken-limits")[0] == 0
    assert not all(limit["kept"] for limit in json.loads((out / "excitation.json").read_text())["limits"])
    before = (out / "trajectory.csv").read_text()
    status, _, err = run(experiment, "--starts", 1, "--seed", 5, "--out", out, "--allow-broken-limits")
    assert (status, (out / "trajectory.csv").read_text()) == (2, before)
    assert "--force" in err
    both = ("--allow-broken-limits", "--force")
    assert run(experiment, "--starts", 1, "--seed", 5, "--out", out, *both)[0] == 0
    assert (out / "trajectory.csv").read_text() != before


@pytest.mark.usefixtures("careless")
def test_every_file_of_a_motion_that_violates_limits_says_so(tmp_path: Path) -> None:
    import yaml

    out = tmp_path / "motion"
    arguments = (
        "builtin:ur5",
        "--starts",
        1,
        "--harmonics",
        2,
        "--out",
        out,
        "--allow-broken-limits",
        "--no-collisions",
    )
    status, text, _ = run(*arguments, "--format", "csv,json,ros,urscript", "--json")
    assert status == 0
    data = json.loads(text)
    warning = data["warning"]
    assert "VIOLATES LIMITS" in warning
    assert data["findings"][0]["code"] == "limits-violated"
    for path in out.iterdir():
        content = path.read_text()
        assert "VIOLATES LIMITS" in content, path
        if path.suffix == ".csv":
            assert content.startswith("# WARNING: ")
    assert yaml.safe_load((out / "trajectory.yaml").read_text())["header"]["frame_id"] == f"WARNING: {warning}"
    program = (out / "trajectory.script").read_text()
    assert program.index("popup(") < program.index("movej(")
    assert "textmsg(" in program
    assert 'role="alert"' in (out / "limits.html").read_text()
    robot = load_robot("builtin:ur5")  # and dynid reads them back
    table, series = (read_trajectory(out / f"trajectory.{suffix}", robot) for suffix in ("csv", "json"))
    assert isinstance(table, Trajectory)
    assert np.allclose(table.q, series.states(np.array(table.t))[0])


@pytest.mark.usefixtures("careless")
def test_people_are_warned_loudly(experiment: Path) -> None:
    _, text, _ = run(experiment, "--starts", 1)
    assert text.startswith("WARNING: THIS TRAJECTORY VIOLATES LIMITS")


def test_formats_are_written_on_request_and_unknown_ones_are_named(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "motion"
    assert run(experiment, "--starts", 1, "--out", out, "--format", "ros")[0] == 0
    assert {path.name for path in out.iterdir()} == {
        "approach.yaml", "excitation.json", "limits.html", "return.yaml", "trajectory.yaml",
        "trajectory_10_percent.yaml", "trajectory_50_percent.yaml",
    }  # fmt: skip
    assert json.loads((out / "excitation.json").read_text())["trajectory"] == str(out / "trajectory.yaml")
    status, _, err = run(experiment, "--format", "rosbag")
    assert (status, "did you mean 'ros'" in err) == (2, True)
    status, _, err = run(experiment, "--out", tmp_path / "other", "--format", "urscript")
    assert (status, "six revolute joints" in err) == (2, True)
    out = tmp_path / "spline"
    options = ("--starts", 1, "--family", "spline", "--waypoints", 8, "--out", out, "--format", "json")
    status, _, err = run("builtin:two_link", *options)
    assert (status, err) == (0, "")
    assert json.loads((out / "trajectory.json").read_text())["waypoints"] == 8
    assert run("builtin:two_link", "--family", "spine")[0] == 2


def test_the_way_from_home_is_checked_too(experiment: Path, tmp_path: Path) -> None:
    frame = load_robot("builtin:two_link").links[1].bodies[0].name
    box = f"[[excitation.box]]\nframe = '{frame}'\nlower = [-9, -9, -9]\nupper = [9, 9, 0.3]\n"
    experiment.write_text(EXPERIMENT.replace("[0.1, -0.1]", "[-1.9, 0]") + box)
    out = tmp_path / "motion"
    status, _, err = run(experiment, "--starts", 1, "--out", out)
    assert status == 2
    assert f"the approach: z of {frame} reaches" in err
    assert "state another home" in err
    assert not out.exists()
    assert run(experiment, "--starts", 1, "--out", out, "--allow-broken-limits")[0] == 0
    broken = [one["name"] for one in json.loads((out / "excitation.json").read_text())["limits"] if not one["kept"]]
    assert broken == [f"approach: z of {frame}", f"return: z of {frame}"]


@pytest.mark.parametrize("name", [".", "../link"])
def test_a_folder_is_replaced_from_inside_and_through_links(
    experiment: Path, tmp_path: Path, monkeypatch, name: str
) -> None:
    out = tmp_path / "motion"
    assert run(experiment, "--starts", 1, "--out", out)[0] == 0
    (tmp_path / "link").symlink_to(out)
    before = (out / "trajectory.csv").read_text()
    monkeypatch.chdir(out)
    status, _, err = run(experiment, "--starts", 1, "--seed", 5, "--out", name, "--force")
    monkeypatch.chdir(tmp_path)
    assert (status, err) == (0, "")
    assert (out / "trajectory.csv").read_text() != before
    assert (tmp_path / "link").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"motion", "link", experiment.name}


def test_files_end_at_rest_whatever_the_rate(experiment: Path, tmp_path: Path) -> None:
    import yaml

    run(experiment, "--starts", 1, "--rate", 30.7, "--out", tmp_path / "motion", "--format", "csv,ros")
    for name in ("trajectory", "trajectory_10_percent", "approach"):
        table = np.loadtxt(tmp_path / "motion" / f"{name}.csv", delimiter=",", skiprows=1)
        assert (table[[0, -1], 3:] == 0.0).all()
        assert (np.diff(table[:, 0]) > 0.0).all()
    points = yaml.safe_load((tmp_path / "motion" / "trajectory.yaml").read_text())["points"]
    assert points[-1]["time_from_start"] == {"sec": 4, "nanosec": 0}
    assert points[-1]["velocities"] == [0.0, 0.0]


def test_segments_have_folders_of_their_own(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "motions"
    status, text, _ = run(
        experiment, "--starts", 1, "--block-triangular", "--out", out, "--format", "csv,ros", "--json"
    )
    assert status == 0
    assert [Path(part["trajectory"]).exists() for part in json.loads(text)["segments"]] == [True, True]
    assert (out / "segment_2" / "trajectory.yaml").exists()


def test_what_is_known_can_be_named(experiment: Path, tmp_path: Path) -> None:
    from dynid import DynamicModel
    from dynid.estimation.factors.accumulation import factorise
    from dynid.model.chunks import Chunk

    rng = np.random.default_rng(0)
    q, v, a, torque = (rng.uniform(-1, 1, (100, 2)) for _ in range(4))
    factors = factorise(DynamicModel(load_robot("builtin:two_link")), [Chunk(q, v, a, torque)])
    factors.save(tmp_path / "log.factors")
    with_it = json.loads(run(experiment, "--starts", 1, "--known", tmp_path / "log.factors", "--json")[1])
    without = json.loads(run(experiment, "--starts", 1, "--json")[1])
    sure = [[row["std"] for row in data["parameters"]] for data in (with_it, without)]
    assert sum(sure[0]) < sum(sure[1])


def test_a_result_of_another_model_is_not_what_is_known(experiment: Path, tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    log = dynid.simulate(robot, gentle(robot), terms=["viscous"])
    for name, terms in (("same", []), ("other", ["viscous"])):
        dynid.identify(robot, log, terms).save(tmp_path / name)
    assert run(experiment, "--starts", 1, "--known", tmp_path / "same")[0] == 0
    status, _, err = run(experiment, "--starts", 1, "--known", tmp_path / "other")
    assert status == 2
    assert "another model than that of the trajectory: 'terms' differs" in err


def test_a_time_limit_that_the_checks_alone_take_is_refused_with_what_is_needed(experiment: Path, monkeypatch) -> None:
    from dynid.excitation import recipe

    monkeypatch.setattr(recipe, "time_to_finish", lambda _: 7.0)
    status, _, err = run(experiment, "--time-limit", 8)
    assert status == 2
    assert re.search(r"too short for this robot .* about 7.0 s to check at the end; allow 1\d s or more", err)


def test_an_arm_of_six_joints_has_a_urscript_program(tmp_path: Path) -> None:
    run(
        "builtin:ur5",
        "--starts",
        1,
        "--harmonics",
        2,
        "--out",
        tmp_path / "ur5",
        "--format",
        "urscript",
        "--no-collisions",
    )
    program = (tmp_path / "ur5" / "trajectory.script").read_text()
    assert "servoj" in program
    assert program.startswith(
        "# Exciting trajectory for ur5, designed by dynid: 10 s at full speed.\n# Run it at 10 % first"
    )
    lists = re.findall(r"= \[(.*)\]$", program, re.MULTILINE)
    assert len(lists) == 4
    assert all("." in number or "e" in number for numbers in lists for number in numbers.split(", "))


BAD = {
    "positions that exclude each other": ("position = [1, -1]", "exclude each other: 1 to -1"),
    "start outside": ("start = [3.0, 0.0]", "puts joint .* at 3, and its limits are -2 to 2"),
    "start of a joint that is not there": ("start = { elbow = 1.0 }", "no joint 'elbow'"),
    "start too short": ("start = [0.0]", "excitation.start has 1 numbers, and 'two_link' has 2 joints"),
    "home outside": ("home = [9.0, 0.0]", "home posture puts joint"),
    "home too short": ("home = [9.0]", "excitation.home has 1 numbers"),
    "unknown key": ("harmonic = 4", "no key 'harmonic' in \\[excitation\\]; did you mean 'harmonics'"),
    "unknown criterion": ('criterion = "conditon"', "did you mean 'condition'"),
    "wrong criterion": ('criterion = "x*condition"', "write NAME or NUMBER\\*NAME"),
    "no harmonics": ("harmonics = 1", "cannot start and end at rest; state 2 or more"),
    "few samples": ("samples = 12\nharmonics = 9", "12 samples are too few .* state 24 or more"),
    "both": ("frequency = 3.0", "state one"),
    "both scales": ('scale = "magnitudes"\ndeviations = { m1 = 1.0 }', "not by both"),
    "velocities of other robots": ("velocity = [1.0, 2.0, 3.0]", "excitation.velocity has 3 numbers"),
    "no such parameter": ("deviations = { m9 = 1.0 }", "no parameter 'm9'"),
    "no such frame": ("[[excitation.speed]]\nframe = 'gripper'\nlimit = 1.0", "no moving body 'gripper'"),
    "no such key": (
        "[[excitation.speed]]\nframe = 'x'\nlimit = 1.0\nlimits = 2.0",
        "no key 'limits' in .*; did you mean 'limit'",
    ),
    "empty box": ("[[excitation.box]]\nframe = 'x'\nlower = [1,2,3]\nupper = [1,3,4]", "has no room; widen it"),
    "nothing moves": ("moving = []", "no joint moves"),
    "positions of other robots": ("position = [[1.0, 2.0]]", "has 1 ranges"),
    "start in the margin": ("start = [1.9, 0.0]\nmargin = 0.1", "at 1.9, and of its limits -2 to 2 the design may use"),
    "limit of a joint that is not there": ("velocity = { elbow = 1.0 }", "no joint 'elbow'"),
    "huge rate": ("rate = 1e9", "4 s at 1e\\+09 Hz are 4e\\+09 samples, and 300,000 are allowed; lower rate"),
    "huge period": ("period = 1e5", "a period of 100000 s is too long"),
    "nan": ("margin = 1.0", "excitation.margin"),
}


@pytest.mark.parametrize(("line", "words"), BAD.values(), ids=BAD)
def test_bad_settings_say_what_to_change(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "bad.toml"
    replaced = tuple(new.partition("=")[0] + "=" for new in line.splitlines())
    kept = [old for old in EXPERIMENT.splitlines() if not old.startswith(replaced)]
    path.write_text("\n".join([*kept, line]) + "\n")
    status, out, err = run(path, "--starts", 1)
    assert (status, out) == (2, "")
    assert re.search(words, err), err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["builtin:ur5", "--time-limit", "0.01"], "time limit of 0.01 s is too short; allow 0.5 s or more"),
        (["builtin:ur5", "--time-limit", "nan"], "time limit of nan s is too short"),
        (["nowhere.urdf"], "there is no such file"),
        (["builtin:ur5", "--known", "nowhere.factors"], "cannot be read"),
        (["builtin:ur5", "--segments", "2", "--block-triangular"], "leave the number of segments out"),
    ],
)
def test_bad_requests_are_explained(arguments: list[str], words: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert words in err


def test_a_robot_without_limits_gets_stated_assumptions_and_options_replace_them(tmp_path: Path) -> None:
    """MJCF files and many tables have no such limits: refusing them stopped most first attempts."""
    path = tmp_path / "bare.urdf"
    path.write_text(NO_LIMITS)
    quick = ("--starts", 1, "--period", 4, "--harmonics", 3, "--rate", 50, "--json", "--no-collisions")
    status, text, _ = run(path, *quick)
    assert status == 0
    assumed = [finding for finding in json.loads(text)["findings"] if finding["code"] == "limit-assumed"]
    assert [finding["subject"] for finding in assumed] == ["position", "velocity", "acceleration"]
    assert all("turn" in finding["values"]["joints"] for finding in assumed)
    assert all(f"--{finding['subject']} turn=" in finding["text"] for finding in assumed)
    stated = ("--position", "-1:1", "--velocity", "turn=0.5", "--acceleration", 2, "--noise", 0.1)
    data = json.loads(run(path, *quick, *stated)[1])
    assert not [finding for finding in data["findings"] if finding["code"].endswith("-assumed")]
    assert {limit["name"]: limit["limit"] for limit in data["limits"]} == {
        "position of turn": [-1.0, 1.0], "velocity of turn": 0.5, "acceleration of turn": 2.0
    }  # fmt: skip


def test_placeholders_of_exporters_are_no_limits(tmp_path: Path) -> None:
    path = tmp_path / "zero.urdf"
    limit = '<limit lower="-1" upper="1" effort="0" velocity="0"/>'
    path.write_text(NO_LIMITS.replace('type="continuous">', f'type="revolute">{limit}'))
    status, text, err = run(path, "--starts", 1, "--period", 4, "--harmonics", 3, "--json")
    assert (status, err) == (0, "")
    subjects = [one["subject"] for one in json.loads(text)["findings"] if one["code"] == "limit-assumed"]
    assert subjects == ["velocity", "acceleration"]
    path.write_text(path.read_text().replace('lower="-1" upper="1"', 'lower="0" upper="0"'))
    data = json.loads(run(path, "--starts", 1, "--period", 4, "--harmonics", 3, "--json")[1])
    assert "position" in [one["subject"] for one in data["findings"] if one["code"] == "limit-assumed"]
    path.write_text(path.read_text().replace('velocity="0"', 'velocity="1"'))
    assert "--position turn=LOWER:UPPER" in run(path)[2]


def test_joints_are_locked_and_starts_are_stated_on_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "motion"
    first, last = (joint.name for joint in load_robot("builtin:two_link").joints)
    quick = ("--starts", 1, "--period", 4, "--harmonics", 3, "--rate", 50, "--out", out)
    assert run("builtin:two_link", *quick, "--lock", f"{first}=0.3", "--start", f"{last}=0.2")[0] == 0
    with (out / "trajectory.csv").open() as stream:
        assert stream.readline().strip() == f"t,q_{last},v_{last},a_{last}"
    assert read_csv(out / "trajectory.csv")[0][0] == pytest.approx(0.2)
    assert "no joint 'elbow'" in run("builtin:two_link", "--lock", "elbow")[2]
    assert "is no range; write LOWER:UPPER" in run("builtin:two_link", "--position", "2")[2]
    assert "not both" in run("builtin:two_link", "--position=-1:1,1=-2:2")[2]
    assert "'fast' is no number" in run("builtin:two_link", "--velocity", "fast")[2]


GRIPPER = """<robot name="hand"><link name="base"/>{links}
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="{name}" type="prismatic"><parent link="arm"/><child link="left"/><axis xyz="0 1 0"/>
<limit lower="0.01" upper="0.04" velocity="0.1" effort="20"/></joint>
<joint name="follows" type="prismatic"><parent link="arm"/><child link="right"/><axis xyz="0 -1 0"/>
<limit lower="0" upper="0.04" velocity="0.1" effort="20"/>{mimic}</joint></robot>"""


def hand(name: str = "drive", mimic: str = "") -> str:
    body = NO_LIMITS.split("<inertial>")[1].split("</inertial>")[0]
    links = "".join(f'<link name="{one}"><inertial>{body}</inertial></link>' for one in ("arm", "left", "right"))
    return GRIPPER.format(links=links, name=name, mimic=f'<mimic joint="{name}"/>' if mimic else "")


def test_grippers_are_held_still_unless_asked_to_move(tmp_path: Path) -> None:
    path = tmp_path / "hand.urdf"
    path.write_text(hand(mimic="yes"))
    quick = ("--starts", 1, "--period", 4, "--harmonics", 3, "--rate", 50, "--json", "--no-collisions")
    data = json.loads(run(path, *quick)[1])
    note = next(finding for finding in data["findings"] if finding["code"] == "gripper-locked")
    assert "drive" in note["values"]["joints"]
    assert "--move drive" in note["text"]
    assert not [limit for limit in data["limits"] if "drive" in limit["name"]]
    data = json.loads(run(path, *quick, "--move", "drive")[1])
    assert [limit for limit in data["limits"] if "drive" in limit["name"]]
    assert not [finding for finding in data["findings"] if finding["code"] == "gripper-locked"]


def test_a_motion_without_columns_for_the_gripper_is_simulated_and_identified(tmp_path: Path) -> None:
    path, out, log = tmp_path / "hand.urdf", tmp_path / "motion", tmp_path / "log.csv"
    path.write_text(hand(mimic="yes"))
    assert run(path, "--starts", 1, "--period", 4, "--harmonics", 3, "--rate", 50, "--out", out)[0] == 0
    for name in ("trajectory.csv", "trajectory.json"):
        arguments = ["simulate", str(path), "--trajectory", str(out / name), "--out", str(log), "--force"]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        assert "drive = 0.01" in log.with_suffix(".toml").read_text()
    assert dynid.identify(log.with_suffix(".toml")).relative_error < 0.05
    motion = dynid.excite(path, time_limit=60, starts=1, period=4.0, harmonics=3)
    assert dynid.simulate(path, motion).position.shape[1] == 1


def test_progress_says_how_much_time_is_left() -> None:
    seen = []
    dynid.excite("builtin:two_link", time_limit=3.0, harmonics=3, period=4.0, progress=seen.append)
    assert all(0.0 <= one.remaining <= 3.0 for one in seen)
    assert seen[-1].remaining < seen[0].remaining
    assert re.fullmatch(
        r"Designing, condition number \S+ after \d+ starts?, at most \d s left", seen[-1].in_words("condition")
    )


def test_assumed_noise_is_a_share_of_each_joints_torque_and_leaves_the_condition_number_as_it_is() -> None:
    """Of 1 N m for all, all of a small robot's parameters were said to be unknown."""
    quick: dict[str, Any] = {"time_limit": 60, "starts": 1, "harmonics": 3, "period": 4.0}
    quick |= {"velocity": 2.0, "acceleration": 6.0}
    assumed = dynid.excite("builtin:two_link", **quick)
    stated = dynid.excite("builtin:two_link", **quick, noise=1.0)
    assert assumed.condition_number == pytest.approx(stated.condition_number)
    assert assumed.q == pytest.approx(stated.q)
    note = next(finding for finding in assumed.findings if finding.code == "noise-assumed")
    peaks = np.abs(dynid.DynamicModel(assumed.robot).inverse_dynamics(assumed.q, assumed.v, assumed.a)).max(axis=0)
    shown = [float(text.split()[1]) for text in note.values["noise"]]
    assert np.all(np.array(shown) > 0.004 * peaks)
    assert np.all(np.array(shown) < 0.03 * peaks)
    stds = [[row.std for row in found.expectations] for found in (assumed, stated)]
    assert np.all(np.array(stds[0]) < 0.3 * np.array(stds[1]))


def test_limits_by_name_leave_the_others_as_they_are_in_the_file() -> None:
    from dynid.excitation.limits.stated import joint_limits
    from dynid.excitation.settings import ExcitationSettings
    from dynid.experiment.reading import checked_table

    robot = load_robot("builtin:ur5")
    name = robot.joints[2].name
    found = joint_limits(
        checked_table(ExcitationSettings, {"velocity": {name: 0.5}, "position": {name: (-1.0, 0.5)}}), robot
    )
    file = [joint.limits for joint in robot.joints]
    assert (found[2].velocity, found[2].lower, found[2].upper) == (0.5, -1.0, 0.5)
    assert found[2].effort == file[2].effort
    assert [*found[:2], *found[3:]] == [*file[:2], *file[3:]]


def test_a_follower_that_leaves_no_range_is_named() -> None:
    from tests.references import example_robot_file

    err = run(example_robot_file("pr2.urdf"), "--starts", 1, "--move", "l_gripper_l_finger_joint")[2]
    assert re.search(r"joint '\w+' follows 'l_gripper_l_finger_joint' with a ratio of -1, and its range of 0 to", err)
    assert "-0;" not in err


def test_a_floating_base_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "free.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>'
    )
    assert "motions are for joints of one degree of freedom" in run(path)[2]


def test_resting_joints_without_knowledge_are_a_finding(experiment: Path) -> None:
    last = load_robot("builtin:two_link").joints[1].name
    experiment.write_text(f"{EXPERIMENT}moving = ['{last}']\n")
    data = json.loads(run(experiment, "--starts", 1, "--json")[1])
    unknown = [row["name"] for row in data["parameters"] if row["std"] is None]
    assert unknown
    warning = next(finding for finding in data["findings"] if finding["code"] == "parameters-not-excited")
    assert warning["values"]["parameters"] == unknown
    assert "NOT EXCITED" in " ".join(run(experiment, "--starts", 1)[1].split())


def test_no_text_calls_a_motion_safe() -> None:
    """Collisions are not checked, so nothing that people read may promise it."""
    root = Path(__file__).parents[2]
    package = root / "src" / "dynid"
    pages = [
        root / "README.md",
        *(root / "docs").glob("*.md"),
        *(root / "examples").iterdir(),
        *package.rglob("*.html"),
    ]
    texts = [*pages, package / "findings.toml", *package.rglob("*.py")]
    moves = r"(motion|trajector|posture|path\b|run it|move)"
    promise = re.compile(rf"\bsafe(ly)?\b[^.\n]{{0,80}}{moves}|{moves}[^.\n]{{0,80}}\bsafe(ly)?\b", re.IGNORECASE)
    found = {path.name: match[0] for path in texts if (match := promise.search(path.read_text(encoding="utf-8")))}
    assert found == {}
