"""The movements among which the next one is chosen: of single joints, of two, with others held, and of the base."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.excitation.limits.assumed import ASSUMED
from dynid.excitation.proposals.movement_words import NamedJoint, named_joints, range_text, words_of
from dynid.excitation.proposals.movements import Movement, Swing, Turn
from dynid.robot import JointKind, Robot


@dataclass(frozen=True)
class MovementThresholds:
    """How far and how fast movements go that are proposed."""

    speed_part: float = 0.5
    """Part of the largest speed of a joint that a brisk swing reaches. By judgement: operators drive robots below full
    speed, and people are far below what athletes reach."""

    acceleration_part: float = 0.7
    """The same of accelerations, where the file states them. By judgement; not calibrated."""

    slow_part: float = 0.15
    """The same of the speed of a slow swing. By judgement; not calibrated."""

    shortest_period: float = 1.2
    """Shortest time [s] to and fro: nobody is to be hurried. By judgement; not calibrated."""

    longest_period: float = 10.0
    """Longest time [s] to and fro: a movement is seen as one. By judgement; not calibrated."""

    half_range: float = 1.2
    """Largest way [rad] to either side: less than cables and clothes allow. By judgement; not calibrated."""

    half_slide: float = 0.25
    """The same of joints that slide [m]. By judgement; not calibrated."""

    range_part: float = 0.9
    """Part of a joint's range that is used. By judgement: controllers stop near the ends."""

    turn_half: float = 0.8
    """Half the angle [rad] by which a standing body turns about the vertical on the spot. By judgement."""

    lean_half: float = 0.1
    """Half the angle [rad] by which it leans: people who stand sway up to 0.15 rad before they take a step. By
    judgement."""


THRESHOLDS = MovementThresholds()

FEW_AXES = 8
"""Of robots with at most so many joints all pairs are looked at; of others those that are near each other."""

HELD_AT = (0.2, 0.8)
"""Where in its range another joint is held meanwhile."""

BEAT = 1.37
"""How much slower the second of two joints swings, so that both do not keep in step."""


@dataclass(frozen=True, eq=False)
class CandidateMovements:
    """Movements of a robot from a posture.

    Attributes:
        robot: The robot.
        posture: Where it is, shape (nq,).
    """

    robot: Robot
    posture: Array

    @cached_property
    def _names(self) -> list[NamedJoint | None]:
        return named_joints(self.robot)

    @cached_property
    def _axes(self) -> range:
        return range(len(self.robot.axes))

    def first(self) -> list[Movement]:
        """Of single joints: briskly, slowly and at rest; of both sides together; and of the base."""
        found = [movement for axis in self._axes for movement in self._single(axis)]
        return [*found, *self._both_sides(), *self._turns()]

    def around(self, axis: int) -> list[Movement]:
        """More movements of a joint: with another one held elsewhere, and with another one that moves, too."""
        others = [other for other in self._axes if other != axis and self._are_near(axis, other)]
        found = [self._with_held(axis, other, part) for other in others for part in HELD_AT]
        return [*found, *(self._pair(axis, other) for other in others)]

    def swing(self, axis: int, *, slow: bool = False, factor: float = 1.0) -> Swing:
        """The swing of a joint about where it is, within its range and at a part of its speed."""
        joint, t = self.robot.axes[axis], THRESHOLDS
        slides = joint.kind is JointKind.PRISMATIC
        now, limits = float(self.posture[joint.q.start]), joint.limits
        low, high = self._range(axis)
        half = min(t.half_slide if slides else t.half_range, 0.5 * (high - low))
        middle = min(max(now, low + half), high - half)
        assumed = ASSUMED.slide_velocity if slides else ASSUMED.velocity
        speed = limits.velocity if math.isfinite(limits.velocity) and limits.velocity > 0.0 else assumed
        period = 2.0 * math.pi * half / ((t.slow_part if slow else t.speed_part) * speed)
        if math.isfinite(limits.acceleration) and limits.acceleration > 0.0:
            period = max(period, 2.0 * math.pi * math.sqrt(half / (t.acceleration_part * limits.acceleration)))
        period = min(max(period * factor, t.shortest_period), t.longest_period)
        return Swing(axis, middle - half, middle + half, period)

    def _range(self, axis: int) -> tuple[float, float]:
        joint = self.robot.axes[axis]
        open_end = ASSUMED.slide_position if joint.kind is JointKind.PRISMATIC else ASSUMED.position
        now = float(self.posture[joint.q.start])
        lower, upper = joint.limits.lower, joint.limits.upper
        is_open = joint.kind is JointKind.CONTINUOUS
        lower = now - open_end if is_open or not math.isfinite(lower) else lower
        upper = now + open_end if is_open or not math.isfinite(upper) else upper
        middle, half = 0.5 * (lower + upper), 0.5 * THRESHOLDS.range_part * (upper - lower)
        return middle - half, middle + half

    def _single(self, axis: int) -> Iterator[Movement]:
        words = words_of(self.robot, axis, self._names[axis])
        for slow, how in ((False, "briskly"), (True, "slowly")):
            swing = self.swing(axis, slow=slow)
            yield Movement(f"{words}, {how}", self._detail(swing), (swing,))
        swing = self.swing(axis)
        ends = range_text(self.robot, axis, swing.low, swing.high)
        text = f"Hold {self.robot.axes[axis].name} still at both ends of its way and between them"
        yield Movement(text, f"{ends}, each for some seconds", (swing,), is_still=True)

    def _with_held(self, axis: int, other: int, part: float) -> Movement:
        low, high = self._range(other)
        limit = THRESHOLDS.half_range if self.robot.axes[other].kind is not JointKind.PRISMATIC else math.inf
        middle = min(max(float(self.posture[self.robot.axes[other].q.start]), low), high)
        low, high = max(low, middle - limit), min(high, middle + limit)
        at, swing = low + part * (high - low), self.swing(axis)
        words = words_of(self.robot, axis, self._names[axis])
        held = range_text(self.robot, other, at)
        return Movement(
            f"{words}, briskly, with {held}", f"{self._detail(swing)}; first move {held}", (swing,), {other: at}
        )

    def _pair(self, axis: int, other: int) -> Movement:
        first, second = self.swing(axis), self.swing(other, factor=BEAT)
        words = [words_of(self.robot, k, self._names[k]) for k in (axis, other)]
        joined = f"{words[0]}, and meanwhile {words[1][0].lower()}{words[1][1:]}"
        return Movement(joined, f"{self._detail(first)}; {self._detail(second)}", (first, second))

    def _both_sides(self) -> Iterator[Movement]:
        of_name = {named: axis for axis, named in enumerate(self._names) if named is not None}
        for named, axis in of_name.items():
            if named.side != "left" or named.part not in ("shoulder", "elbow", "wrist"):
                continue
            other = of_name.get(replace(named, side="right"))
            if other is not None:
                swings = (self.swing(axis), self.swing(other))
                words = words_of(self.robot, axis, named, both=True)
                yield Movement(f"{words}, briskly", "; ".join(map(self._detail, swings)), swings)

    def _turns(self) -> Iterator[Movement]:
        if not self.robot.has_floating_base:
            return
        g = float(np.linalg.norm(self.robot.gravity))
        up = -self.robot.gravity / g if g else np.array([0.0, 0.0, 1.0])
        ahead = np.array([1.0, 0.0, 0.0]) - up[0] * up
        point = self._ground()
        for direction, half, text in (
            (up, THRESHOLDS.turn_half, "Turn the whole body left and right on the spot"),
            (
                np.asarray(np.cross(up, ahead), dtype=float),
                THRESHOLDS.lean_half,
                "Lean forward and back with the whole body",
            ),
            (ahead, THRESHOLDS.lean_half, "Sway to both sides with the whole body"),
        ):
            angle = f"{2 * np.rad2deg(half):.0f}° in all, 2 s to and fro"
            yield Movement(text, angle, turn=Turn(direction / np.linalg.norm(direction), point, half, 2.0))

    def _ground(self) -> Array:
        """The lowest joint [m], about which a standing body leans, below the base."""
        from dynid.model import joint_poses

        _, origins = joint_poses(self.robot, self.posture[None, :])
        origins = origins[:, 0]
        lowest = origins[np.argmax(origins @ self.robot.gravity)] if self.robot.gravity.any() else origins[0]
        g = self.robot.gravity / max(float(np.linalg.norm(self.robot.gravity)), 1e-9)
        return np.asarray(origins[0] + ((lowest - origins[0]) @ g) * g, dtype=float)

    def _detail(self, swing: Swing) -> str:
        return f"{range_text(self.robot, swing.axis, swing.low, swing.high)}, {swing.period:.1f} s to and fro"

    def _are_near(self, axis: int, other: int) -> bool:
        return len(self._axes) <= FEW_AXES or other in self._near[axis]

    @cached_property
    def _near(self) -> list[set[int]]:
        """Joints on the way to each that are at most three before it, and those it is on the way to."""
        of_joint = {joint.name: k for k, joint in enumerate(self.robot.axes)}
        near: list[set[int]] = [set() for _ in self._axes]
        for axis, joint in enumerate(self.robot.axes):
            above = [self.robot.joints[k].name for k in self.robot.chain(self.robot.joints.index(joint))][1:4]
            for name in above:
                if name in of_joint:
                    near[axis].add(of_joint[name])
                    near[of_joint[name]].add(axis)
        return near


def moved_axes(movements: Sequence[Movement]) -> set[int]:
    """Joints that any of the movements swings."""
    return {swing.axis for movement in movements for swing in movement.swings}
