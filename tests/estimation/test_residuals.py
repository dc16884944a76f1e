"""What residuals follow is found, and nothing is found where they follow nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from dynid import DynamicModel, find_base_parameters
from dynid.estimation.factors.row_forms import TORQUES
from dynid.estimation.least_squares import ordinary_least_squares
from dynid.estimation.residuals import findings_on_residuals, residual_diagnostics
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.automatic import prepared
from dynid.logs.settings import Processing
from dynid.model.terms import Coulomb, Offset, Viscous
from tests.practice_logs import MODEL, motion
from tests.practice_logs import prepared_log as logged

T, Q, V, _, TORQUE = motion()
OFFSET_MODEL = DynamicModel(MODEL.robot, [Viscous(), Coulomb(), Offset()])
OFFSET_BASE = find_base_parameters(OFFSET_MODEL)
DRIVE = Transmission.of([1.0, 1.0], positions_at_motor=False, torques_at_motor=False)

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
    found = residual_diagnostics(MODEL, logged(noise + EFFECTS[what], processing), MODEL.reference)
    assert [one.joint for one in found] == ["joint_1", "joint_2"]
    for one in found:
        shares = {follow.what: follow.share for follow in one.follows}
        assert shares[what] > 0.5
        assert shares[what] >= max(shares.values()) - 0.05
    codes = [finding.code for finding in findings_on_residuals(found)]
    assert any(code.startswith("residual-follows-") for code in codes)


def test_white_residuals_follow_nothing() -> None:
    log = logged(0.05 * np.random.default_rng(0).normal(size=Q.shape))
    found = residual_diagnostics(MODEL, replace(log, temperature=(T, 20.0 + T)), MODEL.reference)
    assert all(follow.share < 0.05 for one in found for follow in one.follows)
    assert {follow.what for follow in found[0].follows} == {
        *EFFECTS,
        *("friction over time", "temperature", "friction over temperature"),
    }
    assert findings_on_residuals(found) == ()
    data = found[0].to_dict()
    assert set(data) == {"name", "period", "autocorrelation", "correlation_samples", "follows"}


def test_a_residual_that_follows_temperature_says_so() -> None:
    warm = 20.0 + 10.0 * np.sin(2.0 * T) ** 2
    log = logged(0.05 * np.random.default_rng(0).normal(size=Q.shape) + 0.05 * (warm - 25.0)[:, None])
    found = residual_diagnostics(MODEL, replace(log, temperature=(T, warm)), MODEL.reference)
    said = [finding for finding in findings_on_residuals(found) if finding.code == "residual-follows-temperature"]
    assert [finding.subject for finding in said] == ["joint 'joint_1'", "joint 'joint_2'"]
    assert all(finding.values["share"] > 0.5 for finding in said)


def followed(kind: str, seeds: range) -> list[str]:
    """What findings say that residuals follow, after a whole fit with chosen processing; two joints for each seed."""
    said = []
    for seed in seeds:
        recording, warmth = practice_log(kind, seed)
        ready = prepared(recording, DRIVE, Processing(), OFFSET_MODEL)
        fit = ordinary_least_squares(
            TORQUES.factors(OFFSET_MODEL, ready.segments, ready.processing, ready.sampling), OFFSET_BASE
        )
        ready = replace(ready, temperature=(recording.time, warmth))
        found = residual_diagnostics(OFFSET_MODEL, ready, OFFSET_BASE.to_standard(fit.values))
        said += [one.clearest.what for one in found if one.clearest is not None]
    return said


def practice_log(kind: str, seed: int, rate: float = 200.0) -> tuple[Log, np.ndarray]:
    """Half a minute of two joints with friction, and one thing that the model does not know; and a temperature."""
    rng = np.random.default_rng(seed)
    t, w = np.arange(0.0, 30.0, 1.0 / rate), 2 * np.pi * np.array([0.1, 0.3, 0.7])
    sizes, phases = rng.uniform(0.2, 0.5, (2, 3)), rng.uniform(0, 6, (2, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = OFFSET_MODEL.inverse_dynamics(q, v, a, np.nan_to_num(OFFSET_MODEL.reference)) + v + 1.5 * np.sign(v)
    warmth = np.interp(t, [0, 7, 15, 22, 30], [20.0, 35.0, 22.0, 33.0, 21.0])
    noise = 0.05 * rng.normal(size=q.shape)
    memory = np.exp(-1.0 / (0.3 * rate))
    more = {
        "white": noise,
        "coloured": np.asarray(lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], noise, axis=0)),
        "position": noise + 0.15 * np.sin(9.0 * q),
        "velocity": noise + 0.6 * np.exp(-((v / 0.15) ** 2)) * np.sign(v),
        "time": noise + 0.1 * np.sign(t - 15.0)[:, None],
        "friction over time": noise + 0.3 * np.exp(-t / 8.0)[:, None] * np.sign(v),
        "temperature": noise + 0.02 * (warmth - 26.0)[:, None],
    }
    q = q + 1e-5 * rng.normal(size=q.shape)
    return Log(t, q, torque + more[kind]), warmth


@pytest.mark.parametrize("kind", ["white", "coloured"])
def test_noise_raises_hardly_a_false_alarm(kind: str) -> None:
    assert len(followed(kind, range(10))) <= 1


@pytest.mark.parametrize("kind", ["position", "velocity", "time", "friction over time", "temperature"])
def test_what_is_missing_is_named_after_a_whole_fit(kind: str) -> None:
    said = followed(kind, range(5))
    assert len(said) >= 6
    assert set(said) == {kind}
