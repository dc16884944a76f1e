"""Triangular factors against least squares on the data itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.estimation.factors.factors import Factor, Factors, FactorsFileError, merged

NAMES = ("a", "b", "c", "d")
seeds = st.integers(0, 2**32 - 1)


def rows(seed: int, count: int = 50, names: tuple[str, ...] = NAMES) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, len(names))), rng.normal(size=count)


@given(seeds, st.integers(0, 60))
def test_errors_of_any_parameters_are_those_of_the_rows(seed: int, count: int) -> None:
    W, y = rows(seed, count)
    factor = Factor.of(NAMES, W, y)
    x = np.random.default_rng(seed + 1).normal(size=4)
    assert factor.residual_squares(x) == pytest.approx(np.sum((W @ x - y) ** 2), rel=1e-12, abs=1e-12)
    assert factor.rows == count
    assert factor.R.shape[0] <= 4
    assert not np.tril(factor.R, -1).any()


@given(seeds)
def test_solutions_are_those_of_least_squares(seed: int) -> None:
    W, y = rows(seed)
    assert np.allclose(Factor.of(NAMES, W, y).solve(), np.linalg.lstsq(W, y, rcond=None)[0], atol=1e-12)


@given(seeds)
def test_columns_can_be_dropped_and_reordered(seed: int) -> None:
    W, y = rows(seed)
    factor = Factor.of(NAMES, W, y).select(["d", "b"])
    assert factor.names == ("d", "b")
    assert np.allclose(factor.solve(), np.linalg.lstsq(W[:, [3, 1]], y, rcond=None)[0], atol=1e-12)
    assert factor.residual_squares(np.zeros(2)) == pytest.approx(np.sum(y**2))
    with pytest.raises(UnknownNameError, match="no parameter 'e'"):
        factor.select(["e"])


@given(seeds)
def test_known_parameters_are_taken_off(seed: int) -> None:
    W, y = rows(seed)
    factor = Factor.of(NAMES, W, y).without({"b": 2.0, "unknown here": 7.0})
    expected = np.linalg.lstsq(W[:, [0, 2, 3]], y - 2.0 * W[:, 1], rcond=None)[0]
    assert factor.names == ("a", "c", "d")
    assert np.allclose(factor.solve(), expected, atol=1e-12)


@given(seeds, st.permutations(range(4)))
def test_merging_in_any_order_is_stacking(seed: int, order: list[int]) -> None:
    parts = [rows(seed + k, 7 * k + 1) for k in range(4)]
    whole = merged(Factor.of(NAMES, *parts[k]) for k in order)
    W, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    x = np.random.default_rng(seed).normal(size=4)
    assert whole.residual_squares(x) == pytest.approx(np.sum((W @ x - y) ** 2), rel=1e-12)
    assert np.allclose(whole.solve(), np.linalg.lstsq(W, y, rcond=None)[0], atol=1e-11)
    assert whole.rows == len(y)


def test_merging_joins_the_parameters_of_all() -> None:
    W, y = rows(0)
    V, z = rows(1, names=("d", "e"))
    both = merged([Factor.of(NAMES, W, y), Factor.of(("d", "e"), V, z)])
    assert both.names == ("a", "b", "c", "d", "e")
    big = np.zeros((100, 5))
    big[:50, :4], big[50:, 3:] = W, V
    assert np.allclose(both.solve(), np.linalg.lstsq(big, np.concatenate([y, z]), rcond=None)[0], atol=1e-12)
    with pytest.raises(UnknownNameError, match="'e' to merge"):
        merged([Factor.of(("d", "e"), V, z)], NAMES)


def test_a_weight_multiplies_rows() -> None:
    W, y = rows(0)
    x = np.ones(4)
    assert Factor.of(NAMES, W, y).weighted(3.0).residual_squares(x) == pytest.approx(9 * np.sum((W @ x - y) ** 2))
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidRequestError, match="weight"):
            Factor.of(NAMES, W, y).weighted(weight)


def test_a_prior_adds_one_row_for_each_deviation() -> None:
    W, y = rows(0)
    factor = Factor.of(NAMES, W, y).with_prior({"a": 5.0}, {"a": 0.1, "c": 2.0})
    more = np.array([[10.0, 0, 0, 0], [0, 0, 0.5, 0]])
    expected = np.linalg.lstsq(np.vstack([W, more]), np.concatenate([y, [50.0, 0.0]]), rcond=None)[0]
    assert np.allclose(factor.solve(), expected, atol=1e-12)
    with pytest.raises(InvalidRequestError, match="positive standard deviations"):
        factor.with_prior({}, {"a": 0.0})


def test_rank_deficient_factors_give_the_smallest_solution() -> None:
    W, y = rows(0, 3)
    assert np.allclose(Factor.of(NAMES, W, y).solve(), np.linalg.pinv(W) @ y)


def some_factors(seed: int = 0) -> Factors:
    return Factors(
        NAMES,
        {
            "first": Factor.of(NAMES, *rows(seed)),
            "second[0]": Factor.of(("b", "d"), *rows(seed + 1, names=("b", "d"))),
        },
    )


def test_rows_of_joints_are_stacked_weighted_and_merged() -> None:
    one, two = some_factors(0), some_factors(10)
    weights = {"first": 2.0, "second[0]": 0.5}
    whole = one.merged(two).weighted(weights).stacked()
    big, right = [], []
    for seed in (0, 10):
        W, y = rows(seed)
        V, z = rows(seed + 1, names=("b", "d"))
        wide = np.zeros((50, 4))
        wide[:, [1, 3]] = V
        big += [2 * W, 0.5 * wide]
        right += [2 * y, 0.5 * z]
    expected = np.linalg.lstsq(np.concatenate(big), np.concatenate(right), rcond=None)[0]
    assert np.allclose(whole.solve(), expected, atol=1e-12)
    assert whole.rows == one.rows + two.rows == 200
    known = one.stacked(["a", "d"], known={"b": 1.0})
    assert known.names == ("a", "d")
    with pytest.raises(InvalidRequestError, match="different models"):
        one.merged(Factors(NAMES[:3], {}))
    with pytest.raises(UnknownNameError, match="no joint 'third'"):
        one.weighted({"third": 1.0})


def test_saved_and_loaded_factors_are_equal(tmp_path: Path) -> None:
    factors = some_factors()
    path = tmp_path / "log.factors"
    factors.save(path)
    again = Factors.load(path)
    assert again.names == factors.names
    assert list(again.joints) == list(factors.joints)
    for joint, factor in factors.joints.items():
        other = again.joints[joint]
        assert (other.names, other.squares, other.rows) == (factor.names, factor.squares, factor.rows)
        assert np.array_equal(other.R, factor.R)
        assert np.array_equal(other.z, factor.z)
    with pytest.raises(OutputExistsError):
        factors.save(path)
    factors.save(path, overwrite=True)


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.factors"
    with pytest.raises(FactorsFileError, match="cannot be read"):
        Factors.load(path)
    path.write_text("no factors")
    with pytest.raises(FactorsFileError, match="holds no factors"):
        Factors.load(path)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FactorsFileError, match="holds no factors"):
        Factors.load(tmp_path / "other.npz")
    some_factors().save(path, overwrite=True)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FactorsFileError, match="holds no factors"):
        Factors.load(path)
