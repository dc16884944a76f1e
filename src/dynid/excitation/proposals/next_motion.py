"""Which movement to make next: the one that adds most where the data so far say least.

With S the information `W'W` of the samples so far and M that of a movement, both of the base regressor, the variances
of least squares are in proportion to the inverse of S + M. The movement is taken that makes the trace of
`(S + M + e I)^-1` smallest. The smallest eigenvalues make up nearly all of it: directions that nothing has excited
first, and then those that make the condition number large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.excitation.collision.collision_model import CollisionModel
from dynid.excitation.collision.stated_collisions import collisions_of
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.proposals.candidate_movements import CandidateMovements, moved_axes
from dynid.excitation.proposals.movements import Movement
from dynid.excitation.settings import ExcitationSettings
from dynid.model import BaseParameters, RowLayout
from dynid.robot import Robot


@dataclass(frozen=True)
class ProposalThresholds:
    """How movements are compared."""

    seconds: float = 10.0
    """For how long each is thought to be made [s]: all are compared over the same time. By judgement."""

    floor: float = 1e-3
    """Singular values below this part of the largest count as this part of it: directions that are this weak are not
    excited. Shown by `benchmarks/live.py`: with 1e-2 and 1e-4 the condition number falls no faster."""

    better: float = 1.15
    """A proposal stays until another promises so many times as much, so that it does not flicker. By judgement."""

    clearance: float = 0.02
    """Parts of a robot are kept this far apart [m], as in designs of motions. By judgement."""


THRESHOLDS = ProposalThresholds()

STATES = 64
"""States of each movement that are looked at."""

TOGETHER = 32
"""Movements whose states are evaluated together."""

REFINED = 3
"""Joints of the best movements whose combinations with others are looked at, too."""

SMALLEST_PART = 1e-12
"""Eigenvalues below this part of the largest are rounding."""

PATH = 16
"""Postures of a movement in which distances are looked at."""

SHOWN = 3
"""Proposals that are given, the best first."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A movement that is proposed, and what it promises.

    Attributes:
        movement: The movement.
        factor: By what the standard deviation of the least determined direction falls.
        information: `W'W` afterwards, shape (base, base).
        value: What it is chosen by; smaller is better.
    """

    movement: Movement
    factor: float
    information: Array
    value: float

    @cached_property
    def condition_number(self) -> float:
        """The condition number afterwards; infinite where directions remain that nothing excites."""
        return condition_number_of(self.information)

    @cached_property
    def excited(self) -> int:
        """How many directions of the base parameters are excited then."""
        return excited_directions(self.information)


@dataclass(frozen=True, eq=False)
class Proposals:
    """What to do next, and why.

    Attributes:
        proposals: The best movements, the best first.
        excited: How many directions of the base parameters are excited so far.
        weakest: Name of the base parameter that dominates the least determined direction.
        weakest_owner: The link or joint that it is of.
        seconds: For how long movements are thought to be made [s].
        touching: Movements that were left out because the robot would touch itself or the floor.
        is_checked: Whether that was looked at.
    """

    proposals: tuple[Proposal, ...]
    excited: int
    weakest: str
    weakest_owner: str
    seconds: float
    touching: int
    is_checked: bool


class NextMotion:
    """Looks for the next movement.

    Args:
        base: The base parameters that are identified.
        collisions: What the robot must not touch; None where nothing is looked at.
    """

    def __init__(self, base: BaseParameters, collisions: CollisionModel | None = None) -> None:
        self.base, self.collisions = base, collisions
        self._rows = list(base.model.row_indices)

    @cached_property
    def _layout(self) -> RowLayout:
        robot, none = self.base.model.robot, np.zeros(0, dtype=int)
        columns = [self.base.columns if row in self._rows else none for row in range(robot.nv)]
        return RowLayout.of(robot, self.base.model.terms, columns)

    def informations(self, movements: Sequence[Movement], posture: Array, rate: float) -> Array:
        """The information of movements from a posture (nq,) at a sampling rate [Hz], shape (movements, base, base)."""
        robot, n = self.base.model.robot, len(movements)
        states = [one.states(robot, posture, THRESHOLDS.seconds, STATES) for one in movements]
        matrices = self._layout.evaluate(*(np.concatenate(parts) for parts in zip(*states, strict=True)))
        found = np.zeros((n, len(self.base), len(self.base)))
        for row in self._rows:
            W = matrices[row].reshape(n, STATES, -1)
            found += np.swapaxes(W, 1, 2) @ W
        return found * (rate * THRESHOLDS.seconds / STATES)

    def propose(
        self,
        information: Array,
        posture: Array,
        rate: float,
        *,
        kept: Movement | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Proposals:
        """The movements that add most.

        Args:
            information: `W'W` of the samples so far, shape (base, base).
            posture: Where the robot is, shape (nq,).
            rate: Sampling rate [Hz] of what is to come.
            kept: The movement that is proposed at present, which stays where none is much better.
            is_over: Asked now and then; whether nobody waits for the answer any more.
        """
        candidates = CandidateMovements(self.base.model.robot, posture)
        scored = _Scored(self, information, posture, rate)
        first = scored.all([*([] if kept is None else [kept]), *candidates.first()], is_over)
        best = sorted(first, key=lambda one: one.value)
        axes = list(dict.fromkeys(axis for one in best for axis in sorted(moved_axes([one.movement]))))[:REFINED]
        more = scored.all([movement for axis in axes for movement in candidates.around(axis)], is_over)
        best = sorted([*first, *more], key=lambda one: one.value)
        if kept is not None and scored.now - best[0].value < THRESHOLDS.better * (scored.now - first[0].value):
            best = [first[0], *(one for one in best if one is not first[0])]
        chosen, touching = self._apart(best, posture)
        name, owner = scored.weakest
        excited = excited_directions(information)
        return Proposals(tuple(chosen), excited, name, owner, THRESHOLDS.seconds, touching, self.collisions is not None)

    def _apart(self, best: Sequence[Proposal], posture: Array) -> tuple[list[Proposal], int]:
        """The first few that touch nothing and are about different joints, and how many were left out."""
        chosen: list[Proposal] = []
        touching = 0
        for one in best:
            if any(set(one.movement.joints) == set(other.movement.joints) for other in chosen):
                continue
            if self._touches(one.movement, posture):
                touching += 1
                continue
            chosen.append(one)
            if len(chosen) == SHOWN:
                break
        return chosen, touching

    def _touches(self, movement: Movement, posture: Array) -> bool:
        if self.collisions is None or not self.collisions.pairs:
            return False
        robot, t = self.base.model.robot, np.linspace(0.0, movement.period, PATH)
        q = movement.positions(robot, posture, t)
        start = posture[None, :] + np.linspace(0.0, 1.0, PATH)[:, None] * (q[:1] - posture)  # the way there
        distances = self.collisions.clearances(np.concatenate([start[1:], q]), THRESHOLDS.clearance)
        now = self.collisions.clearances(posture[None, :], THRESHOLDS.clearance)
        return bool((distances.min(axis=0) < np.minimum(THRESHOLDS.clearance, now[0]) - 1e-6).any())


def condition_number_of(information: Array) -> float:
    """The condition number of W from `W'W`; infinite where it has not full rank."""
    values = np.linalg.eigvalsh(information)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > SMALLEST_PART * values[-1] else float("inf")


def excited_directions(information: Array) -> int:
    """How many directions are excited, of `W'W`: those whose singular value is not below `THRESHOLDS.floor`."""
    values = np.linalg.eigvalsh(information)
    return int(np.sum(values > THRESHOLDS.floor**2 * values[-1])) if values[-1] > 0.0 else 0


def own_collisions(robot: Robot) -> CollisionModel | None:
    """What a robot must not touch of itself and the floor; None for those whose collisions cannot be looked at."""
    if robot.has_quaternions or any(joint.leader is not None for joint in robot.joints):
        return None
    settings = ExcitationSettings()
    model = collisions_of(settings, robot, joint_limits(settings, robot)).model
    return model if model.pairs else None


class _Scored:
    """Movements with what they add to data."""

    def __init__(self, next_motion: NextMotion, information: Array, posture: Array, rate: float) -> None:
        self._next, self._posture, self._rate = next_motion, posture, rate
        values, U = np.linalg.eigh(information)
        scale = float(values[-1])
        if scale <= 0.0:  # nothing was measured: what a movement of all joints would give
            some = CandidateMovements(next_motion.base.model.robot, posture).first()[:3]
            scale = float(np.trace(next_motion.informations(some, posture, rate), axis1=1, axis2=2).max())
        self._floor = THRESHOLDS.floor**2 * max(scale, 1e-300)
        self._so_far = information + self._floor * np.eye(len(information))
        self.now = float(np.trace(np.linalg.inv(self._so_far)))
        self._direction = U[:, 0]
        self._spread = float(self._direction @ np.linalg.solve(self._so_far, self._direction))

    @property
    def weakest(self) -> tuple[str, str]:
        """The base parameter that dominates the least determined direction, and its link or joint."""
        k = int(np.argmax(np.abs(self._direction)))
        return self._next.base.names[k], self._next.base.owners[k]

    def all(self, movements: Sequence[Movement], is_over: Callable[[], bool]) -> list[Proposal]:
        """All of them, in their order."""
        found: list[Proposal] = []
        for k in range(0, len(movements), TOGETHER):
            if is_over():
                break
            some = movements[k : k + TOGETHER]
            every = self._next.informations(some, self._posture, self._rate)
            found += [self._one(movement, M) for movement, M in zip(some, every, strict=True)]
        return found

    def _one(self, movement: Movement, added: Array) -> Proposal:
        M = self._so_far + added
        inverse = np.linalg.inv(M)
        factor = float(np.sqrt(self._spread / (self._direction @ inverse @ self._direction)))
        return Proposal(movement, factor, M - self._floor * np.eye(len(M)), float(np.trace(inverse)))
