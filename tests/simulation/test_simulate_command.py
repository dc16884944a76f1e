"""`dynid simulate` and `dynid validate --simulate`: from a trajectory to a log, to parameters, to positions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dynid import load_robot
from dynid.cli import app
from dynid.experiment.reading import read_experiment
from dynid.identification.pipeline import identify
from tests.simulated import gentle

ROBOT = load_robot("builtin:two_link")


def table(path: Path, *, period: float = 5.0, seed: int = 0) -> Path:
    trajectory = gentle(ROBOT, seed, period)
    t = np.linspace(0.0, period, 501)
    states = dict(zip("qva", trajectory.states(t), strict=True))
    columns = {f"{what}_{k + 1}": states[what][:, k] for what in "qva" for k in range(2)}
    pl.DataFrame({"t": t} | columns).write_csv(path)
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_simulated_log_is_identified_unchanged_and_proved_in_closed_loop(tmp_path: Path) -> None:
    train, other = table(tmp_path / "one.csv"), table(tmp_path / "two.csv", seed=4)
    common = ("--controller", "pd_gravity", "--bandwidth", "3", "--set", "fs1=0.5,fv2=0.3,m2=2.2")
    for name, trajectory in (("a.csv", train), ("b.parquet", other)):
        status, out, _ = run(
            "simulate", "builtin:two_link", "--trajectory", trajectory, "--out", tmp_path / name, *common, "--json"
        )
        assert status == 0
        data = json.loads(out)
        assert data["log"] == str(tmp_path / name)
        assert 0.0 < data["rmse_tracking"] < 0.1
    assert "fs1" not in (tmp_path / "a.toml").read_text()  # the truth is kept apart
    values = identify(tmp_path / "a.toml").values
    assert (values["fs1"], values["fv2"]) == pytest.approx((0.5, 0.3), rel=0.02)
    assert run("identify", tmp_path / "a.toml", "--out", tmp_path / "result")[0] == 0
    status, out, _ = run("validate", tmp_path / "result", tmp_path / "b.toml", "--simulate", "--json")
    assert status == 0
    data = json.loads(out)
    assert data["relative_error"] < 0.01
    for joint in data["simulation"]["joints"]:
        assert joint["rms_position"] < 0.02 * joint["rms_tracking"]
    status, out, _ = run("validate", tmp_path / "result", tmp_path / "b.toml", "--simulate")
    assert "RMS of simulated - measured" in out


def test_a_table_for_people_ends_with_what_to_do_next(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = run(
        "simulate", "builtin:two_link", "--trajectory", table(tmp_path / "t.csv"), "--out", tmp_path / "log.csv"
    )
    assert status == 0
    assert "tracking error" in out
    assert out.strip().splitlines()[-1].startswith("Next: dynid identify")


def test_rows_near_rest_are_dropped_where_stribeck_friction_jumps(tmp_path: Path) -> None:
    trajectory, out = table(tmp_path / "t.csv"), tmp_path / "log.csv"
    given = ["--set", "fs*=0.2,fst*=0.1,vs*=0.1", "--terms", "viscous,stribeck"]
    status, _, _ = run("simulate", "builtin:two_link", "--trajectory", trajectory, "--out", out, *given)
    assert status == 0
    assert "velocity_threshold = 0.02" in out.with_suffix(".toml").read_text()


EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]

[drive]
ratios = [100, 50]
torque_constants = [0.1, 0.1]
positions = "motor"
torques = "motor"

[processing]
period = 5.0
lowpass = 20
decimate = [10]
velocity_threshold = 0.02

[simulation]
trajectory = "t.csv"
periods = 4
rate = 500
controller = "pd"
bandwidth = [4, 6]
parameters = { "fs*" = 0.2, fv1 = 0.4 }
smoothing = 0.01
seed = 5
payload = { mass = 0.5, com = [0.1, 0, 0] }

[simulation.sensors]
encoder = 1e-4
noise = 0.01
jitter = 0.02
dropped = 0.01
"""


def test_an_experiment_says_what_does_not_fit_on_the_command_line(tmp_path: Path) -> None:
    table(tmp_path / "t.csv")
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    status, _, errors = run("simulate", tmp_path / "experiment.toml", "--out", tmp_path / "log.npz")
    assert (status, errors) == (0, "")
    written = read_experiment(tmp_path / "log.toml")
    assert written.log[0].torques.unit == "A"
    assert written.simulation.controller == "pd"
    assert written.simulation.smoothing == 0.0  # unknown to an experimenter
    with np.load(tmp_path / "log.truth.npz") as truth:
        parameters = dict(zip(truth["names"].tolist(), truth["parameters"].tolist(), strict=True))
    assert parameters["fv1"] == 0.4
    assert parameters["m2"] == pytest.approx(ROBOT.parameters[10] + 0.5)
    found = identify(tmp_path / "log.toml")
    values = found.values
    assert values["fv1"] == pytest.approx(0.4, abs=0.1)
    (finding,) = [finding for finding in found.findings if finding.code == "periods-averaged"]
    assert finding.values["periods"] == 4


def test_seeds_decide_logs(tmp_path: Path) -> None:
    trajectory = table(tmp_path / "t.csv", period=1.0)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ("--noise", "0.1", "--seed", seed, "--out", tmp_path / f"{name}.csv")
        assert run("simulate", "builtin:two_link", "--trajectory", trajectory, *options)[0] == 0
    one, same, other = ((tmp_path / f"{name}.csv").read_text() for name in "abc")
    assert one == same
    assert one != other


BAD = {
    "no trajectory": ((), "no trajectory to follow"),
    "no file": (("--trajectory", "missing.csv"), "missing.csv"),
    "empty file": (("--trajectory", "empty.csv"), "empty.csv"),
    "only a header": (("--trajectory", "header.csv"), "no rows of numbers"),
    "unknown joint": (("--trajectory", "joint.csv"), "there is no joint 'elbowe'"),
    "missing joint": (("--trajectory", "one.csv"), "no column 'q_joint_2'"),
    "no time": (("--trajectory", "time.csv"), "no column 't'"),
    "negative noise": (("--trajectory", "t.csv", "--noise", "-1"), "noise"),
    "negative encoder": (("--trajectory", "t.csv", "--encoder", "-1"), "encoder"),
    "unknown controller": (("--trajectory", "t.csv", "--controller", "pid"), "controller"),
    "unknown parameter": (("--trajectory", "t.csv", "--set", "fq1=2"), "fq1"),
    "parameter without value": (("--trajectory", "t.csv", "--set", "m1"), "write m1=VALUE"),
    "wrong payload": (("--trajectory", "t.csv", "--payload", "1,2"), "MASS,X,Y,Z"),
    "negative payload": (("--trajectory", "t.csv", "--payload", "-1"), "mass"),
    "wrong rates": (("--trajectory", "t.csv", "--log-rate", "333"), "no whole part"),
    "no periods": (("--trajectory", "half.csv", "--periods", "2"), "periodic"),
    "in motion": (("--trajectory", "moving.csv"), "starts in motion: joint"),
    "unstable": (
        ("--trajectory", "t.csv", "--rate", "50", "--bandwidth", "40", "--controller", "pd"),
        "the controller is unstable",
    ),
    "no rate": (("--trajectory", "t.csv", "--rate", "0"), "rate"),
    "no bandwidth": (("--trajectory", "t.csv", "--bandwidth", "0"), "bandwidth"),
    "no log rate": (("--trajectory", "t.csv", "--log-rate", "0"), "log_rate"),
    "impossible link": (("--trajectory", "t.csv", "--set", "m1=-5"), "cannot exist"),
    "short start": (("--trajectory", "t.csv", "--start", "0.5"), "the start must have the shape (2,)"),
    "long start": (("--trajectory", "t.csv", "--start", "0,0,0", "--lead-in", "1"), "the start must have the shape"),
    "too many ticks": (("--trajectory", "t.csv", "--rate", "1e7"), "lower the rate"),
    "no folder": (("--trajectory", "t.csv", "--out", "nowhere/log.csv"), "there is no folder 'nowhere'"),
    "the trajectory": (("--trajectory", "t.csv", "--out", "t.csv", "--force"), "is an input of the simulation"),
    "another format": (("--trajectory", "t.csv", "--out", "log.xls"), "must end in .csv"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch, arguments, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    table(Path("t.csv"))
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("t,q_1,q_2\n")
    Path("joint.csv").write_text("t,q_1,q_elbowe\n0,0,0\n1,0,0\n2,0,0\n")
    Path("one.csv").write_text("t,q_1\n0,0\n1,0\n2,0\n")
    Path("time.csv").write_text("x,q_1,q_2\n0,0,0\n1,0,0\n2,0,0\n")
    t = np.linspace(0, 1, 101)
    pl.DataFrame({"t": t, "q_1": 0.1 * t**3, "q_2": 0 * t}).write_csv("half.csv")
    pl.DataFrame({"t": t, "q_1": 0.1 * t, "q_2": 0 * t}).write_csv("moving.csv")
    before = sorted(Path().iterdir())
    status, _, errors = run("simulate", "builtin:two_link", *arguments)
    assert status == 2, errors
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("height", "seconds", "message"),
    [
        (10.0, 60.0, r"joint 'elbow_joint': at 30 s its position is 10, and the limit is 6\.283"),
        (5.0, 3.0, "joint 'elbow_joint': at .* s its speed is .* and the limit is 3.142"),
        (1.0, 1.2, "joint 'elbow_joint': at .* s its acceleration is .* and the limit is 3.142"),
    ],
)
def test_a_trajectory_beyond_limits_is_refused(tmp_path: Path, height: float, seconds: float, message: str) -> None:
    t = np.linspace(0.0, seconds, 201)
    bump = 0.5 * height * (1 - np.cos(2 * np.pi * t / seconds))
    pl.DataFrame({"t": t} | {f"q_{k}": bump * (k == 3) for k in range(1, 7)}).write_csv(tmp_path / "t.csv")
    status, _, errors = run("simulate", "builtin:ur5", "--trajectory", tmp_path / "t.csv", "--out", tmp_path / "l.csv")
    assert status == 2
    assert re.search(message, errors), errors


def test_files_are_not_overwritten_without_being_asked(tmp_path: Path) -> None:
    trajectory = table(tmp_path / "t.csv", period=1.0)
    (tmp_path / "log.toml").write_text("mine")
    arguments = ("simulate", "builtin:two_link", "--trajectory", trajectory, "--out", tmp_path / "log.csv")
    status, _, errors = run(*arguments)
    assert status == 2
    assert "--force" in errors
    assert (tmp_path / "log.toml").read_text() == "mine"
    assert not (tmp_path / "log.csv").exists()
    assert run(*arguments, "--force")[0] == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nois = 0.1", "there is no key 'nois' in [simulation.sensors]; did you mean 'noise'?"),
        ("noise = -0.1", "sensors.noise"),
        ("dropped = 2.0", "dropped"),
        ("torque_constant_error = 0.5", "must be below 0.5"),
    ],
)
def test_a_wrong_key_of_an_experiment_is_named(tmp_path: Path, line: str, message: str) -> None:
    table(tmp_path / "t.csv")
    (tmp_path / "experiment.toml").write_text(EXPERIMENT.replace("noise = 0.01", line).replace("dropped = 0.01", ""))
    status, _, errors = run("simulate", tmp_path / "experiment.toml", "--out", tmp_path / "log.csv")
    assert status == 2
    assert message in errors


def test_the_simulation_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    (tmp_path / "experiment.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    experiment = read_experiment(tmp_path / "experiment.toml", needs_logs=False)
    assert experiment.simulation.sensors.signal_to_noise == 50
    assert experiment.simulation.trajectory == str(tmp_path / "motion.csv")


def test_validation_by_simulation_needs_to_know_what_was_followed(tmp_path: Path) -> None:
    trajectory = table(tmp_path / "t.csv")
    assert run("simulate", "builtin:two_link", "--trajectory", trajectory, "--out", tmp_path / "log.csv")[0] == 0
    assert run("identify", tmp_path / "log.toml", "--out", tmp_path / "result")[0] == 0
    text = (tmp_path / "log.toml").read_text()
    (tmp_path / "bare.toml").write_text(text[: text.index("[simulation]")])
    status, _, errors = run("validate", tmp_path / "result", tmp_path / "bare.toml", "--simulate")
    assert status == 2
    assert "no trajectory" in errors
    assert "bare.toml" in errors
    status, _, errors = run("validate", tmp_path / "result", tmp_path / "log.csv", "--simulate")
    assert status == 2
    assert "is no experiment" in errors


@pytest.mark.parametrize("kind", ["freejoint/", 'joint name="b" type="ball"/'])
def test_joints_of_several_degrees_are_refused_before_their_columns_are_looked_for(tmp_path: Path, kind: str) -> None:
    body = '<inertial mass="1" pos="0.1 0 0" diaginertia="1 1 1"/>'
    inner = f'<body><joint name="h" axis="0 0 1"/>{body}</body>'
    (tmp_path / "r.xml").write_text(f"<mujoco><worldbody><body><{kind}>{body}{inner}</body></worldbody></mujoco>")
    (tmp_path / "t.csv").write_text("t,q_h\n0,0\n1,0\n2,0\n")
    status, _, errors = run(
        "simulate", tmp_path / "r.xml", "--trajectory", tmp_path / "t.csv", "--out", tmp_path / "log.csv"
    )
    assert status == 2
    assert "only joints of one degree of freedom can be simulated" in errors


def test_an_experiment_is_not_overwritten_by_its_own_log(tmp_path: Path) -> None:
    table(tmp_path / "t.csv")
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    status, _, errors = run("simulate", tmp_path / "mine.toml", "--out", tmp_path / "mine.csv", "--force")
    assert status == 2
    assert "is an input" in errors
    assert (tmp_path / "mine.toml").read_text() == EXPERIMENT


@pytest.mark.parametrize("stated", [None, 0.0, 0.01])
def test_a_stated_delay_is_in_the_log_once_however_often_it_is_simulated(tmp_path: Path, stated: float | None) -> None:
    trajectory = table(tmp_path / "t.csv", period=2.0)
    drive = "" if stated is None else f"[drive]\ndelay = {stated}\n"
    text = f'robot = "builtin:two_link"\n{drive}[simulation]\ntrajectory = "{trajectory}"\n'
    (tmp_path / "zero.toml").write_text(text)
    for before, after in (("zero", "one"), ("one", "two")):
        assert run("simulate", tmp_path / f"{before}.toml", "--out", tmp_path / f"{after}.csv")[0] == 0
    delays = [read_experiment(tmp_path / f"{name}.toml").drive.delay for name in ("one", "two")]
    assert delays == [-0.0005 if stated is None else stated] * 2
    logs = [pl.read_csv(tmp_path / f"{name}.csv")["tau_1"].to_numpy() for name in ("one", "two")]
    assert np.array_equal(logs[0], logs[1])
    late = 0 if stated is None else round(stated * 1000)
    with np.load(tmp_path / "one.truth.npz") as truth:
        true = truth["torque"][:, 0]
    held = true if stated is None else 0.5 * (true + np.concatenate([true[:1], true[:-1]]))
    assert np.allclose(logs[0][late + 1 :], held[1 : len(held) - late], atol=1e-9)


def test_periods_settle_first_and_the_truth_tells_all(tmp_path: Path) -> None:
    table(tmp_path / "t.csv")
    text = EXPERIMENT.replace("[simulation.sensors]", "[simulation.sensors]\ntorque_constant_error = 0.01")
    (tmp_path / "e.toml").write_text(text)
    status, out, _ = run("simulate", tmp_path / "e.toml", "--out", tmp_path / "log.csv", "--json")
    assert status == 0
    assert json.loads(out)["duration"] == pytest.approx(20.0)
    with np.load(tmp_path / "log.truth.npz") as truth:
        periods = truth["q"].reshape(4, -1, 2)
        assert np.abs(periods[0] - periods[3]).max() < 1e-4
        assert (truth["torque_constants"] != 1.0).all()
        assert (truth["friction_smoothing"] == 0.01).all()


def test_a_cut_log_is_compared_at_its_own_instants(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 4)):
        trajectory = table(tmp_path / f"t_{name}.csv", seed=seed)
        options = ("--controller", "pd_gravity", "--bandwidth", "3", "--out", tmp_path / f"{name}.csv")
        assert run("simulate", "builtin:two_link", "--trajectory", trajectory, *options)[0] == 0
    assert run("identify", tmp_path / "a.toml", "--out", tmp_path / "result")[0] == 0
    text = (tmp_path / "b.toml").read_text()
    cuts = {"whole": "", "seconds": "seconds = [2.0, 4.5]", "rows": "rows = [2000, 4500]"}
    for name, cut in cuts.items():
        (tmp_path / f"{name}.toml").write_text(text.replace("[[log]]", f"[[log]]\n{cut}"))
        status, out, _ = run("validate", tmp_path / "result", tmp_path / f"{name}.toml", "--simulate", "--json")
        assert status == 0
        data = json.loads(out)
        assert not any(finding["code"] == "reference-not-followed" for finding in data["findings"])
        for joint in data["simulation"]["joints"]:
            assert joint["rms_position"] < 0.02 * joint["rms_tracking"]
    (tmp_path / "other.toml").write_text(text.replace("t_b.csv", "t_a.csv"))
    status, out, _ = run("validate", tmp_path / "result", tmp_path / "other.toml", "--simulate", "--json")
    assert any(finding["code"] == "reference-not-followed" for finding in json.loads(out)["findings"])
