"""`excite`: from a robot to exciting trajectories within its limits."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.excitation.design import Design, Progress, design, require_time, time_to_finish, warm_up
from dynid.excitation.exciting_motion import Excitation, Study
from dynid.excitation.friction_runs import design_friction_runs, study_friction_runs
from dynid.excitation.information import Expectation, condition_number, expected_stds
from dynid.excitation.limits.assumed import noise_of
from dynid.excitation.limits.stated import joint_limits, posture_of
from dynid.excitation.motion import Grid, free_coefficients
from dynid.excitation.payload_motion import PayloadMotion
from dynid.excitation.posture_study import study_postures
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import measured_information, moving_of, problem_of
from dynid.findings import Finding
from dynid.logs import Servo
from dynid.model import Coulomb, DynamicModel, Term, Viscous, findings_on_default, known_model
from dynid.robot import Robot, as_robot, without_gripper
from dynid.settings import checked


@dataclass(frozen=True)
class ExcitationThresholds:
    """What is said of designed trajectories, and when further ones are of no use."""

    ill_conditioned: float = 1e6
    """Condition number above which something is not excited at all: a hundred times what is said to be poor of an
    estimate. By judgement: designs for the UR5 and the Panda stay far below (`benchmarks/excitation.py`)."""

    small_change: float = 0.05
    """Change of the criterion (for the condition number: of its logarithm) below which segments end: 5 % less condition
    number is not worth another run of the robot. By judgement; not calibrated."""

    servo_rate: float = 30.0
    """Rate [Hz] at which servos are commanded and logged, where none is stated: that of LeRobot. By judgement."""


THRESHOLDS = ExcitationThresholds()


def excite(
    robot: Robot | str | os.PathLike[str],
    terms: str | Sequence[str | Term] = (),
    *,
    settings: ExcitationSettings | Mapping[str, Any] | None = None,
    known_values: Mapping[str, float] | None = None,
    known: Sequence[Factors] = (),
    servo: Servo | Mapping[str, Any] | None = None,
    lock: Mapping[str, float] | Iterable[str] = (),
    move: Iterable[str] = (),
    time_limit: float = 20.0,
    starts: int | None = None,
    segments: int = 1,
    block_triangular: bool = False,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
    **changes: Any,
) -> Excitation:
    """Design exciting trajectories.

    Args:
        robot: The robot: a path, `builtin:NAME`, or a loaded one.
        terms: Friction and actuator terms, as names or objects.
        settings: Keys of `[excitation]`: the trajectory, the criterion and the limits.
        known_values: Values of parameters that are known beforehand, by name or pattern.
        known: Factors of logs that exist already: the trajectories are designed for what these leave uncertain.
        servo: The servos that move the robot, as `[control.servo]` states them: motions stay within their speed and
            torque curve, and their rate is 30 Hz where none is stated.
        lock: Joints, by name or number, that are held still, with their positions [rad or m]; zero when only named.
        move: Joints of a gripper that move all the same. Otherwise grippers are locked, with a finding; where factors
            are known, all joints move that moved there.
        time_limit: When to stop [s], with the best so far.
        starts: How many starts at most; as many as there is time for when None. The same seed and number of starts
            give the same trajectory.
        segments: How many trajectories at most, each designed for what those before it leave uncertain.
        block_triangular: One trajectory for each joint instead: all joints move, then all but the first, and so on.
        seed: Seed of everything random.
        progress: Callback; receives the best so far and the time that is left, about once a second.
        changes: Keys of `[excitation]` that replace the settings', such as `family`, `period` or `velocity`; with
            `postures=20` static postures and a tour through them instead, with `friction_runs=True` friction runs;
            with `payload="flange"` (a body, or "last") a motion of 5 s for a load that a known robot carries.

    Raises:
        InvalidRequestError: If the settings contradict the robot or each other, or the time limit is too short.
        NoMotionError: If the limits leave no room.
    """
    require_time(time_limit)
    if isinstance(known, Mapping):
        raise InvalidRequestError(
            "known= takes factors of logs that exist already; give values of parameters as known_values="
        )
    stated = with_rate_of(servo, checked(ExcitationSettings, settings, **changes))
    law = None if servo is None else checked(Servo, servo, "servo")
    _require_one_kind(stated, segments, block_triangular)
    begin = time.monotonic()
    loaded, held = with_grippers_held(as_robot(robot, lock=lock), stated, move, known)
    carried = None if stated.payload is None else PayloadMotion.of(loaded, stated)
    if carried is not None:
        _require_nothing_else(known, segments, block_triangular)
        stated, loaded, terms, known_values = carried.settings(stated), carried.robot, (), carried.known_values
    model, assumed = _with_friction(known_model(loaded, terms, known_values or {}), stated)
    problem, findings = problem_of(model, stated, known, known_values, law)
    prepared = time.monotonic() - begin
    warm_up(problem)
    moving = moving_of(stated, loaded) or [True] * loaded.nv
    motions = sum(moving) if block_triangular else segments
    _require_enough_time(time_limit, prepared, motions * time_to_finish(problem))
    left = max(time_limit - (time.monotonic() - begin), 0.5 * time_limit)  # compiling, once, may take longer
    options = {"time_limit": left, "starts": starts, "seed": seed, "progress": progress}
    noticed = (*held, *findings, *assumed, *findings_on_default(terms, loaded))
    if stated.postures is not None:
        tour, study, more = study_postures(problem, stated, known, known_values or {}, **options)
        return _with_expectations(stated, known, (tour,), (*noticed, *more), begin, study)
    if stated.friction_runs:
        return _friction_runs(problem, stated, known, noticed, begin, **options)
    if block_triangular:
        found = _block_triangular(problem, posture_of(stated, loaded), moving, **options)
    elif segments > 1:
        found = _stack(problem, segments, **options)
    else:
        found = iter([design(problem, **options)])
    return _with_expectations(stated, known, tuple(found), noticed, begin, carried=carried)


def with_rate_of(servo: Servo | Mapping[str, Any] | None, settings: ExcitationSettings) -> ExcitationSettings:
    """Settings with the rate at which servos are commanded and logged, where none is stated."""
    if servo is None or "rate" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"rate": THRESHOLDS.servo_rate})


def _require_nothing_else(known: Sequence[Factors], segments: int, block_triangular: bool) -> None:
    """Refuse what does not go with a motion for a load."""
    if known or segments > 1 or block_triangular:
        raise InvalidRequestError(
            "a motion for a load is one trajectory, and takes the robot as known; leave out known results, segments "
            "and block-triangular motions"
        )


def _require_one_kind(settings: ExcitationSettings, segments: int, block_triangular: bool) -> None:
    """Refuse motions of two kinds at once.

    Raises:
        InvalidRequestError: If it is asked for.
    """
    if block_triangular and segments > 1:
        raise InvalidRequestError("block-triangular motions are one for each joint; leave the number of segments out")
    if settings.postures is None and not settings.friction_runs:
        return
    what = "static postures are" if settings.postures is not None else "friction runs are"
    if segments > 1 or block_triangular:
        other = "block-triangular motions" if block_triangular else "segments"
        raise InvalidRequestError(f"{what} one motion, which {other} are not; design these with another command")
    if settings.bound == "amplitudes":
        raise InvalidRequestError(f"{what} no sums of amplitudes; leave out bound = 'amplitudes'")


def _with_friction(model: DynamicModel, settings: ExcitationSettings) -> tuple[DynamicModel, list[Finding]]:
    """The model, for friction runs with viscous and Coulomb friction where it has no friction, and a finding then."""
    if not settings.friction_runs or any("v" in term.needs for term in model.terms):
        return model, []
    usual = DynamicModel(model.robot, (*model.terms, Viscous(), Coulomb()))
    return usual, [Finding.of("friction-assumed", "terms", terms=["viscous", "coulomb"])]


def _friction_runs(
    problem: ExcitationProblem,
    settings: ExcitationSettings,
    known: Sequence[Factors],
    findings: Sequence[Finding],
    begin: float,
    seed: int,
    starts: int | None,
    **options: Any,
) -> Excitation:
    """Friction runs, compared with an optimised motion of the same settings; other options are those of `design`."""
    found, runs, posture = design_friction_runs(problem, settings, seed)
    compared = design(problem, seed=seed, starts=starts or 1, **options)
    robot, base = problem.information.base.model.robot, problem.information.base
    measured = measured_information(noise_of(settings, robot, joint_limits(settings, robot)), base, known)
    study, more = study_friction_runs(runs, posture, found, compared, measured)
    return _with_expectations(settings, known, (found,), (*findings, *more), begin, study)


def with_grippers_held(
    robot: Robot, settings: ExcitationSettings, move: Iterable[str], known: Sequence[Factors] = ()
) -> tuple[Robot, list[Finding]]:
    """The robot with its grippers locked, but for joints that are asked to move or that settings name; and a finding.

    Raises:
        UnknownNameError: If the robot has no joint of a name in `move`.
    """
    by_name = (settings.position, settings.velocity, settings.acceleration, settings.start, settings.effort)
    by_name = (*by_name, settings.noise)
    named = [name for table in by_name if isinstance(table, dict) for name in table]
    wanted = {*move, *(settings.moving or ()), *(name for name in named if name in {j.name for j in robot.joints})}
    if known or any(isinstance(one, tuple) and len(one) == robot.nv for one in (*by_name, settings.home)):
        return robot, []  # the model is that of a log, or a value stands for each joint
    held, found = without_gripper(robot, wanted)
    if not found:
        return robot, []
    values = {"joints": {one.name: f"at {one.position:g}, {one.reason}" for one in found}, "first": found[0].name}
    return held, [Finding.of("gripper-locked", "robot", **values)]


def _stack(
    problem: ExcitationProblem,
    segments: int,
    time_limit: float,
    seed: int,
    progress: Callable[[Progress], None],
    **options: Any,
) -> Iterator[Design]:
    """Design segments one after the other, each against what is known by then (Algorithm 1 of the Figaro thesis).

    A segment that does not lower the criterion is left out, so that it never rises. The time limit [s] is for all of
    them together; other options are those of `design`.
    """
    before = math.inf
    for k in range(segments):
        part = time_limit / segments
        shown = _with_parts_to_come(progress, part * (segments - 1 - k))
        found = design(problem, time_limit=part, seed=seed + k, progress=shown, **options)
        if not found.value < before:
            return
        yield found
        if before - found.value < THRESHOLDS.small_change:
            return
        before = found.value
        problem = with_known(problem, found.matrix)


def _block_triangular(
    problem: ExcitationProblem,
    posture: Sequence[float | None],
    moving: Sequence[bool],
    time_limit: float,
    seed: int,
    progress: Callable[[Progress], None],
    **options: Any,
) -> Iterator[Design]:
    """Design one motion for each joint that moves: all move, then all but the first, ..., at last only the last one.

    These are the motions of the power-model paper (chapter IV.B). Joints at rest excite less, so each motion is
    designed together with the information of those before it. The time limit [s] is for all of them together; other
    options are those of `design`.
    """
    joints = [k for k, moves in enumerate(moving) if moves]
    for resting, first in enumerate(joints):
        still_moving = [k in joints and k >= first for k in range(len(posture))]
        free = free_coefficients(problem.grid.free.family, posture, still_moving)
        problem = replace(problem, grid=Grid.at(free, problem.grid.times))
        part = time_limit / len(joints)
        shown = _with_parts_to_come(progress, part * (len(joints) - 1 - resting))
        found = design(problem, time_limit=part, seed=seed + resting, progress=shown, **options)
        yield found
        problem = with_known(problem, found.matrix)


def _with_parts_to_come(progress: Callable[[Progress], None], more: float) -> Callable[[Progress], None]:
    """A progress callback of one trajectory, after which others take more time [s]."""
    return lambda now: progress(replace(now, remaining=now.remaining + more))


def with_known(problem: ExcitationProblem, information: Array) -> ExcitationProblem:
    """The problem once an information matrix, which contains what was known before, is known."""
    values, U = np.linalg.eigh(information)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * U.T
    return replace(problem, information=replace(problem.information, known=factor))


def _with_expectations(
    settings: ExcitationSettings,
    known: Sequence[Factors],
    designs: tuple[Design, ...],
    findings: Sequence[Finding],
    begin: float,
    study: Study | None = None,
    carried: PayloadMotion | None = None,
) -> Excitation:
    """The designs with the standard deviations that they promise; they began at a time of the clock [s]."""
    base = designs[-1].problem.information.base
    robot = base.model.robot
    measured = measured_information(noise_of(settings, robot, joint_limits(settings, robot)), base, known)
    nothing = replace(measured, known=measured.known[:0])
    M = measured.known.T @ measured.known
    for part in designs:
        M = M + replace(part.problem, information=nothing).exact_matrix(part.trajectory)
    condition, expectations = condition_number(_unscaled(designs[-1])), expected_stds(base, M)
    if carried is not None:
        expectations = carried.expectations(base, M) or expectations
    # Postures and friction runs are for some parameters only, and say themselves which they leave out.
    all_findings = (*findings, *(_not_excited(condition, expectations) if study is None else ()))
    return Excitation(settings, designs, condition, expectations, all_findings, time.monotonic() - begin, study)


def _require_enough_time(time_limit: float, prepared: float, to_finish: float) -> None:
    """Refuse a time limit [s] of which preparing and the checks at the end leave too little for the design."""
    needed = 2.0 * prepared + to_finish / 0.7
    if needed > time_limit:
        raise InvalidRequestError(
            f"a time limit of {time_limit:g} s is too short for this robot and motion, whose limits take about "
            f"{to_finish:.1f} s to check at the end; allow {math.ceil(1.2 * needed)} s or more"
        )


def _not_excited(condition: float, expectations: Sequence[Expectation]) -> Iterator[Finding]:
    """A warning where the trajectories leave parameters unexcited; names them."""
    names = [expectation.name for expectation in expectations if not expectation.is_excited]
    if names:
        yield Finding.of("parameters-not-excited", "excitation", parameters=names, condition=condition)
    elif condition > THRESHOLDS.ill_conditioned:
        yield Finding.of("trajectory-ill-conditioned", "excitation", condition=condition)


def _unscaled(found: Design) -> Array:
    """Information of a design and of all before it, in the parameters' own units."""
    scales = found.problem.information.scales
    return found.matrix / np.outer(scales, scales)
