"""From settings to the design problem that they state."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.excitation.collision.stated_collisions import collisions_of
from dynid.excitation.criteria import parse_criterion
from dynid.excitation.information import Information, known_factor, reference_values
from dynid.excitation.limits.assumed import assumptions, noise_assumption, noise_of
from dynid.excitation.limits.clearance_limit import ClearanceLimit
from dynid.excitation.limits.frame_limits import BoxLimit, FramePoint, SpeedLimit
from dynid.excitation.limits.joint_bounds import AmplitudeLimit, JointBounds
from dynid.excitation.limits.limit import Limit
from dynid.excitation.limits.log_rate import LogRateLimit
from dynid.excitation.limits.servo_drive import ServoDrive
from dynid.excitation.limits.servo_limits import CommandLimit, DutyLimit
from dynid.excitation.limits.stated import (
    joint_limits,
    per_joint,
    posture_of,
    require_home,
    require_posture,
    stated_limits,
)
from dynid.excitation.limits.torques import PriorTorques, RmsTorqueLimit, TorqueLimit
from dynid.excitation.motion import FreeCoefficients, Grid, free_coefficients
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_family import stated_family
from dynid.excitation.trajectories.family import JERK, Family
from dynid.findings import Finding
from dynid.logs import Servo
from dynid.model import BaseParameters, DynamicModel, known_base, matching
from dynid.robot import Limits, Robot


@dataclass(frozen=True)
class StatedMotionThresholds:
    """What a design takes where nothing is stated, and what it refuses."""

    default_period: float = 10.0
    """Period [s] of a motion where none is stated: long enough for joints to reach their speeds, short enough to
    repeat. By judgement: that of the published trajectories that `benchmarks/excitation.py` compares with."""

    longest_period: float = 1000.0
    """Periods [s] above this are refused: limits are checked at 1 kHz. By judgement; not calibrated."""

    most_samples: int = 300_000
    """Samples of a motion at most; a run at 10 % of its speed, which is written too, has ten times as many. By
    judgement; not calibrated."""

    between_samples: float = 0.99
    """Part of a limit that is left to values between a design's samples, where it is not known exactly. By judgement:
    every design is checked at 1 kHz, and `tests/excitation/test_excitation_design.py` finds no limit exceeded."""

    fewest_samples: int = 150
    """Samples of a design, where nothing is stated. By judgement; see `samples_a_harmonic`."""

    clearance_rate: float = 50.0
    """Rate [Hz] at which a design keeps distances. By judgement: between two samples a distance is smaller than at both
    by about the square of their time step times 2 m/s^2, 1 mm, for which room is left; every design is checked at
    1 kHz."""

    clearance_between_samples: float = 0.96
    """Part of the room of distances that a design uses: 2.4 mm are left for that. By judgement."""

    most_clearance_samples: int = 3000
    """The same for long motions. By judgement."""

    most_design_samples: int = 20_000
    """Samples of a design at most: what they show of a motion must fit into memory. By judgement; not calibrated."""

    samples_a_harmonic: int = 30
    """Samples of a design for each harmonic: fifteen for each extreme of the fastest. By judgement; not calibrated."""

    servo_margin: float = 0.2
    """Margin of a motion from which unknown friction of servos is not remarked: gears of small servos take 10 to 30 %
    of the stall torque. By judgement."""


THRESHOLDS = StatedMotionThresholds()


def problem_of(
    model: DynamicModel,
    settings: ExcitationSettings | None = None,
    known: Sequence[Factors] = (),
    known_values: Mapping[str, float] | None = None,
    servo: Servo | None = None,
) -> tuple[ExcitationProblem, list[Finding]]:
    """The design problem that settings state for a model, and what was noticed.

    Args:
        model: The robot and its terms.
        settings: The trajectory, the criterion and the limits.
        known: Factors of logs that exist already.
        known_values: Values of parameters that are known beforehand.
        servo: The servos that move the robot; None for other drives.

    Raises:
        InvalidRequestError: If the robot cannot be excited so, or what is stated contradicts itself.
    """
    settings = settings or ExcitationSettings()
    robot = model.robot
    require_single_joints(robot)
    base = known_base(model, known_values or {})
    if not len(base):
        raise InvalidRequestError(f"no parameter of '{robot.name}' is identifiable from joint torques")
    family = stated_family(settings, settings.period or THRESHOLDS.default_period)
    _require_few_samples(family, settings.rate)
    wanted = max(THRESHOLDS.fewest_samples, math.ceil(THRESHOLDS.samples_a_harmonic * family.swings))
    samples = family.samples(settings.samples or wanted)
    reach = _reach(family, samples)
    posture = posture_of(settings, robot)
    stated, limits = stated_limits(settings, robot), joint_limits(settings, robot)
    noise = noise_of(settings, robot, limits)
    bounds = JointBounds.of(robot, limits).tightened(1.0 - settings.margin)
    require_posture(posture, limits, robot, (1.0 - settings.margin) / reach[0])
    _require_jerks(family, limits, robot)
    others, findings = _other_limits(settings, robot, bounds, limits)
    if servo is not None:
        more, unknown = _limits_of_servos(model, servo, settings, family, limits, known_values or {})
        others, findings = (*others, *more), [*findings, *unknown]
    require_home(settings.home, limits, robot)
    grid = Grid.of(_free(settings, family, posture, robot), samples)
    clear, noticed = _clearance(settings, robot, limits, grid)
    problem = ExcitationProblem(
        grid,
        _information(noise, settings, base, known, limits),
        parse_criterion(settings.criterion),
        bounds.tightened(1.0 / reach),
        (*others, *clear),
        settings.rate,
    )
    assumed = (*assumptions(stated, limits, robot), *noise_assumption(settings, robot, noise))
    return problem, [*base.findings(), *assumed, *findings, *noticed]


def require_single_joints(robot: Robot) -> None:
    """Refuse robots with joints of several degrees of freedom."""
    odd = next((joint for joint in robot.joints if joint.kind.nv != 1), None)
    if odd is not None:
        raise InvalidRequestError(
            f"joint '{odd.name}' of '{robot.name}' is {odd.kind.value}, and motions are for joints of one "
            f"degree of freedom; load the robot on a fixed base, or lock the joint with --lock {odd.name}"
        )


def _reach(family: Family, samples: int) -> Array:
    """For position, velocity, acceleration and jerk how far values between samples may exceed them, shape (4,)."""
    if samples > THRESHOLDS.most_design_samples:
        raise InvalidRequestError(
            f"a {family.name} motion that swings up to {family.swings:g} times a period needs {samples:,} samples, and "
            f"{THRESHOLDS.most_design_samples:,} are allowed; state a slower motion, or fewer in [excitation] samples"
        )
    reach = np.array([family.reach(samples, k) for k in range(4)])
    if np.isinf(reach).any():
        enough = 2 * samples
        while any(math.isinf(family.reach(enough, k)) for k in range(4)):
            enough *= 2
        raise InvalidRequestError(
            f"{samples} samples are too few to show a {family.name} motion that swings up to {family.swings:g} times; "
            f"state {enough} or more in [excitation] samples"
        )
    return reach


def _require_jerks(family: Family, limits: Sequence[Limits], robot: Robot) -> None:
    """Refuse limits of jerk where accelerations jump."""
    limited = [one.name for one, limit in zip(robot.independent_joints, limits, strict=True) if limit.jerk < math.inf]
    if limited and family.derivatives < JERK:
        raise InvalidRequestError(
            f"the accelerations of a {family.name} motion jump, and joint '{limited[0]}' has a limit of jerk; state "
            "another family, such as double-s or spline, or leave the limit out"
        )


def _require_few_samples(family: Family, rate: float) -> None:
    """Refuse motions that take too many samples to check or to write."""
    longest, most = THRESHOLDS.longest_period, THRESHOLDS.most_samples
    if family.cycle > longest:
        raise InvalidRequestError(
            f"a period of {family.cycle:g} s is too long: {longest:g} s are allowed; state a shorter one in "
            "[excitation] period, or a higher frequency"
        )
    if family.duration * rate > most:
        raise InvalidRequestError(
            f"{family.duration:g} s at {rate:g} Hz are {family.duration * rate:.3g} samples, and {most:,} are "
            "allowed; lower rate, period or periods in [excitation]"
        )


def moving_of(settings: ExcitationSettings, robot: Robot) -> list[bool] | None:
    """For each joint whether it moves; None where all do."""
    if settings.moving is None:
        return None
    columns = {robot.joint(name).v.start for name in settings.moving}
    return [k in columns for k in range(robot.nv)]


def _other_limits(
    settings: ExcitationSettings, robot: Robot, bounds: JointBounds, limits: Sequence[Limits]
) -> tuple[tuple[Limit, ...], list[Finding]]:
    part = (1.0 - settings.margin) * THRESHOLDS.between_samples
    found: list[Limit] = (
        [AmplitudeLimit(bounds).tightened(1.0 - settings.margin)] if settings.bound == "amplitudes" else []
    )
    findings: list[Finding] = []
    torques = PriorTorques(robot)
    efforts = [limit.effort for limit in limits]
    if any(map(math.isfinite, efforts)):
        if any(link.has_inertia for link in robot.links):
            found.append(TorqueLimit.of(torques, efforts).tightened(part))
        else:
            findings.append(Finding.of("torque-limits-unchecked", "torques"))
    if settings.rms_effort is not None:
        rms = np.array(per_joint("rms_effort", settings.rms_effort, robot))
        found.append(RmsTorqueLimit(torques, rms).tightened(part))
    for speed in settings.speed:
        found.append(SpeedLimit(FramePoint.of(robot, speed.frame), speed.limit).tightened(part))
    for box in settings.box:
        corners = np.array(box.lower), np.array(box.upper)
        found.append(BoxLimit(FramePoint.of(robot, box.frame), *corners).tightened(part))
    return tuple(found), findings


def _limits_of_servos(
    model: DynamicModel,
    servo: Servo,
    settings: ExcitationSettings,
    family: Family,
    limits: Sequence[Limits],
    known: Mapping[str, float],
) -> tuple[tuple[Limit, ...], list[Finding]]:
    """The speed and torque curve of servos, their commands, and how fast a motion may be for their log."""
    part = (1.0 - settings.margin) * THRESHOLDS.between_samples
    drive = ServoDrive.of(model, servo, known, settings.rate)
    shown = LogRateLimit.of(family, settings.rate)
    joints, unknown = model.robot.independent_joints, list[Finding]()
    smooth = [one.name for one, size in zip(joints, drive.loss.fixed, strict=True) if not size]
    if smooth and settings.margin < THRESHOLDS.servo_margin:
        unknown.append(Finding.of("servo-friction-unknown", "torques", joints=smooth))
    return (DutyLimit(drive).tightened(part), CommandLimit.of(drive, limits).tightened(part), shown), unknown


def _clearance(
    settings: ExcitationSettings, robot: Robot, limits: Sequence[Limits], grid: Grid
) -> tuple[list[Limit], tuple[Finding, ...]]:
    """The limit on distances between the robot and itself and its surroundings, where there is anything to touch."""
    if not settings.collisions:
        return [], ()
    found = collisions_of(settings, robot, limits)
    if not found.model.pairs:
        return [], found.findings
    cycle = grid.free.family.cycle
    count = int(np.clip(THRESHOLDS.clearance_rate * cycle, len(grid.times), THRESHOLDS.most_clearance_samples))
    limit = ClearanceLimit(found.model, found.moving, settings.clearance, count)
    posture = posture_of(settings, robot)
    for key, stated in (("start", None if None in posture else posture), ("home", settings.home)):
        if stated is not None:
            limit.require_clear(np.array(stated, dtype=float), key)
    part = (1.0 - settings.margin) * THRESHOLDS.clearance_between_samples
    return [limit.tightened(part)], found.findings


def _information(
    noise: Sequence[float],
    settings: ExcitationSettings,
    base: BaseParameters,
    known: Sequence[Factors],
    limits: Sequence[Limits],
) -> Information:
    """What a design looks at: rows weighed by noise that is stated, and alike where it is only assumed.

    Weighed by a share of their ranges, wrists would count for more than all other joints, and their parameters, whose
    columns are not scaled, would seem well excited: designs then neglect them (docs/excitation.md).
    """
    weights = np.ones(len(noise)) if settings.noise is None else min(noise) / np.array(noise)
    slowest = min(limit.velocity for limit in limits)
    scales = scales_of(settings, base)
    return Information(base, scales, weights, _known(weights, base, known) * scales, smoothing=0.03 * slowest)


def measured_information(noise: Sequence[float], base: BaseParameters, known: Sequence[Factors]) -> Information:
    """The information of torques with noise [N m or N] of each joint, and of logs that exist, in their own units."""
    weights = 1.0 / np.array(noise)
    return Information(base, np.ones(len(base)), weights, _known(weights, base, known))


def _known(weights: Array, base: BaseParameters, known: Sequence[Factors]) -> Array:
    """One factor of all logs that exist, rows weighed, shape (k, base)."""
    by_joint = dict(zip(base.model.row_names, weights.tolist(), strict=True))
    return known_factor([one.weighted(by_joint).stacked(base.names, base.known).R for one in known], len(base))


def scales_of(settings: ExcitationSettings, base: BaseParameters) -> Array:
    """What each column is multiplied with, as settings state it, shape (base,)."""
    scales = np.ones(len(base))
    if settings.scale == "magnitudes":
        values = reference_values(base)
        for k, value in enumerate(values):
            alike = [abs(other or 0.0) for other, unit in zip(values, base.units, strict=True) if unit == base.units[k]]
            scales[k] = max(abs(value or 0.0), 0.01 * max(alike)) or 1.0
    for pattern, std in settings.prior_std.items():
        for name in matching([pattern], base.names):
            scales[base.names.index(name)] = std
    return scales


def _free(
    settings: ExcitationSettings, family: Family, posture: Sequence[float | None], robot: Robot
) -> FreeCoefficients:
    moving = moving_of(settings, robot)
    if moving is not None and not any(moving):
        raise InvalidRequestError("no joint moves; name one or more in [excitation] moving")
    free = free_coefficients(family, posture, moving)
    needed = [0 if moving is not None and not moving[k] else 1 + (posture[k] is None) for k in range(robot.nv)]
    if any(size < least for size, least in zip(free.sizes, needed, strict=True)):
        raise InvalidRequestError(family.more_room)
    return free
