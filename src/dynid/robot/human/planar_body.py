"""The planar body: feet that stand, shanks, thighs, and head, arms and trunk, in the sagittal plane.

Both legs are taken together, and everything above the hips is one body: the segments of the whole body, as they are in
the neutral posture, welded together.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, Geometry, JointDescription
from dynid.robot.frames import pose
from dynid.robot.human.skeleton import SIDES, Skeleton, chains, joint_description

BODIES = {
    "feet": ("foot_left", "foot_right"),
    "shanks": ("shank_left", "shank_right"),
    "thighs": ("thigh_left", "thigh_right"),
    "trunk": (),
}
"""Bodies of the planar model with the segments that each is made of; the last has all others."""


def planar_tree(
    skeleton: Skeleton, markers: Sequence[str] | None
) -> tuple[list[BodyDescription], list[JointDescription]]:
    """Bodies and joints of the planar body; its base, the feet, has its origin on the ground under the ankles."""
    origins = _origins(skeleton)
    legs = {segment for segments in BODIES.values() for segment in segments}
    frames = skeleton.frames(markers)
    at = {
        "feet": (origins["foot_left"] + origins["foot_right"]) / 2 - _up(skeleton.ankle_height),
        "shanks": (origins["foot_left"] + origins["foot_right"]) / 2,
        "thighs": (origins["shank_left"] + origins["shank_right"]) / 2,
        "trunk": (origins["thigh_left"] + origins["thigh_right"]) / 2,
    }
    bodies: list[BodyDescription] = []
    joints: list[JointDescription] = []
    below = None
    for name, segments in BODIES.items():
        own = segments or [body for body in skeleton.segments if body not in legs]
        if below is not None:
            joints.append(_hinge(name, below, at[name] - at[below]))
        bodies.append(_welded(name, own, skeleton, origins, at[name]))
        for frame, body, place in frames:
            if body in own:
                bodies.append(BodyDescription(frame))
                joints.append(skeleton.fixed(frame, name, origins[body] + place - at[name]))
        below = name
    return bodies, joints


def _origins(skeleton: Skeleton) -> dict[str, Array]:
    """Origins [m] of all segments in the neutral posture, in the frame of the pelvis."""
    found: dict[str, Array] = {"pelvis": np.zeros(3)}
    pending = [(body, parent) for body, parent, _ in chains()]
    while pending:
        body, parent = pending.pop(0)
        if parent in found:
            found[body] = found[parent] + skeleton.origin(body, parent)
        else:
            pending.append((body, parent))
    return found


def _welded(
    name: str, segments: Sequence[str], skeleton: Skeleton, origins: Mapping[str, Array], at: Array
) -> BodyDescription:
    """Segments as one body about a point [m]."""
    total, shapes = np.zeros(inertia.SIZE), []
    for body in segments:
        placement = pose(translation=origins[body] - at)
        total += inertia.moved(skeleton.segments[body].parameters, placement)
        for shape in skeleton.shapes(body):
            shapes.append(Geometry(shape.shape, shape.size, frozen(placement @ shape.placement)))
    return BodyDescription(name, frozen(total), geometry=tuple(shapes))


def _hinge(child: str, parent: str, at: Array) -> JointDescription:
    """The hinge below a body: the joint of the legs, seen from the ground, so that the axis points the other way."""
    stem = {"shanks": "ankle", "thighs": "knee", "trunk": "hip"}[child]
    rows: list[Mapping[str, Any]] = [row for _, _, rows in chains() for row in rows]
    leg = next(row for row in rows if row["name"] == f"{stem}_{SIDES[0]}_flexion")
    row = {**leg, "name": f"{stem}_flexion", "axis": [-part + 0.0 for part in leg["axis"]]}
    return joint_description(row, parent, child, at)


def _up(height: float) -> Array:
    return np.array([0.0, 0.0, height])
