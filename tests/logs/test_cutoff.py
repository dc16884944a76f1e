"""Filters by what reaches the equations: accelerations that torques show, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynid import DynamicModel, identify, load_robot
from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs import Drive, Log, Processing, prepare
from dynid.model import loaded
from dynid.model.terms import Coulomb, Viscous

ROBOT = load_robot("builtin:two_link")
MODEL = DynamicModel(ROBOT, [Viscous(), Coulomb()])
TRUTH = np.nan_to_num(MODEL.reference)
TRUTH[-4:] = [0.8, 0.4, 1.5, 0.7]


def motion(rate: float, seconds: float, frequencies: tuple[float, ...], *, still: int | None = None) -> tuple[Any, ...]:
    """Time, positions, velocities and accelerations of a sum of sines that begins and ends in motion."""
    rng = np.random.default_rng(5)
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2 * np.pi * np.array(frequencies)
    sizes, phases = rng.uniform(0.3, 0.6, (2, len(w))) / np.arange(1, len(w) + 1), rng.uniform(0, 6, (2, len(w)))
    if still is not None:
        sizes[still] = 0.0
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    return t, q, v, a


def correlated(rng: np.random.Generator, shape: tuple[int, ...], std: float, samples: float) -> np.ndarray:
    """Noise that forgets within so many samples."""
    keep = np.exp(-1.0 / samples)
    noise = rng.normal(size=shape) * std * np.sqrt(1.0 - keep**2)
    for k in range(1, len(noise)):
        noise[k] += keep * noise[k - 1]
    return noise


def said(findings: tuple[Finding, ...], code: str) -> Finding | None:
    return next((finding for finding in findings if finding.code == code), None)


def test_jitter_of_a_slow_log_is_not_taken_for_motion() -> None:
    rng = np.random.default_rng(0)
    t, q, v, a = motion(50.0, 60.0, (0.1, 0.2, 0.3))
    torque = MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.02 * rng.normal(size=q.shape)
    log = Log(t, q + correlated(rng, q.shape, 2e-3, 3.0), torque)
    ready = prepare(log, MODEL, Drive(), Processing())
    assert ready.processing.lowpass is not None
    assert ready.processing.lowpass < 2.0


def test_where_noise_rules_a_log_is_predicted_nearly_as_well_as_with_the_best_cut_off() -> None:
    """A log that is predicted may lose a little motion for much less noise; one that is estimated from may not."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        t, q, v, a = motion(100.0, 40.0, (0.2, 0.5, 0.9))
        torque = MODEL.inverse_dynamics(q, v, a, TRUTH)
        log = Log(t, q + 4e-3 * rng.normal(size=q.shape), torque)

        def error(cutoff: float, log: Log = log) -> float:
            stated = Processing(lowpass=cutoff, trim=200, decimate=())
            (chunk,) = map(loaded, prepare(log, MODEL, Drive(), stated, choose=False).segments)
            left = chunk.torque - MODEL.inverse_dynamics(chunk.q, chunk.v, chunk.a, TRUTH)
            return float(np.sqrt(np.mean(left**2)))

        estimating = prepare(log, MODEL, Drive(), Processing())
        predicting = prepare(log, MODEL, Drive(), Processing(), known=TRUTH)
        alike = prepare(log, MODEL, Drive(), Processing(), like=estimating.processing, known=TRUTH)
        stated = prepare(log, MODEL, Drive(), Processing(lowpass=9.0), known=TRUTH)
        assert said(estimating.findings, "processing-lowpass-predicting") is None
        assert said(predicting.findings, "processing-lowpass-predicting") is not None
        assert alike.processing.lowpass == predicting.processing.lowpass
        assert stated.processing.lowpass == 9.0
        assert estimating.processing.lowpass is not None
        assert predicting.processing.lowpass is not None
        assert predicting.processing.lowpass < estimating.processing.lowpass
        best = min(map(error, np.arange(1.0, 6.0, 0.2).tolist()))
        assert error(predicting.processing.lowpass) < 1.1 * best < error(estimating.processing.lowpass)


def test_a_log_without_much_noise_is_predicted_with_the_filters_of_others() -> None:
    rng = np.random.default_rng(0)
    t, q, v, a = motion(100.0, 40.0, (0.2, 0.5, 0.9))
    log = Log(
        t, q + 1e-5 * rng.normal(size=q.shape), MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.05 * rng.normal(size=q.shape)
    )
    first = prepare(log, MODEL, Drive(), Processing())
    again = prepare(log, MODEL, Drive(), Processing(), like=first.processing, known=TRUTH)
    assert again.processing == first.processing


def test_joints_held_still_do_not_decide() -> None:
    rng = np.random.default_rng(0)
    t, q, v, a = motion(500.0, 30.0, (0.2, 0.5), still=0)
    torque = MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.05 * rng.normal(size=q.shape)
    step = 1e-4
    q[:, 0] += correlated(rng, t.shape, 2e-4, 100.0)
    ready = prepare(Log(t, step * np.round(q / step), torque), MODEL, Drive(), Processing())
    assert ready.processing.lowpass is not None
    assert ready.processing.lowpass <= 10.0
    assert np.prod(ready.processing.decimate) >= 20


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_exact_logs_that_begin_and_end_in_motion_give_exact_numbers(rate: float) -> None:
    t, q, v, a = motion(rate, 20.0, (0.2, 0.5, 0.9))
    result = identify(ROBOT, Log(t, q, MODEL.inverse_dynamics(q, v, a, TRUTH)), terms=["viscous", "coulomb"])
    for row, value in zip(result.parameters, result.base.to_base(TRUTH), strict=True):
        assert row.value == pytest.approx(value, rel=5e-4, abs=1e-3)


def test_logged_velocities_are_used_where_they_are_better() -> None:
    rng = np.random.default_rng(0)
    t, q, v, a = motion(200.0, 30.0, (0.3, 0.8, 1.4))
    torque = MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.02 * rng.normal(size=q.shape)
    step = 5e-3
    good = Log(t, step * np.round(q / step), torque, velocity=v + 1e-4 * rng.normal(size=v.shape))
    assert prepare(good, MODEL, Drive(), Processing()).processing.velocity == "logged"
    bad = replace(good, position=q, velocity=v + 0.2 * rng.normal(size=v.shape))
    assert prepare(bad, MODEL, Drive(), Processing()).processing.velocity == "derived"


def late(v: Array) -> Array:
    return np.roll(v, 4, axis=0)


def swapped(v: Array) -> Array:
    return v[:, ::-1]


@pytest.mark.parametrize(
    ("wrong", "kind", "figures"),
    [
        (lambda v: 1.2 * v, "scaled", [1.2, 1.2]),
        (np.degrees, "scaled", [57.3, 57.3]),
        (lambda v: v * [1.0, 1.1], "scaled", [1.1]),
        (late, "late", [20.0, 20.0]),
        (lambda v: np.roll(v, 20, axis=0), "late", [100.0, 100.0]),
        (lambda v: v * [1.0, -1.0], "flipped", [-1.0]),
        (swapped, "swapped", ["joint_2", "joint_1"]),
        (lambda v: v**2, "disagree", None),
    ],
)
def test_velocities_that_disagree_with_positions_are_named(wrong: Any, kind: str, figures: list[Any] | None) -> None:
    t, q, v, a = motion(200.0, 30.0, (0.3, 0.8, 1.4))
    q = q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    log = Log(t, q, MODEL.inverse_dynamics(q, v, a, TRUTH), velocity=wrong(v))
    ready = prepare(log, MODEL, Drive(), Processing())
    assert ready.processing.velocity == "derived"
    assert ready.delay == 0.0
    (found,) = [finding for finding in ready.findings if finding.code.startswith("velocities-")]
    assert (found.code, found.severity) == (f"velocities-{kind}", Severity.NOTE if kind == "late" else Severity.WARNING)
    joints = list(found.values["joints"].values())
    assert figures is None or joints == (figures if kind == "swapped" else pytest.approx(figures, rel=0.01))
    stated = prepare(log, MODEL, Drive(), Processing(lowpass=10.0)).findings
    assert [finding.severity for finding in stated if finding.code == f"velocities-{kind}"] == [Severity.ERROR]
    right = replace(log, velocity=v)
    assert not [one for one in prepare(right, MODEL, Drive(), Processing()).findings if "velocities-" in one.code]


def test_late_velocities_that_must_be_used_do_not_make_torques_early() -> None:
    t, q, v, a = motion(200.0, 30.0, (0.3, 0.8, 1.4))
    log = Log(t, q, MODEL.inverse_dynamics(q, v, a, TRUTH), velocity=late(v))
    ready = prepare(log, MODEL, Drive(), Processing(automatic=True, velocity="logged"))
    assert ready.processing.velocity == "logged"
    assert ready.delay == pytest.approx(0.0, abs=1e-3)


def test_a_cut_off_far_above_what_positions_allow_is_a_warning_with_the_figure() -> None:
    rng = np.random.default_rng(0)
    t, q, v, a = motion(200.0, 30.0, (0.3, 0.8, 1.4))
    step = 1e-3
    log = Log(t, step * np.round(q / step), MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.05 * rng.normal(size=q.shape))
    found = said(prepare(log, MODEL, Drive(), Processing(lowpass=40.0)).findings, "processing-accelerations-noisy")
    assert found is not None
    assert found.values["better"] < 20.0
    at_best = prepare(log, MODEL, Drive(), Processing(lowpass=found.values["better"]))
    assert said(at_best.findings, "processing-accelerations-noisy") is None


def test_a_low_pass_on_torques_alone_is_a_warning_where_friction_is_dry() -> None:
    t, q, v, a = motion(200.0, 30.0, (0.3, 0.8, 1.4))
    log = Log(t, q, MODEL.inverse_dynamics(q, v, a, TRUTH))
    stated = Processing(lowpass=10.0, torque_lowpass=10.0, trim=80)
    assert said(prepare(log, MODEL, Drive(), stated).findings, "processing-torques-alone") is not None
    smooth = DynamicModel(ROBOT, [Viscous()])
    assert said(prepare(log, smooth, Drive(), stated).findings, "processing-torques-alone") is None
