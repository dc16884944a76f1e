"""Estimates: unbiased, with intervals that hold, and published results on real logs."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from dynid import BaseParameters, DynamicModel, find_base_parameters, load_robot
from dynid.arrays import frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.factors import Factors
from dynid.estimation.least_squares import (
    Estimate,
    NotIdentifiableError,
    essential_parameters,
    ordinary_least_squares,
    weighted_least_squares,
)
from dynid.logs.drive import Transmission
from dynid.logs.processing.signals import central_difference, decimated, lowpass, trimmed
from dynid.model.chunks import Chunk
from dynid.model.sampling import random_states
from dynid.model.terms import Coulomb, Offset, Viscous, parse_terms
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointDynamics, JointKind
from tests.decimated_logs import factorise_decimated
from tests.strategies import random_inertia, random_pose

ARM = load_robot("builtin:two_link")
MODEL = DynamicModel(ARM, [Viscous(), Coulomb()])
BASE = find_base_parameters(MODEL)
TRUTH = BASE.to_base(MODEL.reference)
NOISE = np.array([0.5, 0.05])


def simulated(seed: int, samples: int = 60) -> Factors:
    """Factors of random states with the arm's torques and white noise, larger on joint 1."""
    rng = np.random.default_rng(seed)
    q, v, a = random_states(MODEL, samples, rng)
    torque = MODEL.inverse_dynamics(q, v, a) + NOISE * rng.normal(size=(samples, 2))
    return factorise(MODEL, [Chunk(q, v, a, torque)])


def test_ordinary_least_squares_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(0)
    q, v, a = random_states(MODEL, 50, rng)
    torque = rng.normal(size=(50, 2))
    estimate = ordinary_least_squares(factorise(MODEL, [Chunk(q, v, a, torque)]), BASE)
    W = BASE.regressor(q, v, a).reshape(-1, len(BASE))
    y = torque.T.ravel()
    x, squares, *_ = np.linalg.lstsq(W, y, rcond=None)
    assert np.allclose(estimate.values, x)
    assert np.allclose(estimate.covariance, squares[0] / (100 - 10) * np.linalg.inv(W.T @ W))
    assert estimate.condition_number == pytest.approx(np.linalg.cond(W))
    assert estimate.relative_error == pytest.approx(np.linalg.norm(y - W @ x) / np.linalg.norm(y))
    assert estimate.freedom == 90
    left = (y - W @ x).reshape(2, 50)
    assert [fit.rmse for fit in estimate.joints.values()] == pytest.approx(np.sqrt((left**2).mean(axis=1)))


DRAWS = 500


@pytest.fixture(scope="module")
def draws() -> dict[str, list[Estimate]]:
    factors = [simulated(seed) for seed in range(DRAWS)]
    known = {"joint_1": 0.5, "joint_2": 0.05}
    return {
        "weighted": [weighted_least_squares(f, BASE, stds=known) for f in factors],
        "by residuals": [weighted_least_squares(f, BASE) for f in factors],
    }


@pytest.mark.parametrize("way", ["weighted", "by residuals"])
def test_estimates_are_unbiased(draws, way: str) -> None:
    values = np.array([estimate.values for estimate in draws[way]])
    deviation_of_mean = values.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(values.mean(axis=0) - TRUTH) < 4 * deviation_of_mean).all()


@pytest.mark.parametrize("way", ["weighted", "by residuals"])
def test_intervals_hold_the_truth_as_often_as_they_say(draws, way: str) -> None:
    inside = []
    for estimate in draws[way]:
        lower, upper = estimate.interval(0.95)
        inside.append((lower <= TRUTH) & (upper >= TRUTH))
    assert 0.93 <= np.mean(inside) <= 0.97


def random_arm(seed: int) -> DynamicModel:
    """A chain of two to four joints, turning or sliding about odd axes, with known parameters."""
    rng = np.random.default_rng(seed)
    bodies, joints = [BodyDescription("base")], []
    for k in range(rng.integers(2, 5)):
        axis = rng.normal(size=3)
        bodies.append(BodyDescription(f"b{k}", frozen(random_inertia(rng))))
        joints.append(
            JointDescription(
                name=f"j{k}",
                kind=JointKind.REVOLUTE if k == 0 or rng.uniform() < 0.7 else JointKind.PRISMATIC,
                parent=bodies[-2].name,
                child=f"b{k}",
                placement=frozen(random_pose(rng, False)),
                axis=frozen(axis / np.linalg.norm(axis)),
                dynamics=JointDynamics(damping=0.3, friction=0.5),
            )
        )
    robot = assemble(Description("random", "random", tuple(bodies), tuple(joints)))
    return DynamicModel(robot, [Viscous(), Coulomb()])


def test_on_random_robots_estimates_are_unbiased_and_intervals_hold() -> None:
    inside, scores = [], []
    for seed in range(12):
        model = random_arm(seed)
        base = find_base_parameters(model)
        truth = base.to_base(model.reference)
        rng = np.random.default_rng(100 + seed)
        q, v, a = random_states(model, 60, rng)
        exact = model.inverse_dynamics(q, v, a)
        noise = rng.uniform(0.05, 1.0, model.row_count)
        stds = dict(zip(model.row_names, noise.tolist(), strict=True))
        values = []
        for _ in range(60):
            chunk = Chunk(q, v, a, exact + noise * rng.normal(size=exact.shape))
            estimate = weighted_least_squares(factorise(model, [chunk]), base, stds=stds)
            lower, upper = estimate.interval(0.95)
            inside.append(np.mean((lower <= truth) & (truth <= upper)))
            values.append(estimate.values)
        scores.append((np.mean(values, axis=0) - truth) / (np.std(values, axis=0) / np.sqrt(60)))
    assert 0.93 <= np.mean(inside) <= 0.97
    scores = np.concatenate(scores)
    assert np.abs(scores).max() < 4.5  # of some two hundred means
    assert abs(np.mean(scores)) < 0.35


def test_weighing_by_joint_is_better_where_noise_differs() -> None:
    # Link 2 shows in both rows; its parameters are known best from the quiet one.
    both = [BASE.names.index(name) for name in ("mx2", "mz2", "Iyy2")]
    errors = {"ols": 0.0, "wls": 0.0}
    for seed in range(50):
        factors = simulated(seed)
        errors["ols"] += np.sum((ordinary_least_squares(factors, BASE).values - TRUTH)[both] ** 2)
        errors["wls"] += np.sum((weighted_least_squares(factors, BASE).values - TRUTH)[both] ** 2)
    assert errors["wls"] < 0.1 * errors["ols"]


def test_exact_torques_give_the_exact_parameters() -> None:
    q, v, a = random_states(MODEL, 100, np.random.default_rng(0))
    factors = factorise(MODEL, [Chunk(q, v, a, MODEL.inverse_dynamics(q, v, a))])
    for estimate in (ordinary_least_squares(factors, BASE), weighted_least_squares(factors, BASE)):
        assert np.allclose(estimate.values, TRUTH, rtol=1e-10)
        assert estimate.relative_error < 1e-10


def test_known_parameters_are_taken_off_and_the_rest_is_the_same() -> None:
    q, v, a = random_states(MODEL, 100, np.random.default_rng(0))
    factors = factorise(MODEL, [Chunk(q, v, a, MODEL.inverse_dynamics(q, v, a))])
    base = find_base_parameters(MODEL, known=["mx2", "fv1"])
    estimate = ordinary_least_squares(factors, base)
    assert np.allclose(estimate.values, base.to_base(MODEL.reference), rtol=1e-9)
    assert estimate.relative_error < 1e-9


def test_what_the_motion_cannot_tell_is_named() -> None:
    q, v, a = random_states(MODEL, 100, np.random.default_rng(0))
    v[:, 1] = a[:, 1] = 0.0
    q[:, 1] = 0.3
    factors = factorise(MODEL, [Chunk(q, v, a, MODEL.inverse_dynamics(q, v, a))])
    with pytest.raises(NotIdentifiableError, match=r"does not excite \d parameter combination") as caught:
        ordinary_least_squares(factors, BASE)
    assert {"fv2", "fs2"} <= set(caught.value.names)
    few = factorise(MODEL, [Chunk(q[:4], v[:4], a[:4], np.zeros((4, 2)))])
    with pytest.raises(NotIdentifiableError, match="8 rows of data cannot determine 10 parameters"):
        ordinary_least_squares(few, BASE)


def test_essential_parameters_drop_what_the_data_do_not_speak_of() -> None:
    # Of the ten, friction is hidden in the noise of joint 1.
    factors = simulated(1, 2000)
    full = weighted_least_squares(factors, BASE)
    essential = essential_parameters(factors, BASE, ratio=10.0)
    assert set(essential.names) < set(BASE.names)
    relative = essential.relative_stds
    assert relative.max() <= 10.0 * relative.min()
    assert essential.relative_error < 1.05 * full.relative_error
    assert essential_parameters(factors, BASE, ratio=1e9).names == BASE.names
    with pytest.raises(InvalidRequestError, match="above 1"):
        essential_parameters(factors, BASE, ratio=1.0)


def test_intervals_need_a_confidence() -> None:
    with pytest.raises(InvalidRequestError, match="between 0 and 1"):
        ordinary_least_squares(simulated(0), BASE).interval(95)


def test_decimation_in_windows_is_decimation_of_the_whole(monkeypatch) -> None:
    from dynid.estimation.factors import decimation

    t = np.arange(60_000) / 1000.0
    q = np.stack([np.sin(t), np.cos(1.7 * t)], axis=1)
    v, a = central_difference(q, 1000.0), central_difference(central_difference(q, 1000.0), 1000.0)
    torque = MODEL.inverse_dynamics(q, v, a) + np.random.default_rng(0).normal(size=q.shape)
    chunk = Chunk(q, v, a, torque)
    thresholds = [0.1, 0.2]
    whole = factorise_decimated(MODEL, [chunk], [10, 2], thresholds).stacked(BASE.names)
    monkeypatch.setattr(decimation, "LONGEST_WINDOW", 500)
    parts = factorise_decimated(MODEL, [chunk], [10, 2], thresholds).stacked(BASE.names)
    assert np.allclose(parts.solve(), whole.solve(), rtol=1e-9)
    W = MODEL.regressor(q, v, a)
    speed = np.abs(decimated(v, [10, 2]))
    rows, right = [], []
    for row in range(2):
        kept = speed[:, row] >= thresholds[row]
        rows.append(decimated(W[row], [10, 2])[kept])
        right.append(decimated(torque, [10, 2])[kept, row])
    columns = [MODEL.names.index(name) for name in BASE.names]
    direct = np.linalg.lstsq(np.concatenate(rows)[:, columns], np.concatenate(right), rcond=None)[0]
    assert np.allclose(whole.solve(), direct, rtol=1e-9)
    with pytest.raises(ShapeError, match="velocity thresholds"):
        factorise_decimated(MODEL, [chunk], [10], [0.1])


needs_logs = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="DYNID_DATASETS does not name the folder of logs"
)


def tx40() -> tuple[BaseParameters, Factors]:
    """The processing that the published table comes from, in the words of this package."""
    folder = Path(os.environ["DYNID_DATASETS"]) / "tx40"
    position, torque = (
        np.loadtxt(folder / f"motor_{what}.csv", delimiter=",", skiprows=1) for what in ("position", "torque")
    )
    drive = Transmission.of([32, 32, 45, -48, 45, 32], couplings=[(5, 4, 32)])
    rate = 5000.0
    q = lowpass(drive.joint_positions(position), rate, 100.0)
    v = central_difference(q, rate)
    a = central_difference(v, rate)
    robot = load_robot("builtin:tx40")
    model = DynamicModel(robot, parse_terms(["viscous", "coulomb", "offset", "armature", "coupling"], robot))
    q, v, a, torque = (trimmed(x, 20) for x in (q, v, a, drive.joint_torques(torque)))
    segment = Chunk(q, v, a, torque)
    thresholds = [0.05009095, 0.05009095, 0.07504916, 0.0715585, 0.05585054, 0.12217305]
    return find_base_parameters(model), factorise_decimated(model, [segment], [10, 10], thresholds)


def published(file: str) -> list[dict[str, str]]:
    with (Path(os.environ["DYNID_DATASETS"]) / "tx40" / file).open() as stream:
        return list(csv.DictReader(stream))


@needs_logs
def test_tx40_reproduces_the_published_table() -> None:
    base, factors = tx40()
    estimates = {"ols": ordinary_least_squares(factors, base), "wls": weighted_least_squares(factors, base)}
    assert len(base) == 61
    assert estimates["wls"].relative_error == pytest.approx(0.051, abs=5e-4)
    assert estimates["wls"].condition_number == pytest.approx(1030, rel=0.01)
    compared = 0
    for row in published("published_base_parameters.csv"):
        k = base.names.index(row["regrouping"].split()[0])
        for way, estimate in estimates.items():
            if not row[way] or not row[f"{way}_std_percent"]:
                continue
            value, percent = float(row[way]), float(row[f"{way}_std_percent"])
            std = abs(value) * percent / 100
            assert abs(estimate.values[k] - value) <= 0.02 * std, (way, row["name"])
            if percent < 100:
                assert estimate.relative_stds[k] == pytest.approx(percent, rel=0.01, abs=0.0051), row["name"]
            compared += 1
        if row["gautier_wls"]:
            wls = estimates["wls"]
            assert abs(wls.values[k] - float(row["gautier_wls"])) <= 1.0 * wls.stds[k], row["name"]
    assert compared >= 115


@needs_logs
def test_tx40_essential_parameters_are_the_published_ones() -> None:
    base, factors = tx40()
    full = weighted_least_squares(factors, base)
    essential = essential_parameters(factors, base, 25.0)
    leads = {row["name"]: row["regrouping"].split()[0] for row in published("published_base_parameters.csv")}
    theirs = {leads[row["name"]] for row in published("published_essential_parameters.csv")}
    assert len(theirs) == 28
    assert len(theirs & set(essential.names)) >= 26
    assert essential.relative_error <= full.relative_error + 0.003


@needs_logs
def test_panda_log_is_fitted_and_predicted_as_well_as_published() -> None:
    # 10 Hz on positions and torques, rows at 50 Hz; 1.49 to 1.55 % for a plain fit of this log.
    folder = Path(os.environ["DYNID_DATASETS"]) / "panda"
    time = np.loadtxt(folder / "time.txt")
    q, torque = (np.loadtxt(folder / f"{what}.txt").reshape(-1, 7) for what in ("positions", "torques"))
    rate = 1.0 / np.median(np.diff(time))
    even = np.arange(time[0], time[-1], 1.0 / rate)
    q, torque = (np.stack([np.interp(even, time, x) for x in signal.T], axis=1) for signal in (q, torque))
    q, torque = lowpass(q, rate, 10.0), lowpass(torque, rate, 10.0)
    v = central_difference(q, rate)
    a = central_difference(v, rate)
    step = round(rate / 50.0)
    q, v, a, torque = (trimmed(x, 100)[::step] for x in (q, v, a, torque))
    chunk = Chunk(q, v, a, torque)
    model = DynamicModel(load_robot("builtin:panda"), [Viscous(), Coulomb(), Offset()])
    base = find_base_parameters(model)
    estimate = weighted_least_squares(factorise(model, [chunk]), base)
    assert len(base) == 43 + 21
    assert estimate.relative_error <= 0.016
    first = int(0.7 * len(chunk))
    trained = weighted_least_squares(factorise(model, [chunk[:first]]), base)
    unseen = chunk[first:]
    left = unseen.torque - (base.regressor(unseen.q, unseen.v, unseen.a) @ trained.values).T
    assert np.linalg.norm(left) / np.linalg.norm(unseen.torque) <= 0.020


def test_deviations_of_joints_are_what_is_left() -> None:
    estimate = ordinary_least_squares(simulated(0, 2000), BASE)
    assert [fit.rmse for fit in estimate.joints.values()] == pytest.approx(NOISE, rel=0.05)
