"""Slopes through the observation matrix: every analytic one equals a finite difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, load_robot
from dynid.model.kernels.kernel import RegressorPlan
from dynid.model.kernels.row_layout import layout_slopes, plan_slopes, prepare
from dynid.model.kernels.vectorised import vectorised_slopes
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, JointTerm, Offset, Spring, Term, Viscous
from dynid.robot.joints import JointKind, rotation_from_quaternion
from tests.references import example_robot_file
from tests.strategies import robots

STEP = 1e-6
SAMPLES = 3


def moved(robot: Robot, q: np.ndarray, column: int, step: float) -> np.ndarray:
    """Positions after a small motion along one velocity, quaternions among them."""
    q = q.copy()
    for joint in robot.independent_joints:
        k = column - joint.v.start
        if not 0 <= k < joint.kind.nv:
            continue
        if joint.kind.nv == 1:
            q[:, joint.q.start] += step
        elif joint.kind is JointKind.FREE_FLYER and k < 3:
            place = slice(joint.q.start, joint.q.start + 3)
            q[:, place] += step * rotation_from_quaternion(q[:, joint.q][:, 3:])[:, :, k]
        else:
            quaternion = q[:, joint.q][:, -4:]
            half = np.zeros(4)
            half[k % 3], half[3] = np.sin(step / 2), np.cos(step / 2)
            x, y, z, w = quaternion.T
            a, b, c, d = half
            q[:, joint.q.stop - 4 : joint.q.stop] = np.column_stack(
                [
                    w * a + x * d + y * c - z * b,
                    w * b - x * c + y * d + z * a,
                    w * c + x * b - y * a + z * d,
                    w * d - x * a - y * b - z * c,
                ]
            )
    return q


def differences(robot: Robot, states, value) -> list[np.ndarray]:
    """Central differences of a number of each sample over q, v and a."""
    found = []
    for which in range(3):
        slopes = np.zeros((SAMPLES, robot.nv))
        for column in range(robot.nv):
            ends = []
            for step in (STEP, -STEP):
                parts = list(states)
                if which == 0:
                    parts[0] = moved(robot, states[0], column, step)
                else:
                    parts[which] = states[which].copy()
                    parts[which][:, column] += step
                ends.append(value(*parts))
            slopes[:, column] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slopes)
    return found


@given(robots(), st.integers(0, 1000))
@settings(max_examples=25)
def test_slopes_equal_finite_differences_and_numpys_on_random_robots(robot: Robot, seed: int) -> None:
    prepare()
    rng = np.random.default_rng(seed)
    states = random_states(DynamicModel(robot), SAMPLES, rng)
    plan = RegressorPlan.dense(robot)
    G = rng.normal(size=(robot.nv, SAMPLES, plan.widths[0]))

    def value(q, v, a):
        return np.einsum("rsc,rsc->s", G, np.array(plan.evaluate(q, v, a)))

    found = plan_slopes(plan, *states, list(G))
    for mine, slow, expected in zip(
        found, vectorised_slopes(robot, *states, G), differences(robot, states, value), strict=True
    ):
        scale = 1.0 + np.abs(expected).max()
        assert np.abs(mine - expected).max() <= 1e-6 * scale
        assert np.abs(mine - slow).max() <= 1e-11 * scale


@pytest.mark.parametrize("name", ["tiago_no_hand.urdf", "panda.urdf"])
def test_the_compiled_slopes_equal_numpys_on_real_robots(name: str) -> None:
    prepare()
    robot = load_robot(example_robot_file(name), floating_base=True)
    rng = np.random.default_rng(0)
    states = random_states(DynamicModel(robot), SAMPLES, rng)
    plan = RegressorPlan.dense(robot)
    G = rng.normal(size=(robot.nv, SAMPLES, plan.widths[0]))
    pairs = zip(plan_slopes(plan, *states, list(G)), vectorised_slopes(robot, *states, G), strict=True)
    for fast, slow in pairs:
        assert np.abs(fast - slow).max() <= 1e-11 * np.abs(slow).max()


class Cubic(JointTerm):
    """A user's own term, whose slopes are taken numerically."""

    symbols = ("fcub",)
    units = ("N m s^3/rad^3",)
    needs = frozenset("qv")

    def features(self, q, v, a):
        return (v**3 * q,)


class Product(Term):
    """A user's term of two joints."""

    needs = frozenset("qa")

    def parameters(self, robot):
        return Viscous([1]).parameters(robot)

    def entries(self, robot, q, v, a):
        yield 0, 0, q[:, 0] * a[:, 1]


TERMS = {
    "friction": [Viscous(), Coulomb(), Offset(), Armature(), Spring()],
    "smooth": [Coulomb(width=0.3), AsymmetricCoulomb([1], width=0.2), Coupling(1, 2, 1.5, width=0.4)],
    "signs": [AsymmetricCoulomb(), Coupling(1, 2)],
    "own": [Cubic(), Product()],
}


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_slopes_of_terms_equal_finite_differences(terms) -> None:
    robot = load_robot("builtin:ur5")
    model = DynamicModel(robot, terms)
    rng = np.random.default_rng(0)
    states = random_states(model, SAMPLES, rng)
    layout = model.layout([range(len(model.names))] * robot.nv)
    G = rng.normal(size=(robot.nv, SAMPLES, len(model.names)))

    def value(q, v, a):
        return np.einsum("rsc,rsc->s", G, np.array(layout.evaluate(q, v, a)))

    for mine, expected in zip(layout_slopes(layout, *states, list(G)), differences(robot, states, value), strict=True):
        assert np.abs(mine - expected).max() <= 1e-6 * (1.0 + np.abs(expected).max())


def test_smooth_signs_are_signs_from_afar() -> None:
    robot = load_robot("builtin:ur5")
    q, v, a = random_states(DynamicModel(robot), 20, np.random.default_rng(0))
    v = np.where(np.abs(v) < 0.5, 0.5, v)
    for term in (Coulomb(), AsymmetricCoulomb(), Coupling(1, 2, 7.0)):
        sharp, smooth = term.columns(robot, q, v, a), term.smoothed(0.01).columns(robot, q, v, a)
        assert np.abs(sharp - smooth).max() <= 1e-9
    assert isinstance(Viscous().smoothed(0.1), Viscous)


def test_columns_that_are_not_wanted_have_no_say() -> None:
    prepare()
    robot = load_robot("builtin:panda")
    model = DynamicModel(robot, [Viscous()])
    rng = np.random.default_rng(0)
    states = random_states(model, SAMPLES, rng)
    columns = [rng.permutation(77)[: rng.integers(1, 30)].tolist() for _ in range(7)]
    G = [rng.normal(size=(SAMPLES, len(some))) for some in columns]
    everywhere = np.zeros((7, SAMPLES, 77))
    for row, some in enumerate(columns):
        everywhere[row][:, some] = G[row]
    found = layout_slopes(model.layout(columns), *states, G)
    expected = layout_slopes(model.layout([range(77)] * 7), *states, list(everywhere))
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() <= 1e-11 * np.abs(other).max()
