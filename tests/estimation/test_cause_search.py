"""Causes are mended, fitted again and compared on held-out blocks: beside brute force, and with known mistakes."""

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.bench_samples import BLOCKS, Samples
from dynid.estimation.diagnosis.cause_decision import decide
from dynid.estimation.diagnosis.cause_search import all_causes, is_plausible, refined
from dynid.estimation.diagnosis.causes import Cause, mended
from dynid.estimation.diagnosis.effect_screen import Screen, gain_certainty, small_causes
from dynid.estimation.diagnosis.effects import effect_of, effects
from dynid.findings import Severity
from dynid.model.sampling import random_states

COUNT = 1200
NOISE = 0.01


def samples_of(model: DynamicModel, seed: int = 0, noise: float = NOISE) -> Samples:
    """Random states of a model with friction, and torques with noise relative to their size."""
    rng = np.random.default_rng(seed)
    q, v, a = random_states(model, COUNT, rng)
    p = np.nan_to_num(model.reference)
    for k, parameter in enumerate(model.parameters):
        if parameter.link is None:
            p[k] = rng.uniform(0.2, 1.0)
    torque = model.inverse_dynamics(q, v, a, p)
    torque += noise * torque.std(axis=0) * rng.normal(size=torque.shape)
    block = np.repeat(np.arange(BLOCKS), COUNT // BLOCKS)
    load = np.zeros((*torque.shape, 3))
    return Samples(q, v, a, torque, np.zeros_like(torque), load, np.ones(torque.shape, dtype=bool), block)


def bench_of(model: DynamicModel, samples: Samples) -> Bench:
    """A bench with the least-squares fit to samples."""
    base = find_base_parameters(model)
    W = base.regressor(samples.q, samples.v, samples.a).reshape(-1, len(base))
    values = np.asarray(np.linalg.lstsq(W, samples.torque.T.ravel(), rcond=None)[0], dtype=float)
    return Bench.of(base, base.to_standard(values), samples)


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load_robot("builtin:ur5"), ["viscous", "coulomb"])


def held_out_by_brute_force(bench: Bench, W: Array, y: Array) -> Array:
    """Squared errors in each block of plain least squares on the others."""
    block = np.tile(bench.samples.block, bench.model.row_count)
    found = []
    for k in range(BLOCKS):
        x = np.linalg.lstsq(W[block != k], y[block != k], rcond=None)[0]
        error = y[block == k] - W[block == k] @ x
        found.append(error @ error)
    return np.array(found)


def test_held_out_errors_are_those_of_least_squares_on_the_other_blocks(model: DynamicModel) -> None:
    bench = bench_of(model, samples_of(model))
    rows, _ = bench.rows(bench.samples)
    expected = held_out_by_brute_force(bench, rows, bench.weighed_torque(bench.samples.torque))
    np.testing.assert_allclose(bench.fit.held_out, expected, rtol=1e-6)


def test_held_out_errors_of_rows_are_those_of_least_squares_on_the_other_blocks(model: DynamicModel) -> None:
    bench = bench_of(model, samples_of(model))
    rows, torque = bench.equations
    block, row = np.tile(bench.samples.block, model.row_count), np.repeat(np.arange(model.row_count), COUNT)
    for k in (0, BLOCKS - 1):
        x = np.linalg.lstsq(rows[block != k], torque[block != k], rcond=None)[0]
        squares = (torque - rows @ x) ** 2
        expected = [squares[(block == k) & (row == j)].sum() for j in range(model.row_count)]
        np.testing.assert_allclose(bench.held_out_rows[k], expected, rtol=1e-6)
    np.testing.assert_allclose(bench.held_out_rows.sum(axis=1), bench.fit.held_out, rtol=1e-6)


def test_one_joint_that_fits_far_better_is_certain_beside_joints_that_hardly_change() -> None:
    """And joints that change by chance alone are not, in any of 200 draws."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.normal(size=(BLOCKS, 6)))  # of errors in blocks
    before = sizes * np.exp(0.05 * rng.normal(size=sizes.shape))
    after = before.copy()
    after[:, 3] *= np.exp(rng.normal(-2.0, 0.8, BLOCKS))
    assert gain_certainty(before, after) > 1.0
    for _ in range(200):
        by_chance = before * np.exp(0.3 * rng.normal(size=sizes.shape))
        assert gain_certainty(before, by_chance) < 1.0


def test_effects_are_columns_of_least_squares(model: DynamicModel) -> None:
    """Amounts and held-out errors, compared with plain least squares of all columns at once."""
    samples = samples_of(model)
    joint = model.robot.joint("elbow_joint")
    bench = bench_of(model, samples.moved(joint, -0.02))
    effect = effect_of(bench, Cause("zero", joint.name))
    tried = Screen.of(bench, (effect,)).tried([0], bench)
    rows, _ = bench.rows(bench.samples)
    W = np.column_stack([rows, bench.weighed_torque(effect.columns)])
    y = bench.weighed_torque(bench.samples.torque)
    assert tried.cause.amounts[0] == pytest.approx(np.linalg.lstsq(W, y, rcond=None)[0][-1], rel=1e-4)
    np.testing.assert_allclose(tried.held_out, held_out_by_brute_force(bench, W, y), rtol=1e-5)
    assert tried.cause.amounts[0] == pytest.approx(0.02, rel=0.1)


def test_every_small_cause_has_an_effect_that_mending_takes_back(model: DynamicModel) -> None:
    """The linear effect of a tiny amount is the difference of predictions, whatever the kind."""
    bench = bench_of(model, samples_of(model))
    tiny = 1e-4
    for effect in effects(bench):
        if effect.is_term or effect.cause.kind in ("delay", "torque scale", "gear ratio"):
            continue
        amounts = np.zeros(len(effect.typical))
        amounts[0] = tiny
        cause = replace(effect.cause, amounts=tuple(amounts.tolist()))
        change = bench.torques_of(*mended(cause, bench.samples, model.robot, bench.stds)) - bench.predicted
        np.testing.assert_allclose(change, tiny * effect.columns[..., 0], atol=2e-3 * np.abs(change).max() + 1e-12)


MISTAKES = [
    Cause("zero", "shoulder_lift_joint", (0.1,)),
    Cause("gear ratio", "elbow_joint", (0.2,)),
    Cause("position scale", "elbow_joint", (-0.15,)),
    Cause("torque scale", "shoulder_lift_joint", (0.3,)),
    Cause("place", "elbow_joint", (0.06, 0.0, 0.0)),
    Cause("tilt", "wrist_1_joint", (0.1, 0.0)),
    Cause("gravity", "", (0.08, -0.05)),
    Cause("time scale", "", (0.25,)),
]


def undone(cause: Cause, samples: Samples, bench: Bench) -> tuple[Samples, DynamicModel]:
    """Samples, or a model, with a mistake that a cause mends."""
    scaled = "scale" in cause.kind or cause.kind == "gear ratio"
    back = tuple(1.0 / (1.0 + x) - 1.0 if scaled else -x for x in cause.amounts)
    samples, robot = mended(replace(cause, amounts=back), samples, bench.model.robot, bench.stds)
    return replace(samples, noise=1.0), replace(bench.model, robot=robot)


@pytest.mark.parametrize("cause", MISTAKES, ids=lambda cause: cause.kind)
def test_a_mistake_is_found_with_its_amount(model: DynamicModel, cause: Cause) -> None:
    good = samples_of(model)
    samples, wrong = undone(cause, good, bench_of(model, good))
    tried, _ = all_causes(bench_of(wrong, samples))
    assert tried[0].cause.key == cause.key
    np.testing.assert_allclose(tried[0].cause.amounts, cause.amounts, atol=0.05 * cause.size)


NEVER_SMALL = [
    Cause("torque sign", "elbow_joint"),
    Cause("position sign", "shoulder_lift_joint"),
    Cause("joint flipped", "wrist_1_joint"),
    Cause("torques swapped", "shoulder_pan_joint", (), "elbow_joint"),
    Cause("positions swapped", "shoulder_lift_joint", (), "elbow_joint"),
    Cause("joints swapped", "elbow_joint", (), "wrist_1_joint"),
]


@pytest.mark.parametrize("cause", NEVER_SMALL, ids=lambda cause: cause.kind)
def test_a_mistake_that_is_never_small_is_found(model: DynamicModel, cause: Cause) -> None:
    good = samples_of(model)
    samples, _ = mended(cause, good, model.robot, np.ones(model.row_count))
    bench = bench_of(model, replace(samples, noise=1.0))
    decision = decide(bench, np.full(len(bench.base), 1e-3))
    assert decision.named[0].tried.cause.key == cause.key
    assert decision.named[0].severity is Severity.ERROR


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (9.81, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_another_direction_of_gravity_is_found(model: DynamicModel, gravity: tuple[float, ...]) -> None:
    """Torques of a robot under another gravity than the file's."""
    other = replace(model, robot=replace(model.robot, gravity=np.array(gravity)))
    bench = bench_of(model, samples_of(other))
    (named, *_) = decide(bench, np.full(len(bench.base), 1e-3)).named
    assert named.tried.cause.kind == "gravity axis"
    assert named.tried.cause.amounts == pytest.approx(gravity)


@pytest.mark.parametrize("seed", range(5))
def test_no_cause_is_named_where_nothing_is_wrong(model: DynamicModel, seed: int) -> None:
    bench = bench_of(model, samples_of(model, seed))
    decision = decide(bench, np.full(len(bench.base), 1e-3))
    assert decision.named == ()
    assert decision.systematic is None


def test_amounts_beyond_what_a_mistake_can_be_are_no_causes(model: DynamicModel) -> None:
    assert not is_plausible(Cause("place", "elbow_joint", (1.4, 0.0, 0.0)), model)
    assert not is_plausible(Cause("gear ratio", "elbow_joint", (20.0,)), model)
    assert not is_plausible(Cause("torque scale", "elbow_joint", (-1.2,)), model)
    assert is_plausible(Cause("place", "elbow_joint", (0.1, 0.0, 0.0)), model)


def test_a_missing_term_is_named_with_its_joints() -> None:
    whole = DynamicModel(load_robot("builtin:ur5"), ["viscous", "coulomb"])
    bare = DynamicModel(whole.robot)
    tried, _ = small_causes(bench_of(bare, samples_of(whole)))
    assert tried[0].cause.kind == "friction"
    assert all(f"'{joint.name}'" in tried[0].cause.other for joint in whole.robot.joints)


def test_refining_gives_up_where_the_best_amount_is_implausible(model: DynamicModel) -> None:
    good = samples_of(model)
    bench = bench_of(model, good)
    start = Screen.of(bench, (effect_of(bench, Cause("zero", "elbow_joint")),)).tried([0], bench)
    assert refined(bench, replace(start, cause=Cause("zero", "elbow_joint", (80.0,)))) is None
