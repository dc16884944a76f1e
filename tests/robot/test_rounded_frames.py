"""Right angles that robot files round: they are taken as exact, said, and never rewritten in the user's file."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynid
from dynid import DynamicModel, Log, Robot, find_base_parameters, load_robot
from dynid.arrays import frozen
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.joints import JointKind, Limits
from dynid.robot.rounded_frames import THRESHOLDS, Frames
from tests.practice_logs import sines
from tests.strategies import random_inertia, random_pose


def rounded_urdf(robot: Robot, folder: Path, digits: int = 4) -> Path:
    """The robot as a vendor writes it, with angles of a few digits."""
    path = folder / f"{robot.name}_{digits}.urdf"

    def short(found: re.Match[str]) -> str:
        return 'rpy="' + " ".join(f"{float(number):.{digits}f}" for number in found[1].split()) + '"'

    path.write_text(re.sub(r'rpy="([^"]*)"', short, urdf_text(robot)))
    return path


def right_angled_arm(seed: int) -> Robot:
    """A random arm of three to six joints whose frames are at right angles."""
    rng = np.random.default_rng(seed)
    bodies, joints = [BodyDescription("base")], []
    for i in range(int(rng.integers(3, 7))):
        kind = JointKind.PRISMATIC if rng.random() < 0.2 else JointKind.REVOLUTE
        bodies.append(BodyDescription(f"b{i}", frozen(random_inertia(rng))))
        joints.append(
            JointDescription(
                f"j{i}", kind, bodies[-2].name, f"b{i}", frozen(random_pose(rng, True)), limits=Limits(-2.0, 2.0)
            )
        )
    return assemble(Description("arm", "random", tuple(bodies), tuple(joints)))


def base_of(robot: Robot) -> list[str]:
    return list(find_base_parameters(DynamicModel(robot, ["armature"])).expressions)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 5, 6, 8]))
def test_rounded_right_angles_give_the_base_parameters_of_exact_ones(seed: int, digits: int) -> None:
    import tempfile

    arm = right_angled_arm(seed)
    with tempfile.TemporaryDirectory() as folder:
        assert base_of(load_robot(rounded_urdf(arm, Path(folder), digits))) == base_of(arm)


def test_without_that_some_have_columns_that_no_motion_excites(tmp_path: Path) -> None:
    counts = []
    for seed in range(10):
        arm = right_angled_arm(seed)
        exact = load_robot(rounded_urdf(arm, tmp_path), exact_frames=True)
        counts.append(len(base_of(exact)) - len(base_of(arm)))
    assert max(counts) > 0


@pytest.mark.parametrize("angle", [1.5708, -1.5708, 3.1416, -3.14159, 1.57079632679, 4.71239, 0.000004])
def test_angles_within_rounding_are_right(angle: float) -> None:
    quarters = Frames().angle(angle, "j") / (math.pi / 2)
    assert quarters == round(quarters)


@pytest.mark.parametrize("angle", [1.571, 1.57, 0.7854, 2e-5, 1.5708 + 1e-5])
def test_other_angles_stay(angle: float) -> None:
    frames = Frames()
    assert frames.angle(angle, "j") == angle
    assert not frames.findings()


def test_rotations_get_exact_zeros_and_stay_rotations() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        right = random_pose(rng, True)[:3, :3]
        w = rng.uniform(-0.5, 0.5, 3) * THRESHOLDS.rounding
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        found = Frames().rotation(right @ (np.eye(3) + skew), "j")
        assert np.array_equal(found, np.round(right))
    angle = 0.3  # one right angle among others
    tilted = np.array(
        [[math.cos(angle), 4e-6, math.sin(angle)], [0.0, 1.0, 0.0], [-math.sin(angle), 0.0, math.cos(angle)]]
    )
    found = Frames().rotation(tilted, "j")
    assert found[0, 1] == 0.0
    assert np.allclose(found @ found.T, np.eye(3), atol=1e-14)


TABLE = """
name = "arm"
convention = "modified"
[[joint]]
name = "a"
[[joint]]
name = "b"
alpha = 1.5708
d = 0.3
[[joint]]
name = "c"
a = 0.4
"""

MJCF = """
<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="a"><joint name="a" axis="0 0 1"/><inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
<body name="b" pos="0 0.1 0" euler="1.5708 0 0"><joint name="b" axis="0 -3.67e-06 1" pos="0 0 0.1"/>
<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
<body name="c" pos="0.4 0 0" quat="0.70711 0 0 0.70710"><joint name="c" axis="0 0 1"/>
<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body></body></body></worldbody></mujoco>
"""


@pytest.mark.parametrize(("name", "text"), [("arm.toml", TABLE), ("arm.xml", MJCF)])
def test_tables_and_mjcf_files_are_read_alike(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    robot, exact = load_robot(path), load_robot(path, exact_frames=True)
    for joint in robot.joints:
        small = np.abs(joint.placement[:3]) < 1e-5
        assert not joint.placement[:3][small].any()
        assert not joint.axis[np.abs(joint.axis) < 1e-5].any()
    (finding,) = [f for f in dynid.inspect(path).findings if f.code == "frames-rounded"]
    assert "b" in finding.values["joints"]
    assert any(np.any((np.abs(j.placement) < 1e-5) & (j.placement != 0)) for j in exact.joints)
    assert not [f for f in dynid.inspect(path, exact_frames=True).findings if f.code == "frames-rounded"]
    assert len(find_base_parameters(DynamicModel(robot))) <= len(find_base_parameters(DynamicModel(exact)))


def rounded_ur5(folder: Path) -> tuple[Path, Log]:
    """A UR5 whose file rounds, and a log of the real one, whose frames are right angles."""
    truth = load_robot("builtin:ur5")
    t = np.arange(0.0, 20.0, 0.01)
    q, v, a = sines(np.random.default_rng(3), t, 6)
    tau = DynamicModel(truth, ["armature", "viscous", "coulomb"]).inverse_dynamics(q, v, a)
    noise = np.random.default_rng(4).normal(0.0, 0.1, tau.shape)
    return rounded_urdf(truth, folder), Log(time=t, position=q, torque=tau + noise)


def test_identification_with_rounded_frames_is_well_conditioned(tmp_path: Path) -> None:
    path, log = rounded_ur5(tmp_path)
    terms = ["armature", "viscous", "coulomb"]
    kept = dynid.identify(load_robot(path, exact_frames=True), log, terms, physical={"fit": False})
    found = dynid.identify(load_robot(path), log, terms, physical={"fit": False})
    assert kept.condition_number > 1e5
    assert found.condition_number < 1e4
    assert len(found.parameters) < len(kept.parameters)
    codes = {f.code for f in found.findings}
    assert "frames-rounded" in codes
    assert not {"rank-doubtful", "excitation-poor"} & codes
    # one warning for one cause, and what it advises can be done
    codes = {f.code for f in kept.findings}
    assert "rank-doubtful" in codes
    assert "excitation-poor" not in codes


def test_the_users_own_file_keeps_its_frames(tmp_path: Path) -> None:
    path, log = rounded_ur5(tmp_path)
    result = dynid.identify(load_robot(path), log, ["viscous", "coulomb"])
    out = tmp_path / "out.urdf"
    result.export(out, anyway=True)  # the model lacks motor inertia
    numbers = re.compile(r"<joint.*?</joint>", re.DOTALL)
    frames = re.compile(r"<origin[^>]*>|<axis[^>]*>")
    before, after = ([frames.findall(joint) for joint in numbers.findall(file.read_text())] for file in (path, out))
    assert before == after
    result.save(tmp_path / "result")
    assert dynid.load_result(tmp_path / "result").values == result.values


def test_the_choice_is_kept_with_a_result(tmp_path: Path) -> None:
    path, log = rounded_ur5(tmp_path)
    result = dynid.identify(load_robot(path, exact_frames=True), log, ["viscous"], physical={"fit": False})
    result.save(tmp_path / "result")
    assert "exact_frames = true" in (tmp_path / "result" / "experiment.toml").read_text()
    assert dynid.load_result(tmp_path / "result").robot.description.exact_frames


def test_results_of_earlier_versions_still_load(tmp_path: Path) -> None:
    path, log = rounded_ur5(tmp_path)
    result = dynid.identify(load_robot(path, exact_frames=True), log, ["viscous"], physical={"fit": False})
    result.save(tmp_path / "result")
    experiment = tmp_path / "result" / "experiment.toml"
    experiment.write_text(experiment.read_text().replace("exact_frames = true\n", ""))
    assert dynid.load_result(tmp_path / "result").values == result.values
