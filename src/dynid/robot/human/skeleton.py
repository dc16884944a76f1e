"""The skeleton: segments of a size on the joints of `skeleton.toml`, with markers, soles and shapes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.robot.description import BodyDescription, Geometry, JointDescription
from dynid.robot.frames import pose
from dynid.robot.geometry import along_z
from dynid.robot.human.anthropometry import LIMBS, MIRROR, Segment, data, mirrored
from dynid.robot.joints import JointKind, Limits

SIDES = ("left", "right")
"""Sides of the body; segments of limbs are named after them, such as `thigh_left`."""


@dataclass(frozen=True, eq=False)
class SizedSegment:
    """A segment of a body.

    Attributes:
        segment: What the table says of it.
        length: Its length [m].
        parameters: Its 10-vector about its origin, shape (10,).
    """

    segment: Segment
    length: float
    parameters: Array

    @property
    def end(self) -> Array:
        """Where it ends [m], seen from its origin, shape (3,)."""
        return self.length * self.segment.end


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A body whose segments have sizes.

    Attributes:
        height: The height [m] that places on it are counted in.
        hip_half: Half the distance of the hips in heights.
        shoulder: The left shoulder in heights, seen from the upper end of the torso, shape (3,).
        segments: Segments by the names of their bodies, such as `thigh_left`.
    """

    height: float
    hip_half: float
    shoulder: Array
    segments: Mapping[str, SizedSegment]

    @property
    def ankle_height(self) -> float:
        """Height [m] of the ankles above the ground."""
        return data("skeleton.toml")["ankle_height"] * self.height

    @property
    def standing_height(self) -> float:
        """Height [m] of the vertex above the ground in the neutral posture, over the mean of legs of two lengths."""
        legs = [self.segments[f"{name}_{side}"].length for name in ("thigh", "shank") for side in SIDES]
        upper = sum(float(self.segments[name].end[2]) for name in ("pelvis", "torso", "head"))
        return upper + sum(legs) / 2 + self.ankle_height

    def place(self, body: str, place: Mapping[str, Any]) -> Array:
        """A place of `skeleton.toml` on a body [m], shape (3,); mirrored on the right side."""
        at = self.height * np.array(place.get("at", (0.0, 0.0, 0.0)))
        return place.get("along", 0.0) * self.segments[body].end + (_mirror(body) @ at)

    def origin(self, body: str, parent: str) -> Array:
        """Where the origin of a body is on its parent [m], shape (3,)."""
        match self.segments[body].segment.name:
            case "thigh":
                return self.height * _mirror(body) @ np.array([0.0, self.hip_half, 0.0])
            case "upper_arm":
                return self.segments[parent].end + self.height * _mirror(body) @ self.shoulder
        return self.segments[parent].end

    def frames(self, markers: Sequence[str] | None) -> list[tuple[str, str, Array]]:
        """Frames fixed to bodies: name, body and place [m]; soles first, then the markers (all when None)."""
        written = data("skeleton.toml")
        soles = [(f"{side}_{name}", f"{row['segment']}_{side}", row)
                 for name, row in written["frames"].items() for side in SIDES]  # fmt: skip
        chosen = [(m, b, r) for m, b, r in marker_rows() if markers is None or m in markers]
        return [(name, body, self.place(body, row)) for name, body, row in (*soles, *chosen)]

    def fixed(self, name: str, body: str, place: Array) -> JointDescription:
        """The joint that fixes a frame to a body at a place [m]."""
        return JointDescription(f"{name}_fixed", JointKind.FIXED, body, name, frozen(pose(translation=place)))

    def shapes(self, body: str) -> tuple[Geometry, ...]:
        """Shapes of a body."""
        rows = data("skeleton.toml")["shapes"].get(self.segments[body].segment.name, ())
        return tuple(shape for row in rows for shape in self._shape(body, row))

    def _shape(self, body: str, row: Mapping[str, Any]) -> Iterator[Geometry]:
        if "box" in row:
            size = tuple(float(self.height * edge) for edge in row["box"])
            yield Geometry("box", size, frozen(pose(translation=self.place(body, row["centre"]))))
            return
        begin, end = (self.place(body, place) for place in row["capsule"])
        radius = float(self.height * row["radius"])
        placement = pose(translation=begin) @ along_z(end - begin)
        yield Geometry("cylinder", (radius, float(np.linalg.norm(end - begin))), frozen(placement))
        for centre in (begin, end):
            yield Geometry("sphere", (radius,), frozen(pose(translation=centre)))


def marker_rows() -> list[tuple[str, str, Mapping[str, Any]]]:
    """Names of all markers, the bodies that they are on, and their places."""
    found = []
    for name, row in data("skeleton.toml")["markers"].items():
        for side in SIDES if "{S}" in name else ("",):
            body = row["segment"] if row["segment"] not in LIMBS else f"{row['segment']}_{side}"
            at = row.get("at", (0.0, 0.0, 0.0))
            flip = side == "right" and row["segment"] not in LIMBS  # limbs are mirrored with their body
            found.append(
                (name.replace("{S}", side[:1].upper()), body, {**row, "at": (at[0], -at[1] if flip else at[1], at[2])})
            )
    return found


def chains() -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    """Bodies with their parents and the joints between them, of both sides."""
    for row in data("skeleton.toml")["segment"]:
        for side in SIDES if row.get("sides") else ("",):
            body, parent = (f"{name}_{side}" if name in LIMBS else name for name in (row["name"], row["parent"]))
            yield (
                body,
                parent,
                [
                    {**joint, "name": joint["name"].format(side=side), "axis": _turned(joint["axis"], side)}
                    for joint in row["joints"]
                ],
            )


def tree(skeleton: Skeleton, markers: Sequence[str] | None) -> tuple[list[BodyDescription], list[JointDescription]]:
    """Bodies and joints of a body, depth first, the joints on one body by their names, as files are read."""
    on: dict[str, list[tuple[str, list[Mapping[str, Any]]]]] = {}
    for body, parent, joints in chains():
        on.setdefault(parent, []).append((body, joints))
    frames = skeleton.frames(markers)
    bodies: list[BodyDescription] = []
    found: list[JointDescription] = []

    def grow(body: str) -> None:
        own = skeleton.segments[body]
        bodies.append(BodyDescription(body, frozen(own.parameters), geometry=skeleton.shapes(body)))
        for name, carrier, place in frames:
            if carrier == body:
                bodies.append(BodyDescription(name))
                found.append(skeleton.fixed(name, body, place))
        for child, joints in sorted(on.get(body, []), key=lambda item: item[1][0]["name"]):
            at, carrier = skeleton.origin(child, body), body
            for k, joint in enumerate(joints):
                moved = child if k == len(joints) - 1 else f"{child}/{joint['name']}"
                if moved != child:
                    bodies.append(BodyDescription(moved, virtual=True))
                found.append(joint_description(joint, carrier, moved, at if k == 0 else np.zeros(3)))
                carrier = moved
            grow(child)

    grow("pelvis")
    return bodies, found


def joint_description(row: Mapping[str, Any], parent: str, child: str, at: Array) -> JointDescription:
    """A hinge of `skeleton.toml` between two bodies, at a place [m] on the first."""
    lower, upper, velocity = (float(np.deg2rad(row[key])) for key in ("lower", "upper", "velocity"))
    return JointDescription(
        row["name"],
        JointKind.REVOLUTE,
        parent,
        child,
        frozen(pose(translation=at)),
        frozen(np.array(row["axis"], dtype=float)),
        Limits(lower, upper, velocity),
    )


def sized(segment: Segment, side: str, mass: float, length: float) -> SizedSegment:
    """A segment of a mass [kg] and a length [m]."""
    parameters = segment.parameters(mass, length)
    return SizedSegment(segment, length, mirrored(parameters) if side == "right" else parameters)


def _mirror(body: str) -> Array:
    return MIRROR[:3, :3] if body.endswith("_right") else np.eye(3)


def _turned(axis: Sequence[float], side: str) -> tuple[float, ...]:
    """An axis of the left side on the right one: so that the same angle is the mirror image."""
    return (-axis[0] + 0.0, axis[1], -axis[2] + 0.0) if side == "right" else tuple(axis)
