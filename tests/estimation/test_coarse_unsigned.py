"""A simulated arm of servos at 50 Hz: magnitudes of torques in coarse steps are enough for gravity and friction."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from tests.servo_arms import COUNT, TORQUE_STEP, recorded, so101_like

TERMS = ["viscous", "coulomb", "armature"]
ARM = so101_like()
WRONG = np.array([0.8, 1.2, 0.9, 1.1, 1.0])
"""Factors by which the masses of the robot file are wrong."""


@pytest.fixture(scope="module")
def run():
    return recorded(ARM, 0, seconds=60.0)


@pytest.fixture(scope="module")
def result(run) -> dynid.Result:
    return dynid.identify(ARM.robot(WRONG), [run.log], terms=TERMS, torque="magnitude")


def test_gravity_and_friction_are_within_ten_per_cent(result: dynid.Result, run) -> None:
    found = {p.name: p.value for p in result.record.parameters}
    for name, true in ARM.friction().items():
        if name in found:
            assert found[name] == pytest.approx(true, rel=0.1), name
    still = np.zeros_like(run.position)
    true = dynid.DynamicModel(ARM.robot(), []).inverse_dynamics(run.position, still, still)
    tiny = np.full_like(still, 1e-9)
    both = [result.predict(run.position, sign * tiny, still) for sign in (1.0, -1.0)]
    gravity = 0.5 * (both[0] + both[1])  # friction of both directions cancels
    error = np.sqrt(np.mean((gravity - true) ** 2, axis=0)) / np.sqrt(np.mean(true**2))
    assert error.max() < 0.05


def test_every_sign_is_sure_and_right(result: dynid.Result, run) -> None:
    names = [joint.name for joint in result.record.joints]
    for segment in result.record.signs or ():
        inside = (run.log.time >= segment.start) & (run.log.time < segment.stop)
        torque = run.torque[inside, names.index(segment.joint)]
        assert segment.word != "sure" or torque.sum() * segment.sign > 0.0
    assert result.record.sign_recovery is not None
    assert result.record.sign_recovery.sure > 0.95


def test_steps_are_named_with_their_size(result: dynid.Result) -> None:
    found = {finding.code: finding for finding in result.findings}
    assert found["positions-quantised"].values["step"] == pytest.approx(COUNT, rel=1e-3)
    assert found["positions-quantised"].values["raw"] > 1.0  # accelerations would be noise
    assert found["torque-quantised"].values["step"] == pytest.approx(TORQUE_STEP, rel=1e-3)
    assert found["processing-lowpass-unsigned"].values["cutoff"] < 10.0


def test_fine_positions_get_no_filter() -> None:
    fine = recorded(ARM, 1, seconds=20.0, count=0.0, torque_step=0.0, noise=0.0)
    found = dynid.identify(ARM.robot(), [fine.log], terms=TERMS, torque="magnitude").findings
    assert not {"positions-quantised", "processing-lowpass-unsigned"} & {finding.code for finding in found}
