"""Contact thresholds of a result in the form that generated code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.model.code.contact_levels import ContactLevels
from dynid.model.code.functions import CodeModel


class LevelOverSpeed(Protocol):
    """A threshold of one joint: `level + near_rest max(0, 1 - |v| / width) + per_speed |v|`."""

    @property
    def level(self) -> float:
        """At medium speed [N m or N]; infinite for no threshold."""
        ...

    @property
    def near_rest(self) -> float:
        """What is added at standstill [N m or N]."""
        ...

    @property
    def width(self) -> float:
        """Speed at which nothing of that remains [rad/s or m/s]."""
        ...

    @property
    def per_speed(self) -> float:
        """What is added with speed [N m s/rad or N s/m]."""
        ...


class JointThresholds(Protocol):
    """Thresholds of joints for a rate of false alarms, as they are found from held-out logs."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        ...

    @property
    def scales(self) -> Sequence[LevelOverSpeed]:
        """The threshold of each."""
        ...

    @property
    def gain(self) -> float:
        """Gain of the observer that they are for [1/s]."""
        ...

    @property
    def false_alarms_per_minute(self) -> float:
        """False alarms that are expected, of all joints together."""
        ...

    @property
    def seconds(self) -> float:
        """How long the held-out logs are [s]."""
        ...

    @property
    def physical(self) -> bool:
        """Whether they are of the physically consistent links."""
        ...


def contact_levels(thresholds: ContactLevels | JointThresholds | None, code: CodeModel) -> ContactLevels | None:
    """Thresholds as code takes them, with a line on where they come from.

    Raises:
        InvalidRequestError: If they are of other joints, or of the residuals of another model.
    """
    if thresholds is None or isinstance(thresholds, ContactLevels):
        return thresholds
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
    about = (
        f"{thresholds.false_alarms_per_minute:g} false alarms per minute are expected, of all joints together, from "
        f"{thresholds.seconds:.0f} s of motion without contacts.",
        f"They hold for an observer with the gain {thresholds.gain:.6g} 1/s.",
    )
    columns = {
        name: np.array([getattr(scale, name) for scale in thresholds.scales], dtype=float)
        for name in ("level", "per_speed", "near_rest", "width")
    }
    return ContactLevels(**columns, about=about)
