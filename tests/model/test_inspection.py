"""`inspect` on objects in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.model.inspection import inspect
from dynid.model.terms import Coulomb
from dynid.robot.loading import convert

UR5 = "builtin:ur5"


def test_robots_names_and_objects_give_the_same() -> None:
    by_name = inspect(UR5, terms="viscous,coulomb")
    by_object = inspect(load_robot(UR5), terms=["viscous", Coulomb()])
    assert by_name.to_dict() == by_object.to_dict()
    assert len(by_name.base_parameters) == 36 + 12


def test_a_loaded_robot_is_locked_turned_and_freed_as_a_file_is() -> None:
    requests: list[dict] = [{"lock": {"elbow_joint": 1.0}}, {"gravity": (0, 0, 9.81)}, {"wrench": True}]
    for request in requests:
        assert inspect(load_robot(UR5), **request).to_dict() == inspect(UR5, **request).to_dict()


def test_locks_of_a_loaded_robot_stay() -> None:
    robot = load_robot(UR5, lock=["elbow_joint"])
    assert [j.name for j in inspect(robot, lock=["wrist_3_joint"]).robot.joints] == [
        j.name for j in load_robot(UR5, lock=["elbow_joint", "wrist_3_joint"]).joints
    ]


def test_requests_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="moving goes with wrench"):
        inspect(UR5, moving=True)
    with pytest.raises(InvalidRequestError, match="exclude each other"):
        inspect(UR5, wrench=True, moving=True, gravity_only=True)


def test_what_prints_is_short_or_a_table() -> None:
    inspection = inspect(UR5, terms=["viscous"])
    objects = [inspection, inspection.base_parameters, inspection.model, inspection.robot, *inspection.model.parameters]
    assert all(len(repr(each)) < 150 for each in objects)
    lines = str(inspection).splitlines()
    assert sum(line.split()[0].isdigit() for line in lines if line) == len(inspection.base_parameters)
    assert inspection._repr_html_().count("<tr>") == 1 + len(inspection.base_parameters)
    assert inspection.base_parameters._repr_html_().count("<tr>") == 1 + len(inspection.base_parameters)


def test_a_conversion_is_one_call(tmp_path: Path) -> None:
    robot: Robot = load_robot(UR5)
    done = convert(robot, str(tmp_path / "ur5.urdf"))
    assert load_robot(str(done.path)).nv == 6
    assert len(find_base_parameters(DynamicModel(load_robot(done.path)))) == 36
    with pytest.raises(OutputExistsError):
        convert(robot, done.path)
    with pytest.raises(InvalidRequestError, match="own file"):
        convert(done.path, done.path, overwrite=True)
