"""Signs of torques that were logged without them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.least_squares import ordinary_least_squares
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.references import references
from dynid.estimation.physical.semidefinite import LinkPrior
from dynid.estimation.signs import Recovered, SignsError, Track, Word, recover_signs
from dynid.estimation.signs.search import best_signs, branch_and_bound
from dynid.estimation.signs.segments import ChannelRows, Segments, find_segments
from dynid.estimation.signs.sign_energy import energy_of, sums_of
from dynid.estimation.signs.sign_refinement import expected
from dynid.estimation.signs.turning_points import evidence
from dynid.logs.drive import Transmission
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk
from dynid.model.terms import parse_terms
from dynid.robot.assembly import assemble
from dynid.robot.robot import Robot
from tests.strategies import SINGLE, descriptions

RATE = 100.0
States = tuple[Array, Array, Array]


def fourier(rng: np.random.Generator, start: Array | list[float], seconds: float = 10.0, size: float = 2.0) -> States:
    """The random exciting motion of chapter 2.4 of Pennese and Vulcano (2020): five harmonics of 0.1 Hz."""
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 0.2 * np.pi * np.arange(1, 6)
    sine, cosine = (size * rng.uniform(-0.5, 0.5, (np.size(start), 5)) for _ in range(2))
    angle = np.multiply.outer(t, w)[:, None]
    q = (sine / w * np.sin(angle) - cosine / w * np.cos(angle)).sum(2)
    v = (sine * np.cos(angle) + cosine * np.sin(angle)).sum(2)
    a = (-sine * w * np.sin(angle) + cosine * w * np.cos(angle)).sum(2)
    return q - q[0] + np.asarray(start), v, a


def spline(points: list[float]) -> States:
    """A cubic spline through points, at rest at both ends."""
    curve = CubicSpline(np.linspace(0.0, 5.0, len(points)), points, bc_type="clamped")
    t = np.arange(0.0, 5.0, 1.0 / RATE)
    return curve(t)[:, None], curve(t, 1)[:, None], curve(t, 2)[:, None]


def physics(robot: Robot) -> Physics:
    return Physics(references(robot), LinkPrior())


def rightness(found: Recovered, torques: list[Array]) -> list[bool]:
    """Whether each segment has the sign of the torque that was thrown away."""
    right = []
    for s in found.segments:
        first, last = round(s.start * RATE), round(s.stop * RATE)
        right.append(bool(torques[s.log][first:last, s.channel].sum() * s.sign > 0.0))
    return right


def fitted(base: BaseParameters, states: States, found: Recovered) -> Array:
    chunk = Chunk(*states, found.torques[0], ~found.doubtful[0])
    return ordinary_least_squares(factorise(base.model, [chunk]), base).values


STUDY = {
    "1R experiment 1": ("pendulum", spline([0.0, np.pi / 4, 0.0]), 2.0e-6),
    "1R experiment 2": ("pendulum", spline([0.0, np.pi / 4, -np.pi / 4, 0.0]), 2.0e-6),
    "1R experiment 3": ("pendulum", fourier(np.random.default_rng(3), [0.0]), 2.0e-6),
    **{
        f"3R motion {seed}": ("spatial_3r", fourier(np.random.default_rng(seed), [0.0, -np.pi / 2, 0.0]), 3.4e-5)
        for seed in range(1, 9)
    },
}
"""Motions as in Pennese and Vulcano (2020), with the least error of coefficients that they reach."""


@pytest.mark.parametrize("name", STUDY)
def test_experiments_of_the_study_come_back_exactly(name: str) -> None:
    robot_name, states, published = STUDY[name]
    base = find_base_parameters(DynamicModel(load_robot(f"builtin:{robot_name}")))
    torque = base.model.inverse_dynamics(*states)
    found = recover_signs(base, [Track(Chunk(*states, np.abs(torque)), RATE)], physics(base.model.robot))
    assert all(rightness(found, [torque]))
    assert found.share(Word.SURE) == 1.0
    error = np.linalg.norm(9.81 * (fitted(base, states, found) - base.to_base(base.model.reference)))
    assert error < published / 100


@st.composite
def sign_problems(draw: st.DrawFn, most: int = 10) -> tuple[Array, int]:
    """Quadratic forms of signs, as segments of random rows make them, and the number of segments."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, most)), draw(st.integers(1, 6))
    noise = draw(st.sampled_from([0.0, 0.1, 1.0, 3.0]))
    segment = np.sort(rng.integers(0, n, 150))
    W = rng.normal(size=(150, p))
    y = W @ rng.normal(size=p) + noise * rng.normal(size=150)
    A = np.zeros((150, n + 1))
    A[np.arange(150), segment + 1] = np.abs(y)
    Q, _ = np.linalg.qr(W)
    return A.T @ A - (Q.T @ A).T @ (Q.T @ A), n


def all_energies(form: Array, n: int) -> tuple[Array, Array]:
    signs = np.array([(1.0, *rest) for rest in itertools.product([-1.0, 1.0], repeat=n)])
    return signs, np.einsum("ki,ki->k", signs @ form, signs)


@given(sign_problems())
def test_branch_and_bound_equals_brute_force(problem: tuple[Array, int]) -> None:
    form, n = problem
    signs, energies = all_energies(form, n)
    held = 1 + int(np.argmax(np.diag(form)[1:]))
    limit = 0.3 * float(np.trace(form))
    proof = branch_and_bound(form, np.ones(n + 1), [held, 0], limit, nodes=10**6)
    lowest = energies.min()
    tolerance = 1e-9 * float(np.trace(form))
    assert proof.complete
    assert proof.signs @ form @ proof.signs <= lowest + tolerance
    same = signs[:, held] == proof.signs[held]
    for k in set(range(1, n + 1)) - {held}:
        rise = min(limit, energies[same & (signs[:, k] != proof.signs[k])].min() - proof.signs @ form @ proof.signs)
        assert proof.rises[k] == pytest.approx(max(rise, 0.0), abs=10 * tolerance)


@settings(max_examples=5)
@given(sign_problems(most=16))
def test_local_search_equals_brute_force_on_up_to_16_segments(problem: tuple[Array, int]) -> None:
    form, n = problem
    _, energies = all_energies(form, n)
    found = best_signs(form, [], np.random.default_rng(0))
    assert found @ form @ found <= energies.min() + 1e-9 * float(np.trace(form))


def test_energy_is_what_least_squares_leaves() -> None:
    rng = np.random.default_rng(0)
    base = find_base_parameters(DynamicModel(load_robot("builtin:two_link")), known={"m2": 1.5})
    states = fourier(rng, [0.1, 0.2])
    m = np.abs(base.model.inverse_dynamics(*states) + 0.1 * rng.normal(size=(len(states[0]), 2)))
    tracks = [Track(Chunk(*states, m), RATE)]
    segments = find_segments(tracks)
    rows, weights = ChannelRows(base, np.eye(2)), np.array([2.0, 0.5])
    energy = energy_of(sums_of(rows, tracks, segments), weights, base.names)
    for _ in range(5):
        s = rng.choice([-1.0, 1.0], len(segments))
        W, y = base.regressor(*states), -base.known_torques(*states)
        blocks, targets = [], []
        for c in range(2):
            inside = segments.labels[0][:, c] >= 0
            y[c, inside] += s[segments.labels[0][inside, c]] * m[inside, c]
            blocks.append(weights[c] * W[c, inside])
            targets.append(weights[c] * y[c, inside])
        left = np.linalg.lstsq(np.concatenate(blocks), np.concatenate(targets), rcond=None)[1][0]
        assert energy.of(np.concatenate([[1.0], s])) == pytest.approx(left, rel=1e-8)


def friction(model: DynamicModel) -> Array:
    p = np.nan_to_num(model.reference)
    p[10 * len(model.robot.solid_links) :] = np.abs(p[10 * len(model.robot.solid_links) :]) + 0.1
    return p


@settings(max_examples=25)
@given(descriptions(SINGLE, max_joints=3), st.integers(0, 10**6), st.sampled_from([0.0, 0.01, 0.03]), st.booleans())
def test_no_sure_sign_of_a_random_robot_is_wrong(description, seed: int, noise: float, rubs: bool) -> None:
    robot = assemble(description)
    model = DynamicModel(robot, parse_terms(["viscous", "coulomb"] if rubs else [], robot))
    base = find_base_parameters(model)
    rng = np.random.default_rng(seed)
    states = fourier(rng, rng.uniform(-1.0, 1.0, robot.nv))
    clean = model.inverse_dynamics(*states, friction(model))
    torque = clean + noise * np.abs(clean).max(axis=0) * rng.normal(size=clean.shape)
    try:
        found = recover_signs(base, [Track(Chunk(*states, np.abs(torque)), RATE)], physics(robot))
    except SignsError:
        return
    for segment, right in zip(found.segments, rightness(found, [torque]), strict=True):
        assert right or segment.word is not Word.SURE, segment


def test_a_joint_that_nothing_ties_to_others_is_decided_by_its_own_physics() -> None:
    robot = load_robot("builtin:ur5")
    model = DynamicModel(robot, parse_terms(["viscous", "coulomb"], robot))
    base = find_base_parameters(model)
    rng = np.random.default_rng(1)
    states = fourier(rng, rng.uniform(-1.0, 1.0, 6), 20.0)
    clean = model.inverse_dynamics(*states, friction(model))
    torque = clean + 0.01 * np.abs(clean).max(axis=0) * rng.normal(size=clean.shape)
    found = recover_signs(base, [Track(Chunk(*states, np.abs(torque)), RATE)], physics(robot))
    assert all(rightness(found, [clean]))
    assert found.mirror.margin > 100.0


def test_coupled_motors_are_told_as_they_were_logged() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:two_link")))
    states = fourier(np.random.default_rng(5), [0.3, -0.4])
    drive = Transmission.of([50.0, -30.0], [(1, 0, 20.0)])
    torque = base.model.inverse_dynamics(*states)
    logged = torque @ np.linalg.inv(drive.matrix)
    D = drive.joint_torques(np.eye(2))
    track = Track(Chunk(*states, np.abs(logged)), RATE)
    found = recover_signs(base, [track], physics(base.model.robot), D)
    assert all(rightness(found, [logged]))
    assert np.allclose(found.torques[0] @ D, torque, atol=1e-9)


def test_known_parameters_tell_the_mirror_without_physics() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:two_link")), known={"mx2": 0.4})
    states = fourier(np.random.default_rng(5), [0.3, -0.4])
    p = base.model.reference.copy()
    p[list(base.model.names).index("mx2")] = 0.4
    torque = base.model.inverse_dynamics(*states, p)
    found = recover_signs(base, [Track(Chunk(*states, np.abs(torque)), RATE)], physics(base.model.robot))
    assert found.mirror.known
    assert all(rightness(found, [torque]))


def test_a_motion_that_is_too_short_is_said_to_be() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:ur5")))
    q, v, a = (x[:7] for x in fourier(np.random.default_rng(0), np.zeros(6)))
    m = np.abs(base.model.inverse_dynamics(q, v, a))
    with pytest.raises(SignsError, match="signs of torques are not determined: the motion is too short"):
        recover_signs(base, [Track(Chunk(q, v, a, m), RATE)], physics(base.model.robot))


def test_torques_that_no_model_explains_leave_all_signs_undecided() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:pendulum")))
    rng = np.random.default_rng(0)
    q = np.zeros((400, 1))
    m = np.repeat(np.abs(rng.normal(size=(40, 1))) + 1.0, 10, axis=0) * (np.arange(400) % 10 > 0)[:, None]
    with pytest.raises(SignsError, match="not determined"):
        recover_signs(base, [Track(Chunk(q, q, 0.001 * rng.normal(size=q.shape), m), RATE)], physics(base.model.robot))


def test_a_constant_channel_is_left_out() -> None:
    base = find_base_parameters(DynamicModel(load_robot("builtin:two_link")))
    states = fourier(np.random.default_rng(5), [0.3, -0.4])
    torque = base.model.inverse_dynamics(*states)
    m = np.abs(torque)
    m[:, 1] = 3.0
    found = recover_signs(base, [Track(Chunk(*states, m), RATE)], physics(base.model.robot))
    assert {segment.channel for segment in found.segments} == {0}
    assert found.doubtful[0][:, 1].all()


@given(st.floats(0.2, 5.0), st.floats(-0.5, 0.5), st.integers(0, 100))
def test_a_dip_tells_passing_zero_from_turning_back(slope: float, bend: float, seed: int) -> None:
    t = np.linspace(-1.0, 1.0, 21)
    noise = 1e-3 * np.random.default_rng(seed).normal(size=21)
    assert evidence(np.abs(slope * t + bend * slope * t**2 + noise), 9, 12) > 0.0
    assert evidence(np.abs(slope * t**2 + 0.02 + noise), 9, 12) < 0.0


def test_what_is_expected_of_magnitudes_has_no_bias() -> None:
    rng = np.random.default_rng(0)
    for mean in (0.0, 0.3, 1.0, 3.0):
        m = np.abs(mean + rng.normal(size=200_000))
        assert np.mean(expected(m, np.full_like(m, mean), np.ones_like(m))) == pytest.approx(mean, abs=0.01)


def test_segments_end_where_magnitudes_dip() -> None:
    t = np.arange(0.0, 10.0, 0.01)
    m = np.abs(np.sin(2 * np.pi * 0.2 * t) + 0.01 * np.random.default_rng(0).normal(size=len(t)))[:, None]
    q = np.zeros((len(t), 1))
    found: Segments = find_segments([Track(Chunk(q, q, q, m), 100.0)])
    assert len(found) == 4
    assert np.allclose(found.first / 100.0, [0.0, 2.5, 5.0, 7.5], atol=0.1)
