"""What users should know about the samples of a log before anything is estimated from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.log import Log
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.robot import Joint

SATURATED = 0.02
"""Share of samples at one and the same extreme torque from which it looks like a limit."""


def findings_on_samples(log: Log, prepared: PreparedLog, model: DynamicModel) -> tuple[Finding, ...]:
    """Findings on logged torques that are constant or saturated, and on positions beyond the robot's limits.

    Args:
        log: The log as it was logged: filters, delays and drives hide constant torques.
        prepared: The same log, ready for the model.
        model: The model.
    """
    found: list[Finding] = []
    for joint, torque in zip(model.row_names, log.torque.T, strict=True):
        if joint not in prepared.processing.unmeasured:
            found += _on_torque(f"joint '{joint}'", torque)
    positions = np.concatenate([segment.q for segment in prepared.segments])
    for joint in model.robot.independent_joints:
        found += _beyond_limits(joint, positions[:, joint.q])
    return tuple(found)


def findings_on_rest(model: DynamicModel, logs: Sequence[PreparedLog]) -> tuple[Finding, ...]:
    """Findings on joints that move in none of the logs."""
    segments = [segment for log in logs for segment in log.segments]
    if not segments:
        return ()
    velocity = np.concatenate([segment.v[:, model.rows] for segment in segments])
    still = [joint for joint, moved in zip(model.row_names, np.ptp(velocity, axis=0) > 0.0, strict=True) if not moved]
    return tuple(Finding.of("joint-never-moves", f"joint '{joint}'") for joint in still)


def _on_torque(subject: str, torque: Array) -> Iterator[Finding]:
    if np.ptp(torque) == 0.0:
        yield Finding.of("torque-constant", subject, torque=float(torque[0]), samples=len(torque))
        return
    for extreme in (torque.max(), torque.min()):
        share = float(np.mean(torque == extreme))
        if share >= SATURATED and extreme != 0.0:
            yield Finding.of("torque-saturated", subject, share=share, torque=float(extreme))


def _beyond_limits(joint: Joint, positions: Array) -> Iterator[Finding]:
    """Positions that the joint cannot reach: most often another unit, offset, sign or order of columns."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if joint.kind.nq != 1 or not lower < upper:
        return
    share = float(np.mean((positions < lower - 0.01) | (positions > upper + 0.01)))
    if share > 0.0:
        yield Finding.of(
            "positions-beyond-limits",
            f"joint '{joint.name}'",
            share=share,
            smallest=float(positions.min()),
            largest=float(positions.max()),
            lower=lower,
            upper=upper,
        )
