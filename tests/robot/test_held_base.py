"""A floating base that is held still: by any of its names, where the file draws it, with the gravity that acts."""

from __future__ import annotations

import os
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.experiment import parse_experiment
from dynid.model import DynamicModel
from tests.datasets import needs_logs
from tests.mjcf_texts import TILTED


def held_by_mujoco(text: str) -> mujoco.MjModel:
    """The robot as MuJoCo has it without its free joint; meshes, which are not there, only show it."""
    away = r"<freejoint[^>]*/>|<geom[^>]*mesh=[^>]*/>|<mesh [^>]*/>|<key [^>]*/>"
    return mujoco.MjModel.from_xml_string(re.sub(away, "", text))


def agree(robot: dynid.Robot, reference: mujoco.MjModel) -> None:
    """Torques are those of MuJoCo, at random states with and without acceleration: gravity, bias forces and masses."""
    data, model, rng = mujoco.MjData(reference), DynamicModel(robot), np.random.default_rng(1)
    assert [joint.name for joint in robot.joints] == [reference.joint(j).name for j in range(reference.njnt)]
    q, v, a = (rng.uniform(-size, size, (6, reference.nv)) for size in (1.0, 2.0, 5.0))
    a[:2] = 0.0
    forces = np.zeros((6, reference.nv))
    for k in range(6):
        data.qpos[:], data.qvel[:] = q[k], v[k]
        mujoco.mj_forward(reference, data)
        data.qacc[:] = a[k]
        mujoco.mj_rne(reference, data, 1, forces[k])
    assert np.allclose(model.inverse_dynamics(q, v, a), forces, atol=1e-10)


@pytest.mark.parametrize("word", ["base", "trunk", "float", "0"])
def test_a_held_base_has_the_gravity_and_masses_of_where_the_file_draws_it(word: str, tmp_path: Path) -> None:
    path = tmp_path / "beast.xml"
    path.write_text(TILTED.format(name="float"))
    robot = dynid.load_robot(path, lock=[word])
    agree(robot, held_by_mujoco(path.read_text()))
    assert dict(robot.locked) == {"float": 0.0}
    assert not robot.has_floating_base
    again = dynid.load_robot(path, lock=robot.locked)  # as results do it
    assert np.array_equal(again.joints[0].placement, robot.joints[0].placement)


def test_a_held_base_stays_below_a_robot_that_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "beast.xml"
    path.write_text(TILTED.format(name=""))
    free = dynid.load_robot(path)
    assert free.has_floating_base
    assert dynid.inspect(free, lock=["base", "slide"]).robot.nv == 1
    with pytest.raises(InvalidRequestError, match="where the file puts it"):
        dynid.load_robot(path, lock={"base": 0.3})
    with pytest.raises(UnknownNameError):
        dynid.load_robot("builtin:ur5", lock=["base"])
    assert dynid.load_robot("builtin:ur5", floating_base=True, lock=["base"]).nv == 6


def test_names_of_joints_come_before_those_of_bodies(tmp_path: Path) -> None:
    path = tmp_path / "beast.xml"
    path.write_text(TILTED.format(name="float").replace('"hip"', '"trunk"').replace('name="slide"', 'name="base"'))
    assert set(dynid.load_robot(path, lock=["base"]).locked) == {"base"}
    assert set(dynid.load_robot(path, lock=["trunk"]).locked) == {"trunk"}
    assert set(dynid.load_robot(path, lock=["float"]).locked) == {"float"}


def test_an_experiment_locks_by_a_list_of_names_or_a_table(tmp_path: Path) -> None:
    log = '[[log]]\nposition = { file = "a.csv" }\ntorque = { file = "a.csv" }\nrate = 100.0'
    for text in ('lock = ["base", "slide"]', "[lock]\nbase = 0\nslide = 0.0"):
        experiment = parse_experiment(f'robot = "beast.xml"\n{text}\n{log}\n', tmp_path / "beast.toml")
        assert experiment.lock == {"base": 0.0, "slide": 0.0}


def test_logs_that_do_not_say_where_the_base_is_are_refused_with_the_line_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "beast.xml"
    path.write_text(TILTED.format(name="float"))
    log = tmp_path / "run.csv"
    log.write_text("t,q_1,q_2,tau_1,tau_2\n" + "".join(f"{k / 100},0,0,1,1\n" for k in range(30)))
    robot = dynid.load_robot(path)
    with pytest.raises(InvalidRequestError, match=r"lock = \[\"base\"\]"):
        dynid.identify(robot, dynid.read_log(log, robot, position="q_*", torque="tau_*", time="t"))
    assert dynid.read_log(
        log, dynid.load_robot(path, lock="base"), position="q_*", torque="tau_*", time="t"
    ).position.shape == (30, 2)


@needs_logs
@pytest.mark.parametrize("word", ["base", "base_joint"])
def test_a_real_quadruped_is_held_by_its_base(word: str) -> None:
    path = Path(os.environ["DYNID_DATASETS"]) / "go2" / "go2.xml"
    robot = dynid.load_robot(path, lock=[word])
    agree(robot, held_by_mujoco(path.read_text()))
    assert robot.nv == 12
