"""Magnitudes: torques, currents and masses that the robot's file or physics do not allow are named with the factor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid import Drive, DynamicModel, Log, Robot, load_robot
from dynid.experiment import read_experiment
from dynid.identification.log_reading import read
from dynid.identification.task import task_of
from dynid.logs import prepare
from dynid.logs.magnitudes import findings_on_magnitudes, findings_on_mass
from dynid.model import Chunk
from tests.datasets import example, needs_logs
from tests.practice_logs import sines


def motion(robot: Robot, factor: float = 1.0) -> Chunk:
    t = np.arange(0.0, 20.0, 0.02)
    q, v, a = sines(np.random.default_rng(0), t, robot.nv)
    return Chunk(q, v, a, factor * DynamicModel(robot).inverse_dynamics(q, v, a))


def with_efforts(robot: Robot, efforts: list[float]) -> Robot:
    joints = [
        replace(j, limits=replace(j.limits, effort=effort)) for j, effort in zip(robot.joints, efforts, strict=True)
    ]
    return replace(robot, joints=tuple(joints))


def found(robot: Robot, factor: float, drive: Drive | None = None) -> list[dynid.Finding]:
    return list(findings_on_magnitudes(DynamicModel(robot), [motion(robot, factor)], drive or Drive()))


@pytest.mark.parametrize("name", ["ur5", "panda", "two_link", "spatial_3r"])
def test_right_torques_are_not_accused_and_newton_millimetres_are(name: str) -> None:
    robot = load_robot(f"builtin:{name}")
    assert not found(robot, 1.0)
    (finding,) = found(robot, 1000.0)
    assert (finding.code, finding.severity) == ("torques-large", "error")
    assert "x1000" in finding.text
    assert "N mm" in finding.text
    (finding,) = found(robot, 0.01)
    assert (finding.code, finding.severity) == ("torques-small", "warning")


def test_currents_in_milliamperes_are_named() -> None:
    robot = load_robot("builtin:ur5")
    (finding,) = found(robot, 1000.0, Drive(torque_constants=(10.0,) * 6))
    assert "mA" in finding.text
    (finding,) = found(robot, 1000.0, Drive(torque_constants="unknown"))
    assert finding.code == "currents-large"
    assert not found(robot, 1.0, Drive(torque_constants="unknown"))


def test_torques_far_beyond_effort_limits_are_noticed_without_masses() -> None:
    robot = load_robot("builtin:ur5")
    chunk = motion(robot)
    largest = np.abs(chunk.torque).max(axis=0)
    bare = replace(robot, links=tuple(replace(link, bodies=()) for link in robot.links))
    for efforts, codes in (
        (largest / 960.0, ["torques-large"]),
        (largest, []),
        (np.zeros(6), []),
        (np.full(6, 1000.0), []),
        (np.full(6, np.inf), []),
        (np.full(6, 10.0), []),  # a placeholder: the torques are right
    ):
        limited = with_efforts(bare, efforts.tolist())
        notes = list(findings_on_magnitudes(DynamicModel(limited), [chunk], Drive()))
        assert [finding.code for finding in notes] == codes
    assert notes == []


def test_identify_says_it_and_does_not_believe_a_seven_ton_arm(tmp_path: Path) -> None:
    robot = load_robot("builtin:ur5")
    chunk = motion(robot, 1000.0)
    log = Log(time=np.linspace(0.0, 20.0, len(chunk), endpoint=False), position=chunk.q, torque=chunk.torque)
    codes = {f.code: f.severity for f in dynid.identify(robot, log).findings}
    assert codes["torques-large"] == "error"
    assert codes["mass-impossible"] == "error"


def test_total_masses_far_from_the_file_are_said() -> None:
    robot = load_robot("builtin:ur5")
    stated = sum(link.parameters[0] for link in robot.links)
    assert not list(findings_on_mass(robot, 1.5 * stated))
    assert [f.code for f in findings_on_mass(robot, 5.0 * stated)] == ["mass-differs"]
    assert [f.code for f in findings_on_mass(robot, 1000.0 * stated)] == ["mass-impossible"]


def test_one_joint_in_another_unit_is_noticed() -> None:
    robot = load_robot("builtin:ur5")
    chunk = motion(robot)
    torque = chunk.torque.copy()
    torque[:, 2] *= 1000.0
    (finding,) = findings_on_magnitudes(DynamicModel(robot), [replace(chunk, torque=torque)], Drive())
    assert finding.severity == "error"


@needs_logs
@pytest.mark.parametrize("name", ["tx40", "panda", "tiago"])
def test_real_logs_are_not_accused(name: str) -> None:
    task = task_of(read_experiment(example(name)))
    log = read(task.logs[0], task.model.robot, drive=task.drive)
    ready = prepare(log, task.model, task.drive, task.processing)
    codes = {"torques-large", "torques-small", "currents-large"}
    assert not codes & {finding.code for finding in ready.findings}


UR10E = """
robot = "${DYNID_DATASETS}/ur10e/ur10e.urdf"
drive = { torque_constants = [14.87, 13.26, 11.13, 10.62, 11.03, 11.47] }
[[log]]
position = { file = "${DYNID_DATASETS}/ur10e/motion_30s.csv", columns = [1, 2, 3, 4, 5, 6] }
torque = { file = "${DYNID_DATASETS}/ur10e/motion_30s.csv", columns = [13, 14, 15, 16, 17, 18], unit = "A" }
time = { file = "${DYNID_DATASETS}/ur10e/motion_30s.csv", columns = 0 }
rows = [634, 3510]
"""
"""What the README of the log states."""


@needs_logs
@pytest.mark.parametrize(("unit", "severities"), [("mA", ["warning"]), ("A", [])])
def test_the_currents_of_a_ur10e_are_right_in_amperes(tmp_path: Path, unit: str, severities: list[str]) -> None:
    (tmp_path / "ur10e.toml").write_text(UR10E.replace('"A"', f'"{unit}"'))
    task = task_of(read_experiment(tmp_path / "ur10e.toml"))
    log = read(task.logs[0], task.model.robot, drive=task.drive)
    ready = prepare(log, task.model, task.drive, task.processing)
    codes = {"torques-large", "torques-small", "currents-large"}
    assert [f.severity for f in ready.findings if f.code in codes] == severities


def test_init_names_the_factor_too(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    chunk = motion(robot, 1000.0)
    table = {"t": np.arange(len(chunk)) * 0.02} | {f"q_{k + 1}": chunk.q[:, k] for k in range(2)}
    table |= {f"tau_{k + 1}": chunk.torque[:, k] for k in range(2)}
    pl.DataFrame(table).write_csv(tmp_path / "log.csv")
    made = dynid.init("builtin:two_link", tmp_path / "log.csv", folder=tmp_path)
    (finding,) = [f for f in made.findings if f.code == "torques-large"]
    assert "N mm" in finding.text


def without_gravity(robot: Robot, speed: float, masses: float = 1.0) -> Chunk:
    """A motion with friction whose torques were logged without the weight of the links."""
    t = np.arange(0.0, 20.0, 0.02)
    q, v, a = sines(np.random.default_rng(0), t, robot.nv)
    v, a = speed * v, speed**2 * a  # the same way in more time
    model = DynamicModel(robot)
    torque = model.inverse_dynamics(q, v, a) - masses * model.inverse_dynamics(q)
    noise = 0.02 * np.random.default_rng(1).normal(size=torque.shape)
    return Chunk(q, v, a, torque + 3.0 * v + 2.0 * np.sign(v) + noise)


@pytest.mark.parametrize("name", ["ur5", "panda", "spatial_3r"])
@pytest.mark.parametrize("masses", [1.0, 0.9])
def test_torques_without_gravity_are_named(name: str, masses: float) -> None:
    robot = load_robot(f"builtin:{name}")
    (finding,) = findings_on_magnitudes(DynamicModel(robot), [without_gravity(robot, 1.0, masses)], Drive())
    assert (finding.code, finding.severity) == ("torque-without-gravity", "error")
    assert finding.values["share"] == pytest.approx(1.0 - masses, abs=0.05)
    assert finding.values["inertia"] == pytest.approx(1.0, abs=0.1)


def test_torques_without_gravity_of_a_slow_motion_are_doubted() -> None:
    robot = load_robot("builtin:ur5")
    (finding,) = findings_on_magnitudes(DynamicModel(robot), [without_gravity(robot, 0.01)], Drive())
    assert (finding.code, finding.severity) == ("torque-without-gravity", "warning")


def test_another_direction_of_gravity_is_not_taken_for_none() -> None:
    robot = load_robot("builtin:ur5")
    on_the_wall = replace(robot, gravity=np.array([9.81, 0.0, 0.0]))
    assert not list(findings_on_magnitudes(DynamicModel(robot), [motion(on_the_wall)], Drive()))


def test_torques_that_are_zero_at_rest_are_a_note_where_masses_are_unknown() -> None:
    robot = load_robot("builtin:ur5")
    bare = replace(
        robot,
        links=tuple(
            replace(link, bodies=tuple(replace(b, inertia=None, unweighed=True) for b in link.bodies))
            for link in robot.links
        ),
    )
    chunk = without_gravity(robot, 1.0)
    still = np.arange(len(chunk.q)) < 300
    rest = np.where(still[:, None], 0.0, 1.0)
    q = np.where(still[:, None], chunk.q[300], chunk.q)
    stopped = replace(chunk, q=q, v=rest * chunk.v, a=rest * chunk.a, torque=rest * chunk.torque)
    (finding,) = findings_on_magnitudes(DynamicModel(bare), [stopped], Drive())
    assert (finding.code, finding.severity) == ("torque-zero-at-rest", "note")
    weight = replace(stopped, torque=stopped.torque + DynamicModel(robot).inverse_dynamics(q))
    assert not list(findings_on_magnitudes(DynamicModel(bare), [weight], Drive()))
