"""What a design in balance gives: postures and a motion through them, to look at, to follow and to save."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dynid import __version__
from dynid.arrays import Array, finite_or_none
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.closed_legs import quaternions
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_motion import StandingMotion
from dynid.excitation.balance.tree_motion import frames_of
from dynid.excitation.exciting_motion import SCHEMA, BrokenLimitError
from dynid.excitation.limits.limit import Check
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectory_formats import require_free
from dynid.files import replace_folder
from dynid.findings import Finding
from dynid.robot import Robot

_BASE_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
"""The pose of the base in files: `base_x` [m] to `base_qw`."""


@dataclass(frozen=True)
class Uncertainty:
    """What is uncertain of a robot; standard deviations are medians over postures or moves that are not in the design.

    Attributes:
        information: Logarithm of how many times smaller the volume of uncertain parameters is than before.
        centre: Of the whole robot's centre of mass [m].
        mass: Of its mass [kg].
        force: Of the ground's force in moves [N].
        moment: Of the ground's moment in moves, about the middle of the feet [N m].
    """

    information: float
    centre: float
    mass: float
    force: float
    moment: float

    def to_dict(self) -> dict[str, float]:
        """Give it as plain data for JSON."""
        return {
            "information": self.information,
            "centre_of_mass_std": self.centre,
            "mass_std": self.mass,
            "force_std": self.force,
            "moment_std": self.moment,
        }


@dataclass(frozen=True)
class BalanceExpectation:
    """What is uncertain before and after the experiment.

    Attributes:
        before: As the file is trusted.
        random: After as many random postures in balance (median of 20 sets).
        postures: After the chosen postures alone.
        motion: After the whole motion, rests among it.
        condition_number: Of the regressor of the whole motion, columns in units of what was uncertain.
        parameters: Number of base parameters of the ground's wrench.
        determined: In how many directions of these the motion says more than the file.
    """

    before: Uncertainty
    random: Uncertainty
    postures: Uncertainty
    motion: Uncertainty
    condition_number: float
    parameters: int
    determined: int

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        stages = {key: getattr(self, key).to_dict() for key in ("before", "random", "postures", "motion")}
        return {**stages, "base_parameters": self.parameters, "determined_directions": self.determined}


@dataclass(frozen=True, eq=False, repr=False)
class BalancedExcitation:
    """Postures of a robot that keeps its balance, a motion through them, and what they promise.

    It can be followed as it is. Positions are those of the joints; `base_pose` has those of the base.

    Attributes:
        settings: Limits and what is kept apart.
        balance: What it stands on, and how it was designed.
        limits: The limits, as they are computed.
        motion: Rests and moves.
        postures: The static postures in the order of visits, with the pose of the base, shape (postures, nq).
        holds: When the robot rests in each [s], shape (postures, 2).
        checks: What the motion reaches, against all limits, at 1 kHz.
        expected: What is uncertain before and after.
        design_findings: What was noticed on the way.
        tried: Number of random postures in balance that were chosen from.
        seconds: How long it took [s].
    """

    settings: ExcitationSettings
    balance: BalanceSettings
    limits: StandingLimits
    motion: StandingMotion
    postures: Array
    holds: Array
    checks: tuple[Check, ...]
    expected: BalanceExpectation
    design_findings: tuple[Finding, ...]
    tried: int
    seconds: float

    def __repr__(self) -> str:
        broken = f", VIOLATES {len(self.broken)} LIMITS" if self.broken else ", within all limits"
        centre = self.expected.motion.centre
        return (
            f"BalancedExcitation({self.robot.name} on {', '.join(self.balance.stands_on)}: {len(self.postures)} "
            f"postures, {self.duration:.4g} s, centre of mass to {1e3 * centre:.2g} mm{broken})"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(str(row['name']))}</td><td>{row['limit']}</td><td>{row['reached']}</td></tr>"
            for row in self.to_dict()["limits"]
        )
        head = "<tr><th>limit</th><th>allowed</th><th>reached</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>"

    @property
    def robot(self) -> Robot:
        """The robot, with a floating base."""
        return self.limits.robot

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of columns."""
        return tuple(joint.name for joint in self.robot.independent_joints[1:])

    @property
    def condition_number(self) -> float:
        """Of the regressor of the whole motion, columns in units of what was uncertain."""
        return self.expected.condition_number

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.motion.duration

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the joints at times [s], each of shape (samples, joints)."""
        return self.motion.states(times)

    @cached_property
    def t(self) -> Array:
        """Times [s] at the sampling rate of the settings, shape (samples,)."""
        return np.arange(int(self.duration * self.settings.rate * (1.0 + 1e-12)) + 1) / self.settings.rate

    @cached_property
    def _samples(self) -> tuple[Array, Array, Array]:
        return self.motion.whole_states(self.t)

    @property
    def q(self) -> Array:
        """Positions of the joints [rad or m] at these times, shape (samples, joints)."""
        return self._samples[0][:, 7:]

    @property
    def v(self) -> Array:
        """Velocities of the joints [rad/s or m/s], shape (samples, joints)."""
        return self._samples[1][:, 6:]

    @property
    def a(self) -> Array:
        """Accelerations of the joints [rad/s^2 or m/s^2], shape (samples, joints)."""
        return self._samples[2][:, 6:]

    @property
    def base_pose(self) -> Array:
        """Position x, y, z [m] and quaternion x, y, z, w of the base in the world, shape (samples, 7)."""
        return self._base_poses(self._samples[0])

    def _base_poses(self, q: Array) -> Array:
        """Poses of the base in the world: MJCF counts positions of a free joint from where the file puts the base."""
        R, p = frames_of(self.robot, [0], q)[0]
        return np.column_stack([p, quaternions(R)])

    @property
    def broken(self) -> tuple[Check, ...]:
        """The limits that the motion violates."""
        return tuple(check for check in self.checks if not check.is_kept)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What users should know; limits that are violated come first."""
        names = list(dict.fromkeys(check.name for check in self.broken))
        return (*([Finding.of("limits-violated", "excitation", limits=names)] if names else []), *self.design_findings)

    @property
    def warning(self) -> str:
        """What every file says of limits that are violated, in one line; empty where all are kept."""
        if not self.broken:
            return ""
        worst = max(self.broken, key=lambda check: check.used)
        return f"THIS TRAJECTORY VIOLATES LIMITS: {worst.in_words()}. Do not run it on a real robot."

    def to_dict(self) -> dict[str, Any]:
        """Give what was designed as plain data for JSON."""
        moves = int(self.motion.is_move.sum())
        return {
            "schema": SCHEMA,
            "version": __version__,
            **({"warning": self.warning} if self.broken else {}),
            "robot": self.robot.name,
            "family": "balance",
            "condition_number": finite_or_none(self.condition_number),
            "seconds": self.seconds,
            "duration": self.duration,
            "rate": self.settings.rate,
            "limits": [check.to_dict() for check in self.checks],
            "trajectory": None,
            "files": [],
            "balance": {
                "stands_on": list(self.balance.stands_on),
                "polygon": None if self.limits.stance.polygon is None else self.limits.stance.polygon.corners.tolist(),
                "feet": {foot.body: foot.target.tolist() for foot in self.limits.stance.feet},
                "standing_posture": self.limits.stance.source,
                "margin": self.balance.margin,
                "postures": len(self.postures),
                "moves": moves,
                "hold": self.balance.hold,
                "seconds_moving": self.motion.seconds_moving,
                "tried": self.tried,
                "holds": self.holds.tolist(),
                "expected": self.expected.to_dict(),
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def save(
        self, folder: str | os.PathLike[str], *, overwrite: bool = False, allow_broken_limits: bool = False
    ) -> dict[str, Any]:
        """Save the motion as a folder, whole or not at all: `trajectory.csv`, `postures.csv` and `excitation.json`.

        Args:
            folder: The folder; it must not exist, be empty, or hold a trajectory that may be replaced.
            overwrite: Whether a trajectory in it may be replaced.
            allow_broken_limits: Whether a motion that violates limits may be written. Every file then says so.

        Returns:
            Plain data for JSON, as `to_dict`, with the files that were written.

        Raises:
            BrokenLimitError: If the motion violates a limit.
            ExcitationFolderError: If the folder holds something else.
            OutputError: If it cannot be written.
        """
        if self.broken and not allow_broken_limits:
            raise BrokenLimitError(
                f"{self.broken[0].in_words()}; design with a larger margin or clearance; to write it nevertheless, "
                "marked as such in every file, add --allow-broken-limits (allow_broken_limits=True)"
            )
        out = Path(folder)
        require_free(out, overwrite=overwrite)
        texts = {"trajectory.csv": self._table(), "postures.csv": self._posture_table()}
        files = [str(out / name) for name in (*texts, "excitation.json")]
        data = self.to_dict() | {"trajectory": files[0], "files": files}
        texts["excitation.json"] = json.dumps(data, indent=2, allow_nan=False) + "\n"

        def fill(made: Path) -> None:
            for name, text in texts.items():
                (made / name).write_text(text, encoding="utf-8")

        replace_folder(out, fill)
        return data

    def _table(self) -> str:
        """All samples: time, positions, velocities and accelerations of the joints, and the pose of the base."""
        q, v, a = self._samples
        head = ["t", *(f"{what}_{name}" for what in "qva" for name in self.joints)]
        head += [f"base_{name}" for name in _BASE_COLUMNS]
        return self._written(head, np.column_stack([self.t, q[:, 7:], v[:, 6:], a[:, 6:], self.base_pose]))

    def _posture_table(self) -> str:
        """The postures: when the robot rests in each, and where all joints and the base are."""
        head = ["t_begin", "t_end", *(f"q_{name}" for name in self.joints), *(f"base_{name}" for name in _BASE_COLUMNS)]
        return self._written(head, np.column_stack([self.holds, self.postures[:, 7:], self._base_poses(self.postures)]))

    def _written(self, head: list[str], rows: Array) -> str:
        stream = io.StringIO()
        if self.warning:
            stream.write(f"# {self.warning}\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(_numbers(rows))
        return stream.getvalue()


def _numbers(rows: Array) -> Iterator[list[str]]:
    return ([f"{value:.12g}" for value in row] for row in rows)
