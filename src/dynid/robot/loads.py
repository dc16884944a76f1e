"""Loads: bodies that are fastened to a robot, such as tools and what they hold.

A load changes the ten parameters of one link only, and it adds to them where both are about the same frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Load:
    """A rigid body that is fastened to a body of a robot.

    Attributes:
        mass: Its mass [kg].
        center_of_mass: Its centre of mass in the frame of `body` [m], shape (3,).
        inertia: Its inertia about its centre of mass, along the axes of `body` [kg m^2], shape (3, 3).
        body: Name of the body (a link of the robot's file, such as a flange) that it is fastened to; the last link's
            when None.
    """

    mass: float
    center_of_mass: Array = field(default_factory=lambda: frozen(np.zeros(3)))
    inertia: Array = field(default_factory=lambda: frozen(np.zeros((3, 3))))
    body: str | None = None

    def __post_init__(self) -> None:
        for what, values, shape in (("center_of_mass", self.center_of_mass, (3,)), ("inertia", self.inertia, (3, 3))):
            if np.shape(values) != shape:
                raise ShapeError(f"{what} of a load", str(shape), np.shape(values))
        if not (np.isfinite(self.mass) and np.isfinite(self.center_of_mass).all() and np.isfinite(self.inertia).all()):
            raise InvalidRequestError("a load has a mass, centre of mass and inertia that are finite numbers")

    @property
    def parameters(self) -> Array:
        """The 10-vector about the frame of `body`, shape (10,)."""
        return inertia.from_mass_com_inertia(self.mass, self.center_of_mass, self.inertia)

    @staticmethod
    def of_numbers(
        mass: float,
        center_of_mass: Sequence[float] | Array,
        six: Sequence[float] | Array | None = None,
        body: str | None = None,
    ) -> Load:
        """The load of plain numbers: mass [kg], centre of mass [m], and Ixx Ixy Iyy Ixz Iyz Izz about it [kg m^2]."""
        about_center = np.tensordot(
            np.asarray(np.zeros(6) if six is None else six, dtype=float), inertia.INERTIA_BASIS, axes=1
        )
        return Load(float(mass), frozen(np.array(center_of_mass, dtype=float)), frozen(about_center), body)

    @property
    def six(self) -> Array:
        """Its inertia about the centre of mass as Ixx Ixy Iyy Ixz Iyz Izz [kg m^2], shape (6,)."""
        return inertia.from_moments(0.0, np.zeros(3), self.inertia)[4:]

    @property
    def problem(self) -> str:
        """What no body of its mass can have; nothing where it is physically consistent."""
        broken = inertia.violations(self.parameters)
        order = "state the inertia about its centre of mass as Ixx Ixy Iyy Ixz Iyz Izz"
        return f"a load of {self.mass:.4g} kg could not exist: {broken[0]}; {order}" if broken else ""

    @staticmethod
    def of_parameters(parameters: Array, body: str | None = None) -> Load:
        """The load with this 10-vector about the frame of `body`, shape (10,)."""
        mass, center, about_center = inertia.to_mass_com_inertia(np.asarray(parameters, float))
        return Load(float(mass), frozen(center), frozen(about_center), body)

    def of_link(self, robot: Robot) -> tuple[int, Array]:
        """What it adds to a robot: the index of its link, and the 10-vector about that link's joint frame, (10,)."""
        link, placement = place_of_body(robot, self.body)
        return link, inertia.moved(self.parameters, placement)


def place_of_body(robot: Robot, body: str | None = None) -> tuple[int, Array]:
    """The link that a body of the file belongs to, and the body's pose in that link's joint frame, shape (4, 4).

    Args:
        robot: The robot.
        body: Name of the body; the one that the last joint holds when None.

    Raises:
        UnknownNameError: If the robot has no such body.
        InvalidRequestError: If the body does not move, or is virtual: one between the axes of a joint of several.
    """
    name = robot.links[-1].name if body is None else body
    for index, link in enumerate(robot.links):
        for each in link.bodies:
            if each.name == name and index not in robot.solid_links:
                raise InvalidRequestError(f"'{name}' is a virtual link and carries nothing; name another body")
            if each.name == name:
                return index, each.placement
    if name in {each.name for each in robot.base.bodies}:
        raise InvalidRequestError(f"'{name}' does not move, so a load on it has no effect; name a body that moves")
    raise UnknownNameError("body", name, [each.name for link in robot.links for each in link.bodies])


def with_carried(parameters: Array, load: Load | str | None, robot: Robot) -> Array:
    """Standard parameters, links first, with a load that is known; as they are with one that has only a name."""
    if not isinstance(load, Load):
        return parameters
    link, own = load.of_link(robot)
    first = inertia.SIZE * robot.solid_links.index(link)
    found = parameters.copy()
    found[first : first + inertia.SIZE] += own
    return found


def with_load(robot: Robot, load: Load) -> Robot:
    """The robot with a load fastened to it: its parameters are added to those of its body.

    Raises:
        UnknownNameError: If the robot has no body of that name.
        InvalidRequestError: If the body does not move.
    """
    return _with_added(robot, load, load.parameters)


def without_load(robot: Robot, load: Load) -> Robot:
    """The robot of a file that holds a load, without it.

    Raises:
        UnknownNameError: If the robot has no body of that name.
        InvalidRequestError: If the body does not move, or would be no physical body without the load.
    """
    return _with_added(robot, load, -load.parameters)


def _with_added(robot: Robot, load: Load, parameters: Array) -> Robot:
    link, _ = place_of_body(robot, load.body)
    name = robot.links[link].name if load.body is None else load.body
    bodies = []
    for body in robot.description.bodies:
        total = body.parameters + parameters
        if body.name == name and np.abs(total).max() <= 1e-12 * np.abs(parameters).max():
            bodies.append(replace(body, inertia=None))  # it was the load alone
        elif body.name == name:
            if load.mass and (broken := inertia.violations(total)) and not inertia.violations(body.parameters):
                raise InvalidRequestError(
                    f"'{name}' has {body.parameters[0]:.4g} kg, and could not exist without a load of "
                    f"{load.mass:.4g} kg: {broken[0]}; state the load that the file holds"
                )
            bodies.append(replace(body, inertia=frozen(total)))
        else:
            bodies.append(body)
    description = replace(robot.description, bodies=tuple(bodies))
    return assemble(description, lock=robot.locked, gravity=robot.gravity)
