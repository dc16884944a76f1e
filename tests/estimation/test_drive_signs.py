"""Signs of drives that nobody wrote down, and drives that turn several joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid import DynamicModel, Finding, find_base_parameters, load_robot
from dynid.errors import DynidError
from dynid.estimation.drive_sign_findings import find_drive_signs
from dynid.estimation.drive_signs import _candidates, _descended, drive_signs
from dynid.estimation.factors.accumulation import factorise
from dynid.identification.pipeline import identify
from dynid.logs import Drive, Processing
from dynid.logs.drive import Transmission
from dynid.model.chunks import Chunk
from dynid.model.terms import Offset, Sigmoid, Term, Viscous
from tests.datasets import example, needs_logs
from tests.held_out import tiago_held_out
from tests.practice_logs import EXPERIMENT, TRUTH, log
from tests.regret_cases import ARMS, UR5
from tests.truth_logs import Motion, Practice, Sensors, Truth, white


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_signs_are_found_and_said(signs: tuple[int, int], write) -> None:
    columns = log()
    for k, sign in enumerate(signs, start=1):
        columns[f"tau_{k}"] = sign * columns[f"tau_{k}"]
    found = identify(write(columns, EXPERIMENT + '[drive]\nsigns = "auto"\n'))
    assert found.record.drive_signs == found.drive.signs == signs
    (finding,) = [finding for finding in found.findings if finding.code == "drive-signs-found"]
    assert finding.values["signs"] == list(signs)
    assert all(found.values[name] == pytest.approx(TRUTH[name], rel=0.05, abs=0.02) for name in TRUTH)


def test_flips_find_the_best_signs_as_trying_all_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(8, 8))
        loss = A @ A.T
        best = min(_candidates(loss), key=lambda s: float(s @ loss @ s))
        by_flips = [_descended(np.where(rng.random(8) < 0.5, 1.0, -1.0), loss) for _ in range(50)]
        assert min(float(s @ loss @ s) for s in by_flips) == pytest.approx(float(best @ loss @ best))


def test_power_is_the_same_on_both_sides_of_any_transmission() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        N = rng.normal(size=(4, 4)) + 3 * np.eye(4)
        drive = Transmission.of(N.tolist())
        motor_speed, motor_torque = rng.normal(size=(2, 5, 4))
        joint_power = np.sum(drive.joint_velocities(motor_speed) * drive.joint_torques(motor_torque), axis=1)
        assert np.allclose(joint_power, np.sum(motor_speed * motor_torque, axis=1))
    with pytest.raises(DynidError, match="cannot be inverted"):
        Transmission.of([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(DynidError, match="the transmission matrix"):
        Transmission.of([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])


HELD_OUT = 55.0
"""Seconds of TIAGo's log after which nothing is used to find parameters."""


@needs_logs
def test_tiago_is_predicted_at_least_as_well_as_by_its_file(tmp_path: Path) -> None:
    """Against the URDF's own inertias with friction and offset fitted to the same training data."""
    held_out = tiago_held_out(HELD_OUT, tmp_path)
    assert held_out.result.record.processing[0]["unmeasured"] == [f"arm_{k}_joint" for k in (5, 6, 7)]
    of_file = {joint.name: joint for joint in held_out.of_file.joints}
    for joint in held_out.ours.joints:
        if joint.name in ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 5))):
            assert joint.rows > 100
            assert joint.rmse <= 1.02 * of_file[joint.name].rmse, joint  # joint 1 has little but friction


@needs_logs
def test_signs_of_tiagos_drives_are_those_that_its_authors_use(tmp_path: Path) -> None:
    text = example("tiago").read_text().replace("-0.0", "0.0").replace("[[log]]", 'signs = "auto"\n[[log]]')
    (tmp_path / "tiago.toml").write_text(text[: text.index("[physical]")] + "[physical]\nfit = false\n")
    found = identify(tmp_path / "tiago.toml")
    assert found.record.drive_signs is not None
    assert found.record.drive_signs[:5] == (1, 1, 1, -1, -1)


LINK = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
BRANCHES = f"""<robot name="branches"><link name="base"/>
<link name="one">{LINK}</link><link name="two">{LINK}</link><link name="three">{LINK}</link>
<joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="1 0 0"/></joint>
<joint name="b" type="continuous"><parent link="one"/><child link="two"/><axis xyz="0 1 0"/><mimic joint="a"/></joint>
<joint name="c" type="continuous"><parent link="base"/><child link="three"/><axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.mark.parametrize("friction", [Viscous, Sigmoid])
def test_the_sign_of_a_drive_behind_a_mimic_joint_comes_from_its_own_friction(
    friction: type[Term], tmp_path: Path
) -> None:
    (tmp_path / "branches.urdf").write_text(BRANCHES)
    model = DynamicModel(load_robot(tmp_path / "branches.urdf"), [friction(), Offset()])
    assert [joint.number for joint in model.robot.independent_joints] == [1, 3]
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 500, 2))
    p = np.nan_to_num(model.reference)
    for parameter in friction().parameters(model.robot):
        p[model.names.index(parameter.name)] = 2.0
    torque = model.inverse_dynamics(q, v, a, p) * [1.0, -1.0]
    alone = [Chunk(q, v, a, torque * np.eye(2)[k]) for k in range(2)]
    found = drive_signs([factorise(model, [chunk]) for chunk in alone], find_base_parameters(model))
    assert found.signs.tolist() == [1.0, -1.0]


def auto(
    truth: Truth, seconds: float, seed: int, noise: float = 0.02
) -> tuple[list[int], list[int], tuple[Finding, ...]]:
    """True signs, signs that are found in a log of a length [s], and what is said about them."""
    rng = np.random.default_rng((seed, 5))
    signs = rng.choice([-1, 1], truth.robot.nv)
    log = Practice(truth, Motion(seconds=seconds), Sensors(200, white(1e-4), torque=white(noise))).log(seed)
    base = find_base_parameters(DynamicModel(truth.robot, truth.terms))
    flipped = replace(log, torque=log.torque * signs)
    drive, findings = find_drive_signs(flipped, base, Drive(signs="auto"), Processing())
    assert isinstance(drive.signs, tuple)
    return signs.tolist(), list(drive.signs), findings


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("truth", [UR5, ARMS[4]])
def test_signs_of_a_long_log_are_right_and_clear(truth: Truth, seed: int) -> None:
    true, found, findings = auto(truth, 20.0, seed)
    assert found == true
    assert [finding.code for finding in findings] == ["drive-signs-found"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("truth", [UR5, ARMS[4]])
def test_a_short_log_does_not_decide_signs(truth: Truth, seed: int) -> None:
    _, _, findings = auto(truth, 2.0, seed, noise=0.1)
    assert {"drive-signs-short", "drive-signs-unclear"} & {finding.code for finding in findings}


def test_signs_with_friction_that_drives_are_not_returned() -> None:
    """Joints whose torques are nothing but friction: any signs fit, and only those with which it brakes are right."""
    model = DynamicModel(load_robot("builtin:ur5"), ["viscous", "coulomb"])
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 3000, 6))
    p = np.zeros(len(model.names))
    p[[model.names.index(f"fv{k}") for k in range(1, 7)]] = 2.0
    signs = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    torque = (model.inverse_dynamics(q, v, a, p) + 0.1 * rng.normal(size=q.shape)) * signs
    alone = [Chunk(q, v, a, torque * np.eye(6)[k]) for k in range(6)]
    found = drive_signs([factorise(model, [chunk]) for chunk in alone], find_base_parameters(model))
    assert found.signs.tolist() == signs.tolist()
    assert found.brakes
    assert found.clear.all()
