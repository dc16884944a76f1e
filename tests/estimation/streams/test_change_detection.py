"""Changes while data stream in are noticed, named and weighed; nothing is noticed where nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import dynid
from dynid.arrays import Array
from dynid.estimation.streams.residual_memory import ResidualMemory
from dynid.model import DynamicModel
from dynid.robot import inertia

RATE, BEGIN = 100.0, 40.0
THRESHOLDS = dynid.ChangeThresholds(learning=12.0)


@pytest.fixture(scope="module")
def arm() -> DynamicModel:
    return DynamicModel("builtin:spatial_3r", ["viscous", "coulomb", "offset"])


def parameters(model: DynamicModel) -> Array:
    p = np.nan_to_num(model.reference).copy()
    p[len(model.robot.parameters) :] = np.tile([1.5, 2.0, 0.3], model.row_count)
    return p


def with_payload(model: DynamicModel, mass: float) -> Array:
    p, last = parameters(model), inertia.SIZE * len(model.robot.solid_links)
    p[last - inertia.SIZE : last] += inertia.from_mass_com_inertia(mass, np.array([0.1, 0.0, 0.05]), 1e-3 * np.eye(3))
    return p


def with_friction(model: DynamicModel, joint: int, factor: float) -> Array:
    p = parameters(model)
    for k, one in enumerate(model.parameters):
        p[k] *= factor if one.joint == model.robot.axes[joint].name and one.name[:2] in ("fv", "fs") else 1.0
    return p


def recording(model: DynamicModel, parts: Sequence[tuple[float, Array]], seed: int = 0) -> tuple[Array, ...]:
    """Time, states and torques with white and lasting errors; of each part its length [s] and parameters."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * sum(length for length, _ in parts))) / RATE
    n = model.row_count
    omega, phase = 2.0 * np.pi * rng.uniform(0.08, 0.5, (4, n, 1)), rng.uniform(0.0, 6.0, (4, n, 1))
    waves = 0.5 * np.sin(omega * t + phase), 0.5 * omega * np.cos(omega * t + phase)
    q, v, a = waves[0].sum(0).T, waves[1].sum(0).T, -(omega**2 * waves[0]).sum(0).T
    tau, first = np.zeros((len(t), n)), 0
    for length, p in parts:
        at = slice(first, first + int(RATE * length))
        tau[at], first = model.inverse_dynamics(q[at], v[at], a[at], p), at.stop
    size = 0.02 * np.std(tau, axis=0)
    slow = np.cumsum(rng.normal(size=tau.shape), axis=0)
    slow -= np.array([np.convolve(one, np.ones(400) / 400, mode="same") for one in slow.T]).T
    return t, q, v, a, tau + size * rng.normal(size=tau.shape) + size * slow / np.std(slow, axis=0)


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
