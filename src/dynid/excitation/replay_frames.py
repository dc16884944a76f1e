"""A motion as a LeRobot arm replays it: at so many frames per second the commands, in the arm's own units."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.replay_settings import ReplaySettings
from dynid.excitation.trajectories.moves import Moves
from dynid.robot import Joint, JointKind, Robot

REST_SECONDS = 1.0
"""How long a replay holds the first and the last command [s]: arms come to rest, and their logs show it."""

FASTEST = 120.0
"""Largest rate of a replay [frames per second]: buses of servos reach less."""

FULL = 100.0
"""Normalised position at the end of a range."""

Commands = Callable[[Array, Array, Array], Array]
"""Commanded positions of states q, v and a, each of shape (samples, nv)."""


@dataclass(frozen=True, eq=False)
class ReplayNumbers:
    """How the numbers of an arm stand for positions: number = scale (position - zero).

    Attributes:
        names: Names of the numbers, such as "elbow_flex.pos", shape (nv,).
        units: Their units.
        scale: Numbers per rad or m, shape (nv,); negative for joints that count the other way.
        zero: Positions at which they are zero [rad or m], shape (nv,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    scale: Array
    zero: Array

    @staticmethod
    def of(robot: Robot, settings: ReplaySettings) -> ReplayNumbers:
        """The numbers of a robot's joints as settings state them.

        Raises:
            InvalidRequestError: If a joint is unknown, two numbers have one name, or a range is missing.
        """
        _require_joints(robot, settings)
        joints = robot.independent_joints
        parts = [_number_of(joint, settings) for joint in joints]
        names = tuple(settings.names.get(joint.name, f"{joint.name}.pos") for joint in joints)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidRequestError(f"two joints are called '{twice}' in excitation.replay.names; name each once")
        units, scale, zero = zip(*parts, strict=True)
        return ReplayNumbers(names, tuple(units), np.array(scale), np.array(zero))

    def of_positions(self, q: Array) -> Array:
        """Numbers of positions [rad or m], of the same shape (samples, nv)."""
        return self.scale * (q - self.zero)


def _require_joints(robot: Robot, settings: ReplaySettings) -> None:
    for key in ("names", "zero", "range", "reversed", "percent"):
        for name in getattr(settings, key):
            robot.joint(name)


def _number_of(joint: Joint, settings: ReplaySettings) -> tuple[str, float, float]:
    """Unit, scale and zero of one joint."""
    name = joint.name
    sign = -1.0 if name in settings.reversed else 1.0
    if settings.unit == "normalised" or name in settings.percent:
        low, high = settings.range.get(name, (joint.limits.lower, joint.limits.upper))
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InvalidRequestError(
                f"joint '{name}' has no range in the robot's file, over which its positions could be normalised; state "
                "its calibrated ends [rad] in [excitation.replay] range"
            )
        if name in settings.percent:
            return "%", sign * FULL / (high - low), high if sign < 0.0 else low
        return "% of half the range", sign * 2.0 * FULL / (high - low), 0.5 * (low + high)
    if joint.kind is JointKind.PRISMATIC:
        return "m", sign, settings.zero.get(name, 0.0)
    if settings.unit == "radians":
        return "rad", sign, settings.zero.get(name, 0.0)
    return "deg", sign * math.degrees(1.0), settings.zero.get(name, 0.0)


@dataclass(frozen=True, eq=False)
class ReplayFrames:
    """Frames of a replay.

    Attributes:
        rate: Frames per second.
        numbers: What the numbers stand for.
        actions: Commanded numbers, shape (frames, nv).
        states: Numbers of the positions that are expected, shape (frames, nv).
    """

    rate: int
    numbers: ReplayNumbers
    actions: Array
    states: Array

    @staticmethod
    def of(motion: Moves, rate: float, numbers: ReplayNumbers, commands: Commands | None) -> ReplayFrames:
        """The frames of a motion, at rest at its ends for a second.

        Args:
            motion: The motion.
            rate: Frames per second.
            numbers: The arm's numbers.
            commands: Commands of servos whose loops need an error; the positions themselves when None.
        """
        problem = problem_of_rate(rate)
        if problem:
            raise InvalidRequestError(f"a replay {problem}")
        whole = round(rate)
        moving = math.ceil(motion.duration * whole * (1.0 - 1e-12)) + 1
        rest = round(REST_SECONDS * whole)
        times = np.clip((np.arange(moving + 2 * rest) - rest) / whole, 0.0, motion.duration)
        q, v, a = motion.states(times)
        is_still = (np.arange(len(times)) < rest) | (np.arange(len(times)) >= moving + rest)
        v, a = (np.where(is_still[:, None], 0.0, part) for part in (v, a))
        sent = q if commands is None else commands(q, v, a)
        return ReplayFrames(whole, numbers, numbers.of_positions(sent), numbers.of_positions(q))

    @staticmethod
    def of_commands(rate: float, numbers: ReplayNumbers, commands: Array, positions: Array) -> ReplayFrames:
        """The frames of commanded positions, with those that are expected [rad or m], both of shape (frames, nv)."""
        problem = problem_of_rate(rate)
        if problem:
            raise InvalidRequestError(f"a replay {problem}")
        whole = round(rate)
        ends = (round(REST_SECONDS * whole),) * 2
        sent, q = (np.pad(part, (ends, (0, 0)), mode="edge") for part in (commands, positions))
        return ReplayFrames(whole, numbers, numbers.of_positions(sent), numbers.of_positions(q))

    @property
    def times(self) -> Array:
        """Time stamps of the frames [s], shape (frames,)."""
        return np.arange(len(self.actions)) / self.rate

    def csv(self, warning: str) -> str:
        """The actions as a table: t and a column for each number."""
        stream = io.StringIO()
        if warning:
            stream.write(f"# WARNING: {warning}\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["t", *self.numbers.names])
        rows = np.column_stack([self.times, self.actions])
        writer.writerows([f"{x:.9g}" for x in row] for row in rows.tolist())
        return stream.getvalue()

    def json(self, warning: str) -> str:
        """The actions with what their numbers stand for."""
        numbers = self.numbers
        data = {
            "schema": "dynid-actions-1",
            **({"warning": warning} if warning else {}),
            "fps": self.rate,
            "names": list(numbers.names),
            "units": list(numbers.units),
            "scale": numbers.scale.tolist(),
            "zero": numbers.zero.tolist(),
            "meaning": "number = scale (position - zero), with positions of the robot's file in rad or m",
            "actions": [[float(f"{x:.9g}") for x in row] for row in self.actions.tolist()],
        }
        return json.dumps(data, indent=1) + "\n"


def problem_of_rate(rate: float) -> str:
    """Why a rate [Hz] is none of a replay; empty where it is."""
    if abs(rate - round(rate)) < 1e-9 and 1.0 <= rate <= FASTEST:
        return ""
    return (
        f"plays whole frames per second, 30 or 50 as a rule and at most {FASTEST:g}, and the rate is {rate:g} Hz; "
        "state --rate 30 (rate in [excitation])"
    )
