"""Exciting trajectories: what `excite` returns, to look at, to follow and to save."""

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dynid import __version__
from dynid.arrays import Array, finite_or_none
from dynid.errors import DynidError, InvalidRequestError
from dynid.excitation.collision.stated_collisions import surroundings_data
from dynid.excitation.design import SLOWER_SPEEDS, Design
from dynid.excitation.information import Expectation
from dynid.excitation.limits.clearance_limit import ClearanceLimit
from dynid.excitation.limits.limit import Check
from dynid.excitation.limits.servo_limits import DutyLimit
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.replay_frames import ReplayNumbers
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.itinerary import Itinerary
from dynid.excitation.trajectories.point_to_point import PointToPoint
from dynid.excitation.trajectory_formats import (
    DEFAULT,
    FORMATS,
    Written,
    require_formats,
    require_free,
    samples,
    texts_of,
)
from dynid.excitation.ways import path_between
from dynid.files import replace_folder
from dynid.findings import Finding
from dynid.robot import Robot

SCHEMA = "dynid-excitation-1"
"""What a summary says of itself."""

_CHECKED_SAMPLES = 2000
"""Samples at which the ways to a motion and home are checked."""


_MOST_SLOW_SAMPLES = 100_000
"""Slower runs of postures and friction runs are written up to so many samples: the robot is known by then."""


class BrokenLimitError(DynidError):
    """A trajectory violates a limit, and is not written."""


class Study(Protocol):
    """What a motion for one purpose, such as static postures or friction runs, is expected to give."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON, under a key of its own."""
        ...

    def texts(self) -> dict[str, str]:
        """Files to write beside those of the motion, by name."""
        ...


@dataclass(frozen=True, eq=False)
class Excitation:
    """Exciting trajectories, usually one, and the standard deviations that they promise.

    It can be followed as it is: `simulate(robot, excitation)`. Where there are several, each of `designs` can be.

    Attributes:
        settings: What was asked for.
        designs: The trajectories, in the order in which they are run.
        condition_number: Of the base regressor of all trajectories and of what was known before, its rows in units of
            their noise.
        expectations: The standard deviation that least squares on all of that will have, for each base parameter.
        design_findings: What was noticed on the way.
        seconds: How long it took [s].
        study: What static postures or friction runs are expected to give; None for designed trajectories.
    """

    settings: ExcitationSettings
    designs: tuple[Design, ...]
    condition_number: float
    expectations: tuple[Expectation, ...]
    design_findings: tuple[Finding, ...]
    seconds: float
    study: Study | None = None

    def __repr__(self) -> str:
        parts = f"{len(self.designs)} trajectories, " if len(self.designs) > 1 else ""
        broken = f", VIOLATES {len(self.broken)} LIMITS" if self.broken else ", within all limits"
        duration = sum(part.trajectory.duration for part in self.designs)
        return (
            f"Excitation({self.robot.name}: {parts}{duration:.4g} s, condition number {self.condition_number:.4g}"
            f"{broken})"
        )

    def _repr_html_(self) -> str:
        limits = [[row[key] for key in ("name", "limit", "reached", "unit")] for row in self.to_dict()["limits"]]
        rows = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in limits]
        head = "<tr><th>limit</th><th>allowed</th><th>reached</th><th>unit</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.designs[0].problem.information.base.model.robot

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of columns."""
        return tuple(joint.name for joint in self.robot.independent_joints)

    @property
    def trajectory(self) -> ParametricTrajectory | Itinerary:
        """The trajectory, exact at any time.

        Raises:
            InvalidRequestError: If there are several.
        """
        only, *others = self.designs
        if others:
            raise InvalidRequestError(
                f"these are {len(self.designs)} trajectories; take one of them: excitation.designs[0].trajectory"
            )
        return only.trajectory

    @cached_property
    def _samples(self) -> tuple[Array, Array, Array, Array]:
        return samples(self.trajectory, self.settings.rate)

    @property
    def t(self) -> Array:
        """Times [s] at the sampling rate of the settings, shape (samples,)."""
        return self._samples[0]

    @property
    def q(self) -> Array:
        """Positions [rad or m] at these times, shape (samples, joints)."""
        return self._samples[1]

    @property
    def v(self) -> Array:
        """Velocities [rad/s or m/s] at these times, shape (samples, joints)."""
        return self._samples[2]

    @property
    def a(self) -> Array:
        """Accelerations [rad/s^2 or m/s^2] at these times, shape (samples, joints)."""
        return self._samples[3]

    @property
    def duration(self) -> float:
        """How long the trajectory takes [s]."""
        return self.trajectory.duration

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        return self.trajectory.states(times)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What users should know; limits that are violated come first."""
        names = list(dict.fromkeys(check.name for check in self.broken))
        violated = [Finding.of("limits-violated", "excitation", limits=names)] if names else []
        return (*violated, *self.design_findings)

    def ways(self, part: Design) -> dict[str, Itinerary]:
        """The slow motions from home to a trajectory and back, around what is between; none without a stated home."""
        if self.settings.home is None:
            return {}
        key = self.designs.index(part) if part in self.designs else -1
        if key not in self._known_ways:
            self._known_ways[key] = self._ways(part, np.array(self.settings.home))
        return self._known_ways[key]

    @cached_property
    def _known_ways(self) -> dict[int, dict[str, Itinerary]]:
        return {}

    def _ways(self, part: Design, home: Array) -> dict[str, Itinerary]:
        limits = joint_limits(self.settings, self.robot)
        velocity, acceleration = np.array([(limit.velocity, limit.acceleration) for limit in limits]).T
        start = part.trajectory.states(np.zeros(1))[0][0]
        path = path_between(part.problem, home, start)

        def along(postures: Array) -> Itinerary:
            return Itinerary(tuple(PointToPoint.slow(a, b, velocity, acceleration) for a, b in pairwise(postures)))

        return {"approach": along(path), "return": along(path[::-1])}

    @cached_property
    def broken(self) -> tuple[Check, ...]:
        """The limits that a trajectory, or a way to it or home, violates."""
        return tuple(check for part in self.designs for check in self.checks(part) if not check.is_kept)

    def checks(self, part: Design) -> list[Check]:
        """What a trajectory reaches, against all limits, and what the ways to it and home violate."""
        found = list(part.checks)
        for name, way in self.ways(part).items():
            checks = part.problem.checks(way, np.linspace(0.0, way.duration, _CHECKED_SAMPLES))
            found += [replace(check, name=f"{name}: {check.name}") for check in checks if not check.is_kept]
        return found

    @property
    def warning(self) -> str:
        """What every file says of limits that are violated, in one line; empty where all are kept."""
        if not self.broken:
            return ""
        worst = max(self.broken, key=lambda check: check.used)
        more = f" (and {len(self.broken) - 1} more)" if len(self.broken) > 1 else ""
        text = f"THIS TRAJECTORY VIOLATES LIMITS: {worst.in_words()}{more}. Do not run it on a real robot."
        return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())

    def _require_limits(self) -> None:
        """Refuse trajectories that violate limits, on the way to them and home, too; name the first limit."""
        if self.broken:
            advice = "state another home" if ": " in self.broken[0].name else "design with more samples or a margin"
            raise BrokenLimitError(
                f"{self.broken[0].in_words()}; {advice}; to write it nevertheless, marked as such in every file, add "
                "--allow-broken-limits (allow_broken_limits=True)"
            )

    def to_dict(self) -> dict[str, Any]:
        """Give what was designed as plain data for JSON."""
        last = self.designs[-1]
        clear = [limit for limit in last.problem.limits if isinstance(limit, ClearanceLimit)]
        reached: dict[str, Check] = {}  # of each limit the trajectory that uses most of it
        for check in (*(check for part in self.designs for check in part.checks), *self.broken):
            if check.name not in reached or check.used > reached[check.name].used:
                reached[check.name] = check
        return {
            "schema": SCHEMA,
            "version": __version__,
            **({"warning": self.warning} if self.broken else {}),
            "robot": self.robot.name,
            "family": self.settings.family,
            "criterion": self.settings.criterion,
            "value": finite_or_none(last.value),
            "condition_number": finite_or_none(self.condition_number),
            "seconds": self.seconds,
            "starts": sum(part.starts for part in self.designs),
            "duration": sum(part.trajectory.duration for part in self.designs),
            "rate": last.problem.rate,
            "limits": [check.to_dict() for check in reached.values()],
            "trajectory": None,
            "segments": [{"value": finite_or_none(part.value), "trajectory": None} for part in self.designs],
            "files": [],
            "parameters": [expectation.to_dict() for expectation in self.expectations],
            "surroundings": surroundings_data(self.settings, next((one.model for one in clear), None)),
            "findings": [finding.to_dict() for finding in self.findings],
            **({} if self.study is None else self.study.to_dict()),
        }

    def save(
        self,
        folder: str | os.PathLike[str],
        formats: Sequence[str] = DEFAULT,
        *,
        overwrite: bool = False,
        allow_broken_limits: bool = False,
        beside: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Save all trajectories as a folder, whole or not at all.

        Args:
            folder: The folder; it must not exist, be empty, or hold a trajectory that may be replaced.
            formats: Names of formats: csv, json, ros, urscript; lerobot, lerobot2 and actions for replays.
            overwrite: Whether a trajectory in it may be replaced.
            allow_broken_limits: Whether trajectories that violate limits may be written. Every file then says so.
            beside: Other texts to write into the folder, by name.

        Returns:
            Plain data for JSON, as `to_dict`, with the files that were written.

        Raises:
            BrokenLimitError: If a trajectory violates a limit.
            ExcitationFolderError: If the folder holds something else.
            OutputError: If it cannot be written.
        """
        out = Path(folder)
        of_replay = {"rate": self.settings.rate, "replay": self.settings.replay}
        is_study = self.study is not None
        formats = require_formats(formats, self.robot, self.settings.family, holds_samples=is_study, **of_replay)
        if not allow_broken_limits:
            self._require_limits()
        require_free(out, overwrite=overwrite)
        texts: dict[str, str | bytes] = {**({} if self.study is None else self.study.texts()), **(beside or {})}
        for k, part in enumerate(self.designs):
            texts |= {str(self._place(k) / name): text for name, text in self._texts(part, formats).items()}
        data = self._saved(out, [*texts, "excitation.json"])
        texts["excitation.json"] = json.dumps(data, indent=2, allow_nan=False) + "\n"

        def fill(made: Path) -> None:
            for name, text in texts.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(text if isinstance(text, bytes) else text.encode())

        replace_folder(out, fill)
        return data

    def plot(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a page that shows all trajectories against their limits; it needs no network."""
        # Only the report room draws, and it stands above this one: it is looked up here, when a user asks.
        page = importlib.import_module("dynid.report.trajectory_page")
        return page.write_trajectory_page(self, Path(path), overwrite=overwrite)

    def _saved(self, out: Path, names: Sequence[str]) -> dict[str, Any]:
        """What was designed, and where it is saved."""
        data = self.to_dict()

        def first(k: int) -> str | None:
            of_part = (str(self._place(k) / f"trajectory{form.suffix}") for form in FORMATS.values())
            return next((str(out / name) for name in of_part if name in names), None)

        segments = [part | {"trajectory": first(k)} for k, part in enumerate(data["segments"])]
        files = [str(out / name) for name in names]
        return data | {"trajectory": segments[0]["trajectory"], "segments": segments, "files": files}

    def _place(self, k: int) -> Path:
        return Path() if len(self.designs) == 1 else Path(f"segment_{k + 1}")

    def _texts(self, part: Design, formats: Sequence[str]) -> dict[str, str | bytes]:
        """All files of one trajectory, by name."""
        is_replay = any(FORMATS[one].is_replay for one in formats)
        servos = next((limit.drive for limit in part.problem.limits if isinstance(limit, DutyLimit)), None)
        written = Written(
            part.trajectory,
            self.joints,
            part.problem.rate,
            self.warning,
            self.robot.name,
            ReplayNumbers.of(self.robot, self.settings.replay) if is_replay else None,
            None if servos is None else servos.commands,
        )
        slower = {percent: part.trajectory.at_speed(percent / 100) for percent in SLOWER_SPEEDS}
        others = {
            f"trajectory_{percent}_percent": replace(written, motion=motion)
            for percent, motion in slower.items()
            if self.study is None or motion.duration * part.problem.rate <= _MOST_SLOW_SAMPLES
        }
        others |= {name: replace(written, motion=way) for name, way in self.ways(part).items()}
        return texts_of(formats, written, others.items())
