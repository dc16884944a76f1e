"""Force plates to the contacts of a log: resampled to the clock of the markers, each on the foot that stands on it."""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs import Contact
from dynid.logs.captures import Capture, ForcePlate, pressure
from dynid.logs.processing.signals import lowpass
from dynid.model import link_pose
from dynid.robot import Robot


@dataclass(frozen=True)
class PlateContactThresholds:
    """When a plate is loaded, by whom, and how its signals are resampled."""

    loaded: float = 30.0
    """Vertical force [N] from which somebody stands on a plate. By judgement."""

    away: float = 0.3
    """Distance [m] of the centre of pressure from the nearest end of a limb, in the median, from which plate and
    markers do not fit: ankles of adults are 0.2 m from the tips of the toes. By judgement."""

    cutoff: float = 0.4
    """Cut-off frequency in the sampling rate of the markers: what is above half of that rate would be folded down.
    By judgement."""

    samples: int = 400
    """Loaded samples that are looked at. By judgement."""


THRESHOLDS = PlateContactThresholds()


def contacts_of_plates(
    robot: Robot, q: Array, capture: Capture, time: Array | None = None
) -> tuple[tuple[Contact, ...], tuple[Finding, ...]]:
    """One contact for each force plate that somebody stands on, and what was noticed.

    Each has the pose of its plate, and the end of a limb that is nearest to its centre of pressure most of the time as
    its body. A plate on which both feet stand, or one after the other, measures the wrench of both: on the rows of a
    floating base it acts alike, whichever body it is said to act on, and so their sum is all that counts there. The
    rows of joints do depend on the body; with joint torques measured as well, each foot needs its own plate.

    Args:
        robot: A robot with a floating base.
        q: Its positions at these times, shape (samples, nq).
        capture: The capture, with plates whose offsets were taken out.
        time: Time stamps of the contacts [s], shape (samples,); those of the capture when None.

    Raises:
        InvalidRequestError: If no plate is loaded.
    """
    time = capture.time if time is None else time
    contacts, findings = list[Contact](), list[Finding]()
    limbs = _limbs(robot)
    places = {name: link_pose(robot, link, q)[1] for name, link in limbs.items()}
    for plate in capture.plates:
        wrench = resampled(plate, time)
        upward = wrench[:, :3] @ plate.pose[2, :3]
        loaded = np.flatnonzero(upward > THRESHOLDS.loaded)
        if not len(loaded):
            continue
        rows = loaded[:: max(1, len(loaded) // THRESHOLDS.samples)]
        near, distance = _nearest(ForcePlate(plate.name, time, wrench, plate.pose, plate.corners), rows, places)
        shares = {name: float(np.mean(near == name)) for name in dict.fromkeys(near.tolist())}
        shares = {name: share for name, share in sorted(shares.items(), key=lambda one: -one[1]) if share >= 0.01}
        contacts.append(Contact(next(iter(shares)), wrench, plate.pose))
        findings.append(Finding.of("plate-carries", plate.name, bodies=shares, share=len(loaded) / len(time)))
        if np.median(distance) > THRESHOLDS.away:
            findings.append(Finding.of("plate-away-from-body", plate.name, distance=float(np.median(distance))))
    if not contacts:
        raise InvalidRequestError(
            f"nobody stands on the {len(capture.plates)} force plates of '{capture.name}'; a body is identified from "
            "the wrench on its feet, so give a capture in which it is measured"
            if capture.plates
            else f"'{capture.name}' has no force plates; a body is identified from the wrench on its feet: give a "
            "capture in which it is measured, or the table that has it (plates = ... beside file in capture)"
        )
    return tuple(contacts), tuple(findings)


def resampled(plate: ForcePlate, time: Array) -> Array:
    """The wrench of a plate at other times, shape (samples, 6): without what is too fast for their rate.

    NaN before the plate's first sample and after its last, where it was not measured.
    """
    wrench = plate.wrench
    if len(time) > 1 and len(plate) > 1:
        rate, own = 1.0 / float(np.median(np.diff(time))), 1.0 / float(np.median(np.diff(plate.time)))
        if own > 1.01 * rate and len(plate) > 50:
            wrench = lowpass(wrench, own, THRESHOLDS.cutoff * rate)
    found = np.column_stack([np.interp(time, plate.time, column) for column in wrench.T])
    step = float(np.median(np.diff(plate.time))) if len(plate) > 1 else 0.0
    own_step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    # The last samples of both clocks hardly ever coincide.
    outside = (time < plate.time[0] - max(step, own_step)) | (time > plate.time[-1] + max(step, own_step))
    found[outside] = np.nan
    return found


def _limbs(robot: Robot) -> dict[str, int]:
    """Ends of limbs, which may stand on something: links that carry no other link, by name."""
    parents = {joint.parent for joint in robot.joints}
    return {link.name: i for i, link in enumerate(robot.links) if i not in parents}


def _nearest(plate: ForcePlate, rows: np.ndarray, places: dict[str, Array]) -> tuple[np.ndarray, Array]:
    """The end of a limb that is nearest to the centre of pressure, and its distance [m], shape (rows,)."""
    at = np.column_stack([pressure(plate, rows), np.zeros(len(rows))]) @ plate.pose[:3, :3].T + plate.pose[:3, 3]
    names = list(places)
    distances = np.stack([np.linalg.norm(places[name][rows] - at, axis=1) for name in names])
    best = np.argmin(distances, axis=0)
    return np.array(names)[best], distances.min(axis=0)
