"""The ten inertial parameters of a rigid body, in their three forms.

* the **10-vector** `p = (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)`: mass [kg], first moments
  m*c [kg m] and the inertia matrix [kg m^2], all about the origin of a frame and along its axes.
  Torques are linear in it, and two bodies welded together simply add;
* **mass, centre of mass, inertia**: m [kg], c [m], and the inertia matrix [kg m^2] *about the centre
  of mass*: what robot files hold;
* the **pseudo-inertia** (4, 4): `[[Sigma, h], [h', m]]` with h = m*c and Sigma = tr(I)/2 * 1 - I. A body is
  physical exactly when it is positive definite, and a change of frame T is `T J T'`.

This is the only module that knows the order of the ten elements, which is Pinocchio's.
"""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

PARAMETER_SYMBOLS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the elements of the 10-vector, in its order."""

PARAMETER_UNITS = ("kg",) + ("kg m",) * 3 + ("kg m^2",) * 6
"""Units of the elements of the 10-vector, in its order."""

SIZE = len(PARAMETER_SYMBOLS)

_MASS = 0
_FIRST_MOMENT = slice(1, 4)
_INERTIA_ELEMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def _element_basis() -> Array:
    """Inertia matrices of unit Ixx, Ixy, Iyy, Ixz, Iyz, Izz; shape (6, 3, 3)."""
    basis = np.zeros((6, 3, 3))
    for k, (i, j) in enumerate(_INERTIA_ELEMENTS):
        basis[k, i, j] = basis[k, j, i] = 1.0
    return basis


INERTIA_BASIS = _element_basis()
"""`I = sum_k p[4 + k] * INERTIA_BASIS[k]`; shape (6, 3, 3)."""


def skew(vectors: Array) -> Array:
    """Matrices S(x) with S(x) y = x cross y; (..., 3) to (..., 3, 3)."""
    S = np.zeros((*vectors.shape, 3))
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    S[..., 0, 1], S[..., 0, 2] = -z, y
    S[..., 1, 0], S[..., 1, 2] = z, -x
    S[..., 2, 0], S[..., 2, 1] = -y, x
    return S


def inertia_matrix(parameters: Array) -> Array:
    """Inertia matrix about the frame's origin [kg m^2]; (10,) to (3, 3)."""
    return np.tensordot(parameters[4:], INERTIA_BASIS, axes=1)


def from_mass_com_inertia(mass: float, com: Array, inertia_at_com: Array) -> Array:
    """The 10-vector of a body given as robot files give it.

    Args:
        mass: Mass [kg].
        com: Centre of mass in the frame [m], shape (3,).
        inertia_at_com: Inertia about the centre of mass along the frame's axes [kg m^2], shape (3, 3).

    >>> from_mass_com_inertia(2.0, np.array([0.5, 0, 0]), np.eye(3)).tolist()
    [2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.5, 0.0, 0.0, 1.5]
    """
    S = skew(np.asarray(com, dtype=float))
    about_origin = np.asarray(inertia_at_com, dtype=float) + mass * S.T @ S
    return from_moments(mass, mass * np.asarray(com, dtype=float), about_origin)


def from_moments(mass: float, first_moment: Array, inertia_at_origin: Array) -> Array:
    """The 10-vector of mass [kg], first moment [kg m] and inertia about the frame's origin [kg m^2]."""
    elements = [inertia_at_origin[i][j] for i, j in _INERTIA_ELEMENTS]
    return np.array([mass, *first_moment, *elements], dtype=float)


def to_mass_com_inertia(parameters: Array) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass [m] and inertia about it [kg m^2] of a 10-vector.

    A body of zero mass has no centre of mass: it is then given as NaN, with the inertia about the origin.
    """
    mass = float(parameters[_MASS])
    about_origin = inertia_matrix(parameters)
    if mass == 0.0:
        return mass, np.full(3, np.nan), about_origin
    com = parameters[_FIRST_MOMENT] / mass
    S = skew(com)
    return mass, com, about_origin - mass * S.T @ S


def to_pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertia [[Sigma, h], [h', m]] of a 10-vector; (10,) to (4, 4)."""
    inertia = inertia_matrix(parameters)
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = parameters[_FIRST_MOMENT]
    J[3, 3] = parameters[_MASS]
    return J


def from_pseudo_inertia(J: Array) -> Array:
    """The 10-vector of a pseudo-inertia; (4, 4) to (10,)."""
    Sigma = J[:3, :3]
    return from_moments(float(J[3, 3]), J[:3, 3], np.trace(Sigma) * np.eye(3) - Sigma)


def pseudo_inertia_basis() -> Array:
    """Pseudo-inertias of unit parameters: `J = sum_k p[k] * basis[k]`; shape (10, 4, 4)."""
    return np.array([to_pseudo_inertia(unit) for unit in np.eye(SIZE)])


def sizes(parameters: Array) -> Array:
    """Size of each of a body's ten numbers, (10,) to (10,): m, m r and m r^2, r being its radius of gyration."""
    J = to_pseudo_inertia(parameters)
    r = np.sqrt(np.trace(J[:3, :3]) / J[3, 3])
    return J[3, 3] * np.array([1.0, *[r] * 3, *[r**2] * 6])


def moved(parameters: Array, placement: Array) -> Array:
    """The same body, seen from another frame.

    Args:
        parameters: The 10-vector in frame B, shape (10,).
        placement: Pose of frame B in the new frame A, shape (4, 4).

    Returns:
        The 10-vector about the origin of A and along its axes, shape (10,).
    """
    return from_pseudo_inertia(placement @ to_pseudo_inertia(parameters) @ placement.T)


def with_payload(parameters: Array, payload: Array, placement: Array | None = None) -> Array:
    """A link with a payload welded to it.

    Args:
        parameters: The link's 10-vector, shape (10,).
        payload: The payload's 10-vector in its own frame, shape (10,).
        placement: Pose of the payload's frame in the link's frame, shape (4, 4); identity when None.
    """
    return parameters + (payload if placement is None else moved(payload, placement))


@dataclass(frozen=True)
class Violation:
    """A physical law that a body breaks.

    Attributes:
        law: The inequality that should hold, such as "I1 + I2 >= I3".
        amount: By how much it fails, in `unit`; positive.
        unit: Unit of the amount.
    """

    law: str
    amount: float
    unit: str

    def __str__(self) -> str:
        return f"{self.law} fails by {self.amount:.3g} {self.unit}"


def violations(parameters: Array, tolerance: float = 1e-9) -> tuple[Violation, ...]:
    """Say which physical laws a body breaks, and by how much.

    A body is consistent when its mass is not negative and the principal moments I1 <= I2 <= I3 about its
    centre of mass satisfy I1 >= 0 and the triangle inequality I1 + I2 >= I3; together this is a positive
    semidefinite pseudo-inertia. Bodies on the boundary (points, rods, plates) pass.

    Args:
        parameters: The 10-vector about any frame, shape (10,).
        tolerance: Failures below this fraction of the largest principal moment are rounding.

    Returns:
        The laws that fail; empty for a consistent body.
    """
    mass, _, inertia = to_mass_com_inertia(parameters)
    if mass < 0.0:
        return (Violation("mass >= 0", -mass, "kg"),)
    if mass == 0.0:
        moment = float(np.abs(parameters[1:]).max())
        law = "a body without mass has no first moment and no inertia"
        return (Violation(law, moment, "kg m or kg m^2"),) if moment > 0.0 else ()
    I1, I2, I3 = np.linalg.eigvalsh(inertia)
    # Moving the inertia to the centre of mass cancels digits of what it was about the origin.
    rounding = tolerance * max(-I1, I3) + 1e-14 * float(np.abs(parameters[4:]).max())
    failed = []
    if rounding < -I1:
        failed.append(Violation("principal moments >= 0", float(-I1), "kg m^2"))
    if rounding < I3 - I1 - I2:
        failed.append(Violation("I1 + I2 >= I3 (triangle inequality)", float(I3 - I1 - I2), "kg m^2"))
    return tuple(failed)


def is_physical(parameters: Array, tolerance: float = 1e-9) -> bool:
    """Whether a body with these parameters is physically consistent (see `violations`)."""
    return not violations(parameters, tolerance)
