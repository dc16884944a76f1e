"""A stream gives what weighted least squares gives on all of its samples at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

import dynid
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.model import DynamicModel, Observed, find_base_parameters, random_states
from dynid.robot import Robot
from tests.strategies import ARMS, FLOATING

TERMS = ["viscous", "coulomb", "armature", "offset"]


def samples_of(model: DynamicModel, count: int, noise: float = 0.1) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(1)
    q, v, a = random_states(model, count, rng)
    p = rng.uniform(0.5, 1.5, len(model.names))
    return q, v, a, model.inverse_dynamics(q, v, a, p) + noise * rng.normal(size=(count, model.row_count))


def batch(stream: dynid.Stream, q: Array, v: Array, a: Array, tau: Array, weights: Array, stds: Array) -> Array:
    """Weighted least squares of stacked rows, with nothing of the stream's own: values of the base parameters."""
    W = stream.base.regressor(q, v, a) * np.sqrt(weights)[:, None] / stds[:, None, None]
    y = tau.T * np.sqrt(weights) / stds[:, None]
    return np.asarray(np.linalg.lstsq(W.reshape(-1, W.shape[2]), y.ravel(), rcond=None)[0], dtype=np.float64)


@settings(max_examples=15, deadline=None)
@given(robot=ARMS | FLOATING, forgetting=st.sampled_from([None, 0.05]), block=st.sampled_from([1, 7, 60, 200]))
def test_any_blocks_of_any_robot_give_the_batch_estimate(robot: Robot, forgetting: float | None, block: int) -> None:
    model = DynamicModel(robot, TERMS if robot.axes else ())
    count = 200
    q, v, a, tau = samples_of(model, count)
    stds = np.linspace(0.5, 2.0, model.row_count)
    stream = dynid.Stream(model, forgetting=forgetting, rate=1000.0, noise=stds.tolist())
    for k in range(0, count, block):
        some = slice(k, k + block)
        stream.update(q[some], v[some], a[some], tau[some])
    ages = np.arange(count)[::-1] / 1000.0
    weights = np.ones(count) if forgetting is None else np.exp(-ages / forgetting)
    wanted = batch(stream, q, v, a, tau, weights, stds)
    estimate = stream.estimate
    assert estimate.is_determined
    assert np.abs(estimate.values - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


def models() -> dict[str, DynamicModel]:
    """Arms with plain and coupled drives, a leg of a biped with its base free, and a body on a force plate."""
    arms = {name: DynamicModel(f"builtin:{name}", TERMS) for name in ("panda", "spatial_3r")}
    arms["tx40"] = DynamicModel("builtin:tx40", [*TERMS, "coupling:joint_5:joint_6"])
    floating = DynamicModel(dynid.load_robot("builtin:spatial_3r", floating_base=True), TERMS)
    person = dynid.human(sex="female", height=1.7, mass=62.0, markers=[])
    return {**arms, "floating": floating, "person": DynamicModel(person, observed="wrench_moving")}


@pytest.mark.parametrize("name", ["panda", "spatial_3r", "tx40", "floating", "person"])
@pytest.mark.parametrize("forgetting", [None, 0.2])
def test_starts_without_full_rank_are_those_of_the_batch_and_leave_nothing_behind(
    name: str, forgetting: float | None
) -> None:
    """First one joint moves alone, then all: fitted torques, which are unique, agree at both times, and values then."""
    model = models()[name]
    count = 40 + 2 * len(find_base_parameters(model)) // min(model.row_count, 3)
    q, v, a, tau = samples_of(model, count)
    v[:20], a[:20], q[:20] = 0.0, 0.0, model.robot.neutral
    last = model.robot.axes[-1]
    q[:20, last.q] = np.linspace(-0.3, 0.9, 20)[:, None]
    v[:20, last.v] = np.linspace(-1.0, 1.0, 20)[:, None]
    stds = np.linspace(0.5, 2.0, model.row_count)
    stream = dynid.Stream(model, forgetting=forgetting, rate=100.0, noise=stds.tolist(), changes=None)
    for some in (slice(0, 20), slice(20, count)):
        for k in range(some.start, some.stop):
            stream.update(q[k], v[k], a[k], tau[k])
        ages = np.arange(some.stop)[::-1] / 100.0
        weights = np.ones(some.stop) if forgetting is None else np.exp(-ages / forgetting)
        seen = slice(0, some.stop)
        wanted = batch(stream, q[seen], v[seen], a[seen], tau[seen], weights, stds)
        estimate, W = stream.estimate, stream.base.regressor(q[:20], v[:20], a[:20])
        assert np.abs(W @ (estimate.values - wanted)).max() < 1e-8 * max(1.0, np.abs(W @ wanted).max())
        assert estimate.is_determined == (some.start > 0)
        assert (estimate.undetermined == ()) == (some.start > 0)
    assert np.abs(estimate.values - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


def test_a_direction_that_all_parameters_share_a_little_is_not_determined() -> None:
    model = models()["person"]
    stream = dynid.Stream(model, noise=1.0)
    for count in range(19, 40):
        q, v, a, tau = samples_of(model, count)
        stream.reset()
        stream.update(q, v, a, tau)
        estimate = stream.estimate
        rank = np.linalg.matrix_rank(stream.base.regressor(q, v, a).reshape(-1, len(stream.base)), rtol=1e-12)
        assert estimate.rank == rank
        assert estimate.is_determined == (estimate.undetermined == ()) == np.isfinite(estimate.condition_number)
        if estimate.is_determined:
            return
    pytest.fail("never determined")


def test_what_a_stream_says_does_not_depend_on_blocks_nor_on_being_asked(arm: DynamicModel) -> None:
    """The residuals last, so that standard deviations rest on them: they are of the same parameters each time."""
    t, q = motion(3000, 200.0)
    rng = np.random.default_rng(3)
    tau = np.cumsum(rng.normal(size=q.shape), axis=0) * 0.05 + rng.normal(size=q.shape)
    found = []
    for block, asks in ((1, True), (97, False), (3000, False)):
        stream = dynid.Stream(arm)
        for k in range(0, len(t), block):
            some = slice(k, k + block)
            stream.update(t[some], q[some], tau[some])
            if asks and k % 100 == 0:
                _ = stream.estimate
        found.append(stream.estimate)
    assert (found[0].std > 2.0 * found[0].white_std).all()
    for other in found[1:]:
        assert np.allclose(other.std, found[0].std, rtol=1e-6)
        assert np.allclose(other.values, found[0].values, rtol=1e-9)


def test_nothing_drifts_over_ten_million_samples() -> None:
    """A thousand samples, ten thousand times: the triangle is that of the thousand times a hundred, to rounding."""
    from dynid.estimation.factors.triangle_update import include_rows
    from dynid.model.kernels.optional_compilation import njit

    if not hasattr(include_rows, "py_func"):
        pytest.skip("loops are not compiled here")
    rows = np.random.default_rng(0).normal(size=(1000, 5))

    @njit
    def repeated(triangle, at, sizes, starts, rows, times):
        for _ in range(times):
            for k in range(len(rows)):
                include_rows(triangle, at, sizes, starts, rows[k].copy(), 1.0)

    triangle = np.zeros(25)
    repeated(triangle, np.array([0]), np.array([5]), np.array([0]), rows, 10_000)
    found, R = triangle.reshape(5, 5), np.linalg.qr(rows, mode="r")
    wanted = 100.0 * np.where(np.diag(R) < 0.0, -1.0, 1.0)[:, None] * R
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


@pytest.fixture(scope="module")
def arm() -> DynamicModel:
    return DynamicModel("builtin:two_link", TERMS)


def test_the_estimate_is_that_of_identification_with_its_standard_deviations(arm: DynamicModel) -> None:
    from dynid.estimation.factors.accumulation import factorise
    from dynid.estimation.least_squares import weighted_least_squares
    from dynid.model import Chunk

    q, v, a, tau = samples_of(arm, 500)
    stream = dynid.Stream(arm)
    for k in range(500):
        stream.update(q[k], v[k], a[k], tau[k])
    expected = weighted_least_squares(factorise(arm, [Chunk(q, v, a, tau)]), stream.base)
    found = stream.estimate
    assert np.allclose(found.values, expected.values, rtol=0, atol=1e-10)
    assert np.allclose(found.white_std, expected.stds, rtol=1e-9)
    assert found.condition_number == pytest.approx(expected.condition_number)
    assert found.relative_error == pytest.approx(expected.relative_error)
    assert weighted_least_squares(stream.factors, stream.base).values == pytest.approx(expected.values, abs=1e-10)


def test_what_is_not_determined_yet_is_named_with_infinite_standard_deviation(arm: DynamicModel) -> None:
    stream = dynid.Stream(arm, noise=0.1)
    q = np.linspace(-1.0, 1.0, 50)[:, None] * [1.0, 0.0]
    stream.update(q, 0 * q, 0 * q, arm.inverse_dynamics(q))
    estimate = stream.estimate
    assert 0 < estimate.rank < len(estimate.names)
    assert {"fv1", "Ia2"} <= set(estimate.undetermined)
    assert all(np.isinf(estimate.std[estimate.names.index(name)]) for name in estimate.undetermined)
    assert np.isinf(estimate.condition_number)


def test_links_turn_from_unknown_to_determined(arm: DynamicModel) -> None:
    q, v, a, tau = samples_of(arm, 400)
    stream = dynid.Stream(arm, noise=0.1)
    seen = [stream.estimate.link_information]
    for k in range(0, 400, 40):
        stream.update(q[k : k + 40], v[k : k + 40], a[k : k + 40], tau[k : k + 40])
        seen.append(stream.estimate.link_information)
    assert set(seen[0].values()) == {0.0}
    assert all(later[name] >= sooner[name] for sooner, later in pairwise(seen) for name in sooner)
    assert min(seen[-1].values()) > 0.9


@pytest.mark.parametrize(
    "spoilt", ["q", "tau", "shape", "time", "word", "no time", "endless time", "large", "contacts"]
)
def test_a_bad_sample_is_refused_and_changes_nothing(arm: DynamicModel, spoilt: str) -> None:
    q, v, a, tau = samples_of(arm, 100)
    stream = dynid.Stream(arm)
    stream.update(q, v, a, tau, t=0.01 * np.arange(100))
    before = stream.estimate.values
    bad = {"q": q[0] * np.nan, "v": v[0], "a": a[0], "tau": tau[0]}
    if spoilt == "tau":
        bad |= {"q": q[0], "tau": np.array([1.0, np.inf])}
    if spoilt == "shape":
        bad |= {"q": q[0], "tau": np.ones(3)}
    if spoilt == "time":
        bad |= {"q": q[0]}
    if spoilt in ("word", "no time", "endless time", "contacts"):
        bad |= {"q": q[0]}
    if spoilt == "large":  # squares overflow, and no later sample would mend that
        bad |= {"q": q[0], "v": v[0] + 1e200}
    t = {"time": 0.5, "word": "soon", "no time": None, "endless time": np.inf}.get(spoilt, 2.0)
    with pytest.raises(ShapeError if spoilt == "shape" else InvalidRequestError):
        stream.update(*bad.values(), t=t, contacts=[q] if spoilt == "contacts" else None)  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    assert np.array_equal(stream.estimate.values, before)


def test_rows_that_a_result_left_out_do_not_count() -> None:
    """The last drive has no signal: zeros, or NaN, of its torque are no measurements."""
    terms = ["viscous", "coulomb"]
    t, q = motion(3000, 300.0)
    q = np.concatenate([q, 0.7 * np.sin(4.3 * t + 1.0)[:, None]], axis=1)
    v, a = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    model = DynamicModel("builtin:spatial_3r", terms)
    tau = model.inverse_dynamics(q, v, a, np.nan_to_num(model.reference, nan=0.5))
    tau += 0.01 * np.random.default_rng(0).normal(size=q.shape)
    tau[:, 2] = 0.0
    log = dynid.Log(time=t, position=q, velocity=v, torque=tau)
    result = dynid.identify(model.robot, [log], terms=terms, drive={"unmeasured": ["joint_3"]})
    zeros, blanks = dynid.Stream(result), dynid.Stream(result)
    assert zeros.unmeasured == ("joint_3",)
    counts = {name: joint.rows for name, joint in zeros.factors.joints.items()}
    found = zeros.update(q, v, a, tau)
    for k in range(0, len(q), 700):
        some = slice(k, k + 700)
        blanks.update(q[some], v[some], a[some], tau[some] + [0.0, 0.0, np.nan])
    assert np.isnan(found.residual[:, 2]).all()
    assert np.sqrt(np.mean(found.residual[:, :2] ** 2, axis=0)) == pytest.approx(0.01, rel=0.2)
    assert zeros.estimate.is_determined
    assert zeros.estimate.joint_std["joint_1"] == pytest.approx(0.01, rel=0.2)
    assert np.allclose(blanks.estimate.values, zeros.estimate.values, rtol=0.0, atol=1e-10)
    for name, joint in zeros.factors.joints.items():
        assert joint.rows == counts[name] + (0 if name == "joint_3" else len(q))


def test_streams_of_halves_merge_to_the_whole_through_a_file(arm: DynamicModel, tmp_path: Path) -> None:
    from dynid.estimation import Factors

    q, v, a, tau = samples_of(arm, 300)
    whole, first, second = (dynid.Stream(arm, noise=0.1) for _ in range(3))
    whole.update(q, v, a, tau)
    first.update(q[:150], v[:150], a[:150], tau[:150])
    second.update(q[150:], v[150:], a[150:], tau[150:])
    path = tmp_path / "first.npz"
    first.save(str(path))
    second.merge(Factors.load(str(path)))
    assert np.allclose(second.estimate.values, whole.estimate.values, atol=1e-10)


def test_contact_wrenches_of_a_floating_robot_give_its_rows() -> None:
    robot = dynid.human(sex="female", height=1.75, mass=70.0)
    model = DynamicModel(robot, observed="wrench_moving")
    q, v, a = random_states(model, 40, np.random.default_rng(0))
    tau = model.inverse_dynamics(q, v, a)
    by_rows, by_wrenches = dynid.Stream(model, noise=1.0), dynid.Stream(model, noise=1.0)
    root = robot.links[0].bodies[0].name
    by_rows.update(q, v, a, tau)
    by_wrenches.update(q, v, a, None, contacts={root: tau})
    assert np.allclose(by_rows.estimate.values, by_wrenches.estimate.values, atol=1e-9)


def motion(count: int, rate: float) -> tuple[Array, Array]:
    t = np.arange(count) / rate
    q = np.stack([np.sin(2.1 * t) + 0.4 * np.sin(5.3 * t), 0.8 * np.cos(3.2 * t) + 0.3 * np.sin(6.1 * t)], axis=1)
    return t, q


def low_passed(t: Array, x: Array, cutoff: float, derivative: int = 0) -> Array:
    """SciPy's analogue low-pass of straight lines between samples, from rest at the first value."""
    omega = 2.0 * np.pi * cutoff
    system = [omega**4] + [0.0] * derivative, np.poly(signal.buttap(4)[1] * omega).real
    filtered = [signal.lsim(system, one - one[0], t)[1] for one in x.T]
    return np.stack(filtered, axis=1) + (x[0] if derivative == 0 else 0.0)


@pytest.mark.parametrize("block", [1, 90, 1000])
def test_positions_give_the_batch_estimate_of_rows_that_scipy_filters_alike(arm: DynamicModel, block: int) -> None:
    t, q = motion(1000, 200.0)
    tau = np.random.default_rng(0).normal(size=q.shape)
    stream = dynid.Stream(arm, noise=1.0, causal_filter=dynid.CausalFilter(cutoff=15.0, rows=6.0))
    residuals = []
    for k in range(0, len(t), block):
        some = slice(k, k + block)
        residuals.append(stream.update(t[some], q[some], tau[some]).residual)
    counted = np.asarray(np.isfinite(np.concatenate(residuals)).all(axis=1))
    first = int(np.flatnonzero(counted)[0])
    assert counted[first:].all()

    states = [low_passed(t, q, 15.0, derivative) for derivative in range(3)]
    slow = 12.0 / (2.0 * np.pi * 15.0 * np.cos(3.0 * np.pi / 8.0))
    begin = int(np.flatnonzero(counted)[0]) - 1
    settled = next(k for k in range(begin + 1) if t[k] >= -np.log(1e-5) / 12.0 * slow)
    W = stream.base.regressor(*(x[settled:] for x in states))
    y = low_passed(t, tau, 15.0)[settled:].T
    rows = np.concatenate([W, y[:, :, None]], axis=2)
    filtered = np.stack([low_passed(t[settled:] - t[settled], one, 6.0) for one in rows])[:, first - settled :]
    A, b = filtered[:, :, :-1].reshape(-1, len(stream.base)), filtered[:, :, -1].ravel()
    wanted = np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.allclose(stream.estimate.values, wanted, rtol=0.0, atol=1e-8 * np.abs(wanted).max())


def test_positions_and_torques_of_a_true_motion_give_the_true_parameters(arm: DynamicModel) -> None:
    t, q = motion(4000, 400.0)
    v, a = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    p = np.random.default_rng(2).uniform(0.5, 1.5, len(arm.names))
    tau = arm.inverse_dynamics(q, v, a, p)
    stream = dynid.Stream(arm)
    stream.update(t, q, tau)
    assert stream.estimate.values == pytest.approx(stream.base.to_base(p), abs=0.02)
    assert stream.estimate.relative_error < 0.01


def test_equations_that_no_sample_alone_has_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="LoadFriction"):
        dynid.Stream("builtin:two_link", ["load_friction"])
    robot = dynid.load_robot("builtin:spatial_3r", floating_base=True)
    torques = Observed(("torques",), stands_on=(robot.links[-1].bodies[0].name,))
    with pytest.raises(InvalidRequestError, match="combine"):
        dynid.Stream(DynamicModel(robot, observed=torques))


@pytest.mark.parametrize(
    "wrong",
    [
        {"forgetting": 0.0},
        {"forgetting": "long"},
        {"rate": float("nan")},
        {"noise": "x"},
        {"noise": -1.0},
        {"noise": {"joint_1": 1.0}},
        {"changes": True},
        {"causal_filter": 20.0},
        {"prior": {"m1": 1.0}},
    ],
)
def test_settings_that_make_no_sense_are_refused(arm: DynamicModel, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        dynid.Stream(arm, **wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_update_forms_are_not_mixed_and_positions_need_time(arm: DynamicModel) -> None:
    t, q = motion(100, 200.0)
    stream = dynid.Stream(arm)
    stream.update(t, q, q)
    with pytest.raises(InvalidRequestError, match="other form"):
        stream.update(q, q, q, q, t=t + 1.0)
    with pytest.raises(InvalidRequestError, match="backwards"):
        stream.update(t, q, q)
    with pytest.raises(InvalidRequestError, match="signals"):
        stream.update(q, q)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
