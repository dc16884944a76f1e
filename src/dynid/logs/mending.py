"""What is certainly wrong with a log by itself, and can be mended before anything is done with it."""

import math
from dataclasses import replace

from dynid.findings import has
from dynid.logs.coarse_clock import with_advancing_time
from dynid.logs.held_samples import without_held_samples
from dynid.logs.log import Log
from dynid.logs.settings import Drive, Processing
from dynid.logs.time_units import speed_of
from dynid.logs.timing import TIMING, check_time, findings_on_time
from dynid.logs.wrapped_angles import without_wraps
from dynid.robot import JointKind, Limits, Robot


def mended(log: Log, robot: Robot, drive: Drive | None = None, processing: Processing | None = None) -> Log:
    """The log without repeated stamps, wrapped angles and held samples; said in its findings.

    Args:
        log: The log.
        robot: The robot.
        drive: The drives between what was logged and the joints; one to one when None.
        processing: What was stated about processing: held samples are taken once only where the rate of samples is to
            be chosen.
    """
    log = with_advancing_time(log)
    joints = robot.logged_joints
    if log.position.shape[1] != len(joints) or has(log.findings, "samples-held", "samples-held-taken-once"):
        return log
    at_motor = drive is not None and drive.positions == "motor"
    if not log.source and not has(log.findings, *TIMING) and len(log) > 1:  # files are looked at while they are read
        on_time = findings_on_time(check_time(log.time), math.nan if at_motor else speed_of(log))
        log = replace(log, findings=(*log.findings, *on_time))
    log = without_wraps(log, [joint.name for joint in joints], limits_of_turning(robot, drive))
    free = "resample" in (processing or Processing()).free()
    return without_held_samples(log, may_change=free)


def limits_of_turning(robot: Robot, drive: Drive | None = None) -> list[Limits | None]:
    """Limits of the joints that turn, for `without_wraps`; none where motors were logged."""
    anywhere, at_motor = Limits(), drive is not None and drive.positions == "motor"
    joints = robot.logged_joints
    return [anywhere if at_motor else None if joint.kind is JointKind.PRISMATIC else joint.limits for joint in joints]
