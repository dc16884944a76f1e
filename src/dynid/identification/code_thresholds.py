"""Contact thresholds of a result in the form that generated code takes."""

from pathlib import Path

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.estimation import ContactLimits
from dynid.model.code.contact_levels import ContactLevels
from dynid.model.code.functions import CodeModel

StatedThresholds = ContactLevels | ContactLimits | str | Path
"""Thresholds as numbers, as they were found, or the file (or folder of an observation) that holds them."""


def contact_levels(thresholds: StatedThresholds | None, code: CodeModel) -> ContactLevels | None:
    """Thresholds as code takes them, with lines on where they come from.

    Raises:
        InvalidRequestError: If they are of other joints, or of the residuals of another model.
        ThresholdsFileError: If a file holds none.
    """
    if thresholds is None or isinstance(thresholds, ContactLevels):
        return thresholds
    if not isinstance(thresholds, ContactLimits):
        from dynid.identification.observation_files import load_thresholds

        thresholds = load_thresholds(thresholds)
    names = tuple(joint.name for joint in code.robot.independent_joints)
    if names != thresholds.joints or code.robot.nv != len(names):
        raise InvalidRequestError(
            f"the thresholds are of the joints {', '.join(thresholds.joints)}, and the code of {', '.join(names)}; "
            "find them again for this robot"
        )
    if thresholds.physical != code.has_links:
        mine, wanted = ("physical", "base") if code.has_links else ("base", "physical")
        raise InvalidRequestError(
            f"the thresholds are of the residuals of the {wanted} parameters, and the code of the {mine} ones; add "
            f'--parameters {wanted} (in Python: parameters="{wanted}"), or find thresholds of these'
        )
    columns = {
        name: np.array([getattr(scale, name) for scale in thresholds.scales], dtype=float)
        for name in ("level", "per_speed", "near_rest", "width")
    }
    return ContactLevels(**columns, about=_about(thresholds))


def _about(thresholds: ContactLimits) -> tuple[str, ...]:
    """Where thresholds come from and what they hold for, line by line."""
    low, high = thresholds.interval
    velocities = (
        "velocities as they were logged"
        if thresholds.cutoff is None
        else f"velocities of positions behind a causal Butterworth filter of order 4 at {thresholds.cutoff:.4g} Hz"
    )
    return (
        f"Expected false alarms per minute, of all joints together: {thresholds.false_alarms_per_minute:g} "
        f"({low:.2g} to {high:.2g} with a confidence of 0.9), from {thresholds.seconds:.0f} s of motion "
        "without contacts.",
        f"They hold for an observer with the gain {thresholds.gain:.6g} per second, and for {velocities}.",
    )
