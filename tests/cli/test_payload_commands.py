"""`dynid payload` and `dynid load`: experiments with loads and sensors, screens of 80 columns, JSON, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import Load, Log
from tests.commands import run
from tests.payload_study import arm, log_of, motion, torques, wrench_log_of, wrenches
from tests.references import example_robot_file

LOAD = Load.of_numbers(1.0, (0.05, -0.03, 0.1), (0.02, 0.001, 0.025, -0.002, 0.003, 0.015))
HEAD = """robot = "builtin:spatial_3r"
terms = ["viscous", "coulomb", "armature"]
processing = { automatic = false, derivative = "eighth_order", trim = 8 }
"""


def _table(name: str, load: str = "", wrench: bool = False) -> str:
    of = f'file = "{name}.csv"'
    lines = [f'position = {{ {of}, columns = "q_*" }}', f'velocity = {{ {of}, columns = "v_*" }}']
    lines += [
        f'wrench = {{ {of}, columns = "wrench_*", body = "link_3" }}'
        if wrench
        else f'torque = {{ {of}, columns = "tau_*" }}'
    ]
    lines += [f'time = {{ {of}, columns = "t" }}', f'load = "{load}"' if load else ""]
    return "\n".join(["[[log]]", *lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, robot, rng = tmp_path_factory.mktemp("loads"), arm("spatial_3r"), np.random.default_rng(0)
    states = motion(3, 1, 5.0)
    logs: dict[str, Log] = {
        "free": log_of(states, torques(robot, states), rng),
        "loaded": log_of(states, torques(robot, states, LOAD), rng),
        "wrist": wrench_log_of(states, wrenches(robot, states, LOAD), rng),
    }
    for name, log in logs.items():
        log.to_frame().write_csv(made / f"{name}.csv")
    unknown = '[[load]]\nname = "tool"\n'
    (made / "both.toml").write_text(HEAD + unknown + _table("free") + _table("loaded", "tool"))
    (made / "free.toml").write_text(HEAD + _table("free"))
    (made / "wrist.toml").write_text(HEAD + unknown + _table("wrist", "tool", wrench=True))
    return made


def test_payload_of_an_experiment_and_of_a_result(folder: Path) -> None:
    status, output, _ = run("payload", folder / "both.toml", "--json")
    found = json.loads(output)
    assert status == 0
    assert abs(found["mass"] - 1.0) < 5.0 * found["mass_std"] < 0.05
    assert (np.abs(found["center_of_mass"] - LOAD.center_of_mass) < 5.0 * np.array(found["center_of_mass_std"])).all()
    assert len(found["inertia"]) == len(found["inertia_std"]) == 6
    result = dynid.identify(folder / "free.toml")
    result.save(folder / "result")
    status, output, _ = run("payload", folder / "result", folder / "loaded.csv", "--known", "1.2")
    assert status == 0
    assert "NOT the load" in output
    assert max(map(len, output.splitlines())) <= 80
    assert "check what was stated" in output
    assert "dynid load" not in output  # what is doubted is not to be added
    status, output, _ = run("payload", folder / "result", folder / "loaded.csv", "--known", "1.0")
    assert status == 0
    assert "dynid load" in output


def test_payload_of_a_sensor(folder: Path) -> None:
    status, output, _ = run("payload", folder / "wrist.toml", "--json")
    found = json.loads(output)
    assert (status, found["robot"], found["body"]) == (0, "sensor", "link_3")
    status, _, errors = run("payload", folder / "wrist.toml", "--gain-std", "0.05")
    assert status == 2
    assert "does not use" in errors
    assert abs(found["mass"] - 1.0) < 5.0 * found["mass_std"] < 0.05
    status, _, errors = run("identify", folder / "wrist.toml")
    assert status == 2
    assert "dynid payload" in errors
    status, _, errors = run("identify", folder / "both.toml")
    assert status == 2
    assert "dynid payload" in errors


def test_load_changes_a_robot_file_by_its_numbers_only(tmp_path: Path) -> None:
    path, out, back = example_robot_file("ur5_robot.urdf"), tmp_path / "loaded.urdf", tmp_path / "back.urdf"
    options = ("--mass", "2", "--center-of-mass=0.01,0,0.05", "--inertia=0.01,0,0.012,0,0,0.008", "--body", "tool0")
    status, output, _ = run("load", path, *options, "--out", out, "--json")
    assert status == 0
    assert json.loads(output)["after"] - json.loads(output)["before"] == pytest.approx(2.0)
    was, now = dynid.load_robot(path), dynid.load_robot(out)
    load = Load.of_numbers(2.0, (0.01, 0.0, 0.05), (0.01, 0.0, 0.012, 0.0, 0.0, 0.008), "tool0")
    np.testing.assert_allclose(now.parameters, dynid.with_load(was, load).parameters, atol=1e-9)
    assert run("load", out, *options, "--remove", "--out", back)[0] == 0
    np.testing.assert_allclose(dynid.load_robot(back).parameters, was.parameters, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("load", "builtin:ur5", "--mass", "-1", "--out", "x.urdf"), "positive"),
        (("load", "builtin:ur5", "--mass", "1", "--inertia=1,2", "--out", "x.urdf"), "not 2 numbers"),
        (("load", "builtin:ur5", "--mass", "1", "--center-of-mass=1", "--out", "x.urdf"), "not 1 numbers"),
        (("load", "builtin:ur5", "--mass", "1", "--inertia=1,0,0.1,0,0,0.1", "--out", "x.urdf"), "could not exist"),
        (("load", "builtin:ur5", "--mass", "1", "--body", "hand", "--out", "x.urdf"), "hand"),
        (("load", "builtin:ur5", "--mass", "90", "--remove", "--out", "x.urdf"), "could not exist without"),
        (("payload", "builtin:ur5"), "an experiment file (.toml) was expected"),
        (("payload", "result", "--center-of-mass=1,2,3"), "--known"),
    ],
)
def test_loads_that_cannot_be_are_refused(arguments: tuple[str, ...], words: str) -> None:
    status, _, errors = run(*arguments)
    assert status == 2
    assert words in errors
    assert not Path("x.urdf").exists()
