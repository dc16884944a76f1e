"""Tasks as experiment files: what a task in memory states is what its file states."""

from __future__ import annotations

from pathlib import Path

import pytest

import dynid
from dynid.errors import InvalidRequestError
from dynid.experiment.reading import parse_experiment, read_experiment
from dynid.identification.task import Task, experiment_text, task_of
from dynid.model.dynamic_model import known_model
from dynid.model.terms import JointTerm
from dynid.robot.formats.urdf_writer import urdf_text
from tests.practice_logs import EXPERIMENT, in_memory, log

ROBOT = dynid.load_robot("builtin:two_link")


def again(task: Task) -> Task:
    """The task of the file of a task, read in another folder."""
    return task_of(parse_experiment(experiment_text(task), Path("/elsewhere/experiment.toml"), needs_logs=False))


SETTINGS = {
    "nothing": {},
    "known": {"known": {"fv1": 0.5}},
    "magnitudes": {"torque": "magnitude", "discard_sign": True},
    "drive": {"drive": {"ratios": [100.0, -50.0], "positions": "motor", "torques": "motor", "signs": "auto"}},
    "matrix": {"drive": {"matrix": [[2.0, 0.0], [1.0, 3.0]], "torques": "motor", "delay": 0.01}},
    "processing": {"processing": {"lowpass": 5.0, "decimate": [2, 2], "velocity_threshold": [0.1, 0.2]}},
    "no filters": {"processing": {"lowpass": "none", "automatic": True}},
    "only no filter": {"processing": {"lowpass": "none", "torque_lowpass": "none", "resample": "none"}},
    "estimation": {"estimation": {"estimator": "energy", "window": 0.1, "confidence": 0.9}},
    "physical": {"physical": {"prior": "euclidean", "masses": {"link_1": (0.5, 2.0)}, "in_geometry": False}},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_the_file_of_a_task_states_the_task(case: str) -> None:
    task = Task.of(ROBOT, in_memory(log()), ["viscous", "stribeck:1"], **SETTINGS[case])
    read = again(task)
    assert task.difference(read) == ""
    for key in ("known", "torque", "discard_sign", "drive", "processing", "estimation", "physical"):
        assert getattr(read, key) == getattr(task, key), key
    assert read.processing.free() == task.processing.free()
    assert read.logs == ()


def test_files_of_robots_and_references_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("arm.urdf", "prior.urdf"):
        Path(name).write_text(urdf_text(ROBOT))
    task = Task.of("arm.urdf", in_memory(log()), physical={"reference": "prior.urdf"})
    read = again(task)
    assert read.model.robot.description.source == str(tmp_path / "arm.urdf")
    assert read.reference is not None
    assert read.reference.description.source == str(tmp_path / "prior.urdf")


def test_gravity_and_locked_joints_are_stated() -> None:
    robot = dynid.load_robot("builtin:ur5", gravity=(0.0, 9.81, 0.0), lock={"wrist_3_joint": 0.4})
    read = again(Task(known_model(robot, (), {})))
    assert read.model.robot.gravity.tolist() == [0.0, 9.81, 0.0]
    assert read.model.robot.locked == {"wrist_3_joint": 0.4}
    assert read.model.robot.kinematics() == robot.kinematics()


def test_a_term_without_a_name_cannot_be_stated() -> None:
    class Nameless(JointTerm):
        symbols = ("x",)
        units = ("N m",)

        def features(self, q, v, a):
            return (q,)

    with pytest.raises(InvalidRequestError, match="Nameless"):
        experiment_text(Task.of(ROBOT, in_memory(log()), [Nameless()]))


def test_an_experiment_that_was_read_states_itself(write) -> None:
    task = task_of(read_experiment(write(experiment=EXPERIMENT)))
    read = again(task)
    assert read.logs == task.logs
    assert read.processing == task.processing
