"""What residuals follow is found, and nothing is found where they follow nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.data.processing import Processing
from dynid.residual_diagnostics import diagnose, findings_on_residuals
from tests.test_robust import MODEL, logged, motion

T, Q, V, _, TORQUE = motion()

EFFECTS = {
    "velocity sign": 0.3 * np.sign(V),
    "velocity": 0.1 * V**3,
    "position": 0.3 * np.sin(9.0 * Q),
    "time": 0.01 * T[:, None] ** 1.5 * np.ones(2),
}


@pytest.mark.parametrize("what", EFFECTS)
@pytest.mark.parametrize("processing", [Processing(), Processing(decimate=(2,))])
def test_what_a_residual_follows_is_found(what: str, processing: Processing) -> None:
    noise = 0.05 * np.random.default_rng(0).normal(size=Q.shape)
    found = diagnose(MODEL, logged(noise + EFFECTS[what], processing), MODEL.reference)
    assert [one.joint for one in found] == ["joint_1", "joint_2"]
    for one in found:
        shares = {follow.what: follow.share for follow in one.follows}
        assert shares[what] > 0.5
        assert shares[what] >= max(shares.values()) - 0.05
    assert any("its residual follows" in finding.text for finding in findings_on_residuals(found))


def test_white_residuals_follow_nothing() -> None:
    log = logged(0.05 * np.random.default_rng(0).normal(size=Q.shape))
    found = diagnose(MODEL, log, MODEL.reference, (T, 20.0 + T))
    assert all(follow.share < 0.05 for one in found for follow in one.follows)
    assert {follow.what for follow in found[0].follows} == {*EFFECTS, "temperature"}
    assert findings_on_residuals(found) == ()
    data = found[0].to_dict()
    assert set(data) == {"name", "period", "autocorrelation", "correlation_samples", "follows"}


def test_a_residual_that_follows_temperature_says_so() -> None:
    warm = 20.0 + 10.0 * np.sin(2.0 * T) ** 2
    log = logged(0.05 * np.random.default_rng(0).normal(size=Q.shape) + 0.05 * (warm - 25.0)[:, None])
    found = diagnose(MODEL, log, MODEL.reference, (T, warm))
    assert any("follows temperature" in finding.text for finding in findings_on_residuals(found))
