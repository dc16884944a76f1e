"""Sensitivities of rollouts: derivatives of simulated positions over parameters of the model and of the control law.

They are exact derivatives of the steps that a rollout took, with their modes held: an element that sticks goes on
sticking, a motor at its limit does not follow its law. Joints of independent branches (legs on a locked trunk) never
act on each other, so that each branch has a recursion of its own, with the parameters that act on it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.model import prepare
from dynid.robot import SIZE
from dynid.simulation.branches import independent_branches
from dynid.simulation.control_rollout import Rollout
from dynid.simulation.gear_slopes import gears_of, nonlinear_columns
from dynid.simulation.law_slopes import LAW, LawSlopes, loaded_gears
from dynid.simulation.rollout_parameters import RolloutParameters
from dynid.simulation.simulated_robot import SimulatedRobot
from dynid.simulation.step_slopes import link_columns, state_slopes, term_columns
from dynid.simulation.taken_steps import TakenSteps

if TYPE_CHECKING:
    from dynid.simulation.sensitivity_steps import StepSlopes

logger = logging.getLogger(__name__)

CHUNK_BYTES = 30_000_000
"""About how much memory the slopes of steps may take at a time [bytes]."""

WORTH_LOADING = 200
"""Number of steps from which the compiled regressor is worth its loading."""


@dataclass(frozen=True, eq=False)
class BranchSensitivity:
    """Derivatives of the motion of one branch.

    Attributes:
        joints: Its coordinates, shape (joints,).
        columns: The parameters that act on it, as columns of `RolloutParameters`, shape (parameters,).
        position: Derivatives of measured positions, shape (samples, joints, parameters).
        velocity: The same of velocities.
    """

    joints: Indices
    columns: Indices
    position: Array
    velocity: Array


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a rollout over parameters.

    Attributes:
        parameters: Over what.
        branches: Of each branch; everything else is zero.
        shape: Numbers of samples, coordinates and parameters.
    """

    parameters: RolloutParameters
    branches: tuple[BranchSensitivity, ...]
    shape: tuple[int, int, int]

    @property
    def position(self) -> Array:
        """Derivatives of measured positions, shape (samples, nv, parameters)."""
        return self._whole("position")

    @property
    def velocity(self) -> Array:
        """Derivatives of velocities, shape (samples, nv, parameters)."""
        return self._whole("velocity")

    def _whole(self, kind: str) -> Array:
        S = np.zeros(self.shape)
        for branch in self.branches:
            S[:, branch.joints[:, None], branch.columns] = getattr(branch, kind)
        return S


def sensitivities(
    rollout: Rollout, parameters: RolloutParameters, *, with_turns: bool = True, every: int = 1
) -> Sensitivities:
    """Derivatives of a rollout's positions and velocities over parameters.

    Args:
        rollout: The rollout, with `steps_kept`, that did not end before its time.
        parameters: Over what.
        every: Of how many samples one is wanted, beginning with the first.
        with_turns: Whether the times at which dry elements turn move with parameters, as they do in continuous time.
            Otherwise they turn in the same steps: the exact derivatives of the steps, for changes that are tiny.
    """
    from dynid.simulation import sensitivity_steps
    from dynid.simulation.compilation import is_cached

    if rollout.steps is None or rollout.ended is not None:
        raise InvalidRequestError("sensitivities need a rollout that kept its steps, and went on to its last sample")
    if not is_cached(sensitivity_steps.differentiate):
        logger.warning("compiling sensitivities: this happens once and takes a few seconds")
    if len(rollout.schedule.step) >= WORTH_LOADING:
        prepare()
    robot, n = rollout.robot, rollout.robot.robot.nv
    branches = independent_branches(robot.robot, robot.forces)
    taken, law = _taken(rollout), LawSlopes(rollout, parameters)
    turns = _turns(rollout) if with_turns else np.zeros_like(taken.mode)
    columns = [_acting(rollout, parameters, branch) for branch in branches]
    states = [
        _start(sensitivity_steps.Derivative.of(len(branch), len(some)), parameters, branch, some)
        for branch, some in zip(branches, columns, strict=True)
    ]
    ends = rollout.schedule.ends[::every]
    samples = len(ends)
    found = [tuple(np.zeros((2, samples, *state.q.shape))) for state in states]
    for (q, v), state in zip(found, states, strict=True):
        q[0], v[0] = state.q, state.v
    nexts = [1] * len(branches)
    numbers = max(len(branch) * (4 * len(branch) + len(some)) for branch, some in zip(branches, columns, strict=True))
    size = max(64, CHUNK_BYTES // (8 * numbers))
    for first in range(0, len(taken.a), size):
        rows = slice(first, first + size)
        slopes = _slopes(rollout, taken, law, parameters, rows, branches, columns, turns)
        for k, of_branch in enumerate(slopes):
            nexts[k] = sensitivity_steps.differentiate(of_branch, states[k], ends, first, nexts[k], *found[k])
    parts = []
    for branch, some, (q, v) in zip(branches, columns, found, strict=True):
        for at, column in enumerate(some):
            kind, joint = parameters.columns[column]
            if kind == "bias":
                q[:, np.flatnonzero(branch == joint)[0], at] += 1.0
        parts.append(BranchSensitivity(branch, some, q, v))
    return Sensitivities(parameters, tuple(parts), (samples, n, len(parameters)))


def _taken(rollout: Rollout) -> TakenSteps:
    """The steps of a rollout, with the gains of motors that follow their law within the step."""
    steps, plan = rollout.steps, rollout.schedule
    assert steps is not None
    earlier = np.zeros_like(steps.a)
    earlier[1:] = steps.a[:-1]
    follows = (steps.saturated == 0.0) & (rollout.control.rate is None)
    kp, kd = (np.where(follows, gain[plan.tick], 0.0) for gain in (rollout.means.kp, rollout.means.kd))
    v_middle = steps.v + 0.5 * plan.step[:, None] * earlier
    gears = loaded_gears(rollout, v_middle)
    return TakenSteps(plan.step[:, None], steps.q_middle, steps.v, steps.a, earlier, steps.mode, kp, kd, *gears)


def _turns(rollout: Rollout) -> Array:
    """Accelerations after a turn over those before it, where elements turn; zero elsewhere, shape (steps, elements)."""
    steps = rollout.steps
    assert steps is not None
    mode, along = steps.mode, steps.a @ rollout.robot.forces.direction.T
    ratio = np.zeros_like(mode)
    for after in (1, 2):  # steps from the last one before the turn to the first one after it
        turns = (mode[:-after] * mode[after:] < 0.0) & (along[:-after] * along[after:] > 0.0)
        if after == 2:
            turns &= mode[1:-1] == 0.0
        np.divide(along[after:], along[:-after], out=ratio[1 : len(ratio) + 1 - after], where=turns)
    return np.minimum(ratio, 1.0)


def _acting(rollout: Rollout, parameters: RolloutParameters, branch: Indices) -> Indices:
    """The columns of parameters that act on a branch."""
    rows = rollout.robot.model.acting
    of_model = set(np.concatenate([rows[row] for row in branch]).tolist())
    of_joints = set(branch.tolist())
    owners = {joint.name: joint.v.start for joint in rollout.robot.robot.independent_joints}
    of_speeds = {k for k, one in enumerate(rollout.robot.model.nonlinear) if owners.get(one.owner, -1) in of_joints}
    acting = {"model": of_model, "nonlinear": of_speeds}
    kept = [kind == "delay" or at in acting.get(kind, of_joints) for kind, at in parameters.columns]
    return np.flatnonzero(kept)


def _start(state, parameters: RolloutParameters, branch: Indices, columns: Indices):
    """Derivatives of the first sample."""
    for at, column in enumerate(columns):
        kind, joint = parameters.columns[column]
        if kind in ("bias", "start_position"):
            state.q[branch == joint, at] = -1.0 if kind == "bias" else 1.0
        if kind == "start_velocity":
            state.v[branch == joint, at] = 1.0
    return state


def _slopes(
    rollout: Rollout,
    taken: TakenSteps,
    law: LawSlopes,
    parameters: RolloutParameters,
    rows: slice,
    branches: tuple[Indices, ...],
    columns: list[Indices],
    turns: Array,
) -> list[StepSlopes]:
    """Slopes of some steps, branch by branch."""
    from dynid.simulation.sensitivity_steps import StepSlopes

    robot, forces, steps = rollout.robot, rollout.robot.forces, taken.part(rows)
    Rs = _parameter_slopes(rollout, steps, law, parameters, rows, branches, columns)
    sticks = (steps.mode == 0.0) & (forces.smoothing == 0.0)
    held = law.starts[rows] & law.is_sampled
    gears, share = gears_of(forces, steps), np.ones_like(steps.a)
    if gears is not None:
        share -= gears.motor @ np.eye(share.shape[1])[forces.axis]
    found = []
    for branch, R, (A, Q, V, V0) in zip(branches, Rs, state_slopes(robot, steps, branches), strict=True):
        own = np.flatnonzero(forces.direction[:, branch].any(axis=1))
        kp, kd = ((law.follows[rows] * gain[law.tick[rows]])[:, branch] for gain in (law.means.kp, law.means.kd))
        direction = np.ascontiguousarray(forces.direction[np.ix_(own, branch)])
        found.append(
            StepSlopes(
                steps.h[:, 0], A, Q, V, V0, R, kp, kd, held, np.ascontiguousarray(share[:, branch]), direction,
                sticks[:, own],
                np.ascontiguousarray(turns[rows][:, own]),
            )
        )  # fmt: skip
    return found


def _parameter_slopes(
    rollout: Rollout,
    steps: TakenSteps,
    law: LawSlopes,
    parameters: RolloutParameters,
    rows: slice,
    branches: tuple[Indices, ...],
    columns: list[Indices],
) -> list[Array]:
    """Slopes over parameters, branch by branch, shape (steps, joints, parameters)."""
    robot = rollout.robot
    Rs = [np.zeros((len(steps.a), len(branch), len(some))) for branch, some in zip(branches, columns, strict=True)]
    place = {row: (k, at) for k, branch in enumerate(branches) for at, row in enumerate(branch.tolist())}
    _add_model_slopes(robot, steps, parameters, columns, place, Rs)
    gears = gears_of(robot.forces, steps)
    speeds = {} if not parameters.nonlinear else {at: (row, of) for row, at, of in nonlinear_columns(robot, steps)}
    for k, (branch, some) in enumerate(zip(branches, columns, strict=True)):
        for at, column in enumerate(some):
            kind, joint = parameters.columns[column]
            if kind == "nonlinear":
                row, values = speeds[joint]
                Rs[k][:, place[row][1], at] = values
            for row in branch[(branch == joint) | (kind == "delay")] if kind in LAW else ():
                Rs[k][:, place[row][1], at] = -law.slope(kind, row, rows)
                if gears is not None:
                    of_gear = gears.motor @ (robot.forces.axis == row)
                    Rs[k][:, place[row][1], at] += of_gear * law.slope(kind, row, rows, in_gear=True)
    return Rs


def _add_model_slopes(
    robot: SimulatedRobot,
    steps: TakenSteps,
    parameters: RolloutParameters,
    columns: list[Indices],
    place: dict[int, tuple[int, int]],
    Rs: list[Array],
) -> None:
    """Add the slopes over the model's linear parameters."""
    links, gears = SIZE * len(robot.robot.solid_links), gears_of(robot.forces, steps)
    of_model = {
        (k, parameters.columns[column][1]): at
        for k, some in enumerate(columns)
        for at, column in enumerate(some)
        if parameters.columns[column][0] == "model"
    }
    wanted = [
        np.array([index for index in acting if index < links and (place[row][0], index) in of_model], dtype=np.intp)
        for row, acting in enumerate(robot.model.acting)
    ]
    if any(map(len, wanted)):
        loads = None if gears is None else link_columns(robot, replace(steps, a=np.zeros_like(steps.a)), wanted)
        for row, values in enumerate(link_columns(robot, steps, wanted)):
            k, at = place[row]
            if gears is not None and loads is not None:
                values = values + (gears.bias @ (robot.forces.axis == row))[:, None] * loads[row]
            Rs[k][:, at, [of_model[k, index] for index in wanted[row]]] = values
    if any(index >= links for index in parameters.model):
        for row, index, values in term_columns(robot, steps):
            k, at = place[row]
            if (k, index) in of_model:
                Rs[k][:, at, of_model[k, index]] += values
