"""The human body as a robot: `human`."""

from collections.abc import Mapping, Sequence

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.human.anthropometry import LIMBS, SEGMENTS, Anthropometry, anthropometry, data
from dynid.robot.human.skeleton import SIDES, Skeleton, marker_rows, sized, tree
from dynid.robot.robot import Robot


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
    """The human body as a robot with a floating base: 15 segments, with masses and inertia of an anthropometric table.

    Args:
        sex: "female" or "male": the tables are of women and of men.
        height: Height [m].
        mass: Mass [kg].
        table: "dumas" (Dumas 2007) or "de-leva" (De Leva 1996).
        lengths: Lengths [m] of segments that were measured, by name, such as `{"thigh": 0.41}`; of one side with
            `thigh_left`. The others follow from the height.
        markers: Names of the markers to put on the body; all when None.
        planar: Give the planar model of three segments instead.

    Raises:
        UnknownNameError: If there is no such sex, table, segment or marker.
        InvalidRequestError: If a height, a mass or a length is none of a human body.
    """
    if planar:
        raise InvalidRequestError("the planar model is not there yet")
    of_table = anthropometry(table, sex)
    skeleton = _skeleton(of_table, height, mass, dict(lengths or {}))
    known = [name for name, _, _ in marker_rows()]
    for name in markers or ():
        if name not in known:
            raise UnknownNameError("marker", name, known)
    bodies, joints = tree(skeleton, markers)
    name = "human"
    return assemble(Description(name, name, tuple(bodies), tuple(joints)), floating_base=True)


def _skeleton(of_table: Anthropometry, height: float, mass: float, lengths: dict[str, float]) -> Skeleton:
    """Segments of the lengths that are stated, and else of those with which the body stands as high as it should."""
    written, segments = data("skeleton.toml"), of_table.segments
    for name in lengths:
        known = [*SEGMENTS, *(f"{limb}_{side}" for limb in LIMBS for side in SIDES)]
        if name not in known:
            raise UnknownNameError("segment", name, known)
    standing = ("head", "torso", "pelvis", "thigh", "shank")
    parts = sum(abs(segments[name].end[2]) * segments[name].length for name in standing)
    scale = (1.0 - written["ankle_height"]) / parts
    found = {}
    for name, segment in segments.items():
        for side in SIDES if name in LIMBS else ("",):
            body = f"{name}_{side}" if side else name
            stated = [lengths[key] for key in (body, name) if key in lengths]
            length = stated[0] if stated else float(scale * segment.length * height)
            found[body] = sized(segment, side, segment.mass * mass, length)
    half = written["hip_half"][of_table.sex] if of_table.hip_half is None else of_table.hip_half
    return Skeleton(height, float(half), found)
