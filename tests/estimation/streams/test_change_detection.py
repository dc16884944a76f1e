"""Changes while data stream in are noticed, named and weighed; nothing is noticed where nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.arrays import Array
from dynid.estimation.streams.filtered_states import states_of
from dynid.estimation.streams.residual_memory import ResidualMemory
from dynid.model import DynamicModel
from dynid.robot import inertia, load_robot
from tests.changed_arms import parameters, recording, with_friction, with_payload

BEGIN = 40.0
THRESHOLDS = dynid.ChangeThresholds(learning=12.0)


@pytest.fixture(scope="module")
def arm() -> DynamicModel:
    return DynamicModel("builtin:spatial_3r", ["viscous", "coulomb", "offset"])


def streamed(model: DynamicModel, parts: Sequence[tuple[float, Array]], block: int = 10_000) -> dynid.Stream:
    t, q, v, a, tau = recording(model, parts)
    stream = dynid.Stream(model, changes=THRESHOLDS)
    for k in range(0, len(t), block):
        some = slice(k, k + block)
        stream.update(q[some], v[some], a[some], tau[some], t=t[some])
    assert stream.is_watching
    return stream


def test_nothing_is_noticed_where_nothing_changes(arm: DynamicModel) -> None:
    assert streamed(arm, [(150.0, parameters(arm))]).alarms == ()


def test_a_payload_is_noticed_within_a_second_weighed_and_noticed_again_when_it_is_put_down(arm: DynamicModel) -> None:
    parts = [(BEGIN, parameters(arm)), (25.0, with_payload(arm, 1.0)), (10.0, parameters(arm))]
    up, down = streamed(arm, parts).alarms
    assert up.cause == down.cause == "payload"
    assert up.is_settled
    assert BEGIN < up.seconds < BEGIN + 1.0
    assert BEGIN + 25.0 < down.seconds < BEGIN + 26.0
    assert up.interval[0] < 1.0 < up.interval[1]
    assert up.interval[1] - up.interval[0] < 0.5
    assert down.change == pytest.approx(-1.0, abs=0.2)


def test_payloads_that_come_and_go_are_all_noticed(arm: DynamicModel) -> None:
    """Also where one comes just when what was learned with the one before becomes normal."""
    held, changes = THRESHOLDS.cautious + 2.0, 8
    parts = [(held, with_payload(arm, 1.0) if k % 2 == 0 else parameters(arm)) for k in range(changes)]
    alarms = streamed(arm, [(BEGIN, parameters(arm)), *parts]).alarms
    assert [alarm.cause for alarm in alarms] == ["payload"] * changes
    assert all(0.0 < alarm.seconds - BEGIN - k * held < 1.5 for k, alarm in enumerate(alarms))
    assert np.allclose([alarm.change for alarm in alarms], [1.0, -1.0] * (changes // 2), atol=0.2)


@pytest.mark.parametrize("joint", [0, 1, 2])
def test_friction_that_rises_is_named_with_its_joint(arm: DynamicModel, joint: int) -> None:
    stream = streamed(arm, [(BEGIN, parameters(arm)), (20.0, with_friction(arm, joint, 1.6))])
    alarm = stream.alarms[0]
    assert (alarm.cause, alarm.place) == ("friction", arm.robot.axes[joint].name)
    assert BEGIN < alarm.seconds < BEGIN + 12.0
    assert alarm.change == pytest.approx(0.6, abs=0.25)


def test_alarms_do_not_depend_on_blocks(arm: DynamicModel) -> None:
    parts = [(BEGIN, parameters(arm)), (8.0, with_payload(arm, 1.5))]
    whole, by_one = streamed(arm, parts, block=512), streamed(arm, parts, block=64)
    assert [alarm.seconds for alarm in whole.alarms] == [alarm.seconds for alarm in by_one.alarms]
    assert whole.alarms[0].change == pytest.approx(by_one.alarms[0].change, rel=1e-6)


def test_what_neither_payload_nor_friction_explains_is_unknown_and_named_with_its_joint(arm: DynamicModel) -> None:
    t, q, v, a, tau = recording(arm, [(BEGIN + 10.0, parameters(arm))])
    tau[t > BEGIN, 0] += 40.0 * np.sign(np.sin(2.0 * np.pi * 3.0 * t[t > BEGIN]))
    stream = dynid.Stream(arm, changes=THRESHOLDS)
    stream.update(q, v, a, tau, t=t)
    assert (stream.alarms[0].cause, stream.alarms[0].place) == ("unknown", arm.row_names[0])


def test_a_load_on_a_floating_base_is_noticed_and_placed() -> None:
    """All coordinates of the pose are sums of sines, quaternions of any length among them, with exact derivatives."""
    model = DynamicModel(load_robot("builtin:spatial_3r", floating_base=True), ["viscous", "coulomb"])
    rng, robot, t = np.random.default_rng(1), model.robot, np.arange(4000) / 100.0
    omega, phase = 2.0 * np.pi * rng.uniform(0.1, 0.5, (3, robot.nq, 1)), rng.uniform(0.0, 6.0, (3, robot.nq, 1))
    sine, cosine = 0.3 * np.sin(omega * t + phase), 0.3 * np.cos(omega * t + phase)
    x = sine.sum(0).T
    x[:, 6] += 2.0
    q, v, a = states_of(robot, x, (omega * cosine).sum(0).T, -(omega**2 * sine).sum(0).T)
    p = np.nan_to_num(model.reference).copy()
    p[len(robot.parameters) :] = 1.0
    loaded = p.copy()
    loaded[: inertia.SIZE] += inertia.from_mass_com_inertia(2.0, np.array([0.05, 0.0, 0.1]), 0.01 * np.eye(3))
    tau = np.where((t < 30.0)[:, None], model.inverse_dynamics(q, v, a, p), model.inverse_dynamics(q, v, a, loaded))
    stream = dynid.Stream(model, changes=dynid.ChangeThresholds(learning=10.0))
    stream.update(q, v, a, tau + 0.3 * rng.normal(size=tau.shape), t=t)
    (alarm,) = stream.alarms
    assert (alarm.cause, alarm.place) == ("payload", robot.links[0].name)
    assert 30.0 < alarm.seconds < 31.0
    assert alarm.interval[0] < 2.0 < alarm.interval[1]


def test_the_spread_of_torques_is_that_of_the_parameters_covariance(arm: DynamicModel) -> None:
    _, q, v, a, tau = recording(arm, [(10.0, parameters(arm))])
    stds = np.array([0.5, 1.0, 2.0])
    stream = dynid.Stream(arm, noise=stds.tolist(), changes=None)
    stream.update(q, v, a, tau)
    W = stream.base.regressor(q, v, a) / stds[:, None, None]
    C = np.linalg.inv(np.einsum("jsk,jsl->kl", W, W))
    asked = stream.base.regressor(q[::50], v[::50], 0.0 * a[::50]) / stds[:, None, None]
    wanted = np.sqrt(np.mean(np.einsum("jsk,kl,jsl->js", asked, C, asked), axis=1))
    spread = stream._estimator.spread_of_torques
    assert np.allclose(spread(q[::50], v[::50], np.ones(3)), wanted, rtol=1e-6)
    assert np.allclose(spread(q[::50], v[::50], np.full(3, 4.0)), 2.0 * wanted, rtol=1e-6)
    assert len(spread(q[:0], v[:0], np.ones(3))) == 0


def test_nothing_is_watched_before_parameters_are_good_enough(arm: DynamicModel) -> None:
    """The better they have to be, the later what is normal is learned; alarms come all the same."""
    t, q, v, a, tau = recording(arm, [(60.0, parameters(arm)), (5.0, with_payload(arm, 1.0))])
    begun = []
    for uncertain in (0.5, 0.15):
        stream = dynid.Stream(arm, changes=dynid.ChangeThresholds(learning=12.0, uncertain=uncertain))
        watched = 0.0
        for k in range(0, len(t), 100):
            some = slice(k, k + 100)
            stream.update(q[some], v[some], a[some], tau[some], t=t[some])
            watched = watched or (float(t[k]) if stream.learned else 0.0)
        begun.append(watched)
        assert [alarm.cause for alarm in stream.alarms] == ["payload"]
        assert 60.0 < stream.alarms[0].seconds < 61.0
    assert 12.0 <= begun[0] < begun[1] - 2.0


def test_better_parameters_are_taken_until_something_is_noticed(arm: DynamicModel) -> None:
    t, q, v, a, tau = recording(arm, [(BEGIN, parameters(arm)), (60.0, with_payload(arm, 1.0))])
    stream, followed = dynid.Stream(arm, changes=THRESHOLDS), {}
    for k in range(0, len(t), 50):
        some = slice(k, k + 50)
        stream.update(q[some], v[some], a[some], tau[some], t=t[some])
        detector = stream._watch.detector
        if detector is not None and stream._counted > 2 * THRESHOLDS.learning * 100.0:
            followed[float(t[k])] = np.array_equal(detector.predictors, stream._predictors)
    assert all(is_same for at, is_same in followed.items() if at < BEGIN)
    assert not any(is_same for at, is_same in followed.items() if at > BEGIN + 25.0)
    assert stream._next_look > 8000  # they were looked at again after the payload came


def test_payloads_are_as_likely_for_robots_without_masses_as_for_others() -> None:
    from dynid.estimation.streams.hypotheses import mass_of

    assert mass_of(load_robot("builtin:tx40")) == 6.0
    assert mass_of(load_robot("builtin:ur5")) == pytest.approx(17.7, abs=1.0)


def test_alarms_are_bounded_and_thresholds_are_positive(arm: DynamicModel) -> None:
    from dynid.errors import InvalidRequestError
    from dynid.estimation.streams.change_watch import MOST_ALARMS

    stream = streamed(arm, [(BEGIN, parameters(arm)), (3.0, with_payload(arm, 1.0))])
    (alarm,) = stream.alarms
    stream._watch._kept.extend([alarm] * MOST_ALARMS)
    assert len(stream.alarms) == MOST_ALARMS
    cases: list[dict[str, Any]] = [{"learning": 0.0}, {"windows": ()}, {"factor": float("nan")}]
    for wrong in cases:
        with pytest.raises(InvalidRequestError):
            dynid.ChangeThresholds(**wrong)


def test_residuals_last_for_as_many_samples_as_their_autocorrelation_says() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(size=(60_000, 2))
    lasting = white.copy()
    for k in range(1, len(lasting)):
        lasting[k, 1] = 0.9 * lasting[k - 1, 1] + white[k, 1]
    memory = ResidualMemory(2)
    for k in range(0, len(lasting), 777):
        memory.add(lasting[k : k + 777])
    found = memory.lasting()
    assert found[0] < 1.3
    assert found[1] == pytest.approx((1.0 + 0.9) / (1.0 - 0.9), rel=0.4)
