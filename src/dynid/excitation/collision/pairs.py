"""Which parts of a robot are kept apart: all but neighbours, and those that its SRDF file or settings excuse."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynid.errors import FileProblemError, InvalidRequestError, RobotFileError
from dynid.excitation.collision.solids import Solid
from dynid.robot import WORLD, Robot, read_xml, srdf_file


class SemanticFileError(FileProblemError):
    """An SRDF file cannot be used."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two links, or a link and something that stands still, that are kept apart.

    Attributes:
        name: Both names: "link2-link5", "wrist-floor".
        first: Index of a link.
        second: Index of a link or of `WORLD`; of a wall, for pairs with walls.
        parts: Indices of the solids that may touch: of both links, shape (n, 2); of the link alone with a wall.
        is_wall: Whether the second is a wall.
    """

    name: str
    first: int
    second: int
    parts: tuple[tuple[int, int], ...]
    is_wall: bool = False


Names = frozenset[str]
"""The names of two bodies."""


def link_pairs(robot: Robot, solids: Sequence[Solid], excused: set[Names]) -> Iterator[Pair]:
    """Pairs of links that are no neighbours, with the parts of both that may not touch.

    Args:
        robot: The robot.
        solids: Its solids, and boxes around it.
        excused: Pairs of bodies that may touch.
    """
    by_link: dict[int, list[int]] = {}
    for k, solid in enumerate(solids):
        by_link.setdefault(solid.link, []).append(k)
    neighbours = _neighbours(robot, set(by_link))
    for first, second in itertools.combinations(sorted(by_link, reverse=True), 2):
        near = frozenset((first, second)) in neighbours
        parts = [
            (a, b)
            for a in by_link[first]
            for b in by_link[second]
            if frozenset((solids[a].body, solids[b].body)) not in excused
            and not (near and _is_of_robot(robot, solids[b]))
        ]
        if parts:
            yield from _named(robot, solids, first, second, parts)


def _is_of_robot(robot: Robot, solid: Solid) -> bool:
    return solid.link != WORLD or any(body.name == solid.body for body in robot.base.bodies)


def _named(
    robot: Robot, solids: Sequence[Solid], first: int, second: int, parts: Sequence[tuple[int, int]]
) -> Iterator[Pair]:
    """Pairs with names; each box around the robot is one of its own."""
    mine = robot.links[first].name
    of_robot = [part for part in parts if _is_of_robot(robot, solids[part[1]])]
    if of_robot:
        other = robot.base.name if second == WORLD else robot.links[second].name
        yield Pair(f"{mine}-{other}", first, second, tuple(of_robot))
    for box in dict.fromkeys(part[1] for part in parts if part not in of_robot):
        yield Pair(f"{mine}-{solids[box].body}", first, second, tuple(part for part in parts if part[1] == box))


def _neighbours(robot: Robot, solid_links: set[int]) -> set[frozenset[int]]:
    """Pairs of links with a joint between them; links without shapes between them do not count."""
    found = set()
    for k, joint in enumerate(robot.joints):
        below = joint.parent
        while below != WORLD and below not in solid_links:
            below = robot.joints[below].parent
        found.add(frozenset((k, below)))
    return found


def excused_pairs(robot: Robot, stated: Sequence[tuple[str, str]], srdf: str | None) -> tuple[set[Names], Path | None]:
    """Pairs of bodies that may touch, as settings, the robot's file and its SRDF file say; and that file.

    Args:
        robot: The robot.
        stated: Pairs of names of bodies or links.
        srdf: Path of an SRDF file; None looks for one beside the robot's file.

    Raises:
        SemanticFileError: If the SRDF file is missing or no such file.
        InvalidRequestError: If a name is not one of a body.
    """
    names = [body.name for body in robot.description.bodies]
    for name in (name for pair in stated for name in pair):
        if name not in names:
            shown = ", ".join(names[:20])
            raise InvalidRequestError(f"ignore_pairs names '{name}', which is no body of '{robot.name}': {shown}")
    source = Path(robot.description.source)
    path = Path(srdf) if srdf is not None else None
    if path is None and source.suffix.lower() in (".urdf", ".xacro"):
        path = srdf_file(source, robot.description.name)
    disabled = [] if path is None else _disabled(path)
    return {frozenset(pair) for pair in (*stated, *robot.description.no_contacts, *disabled)}, path


def _disabled(path: Path) -> list[tuple[str, str]]:
    """Pairs of `<disable_collisions>`."""
    try:
        root = read_xml(path)
    except RobotFileError as error:
        raise SemanticFileError(path, f"is no SRDF file: {error}") from error
    if root.tag != "robot" or root.find("link") is not None:
        raise SemanticFileError(path, "is no SRDF file: expected <robot> with <disable_collisions>")
    pairs = [(entry.get("link1", ""), entry.get("link2", "")) for entry in root.iter("disable_collisions")]
    return [pair for pair in pairs if all(pair)]
