"""Rows of power, energy and momentum: exact on exact data, in pieces as at once, and from files to results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from dynid import DynamicModel, Robot, find_base_parameters
from dynid.errors import InvalidRequestError
from dynid.estimation.factors import formulation_rows as power_rows
from dynid.estimation.factors import formulation_rows as window_rows
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.formulation_rows import integrals
from dynid.estimation.factors.row_forms import FormName, RowForm
from dynid.estimation.least_squares import ordinary_least_squares
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.identification.pipeline import identify
from dynid.identification.result import ResultError
from dynid.identification.result_files import load_result
from dynid.logs.settings import Processing
from dynid.model.chunks import Chunk
from dynid.model.formulations.energy import dissipation_regressor
from dynid.model.terms import Armature, Coulomb, Offset, Spring, Viscous
from dynid.robot.joints import JointKind
from tests.practice_logs import BASE, EXPERIMENT, MODEL, PROCESSING, in_memory, log
from tests.strategies import SINGLE, robots

FORMS: tuple[FormName, ...] = ("power", "energy", "momentum")
TRUTH = BASE.to_base(MODEL.reference)


def exact(model: DynamicModel, rate: float, seconds: float = 6.0, speed: float = 1.0) -> Chunk:
    """Exact states and torques along sums of sines."""
    rng = np.random.default_rng(7)
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = speed * 2 * np.pi * np.array([0.31, 0.57, 0.83, 1.3])
    sizes, phases = rng.uniform(0.2, 0.6, (model.robot.nv, 4)), rng.uniform(0, 6, (model.robot.nv, 4))
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    return Chunk(q, v, a, model.inverse_dynamics(q, v, a))


def leftover(model: DynamicModel, form: RowForm, chunk: Chunk, rate: float) -> float:
    """The largest error of rows for the true parameters, relative to the largest right-hand side."""
    into = form.equations(model)
    values = into.predictors(np.nan_to_num(model.reference))
    errors, sizes = [0.0], [1e-12]
    for matrices in form.rows(into, [chunk], Processing(), rate):
        for W, b in zip(matrices, values, strict=True):
            rows = W[2:-2] if form.name == "power" else W  # derivatives are one-sided at the ends
            errors.append(np.abs(rows[:, :-1] @ b - rows[:, -1]).max(initial=0.0))
            sizes.append(np.abs(rows[:, -1]).max(initial=0.0))
    return max(errors) / max(sizes)


@settings(max_examples=15)
@given(robots((*SINGLE, JointKind.FIXED), max_joints=4).filter(lambda robot: not robot.has_floating_base))
def test_rows_hold_for_the_true_parameters_of_any_robot(robot: Robot) -> None:
    model = DynamicModel(robot, [Viscous(), Offset(), Armature(), Spring()])
    rate = 2000.0
    chunk = exact(model, rate, 1.0)
    assert leftover(model, RowForm("power"), chunk, rate) < 1e-4  # central differences: second order
    assert leftover(model, RowForm("energy", 0.05), chunk, rate) < 1e-8
    assert leftover(model, RowForm("momentum", 0.05), chunk, rate) < 1e-8


def test_the_base_parameters_of_power_are_those_of_torques() -> None:
    for form in ("power", "energy"):
        (basis,) = RowForm(form).equations(MODEL).bases
        assert len(basis.columns) == len(BASE)


@pytest.mark.parametrize("form", FORMS)
def test_exact_data_give_the_base_parameters(form: FormName) -> None:
    rate = 1000.0
    factors = RowForm(form, None if form == "power" else 0.02).factors(
        MODEL, [exact(MODEL, rate, 20.0)], Processing(), rate
    )
    estimate = ordinary_least_squares(factors, BASE)
    assert np.abs(estimate.values - TRUTH).max() < 2e-3 * np.abs(TRUTH).max()
    assert estimate.relative_error < 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_pieces_are_the_rows_at_once(form: FormName, monkeypatch: pytest.MonkeyPatch) -> None:
    rate, chunk = 200.0, exact(MODEL, 200.0, 10.005)[:2001]
    way = RowForm(form)
    at_once = _stacked(way, chunk, rate)
    assert np.allclose(_stacked(way, chunk, rate, block=7), at_once, rtol=1e-12, atol=1e-12)
    leaves_one_sample = 8 * len(MODEL.names) * 500
    for size in (5000, leaves_one_sample):
        monkeypatch.setattr(power_rows if form == "power" else window_rows, "CHUNK_BYTES", size)
        assert np.allclose(_stacked(way, chunk, rate), at_once, rtol=1e-12, atol=1e-12)


def test_windows_with_samples_that_do_not_count_are_left_out_of_momentum() -> None:
    chunk = exact(MODEL, 200.0, 10.0)
    keep = np.ones(chunk.torque.shape, dtype=bool)
    keep[500:520, 0] = False  # parts of three windows of ten samples, whose ends are shared
    whole, part = (
        RowForm("momentum").factors(MODEL, [one], Processing(), 200.0) for one in (chunk, replace(chunk, keep=keep))
    )
    first, second = MODEL.row_names
    assert part.joints[first].rows == whole.joints[first].rows - 3
    assert part.joints[second].rows == whole.joints[second].rows


def _stacked(form: RowForm, chunk: Chunk, rate: float, block: int | None = None) -> np.ndarray:
    pieces = form.rows(form.equations(MODEL), [chunk], Processing(), rate, block)
    return np.concatenate([piece[0] for piece in pieces])


def test_integrals_are_of_fourth_order() -> None:
    errors = []
    for samples in (20, 40):
        t = np.linspace(0.0, 2.0, 2 * samples + 1)
        found = integrals(np.exp(np.sin(3 * t)), np.array([samples // 2, samples, 3 * samples // 2]), samples)
        fine = np.linspace(0.5, 1.0, 20001)
        errors.append(abs(found[0] - np.trapezoid(np.exp(np.sin(3 * fine)), fine)))
    assert errors[1] < errors[0] / 12.0
    assert errors[1] < 1e-6


def test_windows_of_a_slow_joint_do_not_count_for_its_momentum_only() -> None:
    rate, chunk = 200.0, exact(MODEL, 200.0, 10.0)
    slow = Processing(velocity_threshold=(0.3, 0.0))
    all_rows, kept = (RowForm("momentum").factors(MODEL, [chunk], how, rate) for how in (Processing(), slow))
    first, second = MODEL.row_names
    samples = 10
    windows = [np.abs(chunk.v[k : k + samples + 1, 0]).min() for k in range(0, len(chunk) - samples, samples)]
    assert kept.joints[first].rows == sum(speed >= 0.3 for speed in windows) < all_rows.joints[first].rows
    assert kept.joints[second].rows == all_rows.joints[second].rows
    for form in ("power", "energy"):
        before, after = (RowForm(form).factors(MODEL, [chunk], how, rate) for how in (Processing(), slow))
        assert before.rows == after.rows


def test_unmeasured_joints_leave_momentum_rows_out_and_power_without_sense() -> None:
    chunk, lacking = exact(MODEL, 200.0), Processing(unmeasured=(MODEL.row_names[1],))
    rows = RowForm("momentum").factors(MODEL, [chunk], lacking, 200.0)
    assert rows.joints[MODEL.row_names[1]].rows == 0 < rows.joints[MODEL.row_names[0]].rows
    for form in ("power", "energy"):
        with pytest.raises(InvalidRequestError, match=MODEL.row_names[1]):
            RowForm(form).factors(MODEL, [chunk], lacking, 200.0)


def test_thinned_samples_and_windows_longer_than_the_log_are_refused() -> None:
    chunk = exact(MODEL, 200.0)
    with pytest.raises(InvalidRequestError, match=r"processing\.rate = 50"):
        RowForm("power").factors(MODEL, [chunk], Processing(rate=50.0), 200.0)
    with pytest.raises(InvalidRequestError, match=r"longest even piece lasts 6 s"):
        RowForm("energy", 10.0).factors(MODEL, [chunk], Processing(), 200.0)


def test_factors_know_their_form_and_do_not_mix(tmp_path: Path) -> None:
    chunk = exact(MODEL, 200.0)
    momentum, torque = (RowForm(form).factors(MODEL, [chunk], Processing(), 200.0) for form in ("momentum", "torque"))
    momentum.save(tmp_path / "momentum")
    assert Factors.load(tmp_path / "momentum").form == "momentum"
    with pytest.raises(InvalidRequestError, match="momentum and of torque cannot be merged"):
        momentum.merged(torque)


@pytest.mark.parametrize("form", FORMS)
def test_an_experiment_names_its_estimator_and_has_the_same_result(write, form: FormName) -> None:
    text = EXPERIMENT + f'[estimation]\nestimator = "{form}"\nconfidence = 0.9999\n'
    found = identify(write(experiment=text))
    plain = identify(write())
    fit = found.record.form
    assert fit is not None
    assert fit.name == found.record.estimator == form
    assert fit.relative_error < 0.05
    assert (found.rows[0].form, found.torques[0].form) == (form, "torque")
    assert [joint.name for joint in found.record.joints] == [joint.name for joint in plain.record.joints]
    assert found.relative_error == pytest.approx(plain.relative_error, rel=0.5)
    assert found.record.bootstrap is not None
    assert found.physical is not None
    assert found.physical.relative_error == pytest.approx(found.relative_error, rel=0.5)
    true = dict(zip(BASE.names, TRUTH.tolist(), strict=True))
    for row in found.parameters:
        slack = 0.02 * abs(true[row.name]) + 1e-3
        assert row.bootstrap_lower is not None
        assert row.bootstrap_upper is not None
        assert row.bootstrap_lower - slack <= true[row.name] <= row.bootstrap_upper + slack, row


@pytest.mark.parametrize("form", FORMS)
def test_robust_estimates_work_on_rows_of_every_form(form: FormName) -> None:
    columns = log()
    columns["tau_1"][[500, 1500, 2500]] += 300.0
    plain, robust = (
        identify(
            MODEL.robot,
            in_memory(columns),
            MODEL.terms,
            processing=PROCESSING,
            estimation={"estimator": form, "bootstrap": False, **more},
            physical={"fit": False},
        )
        for more in ({}, {"robust": "huber"})
    )
    errors = [np.linalg.norm(found.parameters.values - TRUTH) for found in (plain, robust)]
    assert errors[1] < 0.5 * errors[0]


def test_a_result_knows_its_form_and_takes_no_logs_of_another(write, tmp_path: Path) -> None:
    text = EXPERIMENT + '[estimation]\nestimator = "energy"\nwindow = 0.1\n'
    folder = tmp_path / "result"
    identify(write(experiment=text)).save(folder)
    result = load_result(folder)
    form = result.record.form
    assert form is not None
    assert (result.record.estimator, form.name, form.unit) == ("energy", "energy", "J")
    assert form.window == pytest.approx(0.1)
    assert [factors.form for factors in result.rows] == ["energy"]
    other = write(log(seed=3), text, name="log_2.csv")
    both = identify(other, add_to=folder).record
    assert both.form is not None
    assert both.logs == 2
    assert both.form.rows[0].rows == 2 * form.rows[0].rows
    with pytest.raises(ResultError, match="rows of different forms cannot be mixed"):
        identify(write(log(seed=3), name="log_2.csv"), add_to=folder)


def test_a_window_needs_an_estimator_with_windows(write) -> None:
    with pytest.raises(ExperimentError, match="window is for"):
        read_experiment(write(experiment=EXPERIMENT + "[estimation]\nwindow = 0.1\n"))


def test_friction_that_is_wrong_near_standstill_hardly_shows_in_power() -> None:
    """Why rows of power and energy keep slow joints."""
    model = DynamicModel(MODEL.robot, [Coulomb()])
    chunk = exact(model, 200.0)
    friction = np.abs(dissipation_regressor(model, chunk.q, chunk.v)[:, model.names.index("fs1")])
    slow = np.abs(chunk.v[:, 0]) < 0.05
    assert 0.0 < friction[slow].sum() < 0.01 * friction.sum()


def test_base_parameters_that_are_known_are_taken_off() -> None:
    known = {"fv1": float(np.nan_to_num(MODEL.reference)[MODEL.names.index("fv1")])}
    base = find_base_parameters(MODEL, known=known)
    factors = RowForm("energy", 0.02).factors(MODEL, [exact(MODEL, 1000.0, 20.0)], Processing(), 1000.0)
    estimate = ordinary_least_squares(factors, base)
    assert "fv1" not in estimate.names
    assert estimate.relative_error < 1e-3
