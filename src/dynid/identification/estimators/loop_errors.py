"""Closed-loop errors: parameters whose simulation in a log's own loop comes nearest to the log.

The robot is simulated under the control law of each log. Output error (CLOE) compares measured and simulated positions,
input error (CLIE) measured torques and those of the law along the simulated motion; input and output error (CLIOE)
compares both, with weights that make their errors white together (`joint_errors.py`), which is maximum likelihood for
errors that are Gaussian. All are minimised by damped Gauss-Newton steps with exact sensitivities, over robots that can
exist. Where each stretch of a log starts is estimated beside, because its measured start is noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.equivalent_rows import whitened_factors
from dynid.estimation.factors.factors import Factor
from dynid.estimation.factors.reduced_logs import FOLDS, reduce_logs
from dynid.estimation.output_error.free_links import FreeLinks
from dynid.estimation.physical.physical_estimate import problem_of, weighed
from dynid.estimation.physical.semidefinite import fit
from dynid.identification.estimators.joint_errors import JointErrors, white_joint
from dynid.identification.estimators.linear_errors import LinearErrors
from dynid.identification.estimators.loops import DivergedError, Loop, Stretch
from dynid.identification.estimators.rows_from_loops import SETTLED, LoopProblem, LoopRows, has_settled
from dynid.model import Sign
from dynid.simulation import Rollout, SimulatedRobot
from dynid.simulation.rollout_sensitivity import RolloutParameters, Sensitivities, sensitivities

Kind = Literal["clie", "cloe", "clioe"]
"""What is compared: torques, positions, or both."""

NAMES: dict[Kind, str] = {
    "clie": "Closed-loop input error",
    "cloe": "Closed-loop output error",
    "clioe": "Closed-loop input and output error",
}

WORDS: dict[Kind, str] = {"clie": "torques", "cloe": "positions", "clioe": "positions and torques"}
"""What is compared, in words."""

CHANNELS: dict[Kind, tuple[str, ...]] = {"clie": ("torque",), "cloe": ("position",), "clioe": ("position", "torque")}
"""The same, as attributes of stretches."""

DIVIDED = 4
"""By what steps of a loop's simulation are divided. Where a law is stiff, steps of the loop's own length have wrong
slopes over the first velocities, and input error then takes twice the iterations. Errors of the steps that are left
act like other parameters: they are extrapolated from a second rollout, whose steps are half as long."""

DAMPINGS = (0.1, 10.0, 1e3, 1e5, 1e7)
"""Dampings of a step, one after the other until it improves; in squared standard deviations of the errors for a link
whose inertia changes about threefold."""


def closed_loop_errors(problem: LoopProblem, start: Array, kind: Kind) -> LoopRows:
    """Gauss-Newton on positions (output error) or torques (input error), or both, of robots in the loops of logs.

    Args:
        problem: Logs in their loops, whose laws are stated.
        start: Standard parameters to begin with, shape (parameters,); made physically consistent where they are not.
        kind: "cloe" for positions, "clie" for torques, "clioe" for both.

    Returns:
        Factors whose least squares are the Gauss-Newton optimum over base parameters, with its covariance for errors
        that are white, or were made so.

    Raises:
        InvalidRequestError: If a law is assumed, or nothing was measured that could be compared.
        DivergedError: If the simulated robot does not follow.
    """
    require_stated(problem.loops, kind)
    compared = _Compared(problem, kind)
    now = compared.at(_physical(problem, start), [stretch.start for stretch in compared.stretches])
    values, k, settled = None, 0, False
    while True:
        k += 1
        problem.progress(f"{NAMES[kind]}: iteration {k}")
        linear = compared.linearised(now)
        found, covariance = linear.solution
        settled = values is not None and has_settled(found, values, covariance)
        if settled or k >= problem.most:
            break
        step = compared.improved(now, linear)
        values = found
        if step.point is None:  # the optimum only where nothing was to be gained
            settled = step.gain <= SETTLED**2 * len(found)
            break
        now = step.point
    rows = whitened_factors(problem.base, *linear.equations, linear.rows)
    return LoopRows([rows], k, settled, now.links.parameters, folds=linear.folds())


def require_stated(loops: Sequence[Loop], kind: Kind) -> None:
    """Refuse loops whose law is not known.

    Raises:
        InvalidRequestError: If the law of one is assumed; says what to state.
    """
    for k, loop in enumerate(loops, start=1):
        if loop.law != "stated":
            raise InvalidRequestError(
                f"estimator = '{kind}' compares {WORDS[kind]} of the robot simulated under its real controller, and "
                f"that of log {k} is not known; state position_command, kp and kd of the log, or use estimator = 'iv'"
            )


def law_torques(
    run: Rollout, q: Array, v: Array, *, is_held: bool = True, every: int = 1
) -> tuple[Array, Array, Array]:
    """Torques of the law at the stamps along a motion, and their derivatives over positions and over velocities.

    Args:
        run: A rollout, for its commands and their delay.
        q: Positions as encoders measure them [rad or m], shape (stamps, nv).
        v: Velocities, shape (stamps, nv).
        is_held: Whether each command is held until the next; otherwise it is the mean until then, and the law has, at a
            stamp, the mean of the commands on both sides of it.
        every: Of how many stamps of the commands q and v have one, beginning with the first.

    Returns:
        Torques [N m or N] and the two derivatives, each of shape (stamps, nv); zero where a motor is at its limit.
    """
    control = run.control
    seen = np.searchsorted(control.time, control.time[::every] - run.delay + 1e-9, side="right") - 1
    now = np.clip(seen, 0, len(control.time) - 1)
    before = now if is_held else np.clip(seen - 1, 0, len(control.time) - 1)
    kp, push, kd, feed, torque = (0.5 * (part[before] + part[now]) for part in control.held)
    u = push + feed + torque - kp * q - kd * v
    if control.limit is None:
        return u, -kp, -kd
    free = np.abs(u) < control.limit
    return np.clip(u, -control.limit, control.limit), np.where(free, -kp, 0.0), np.where(free, -kd, 0.0)


@dataclass(frozen=True, eq=False)
class _Point:
    """A robot, the starts of its stretches, and how far its simulation is from the logs.

    Attributes:
        links: The robot.
        starts: Positions and velocities at the first stamp of each stretch.
        runs: Rollouts of the stretches, with their steps.
        errors: Measured less simulated values of each stretch, each of shape (samples, channels, nv); NaN where not
            measured.
    """

    links: FreeLinks
    starts: list[tuple[Array, Array]]
    runs: list[Rollout]
    errors: list[Array]


@dataclass(frozen=True, eq=False)
class _Linear(LinearErrors):
    """Errors around a point, with how their rows are made.

    Attributes:
        joints: How rows of each joint are made.
    """

    joints: tuple[JointErrors, ...] = ()


@dataclass(frozen=True, eq=False)
class _Step:
    """A step.

    Attributes:
        point: Where it leads; None where none improves.
        gain: What the first one that was tried should have taken off the squared errors, in their variances.
    """

    point: _Point | None
    gain: float


class _Compared:
    """Logs beside their simulation.

    Args:
        problem: Logs in their loops.
        kind: What is compared.
    """

    def __init__(self, problem: LoopProblem, kind: Kind) -> None:
        self.problem, self.kind, self.base = problem, kind, problem.base
        self.channels = CHANNELS[kind]
        self.stretches = [stretch for loop in problem.loops for stretch in loop.stretches]
        pairs = zip(problem.loops, problem.logs, strict=True)
        self.weights = [log.weight for loop, log in pairs for _ in loop.stretches]
        self.measured = [self._measured(stretch) for stretch in self.stretches]
        for k, channel in enumerate(self.channels):
            if not any(np.isfinite(one[:, k]).any() for one in self.measured):
                raise InvalidRequestError(
                    f"no {channel}s were measured that estimator = '{kind}' could compare; log them"
                )
        nv = self.base.model.robot.nv
        joints = tuple(range(nv))
        self.unknowns = RolloutParameters(self.base.columns, start_position=joints, start_velocity=joints)
        starts = tuple(f"start {what} {j}" for what in ("position", "velocity") for j in joints)
        self.names = (*starts, *self.base.names)
        self.is_white = kind == "clioe" and problem.settings.method == "wls"

    def _measured(self, stretch: Stretch) -> Array:
        """Measured values of the channels, shape (samples, channels, nv)."""
        found = [getattr(stretch, channel) for channel in self.channels]
        assert all(values is not None for values in found)  # laws are stated
        return np.stack(found, axis=1)

    def rollouts(
        self, links: FreeLinks, starts: Sequence[tuple[Array, Array]], *, steps_kept: bool = False, divided: int = 1
    ) -> list[Rollout]:
        """Rollouts of all stretches.

        Raises:
            DivergedError: If the robot does not follow.
        """
        robot, left, found = SimulatedRobot.of(self.base.model, links.parameters), list(starts), list[Rollout]()
        for loop in self.problem.loops:
            own = tuple(replace(stretch, start=left.pop(0)) for stretch in loop.stretches)
            found += replace(loop, stretches=own).rollouts(robot, steps_kept=steps_kept, divided=divided)
        return found

    def at(self, links: FreeLinks, starts: Sequence[tuple[Array, Array]]) -> _Point:
        """A robot and its errors, by finer steps.

        Raises:
            DivergedError: If it does not follow.
        """
        runs = self.rollouts(links, starts, steps_kept=True, divided=DIVIDED)
        finer = self.rollouts(links, starts, divided=2 * DIVIDED)
        errors = []
        for stretch, measured, run, fine in zip(self.stretches, self.measured, runs, finer, strict=True):
            pairs = ((fine.q, run.q), (fine.v, run.v))
            q, v = ((x + (x - coarse) / 3.0)[:: stretch.every] for x, coarse in pairs)
            own = {"position": q, "torque": self._law(run, q, v, stretch.every)[0]}
            errors.append(measured - np.stack([own[channel] for channel in self.channels], axis=1))
        return _Point(links, list(starts), runs, errors)

    def _law(self, run: Rollout, q: Array, v: Array, every: int) -> tuple[Array, Array, Array]:
        return law_torques(run, q, v, is_held=self.problem.is_held, every=every)

    def linearised(self, now: _Point) -> _Linear:
        """Errors around a point as linear functions; rows are made white where both channels are compared."""
        slopes = [
            _Slopes(self, stretch, run, sensitivities(run, self.unknowns, every=stretch.every))
            for stretch, run in zip(self.stretches, now.runs, strict=True)
        ]
        measured = np.asarray(np.isfinite(np.concatenate(now.errors)).any(axis=0)).T
        joints = tuple(JointErrors(tuple(np.flatnonzero(own).tolist())) for own in measured)
        linear = self._linear(now, slopes, joints)
        if not self.is_white:
            return linear
        unknowns, white = linear.unknowns(), list[JointErrors]()
        for j, joint in enumerate(joints):
            errors, S = [one[..., j] for one in now.errors], [one.of_joint(j) for one in slopes]
            white.append(white_joint(joint.channels, errors, S, unknowns) if joint.channels else joint)
        return self._linear(now, slopes, tuple(white))

    def _linear(self, now: _Point, slopes: Sequence[_Slopes], joints: tuple[JointErrors, ...]) -> _Linear:
        """Errors as linear functions, with rows of joints made in some way."""
        total, blocks = sum(map(len, now.errors)), []
        for errors, S in zip(now.errors, slopes, strict=True):
            groups: list[list[Factor]] = []
            for j, joint in enumerate(joints):
                own = np.where(np.isfinite(errors[..., j])[..., None], S.of_joint(j), np.nan)
                for W, y in zip(joint.rows(own), joint.rows(errors[..., j]), strict=True):
                    parts = np.array_split(np.arange(len(y)), max(1, round(FOLDS * len(errors) / total)))
                    groups.append([Factor.of(self.names, W[part], y[part]) for part in parts])
            blocks.append([*zip(*groups, strict=True)])
        values, offsets = self.base.to_base(now.links.parameters), self._offsets(now.starts)
        weighted = self.problem.settings.method == "wls"
        kinds = tuple(0 if joint.noise else c for joint in joints for c in joint.channels[: joint.groups])
        return _Linear(self.base, values, blocks, offsets, self.weights, kinds if weighted else None, joints)

    def _offsets(self, starts: Sequence[tuple[Array, Array]]) -> list[Array]:
        pairs = zip(self.stretches, starts, strict=True)
        return [np.concatenate(stretch.start) - np.concatenate(start) for stretch, start in pairs]

    def improved(self, now: _Point, linear: _Linear) -> _Step:
        """The point after a step that improves.

        Raises:
            DivergedError: If the robot does not follow after any step.
        """
        stds, nv = linear.now, self.base.model.robot.nv
        factor, cost = linear.over_base(stds), self._cost(now, linear)
        gain, failure, followed = 0.0, None, False
        for damping in DAMPINGS:
            links = now.links.stepped(factor, damping)
            if links is None:
                continue
            change = self.base.to_base(links.parameters) - linear.values
            gain = gain or factor.residual_squares(np.zeros(len(change))) - factor.residual_squares(change)
            steps = linear.start_steps(change, stds)
            for share in (1.0, 0.0):  # dry joints that begin to stick, or to slip, make starts jump
                starts = [(q + share * s[:nv], v + share * s[nv:]) for (q, v), s in zip(now.starts, steps, strict=True)]
                try:
                    trial = self.at(links, starts)
                except DivergedError as error:
                    failure = error
                    continue
                followed = True
                if self._cost(trial, linear) < cost:
                    return _Step(trial, gain)
        if failure is not None and not followed:
            raise failure
        return _Step(None, gain)

    def _cost(self, point: _Point, linear: _Linear) -> float:
        """Sum of squares of errors in standard deviations, and of starts in theirs."""
        total = 0.0
        for errors, weight in zip(point.errors, self.weights, strict=True):
            groups = (rows for j, joint in enumerate(linear.joints) for rows in joint.rows(errors[..., j]))
            sizes = (float(np.sum((rows / std) ** 2)) for rows, std in zip(groups, linear.now, strict=True))
            total += weight**2 * sum(sizes)
        return total + sum(float(np.sum((each / linear.start_stds) ** 2)) for each in self._offsets(point.starts))


class _Slopes:
    """Derivatives of the errors of a stretch, joint by joint.

    Args:
        compared: What is compared.
        stretch: The stretch.
        run: Its rollout.
        slopes: The sensitivities of that at the samples of the log.
    """

    def __init__(self, compared: _Compared, stretch: Stretch, run: Rollout, slopes: Sensitivities) -> None:
        self.slopes, self.channels, count = slopes, compared.channels, len(compared.base)
        self.order = np.r_[count : slopes.shape[2], :count]  # starts come first
        q, v = run.q[:: stretch.every], run.v[:: stretch.every]
        _, self.by_position, self.by_velocity = compared._law(run, q, v, stretch.every)

    def of_joint(self, j: int) -> Array:
        """Derivatives of simulated values, shape (samples, channels, unknowns)."""
        samples, _, count = self.slopes.shape
        position, velocity = np.zeros((2, samples, count))
        for branch in self.slopes.branches:
            for at in np.flatnonzero(branch.joints == j):
                position[:, branch.columns] = branch.position[:, at]
                velocity[:, branch.columns] = branch.velocity[:, at]
        position, velocity = position[:, self.order], velocity[:, self.order]
        torque = self.by_position[:, j, None] * position + self.by_velocity[:, j, None] * velocity
        own = {"position": position, "torque": torque}
        return np.stack([own[channel] for channel in self.channels], axis=1)


def _physical(problem: LoopProblem, start: Array) -> FreeLinks:
    """The robot of standard parameters, shape (parameters,), or one that can exist and needs nearly the same torques.

    Raises:
        ConflictError: If what users state of links excludes it.
    """
    base = problem.base
    signed = np.array([parameter.sign is not Sign.NONNEGATIVE for parameter in base.model.parameters])
    p = np.where(signed, start, np.maximum(start, 0.0))
    known = {base.model.names.index(name): value for name, value in base.known.items()}
    p[list(known)] = list(known.values())
    try:
        return FreeLinks.of(base, p)
    except InvalidRequestError:
        rows = reduce_logs(problem.logs, problem.nonlinear, problem.settings).rows
        factor = weighed(rows, base, problem.settings.method)
        factor = replace(factor, z=factor.R @ base.to_base(start))
        p = fit(problem_of(factor, base, problem.physics))
        p[list(known)] = list(known.values())
        return FreeLinks.of(base, p)
