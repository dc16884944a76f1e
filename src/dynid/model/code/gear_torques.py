"""Friction of loaded gears in generated code: solved for the motor's torque, which it is a part of.

The torque is rest + L(torque). The friction L is linear between corners: one where each of its loads changes sign.
Newton's method steps to the solution of the piece that it is on, and passes each corner at most once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynid.model.code.expressions import Number, call
from dynid.model.terms.gears import GearFriction
from dynid.robot import Joint

STEPS = {1: 3, 2: 4}
"""Steps of Newton's method by number of loads: one for each piece, and one more for rounding."""


def gear_features(term: GearFriction, joint: Joint, v: Number, rest: Number, bias: Number) -> tuple[Any, ...]:
    """Torque per unit of each symbol of a term without squares of the load.

    Args:
        term: The term.
        joint: One of its joints.
        v: The joint's velocity.
        rest: What its motor needs beside this friction.
        bias: What its links need without acceleration.
    """
    own: Any = v
    values, (km, ke, kms, kes, *_) = term.values(joint).values(), term.numbers(joint)
    way = np.tanh(own / term.width) if term.width else np.sign(own)
    speeds = term.stribeck_velocities(joint)
    fading: Any = np.exp(-((own / speeds[0]) ** 2)) if len(speeds) else 0.0
    torque: Any = rest
    for _ in range(STEPS[1 + bool(term.gains[2])]):
        features = term.joint_features(joint, own, torque, bias)  # type: ignore[arg-type]
        friction = sum(value * feature for value, feature in zip(values, features, strict=True))
        slope = way * (
            km * call("sign", km * torque + ke * bias) + fading * (kms * call("sign", kms * torque + kes * bias))
        )
        torque = torque - (torque - rest - friction) / (1.0 - slope)
    return term.joint_features(joint, own, torque, bias)  # type: ignore[arg-type]
