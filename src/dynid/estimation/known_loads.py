"""Loads in terms of base parameters: what is known of them, and what is not."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.current_rows import CarriedLoad
from dynid.estimation.payloads.load_problem import LoadPlace
from dynid.model import BaseParameters
from dynid.robot import Load, inertia


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
    center = np.zeros(3) if center_of_mass is None else center_of_mass
    own = np.zeros((3, 3)) if center_of_mass is None or about_center is None else about_center
    parameters = Load(mass, center, own, body).parameters
    place = LoadPlace.of(base.model.robot, body)
    columns = base.regrouping[:, place.columns] @ place.M
    return CarriedLoad(name, columns @ parameters, columns[:, known:], inertia.PARAMETER_SYMBOLS[known:])
