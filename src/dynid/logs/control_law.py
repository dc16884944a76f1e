"""Gains and limits of control laws, as experiments state them: numbers for all logs, or those of the robot's file."""

import math
from collections.abc import Sequence
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.logs.drive import check_count
from dynid.logs.settings import Control, LogSource
from dynid.robot import LARGEST_NUMBER, Robot


def with_control(sources: Sequence[LogSource], control: Control, robot: Robot) -> tuple[LogSource, ...]:
    """Logs whose commands have the gains and limits of a control law that is stated for all of them.

    Args:
        sources: Where logs are.
        control: The law.
        robot: The robot, whose file may state gains and effort limits.

    Raises:
        InvalidRequestError: If the robot's file states no gains, where they are asked for.
    """
    return tuple(source if source.position_command is None else _with_law(source, control, robot) for source in sources)


def _with_law(source: LogSource, control: Control, robot: Robot) -> LogSource:
    new: dict[str, Any] = {}
    if control.servo is not None:
        law = {key: tuple(values.tolist()) for key, values in control.servo.law(len(robot.axes)).items()}  # type: ignore[attr-defined]
        own = {key: getattr(source, key) for key in ("kp", "kd")}
        if any(own[key] not in (None, law[key]) for key in own):  # logs of a result that was loaded have the servo's
            raise InvalidRequestError(
                "a log has gains of its own, and [control.servo] states those of servos; leave kp and kd of the log out"
            )
        return source.model_copy(update=law)
    for k, key in enumerate(("kp", "kd")):
        stated = getattr(control, key)
        if getattr(source, key) is None and stated is not None:
            new[key] = _of_file(robot, k, key) if stated == "robot" else 1.0 if stated == "unknown" else stated
    if source.effort_limit is None:
        new["effort_limit"] = effort_limit(control, robot)
    for key, values in new.items():
        check_count(f"control.{key}", values if isinstance(values, tuple) else None, robot)
    return source.model_copy(update=new)


def stated_gains(control: Control, robot: Robot) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """The gains kp and kd of a control law, one for each joint: as stated; None where they are not stated.

    Raises:
        InvalidRequestError: If there is not one for each joint, or the robot's file states none where it should.
    """
    found: list[tuple[float, ...] | None] = []
    if control.servo is not None:
        law = control.servo.law(robot.nv)
        return tuple(law["kp"].tolist()), tuple(law["kd"].tolist())
    for k, key in enumerate(("kp", "kd")):
        stated = getattr(control, key)
        if stated is None or stated == "unknown":
            found.append(None)
            continue
        values = _of_file(robot, k, key) if stated == "robot" else stated
        values = values if isinstance(values, tuple) else (values,) * robot.nv
        check_count(f"control.{key}", values, robot)
        found.append(values)
    return found[0], found[1]


def effort_limit(control: Control, robot: Robot) -> tuple[float, ...] | float | None:
    """The largest torques of a control law: as stated, else the robot file's; None for none."""
    if control.servo is not None:
        return tuple(control.servo.law(robot.nv)["effort_limit"].tolist())
    stated = control.effort_limit
    if stated == "none" or (stated is not None and stated != "robot"):
        return None if stated == "none" else stated
    limits = tuple(joint.limits.effort for joint in robot.independent_joints)
    if stated == "robot" and not all(0.0 < limit < math.inf for limit in limits):
        raise InvalidRequestError(f"control.effort_limit is 'robot', and '{robot.name}' states none for some joints")
    if not any(0.0 < limit < math.inf for limit in limits):
        return None
    return tuple(limit if 0.0 < limit < math.inf else LARGEST_NUMBER for limit in limits)


def _of_file(robot: Robot, which: int, key: str) -> tuple[float, ...]:
    """Gains of the actuators of the robot's file."""
    stated = {joint.name: joint.gains for joint in robot.description.joints}
    gains = [stated.get(joint.name) for joint in robot.independent_joints]
    missing = next(
        (joint.name for joint, own in zip(robot.independent_joints, gains, strict=True) if own is None), None
    )
    if missing is not None:
        raise InvalidRequestError(
            f"control.{key} is 'robot', and joint '{missing}' of '{robot.name}' has no position actuator with gains; "
            "state numbers"
        )
    return tuple(own[which] for own in gains if own is not None)
