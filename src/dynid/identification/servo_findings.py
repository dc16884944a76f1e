"""What motions of hobby servos cannot separate, with figures; and gains that look like numbers of registers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.findings import Finding
from dynid.identification.command_fit import Fitted
from dynid.logs import SERVO_LIMITS
from dynid.model import Role


def findings_on_servos(fitted: Fitted) -> Iterator[Finding]:
    """What is worth knowing where motors are under a voltage; nothing for other drives.

    Of `kt (duty V - kt v) / R` a motion shows `kt V / R`, the stall torque, and `kt^2 / R` beside viscous friction.
    """
    robot, point = fitted.robot, fitted.point
    log = robot.logs[0]
    back_emf, limit = log.back_emf, log.effort_limit
    if back_emf is None or limit is None:
        return
    servo = robot.control.servo
    if servo is not None and float(np.max(servo.duty_gain)) > SERVO_LIMITS.stiff:
        duty = float(np.max(servo.duty_gain))
        yield Finding.of("servo-gains-raw", "gains", duty=duty, error=1.0 / duty)
    model = robot.model
    stds = {} if fitted.output_error is None else dict(zip(*_named(fitted), strict=True))
    owners = {joint.name: joint.v.start for joint in model.robot.independent_joints}
    is_scaled = robot.control.gains == "scale"
    rows = [
        k for k in robot.estimated if model.parameters[k].role is Role.VISCOUS and model.parameters[k].owner in owners
    ]
    if not rows:
        return
    joints = [owners[model.parameters[k].owner] for k in rows]
    worst = max(range(len(rows)), key=lambda i: float(back_emf[joints[i]]))
    k, joint = rows[worst], joints[worst]
    emf, total = float(back_emf[joint]), float(back_emf[joint] + point.p[k])
    yield Finding.of(
        "servo-confounded",
        f"joint '{model.parameters[k].owner}'",
        joint=model.parameters[k].owner,
        sum=total,
        std=float(stds.get(model.names[k], 0.0)),
        share=emf / total if total > 0.0 else 1.0,
        stall=float(limit[joint] * point.scales[joint]),
        source="by the weight of known links" if is_scaled else "as stated",
    )


def _named(fitted: Fitted) -> tuple[tuple[str, ...], list[float]]:
    """Names of what output error estimated, and their standard deviations."""
    fit = fitted.output_error
    assert fit is not None
    return fit.unknowns.names, fit.stds.tolist()
