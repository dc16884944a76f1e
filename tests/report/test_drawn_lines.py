"""What is drawn over time: gaps stay gaps, and a sticking joint has the band of its dry friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynamicModel, load_robot
from dynid.estimation import Segment
from dynid.model.terms import AsymmetricCoulomb, Coulomb, Coupling, Offset, Stribeck, Term, Viscous
from dynid.report.drawn_lines import broken_line, standing, standstill_torques, sticking_outlines

ROBOT = load_robot("builtin:two_link")
RATE = 100.0


def model_of(*terms: Term, **values: float) -> tuple[DynamicModel, np.ndarray]:
    model = DynamicModel(ROBOT, list(terms))
    p = np.nan_to_num(model.reference)
    for name, value in values.items():
        p[model.names.index(name)] = value
    return model, p


def segment_of(model: DynamicModel, p: np.ndarray, v: np.ndarray) -> Segment:
    """Samples with these velocities of the first joint; the second moves at 1 rad/s."""
    velocities = np.stack([v, np.ones(len(v))], axis=1)
    q = np.cumsum(velocities, axis=0) / RATE
    a = np.zeros_like(q)
    torque = model.inverse_dynamics(q, velocities, a, p)
    time = np.arange(len(v)) / RATE
    keep = np.ones(torque.shape, dtype=bool)
    return Segment(time, RATE, q, velocities, a, torque, torque, torque, keep, keep)


def test_a_line_has_a_gap_wherever_samples_are_left_out() -> None:
    rng = np.random.default_rng(0)
    time, values = np.arange(5000) / RATE, rng.normal(size=5000)
    shown = np.ones(5000, dtype=bool)
    shown[1000:2200] = shown[3000:3003] = False
    line = broken_line(time, values, shown, 100)
    drawn = np.isfinite(line.values)
    assert drawn.sum() <= 200 + 6
    assert np.count_nonzero(~drawn) == 2
    for lost in time[~shown]:
        after = np.searchsorted(line.time[drawn], lost)
        before = line.time[drawn][after - 1]
        k = np.flatnonzero(line.time == before)[-1]
        assert not drawn[k]  # the sample before a gap is followed by NaN
    assert np.nanmax(line.values) == values[shown].max()
    assert len(broken_line(time, values, np.zeros(5000, dtype=bool), 100).time) == 0


@pytest.mark.parametrize(
    ("terms", "values", "low", "high"),
    [
        ((Viscous(), Coulomb()), {"fv1": 9.0, "fs1": 2.0}, -2.0, 2.0),
        ((AsymmetricCoulomb(),), {"fsp1": 3.0, "fsn1": 1.0}, -1.0, 3.0),
        ((Coulomb(), Offset()), {"fs1": 2.0, "off1": 0.5}, -1.5, 2.5),
        ((Stribeck(),), {"fs1": 2.0, "fst1": 1.0}, -3.0, 3.0),
        ((Coulomb(), Coupling(1, 2)), {"fs1": 2.0, "fsm2": 5.0}, 3.0, 7.0),  # the coupled motor moves
        ((Viscous(),), {"fv1": 9.0}, 0.0, 0.0),
    ],
)
def test_bounds_of_a_sticking_joint_are_the_jump_of_the_models_own_terms(terms, values, low, high) -> None:
    model, p = model_of(*terms, **values)
    bare, _ = model_of()
    q, v, a = np.array([[0.3, 0.4]]), np.array([[0.0, 1.0]]), np.array([[0.7, -0.2]])
    inertial = bare.inverse_dynamics(q, v, a)[0, 0]
    found = standstill_torques(model, p, q, v, a, 0)[:, 0] - inertial
    assert found == pytest.approx([low, high], abs=1e-6)


def test_a_band_stands_only_where_the_joint_is_below_the_threshold() -> None:
    model, p = model_of(Coulomb(), fs1=2.0, fs2=2.0)
    v = np.ones(400)
    v[100:200] = 0.02 * (-1.0) ** np.arange(100)  # chatters about zero
    segment = segment_of(model, p, v)
    still = standing(segment, model, (0.05, 0.05))
    assert np.array_equal(np.flatnonzero(still[:, 0]), np.arange(100, 200))
    outline = sticking_outlines(segment, 0, model, p, still, 1000)
    assert np.nanmin(outline.time) == pytest.approx(segment.time[100] - 0.5 / RATE)
    assert np.nanmax(outline.time) == pytest.approx(segment.time[199] + 0.5 / RATE)
    assert np.nanmax(outline.values) - np.nanmin(outline.values) >= 4.0 - 1e-9
    inside = segment.predicted[100:200, 0]
    assert np.nanmin(outline.values) <= inside.min()
    assert np.nanmax(outline.values) >= inside.max()
    assert not len(sticking_outlines(segment, 1, model, p, still, 1000).time)
    smooth, p = model_of(Viscous(), fv1=2.0)
    assert not len(sticking_outlines(segment_of(smooth, p, v), 0, smooth, p, still, 1000).time)


def test_joints_at_rest_stick_without_any_threshold() -> None:
    model, p = model_of(Coulomb(), fs1=2.0)
    segment = segment_of(model, p, np.array([1.0, 0.0, 0.0, 1.0]))
    assert standing(segment, model, None)[:, 0].tolist() == [False, True, True, False]
    assert standing(replace(segment, v=segment.v + 1e-3), model, None).sum() == 0
