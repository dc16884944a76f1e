"""The momentum observer, clocks of controllers, thresholds of rare peaks, contacts and loads in motion."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pinocchio as pin
import pytest
from scipy.signal import lfilter

from dynid import DynamicModel, Robot, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.contacts.contact_events import find_contacts
from dynid.estimation.contacts.contact_limits import ContactLimits, QuietLog, find_thresholds
from dynid.estimation.contacts.load_in_motion import load_in_motion
from dynid.estimation.contacts.logged_signals import LoggedSignals
from dynid.estimation.contacts.momentum_observer import (
    ObserverSignals,
    external_torques,
    observed,
    observer_functions,
)
from dynid.estimation.contacts.speed_levels import SpeedLevel, fitted_level
from dynid.logs import Drive, Log
from dynid.logs.controller_clock import controller_clock
from dynid.model.code.build_folder import built_library, compiler
from dynid.model.code.c_text import Scalar
from dynid.model.code.code_request import CodeRequest
from dynid.model.code.functions import CodeModel
from dynid.model.code.template_values import library_files, shared_values
from dynid.robot import Load, with_load
from dynid.robot.pinocchio import to_pinocchio
from tests.compiled_c import NO_COMPILER

TREE = """<robot name="tree">
  <link name="base"/>
  {links}
  <joint name="lift" type="prismatic"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.3" rpy="0.2 0.1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="turn" type="revolute"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/>
    <origin xyz="0.2 0 0.1"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <joint name="left" type="revolute"><parent link="l2"/><child link="l3"/><axis xyz="1 0 0"/>
    <origin xyz="0 0.2 0.3" rpy="0 0.4 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <joint name="right" type="revolute"><parent link="l2"/><child link="l4"/><axis xyz="0 0 1"/>
    <origin xyz="0 -0.2 0.3"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
    <mimic joint="left" multiplier="-0.7"/></joint>
</robot>"""
"""A prismatic joint, a branch and a mimic joint, on a base that gravity is not along."""

LINK = """<link name="l{k}"><inertial><origin xyz="0.05 {y} 0.1"/><mass value="{m}"/>
  <inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.001" ixz="0" iyz="-0.002"/></inertial></link>"""


@cache
def tree() -> DynamicModel:
    links = "\n".join(LINK.format(k=k, m=k, y=0.02 * k) for k in (1, 2, 3, 4))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tree.urdf"
        path.write_text(TREE.format(links=links))
        robot: Robot = load_robot(path)
    return DynamicModel(robot, ["viscous", "coulomb", "offset", "armature"])


def parameters(model: DynamicModel) -> Array:
    """The file's links, with friction."""
    rng = np.random.default_rng(3)
    return np.where(np.isnan(model.reference), rng.uniform(0.1, 0.5, len(model.names)), model.reference)


def motion(joints: int, seconds: float, rate: float, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Time, positions, velocities and accelerations of sums of sines."""
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    w = 2.0 * np.pi * rng.uniform(0.1, 0.6, (joints, 3))
    size, phase = rng.uniform(0.1, 0.4, (2, joints, 3))
    angle = t[:, None, None] * w + 6.0 * phase
    q, v = (size * np.sin(angle)).sum(2), (size * w * np.cos(angle)).sum(2)
    return t, q, v, -(size * w**2 * np.sin(angle)).sum(2)


def signals(t: Array, q: Array, v: Array, tau: Array) -> ObserverSignals:
    begins = np.zeros(len(t), dtype=bool)
    begins[0] = True
    return ObserverSignals(t, q, v, tau, begins)


@pytest.mark.skipif(compiler() is None, reason=NO_COMPILER)
def test_the_observer_is_that_of_the_generated_c() -> None:
    model = tree()
    p = parameters(model)
    t, q, v, a = motion(model.robot.nv, 2.0, 500.0)
    tau = model.inverse_dynamics(q, v, a, p) + np.random.default_rng(1).normal(size=q.shape)
    found = external_torques(observer_functions(model, p), signals(t, q, v, tau), 40.0)
    request = CodeRequest(CodeModel(model, p), "tree", Scalar.DOUBLE, ("momentum", "friction"))
    path = built_library(library_files(shared_values(request)[0]), ("tree.c", "tree_samples.c"))
    assert path is not None
    call = ctypes.CDLL(str(path)).tree_observer_samples
    pointer = ctypes.c_void_p
    call.argtypes = [ctypes.c_size_t, pointer, pointer, ctypes.c_double, pointer, pointer, pointer, pointer]
    state, gain, wanted = np.zeros(64), np.full(model.robot.nv, 40.0), np.empty_like(q)
    arrays = [np.ascontiguousarray(x) for x in (q, v, tau)]
    call(len(t), state.ctypes.data, gain.ctypes.data, 0.002, *(x.ctypes.data for x in arrays), wanted.ctypes.data)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())


def test_the_loop_is_the_recursion_written_out_with_uneven_steps_and_gaps() -> None:
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.5e-3, 3e-3, 400))
    momentum, rate = rng.normal(size=(2, 400, 2))
    begins = np.zeros(400, dtype=bool)
    begins[[0, 150]] = True
    found = observed(momentum, rate, ObserverSignals(t, momentum, momentum, momentum, begins), 60.0)
    for c in range(2):
        residual, total = 0.0, 0.0
        for s in range(400):
            if begins[s]:
                residual, total = 0.0, momentum[s, c]
            else:  # r = K (p - integral of (rate + r)), by trapezoids, solved for the new r
                h = t[s] - t[s - 1]
                before = total + h * (rate[s - 1, c] + rate[s, c] + residual) / 2.0
                residual = (momentum[s, c] - before) * 60.0 / (1.0 + 60.0 * h / 2.0)
                total = before + h * residual / 2.0
            assert found[s, c] == pytest.approx(residual, abs=1e-12)


def test_the_residual_is_the_external_torque_behind_a_first_order_lag() -> None:
    model, gain = tree(), 50.0
    p = parameters(model)
    t, q, v, a = motion(model.robot.nv, 3.0, 1000.0)
    external = 3.0 * np.sin(7.0 * t)[:, None] * np.arange(1.0, model.robot.nv + 1.0) + (t[:, None] > 1.0)
    tau = model.inverse_dynamics(q, v, a, p) - external
    found = external_torques(observer_functions(model, p), signals(t, q, v, tau), gain)
    decay = np.exp(-gain / 1000.0)
    lagged = np.asarray(lfilter([1.0 - decay], [1.0, -decay], external, axis=0))
    after = t > 0.3  # it begins without a residual
    assert np.abs(found - lagged)[after].max() < 0.1  # a step between samples is one sample early or late: K dt = 5 %


def test_a_gain_beyond_the_sampling_rate_is_refused() -> None:
    t, q, v, _ = motion(1, 1.0, 100.0)
    with pytest.raises(InvalidRequestError, match="beyond the sampling rate"):
        observed(v, v, signals(t, q, v, v), 150.0)


def test_the_clock_of_a_polled_controller_is_restored() -> None:
    rng = np.random.default_rng(5)
    _, q, v, _ = motion(6, 8.0, 1000.0)
    polled = np.cumsum(rng.uniform(0.7e-3, 1.35e-3, 7000))
    polled = polled[polled < 7.9]
    tick = np.floor(polled * 1000.0).astype(int)  # the last state that the controller had
    noisy = v[tick] + 1e-3 * np.random.default_rng(1).normal(size=v.shape)[tick]
    found = controller_clock(polled, q[tick], noisy)
    assert found is not None
    assert found.repeated == (np.diff(tick) == 0).sum()
    assert found.missed == np.maximum(np.diff(tick) - 1, 0).sum()
    kept = tick[found.keep]
    np.testing.assert_allclose(found.time - found.time[0], (kept - kept[0]) * 1e-3, atol=2e-3)
    assert found.period == pytest.approx(1e-3, rel=1e-3)


def test_the_clock_is_restored_of_positions_alone() -> None:
    rng = np.random.default_rng(6)
    _, q, _, _ = motion(6, 8.0, 1000.0)
    polled = np.cumsum(rng.uniform(0.7e-3, 1.35e-3, 7000))
    polled = polled[polled < 7.9]
    tick = np.floor(polled * 1000.0).astype(int)
    found = controller_clock(polled, q[tick] + 2e-6 * rng.normal(size=q.shape)[tick], None)
    assert found is not None
    assert found.repeated == (np.diff(tick) == 0).sum()
    assert found.missed == np.maximum(np.diff(tick) - 1, 0).sum()
    assert found.period == pytest.approx(1e-3, rel=1e-3)


def test_even_stamps_and_jitter_of_the_measurement_itself_are_kept() -> None:
    t, q, v, _ = motion(6, 5.0, 500.0)
    assert controller_clock(t, q, v) is None
    late = np.sort(t + np.random.default_rng(0).uniform(0.0, 1.5e-3, len(t)))
    _, q, v, _ = motion(6, 5.0, 500.0)
    at = np.stack([np.interp(late, t, x) for x in q.T], axis=1)
    assert controller_clock(late, at, v) is None
    assert controller_clock(late, at, None) is None


def test_levels_follow_the_speed_only_where_residuals_do() -> None:
    rng = np.random.default_rng(2)
    v = rng.uniform(-2.0, 2.0, 20_000)
    noise = rng.laplace(size=len(v))
    truth = SpeedLevel(1.0, 2.0, 0.4, 0.5)
    found = fitted_level(noise * truth.at(v), v)
    speeds = np.linspace(0.0, 2.0, 30)
    np.testing.assert_allclose(found.at(speeds), truth.at(speeds), rtol=0.15)
    assert not fitted_level(noise, v).varies


def lasting_noise(seconds: float, rate: float, seed: int, heavy: float) -> Array:
    """Errors of two joints that last 20 ms, with tails of Gaussian noise or heavier ones, shape (samples, 2)."""
    rng, fade = np.random.default_rng(seed), np.exp(-1.0 / (rate * 0.02))
    white = rng.normal(size=(round(seconds * rate), 2)) * np.sqrt(1.0 - fade**2)
    found = np.asarray(lfilter([1.0], [1.0, -fade], white, axis=0))
    return found * (1.0 + heavy * np.abs(found)) * [1.0, 3.0]


def quiet(seconds: float, seed: int, heavy: float = 0.2) -> QuietLog:
    residuals = lasting_noise(seconds, 200.0, seed, heavy)
    t = np.arange(len(residuals)) / 200.0
    v = np.random.default_rng(seed + 1).normal(size=residuals.shape)
    return QuietLog(signals(t, v, v, v), residuals, np.ones(len(t), dtype=bool))


def limits(log: QuietLog, per_minute: float) -> ContactLimits:
    return find_thresholds([log], ("a", "b"), per_minute, gain=50.0, cutoff=None, physical=False)


@pytest.mark.parametrize("heavy", [0.0, 0.2])
@pytest.mark.parametrize("per_minute", [10.0, 1.0])
def test_alarms_come_at_the_stated_rate_on_other_data(per_minute: float, heavy: float) -> None:
    long = quiet(3000.0, 99, heavy)
    rates = []
    for seed in range(6):
        found = limits(quiet(120.0, seed, heavy), per_minute)
        contacts = find_contacts(long.signals.time, long.residuals, found.at(long.signals.v), ("a", "b"))
        rates.append(len(contacts) / 50.0)
        assert found.interval[0] < per_minute < found.interval[1]
    assert 0.5 * per_minute < np.mean(rates) < 1.5 * per_minute
    assert max(rates) < 2.0 * per_minute


def test_rates_that_the_data_do_not_support_are_refused_with_one_that_they_do() -> None:
    with pytest.raises(InvalidRequestError, match=r"ask for 0\.0016 per minute or more"):
        limits(quiet(40.0, 0), 1e-5)
    assert limits(quiet(40.0, 0), 0.0016).extrapolation < 2000.0
    with pytest.raises(InvalidRequestError, match="fewer than 8 separate peaks"):
        limits(quiet(2.0, 0), 20.0)
    with pytest.raises(InvalidRequestError, match="positive rate"):
        limits(quiet(40.0, 0), 0.0)


def test_contacts_have_a_beginning_an_end_and_the_joint_that_feels_them_most() -> None:
    t = np.arange(0.0, 3.0, 0.01)
    residuals = np.zeros((300, 2))
    residuals[100:120, 1] = -2.5
    residuals[125:130, 0] = 1.2  # within the quiet time: the same contact
    residuals[250:252, 0] = 1.5
    found = find_contacts(t, residuals, np.ones((300, 2)), ("a", "b"), quiet=0.25)
    assert [(c.joint, c.joints) for c in found] == [("b", ("a", "b")), ("a", ("a",))]
    assert (found[0].start, found[0].end, found[0].torque) == pytest.approx((1.0, 1.29, -2.5))
    assert found[1].times == pytest.approx(1.5)
    assert find_contacts(t, np.zeros((300, 2)), np.ones((300, 2)), ("a", "b")) == ()


def test_a_load_is_found_while_the_log_goes() -> None:
    robot = load_robot("builtin:ur5")
    model = DynamicModel(robot)
    load = Load.of_numbers(1.5, (0.02, -0.01, 0.08), (0.004, 0.0, 0.005, 0.0, 0.0, 0.003))
    heavy = DynamicModel(with_load(robot, load))
    t, q, v, a = motion(6, 12.0, 250.0, seed=4)
    noise = 0.2 * np.random.default_rng(0).normal(size=q.shape)
    tau = np.where(t[:, None] > 4.0, heavy.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a)) + noise
    own = signals(t, q, v, tau)
    residuals = external_torques(observer_functions(model, model.reference), own, 30.0)
    found = load_in_motion(robot, own, residuals, 30.0, np.full(6, 0.1), np.full(6, 0.05))
    assert found.is_seen
    assert abs(found.mass[-1] - 1.5) < 4.0 * found.mass_std[-1] < 0.2
    np.testing.assert_array_less(
        np.abs(found.center_of_mass[-1] - load.center_of_mass), 5.0 * found.center_of_mass_std[-1]
    )
    before = found.time < 4.0
    assert np.abs(found.mass[before][-1]) < 4.0 * found.mass_std[before][-1]


def test_velocities_of_positions_are_causal() -> None:
    robot = load_robot("builtin:ur5")
    t, q, v, _ = motion(6, 3.0, 500.0)
    log = Log(time=t, position=q, torque=np.ones_like(q))
    changed = q.copy()
    changed[1000:] += 0.5
    one, other = (
        LoggedSignals.of(each, robot, Drive()).with_velocities(60.0)
        for each in (log, Log(time=t, position=changed, torque=np.ones_like(q)))
    )
    before = one.time < t[1000]
    np.testing.assert_array_equal(one.v[before], other.v[before])
    late = np.interp(one.time - 0.42 / 60.0, t, v[:, 0])  # the filter's delay
    assert np.abs(one.v[:, 0] - late).max() < 0.02 * np.abs(v[:, 0]).max()


def test_a_force_on_a_link_shows_as_its_torques_at_the_joints() -> None:
    """The motion and the torques of the force are Pinocchio's."""
    robot = load_robot("builtin:ur5")
    model, reference = DynamicModel(robot), to_pinocchio(robot)
    data, step, force = reference.createData(), 5e-4, np.array([4.0, -9.0, 7.0])
    q, v, tau = np.tile([0.3, -1.2, 1.4, -0.8, 0.5, 0.2], (600, 1)), np.zeros((600, 6)), np.zeros((600, 6))
    for k in range(600):
        tau[k] = pin.rnea(reference, data, q[k], v[k], -30.0 * v[k])  # a damped motion of its own
        if k + 1 < 600:
            pin.forwardKinematics(reference, data, q[k])
            pushes = pin.StdVec_Force([pin.Force.Zero() for _ in range(reference.njoints)])
            pushes[4] = pin.Force(data.oMi[4].rotation.T @ force, np.zeros(3))  # at the origin of joint 4's frame
            rate = pin.aba(reference, data, q[k], v[k], tau[k], pushes)
            v[k + 1] = v[k] + step * rate
            q[k + 1] = q[k] + 0.5 * step * (v[k] + v[k + 1])
    t = np.linspace(0.0, 599 * step, 600)
    seen = external_torques(observer_functions(model, model.reference), signals(t, q, v, tau), 50.0)
    jacobian = pin.computeJointJacobian(reference, data, q[-1], 4)
    wanted = jacobian[:3].T @ data.oMi[4].rotation.T @ force
    assert np.abs(wanted[:3]).min() > 0.1
    np.testing.assert_allclose(seen[-1], wanted, atol=0.02 * np.abs(wanted).max())
