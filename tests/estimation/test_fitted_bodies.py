"""Bodies from regressor matrices: the optimum is CVXPY's, errors are as large as is said, bad input is refused."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import BodyFit, Box, Ellipsoid
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.estimation.bodies.body_covariance import _slope, body_errors
from dynid.estimation.bodies.body_data import BodyData
from dynid.estimation.bodies.body_priors import body_prior
from dynid.estimation.bodies.fitted_bodies import _weighed_problem
from dynid.estimation.bodies.whitened_rows import RowErrors
from dynid.estimation.physical.semidefinite import ConflictError, Problem, fit
from dynid.robot import inertia
from tests.simulated_bodies import STDS, Bodies, person, satellite

cp: Any = importlib.import_module("cvxpy")  # its types are no help
PERSON, SATELLITE = person(), satellite()
BODIES = np.array([Ellipsoid([0.1, 0, 0.2], [0.1, 0.2, 0.3]).uniform(800.0), Box([-1, 0, 0], [0, 1, 2]).uniform(5.0)])
NAMES = ("ball", "crate")
BOUNDS: dict[str, Ellipsoid | Box] = {
    "ball": Ellipsoid([0.1, 0, 0.2], [0.1, 0.2, 0.3]),
    "crate": Box([-1, 0, 0], [0, 1, 2]),
}


def rows(count: int = 60, noise: float = 0.3, seed: int = 0) -> tuple[Array, Array]:
    """Random rows of bodies that are much unlike `BODIES`: rows that only bounds keep inside."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(count, 15)) @ rng.normal(size=(15, 20))
    truth = BODIES * rng.uniform(0.6, 1.6, (2, 10))
    return W, W @ truth.ravel() + noise * rng.normal(size=count)


def problem_of(y: Array | None = None, **stated: Any) -> tuple[Problem, Array]:
    W, measured = rows()
    y = measured if y is None else y
    expected = body_prior(BODIES, 0.5, stated.get("distance", "logdet"), NAMES, stated.get("bounds"), 20)
    data = BodyData.of(W, y, RowErrors.of(0.3, None, None, len(y)), expected, ())
    return _weighed_problem(data, expected)[0], expected.parameters.ravel()


def cost_of(p: Any, distance: str, weight: float) -> tuple[Any, list[Any]]:
    """The objective of the documentation, from its statement, and the pseudo-inertias."""
    W, y = rows()
    cost, whitened = cp.sum_squares((W @ p - y) / 0.3), []
    for k, body in enumerate(BODIES):
        own = p[10 * k : 10 * k + 10]
        J0, basis = inertia.to_pseudo_inertia(body), inertia.pseudo_inertia_basis()
        L = np.linalg.inv(np.linalg.cholesky(J0))
        X = sum(own[i] * (L @ basis[i] @ L.T) for i in range(10))
        if distance == "logdet":
            cost += weight * (cp.trace(X) - cp.log_det(X) - 4.0)
        elif distance == "pullback":
            cost += weight * 0.5 * cp.sum_squares(X - np.eye(4))
        else:
            r = np.sqrt(np.trace(J0[:3, :3]) / J0[3, 3])
            sizes = J0[3, 3] * np.array([1.0] + [r] * 3 + [r**2] * 6)
            cost += weight * cp.sum_squares(cp.multiply(1.0 / sizes, own - body))
        whitened.append(X)
    return cost, whitened


def inside(p: Any) -> list[Any]:
    """That bodies are inside their bounds, written apart: `E (x-c)'A(x-c) <= m`; weights of pairs of corners."""
    ball, crate = BOUNDS["ball"], BOUNDS["crate"]
    assert isinstance(ball, Ellipsoid)
    assert isinstance(crate, Box)
    J = [sum(p[10 * k + i] * basis for i, basis in enumerate(inertia.pseudo_inertia_basis())) for k in range(2)]
    A, c = np.diag(1.0 / ball.semi_axes**2), ball.centre
    Q = np.block([[-A, (A @ c)[:, None]], [(A @ c)[None], np.array([[1.0 - c @ A @ c]])]])
    low, high = crate.lower, crate.upper
    corner = [np.array([x, y, z, 1.0]) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    holds, whole = [cp.trace(Q @ J[0]) >= 0.0], 0
    # The tetrahedra at the corners 0, 3, 5 and 6 of the cube, and the one between them.
    for four in ((0, 1, 2, 4), (3, 1, 2, 7), (5, 1, 4, 7), (6, 2, 4, 7), (1, 2, 4, 7)):
        V = np.stack([corner[n] for n in four], axis=1)
        C = cp.Variable((4, 4), PSD=True)
        holds.append(C >= 0.0)
        whole = whole + V @ C @ V.T
    return [*holds, whole == J[1]]


@pytest.mark.parametrize("distance", ["logdet", "pullback", "euclidean"])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_optimum_is_cvxpys(distance: str, bounded: bool) -> None:
    W, y = rows()
    found = dynid.fit_bodies(
        W, y, prior=BODIES, prior_std=0.5, distance=distance, std=0.3, names=NAMES, bounds=BOUNDS if bounded else None
    )
    weight = (1.0 if distance == "euclidean" else 2.0) / 0.5**2
    p = cp.Variable(20)
    cost, whitened = cost_of(p, distance, weight)
    holds = [X >> 1e-6 * np.eye(4) for X in whitened] + (inside(p) if bounded else [])
    expected = float(cp.Problem(cp.Minimize(cost), holds).solve(solver=cp.CLARABEL))
    reached = float(cost_of(found.vector, distance, weight)[0].value)
    assert reached == pytest.approx(expected, abs=2e-3, rel=1e-5)
    if bounded:
        assert found.held  # else the bounds would show nothing
        assert all(BOUNDS[name].holds(body) for name, body in zip(NAMES, found.parameters, strict=True))


@pytest.mark.parametrize("distance", ["logdet", "pullback", "euclidean"])
def test_slopes_are_finite_differences_of_the_objective(distance: str) -> None:
    problem, p = problem_of(distance=distance)
    C = problem.to_parameters
    x = np.linalg.solve(C, 1.1 * p) + 0.01 * np.random.default_rng(0).normal(size=20)
    weight = (1.0 if distance == "euclidean" else 2.0) / 0.5**2

    def value(x: Array) -> float:
        return float(cost_of(C @ x, distance, weight)[0].value)

    steps = 1e-5 * np.eye(20)
    expected = np.array([(value(x + step) - value(x - step)) / 2e-5 for step in steps])
    assert 2.0 * _slope(problem, x) == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(expected).max())


def test_errors_at_an_active_bound_are_those_of_accepted_draws() -> None:
    ball = BOUNDS["ball"]
    assert isinstance(ball, Ellipsoid)
    tight = Ellipsoid(ball.centre, 0.78 * ball.semi_axes)  # a body of even density that fills `ball` is just inside
    y = rows()[0] @ BODIES.ravel() + 0.3 * np.random.default_rng(3).normal(size=60)
    problem, expected = problem_of(y, distance="pullback", bounds={"ball": tight})
    p = fit(problem)
    sure = body_errors(problem, p, expected, lambda k: k == 0)
    assert sure.held == (0,)
    C = problem.to_parameters
    A, c = problem.squares()
    middle, V = np.linalg.lstsq(A, c, rcond=None)[0], np.linalg.inv(A.T @ A)
    draws = np.random.default_rng(0).multivariate_normal(middle, V, 200_000) @ C.T
    row = problem.constraints[0].rows[0]
    accepted = draws[draws @ row >= 0.0]
    assert len(accepted) > 1000
    errors = np.sqrt(np.mean((accepted - p) ** 2, axis=0))
    assert sure.scatter == 1.0
    assert np.sqrt(np.diag(sure.covariance)) == pytest.approx(errors, rel=0.1)


def fitted(bodies: Bodies, seed: int, samples: int = 60, **stated: Any) -> tuple[BodyFit, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    truth = bodies.different(0.15, rng)
    W = bodies.rows(samples, rng)
    y = bodies.wrenches(W, truth, rng)
    stated = {"prior": bodies.prior, "names": bodies.names, "bounds": bodies.bounds, "std": STDS, **stated}
    return dynid.fit_bodies(W, y, **stated), truth, W, y


@pytest.mark.parametrize("bodies", [PERSON, SATELLITE], ids=["person", "satellite"])
@pytest.mark.parametrize("stated", [{"prior_std": 0.15}, {"std": None, "row_kinds": "fffttt"}], ids=["stated", "found"])
def test_the_truth_is_in_intervals_as_often_as_they_say(bodies: Bodies, stated: dict[str, Any]) -> None:
    hits, predicted = [], []
    for seed in range(3):
        found, truth, _, _ = fitted(bodies, seed, **stated)
        lower, upper = found.interval(0.95)
        hits.append(np.mean((lower <= truth) & (truth <= upper)))
        W = bodies.rows(20, np.random.default_rng(100 + seed))
        predicted.append(np.mean(np.abs(W @ truth.ravel() - found.predict(W)) <= 1.96 * found.predict_std(W)))
    assert 0.87 <= np.mean(hits) <= 1.0
    assert 0.85 <= np.mean(predicted) <= 1.0


def test_a_person_of_16_bodies_and_990_rows() -> None:
    found, truth, W, _ = fitted(PERSON, 0, samples=165)
    assert W.shape == (990, 160)
    assert found.seconds < 5.0  # 0.3 s alone on a machine
    assert all(inertia.is_physical(body) for body in found.parameters)
    assert all(bound.holds(body) for bound, body in zip(PERSON.bounds, found.parameters, strict=True))
    other = PERSON.rows(50, np.random.default_rng(1))
    errors = [np.linalg.norm(other @ (body - truth).ravel()) for body in (found.parameters, PERSON.prior)]
    assert errors[0] < 0.05 * errors[1]
    assert abs(found.total_mass - truth[:, 0].sum()) < 4.0 * found.total_mass_std < 0.1
    assert found.residual == pytest.approx(1.0, abs=0.1)
    assert found.rank < 160
    frame = found.to_frame()
    assert frame.shape == (160, 9)
    assert frame["value"].to_list() == found.parameters.ravel().tolist()
    assert json.loads(json.dumps(found.to_dict()))["bodies"][3]["name"] == "head"
    assert len(repr(found)) < 200
    assert "left forearm" in str(found)
    assert "<table" in found._repr_html_()
    assert [finding.code for finding in found.findings] == ["body-prior-chosen"]


def test_the_same_errors_said_in_other_ways_give_the_same_bodies() -> None:
    plain, _, W, y = fitted(SATELLITE, 0, prior_std=0.15, bounds=None)
    C = np.diag(np.square(STDS))
    samples = len(y) // 6
    uneven = [np.diag(np.square(np.tile(STDS, n))) for n in (1, 3, 2, *[1] * (samples - 6))]
    ways: list[dict[str, Any]] = [
        {"std": np.tile(STDS, samples)},
        {"covariance": C},
        {"covariance": np.tile(C, (samples, 1, 1))},
        {"covariance": uneven},
    ]
    for errors in ways:
        found = dynid.fit_bodies(W, y, prior=SATELLITE.prior, prior_std=0.15, names=SATELLITE.names, **errors)
        assert np.abs(found.parameters - plain.parameters).max() < 1e-4 * np.abs(plain.parameters).max()
        assert found.std == pytest.approx(plain.std, rel=1e-3)


def test_correlated_errors_are_whitened() -> None:
    rng = np.random.default_rng(0)
    W, y = rows(noise=0.0)
    B = rng.normal(size=(5, 5))
    C = B @ B.T + 0.1 * np.eye(5)
    y = y + np.ravel([np.linalg.cholesky(C) @ rng.normal(size=5) for _ in range(12)])
    found = dynid.fit_bodies(W, y, prior=BODIES, prior_std=0.5, covariance=C)
    white = np.kron(np.eye(12), np.linalg.inv(np.linalg.cholesky(C)))
    again = dynid.fit_bodies(white @ W, white @ y, prior=BODIES, prior_std=0.5, std=1.0)
    assert found.parameters == pytest.approx(again.parameters, rel=1e-4, abs=1e-5)


def test_rows_in_pairs_or_on_disk_give_the_same_bodies(tmp_path: Path) -> None:
    whole, _, W, y = fitted(SATELLITE, 0, 100, prior_std=0.15, bounds=None)
    stated: dict[str, Any] = {"prior": SATELLITE.prior, "prior_std": 0.15, "std": STDS}
    pairs = dynid.fit_bodies(((W[k : k + 6], y[k : k + 6]) for k in range(0, len(y), 6)), **stated)
    np.save(tmp_path / "W.npy", W)
    mapped = dynid.fit_bodies(np.load(tmp_path / "W.npy", mmap_mode="r"), y, **stated)
    for found in (pairs, mapped):
        assert found.rows == len(y)
        assert np.abs(found.parameters - whole.parameters).max() < 1e-4 * np.abs(whole.parameters).max()


def test_without_a_prior_only_what_the_data_determine_has_a_standard_deviation() -> None:
    found, truth, W, _ = fitted(PERSON, 0, 165, prior=None, bounds=None)
    assert np.isinf(found.std).any()
    assert np.isfinite(found.std).any()
    assert np.abs(found.total_mass - truth[:, 0].sum()) < 4.0 * found.total_mass_std < 0.1
    assert np.isfinite(found.predict_std(W)).all()
    assert np.isinf(found.predict_std(np.eye(160)[:1])).all()
    assert all(inertia.is_physical(body) for body in found.parameters)
    determined = np.isfinite(found.std)
    assert np.mean((np.abs(found.parameters - truth) <= 4.0 * found.std)[determined]) > 0.97


def test_columns_that_are_no_bodies_are_free() -> None:
    rng = np.random.default_rng(0)
    W = np.column_stack([SATELLITE.rows(100, rng), np.tile(np.eye(6), (100, 1))])
    truth, offset = SATELLITE.different(0.15, rng), np.array([5.0, -3.0, 40.0, 1.0, -2.0, 0.5])
    y = SATELLITE.wrenches(W, np.concatenate([truth.ravel(), offset]), rng)
    axes = ("fx", "fy", "fz", "tx", "ty", "tz")
    found = dynid.fit_bodies(W, y, prior=SATELLITE.prior, prior_std=0.15, std=STDS, others=axes)
    stds = np.sqrt(np.diag(found.covariance))[-6:]
    assert list(found.others) == list(axes)
    assert np.all(np.abs(np.array(list(found.others.values())) - offset) <= 4.0 * stds)
    assert stds.max() < 0.5


def codes(found: BodyFit) -> set[str]:
    return {finding.code for finding in found.findings}


def test_rows_and_priors_that_are_less_sure_than_stated_are_found() -> None:
    quiet, truth, W, _ = fitted(SATELLITE, 0, 60, bounds=None, prior_std=0.15, std=0.2 * np.array(STDS))
    right, _, _, _ = fitted(SATELLITE, 0, 60, bounds=None, prior_std=0.15)
    assert "rows-less-sure-than-stated" in codes(quiet)
    assert quiet.std == pytest.approx(right.std, rel=0.5)
    loud, _, _, _ = fitted(SATELLITE, 0, 60, bounds=None, prior_std=0.15, std=5.0 * np.array(STDS))
    assert "rows-surer-than-stated" in codes(loud)
    sure, _, _, _ = fitted(SATELLITE, 0, 60, bounds=None, prior_std=0.01)
    assert "prior-less-sure-than-stated" in codes(sure)
    assert not codes(right)
    W = W.copy()
    W[:, 30:40] = 0.0
    silent = dynid.fit_bodies(W, W @ truth.ravel(), prior=SATELLITE.prior, prior_std=0.15, std=STDS)
    assert "bodies-without-rows" in codes(silent)
    assert silent.parameters[3] == pytest.approx(SATELLITE.prior[3], rel=1e-3, abs=1e-6)
    assert silent.from_data[3] == pytest.approx(0.0, abs=1e-6)


def test_bounds_that_the_data_contradict_are_found() -> None:
    far = [Box(bound.lower + 1.0, bound.upper + 1.0) for bound in SATELLITE.bounds if isinstance(bound, Box)]
    prior = np.array([bound.uniform(500.0) for bound in far])
    ways: list[dict[str, Any]] = [{"prior": prior, "prior_std": 0.5}, {"prior": None}, {"prior": prior}]
    for stated in ways:
        found, _, _, _ = fitted(SATELLITE, 0, bounds=far, **stated)
        assert "bodies-fit-worse" in codes(found)
        assert found.held
        assert all(bound.holds(body) for bound, body in zip(far, found.parameters, strict=True))


W0, Y0 = rows()
FLAT = np.array([*BODIES[0][:4], *np.zeros(6)])
FAR = Ellipsoid([5, 0, 0], [0.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("stated", "error"),
    [
        ({"W": W0[:, :19], "prior": BODIES}, ShapeError),
        ({"W": W0[:, :19]}, InvalidRequestError),
        ({"y": Y0[:-1], "prior": BODIES}, ShapeError),
        ({"y": None, "prior": BODIES}, InvalidRequestError),
        ({"y": np.where(np.arange(60) == 7, np.nan, Y0), "prior": BODIES}, InvalidRequestError),
        ({"W": np.where(np.arange(20) == 7, np.inf, W0), "prior": BODIES}, InvalidRequestError),
        ({"W": 0.0 * W0, "prior": BODIES}, InvalidRequestError),
        ({"y": 0.0 * Y0, "prior": BODIES}, InvalidRequestError),
        ({"W": W0[:10], "y": Y0[:10], "prior": BODIES}, InvalidRequestError),
        ({"W": W0[:0], "y": Y0[:0], "prior": BODIES}, InvalidRequestError),
        ({"W": iter([]), "y": None, "prior": BODIES}, InvalidRequestError),
        ({"W": iter([(W0, Y0)]), "y": None}, InvalidRequestError),
        ({"W": iter([(W0, Y0[:7])]), "y": None, "prior": BODIES}, ShapeError),
        ({"W": iter([W0]), "y": None, "prior": BODIES}, InvalidRequestError),
        ({"std": 1.0, "covariance": np.eye(6), "prior": BODIES}, InvalidRequestError),
        ({"std": -1.0, "prior": BODIES}, InvalidRequestError),
        ({"std": [1.0] * 7, "prior": BODIES}, InvalidRequestError),
        ({"covariance": -np.eye(6), "prior": BODIES}, InvalidRequestError),
        ({"covariance": np.triu(np.ones((6, 6))) + np.eye(6), "prior": BODIES}, InvalidRequestError),
        ({"covariance": np.eye(7), "prior": BODIES}, InvalidRequestError),
        ({"covariance": [np.eye(6), np.eye(3)], "prior": BODIES}, InvalidRequestError),
        ({"row_kinds": "fffttt", "std": 1.0, "prior": BODIES}, InvalidRequestError),
        ({"prior": BODIES[:1]}, ShapeError),
        ({"prior": [FLAT, BODIES[1]]}, InvalidRequestError),
        ({"prior": [-BODIES[0], BODIES[1]]}, InvalidRequestError),
        ({"prior": {"ball": BODIES[0]}, "names": NAMES}, InvalidRequestError),
        ({"prior": {"bal": BODIES[0], "crate": BODIES[1]}, "names": NAMES}, UnknownNameError),
        ({"prior": BODIES, "names": ("one", "one")}, InvalidRequestError),
        ({"prior": BODIES, "prior_std": 0.0}, InvalidRequestError),
        ({"prior": BODIES, "prior_std": [0.1, 0.2, 0.3]}, ShapeError),
        ({"prior": BODIES, "prior_std": np.ones((2, 10))}, InvalidRequestError),
        ({"prior_std": 0.1}, InvalidRequestError),
        ({"prior": BODIES, "distance": "kullback"}, UnknownNameError),
        ({"prior": BODIES, "bounds": [None]}, InvalidRequestError),
        ({"prior": BODIES, "bounds": {"box": FAR}}, UnknownNameError),
        ({"prior": BODIES, "bounds": [3.0, None]}, InvalidRequestError),
        ({"prior": BODIES, "bounds": [FAR, None]}, InvalidRequestError),
        ({"names": NAMES, "bounds": [[FAR, BOUNDS["ball"]], None]}, ConflictError),
    ],
)
def test_bad_input_is_refused(stated: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        dynid.fit_bodies(**{"W": W0, "y": Y0, **stated})
    assert len(str(caught.value)) < 400
    assert isinstance(caught.value, dynid.DynidError)


def test_a_standard_deviation_for_each_parameter_is_that_of_independent_measurements() -> None:
    stds = 0.2 * np.abs(BODIES) + 0.1
    W, y = rows()
    found = dynid.fit_bodies(W, y, prior=BODIES, prior_std=stds, distance="euclidean", std=0.3)
    more = np.concatenate([W / 0.3, np.diag(1.0 / stds.ravel())])
    expected = np.linalg.lstsq(more, np.concatenate([y / 0.3, (BODIES / stds).ravel()]), rcond=None)[0]
    if not found.held:
        assert found.vector == pytest.approx(expected, rel=1e-3, abs=1e-3)
    for one, other in ((0.5, [0.5, 0.5]), (0.5, {"body1": 0.5, "body2": 0.5})):
        a, b = (dynid.fit_bodies(W, y, prior=BODIES, prior_std=std, std=0.3).parameters for std in (one, other))
        assert a == pytest.approx(b, rel=1e-6)
