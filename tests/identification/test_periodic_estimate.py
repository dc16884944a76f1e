"""Maximum likelihood of motions that repeat: noise in positions and torques, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from dynid import DynidError
from dynid.arrays import Array
from dynid.estimation.factors.reduced_logs import reduce_logs
from dynid.estimation.least_squares import Estimate, NotIdentifiableError, weighted_least_squares
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.periodic_likelihood import PeriodicLog, _downhill, _Point, _System
from dynid.estimation.settings import EstimationSettings
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.identification.estimators.periodic_estimate import by_periods, fixed_parameters, require_plain_model
from dynid.identification.estimators.rows_from_loops import LoopRows
from dynid.logs import Drive, Log, Processing, prepare
from dynid.logs.drive import Transmission
from dynid.logs.processing.repeated_motion import found_period, repeated_motion, waves
from dynid.model import BaseParameters, DynamicModel, find_base_parameters, known_base
from dynid.robot import Load

PERIOD, RATE = 2.0, 250.0
POSITION_NOISE = np.deg2rad(1e-2)
TORQUE_NOISE = 0.05
AS_LOGGED = Processing(automatic=False, trim=2)


@cache
def base_of(robot: str = "spatial_3r", terms: tuple[str, ...] = ("viscous", "coulomb")) -> BaseParameters:
    return find_base_parameters(DynamicModel(f"builtin:{robot}", terms))


def truth(model: DynamicModel) -> Array:
    """The robot file's parameters, with friction of every joint."""
    p = np.nan_to_num(model.reference)
    for k, parameter in enumerate(model.parameters):
        if parameter.name.startswith(("fv", "fs")):
            p[k] = 0.5 if parameter.name.startswith("fv") else 0.8
    return p


def motion_of(joints: int, harmonics: int = 4) -> ParametricTrajectory:
    rng = np.random.default_rng(3)
    cosine, sine = 0.3 * rng.normal(size=(2, joints, harmonics))
    return fourier_motion(PERIOD, rng.uniform(-0.5, 0.5, joints), cosine, sine)


def recording(
    model: DynamicModel,
    noise: tuple[float, float] = (0.0, 0.0),
    *,
    seed: int = 0,
    rate: float = RATE,
    duration: float = 10.0,
    delay: float = 0.0,
    begin: float = 0.7,
) -> Log:
    """A log that begins in the middle of a period, with exact torques and white noise."""
    t = np.arange(round(duration * rate)) / rate
    motion, rng = motion_of(model.robot.nv), np.random.default_rng(seed)
    q = motion.states(t + begin)[0]
    torque = model.inverse_dynamics(*motion.states(t + begin - delay), truth(model))
    return Log(t, q + noise[0] * rng.normal(size=q.shape), torque + noise[1] * rng.normal(size=torque.shape))


def rows(base: BaseParameters, *logs: Log, period: float | None = None, drive: Drive | None = None) -> LoopRows:
    drive = drive or Drive()
    ready = [prepare(log, base.model, drive, AS_LOGGED) for log in logs]
    return by_periods(NonlinearFit(base, base, None), ready, logs, drive, period, 10, lambda _: None)


def estimate(base: BaseParameters, *logs: Log, period: float | None = None, drive: Drive | None = None) -> Estimate:
    return weighted_least_squares(rows(base, *logs, period=period, drive=drive).rows, base)


def unfiltered(base: BaseParameters, log: Log) -> Estimate:
    """Least squares with central differences."""
    ready = prepare(log, base.model, Drive(), AS_LOGGED)
    reduced = reduce_logs([ready], NonlinearFit(base, base, None), EstimationSettings())
    return weighted_least_squares(reduced.rows, base)


@pytest.mark.parametrize("robot", ["two_link", "spatial_3r"])
@pytest.mark.parametrize("period", [PERIOD, None])
@pytest.mark.parametrize("rate", [RATE, 166.7])
def test_exact_data_give_exact_numbers(robot: str, period: float | None, rate: float) -> None:
    base = base_of(robot)
    exact = base.to_base(truth(base.model))
    found = rows(base, recording(base.model, rate=rate), period=period)
    assert found.settled
    assert weighted_least_squares(found.rows, base).values == pytest.approx(exact, rel=1e-7, abs=1e-9)
    assert base.to_base(found.parameters) == pytest.approx(exact, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("robot", ["two_link", "spatial_3r"])
@pytest.mark.parametrize("rate", [RATE, 166.7])
def test_noise_in_positions_and_torques_is_in_the_standard_deviations(robot: str, rate: float) -> None:
    base = base_of(robot)
    exact = base.to_base(truth(base.model))
    log = recording(base.model, (POSITION_NOISE, TORQUE_NOISE), rate=rate)
    found = estimate(base, log)
    errors = found.values - exact
    assert np.all(np.abs(errors) < 4.0 * found.stds)
    assert 0.2 < errors @ np.linalg.solve(found.covariance, errors) / len(base) < 3.0
    assert 10.0 * np.linalg.norm(errors) < np.linalg.norm(unfiltered(base, log).values - exact)


def test_noise_of_positions_alone_is_in_the_standard_deviations() -> None:
    base = base_of("two_link")
    exact = base.to_base(truth(base.model))
    scores = []
    for seed in range(8):
        found = estimate(base, recording(base.model, (30.0 * POSITION_NOISE, 1e-3), seed=seed))
        errors = found.values - exact
        scores.append(errors @ np.linalg.solve(found.covariance, errors) / len(base))
    assert 0.5 < np.mean(scores) < 1.7


def test_torques_sharpen_the_motion_and_derivatives_are_exact() -> None:
    base = base_of()
    motion = repeated_motion(recording(base.model, (1e-3, 0.05)), Transmission.of([1, 1, 1], positions_at_motor=False))
    counted = np.ones(motion.torque.shape, dtype=bool)
    system = _System(base, PeriodicLog(motion, counted, np.zeros(len(base.model.names)), 0.003))
    b, c, step = base.to_base(truth(base.model)), system.measured, 1e-6
    direction = np.random.default_rng(0).normal(size=c.shape) / (1.0 + np.arange(len(c)))[:, None] ** 2

    def predicted(at: Array) -> Array:
        parts = system.own_rows(at, np.ones(3), slice(None))
        return np.concatenate([own[:, -1] - own[:, :-1] @ b for _, _, own in parts])

    slope = (predicted(c - step * direction) - predicted(c + step * direction)) / (2.0 * step)
    exact = np.concatenate(list(system._torque_rows(c, b, np.ones(3), slice(None))))[:, : c.size] @ direction.T.ravel()
    jumps = np.abs(slope - exact) > 1e3  # a joint turns within the step: dry friction jumps
    assert np.mean(jumps) < 0.01
    assert slope[~jumps] == pytest.approx(exact[~jumps], rel=1e-5, abs=1e-5 * np.abs(exact).max())


def test_several_logs_are_estimated_together() -> None:
    base = base_of("two_link")
    logs = [recording(base.model, (POSITION_NOISE, TORQUE_NOISE), seed=seed, begin=seed) for seed in range(2)]
    one, both = estimate(base, logs[0]), estimate(base, *logs)
    assert both.stds == pytest.approx(one.stds / np.sqrt(2.0), rel=0.15)
    assert np.all(np.abs(both.values - base.to_base(truth(base.model))) < 4.0 * both.stds)


def test_a_delay_of_torques_is_taken_off_exactly() -> None:
    base = base_of("two_link")
    found = estimate(base, recording(base.model, delay=0.0137), drive=Drive(delay=0.0137))
    assert found.values == pytest.approx(base.to_base(truth(base.model)), rel=1e-7, abs=1e-9)


def test_known_parameters_and_carried_loads_are_taken_off() -> None:
    model = base_of("two_link").model
    p, load = truth(model), Load(mass=2.0, center_of_mass=np.array([0.1, 0.0, 0.2]))
    base = known_base(model, {"fv1": 0.5})
    fixed = fixed_parameters(base, load)
    log = recording(model)
    t = log.time + 0.7
    loaded = model.inverse_dynamics(*motion_of(2).states(t), p + fixed_parameters(base_of("two_link"), load))
    found = estimate(base, replace(log, torque=loaded, load=load))
    assert fixed[model.names.index("fv1")] == 0.5
    assert found.values == pytest.approx(base.to_base(p), rel=1e-7, abs=1e-9)


def test_missing_torques_and_unmeasured_joints_do_not_count() -> None:
    base = base_of("two_link")
    log = recording(base.model)
    missing = np.zeros(log.torque.shape, dtype=bool)
    missing[100:140, 0] = True
    torque = np.where(missing, 100.0, log.torque)
    found = estimate(base, replace(log, torque=torque, missing=missing))
    assert found.values == pytest.approx(base.to_base(truth(base.model)), rel=1e-6, abs=1e-8)
    with pytest.raises(NotIdentifiableError, match="fs1"):
        estimate(base, log, drive=Drive(unmeasured=("joint_1",)))


def test_a_wrong_model_has_larger_standard_deviations() -> None:
    base, full = base_of("two_link", ("viscous",)), base_of("two_link")
    log = recording(full.model, (POSITION_NOISE, 0.01))
    wrong, right = estimate(base, log), estimate(full, log)
    assert np.all(wrong.stds > 5.0 * right.stds[: len(base)].min())


def test_the_period_is_found_within_its_noise_and_whole_where_it_can_be() -> None:
    model = base_of().model
    for rate in (RATE, 166.7):
        log = recording(model, (POSITION_NOISE, 0.0), rate=rate)
        found = found_period(log.time, log.position, 1.0 / rate)
        assert found == pytest.approx(PERIOD, abs=1e-12 if rate == RATE else 3e-6)


def test_noise_is_estimated_between_periods_of_whole_and_of_broken_numbers_of_samples() -> None:
    model = base_of().model
    straight = Transmission.of([1, 1, 1], positions_at_motor=False, torques_at_motor=False)
    for rate, samples in ((RATE, 500), (166.7, 1667)):
        motion = repeated_motion(recording(model, (POSITION_NOISE, TORQUE_NOISE), rate=rate), straight, PERIOD)
        assert motion.position_noise == pytest.approx(np.full(3, POSITION_NOISE), rel=0.1)
        assert motion.torque_noise == pytest.approx(np.full(3, TORQUE_NOISE), rel=0.1)
        assert len(motion.time) == samples
        assert 4 <= motion.harmonics <= 10


def test_waves_are_derivatives_of_each_other() -> None:
    t, step = np.linspace(0.0, 3.0, 20), 1e-6
    for k in range(2):
        slope = (waves(t + step, 2.0, 4, k) - waves(t - step, 2.0, 4, k)) / (2.0 * step)
        assert slope == pytest.approx(waves(t, 2.0, 4, k + 1), abs=1e-5)


@pytest.mark.parametrize(("period", "duration"), [(None, 3.0), (PERIOD, 3.0), (1.3, 10.0)])
def test_a_motion_that_does_not_repeat_is_refused_in_a_sentence(period: float | None, duration: float) -> None:
    base = base_of("two_link")
    with pytest.raises(DynidError, match="period"):
        rows(base, recording(base.model, duration=duration), period=period)


def test_robots_at_rest_and_terms_that_need_more_are_refused() -> None:
    base = base_of("two_link")
    log = recording(base.model)
    with pytest.raises(DynidError, match="no joint moves"):
        repeated_motion(
            replace(log, position=0.0 * log.position), Transmission.of([1, 1], positions_at_motor=False), PERIOD
        )
    with pytest.raises(DynidError, match="does not go with the term"):
        require_plain_model(DynamicModel("builtin:two_link", ["viscous_temperature"]))


@pytest.mark.parametrize(("best", "wanted"), [(1.0, 1.0), (0.25, 0.25), (0.0, 0.0)])
def test_a_step_that_does_not_lead_down_is_halved_and_else_not_taken(best: float, wanted: float) -> None:
    class Quartic:
        """Errors that are least at `best` and grow fast beyond it; a step from 0 to 1 is tried."""

        log = SimpleNamespace(weight=1.0)

        @staticmethod
        def squares(_c: Array, b: Array, _stds: Array) -> tuple[float, Array]:
            return float(abs(b[0] - best) if b[0] <= best else 10.0 * abs(b[0] - best)), np.zeros(1)

    old, new = (_Point(np.array([x]), [np.array([x])], [np.ones(1)]) for x in (0.0, 1.0))
    found = _downhill([Quartic()], old, new)  # type: ignore[list-item]
    assert found.b[0] == wanted
    assert (found is old) == (wanted == 0.0)
