"""Closed-loop output and input errors find the parameters of robots that were simulated in loops that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import dynid
from dynid import DynamicModel, Log
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.least_squares import Estimate, weighted_least_squares
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.output_error.free_links import FreeLinks
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.settings import EstimationSettings, PhysicalSettings
from dynid.identification.estimators.loop_errors import Kind, _Compared, _Slopes, closed_loop_errors, law_torques
from dynid.identification.estimators.loops import DivergedError, loop_of
from dynid.identification.estimators.rows_from_loops import LoopProblem, LoopRows
from dynid.logs import Control, Drive, Processing, prepare
from dynid.model import find_base_parameters
from dynid.robot import inertia
from dynid.simulation import ControlInput, Rollout, SimulatedRobot, roll_out
from dynid.simulation.rollout_sensitivity import RolloutParameters, sensitivities
from tests.noisy_loops import CONTROL_RATE, Noise, TrueLoop, random_series

TERMS = ["viscous", "coulomb"]


def truth(model: DynamicModel) -> Array:
    """Standard parameters of a robot: those of its file, and some friction."""
    p = np.nan_to_num(model.reference)
    links = inertia.SIZE * len(model.robot.solid_links)
    friction = {"fv": 0.4, "fs": 0.3, "Ia": 0.05}
    p[links:] = [friction[name.rstrip("0123456789")] for name in model.names[links:]]
    return p


def recorded(
    model: DynamicModel, p: Array, *, degrees: float = 0.0, torque: float = 0.0, seed: int = 0, seconds: float = 4.0
) -> Log:
    """A log of a robot that is simulated finely under a PD law, with white noise on positions and torques."""
    n, rng = model.robot.nv, np.random.default_rng(seed)
    time = np.arange(0.0, seconds, 0.004)
    w = 2.0 * np.pi * np.array([0.35, 0.8, 1.3])[:, None] * (1.0 + 0.13 * np.arange(n))
    phase = np.arange(3)[:, None] + 2.0 * np.arange(n)
    angles = w * time[:, None, None] + phase
    reference = (0.35 * np.sin(angles)).sum(axis=1)
    velocity = (0.35 * w * np.cos(angles)).sum(axis=1)
    kp, kd = np.full(n, 150.0), np.full(n, 12.0)
    control = ControlInput(time, reference, kp, kd, velocity)
    run = roll_out(SimulatedRobot.of(model, p), control, reference[0], velocity[0], step=1e-4)
    measured = law_torques(run, run.q, run.v)[0]
    return Log(
        time=time,
        position=run.q + np.deg2rad(degrees) * rng.normal(size=run.q.shape),
        torque=measured + torque * rng.normal(size=run.q.shape),
        position_command=reference,
        velocity_command=velocity,
        kp=kp,
        kd=kd,
        command_delay=0.0,
    )


def problem_of(
    model: DynamicModel, *logs: Log, known: dict[str, float] | None = None, control: Control | None = None
) -> LoopProblem:
    """Logs in their loops."""
    drive = Drive()
    ready = [prepare(log, model, drive, Processing()) for log in logs]
    loops = [loop_of(log, one, model, drive, control) for log, one in zip(logs, ready, strict=True)]
    base = find_base_parameters(model, known=known or {})
    physics = physics_of(PhysicalSettings(), model)
    return LoopProblem(NonlinearFit(base, base, None), ready, loops, EstimationSettings(), physics)


def off(p: Array, by: float = 0.15, seed: int = 0) -> Array:
    """Parameters that are off by a part of themselves, each for itself: links need not be possible any more."""
    return p * (1.0 + by * np.random.default_rng(seed).choice([-1.0, 1.0], size=len(p)))


def estimated(problem: LoopProblem, found: LoopRows) -> Estimate:
    return weighted_least_squares(found.rows, problem.base)


ARM = DynamicModel("builtin:spatial_3r", TERMS)


@pytest.mark.parametrize("kind", ["cloe", "clie", "clioe"])
def test_noisy_logs_are_explained_within_their_standard_deviations(kind: Kind) -> None:
    p = truth(ARM)
    problem = problem_of(ARM, recorded(ARM, p, degrees=1e-2, torque=0.05))
    found = closed_loop_errors(problem, off(p), kind)
    estimate = estimated(problem, found)
    assert found.settled
    assert found.iterations <= 10
    errors = (estimate.values - problem.base.to_base(p)) / estimate.stds
    assert np.abs(errors).max() < 4.0
    assert np.sqrt(np.mean(errors**2)) > 0.3
    robot = SimulatedRobot.of(ARM, found.parameters)
    assert all(inertia.is_physical(found.parameters[10 * k : 10 * k + 10]) for k in range(3))
    assert (robot.parameters[30:] >= 0.0).all()


@pytest.mark.parametrize("kind", ["cloe", "clie", "clioe"])
@pytest.mark.parametrize(("terms", "tolerance"), [(["viscous"], 1e-4), (TERMS, 2e-4)])  # dry friction turns in steps
def test_exact_logs_give_exact_parameters(kind: Kind, terms: list[str], tolerance: float) -> None:
    model = DynamicModel("builtin:two_link", terms)
    p = truth(model)
    problem = problem_of(model, recorded(model, p))
    found = closed_loop_errors(problem, off(p), kind)
    b = problem.base.to_base(p)
    values = estimated(problem, found).values
    assert found.iterations <= 10
    assert np.linalg.norm(values - b) < tolerance * np.linalg.norm(b)


def test_starts_that_are_wrong_are_estimated_beside() -> None:
    model = DynamicModel("builtin:two_link", TERMS)
    p = truth(model)
    problem = problem_of(model, recorded(model, p))
    shifted = [replace(one, start=(one.start[0] + 0.01, one.start[1] - 0.2)) for one in problem.loops[0].stretches]
    problem = replace(problem, loops=[replace(problem.loops[0], stretches=tuple(shifted))])
    values = estimated(problem, closed_loop_errors(problem, off(p), "cloe")).values
    b = problem.base.to_base(p)
    assert np.linalg.norm(values - b) < 1e-3 * np.linalg.norm(b)


def test_known_parameters_stay_known() -> None:
    p = truth(ARM)
    known = {"m2": float(p[ARM.names.index("m2")]), "fv1": 0.4}
    problem = problem_of(ARM, recorded(ARM, p, degrees=1e-3, torque=0.05), known=known)
    found = closed_loop_errors(problem, off(p, 0.05), "cloe")
    estimate = estimated(problem, found)
    assert found.parameters[ARM.names.index("m2")] == known["m2"]
    assert found.parameters[ARM.names.index("fv1")] == known["fv1"]
    assert np.abs((estimate.values - problem.base.to_base(p)) / estimate.stds).max() < 4.0


def test_torques_that_were_not_measured_do_not_count() -> None:
    p = truth(ARM)
    log = recorded(ARM, p)
    missing = np.zeros(log.torque.shape, dtype=bool)
    missing[300:400, 1] = True
    spoilt = replace(log, torque=np.where(missing, 50.0, log.torque), missing=missing)
    problem = problem_of(ARM, spoilt)
    values = estimated(problem, closed_loop_errors(problem, off(p), "clie")).values
    b = problem.base.to_base(p)
    assert np.linalg.norm(values - b) < 1e-3 * np.linalg.norm(b)


@pytest.mark.parametrize("limit", [None, np.array([20.0, 6.0])])
def test_slopes_of_the_laws_torques_are_those_of_differences(limit: Array | None) -> None:
    model = DynamicModel("builtin:two_link", ["viscous"])
    p, time = np.nan_to_num(model.reference), np.arange(0.0, 0.3, 0.004)
    command = 0.5 * np.sin(np.outer(time, [8.0, 11.0]))
    control = ControlInput(time, command, np.full(2, 150.0), np.full(2, 12.0), limit=limit)

    def torques(values: Array) -> tuple[Rollout, tuple[Array, Array, Array]]:
        run = roll_out(SimulatedRobot.of(model, values), control, np.zeros(2), delay=0.0013, steps_kept=True)
        return run, law_torques(run, run.q, run.v)

    run, (_, by_position, by_velocity) = torques(p)
    if limit is not None:
        assert 0.05 < np.mean(by_position == 0.0) < 0.9
    for k in find_base_parameters(model).columns:
        slopes = sensitivities(run, RolloutParameters(model=(k,)))
        found = by_position * slopes.position[..., 0] + by_velocity * slopes.velocity[..., 0]
        step = 1e-7 * np.eye(len(p))[k]
        wanted = (torques(p + step)[1][0] - torques(p - step)[1][0]) / 2e-7
        np.testing.assert_allclose(found, wanted, atol=1e-5 * max(float(np.abs(wanted).max()), 1.0))


def test_a_law_that_is_not_known_is_refused() -> None:
    p = truth(ARM)
    log = recorded(ARM, p)
    for unknown in (replace(log, kp=None, kd=None), replace(log, kp=None, kd=None, position_command=None)):
        problem = problem_of(ARM, unknown)
        for kind in ("cloe", "clie", "clioe"):
            with pytest.raises(InvalidRequestError, match="position_command, kp and kd"):
                closed_loop_errors(problem, p, kind)


def test_noise_in_the_feedback_is_made_white_and_estimates_are_better() -> None:
    robot = dynid.load_robot("builtin:two_link")
    model = DynamicModel(robot, TERMS)
    loop = TrueLoop(model, truth(model), random_series(robot, 0), random_series(robot, 1))
    errors: dict[Kind, list[float]] = {"clie": [], "cloe": [], "clioe": []}
    distances, values, covariance = [], np.zeros(0), np.zeros((0, 0))
    for seed in range(6):
        log = loop.log(Noise("strong reaction", 1e-3, 0.005), seed)
        problem = problem_of(model, log[:4000], control=Control(law="sampled", rate=CONTROL_RATE))
        b = problem.base.to_base(loop.parameters)
        for kind, found in errors.items():
            compared = _Compared(problem, kind)
            now = compared.at(FreeLinks.of(problem.base, loop.parameters), [each.start for each in compared.stretches])
            values, covariance = compared.linearised(now).solution
            found.append(float(np.linalg.norm(values - b)))
        distances.append((values - b) @ np.linalg.solve(covariance, values - b) / len(b))
    rms = {kind: np.sqrt(np.mean(np.square(found))) for kind, found in errors.items()}
    assert rms["clioe"] < 0.9 * min(rms["clie"], rms["cloe"])
    assert 0.3 < np.mean(distances) < 2.0


def test_slopes_of_both_errors_are_those_of_differences() -> None:
    model = DynamicModel("builtin:two_link", ["viscous"])
    p = truth(model)
    problem = problem_of(model, recorded(model, p, seconds=1.0), control=Control(law="sampled", rate=1000.0))
    compared = _Compared(problem, "clioe")
    stretch = compared.stretches[0]

    def errors(values: Array) -> Array:
        return compared.at(FreeLinks.of(problem.base, values), [stretch.start]).errors[0]

    now = compared.at(FreeLinks.of(problem.base, p), [stretch.start])
    found = _Slopes(compared, stretch, now.runs[0], sensitivities(now.runs[0], compared.unknowns, every=stretch.every))
    for at, k in enumerate(problem.base.columns):
        step = 1e-6 * np.eye(len(p))[k]
        wanted = (errors(p - step) - errors(p + step)) / 2e-6
        for j in range(2):
            own = found.of_joint(j)[..., 4 + at]
            size = np.maximum(np.abs(wanted[..., j]).max(axis=0), 1e-3)
            assert (np.abs(own - wanted[..., j]).max(axis=0) < 2e-3 * size).all()


def test_what_was_measured_at_other_times_is_compared_by_itself() -> None:
    p = truth(ARM)
    log = recorded(ARM, p, degrees=1e-3, torque=0.02)
    missing = np.zeros(log.torque.shape, dtype=bool)
    missing[:, 0], missing[np.arange(len(log)) % 4 > 0, 1], missing[300:400, 2] = False, True, True
    problem = problem_of(ARM, replace(log, torque=np.where(missing, 9.0, log.torque), missing=missing))
    found = closed_loop_errors(problem, off(p), "clioe")
    estimate = estimated(problem, found)
    assert found.settled
    assert np.abs((estimate.values - problem.base.to_base(p)) / estimate.stds).max() < 4.0
    assert len(found.folds) == 10


def test_commands_of_a_law_with_a_rate_change_from_tick_to_tick() -> None:
    model = DynamicModel("builtin:two_link", ["viscous"])
    log = replace(recorded(model, truth(model), seconds=1.0), command_delay=None)
    assert log.position_command is not None
    (stretch,) = problem_of(model, log, control=Control(law="sampled", rate=1000.0)).loops[0].stretches
    assert stretch.every == 4
    assert stretch.control is not None
    first = np.searchsorted(log.time, stretch.control.time[4] - 1e-9)
    wanted = CubicSpline(log.time, log.position_command)(stretch.control.time[4:-4])
    np.testing.assert_allclose(stretch.control.position[4:-4], wanted, atol=2e-5)
    np.testing.assert_allclose(
        stretch.control.position[4::4], log.position_command[first:][: len(stretch.control.time[4::4])]
    )
    assert stretch.position is not None
    assert len(stretch.position) == len(stretch.control.time[:: stretch.every])


def test_a_robot_that_does_not_follow_is_said() -> None:
    p = truth(ARM)
    log = recorded(ARM, p)
    assert log.kp is not None
    problem = problem_of(ARM, replace(log, kp=-50.0 * log.kp))
    with pytest.raises(DivergedError, match="kp"):
        closed_loop_errors(problem, p, "cloe")


def test_variables_of_links_have_exact_slopes_and_no_step_leaves_what_can_exist() -> None:
    base = find_base_parameters(ARM)
    p = truth(ARM)
    links = FreeLinks.of(base, p)
    rng = np.random.default_rng(0)
    x, sizes = 0.3 * rng.normal(size=30 + len(links.terms)), rng.uniform(0.5, 2.0, len(links.terms))
    np.testing.assert_allclose(links.standard(0.0 * x, sizes), p, atol=1e-12)
    D = links.slopes(x, sizes)
    for k, unit in enumerate(np.eye(len(x))):
        wanted = (links.standard(x + 1e-6 * unit, sizes) - links.standard(x - 1e-6 * unit, sizes)) / 2e-6
        np.testing.assert_allclose(D[:, k], wanted, rtol=1e-6, atol=1e-8)
