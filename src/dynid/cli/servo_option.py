"""`--servo`: hobby servos on the command line, as `[control.servo]` states them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dynid.cli.app import number, words

ServoOption = Annotated[
    list[str],
    typer.Option(
        "--servo",
        metavar="KEY=VALUE,...",
        help="Servos, as in [control.servo]: voltage=12,stall_torque=2.9,no_load_speed=4.7,kp=16,firmware=feetech_sts.",
    ),
]
ReplayUnitOption = Annotated[
    str,
    typer.Option(
        "--replay-unit", metavar="UNIT", help="Of the formats lerobot and actions: degrees, radians or normalised."
    ),
]


def stated_servo(*texts: str) -> dict[str, Any] | None:
    """Keys of `[control.servo]` that options state, one number for all joints; None where there are none.

    Raises:
        InvalidRequestError: If a word is no KEY=VALUE, a key is unknown, or stated twice.
    """
    from dynid.errors import InvalidRequestError, UnknownNameError
    from dynid.logs import Servo

    found: dict[str, Any] = {}
    for word in words(*texts):
        key, equals, text = (part.strip() for part in word.partition("="))
        if not equals:
            raise InvalidRequestError(
                f"--servo: '{word}' is no KEY=VALUE; one number holds for all joints, and a list of one for each "
                "is stated in [control.servo] of an experiment"
            )
        if key not in Servo.model_fields:
            raise UnknownNameError("key", key, Servo.model_fields, " of --servo")
        if key in found:
            raise InvalidRequestError(f"--servo: '{key}' has two values; give one")
        found[key] = text if key == "firmware" else number("--servo", text)
    return found or None
