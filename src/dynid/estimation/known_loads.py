"""Loads in terms of base parameters: what is known of them, and what is not."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.current_rows import CarriedLoad
from dynid.model import BaseParameters
from dynid.robot import inertia
from dynid.robot.loads import Load, place_of_body

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten parameters of a load, about the frame of the body that it is fastened to."""


def carried_load(
    base: BaseParameters,
    name: str,
    mass: float | None,
    center_of_mass: Array | None = None,
    about_center: Array | None = None,
    body: str | None = None,
) -> CarriedLoad:
    """What a load adds to base parameters: known where it is stated, free elsewhere.

    Args:
        base: The base parameters.
        name: The load's name.
        mass: Its mass [kg].
        center_of_mass: Its centre of mass in the frame of the body [m], shape (3,); free when None.
        about_center: Its inertia about the centre of mass along the axes of the body [kg m^2], shape (3, 3); free when
            None.
        body: The body that it is fastened to; the last link's when None.

    Raises:
        InvalidRequestError: If its mass is not known: then nothing sets the scale.
    """
    if mass is None:
        raise InvalidRequestError(
            f"the mass of load '{name}' is not known, and it sets the scale of drive gains; weigh the load, and state "
            "its mass"
        )
    known = 1 if center_of_mass is None else 4 if about_center is None else inertia.SIZE
    zeros = np.zeros((3, 3))
    load = Load(mass, np.zeros(3) if center_of_mass is None else center_of_mass, zeros, body)
    if about_center is not None:
        load = Load(load.mass, load.center_of_mass, about_center, body)
    parameters = load.parameters.copy()
    if center_of_mass is None:
        parameters[1:] = 0.0
    link, placement = place_of_body(base.model.robot, body)
    units = np.array([inertia.moved(unit, placement) for unit in np.eye(inertia.SIZE)]).T
    columns = base_columns(base, link) @ units
    return CarriedLoad(name, columns @ parameters, columns[:, known:], NAMES[known:])


def base_columns(base: BaseParameters, link: int) -> Array:
    """Columns of the regrouping of a link's ten parameters, shape (base, 10).

    Raises:
        InvalidRequestError: If the link is virtual.
    """
    robot = base.model.robot
    if link not in robot.solid_links:
        raise InvalidRequestError(f"'{robot.links[link].name}' is a virtual link and carries nothing; name another")
    first = inertia.SIZE * robot.solid_links.index(link)
    return base.regrouping[:, first : first + inertia.SIZE]
