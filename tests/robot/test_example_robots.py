"""Every URDF file of the example-robot-data wheel against Pinocchio and MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from dynid import DynamicModel, DynidError, find_base_parameters, load_robot
from dynid.model.sampling import random_states
from tests.references import assert_same_torques, example_robot_file, example_robot_files, pinocchio_torques
from tests.robot_files import bare_urdf, mujoco_torques

FILES = example_robot_files()
CASES = [
    pytest.param(path, floating, id=f"{path.stem}-{'floating' if floating else 'fixed'}")
    for floating in (False, True)
    for path in FILES
]


def pinocchio_model(path: Path, floating: bool) -> Any | None:
    """The file in Pinocchio, or None where Pinocchio cannot load it."""
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    try:
        return pin.buildModelFromUrdf(str(path), *root)
    except ValueError:
        return None


def test_the_wheel_has_many_files() -> None:
    assert len(FILES) >= 60


@pytest.mark.parametrize(("path", "floating"), CASES)
def test_torques_equal_pinocchios_counts_do_not_depend_on_the_seed_and_wrong_files_give_clear_errors(
    path: Path, floating: bool
) -> None:
    theirs = pinocchio_model(path, floating)
    if theirs is None or theirs.nv == 0:
        with pytest.raises(DynidError, match=r"line \d|no joint that moves") as caught:
            load_robot(path, floating_base=floating)
        assert str(path) in str(caught.value)
        return
    robot = load_robot(path, floating_base=floating, exact_frames=True)
    model = DynamicModel(robot)
    assert [joint.name for joint in robot.joints] == list(theirs.names)[1:]
    q, v, a = random_states(model, 10, np.random.default_rng(7))
    expected = pinocchio_torques(robot, theirs, q, v, a)
    assert_same_torques(model.inverse_dynamics(q, v, a), expected)
    seeds = 5 if robot.nv <= 15 else 3 if robot.nv <= 60 else 2
    bases = [find_base_parameters(model, rng=np.random.default_rng(seed)) for seed in range(seeds)]
    for base in bases:
        assert_same_torques((base.regressor(q, v, a) @ base.to_base(robot.parameters)).T, expected)
    if not any(base.findings() for base in bases):
        assert len({len(base) for base in bases}) == 1


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("ur3_robot.urdf", 36),
        ("ur5_robot.urdf", 36),
        ("ur10_robot.urdf", 36),
        ("xarm7.urdf", 43),
        ("double_pendulum_continuous.urdf", 6),
    ],
)
def test_known_counts(name: str, count: int) -> None:
    base = find_base_parameters(DynamicModel(load_robot(example_robot_file(name))))
    assert len(base) == count
    assert not base.findings()


def test_a_count_that_hangs_on_rounded_numbers_is_a_finding() -> None:
    # The frames of so101.urdf are right angles up to 1e-6.
    model = DynamicModel(load_robot(example_robot_file("so101.urdf"), exact_frames=True))
    base = find_base_parameters(model)
    assert base.gap.is_doubtful
    assert base.findings()[0].code == "rank-doubtful"
    clear = find_base_parameters(model, tolerance=1e-5)
    assert len(clear) < len(base)


def mujoco_model(path: Path, floating: bool) -> mujoco.MjModel | None:
    """The file in MuJoCo, or None where MuJoCo refuses its inertias, or drops them for lack of mass."""
    try:
        bodies = load_robot(path, floating_base=True).description.bodies
    except DynidError:
        return None
    if any(body.inertia is not None and body.inertia[0] == 0 and body.inertia.any() for body in bodies):
        return None
    mujoco.set_mju_user_warning(lambda _: None)  # or it writes a log into the working folder
    try:
        return mujoco.MjModel.from_xml_string(bare_urdf(path, floating))
    except ValueError:
        return None


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_torques_equal_mujocos_wherever_it_accepts_the_inertias(floating: bool) -> None:
    compared = []
    for path in FILES:
        model = mujoco_model(path, floating)
        if model is None or model.nv == 0:
            continue
        robot = load_robot(path, floating_base=floating, exact_frames=True)
        q, v, a = random_states(DynamicModel(robot), 5, np.random.default_rng(3))
        found = DynamicModel(robot).inverse_dynamics(q, v, a)
        assert_same_torques(found, mujoco_torques(model, robot, q, v, a))
        compared.append(path.name)
    # 47 fixed and 50 floating of the 77 files of example-robot-data 5.0.0 with MuJoCo 4.0.0; far fewer would mean that
    # this test says less than it seems.
    assert len(compared) >= 0.55 * len(FILES)
