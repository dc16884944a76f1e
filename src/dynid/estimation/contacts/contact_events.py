"""Contacts: stretches of time in which residuals of the observer are beyond their thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.contacts.contact_limits import ALARM_THRESHOLDS


@dataclass(frozen=True)
class ExternalContact:
    """A contact that was detected.

    Attributes:
        start: When a residual first exceeded its threshold [s].
        end: When the last one fell below its threshold [s].
        joint: The joint whose residual was largest beside its threshold.
        torque: Its largest residual, with sign [N m or N].
        times: How many times its threshold that is.
        joints: All joints that exceeded theirs.
    """

    start: float
    end: float
    joint: str
    torque: float
    times: float
    joints: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """How long it lasted [s]."""
        return self.end - self.start

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {**vars(self), "joints": list(self.joints)}


def find_contacts(
    time: Array, residuals: Array, limits: Array, joints: Sequence[str], quiet: float = ALARM_THRESHOLDS.quiet
) -> tuple[ExternalContact, ...]:
    """The contacts of a log.

    Args:
        time: Time [s], shape (samples,).
        residuals: External torques [N m or N], shape (samples, joints).
        limits: The thresholds, of the same shape.
        joints: Names of the joints.
        quiet: Exceedances closer than this [s] are one contact.
    """
    ratios = np.abs(residuals) / limits
    beyond = np.flatnonzero((ratios > 1.0).any(axis=1))
    if not len(beyond):
        return ()
    cuts = np.flatnonzero(np.diff(time[beyond]) > quiet) + 1
    found = []
    for places in np.split(beyond, cuts):
        own = slice(int(places[0]), int(places[-1]) + 1)
        sample, k = np.unravel_index(int(np.argmax(ratios[own])), ratios[own].shape)
        touched = np.flatnonzero(ratios[own].max(axis=0) > 1.0).tolist()
        found.append(
            ExternalContact(
                start=float(time[places[0]]),
                end=float(time[places[-1]]),
                joint=joints[int(k)],
                torque=float(residuals[own][sample, k]),
                times=float(ratios[own][sample, k]),
                joints=tuple(joints[j] for j in touched),
            )
        )
    return tuple(found)
