"""What residuals of markers say: markers that are elsewhere than the robot has them, or that do not fit at times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures.marker_steps import PostureProblem
from dynid.robot import JointKind

if TYPE_CHECKING:
    from dynid.logs.captures.inverse_kinematics import MarkerMotion


@dataclass(frozen=True)
class MarkerResidualThresholds:
    """From where on findings speak of residuals of markers."""

    large_residual: float = 0.02
    """Root mean square [m] from which on a marker may be elsewhere on its segment than the robot's file has it: skin
    moves by up to 2 cm on thighs, and less elsewhere. By judgement."""

    times_others: float = 2.5
    """How many times the median of all markers it must be, so that it stands out. By judgement."""

    poor_fit: float = 0.015
    """Root mean square [m] of all residuals from which on the robot's lengths or its markers are not those of the
    recording: calibrated people have 2 to 8 mm. By judgement."""

    beyond_limit: float = 0.09
    """How far [rad or m] beyond its limit a joint must be: five degrees. By judgement."""

    named_share: float = 0.001
    """Share of the samples from which on findings name what is in them. By judgement."""


THRESHOLDS = MarkerResidualThresholds()


def findings_on_motion(
    problem: PostureProblem, q: Array, motion: MarkerMotion, lost: NDArray[np.bool_], unknown: Sequence[str]
) -> Iterator[Finding]:
    """Findings on the motion of a robot that markers show.

    Args:
        problem: The problem, with the weights of markers that counted.
        q: Positions, shape (samples, nq).
        motion: What was found.
        lost: Which motions the markers of a sample do not show, shape (samples, nv).
        unknown: Labels of the capture that no body has.
    """
    if unknown:
        yield Finding.of("markers-not-of-robot", f"robot '{problem.tree.robot.name}'", labels=list(unknown))
    yield from _residuals(motion)
    yield from _left_out(motion)
    yield from _unseen(problem, lost)
    yield from _limits(problem, q)


def findings_on_lengths(lacking: Sequence[str]) -> tuple[Finding, ...]:
    """What a calibration says of links whose lengths its recording does not determine, by their names."""
    links = list(dict.fromkeys(lacking))
    return (Finding.of("lengths-not-determined", "calibration", links=links),) if links else ()


def _residuals(motion: MarkerMotion) -> Iterator[Finding]:
    if motion.rms > THRESHOLDS.poor_fit:
        yield Finding.of("markers-fit-poorly", "markers", rms=1e3 * motion.rms)
    each = {name: rms for name, rms in motion.marker_rms.items() if rms > 0.0}
    usual = float(np.median(list(each.values()))) if each else 0.0
    for name, rms in each.items():
        if rms > max(THRESHOLDS.large_residual, THRESHOLDS.times_others * usual):
            yield Finding.of("marker-residual-large", f"marker '{name}'", rms=1e3 * rms, usual=1e3 * usual)


def _left_out(motion: MarkerMotion) -> Iterator[Finding]:
    for k, name in enumerate(motion.names):
        rows = np.flatnonzero(motion.left_out[:, k])
        if len(rows) and len(rows) >= THRESHOLDS.named_share * len(motion.time):
            yield Finding.of(
                "marker-left-out",
                f"marker '{name}'",
                share=len(rows) / len(motion.time),
                first=float(motion.time[rows[0]]),
                last=float(motion.time[rows[-1]]),
                distance=1e3 * float(np.median(motion.residuals[rows, k])),
            )


def _unseen(problem: PostureProblem, lost: NDArray[np.bool_]) -> Iterator[Finding]:
    robot = problem.tree.robot
    never = [joint.name for joint in robot.axes if not problem.free[joint.v].all()]
    if never:
        yield Finding.of("joints-not-seen", f"robot '{robot.name}'", joints=never)
    for joint in robot.independent_joints:
        share = float(lost[:, joint.v].any(axis=1).mean())
        if share > THRESHOLDS.named_share:
            what = "the base" if joint.kind is JointKind.FREE_FLYER else f"joint '{joint.name}'"
            yield Finding.of("joint-seen-in-part", what, share=share)


def _limits(problem: PostureProblem, q: Array) -> Iterator[Finding]:
    beyond = problem.beyond(q)
    for joint in problem.tree.robot.axes:
        own = beyond[:, joint.v.start]
        rows = np.abs(own) > THRESHOLDS.beyond_limit
        if rows.mean() > THRESHOLDS.named_share:
            worst = float(own[np.abs(own).argmax()])
            limit = joint.limits.upper if worst > 0.0 else joint.limits.lower
            position = limit + worst
            yield Finding.of("joint-beyond-limit", f"joint '{joint.name}'", share=float(rows.mean()), position=position,
                             limit=limit)  # fmt: skip
