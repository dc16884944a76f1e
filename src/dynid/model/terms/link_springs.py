"""Springs on links: between a point of one body and a point of another, or of the world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.parameters import Parameter, Role, Sign
from dynid.model.terms.term import Term
from dynid.robot import WORLD, Robot

GROUND = "world"
"""In the place of a body: points in the world frame."""

SHORTEST_SPRING = 1e-9
"""Below this length [m] a spring has no direction, and what pulls along it does not act."""


class Anchor(NamedTuple):
    """Where a spring is fastened.

    Attributes:
        body: Name of a body of the robot's file, or "world".
        point: Its point, in that body's frame [m].
    """

    body: str
    point: tuple[float, float, float]


class LinkSpring(Term):
    """A linear spring between two points of bodies: force k (L - rest) along the line between them, of length L.

    A gravity-balancing spring is one, often with rest = 0. The stiffness k is the parameter, named `k_NAME`; the points
    and the rest length are given. Its torques are k (L - rest) dL/dq.

    Args:
        name: What the parameter's name has behind `k_`.
        first: Where it is fastened.
        second: Where its other end is.
        rest: Length at which it is free of force [m].
    """

    needs = frozenset("q")

    def __init__(self, name: str, first: Anchor, second: Anchor, rest: float = 0.0) -> None:
        self.name, self.first, self.second, self.rest = name, Anchor(*first), Anchor(*second), float(rest)

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The stiffness."""
        owner, at = f"{self.first.body} and {self.second.body}", self.ends(robot)
        joint = next(robot.joints[link].name for link, _ in reversed(at) if link != WORLD)
        return (Parameter(f"k_{self.name}", "N/m", owner, None, joint, None, Role.OTHER, Sign.NONNEGATIVE),)

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """(L - rest) dL/dq in the rows of all joints that move one end against the other."""
        between, J, _ = self._stretch(robot, q)
        share = self._share(between)
        for row in self._rows(robot):
            yield row, 0, share * np.einsum("ti,ti->t", between, J[row])

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of these over the positions, exact."""
        between, J, H = self._stretch(robot, q, second=True)
        length = np.maximum(np.linalg.norm(between, axis=1), SHORTEST_SPRING)
        share, rows = self._share(between), self._rows(robot)
        along = {row: np.einsum("ti,ti->t", between, J[row]) for row in rows}
        for row in rows:
            for other in rows:
                bend = np.einsum("ti,ti->t", J[row], J[other]) + np.einsum("ti,ti->t", between, H[row, other])
                yield row, 0, "q", other, share * bend + self.rest / length**3 * along[row] * along[other]

    def _share(self, between: Array) -> Array:
        """1 - rest / L."""
        return 1.0 - self.rest / np.maximum(np.linalg.norm(between, axis=1), SHORTEST_SPRING)

    def ends(self, robot: Robot) -> list[tuple[int, Array]]:
        """Index of the link of each end, and the point about that link's joint frame."""
        ends = [_place(robot, anchor) for anchor in (self.first, self.second)]
        if ends[0][0] == ends[1][0]:
            raise InvalidRequestError(
                f"the spring '{self.name}' has both ends on what moves as one body ({self.first.body} and "
                f"{self.second.body}); fasten it to bodies that move against each other"
            )
        return ends

    def _rows(self, robot: Robot) -> list[int]:
        """Rows of the joints that move one end only."""
        chains = [set() if link == WORLD else set(robot.chain(link)) for link, _ in self.ends(robot)]
        rows = {row for i in chains[0] ^ chains[1] for row in range(robot.nv)[robot.joints[i].v]}
        return sorted(rows)

    def _stretch(self, robot: Robot, q: Array, second: bool = False) -> tuple[Array, Array, Array]:
        """From the second end to the first [m], shape (samples, 3); its slopes over q, (nv, samples, 3); and theirs."""
        n, samples = robot.nv, len(q)
        between, J = np.zeros((samples, 3)), np.zeros((n, samples, 3))
        H = np.zeros((n, n, samples, 3)) if second else np.zeros((0, 0, samples, 3))
        for sign, (link, point) in zip((1.0, -1.0), self.ends(robot), strict=True):
            if link == WORLD:
                between += sign * point
                continue
            R, x = _poses(robot, link, q)
            end = x[link] + R[link] @ point
            between += sign * end
            moves = list(_moves(robot, R, x, end))
            for k, (row, _, slide) in enumerate(moves):
                J[row] += sign * slide
                for earlier, (other, turn, _) in enumerate(moves) if second else ():
                    bend = np.cross(turn, slide) if earlier <= k else np.cross(moves[k][1], moves[earlier][2])
                    H[row, other] += sign * bend
        return between, J, H


def _place(robot: Robot, anchor: Anchor) -> tuple[int, Array]:
    """The link of an end, or `WORLD`, and the point about its joint frame or in the world, shape (3,)."""
    point = np.array(anchor.point, dtype=float)
    if anchor.body == GROUND:
        return WORLD, point
    for index, link in ((WORLD, robot.base), *enumerate(robot.links)):
        for body in link.bodies:
            if body.name == anchor.body:
                return index, body.placement[:3, :3] @ point + body.placement[:3, 3]
    names = [body.name for link in (robot.base, *robot.links) for body in link.bodies]
    raise UnknownNameError("body", anchor.body, [*names, GROUND])


def _poses(robot: Robot, link: int, q: Array) -> tuple[dict[int, Array], dict[int, Array]]:
    """Rotations (samples, 3, 3) and places (samples, 3) of the joint frames from the base to a link, by index."""
    R, x = {}, {}
    for i in reversed(list(robot.chain(link))):
        rotation, translation = robot.joints[i].move(q)
        parent = robot.joints[i].parent
        if parent == WORLD:
            R[i], x[i] = rotation, translation
        else:
            R[i], x[i] = R[parent] @ rotation, x[parent] + np.einsum("tij,tj->ti", R[parent], translation)
    return R, x


def _moves(robot: Robot, R: dict[int, Array], x: dict[int, Array], end: Array) -> Iterator[tuple[int, Array, Array]]:
    """Of each unit velocity, from the base on: its row, how it turns, and how it moves a point; each (samples, 3)."""
    for i in R:
        joint = robot.joints[i]
        for k, row in enumerate(range(robot.nv)[joint.v]):
            turn = R[i] @ joint.subspace[3:, k]
            slide = R[i] @ joint.subspace[:3, k] + np.cross(turn, end - x[i])
            yield row, turn, slide


def parse_link_spring(parts: Sequence[str]) -> LinkSpring:
    """A spring as users write it: NAME, BODY@x;y;z, BODY@x;y;z, and its rest length [m], which may be left out.

    Raises:
        InvalidRequestError: If the parts are no such spring.
    """
    try:
        name, first, second, *rest = parts
        if len(rest) > 1 or not name.isidentifier():
            raise ValueError
        return LinkSpring(name, _anchor(first), _anchor(second), float(rest[0]) if rest else 0.0)
    except ValueError:
        raise InvalidRequestError(
            f"'link_spring:{':'.join(parts)}' is no spring; write link_spring:NAME:BODY@x;y;z:BODY@x;y;z:REST with "
            "points and rest length in metres, such as link_spring:balancer:base_link@0;0;0.5:upper_arm@0.2;0;0"
        ) from None


def _anchor(text: str) -> Anchor:
    body, _, point = text.rpartition("@")
    x, y, z = (float(number) for number in point.split(";"))
    if not body or not np.isfinite([x, y, z]).all():
        raise ValueError
    return Anchor(body, (x, y, z))


def link_spring_text(spring: LinkSpring) -> str:
    """What `parse_link_spring` makes the same spring from."""
    ends = [f"{end.body}@{';'.join(repr(float(x)) for x in end.point)}" for end in (spring.first, spring.second)]
    return ":".join([spring.name, *ends, *([repr(spring.rest)] if spring.rest else [])])
