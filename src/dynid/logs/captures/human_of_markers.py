"""The human body of a person whose markers were recorded: `human_of_markers`."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dynid.logs.captures.capture import Capture
from dynid.logs.captures.marker_calibration import MarkerCalibration, calibrated, labelled_as
from dynid.robot import human

ENDS = {
    "torso": "neck_flexion",
    "upper_arm": "elbow_{side}_flexion",
    "forearm": "wrist_{side}_flexion",
    "thigh": "knee_{side}_flexion",
    "shank": "ankle_{side}_flexion",
}
"""Segments that end at a joint, by that joint."""

SIDES = ("left", "right")


def human_of_markers(
    capture: Capture,
    *,
    sex: str,
    height: float,
    mass: float,
    table: str = "dumas",
    lengths: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
) -> MarkerCalibration:
    """The human body with the lengths, joints and markers that a recording of the person shows.

    Lengths between joints come from the recording where it determines them, and masses, centres of mass and inertia of
    the table are those of segments of these lengths. Hips, shoulders and markers are then calibrated on them.

    Args:
        capture: The recording: each joint moves in it, one after the other or all together.
        sex: "female" or "male".
        height: Height [m].
        mass: Mass [kg].
        table: "dumas" or "de-leva".
        lengths: Lengths [m] of segments that were measured otherwise, by name; they are taken as they are.
        labels: Bodies by labels of the capture, where they are called otherwise.

    Raises:
        UnknownNameError: If there is no such sex, table or segment.
        InvalidRequestError: If a height, a mass or a length is none of a human body, or no marker is of it.
    """
    stated = dict(lengths or {})
    usual = human(sex=sex, height=height, mass=mass, table=table, lengths=stated)
    capture, findings = labelled_as(usual, capture, labels)
    first = calibrated(usual, capture)
    found = {name: length for name, length in lengths_of(first).items() if not _is_stated(name, stated)}
    body = human(sex=sex, height=height, mass=mass, table=table, lengths={**found, **stated})
    result = calibrated(body, capture)
    return replace(result, findings=(*findings, *result.findings))


def lengths_of(calibration: MarkerCalibration) -> dict[str, float]:
    """Lengths of segments of a calibrated human body that are determined [m], as `human` takes them."""
    determined = {one.joints for one in calibration.lengths if one.is_determined}
    places = {joint.name: joint.placement[:3, 3] for joint in calibration.robot.joints}
    found = {}
    for segment, end in ENDS.items():
        for side in SIDES if "{side}" in end else ("",):
            joint = end.format(side=side)
            if any(joint == second for _, second in determined) and joint in places:
                found[f"{segment}_{side}" if side else segment] = float(np.linalg.norm(places[joint]))
    hips = tuple(f"hip_{side}_flexion" for side in SIDES)
    pairs = {frozenset(pair) for pair in determined}
    if all(frozenset((hip, "spine_flexion")) in pairs for hip in hips):
        middle = (places[hips[0]] + places[hips[1]]) / 2
        found["pelvis"] = float(np.linalg.norm(places["spine_flexion"] - middle))
    return found


def _is_stated(name: str, stated: Mapping[str, float]) -> bool:
    return name in stated or name.removesuffix("_left").removesuffix("_right") in stated
