"""The human body as a robot, of a sex, a height and a mass: `human`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.findings import Finding
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.human.anthropometry import LIMBS, SEGMENTS, Anthropometry, anthropometry, data
from dynid.robot.human.planar_body import planar_tree
from dynid.robot.human.skeleton import SIDES, Skeleton, marker_rows, sized, tree
from dynid.robot.robot import Robot


@dataclass(frozen=True)
class HumanBodyThresholds:
    """Which numbers are those of a human body, and from where on findings say that the tables hardly describe it."""

    least_height: float = 0.5
    """Height [m] below which a number is no height of a body in metres. By judgement."""

    most_height: float = 2.75
    """Height [m] above which a number is no height of a body in metres: the tallest man had 2.72 m. By judgement."""

    least_mass: float = 2.0
    """Mass [kg] below which a number is no mass of a body in kilograms. By judgement."""

    most_mass: float = 650.0
    """Mass [kg] above which a number is no mass of a body in kilograms: the heaviest man had 635 kg. By judgement."""

    least_index: float = 13.0
    """Body mass index [kg/m^2] below which height or mass is probably wrong. By judgement."""

    most_index: float = 50.0
    """Body mass index [kg/m^2] above which height or mass is probably wrong, or no table describes the body.
    By judgement."""

    most_length_ratio: float = 1.25
    """Ratio of a stated length to the one that follows from the height, either way, from which on a finding says so:
    segments vary by a standard deviation of about 5 % among people of one height. By judgement."""

    most_standing_error: float = 0.03
    """Share of the height by which stated lengths may make the body stand higher or lower. By judgement."""


THRESHOLDS = HumanBodyThresholds()


def human(
    *,
    sex: str,
    height: float,
    mass: float,
    table: str = "dumas",
    lengths: Mapping[str, float] | None = None,
    markers: Sequence[str] | None = None,
    planar: bool = False,
) -> Robot:
    """The human body as a robot: 15 segments with masses and inertia of an anthropometric table, on a floating base.

    The neutral posture stands with hanging arms and palms forward; x points forward, y to the left, z upward.

    Args:
        sex: "female" or "male": the tables are of women and of men.
        height: Height [m].
        mass: Mass [kg].
        table: "dumas" (Dumas 2007) or "de-leva" (De Leva 1996).
        lengths: Lengths [m] of segments that were measured, by name, such as `{"thigh": 0.41}`; of one side with
            `thigh_left`. The others are the table's, scaled so that the body of the table stands as high as this one.
        markers: Names of the markers to put on the body, as massless bodies; all when None.
        planar: Give the planar model instead: shanks, thighs, and head, arms and trunk, on feet that stand.

    Raises:
        UnknownNameError: If there is no such sex, table, segment or marker.
        InvalidRequestError: If a height, a mass or a length is none of a human body.

    >>> human(sex="female", height=1.68, mass=62)
    Robot('human': 33 moving joints, floating base, 15 links)
    """
    return assemble(
        human_description(sex, height, mass, table, lengths, markers, planar=planar), floating_base=not planar
    )


def human_description(
    sex: str,
    height: float,
    mass: float,
    table: str = "dumas",
    lengths: Mapping[str, float] | None = None,
    markers: Sequence[str] | None = None,
    *,
    planar: bool = False,
) -> Description:
    """The description that `human` assembles, whose base is not freed; arguments as there."""
    of_table = anthropometry(str(table), str(sex))
    height, mass = _height(height), _mass(mass)
    known = [name for name, _, _ in marker_rows()]
    markers = [markers] if isinstance(markers, str) else markers
    for name in markers or ():
        if name not in known:
            raise UnknownNameError("marker", name, known)
    stated = {name: _length(name, length, height) for name, length in (lengths or {}).items()}
    skeleton = sized_skeleton(of_table, height, mass, stated)
    bodies, joints = (planar_tree if planar else tree)(skeleton, markers)
    name = "human_planar" if planar else "human"
    findings = tuple(_findings(of_table, height, mass, stated, skeleton))
    return Description(name, name, tuple(bodies), tuple(joints), findings=findings)


def sized_skeleton(of_table: Anthropometry, height: float, mass: float, stated: Mapping[str, float]) -> Skeleton:
    """Segments of a body of a height [m] and a mass [kg], some of which have stated lengths [m]."""
    found = {}
    for name, segment in of_table.segments.items():
        for side in SIDES if name in LIMBS else ("",):
            body = f"{name}_{side}" if side else name
            own = [stated[key] for key in (body, name) if key in stated]
            length = own[0] if own else length_at(of_table, name, height)
            found[body] = sized(segment, side, segment.mass * mass, length)
    return Skeleton(height, of_table.hip_half, of_table.shoulder, found)


def length_at(of_table: Anthropometry, name: str, height: float) -> float:
    """Length [m] of a segment of a body of a height [m], all of whose segments are in the proportions of a table.

    The height is exact: the lengths of a table add up to its mean subject's height, more or less.
    """
    segments = of_table.segments
    parts = sum(float(segments[key].end[2]) * segments[key].length for key in ("head", "torso", "pelvis"))
    parts += segments["thigh"].length + segments["shank"].length
    return (1.0 - data("skeleton.toml")["ankle_height"]) / parts * segments[name].length * height


def _findings(
    of_table: Anthropometry, height: float, mass: float, stated: Mapping[str, float], skeleton: Skeleton
) -> list[Finding]:
    """What is unusual about a body."""
    found = []
    index = mass / height**2
    if not THRESHOLDS.least_index <= index <= THRESHOLDS.most_index:
        found.append(Finding.of("human-mass-implausible", "the body", height=height, mass=mass, index=index))
    for name, length in stated.items():
        usual = length_at(of_table, name.removesuffix("_left").removesuffix("_right"), height)
        ratio = length / usual
        if max(ratio, 1.0 / ratio) > THRESHOLDS.most_length_ratio:
            values = {"length": length, "usual": usual, "table": of_table.name}
            found.append(Finding.of("human-length-unusual", f"segment '{name}'", **values))
    stands = skeleton.standing_height
    if abs(stands / height - 1.0) > THRESHOLDS.most_standing_error:
        found.append(Finding.of("human-height-differs", "the body", height=height, stands=stands))
    return found


def _height(value: float) -> float:
    units = {"centimetres": 1e-2, "millimetres": 1e-3, "feet": 0.3048}
    return _checked("a height", "m", value, THRESHOLDS.least_height, THRESHOLDS.most_height, units)


def _mass(value: float) -> float:
    return _checked("a mass", "kg", value, THRESHOLDS.least_mass, THRESHOLDS.most_mass, {"grams": 1e-3})


def _length(name: str, value: float, height: float) -> float:
    known = [*SEGMENTS, *(f"{limb}_{side}" for limb in LIMBS for side in SIDES)]
    if name not in known:
        raise UnknownNameError("segment", name, known)
    units = {"centimetres": 1e-2, "millimetres": 1e-3}
    return _checked(f"a length of segment '{name}'", "m", value, 0.01 * height, 0.5 * height, units)


def _checked(what: str, unit: str, value: float, least: float, most: float, units: Mapping[str, float]) -> float:
    """A number between two bounds; the error says in which unit it would be between them."""
    try:
        number = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if least <= number <= most:
        return number
    fits = next((name for name, size in units.items() if least <= number * size <= most), None)
    advice = (
        f"it looks like {fits}: write {number * units[fits]:.4g}" if fits else f"expected {least:.3g} to {most:.3g}"
    )
    raise InvalidRequestError(f"{value!r:.60} {unit} is not {what} of a human body; {advice}")
