"""Tables of the segments of the human body: lengths, masses, centres of mass and inertia, of women and men.

The numbers stand in files, as the papers print them (`de_leva.toml`, `dumas.toml`). Here they become segments in one
form: axes x forward, y to the left, z upward, and lengths as parts of the segment's own. Where a table has a segment of
the middle of the body that leans to one side, its mean with its mirror image stands here.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import UnknownNameError
from dynid.robot import inertia
from dynid.robot.frames import elementary_rotation, pose

TABLES = {"dumas": "dumas.toml", "de-leva": "de_leva.toml"}
"""Tables by the names that users call them by, with their files."""

SEXES = ("female", "male")
"""The sexes that every table is of."""

MIDDLE = ("pelvis", "torso", "head")
"""Segments that a body has one of."""

LIMBS = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
"""Segments that a body has two of."""

SEGMENTS = (*MIDDLE, *LIMBS)

MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])
"""From the left side to the right one."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment of the body, of the left side where there are two.

    Attributes:
        name: One of `SEGMENTS`.
        length: Its length in the table's mean subject, in parts of that one's height.
        mass: Its mass, in parts of the body's mass.
        end: Where it ends, seen from its origin, in its lengths, shape (3,).
        unit: Its 10-vector about its origin with mass 1 and length 1, shape (10,).
    """

    name: str
    length: float
    mass: float
    end: Array
    unit: Array

    def parameters(self, mass: float, length: float) -> Array:
        """The 10-vector about the origin of a segment of a mass [kg] and a length [m], shape (10,)."""
        return mass * self.unit * np.array([1.0, *[length] * 3, *[length**2] * 6])


@dataclass(frozen=True, eq=False)
class Anthropometry:
    """What a table says of women or men.

    Attributes:
        table: One of `TABLES`.
        sex: One of `SEXES`.
        name: How the table is cited.
        height: Height [m] of its mean subject.
        segments: The segments by their names, in the order of `SEGMENTS`; their masses sum to 1.
        printed_sum: What the masses that the table prints sum to, both sides counted, in parts of the body's mass.
        hip_half: Half the distance of the hips in parts of the body's height.
        shoulder: The left shoulder in parts of the body's height, seen from the upper end of the torso, shape (3,).
    """

    table: str
    sex: str
    name: str
    height: float
    segments: Mapping[str, Segment]
    printed_sum: float
    hip_half: float
    shoulder: Array


@cache
def data(file: str) -> dict[str, Any]:
    """What a file of this folder says."""
    return tomllib.loads((resources.files(__package__ or "") / file).read_text(encoding="utf-8"))


@cache
def anthropometry(table: str, sex: str) -> Anthropometry:
    """The segments of women or men in a table.

    Args:
        table: One of `TABLES`.
        sex: One of `SEXES`.

    Raises:
        UnknownNameError: If there is no such table or sex.
    """
    if table not in TABLES:
        raise UnknownNameError("anthropometric table", table, TABLES)
    if sex not in SEXES:
        raise UnknownNameError("sex", sex, SEXES, " in the anthropometric tables")
    written, skeleton = data(TABLES[table]), data("skeleton.toml")
    of_sex = written[sex]
    find = _dumas_segment if written["axes"] == "isb" else _de_leva_segment
    found = {name: find(name, of_sex, skeleton) for name in SEGMENTS}
    total = sum(s.mass * (2 if s.name in LIMBS else 1) for s in found.values())
    segments = {
        name: Segment(name, s.length / of_sex["height"], s.mass / total, s.end, s.unit) for name, s in found.items()
    }
    half, shoulder = skeleton["hip_half"][sex], np.array(skeleton["shoulder"][sex])
    if "pelvis_half" in of_sex:
        half = of_sex["pelvis_half"] * of_sex["pelvis_width"] / 1000 / of_sex["height"]
    if "shoulders" in of_sex:
        trunk = segments["torso"].length + segments["pelvis"].length
        shoulder[2] = of_sex["shoulders"] / 1000 / of_sex["height"] - trunk
    return Anthropometry(table, sex, written["name"], of_sex["height"], segments, total, float(half), frozen(shoulder))


def _dumas_segment(name: str, of_sex: Mapping[str, Any], skeleton: Mapping[str, Any]) -> Segment:
    """A segment of the right side in the axes of the International Society of Biomechanics, as one of the left."""
    rows = of_sex["segment"]
    length = rows[name]["length"] / 1000
    up = np.array([0.0, 0.0, 1.0])
    end, placement = up if name in MIDDLE else -up, np.eye(4)
    if name == "pelvis":  # printed from its upper end, along the line between its spines
        tilt = elementary_rotation("y", np.deg2rad(skeleton["pelvic_tilt"]))
        x, z = np.array(of_sex["pelvis_end"]) / np.hypot(*of_sex["pelvis_end"])
        end = tilt @ np.array([x, 0.0, z])
        placement = pose(tilt, end)
    elif name == "torso":  # the same
        placement = pose(translation=end)
    own = _upright(name, _isb_body(rows[name], length), MIRROR @ placement if name in LIMBS else placement)
    return Segment(name, length, rows[name]["mass"] / 100, frozen(end), frozen(own))


def _isb_body(row: Mapping[str, Any], unit: float) -> Array:
    """The 10-vector of a row about its origin with mass 1, in lengths of a unit [m], along x, y, z of the body."""
    size = row["length"] / 1000 / unit
    xy, xz, yz = (np.sign(r) * r**2 for r in row.get("used_products", row["products"]))
    xx, yy, zz = (r**2 for r in row["radii"])
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * (size / 100) ** 2
    turn = elementary_rotation("x", np.pi / 2)  # X, Y, Z of the table are x, z, -y
    return inertia.from_mass_com_inertia(1.0, turn @ np.array(row["com"]) * size / 100, turn @ tensor @ turn.T)


def _de_leva_segment(name: str, of_sex: Mapping[str, Any], skeleton: Mapping[str, Any]) -> Segment:
    """A segment whose centre of mass is on the line between its ends; the torso is the upper and the middle trunk."""
    rows = of_sex["segment"]
    up = np.array([0.0, 0.0, 1.0])
    if name == "torso":
        upper, middle = rows["upper_trunk"], rows["middle_trunk"]
        length, shares = (upper["length"] + middle["length"]) / 1000, [upper["mass"] / 100, middle["mass"] / 100]
        places = [up, middle["length"] / 1000 / length * up]
        parts = [
            inertia.moved(_straight_body(row, length, up), pose(translation=at))
            for row, at in zip((upper, middle), places, strict=True)
        ]
        total = np.average(parts, axis=0, weights=shares)
        return Segment(name, length, sum(shares), frozen(up), frozen(total))
    row = rows[name]
    length, placement = row["length"] / 1000, np.eye(4)
    if name in MIDDLE:
        placement = pose(translation=up)
    if name == "foot":  # its longitudinal axis points forward, from the heel, half way between the ankle and the ground
        heel, ankle = (skeleton[key] * of_sex["height"] / length for key in ("heel", "ankle_height"))
        placement = pose(elementary_rotation("y", -np.pi / 2), np.array([-heel, 0.0, -ankle / 2]))
    own = inertia.moved(_straight_body(row, length, up), placement)
    return Segment(name, length, row["mass"] / 100, frozen(up if name in MIDDLE else -up), frozen(own))


def _straight_body(row: Mapping[str, Any], unit: float, up: Array) -> Array:
    """The 10-vector of a row about its upper end with mass 1, in lengths of a unit [m]; z is its longitudinal axis."""
    size = row["length"] / 1000 / unit
    return inertia.from_mass_com_inertia(
        1.0, -row["com"] / 100 * size * up, np.diag((np.array(row["radii"]) / 100 * size) ** 2)
    )


def _upright(name: str, own: Array, placement: Array) -> Array:
    """A 10-vector from the axes of a table to those of the body; the mean with its mirror image in the middle."""
    moved = inertia.moved(own, placement)
    return (moved + inertia.moved(moved, MIRROR)) / 2 if name in MIDDLE else moved


def mirrored(parameters: Array) -> Array:
    """The 10-vector of the other side's segment, (10,) to (10,)."""
    return inertia.moved(parameters, MIRROR)
