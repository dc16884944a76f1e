"""Joint parameters from commands and positions: a regression with a search for the delay, then output error.

The robot's links are known; what moves beside them is estimated: armature, friction, offsets, and the delay of the
commands, encoder biases or scales of gains where they are asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import (
    CommandFit,
    CommandRows,
    LogErrors,
    OutputErrorFit,
    Unknowns,
    command_rows,
    fit_at,
    fit_output_error,
    shares_of_readings,
    steps_of_readings,
)
from dynid.identification.commanded_robot import STEP, CommandedRobot, LawPoint, loaded, lowest
from dynid.identification.friction_starts import friction_starts
from dynid.logs import Control, LawForm, Log
from dynid.model import Role
from dynid.simulation import RolloutParameters, sensitivities

Progress = Callable[[str], None]

LONGEST_DELAY = 0.1
"""Longest delay of commands that is looked for [s]."""

LOOKED_AT = 2
"""Logs whose rollouts decide on the delay to start from."""

CLEARLY = 0.98
"""Error of rollouts with another form of the law, over that of the continuous one, from which it is taken."""


@dataclass(frozen=True)
class OtherForm:
    """A form of the law that fits as well as the one that was taken.

    Attributes:
        form: The form.
        ratio: Its error of rollouts, over that of the form that was taken.
        armature: Median relative change of the armatures with it.
        viscous: The same of viscous friction.
    """

    form: LawForm
    ratio: float
    armature: float
    viscous: float

    @property
    def change(self) -> float:
        """The larger change."""
        return max(abs(self.armature), abs(self.viscous))


@dataclass(frozen=True, eq=False)
class Fitted:
    """What commands show.

    Attributes:
        robot: The robot and the logs.
        point: Where its rollouts are nearest to what was measured.
        regression: Where they are with the regression alone.
        fit: The regression.
        columns: What output error estimated; empty without it.
        output_error: Output error; None without it.
        profile: Delays that were tried, with the error of rollouts [rad or m] at the values that fit there.
        seconds: Time of the regression, and of output error [s].
        every: Every how many samples the regression has a row.
        scales: Gains over stated ones that would explain the motion best, shape (joints,); NaN where that is not clear.
        other_form: Another form of the law that fits as well; None where there is none.
    """

    robot: CommandedRobot
    point: LawPoint
    regression: LawPoint
    fit: CommandFit
    columns: RolloutParameters
    output_error: OutputErrorFit | None
    profile: tuple[tuple[CommandFit, float], ...]
    seconds: tuple[float, float]
    every: int
    scales: Array
    other_form: OtherForm | None = None


def fit_commands(robot: CommandedRobot, progress: Progress = lambda _: None, starts: Sequence[LawPoint] = ()) -> Fitted:
    """Estimate what moves beside the links of a robot under commands.

    Args:
        robot: The robot and the logs.
        progress: Callback; receives a short description of each step.
        starts: Where output error may start besides, such as estimates of a poorer model; only with Stribeck friction.

    Raises:
        InvalidRequestError: If rollouts fly off with every delay.
    """
    start = time.perf_counter()
    control = robot.control
    progress("Regression on the torques of the control law")
    known = {k - robot.first: value for k, value in robot.known.items()}
    links = [loaded(robot.links, log, robot.model.robot) for log in robot.logs]
    rows = [command_rows(log, robot.model, own, known) for log, own in zip(robot.logs, links, strict=True)]
    form = forms_of(control)[0]
    profile = delay_profile(robot, rows, form)
    fit, error = min(profile, key=lambda trial: trial[1])
    first, scales = time.perf_counter() - start, _explaining_scales(rows, fit, form)
    if not math.isfinite(error):
        ratio = float(np.nanmedian(scales)) if np.isfinite(scales).any() else math.nan
        why = f" (gains that are {ratio:.3g} times the stated ones would explain it)" if math.isfinite(ratio) else ""
        raise InvalidRequestError(
            "no rollout stays near the log: with the parameters of the regression, the simulated robot flies off"
            f"{why}; check kp and kd, the order and signs of columns, and that the robot hangs as its file says"
        )
    regression = robot.point(fit, form)
    plain = Fitted(
        robot, regression, regression, fit, RolloutParameters(), None, profile, (first, 0.0), rows[0].every, scales
    )
    return refined(plain, rows, progress, starts) if control.output_error else plain


def refined(plain: Fitted, rows: Sequence[CommandRows], progress: Progress, starts: Sequence[LawPoint] = ()) -> Fitted:
    """A regression refined by output error; as it is where rollouts fly off."""
    start, robot = time.perf_counter(), plain.robot
    point, other = _with_better_form(robot, rows, _with_best_speeds(plain, progress, starts), progress)
    columns = unknown_columns(robot, bias=_shows_bias(robot, point, progress))
    found = _output_error(robot, point, columns, range(len(robot.logs)), progress, fine=True)
    point = plain.regression if found is None else at_values(point, columns, found.values)
    seconds = plain.seconds[0], time.perf_counter() - start
    return replace(plain, point=point, columns=columns, output_error=found, seconds=seconds, other_form=other)


FIRST_STEPS = 7
"""Most steps of output error from each Stribeck velocity that is tried."""


def _with_best_speeds(plain: Fitted, progress: Progress, starts: Sequence[LawPoint]) -> LawPoint:
    """Where output error starts: at the regression; with Stribeck velocities, where that of one log ends nearest.

    That log is the one in the middle by what motors give: friction of loaded gears does not show without a load, and
    under the largest one joints stick and slip at other times than measured, where steps end in local minima. All logs
    decide what is nearest.
    """
    robot = plain.robot
    guesses = friction_starts(robot, plain.regression)
    if not guesses:
        return plain.regression
    best, least = plain.regression, math.inf
    middle = int(np.argsort([np.abs(log.torque).mean() for log in robot.logs])[len(robot.logs) // 2])
    columns = replace(unknown_columns(robot, bias=False), delay=False)
    for start in (*guesses, *starts):
        progress("Stribeck velocities to start from")
        fitted = _output_error(robot, start, columns, [middle], lambda _: None, iterations=FIRST_STEPS)
        point = None if fitted is None else at_values(start, columns, fitted.values)
        error = math.inf if point is None else robot.rmse(point)
        if point is not None and error < least:
            best, least = point, error
    return best


CLEAR = 0.5
"""Relative error of a joint's regression below which it shows whether gains are in other units."""


def _explaining_scales(rows: Sequence[CommandRows], fit: CommandFit, form: LawForm) -> Array:
    """Gains over stated ones that explain the motion of the first log best, shape (joints,); NaN where not clear."""
    scaled = fit_at(rows[:1], fit.delay, form, scale=True)
    return np.where(scaled.relative_error < CLEAR, scaled.scales, np.nan)


def _shows_bias(robot: CommandedRobot, start: LawPoint, progress: Progress) -> bool:
    """Whether encoders are biased: as stated, or where that lowers the error of logs that it was not fitted to."""
    stated = robot.control.bias
    if stated != "auto":
        return stated
    if len(robot.logs) < 2:
        return False
    progress("Whether encoders are biased")
    own, others = [0], [len(robot.logs) - 1]
    errors, bounds = [], []
    for bias in (False, True):
        columns = unknown_columns(robot, bias=bias)
        fitted = _output_error(robot, start, columns, own, lambda _: None)
        if fitted is None:
            return False
        errors.append(robot.rmse(at_values(start, columns, fitted.values), others))
        bounds.append(len(fitted.at_bounds))
    return errors[1] < CLEARLY * errors[0] and bounds[1] <= bounds[0]


def regression_form(form: LawForm, control: Control, log: Log) -> LawForm:
    """The form of the law for regressions, whose torques are held between stamps: not where ticks are much faster."""
    is_fast = control.rate is not None and control.rate * float(np.median(np.diff(log.time))) >= FAST_TICKS
    return "continuous" if is_fast else form


FAST_TICKS = 2.0
"""Ticks of a law between two stamps from which it is nearly continuous."""


def forms_of(control: Control) -> tuple[LawForm, ...]:
    """Forms of the law that may be: the one that is stated, or those that go with its rate."""
    if control.law != "auto":
        return (control.law,)
    return ("continuous", "sampled") if control.rate is None else ("sampled",)


def delay_profile(
    robot: CommandedRobot, rows: Sequence[CommandRows], form: LawForm
) -> tuple[tuple[CommandFit, float], ...]:
    """Regressions at several delays, each with the error of its rollouts, in the order of the delays."""
    control, scale = robot.control, robot.control.gains == "scale"
    looked_at = [*range(len(robot.logs))][:: max(1, len(robot.logs) // LOOKED_AT)][:LOOKED_AT]
    tried: dict[float, tuple[CommandFit, float]] = {}

    def attempt(delay: float) -> float:
        if delay not in tried:
            fit = fit_at(rows, delay, regression_form(form, control, rows[0].log), scale=scale)
            tried[delay] = fit, robot.rmse(robot.point(fit, form), looked_at)
        return tried[delay][1]

    if control.delay != "auto":
        attempt(float(control.delay))
        return tuple(tried.values())
    period = float(np.median(np.diff(robot.logs[0].time)))
    step = max(period, 2e-3)
    delay, best = 0.0, attempt(0.0)
    while delay + step <= LONGEST_DELAY and (attempt(delay + step) < best or not math.isfinite(best)):
        delay, best = delay + step, attempt(delay + step)
        step *= 1.5
    if delay == 0.0:
        attempt(-0.5 * period)
    order = sorted(tried)
    k = order.index(min(order, key=lambda d: tried[d][1]))
    near = order[max(0, k - 1) : k + 2]
    if len(near) == 3 and all(math.isfinite(tried[d][1]) for d in near):
        attempt(_vertex(near, [tried[d][1] for d in near]))
    return tuple(tried[d] for d in sorted(tried))


def _vertex(x: Sequence[float], y: Sequence[float]) -> float:
    """Where the parabola through three points is lowest."""
    curve = np.polyfit(np.array(x) - x[1], y, 2)
    lowest_at = float(x[1] - curve[1] / (2.0 * curve[0])) if curve[0] > 0.0 else x[int(np.argmin(y))]
    return min(max(lowest_at, x[0]), x[-1])


def unknown_columns(robot: CommandedRobot, *, bias: bool) -> RolloutParameters:
    """What output error estimates, with encoder biases or without."""
    control, joints = robot.control, tuple(range(robot.model.robot.nv))
    scale = joints if control.gains == "scale" else ()
    return RolloutParameters(
        model=robot.estimated,
        delay=control.delay == "auto",
        nonlinear=robot.estimated_speeds,
        bias=joints if bias else (),
        kp=scale,
        kd=scale,
        limit=scale if robot.is_servo else (),
    )


def _with_better_form(
    robot: CommandedRobot, rows: Sequence[CommandRows], start: LawPoint, progress: Progress
) -> tuple[LawPoint, OtherForm | None]:
    """The point to start from, with the form of the law whose output error is clearly less on some logs.

    And another form that fits as well, with what it would change; None where there is none.
    """
    forms = forms_of(robot.control)
    if len(forms) == 1:
        return start, None
    looked_at = [len(robot.logs) // 2]  # one log shows it as well as all
    columns = unknown_columns(robot, bias=robot.control.bias is True)
    found: dict[LawForm, tuple[float, LawPoint]] = {}
    for form in forms:
        progress(f"How the control law acts: {form}?")
        begin = start
        if form != start.form:
            fit, error = min(delay_profile(robot, rows, form), key=lambda trial: trial[1])
            if not math.isfinite(error):
                continue
            begin = robot.point(fit, form)
        fitted = _output_error(robot, begin, columns, looked_at, lambda _: None)
        if fitted is not None:
            found[form] = fitted.rmse, at_values(begin, columns, fitted.values)
    if not found:
        return start, None
    best: LawForm = min(found, key=lambda form: found[form][0])
    chosen: LawForm = next(form for form in forms if form in found and found[form][0] * CLEARLY <= found[best][0])
    others: list[LawForm] = [form for form in found if form != chosen and found[form][0] * CLEARLY <= found[chosen][0]]
    return found[chosen][1], _changes(robot, found, chosen, others)


def _changes(
    robot: CommandedRobot, found: Mapping[LawForm, tuple[float, LawPoint]], chosen: LawForm, others: Sequence[LawForm]
) -> OtherForm | None:
    """The form that would change most among those that fit as well."""
    model, (error, point) = robot.model, found[chosen]
    candidates = []
    for form in others:
        changes = []
        for role in (Role.ARMATURE, Role.VISCOUS):
            at = [k for k in robot.estimated if model.parameters[k].role is role and point.p[k] > 0.0]
            changes.append(float(np.median(found[form][1].p[at] / point.p[at])) - 1.0 if at else 0.0)
        candidates.append(OtherForm(form, found[form][0] / error, *changes))
    largest = max(candidates, key=lambda one: one.change, default=None)
    return largest if largest is not None and largest.change > 0.0 else None


def _output_error(
    robot: CommandedRobot,
    start: LawPoint,
    columns: RolloutParameters,
    logs: Sequence[int],
    progress: Progress,
    *,
    fine: bool = False,
    iterations: int = 20,
) -> OutputErrorFit | None:
    unknowns = unknowns_of(robot, start, columns)
    settled = [_settled(robot, start, robot.logs[k]) for k in logs]
    shares: list[Array | None] = [None] * len(logs)

    def simulate(k: int, values: Array, slopes: bool) -> LogErrors | None:
        log, point = robot.logs[logs[k]], at_values(start, columns, values)
        rollout = robot.roll_out(logs[k], point, steps_kept=slopes)
        if rollout.ended is not None:
            return None
        S = _joined(sensitivities(rollout, columns).position[settled[k] :], columns, point) if slopes else None
        return LogErrors((log.position - rollout.q)[settled[k] :], S, log.weight, shares[k])

    def recount(errors: Sequence[Array]) -> bool:
        positions = [robot.logs[k].position[first:] for k, first in zip(logs, settled, strict=True)]
        steps = np.min([steps_of_readings(position) for position in positions], axis=0)
        rounded = np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0)) < steps
        steps = np.where(rounded, steps, 0.0)
        shares[:] = [shares_of_readings(q - error, steps) for q, error in zip(positions, errors, strict=True)]
        return bool(rounded.any())

    def finely(k: int, values: Array, division: int) -> Array | None:
        point = at_values(start, columns, values)
        rollout = robot.roll_out(logs[k], point, step=STEP / division)
        return None if rollout.ended is not None else (robot.logs[logs[k]].position - rollout.q)[settled[k] :]

    at_last = {"finely": finely, "recount": recount} if fine else {}
    return fit_output_error(simulate, len(logs), unknowns, progress, iterations=iterations, **at_last)


SETTLED = 8.0
"""Time constants of the slowest joint under its law after which nothing is seen of how a rollout started ..."""

START = 0.1
"""... and the largest share of a log that is left out for that."""


def _settled(robot: CommandedRobot, point: LawPoint, log: Log) -> int:
    """Samples of a log until its start has faded.

    Velocities at the first sample are not known well, nor what was commanded before it. In a log that begins in motion
    that made errors half as large again, and delays too short by two standard deviations.
    """
    commands = log.commands
    kp, kd = (gain.mean(axis=0) * point.scales for gain in (commands.kp, commands.kd))
    p = loaded(point.p, log, robot.model.robot)
    inertia = np.abs(np.diag(robot.model.mass_matrices(log.position[:1], p)[0]))
    slowest = float(np.max(np.maximum(kd, np.sqrt(inertia * kp)) / np.maximum(kp, 1e-9)))
    late = np.searchsorted(log.time, log.time[0] + SETTLED * slowest)
    return int(min(late, START * len(log)))


def _joined(S: Array, columns: RolloutParameters, point: LawPoint) -> Array:
    """Slopes over unknowns: gains, and limits of servos, have one scale together, relative to stated ones."""
    if not columns.kp:
        return S
    n, scaled = len(columns.kp), columns.scaled
    parts = S[..., -scaled:].reshape(*S.shape[:-1], scaled // n, n)
    return np.concatenate([S[..., :-scaled], parts.sum(axis=-2) / point.scales[[*columns.kp]]], axis=-1)


def unknowns_of(robot: CommandedRobot, point: LawPoint, columns: RolloutParameters) -> Unknowns:
    """The unknowns of output error, at a point to start from."""
    model = robot.model
    unscaled = len(columns) - columns.scaled
    names = [
        *columns.names(model)[:unscaled],
        *(name.replace("kp", "scale") for name in columns.names(model)[unscaled:]),
    ]
    names = names[: unscaled + len(columns.kp)]
    log = robot.logs[0]
    period = float(np.median(np.diff(log.time)))
    speeds = [model.nonlinear[k] for k in columns.nonlinear]
    values = [point.p[[*columns.model]], [point.delay] * columns.delay, _speeds(point)[[*columns.nonlinear]]]
    values += [point.bias[[*columns.bias]], point.scales[[*columns.kp]]]
    lower = [[lowest(model, k) for k in columns.model], [-period] * columns.delay, [one.lower for one in speeds]]
    scales = point.scales[[*columns.kp]]
    lower += [[-math.inf] * len(columns.bias), 0.01 * scales]
    upper = [[math.inf] * len(columns.model), [2.0 * LONGEST_DELAY] * columns.delay, [one.upper for one in speeds]]
    upper += [[math.inf] * len(columns.bias), 100.0 * scales]
    owners = {joint.name: joint.v.start for joint in model.robot.independent_joints}
    rows = [owners.get(model.parameters[k].owner, -1) for k in columns.model]
    rows += [-1] * columns.delay + [owners[one.owner] for one in speeds] + [*columns.bias] + [*columns.kp]
    sizes = [*_sizes(robot, point, columns.model, rows), *[0.05] * columns.delay, *[SPEED] * len(speeds)]
    sizes += [*[0.2] * len(columns.bias), *scales]
    start, low, high = (
        np.concatenate([np.asarray(part, dtype=float) for part in parts]) for parts in (values, lower, upper)
    )
    return Unknowns(tuple(names), start, low, high, np.array(sizes), tuple(rows))


SPEED = 1.0
"""Change of a Stribeck velocity [rad/s] that is large."""


def _speeds(point: LawPoint) -> Array:
    return np.zeros(0) if point.speeds is None else point.speeds


def _sizes(robot: CommandedRobot, point: LawPoint, model: Sequence[int], rows: Sequence[int]) -> list[float]:
    """Changes of linear parameters that are large: as large as what the law does with its gains and torques."""
    log = robot.logs[0]
    commands = log.commands
    kp, torque = commands.kp.mean(axis=0) * point.scales, log.torque.std(axis=0) + np.abs(log.torque).mean(axis=0)
    middle = log.position[len(log) // 2]
    M = robot.model.mass_matrices(middle[None], point.p)[0]
    inertia = np.abs(np.diag(M)) + 1e-6
    found = []
    for k, row in zip(model, rows, strict=False):
        j = max(row, 0)
        role = robot.model.parameters[k].role
        damping = 2.0 * math.sqrt(max(kp[j], 1e-6) * inertia[j])
        sizes = {Role.ARMATURE: inertia[j], Role.VISCOUS: damping, Role.SPRING: max(kp[j], 1e-6)}
        per_torque = {"1": 1.0, "1/(N m)": 1.0 / max(torque[j], 1e-6)}.get(robot.model.parameters[k].unit)
        found.append(float(sizes.get(role, max(torque[j], 1e-6)) if per_torque is None else per_torque))
    return found


def at_values(point: LawPoint, columns: RolloutParameters, values: Array) -> LawPoint:
    """The point at values of the unknowns."""
    p, bias, scales = np.array(point.p), np.array(point.bias), np.array(point.scales)
    first = len(columns.model)
    p[[*columns.model]] = values[:first]
    delay = float(values[first]) if columns.delay else point.delay
    first += int(columns.delay)
    speeds = np.array(_speeds(point))
    speeds[[*columns.nonlinear]] = values[first : first + len(columns.nonlinear)]
    first += len(columns.nonlinear)
    bias[[*columns.bias]] = values[first : first + len(columns.bias)]
    first += len(columns.bias)
    scales[[*columns.kp]] = values[first : first + len(columns.kp)]
    return replace(point, p=p, delay=delay, bias=bias, scales=scales, speeds=speeds)
