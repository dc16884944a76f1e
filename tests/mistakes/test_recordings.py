"""Simulated recordings are consistent, and every mistake changes what identification is given."""

import numpy as np
import pytest

from dynid import DynamicModel
from tests.mistakes.catalogue import CROSSED, KINDS, Case, nuisances
from tests.mistakes.machines import NAMES
from tests.mistakes.mistaken import Given
from tests.mistakes.recordings import recording
from tests.mistakes.wrong_models import with_zero


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("motion", [0, 1])
def test_velocities_and_accelerations_are_derivatives_within_the_limits(name, motion):
    r = recording(name, motion)
    t, step = np.linspace(0.5, r.seconds - 0.5, 400), 1e-5
    before, (q, v, a), after = (r.states(t + move) for move in (-step, 0.0, step))
    np.testing.assert_allclose((after[0] - before[0]) / (2 * step), v, atol=1e-6)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * step), a, atol=1e-5)
    for k, joint in enumerate(r.robot.joints):
        assert joint.limits.lower < q[:, k].min()
        assert q[:, k].max() < joint.limits.upper


def test_motions_rest_at_both_ends_or_not():
    still, moving = (recording("ur5", motion).exact[0][1] for motion in (1, 0))
    assert not still[[0, -1]].any()
    assert (np.abs(moving[[0, -1]]) > 0.0).all()


def test_another_zero_of_a_joint_is_the_same_robot():
    r = recording("ur5", 0)
    (q, v, a), torque = r.exact
    moved = q[:50].copy()
    moved[:, 2] += 1.3
    other = DynamicModel(with_zero(r.robot, 2, 1.3), r.model.terms)
    np.testing.assert_allclose(other.inverse_dynamics(moved, v[:50], a[:50], r.wanted(r.model.names)), torque[:50])


@pytest.mark.parametrize("name", KINDS)
def test_a_mistake_changes_what_is_given(name):
    case = Case("stanford", name, 0)
    made, good = case.made().given, Given.of(case.recording())
    assert _differs(made, good)


def _differs(made: Given, good: Given) -> bool:
    if made.robot is not good.robot or made.terms != good.terms or len(made.log) != len(good.log):
        return True
    if made.log.velocity is not None:
        return True
    signals = ("time", "position", "torque")
    return any(not np.array_equal(getattr(made.log, key), getattr(good.log, key)) for key in signals)


def test_mistakes_with_nuisance_are_known_mistakes():
    assert set(CROSSED) <= set(KINDS)
    assert {case.kind for case in nuisances()} == {"good", *CROSSED}
