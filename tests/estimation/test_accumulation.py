"""From samples to factors: the same least squares, in any chunking and order, and as exact as Householder QR."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Observed, Robot, find_base_parameters, load_robot
from dynid.errors import NotAConfigurationError, ShapeError
from dynid.estimation.factors.accumulation import ONE_PASS, factorise, reduced
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import Reweighted, residuals
from dynid.model.chunks import Chunk
from dynid.model.row_bases import row_bases
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, Coulomb, Offset, Viscous
from tests.strategies import robots


def simulated(model: DynamicModel, samples: int, seed: int = 0, noise: float = 0.1) -> Chunk:
    """Random states with torques of random parameters and noise."""
    rng = np.random.default_rng(seed)
    q, v, a = random_states(model, samples, rng)
    p = rng.normal(size=len(model.names))
    torque = (model.regressor(q, v, a) @ p).T
    return Chunk(q, v, a, torque + noise * rng.normal(size=torque.shape))


def direct(model: DynamicModel, chunk: Chunk, names: tuple[str, ...]) -> np.ndarray:
    """Least squares on the stacked rows themselves."""
    W = model.regressor(chunk.q, chunk.v, chunk.a)[..., [model.names.index(name) for name in names]]
    return np.linalg.lstsq(W.reshape(-1, len(names)), chunk.torque.T.ravel(), rcond=None)[0]


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def cut(chunk: Chunk, edges: list[int]) -> list[Chunk]:
    bounds = [0, *sorted(edges), len(chunk)]
    return [chunk[start:stop] for start, stop in pairwise(bounds)]


ARM = DynamicModel(load_robot("builtin:ur5"), [Viscous(), Coulomb(), Offset(), Armature()])
BASE = find_base_parameters(ARM).names


@given(st.lists(st.integers(0, 3000), max_size=6))
@settings(max_examples=20)
def test_any_chunking_gives_the_direct_solution(edges: list[int]) -> None:
    chunk = simulated(ARM, 3000)
    factors = factorise(ARM, cut(chunk, edges))
    assert relative(factors.stacked(BASE).solve(), direct(ARM, chunk, BASE)) <= 1e-9
    assert factors.rows == 6 * 3000


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_factors_merged_in_any_order_saved_and_loaded_give_the_direct_solution(tmp_path_factory, edges, random) -> None:
    chunk = simulated(ARM, 3000)
    parts = [factorise(ARM, [part]) for part in cut(chunk, edges)]
    random.shuffle(parts)
    whole = parts[0].merged(*parts[1:])
    path = tmp_path_factory.mktemp("factors") / "log.factors"
    whole.save(path)
    found = Factors.load(path).stacked(BASE).solve()
    assert relative(found, direct(ARM, chunk, BASE)) <= 1e-9


@given(robots(max_joints=4), st.integers(0, 100))
@settings(max_examples=25)
def test_random_robots_with_any_joints_give_the_direct_errors(robot: Robot, seed: int) -> None:
    model = DynamicModel(robot, [Viscous()])
    chunk = simulated(model, 200, seed)
    whole = factorise(model, [chunk]).stacked()
    W = model.regressor(chunk.q, chunk.v, chunk.a).reshape(-1, len(model.names))
    p = np.random.default_rng(seed).normal(size=len(model.names))
    expected = np.sum((W @ p - chunk.torque.T.ravel()) ** 2)
    assert whole.residual_squares(p) == pytest.approx(expected, rel=1e-9)


def test_a_first_chunk_at_rest_does_no_harm() -> None:
    moving = simulated(ARM, 12000)
    still = simulated(ARM, 12000, seed=1)
    rest = Chunk(np.tile(still.q[:1], (12000, 1)), 0 * still.v, 0 * still.a, 0 * still.torque)
    factors = factorise(ARM, [rest, moving])
    W = np.concatenate([ARM.regressor(c.q, c.v, c.a) for c in (rest, moving)], axis=1)
    W = W[..., [ARM.names.index(name) for name in BASE]].reshape(-1, len(BASE))
    y = np.concatenate([c.torque for c in (rest, moving)]).T.ravel()
    assert relative(factors.stacked(BASE).solve(), np.linalg.lstsq(W, y, rcond=None)[0]) <= 1e-9


def test_the_wrench_on_a_base_is_factorised_too() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    model = DynamicModel(robot, [Viscous()], Observed.WRENCH_MOVING)
    chunk = simulated(model, 500)
    factors = factorise(model, [chunk])
    names = find_base_parameters(model).names
    assert list(factors.joints) == ["base Fx", "base Fy", "base Fz", "base Tx", "base Ty", "base Tz"]
    assert relative(factors.stacked(names).solve(), direct(model, chunk, names)) <= 1e-9


def test_columns_of_very_different_scale_are_no_harder() -> None:
    # Lengths of a millionth of a metre beside accelerations of a million: columns differ by 1e6 and more.
    chunk = simulated(ARM, 3000)
    fast = Chunk(chunk.q, chunk.v * 1e-3, chunk.a * 1e3, chunk.torque)
    W = ARM.regressor(fast.q, fast.v, fast.a)[..., [ARM.names.index(name) for name in BASE]]
    norms = np.linalg.norm(W.reshape(-1, len(BASE)), axis=0)
    assert norms.max() / norms.min() > 1e6
    found = factorise(ARM, [fast]).stacked(BASE).solve()
    scaled = np.linalg.lstsq(W.reshape(-1, len(BASE)) / norms, fast.torque.T.ravel(), rcond=None)[0] / norms
    assert relative(found * norms, scaled * norms) <= 1e-9


def ill_conditioned(condition: float, rows: int = 4000, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    U, _ = np.linalg.qr(rng.normal(size=(rows, n)))
    V, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return U * np.geomspace(1, 1 / condition, n) @ V.T, rng.normal(size=n)


def exact_solution(W: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares with 64 bits of mantissa: Gram-Schmidt, each column twice."""
    Q, R = W.astype(np.longdouble), np.zeros((W.shape[1], W.shape[1]), dtype=np.longdouble)
    for j in range(W.shape[1]):
        for _ in range(2):
            part = Q[:, :j].T @ Q[:, j]
            Q[:, j] -= Q[:, :j] @ part
            R[:j, j] += part
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    z, x = Q.T @ y.astype(np.longdouble), np.zeros(W.shape[1], dtype=np.longdouble)
    for j in reversed(range(W.shape[1])):
        x[j] = (z[j] - R[j, j + 1 :] @ x[j + 1 :]) / R[j, j]
    return x.astype(float)


@pytest.mark.parametrize("condition", [1e1, 1e2, 1e3, 1e4, 1e6, 1e7, 1e8, 1e10])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3])
def test_reduction_is_as_good_as_householder_at_any_condition(condition: float, noise: float) -> None:
    W, x = ill_conditioned(condition)
    y = W @ x + noise * np.random.default_rng(4).normal(size=len(W))
    exact = exact_solution(W, y)
    triangle = np.asarray(np.linalg.qr(np.column_stack([W, y]), mode="r"))
    householder = np.linalg.solve(triangle[:30, :30], triangle[:30, 30])
    R, z, squares = reduced(np.column_stack([W, y]))
    allowed = max(10 * relative(householder, exact), 1e-11)
    assert relative(np.linalg.solve(R, z), exact) <= allowed
    left = y - W @ exact
    assert squares == pytest.approx(left @ left, rel=1e-6, abs=1e-22 * float(y @ y))


def test_independent_columns_of_moving_robots_need_one_pass() -> None:
    chunk = simulated(ARM, 3000, seed=8)
    for row, basis in enumerate(row_bases(ARM)):
        W = ARM.regressor(chunk.q, chunk.v, chunk.a)[row][:, list(basis.columns)]
        R = np.linalg.qr(W / np.linalg.norm(W, axis=0), mode="r")
        assert np.linalg.cond(R, 1) < ONE_PASS


def test_rows_that_do_not_count_are_left_out_and_weights_multiply() -> None:
    chunk = simulated(ARM, 3000)
    rng = np.random.default_rng(0)
    keep, weight = rng.uniform(size=(3000, 6)) > 0.3, rng.uniform(0.5, 2.0, (3000, 6))
    factors = factorise(ARM, [Chunk(chunk.q, chunk.v, chunk.a, chunk.torque, keep, weight)])
    W = ARM.regressor(chunk.q, chunk.v, chunk.a)[..., [ARM.names.index(name) for name in BASE]]
    rows = np.concatenate([(weight[keep[:, r], r, None] * W[r][keep[:, r]]) for r in range(6)])
    y = np.concatenate([(weight * chunk.torque)[keep[:, r], r] for r in range(6)])
    assert relative(factors.stacked(BASE).solve(), np.linalg.lstsq(rows, y, rcond=None)[0]) <= 1e-9
    assert factors.rows == keep.sum()


def test_a_log_without_rows_leaves_nothing() -> None:
    chunk = simulated(ARM, 10)
    nothing = Chunk(chunk.q, chunk.v, chunk.a, chunk.torque, np.zeros((10, 6), dtype=bool))
    for samples in ([], [nothing]):
        factors = factorise(ARM, samples)
        assert factors.rows == 0
        assert factors.stacked(BASE).residual_squares(np.ones(len(BASE))) == 0.0


def test_residuals_are_what_the_model_leaves() -> None:
    chunk = simulated(ARM, 3000)
    p = np.random.default_rng(1).normal(size=len(ARM.names))
    left = np.concatenate([r for _, r in residuals(ARM, cut(chunk, [100, 2500]), p)])
    expected = chunk.torque - ARM.inverse_dynamics(chunk.q, chunk.v, chunk.a, p)
    assert np.abs(left - expected).max() <= 1e-10 * np.abs(expected).max()
    with pytest.raises(ShapeError, match="parameters"):
        next(iter(residuals(ARM, [chunk], p[:3])))


def test_robust_weights_on_a_second_pass_find_the_truth_behind_outliers() -> None:
    chunk = simulated(ARM, 3000, noise=0.01)
    spoiled = chunk.torque.copy()
    spoiled[::20] += 100.0
    samples = [Chunk(chunk.q, chunk.v, chunk.a, spoiled)]
    base = find_base_parameters(ARM)
    truth = direct(ARM, chunk, BASE)

    def huber(_: Chunk, left: np.ndarray) -> np.ndarray:
        return np.sqrt(np.minimum(1.0, 0.1 / np.maximum(np.abs(left), 1e-12)))

    plain = b = factorise(ARM, samples).stacked(BASE).solve()
    for _ in range(15):
        b = factorise(ARM, Reweighted(ARM, samples, base.to_standard(b), huber)).stacked(BASE).solve()
    assert relative(b, truth) < 0.02 * relative(plain, truth)


class Endless:
    """Many chunks that are made when they are asked for."""

    def __init__(self, chunk: Chunk, times: int) -> None:
        self.chunk, self.times = chunk, times

    def __iter__(self) -> Iterator[Chunk]:
        for _ in range(self.times):
            yield self.chunk


def test_memory_does_not_grow_with_the_log() -> None:
    chunk = simulated(ARM, 5000)
    factorise(ARM, [chunk])
    peaks = []
    for times in (4, 40):
        tracemalloc.start()
        factorise(ARM, Endless(chunk, times))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.05 * peaks[0]


def test_wrong_chunks_are_refused() -> None:
    chunk = simulated(ARM, 10)
    with pytest.raises(ShapeError, match="torque"):
        factorise(ARM, [Chunk(chunk.q, chunk.v, chunk.a, chunk.torque[:, :5])])
    with pytest.raises(ShapeError, match="keep"):
        factorise(ARM, [Chunk(chunk.q, chunk.v, chunk.a, chunk.torque, np.ones((10, 1), dtype=bool))])
    with pytest.raises(NotAConfigurationError):
        factorise(ARM, [Chunk(chunk.q * np.nan, chunk.v, chunk.a, chunk.torque)])
