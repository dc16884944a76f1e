"""What a model gains a controller: tracking errors of computed torque with the identified model and with the file's.

The true robot is unknown, so what is simulated is the robot as the data show it: along the motion of a log it needs the
torques that were measured. It has the identified parameters, and the torques that these leave unexplained on held-out
data act on it as a disturbance. Where the truth is known, as of a simulated robot, that is simulated instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.identification.answers import Answer
from dynid.identification.controller_tracking import ControllerTracking, Tracking
from dynid.identification.held_out_logs import UnseenLog
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.identification.rollout import standard_parameters
from dynid.identification.task import require_single_axes
from dynid.identification.tracked_motion import LEAD_IN, TrackedMotion, motion_of_logs
from dynid.logs import Log
from dynid.model import Observed, known_model
from dynid.robot import Robot
from dynid.settings import checked
from dynid.simulation import Controller, LostError, Run, SimulatedRobot, follow, stated_terms

Progress = Callable[[str], None]


@dataclass(frozen=True)
class TrackingThresholds:
    """What is said of simulated controllers.

    By judgement; how right the ratio is, `benchmarks/tracking.py` shows.
    """

    gains_nothing: float = 1.1
    """How many times larger the file's tracking error is than the identified model's, up to which nothing is gained."""

    saturated_share: float = 0.01
    """Share of samples at a joint's effort limit from which it is named."""


TRACKING_THRESHOLDS = TrackingThresholds()


def track(
    result: Result | str | Path,
    *logs: Log | str | Path | UnseenLog,
    bandwidth: float = 5.0,
    damping: float = 1.0,
    rate: float = 1000.0,
    seconds: float = 20.0,
    truth: Array | SimulatedRobot | None = None,
    progress: Progress = lambda _: None,
) -> Tracking:
    """Simulate what a model gains a controller: tracking errors on the motion of a log.

    Three controllers follow it, all with the same feedback M(q) (kp e + kd e'), where M is the mass matrix that was
    identified: computed torque with the identified model, with the robot file's, and feedback alone. So they differ in
    the torques that a model predicts, and not in how stiff they are.

    Args:
        result: The result, or the folder that it was saved as.
        logs: Logs that it was not identified from: in memory, files laid out as the result's own, or experiment files;
            the longest part of all is followed. Where there are none, the result's own log is, and each stretch of it
            is held out in turn.
        bandwidth: Natural frequency of tracking errors under feedback [Hz]: gains are (2 pi bandwidth)^2 and
            2 damping (2 pi bandwidth).
        damping: Damping ratio of the feedback.
        rate: Rate of the controller [Hz]; torques are held between its ticks.
        seconds: Longest part of the log to follow [s].
        truth: The true standard parameters, shape (parameters,) in the order of `result.model.names`, or the true
            robot, where they are known: it is simulated instead of what the log shows.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If the result is of a floating base, of commands or in units of current, or there is no log
            with residuals that are held out.
    """
    result = result if isinstance(result, Result) else load_result(result)
    require_trackable(result)
    controller = checked(Controller, None, bandwidth=bandwidth, damping=damping, rate=rate)
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise InvalidRequestError(f"the part of the log to follow must be longer than 0 s, not {seconds:g} s")
    model, links = result.model, result.physical is not None
    p = _parameters(result)
    motion = motion_of_logs(result, logs, p, seconds, physical=links, progress=progress)
    limits = controller.limits(result.robot)
    controller = controller.model_copy(update={"saturates": bool((motion.largest <= limits).all())})
    identified = SimulatedRobot.of(model, p)
    plant = truth if isinstance(truth, SimulatedRobot) else SimulatedRobot.of(model, p if truth is None else truth)
    disturbance = motion.disturbance if truth is None else None
    of_file = robot_of_file(result.robot)
    nothing = SimulatedRobot.of(model, np.zeros_like(p))
    found, time = [], np.zeros(1)
    for name, known in (("identified", identified), ("robot_file", of_file), ("feedback", nothing)):
        if known is None:
            continue
        progress(f"Simulating {WORDS[name]}")
        one, run = _tracked(name, plant, known, identified, motion, controller, disturbance)
        time = time if run is None else run.time
        found.append(one)
    tracking = Tracking(
        robot=result.robot.name,
        joints=tuple(joint.name for joint in result.robot.independent_joints),
        units=tuple("rad" if joint.kind.is_angular else "m" for joint in result.robot.independent_joints),
        log=motion.name,
        plant="truth" if truth is not None else f"held-out {motion.held_out}",
        links=links,
        controller=controller,
        start=motion.start,
        time=time,
        controllers=tuple(found),
        findings=(),
    )
    return replace(tracking, findings=tuple(_on_tracking(tracking, result)))


WORDS = {
    "identified": "computed torque, identified model",
    "robot_file": "computed torque, robot file's model",
    "feedback": "feedback alone",
}
"""What controllers are called."""


def require_trackable(result: Result) -> None:
    """Refuse results that no controller of joint torques can be made of.

    Raises:
        InvalidRequestError: If the robot has a floating base or spherical joints, or the result is one of commands, of
            other rows than torques, or in units of current.
    """
    require_single_axes(result.robot, "controllers are simulated")
    if result.record.commands is not None or result.model.observed != Observed.TORQUES:
        raise InvalidRequestError(
            "the result was not identified from joint torques in motion, so that nothing says which torques the robot "
            "needs on a motion; identify it from logs with torques"
        )
    if result.is_in_amperes:
        raise InvalidRequestError(
            "the result is in units of current, because torque constants are not known, and controllers are simulated "
            "in N m; state drive.torque_constants [N m/A] and identify again"
        )


def _parameters(result: Result) -> Array:
    """Standard parameters of the model that a controller would use, shape (parameters,)."""
    if result.physical is not None:
        return result.standard_parameters(physical=True)
    near = np.nan_to_num(result.model.reference)
    return standard_parameters(result.base, [result.values[name] for name in result.base.names], near)


def robot_of_file(robot: Robot) -> SimulatedRobot | None:
    """The robot as its file states it, with the friction and motor inertia that it states; None without any inertia."""
    if not any(robot.links[i].has_inertia for i in robot.solid_links):
        return None
    return SimulatedRobot.of(known_model(robot, stated_terms(robot), {}))


def _tracked(
    name: str,
    plant: SimulatedRobot,
    known: SimulatedRobot,
    feedback: SimulatedRobot,
    motion: TrackedMotion,
    controller: Controller,
    disturbance: Callable[[Array], Array] | None,
) -> tuple[ControllerTracking, Run | None]:
    n, nothing = plant.robot.nv, np.full(plant.robot.nv, np.nan)
    options = {"nominal": known, "feedback": feedback, "lead_in": LEAD_IN, "disturbance": disturbance}
    try:
        run = follow(plant, motion.trajectory, controller, **options)
    except LostError as error:
        return ControllerTracking(name, nothing, nothing, nothing, np.zeros((0, n)), str(error)), None
    error = run.q - run.reference
    saturated = np.mean(np.abs(run.torque) >= controller.limits(plant.robot), axis=0)
    rms, peak = np.sqrt(np.mean(error**2, axis=0)), np.abs(error).max(axis=0)
    return ControllerTracking(name, rms, peak, saturated, error), run


def _on_tracking(tracking: Tracking, result: Result) -> Iterator[Finding]:
    """What was noticed of controllers."""
    ratio, limits = tracking.ratio("robot_file"), tracking.controller.limits(result.robot)
    if result.verdict.answer is Answer.NO:
        yield Finding.of("controller-of-untrusted-model", "controller")
    if "robot_file" not in tracking.names:
        yield Finding.of("controller-without-file", "robot file")
    if not tracking.controller.saturates:
        yield Finding.of("controller-without-limits", "controller")
    for one in tracking.controllers:
        if one.lost:
            yield Finding.of("controller-lost", WORDS[one.name], reason=one.lost)
    shares = tracking["identified"].saturated
    for joint, limit, share in zip(tracking.joints, limits.tolist(), shares.tolist(), strict=True):
        if share > TRACKING_THRESHOLDS.saturated_share:
            yield Finding.of("at-effort-limit", f"joint '{joint}'", limit=limit, share=share)
    if ratio is not None and ratio < TRACKING_THRESHOLDS.gains_nothing:
        yield Finding.of("controller-gains-nothing", "controller", ratio=ratio)
