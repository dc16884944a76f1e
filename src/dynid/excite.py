"""Excitation as a recipe: from an experiment to motions that tell what is to be known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.config import ExcitationTable, Experiment, checked_excitation, is_experiment, read_experiment
from dynid.data.factors import Factors
from dynid.errors import DynidError, InvalidRequestError
from dynid.excitation.criteria import parse_criterion
from dynid.excitation.design import Design, Progress, design, require_time
from dynid.excitation.expectation import Expectation, expected_deviations, reference_values
from dynid.excitation.free_coefficients import FreeCoefficients, free_coefficients
from dynid.excitation.information import Information, condition_number, known_factor
from dynid.excitation.limits.amplitudes import AmplitudeLimit
from dynid.excitation.limits.frames import BoxLimit, FramePoint, SpeedLimit
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.limits.limit import Limit
from dynid.excitation.limits.torques import PriorTorques, RmsTorqueLimit, TorqueLimit
from dynid.excitation.motion import Grid
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.stacking import design_block_triangular, design_stack
from dynid.excitation.trajectories.fourier import Fourier
from dynid.files import is_file
from dynid.findings import Finding, Severity
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.parameters import matching
from dynid.pipeline import model_of
from dynid.robot.joints import Limits
from dynid.robot.robot import Robot

DEFAULT_PERIOD = 10.0
"""Period [s] of a motion where none is stated."""

_BETWEEN_SAMPLES = 0.99
"""Part of a limit that is left to values between a design's samples, where it is not known exactly."""


_UNTOLD = 1e6
"""Condition numbers above this mean that something is not excited at all."""


class BrokenLimitError(DynidError):
    """A motion breaks a limit, and is not written."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """Motions for an experiment, and what they will tell.

    Attributes:
        experiment: The experiment.
        designs: The motions, in the order in which they are run.
        condition_number: Of the base regressor of all motions and of what was known before, its rows in units of their
            noise.
        expectations: How sure least squares on all of that will be of each base parameter.
        findings: What users should know.
        seconds: How long it took [s].
    """

    experiment: Experiment
    designs: tuple[Design, ...]
    condition_number: float
    expectations: tuple[Expectation, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.designs[0].problem.information.base.model.robot

    def require_limits(self) -> None:
        """Refuse motions that break limits.

        Raises:
            BrokenLimitError: If one does; names the limit.
        """
        for found in self.designs:
            broken = next((check for check in found.checks if not check.is_kept), None)
            if broken is not None:
                raise BrokenLimitError(
                    f"the {broken.name} reaches {broken.reached[0]:.4g} to {broken.reached[1]:.4g} {broken.unit}, and "
                    f"{broken.limit[0]:.4g} to {broken.limit[1]:.4g} is allowed; design with more samples or a margin, "
                    "or add --force to write it nevertheless"
                )


def excite(
    experiment: Experiment,
    *,
    known: Sequence[Factors] = (),
    time_limit: float = 20.0,
    starts: int | None = None,
    segments: int = 1,
    block_triangular: bool = False,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Excitation:
    """Design exciting motions.

    Args:
        experiment: The experiment; it needs no logs.
        known: Factors of logs that exist already: the motions are for what these do not tell.
        time_limit: When to stop [s], with the best so far.
        starts: How many starts at most; as many as there is time for when None.
        segments: How many motions at most, each designed for what those before it do not tell.
        block_triangular: One motion for each joint instead: all joints move, then all but the first, and so on.
        seed: Seed of everything random.
        progress: Is told the best so far.
    """
    if block_triangular and segments > 1:
        raise InvalidRequestError("block-triangular motions are one for each joint; leave the number of segments out")
    require_time(time_limit)
    begin = time.monotonic()
    problem, findings = problem_of(experiment, known)
    left = time_limit - (time.monotonic() - begin)
    if left < 0.5 * time_limit:
        raise InvalidRequestError(f"a time limit of {time_limit:g} s is too short for this robot; allow more")
    if block_triangular:
        posture = _posture(experiment.excitation, problem.information.base.model.robot)
        found = design_block_triangular(problem, posture, time_limit=left, starts=starts, seed=seed, progress=progress)
    elif segments > 1:
        found = design_stack(problem, segments, time_limit=left, starts=starts, seed=seed, progress=progress)
    else:
        found = iter([design(problem, time_limit=left, starts=starts, seed=seed, progress=progress)])
    designs = tuple(found)
    M = _unscaled(designs[-1])
    condition = condition_number(M)
    if condition > _UNTOLD:
        text = (
            "the motion cannot tell all base parameters apart: its condition number is "
            f"{condition:.2g}; let more joints move, add harmonics or widen limits"
        )
        findings.append(Finding(Severity.WARNING, "excitation", text))
    noise = min(_per_joint("noise", experiment.excitation.noise, problem.information.base.model.robot))
    return Excitation(
        experiment,
        designs,
        condition,
        expected_deviations(problem.information.base, M / noise**2),
        tuple(findings),
        time.monotonic() - begin,
    )


def _unscaled(found: Design) -> Array:
    """Information of a design and of all before it, in the parameters' own units."""
    scales = found.problem.information.scales
    return found.problem.exact_matrix(found.trajectory) / np.outer(scales, scales)


def problem_of(experiment: Experiment, known: Sequence[Factors] = ()) -> tuple[ExcitationProblem, list[Finding]]:
    """The design problem that an experiment states, and what was noticed.

    Raises:
        InvalidRequestError: If the robot cannot be excited so, or what is stated contradicts itself.
    """
    settings = experiment.excitation
    model = model_of(experiment)
    robot = model.robot
    _require_single_joints(robot)
    base = find_base_parameters(model, known=experiment.known)
    if not len(base):
        raise InvalidRequestError(f"nothing of '{robot.name}' shows in its torques, so no motion can tell more")
    family = _family(settings)
    samples = settings.samples or max(150, 30 * settings.harmonics)
    if math.isinf(family.reach(samples)):
        raise InvalidRequestError(
            f"{samples} samples cannot show {settings.harmonics} harmonics; state {4 * settings.harmonics} or more"
        )
    posture = _posture(settings, robot)
    limits = joint_limits(settings, robot)
    bounds = JointBounds.of(robot, limits).tightened(1.0 - settings.margin)
    _require_posture(posture, limits, robot)
    others, findings = _other_limits(settings, robot, bounds, limits)
    _require_home(settings.home, limits, robot)
    grid = Grid.of(_free(settings, family, posture, robot), samples)
    problem = ExcitationProblem(
        grid,
        _information(settings, base, known, limits),
        parse_criterion(settings.criterion),
        bounds.tightened(1.0 / family.reach(samples)),
        others,
        settings.rate,
    )
    return problem, [*base.findings(), *findings]


def _require_single_joints(robot: Robot) -> None:
    odd = next((joint for joint in robot.joints if joint.kind.nv != 1), None)
    if odd is not None:
        raise InvalidRequestError(
            f"joint '{odd.name}' of '{robot.name}' is {odd.kind.value}, and exciting motions are for joints of one "
            "degree of freedom; load the robot on a fixed base, or lock the joint"
        )


def _family(settings: ExcitationTable) -> Fourier:
    period = settings.period or DEFAULT_PERIOD
    return Fourier(settings.frequency or 2 * math.pi / period, settings.harmonics, settings.periods)


def joint_limits(settings: ExcitationTable, robot: Robot) -> list[Limits]:
    """The limits of each coordinate: the settings', or else the robot file's."""
    limits = [_with_followers(joint.v.start, robot) for joint in robot.independent_joints]
    if settings.position is not None:
        pairs = _ranges(settings.position, len(limits))
        if len(pairs) != len(limits):
            raise InvalidRequestError(
                f"excitation.position has {len(pairs)} ranges, and '{robot.name}' has {len(limits)} joints"
            )
        limits = [replace(one, lower=low, upper=high) for one, (low, high) in zip(limits, pairs, strict=True)]
    for key in ("velocity", "acceleration", "jerk", "effort"):
        stated = getattr(settings, key)
        if stated is not None:
            values = _per_joint(key, stated, robot)
            limits = [replace(one, **{key: value}) for one, value in zip(limits, values, strict=True)]
    return limits


def _ranges(stated: Sequence[tuple[float, float] | float], joints: int) -> list[tuple[float, float]]:
    """A range for each joint, of one each or of one for all."""
    ranges = [one for one in stated if isinstance(one, tuple)]
    ends = [one for one in stated if not isinstance(one, tuple)]
    return ranges or [(ends[0], ends[1])] * joints


def _with_followers(coordinate: int, robot: Robot) -> Limits:
    """The file's limits of a coordinate: its own joint's, narrowed by those of the joints that follow it."""
    found = Limits()
    for joint in robot.joints:
        if joint.v.start != coordinate:
            continue
        own, ratio = joint.limits, abs(joint.ratio)
        if joint.leader is None:
            found = own
        elif ratio > 0.0:
            ends = sorted((end - joint.offset) / joint.ratio for end in (own.lower, own.upper))
            room = own.lower < own.upper
            found = replace(
                found,
                lower=max(found.lower, ends[0]) if room else found.lower,
                upper=min(found.upper, ends[1]) if room else found.upper,
                velocity=min(found.velocity, own.velocity / ratio) if own.velocity > 0.0 else found.velocity,
            )
    return found


def _per_joint(key: str, values: tuple[float, ...] | float, robot: Robot) -> list[float]:
    if not isinstance(values, tuple):
        return [float(values)] * robot.nv
    if len(values) != robot.nv:
        raise InvalidRequestError(
            f"excitation.{key} has {len(values)} numbers, and '{robot.name}' has {robot.nv} joints"
        )
    return list(values)


def _posture(settings: ExcitationTable, robot: Robot) -> list[float | None]:
    posture: list[float | None] = [None] * robot.nv
    if isinstance(settings.start, dict):
        for name, value in settings.start.items():
            posture[robot.joint(name).v.start] = value
    elif len(settings.start) != robot.nv:
        raise InvalidRequestError(
            f"excitation.start has {len(settings.start)} numbers, and '{robot.name}' has {robot.nv} joints"
        )
    else:
        posture = list(settings.start)
    return posture


def _require_posture(posture: Sequence[float | None], limits: Sequence[Limits], robot: Robot) -> None:
    for joint, position, limit in zip(robot.independent_joints, posture, limits, strict=True):
        if position is not None and not limit.lower < position < limit.upper:
            raise InvalidRequestError(
                f"the start posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] start"
            )


def _require_home(home: Sequence[float] | None, limits: Sequence[Limits], robot: Robot) -> None:
    if home is None:
        return
    if len(home) != robot.nv:
        raise InvalidRequestError(f"excitation.home has {len(home)} numbers, and '{robot.name}' has {robot.nv} joints")
    for joint, position, limit in zip(robot.independent_joints, home, limits, strict=True):
        if not limit.lower <= position <= limit.upper:
            raise InvalidRequestError(
                f"the home posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] home"
            )


def _free(
    settings: ExcitationTable, family: Fourier, posture: Sequence[float | None], robot: Robot
) -> FreeCoefficients:
    moving = _moving(settings, robot)
    if moving is not None and not any(moving):
        raise InvalidRequestError("no joint moves; name one or more in [excitation] moving")
    free = free_coefficients(family, posture, moving)
    needed = [0 if moving is not None and not moving[k] else 1 + (posture[k] is None) for k in range(robot.nv)]
    if any(size < least for size, least in zip(free.sizes, needed, strict=True)):
        raise InvalidRequestError(
            f"motions of {family.harmonics} harmonics cannot start and end at rest; state 3 or more in "
            "[excitation] harmonics"
        )
    return free


def _moving(settings: ExcitationTable, robot: Robot) -> list[bool] | None:
    if settings.moving is None:
        return None
    columns = {robot.joint(name).v.start for name in settings.moving}
    return [k in columns for k in range(robot.nv)]


def _other_limits(
    settings: ExcitationTable, robot: Robot, bounds: JointBounds, limits: Sequence[Limits]
) -> tuple[tuple[Limit, ...], list[Finding]]:
    part = (1.0 - settings.margin) * _BETWEEN_SAMPLES
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
            text = "the robot's file states no inertias, so torques cannot be predicted and their limits are not kept"
            findings.append(Finding(Severity.WARNING, "torques", text))
    if settings.rms_effort is not None:
        rms = np.array(_per_joint("rms_effort", settings.rms_effort, robot))
        found.append(RmsTorqueLimit(torques, rms).tightened(part))
    for speed in settings.speed:
        found.append(SpeedLimit(FramePoint.of(robot, speed.frame), speed.limit).tightened(part))
    for box in settings.box:
        corners = np.array(box.lower), np.array(box.upper)
        found.append(BoxLimit(FramePoint.of(robot, box.frame), *corners).tightened(part))
    return tuple(found), findings


def _information(
    settings: ExcitationTable, base: BaseParameters, known: Sequence[Factors], limits: Sequence[Limits]
) -> Information:
    robot = base.model.robot
    noise = np.array(_per_joint("noise", settings.noise, robot))
    weights = noise.min() / noise
    scales = _scales(settings, base)
    by_joint = dict(zip(base.model.row_names, weights.tolist(), strict=True))
    parts = [factors.weighted(by_joint).stacked(base.names, base.known).R * scales for factors in known]
    slowest = min(limit.velocity for limit in limits)
    return Information(base, scales, weights, known_factor(parts, len(base)), smoothing=0.03 * slowest)


def _scales(settings: ExcitationTable, base: BaseParameters) -> Array:
    scales = np.ones(len(base))
    if settings.scale == "magnitudes":
        values = reference_values(base)
        for k, value in enumerate(values):
            alike = [abs(other or 0.0) for other, unit in zip(values, base.units, strict=True) if unit == base.units[k]]
            scales[k] = max(abs(value or 0.0), 0.01 * max(alike)) or 1.0
    for pattern, deviation in settings.deviations.items():
        for name in matching([pattern], base.names):
            scales[base.names.index(name)] = deviation
    return scales


def experiment_of(source: str, terms: Sequence[str], settings: Mapping[str, Any]) -> Experiment:
    """The experiment to design for, from a robot or from an experiment file.

    Args:
        source: A robot, or the path of an experiment.
        terms: What a robot's joints add.
        settings: Keys of `[excitation]` that replace the experiment's; those that are None do not.

    Raises:
        InvalidRequestError: If a value is none that it can have, or terms are given for an experiment.
    """
    is_toml = not source.startswith("builtin:") and is_experiment_file(Path(source))
    if is_toml and terms:
        raise InvalidRequestError(f"'{source}' states its terms itself; change them there")
    experiment = (
        read_experiment(Path(source), needs_logs=False) if is_toml else Experiment(robot=source, terms=tuple(terms))
    )
    given = {key: value for key, value in settings.items() if value is not None}
    stated = experiment.excitation.model_dump(exclude_defaults=True)
    if "period" in given:
        stated.pop("frequency", None)
    return experiment.model_copy(update={"excitation": checked_excitation({**stated, **given})})


def is_experiment_file(path: Path) -> bool:
    """Whether a path is that of an experiment, and not of a robot or of nothing."""
    return is_file(path) and is_experiment(path)


def known_factors(path: Path) -> Iterator[Factors]:
    """Factors of logs that exist: of a folder that `dynid identify` saved, or of one file of factors."""
    from dynid.result import load_result

    if path.is_dir():
        yield from load_result(path).logs
    else:
        yield Factors.load(path)
