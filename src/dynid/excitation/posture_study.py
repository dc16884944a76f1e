"""What static postures are expected to give: the gravity parameters' standard deviations, and what it takes."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array, finite_or_none
from dynid.estimation import Factors
from dynid.excitation.design import Design, Progress, fine_checks
from dynid.excitation.gravity_fit import GravityFit, fit_gravity
from dynid.excitation.information import Expectation, condition_number, expected_stds, value_of
from dynid.excitation.limits.assumed import noise_of
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.posture_tour import Tour, tour_of
from dynid.excitation.postures import (
    Choice,
    choose_around,
    choose_postures,
    gravity_parameters,
    known_gravity,
    posture_problem,
)
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.ways import paths_between, paths_through, with_whole_room
from dynid.findings import Finding
from dynid.logs import Log
from dynid.model import DynamicModel


@dataclass(frozen=True)
class ApproachThresholds:
    """How postures are approached from both sides, and when that is advised."""

    distance: float = 0.05
    """Distance [rad or m] of the last part of an approach: gears and seals of arms slip after a few milliradians, so
    friction points against it. By judgement; not calibrated."""

    share: float = 0.05
    """The same as a part of half a joint's range at most, for short slides. By judgement; not calibrated."""


THRESHOLDS = ApproachThresholds()


@dataclass(frozen=True, eq=False)
class PostureStudy:
    """Static postures, the order in which they are visited, and what they are expected to give.

    Attributes:
        settings: What was asked for.
        choice: The postures.
        tour: The motion through all of them.
        expectations: The standard deviations of the gravity parameters from the postures alone.
        condition_number: Of the regressor of the gravity parameters at the postures, rows in units of noise.
    """

    settings: ExcitationSettings
    choice: Choice
    tour: Tour
    expectations: tuple[Expectation, ...]
    condition_number: float

    @property
    def positions(self) -> Array:
        """The postures in the order of visits [rad or m], shape (postures, joints)."""
        return self.choice.positions[self.tour.order]

    @property
    def seconds_of_sides(self) -> float:
        """What approaching the postures from both sides costs [s]; zero where each is approached once."""
        seconds_of_rests = self.settings.hold * len(self.positions) if self.settings.both_sides else 0.0
        return self.tour.approaching + seconds_of_rests

    def gravity(self, log: Log, *, start: float = 0.0, settled: float = 0.3) -> GravityFit:
        """Fit the gravity parameters to the log of the motion; arguments are those of `fit_gravity`."""
        base = self.choice.problem.information.base
        return fit_gravity(base, self.tour.holds, log, start=start, settled=settled)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        ratios = self.choice.of_random
        return {
            "postures": {
                "count": len(self.positions),
                "hold": self.settings.hold,
                "both_sides": self.settings.both_sides,
                "seconds_of_both_sides": self.seconds_of_sides,
                "positions": self.positions.tolist(),
                "holds": self.tour.holds.tolist(),
                "seconds_resting": self.tour.motion.resting,
                "seconds_travelling": self.tour.travelling,
                "ways_around": self.tour.around,
                "criterion": self.settings.posture_criterion,
                "value": finite_or_none(self.choice.value),
                "condition_number": finite_or_none(self.condition_number),
                "variance_relative_to_random": float(ratios.mean()) if np.isfinite(ratios).all() else None,
                "worst_relative_to_random": finite_or_none(self.choice.worst_of_random),
                "parameters": [one.to_dict() for one in self.expectations],
            }
        }

    def texts(self) -> dict[str, str]:
        """The postures as a table: when the robot stands still at each, and where."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        names = self.choice.problem.bounds.names
        writer.writerow(["posture", "side", "t_begin", "t_end", *(f"q_{name}" for name in names)])
        for k, (position, holds) in enumerate(zip(self.positions, self.tour.holds, strict=True), start=1):
            for side, (begin, end) in enumerate(holds):
                label = ("below", "above")[side] if len(holds) > 1 else "once"
                writer.writerow([k, label, *(f"{value:.12g}" for value in (begin, end, *position))])
        return {"postures.csv": stream.getvalue()}


def study_postures(
    problem: ExcitationProblem,
    settings: ExcitationSettings,
    known: Sequence[Factors],
    known_values: Mapping[str, float],
    *,
    time_limit: float,
    starts: int | None,
    seed: int,
    progress: Callable[[Progress], None],
) -> tuple[Design, PostureStudy, list[Finding]]:
    """Choose postures and a tour through them within the limits of a problem of motions.

    Args:
        problem: The problem of motions that the settings state for the robot.
        settings: How many postures, how long each is held, and whether it is approached from both sides.
        known: Factors of logs that exist already.
        known_values: Values of parameters that are known beforehand.
        time_limit: When to stop [s], with the best so far.
        starts: How many starts at most.
        seed: Seed of everything random.
        progress: Callback; receives the best so far.

    Returns:
        The motion through all postures, with its information on all base parameters; the study; and what was noticed.

    Raises:
        NoMotionError: If the limits leave no room for postures, or no ways between them.
    """
    begin = time.monotonic()
    model = problem.information.base.model
    noise = noise_of(settings, model.robot, joint_limits(settings, model.robot))
    base = gravity_parameters(model, known_values)
    whole = problem.information.base
    measured = known_gravity(noise, whole, base, known)
    alike = [1.0] * len(noise) if settings.noise is None else noise  # assumed noise weighs no rows, as in all designs
    roomy = with_whole_room(problem, settings.margin)
    reach = np.minimum(THRESHOLDS.distance, THRESHOLDS.share * problem.bounds.half[0])
    sides = reach if settings.both_sides else None
    weighed = known_gravity(alike, whole, base, known)
    standing = posture_problem(roomy, settings, base, weighed, reach if settings.both_sides else 0.0 * reach)
    options = {"time_limit": 0.8 * time_limit, "starts": starts, "seed": seed, "progress": progress}
    choice = choose_postures(standing, **options)
    kept, paths = paths_between(roomy, choice.positions, np.random.default_rng([seed, 1]))
    left_out = len(choice.positions) - len(kept)
    choice = choice.only(kept)
    if left_out and settings.start == {}:
        other, hub = choose_around(standing, roomy, seed)
        if other.value < choice.value:
            choice, left_out, paths = other, 0, paths_through(roomy, other.positions, hub)
    tour = tour_of(roomy, choice.positions, paths, settings.hold, sides)
    M = problem.exact_matrix(tour.motion)
    design = Design(
        problem,
        tour.motion,
        M,
        value_of(problem.criterion, M),
        fine_checks(roomy, tour.motion),
        choice.starts,
        time.monotonic() - begin,
        (),
    )
    still = np.zeros_like(choice.positions)
    own = measured.matrix(choice.positions, still, still, standing.weight)
    study = PostureStudy(settings, choice, tour, expected_stds(base, own), condition_number(own))
    findings = _findings(study, model)
    if left_out:
        findings.append(Finding.of("postures-unreached", "postures", count=left_out, of=left_out + len(kept)))
    return design, study, findings


def _findings(study: PostureStudy, model: DynamicModel) -> list[Finding]:
    """What users should know of static torques."""
    found = []
    silent = [one.name for one in study.expectations if not one.is_excited]
    if silent:
        found.append(Finding.of("parameters-not-excited", "postures", parameters=silent, condition=np.inf))
    friction = any("v" in term.needs for term in model.terms) or any(
        joint.dynamics.friction for joint in model.robot.independent_joints
    )
    if friction and not study.settings.both_sides:
        found.append(Finding.of("static-friction", "postures"))
    return found
