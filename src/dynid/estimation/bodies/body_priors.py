"""What users expect of bodies, and where their mass is: checked, as references and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.containment import Bound, Box, Containment, Ellipsoid
from dynid.estimation.physical.link_prior import PriorKind
from dynid.estimation.physical.references import Origin, Reference
from dynid.robot import inertia

THINNEST_PRIOR = 1e-9
"""Smallest eigenvalue of the pseudo-inertia of a body that is expected, in coordinates of its own size: a rod without
thickness has no inverse, and so no distance from other bodies."""

ROUNDING_SHARES = (1e-5, 1e-4, 1e-3, 1e-2)
"""Shares of a body in the middle of its bounds that are mixed in, in turn, where rounding left it outside."""

NEAR_BOUND = 1e-3
"""Part of the size of a bound, or of the prior's pseudo-inertia, within which a body is at a bound."""

PLAIN_DENSITY = 1000.0
"""Of bodies of which nothing is expected [kg/m^3]: that of water. It only sets the scale of numbers."""

PLAIN_RADIUS = 0.1
"""Radius of such bodies [m] where no bound says more."""


@dataclass(frozen=True, eq=False)
class BodyPrior:
    """What is expected of bodies.

    Attributes:
        names: Their names.
        kind: Which distance from what is expected counts.
        parameters: What is expected, shape (bodies, 10); of plain bodies where nothing is.
        std: Relative standard deviation of each, shape (bodies,), or that of each parameter, shape (bodies, 10); None
            where it is to be chosen.
        bounds: What holds all mass of each, in their order.
    """

    names: tuple[str, ...]
    kind: PriorKind
    parameters: Array
    std: Array | None
    bounds: tuple[tuple[Bound, ...], ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        """As references of the cone program."""
        found = []
        for k, body in enumerate(self.parameters):
            if self.std is None:
                found.append(Reference(k, body, Origin.FILE))
            elif self.std.ndim == 2:
                found.append(Reference(k, body, Origin.FILE, stds=self.std[k]))
            else:
                found.append(Reference(k, body, Origin.FILE, share=weight_of(self.kind, float(self.std[k]))))
        return tuple(found)

    def is_at_bounds(self, k: int, body: Array) -> bool:
        """Whether a body is at one of its bounds, or hardly physically consistent."""
        L = np.linalg.cholesky(inertia.to_pseudo_inertia(self.parameters[k]))
        X = np.linalg.solve(L, np.linalg.solve(L, inertia.to_pseudo_inertia(body)).T)
        if np.linalg.eigvalsh(0.5 * (X + X.T))[0] < NEAR_BOUND:
            return True
        return not all(bound.scaled(1.0 - NEAR_BOUND).holds(body) for bound in self.bounds[k])

    def moved_inside(self, k: int, body: Array) -> Array:
        """A body that rounding may have left slightly outside of its bounds, just inside; (10,) to (10,)."""
        if all(bound.holds(body) for bound in self.bounds[k]):
            return body
        is_inside = all(bound.holds(self.parameters[k]) for bound in self.bounds[k])
        middle = self.parameters[k] if is_inside else self.bounds[k][0].uniform(PLAIN_DENSITY)
        middle = middle * body[0] / middle[0]
        for share in ROUNDING_SHARES:
            moved = (1.0 - share) * body + share * middle
            if all(bound.holds(moved) for bound in self.bounds[k]):
                return moved
        return body

    def constraints(self, parameters: int) -> tuple[Constraint | Containment, ...]:
        """Its bounds as constraints on so many standard parameters."""
        return tuple(
            bound.constraint(f"bounds['{name}']" + (f"[{n}]" if len(own) > 1 else ""), inertia.SIZE * k, parameters)
            for k, (name, own) in enumerate(zip(self.names, self.bounds, strict=True))
            for n, bound in enumerate(own)
        )


def weight_of(kind: PriorKind, std: float) -> float:
    """Weight at which the mass of a body, and its second moment in any direction, are known to a relative std."""
    return 1.0 / std**2 if kind is PriorKind.EUCLIDEAN else 2.0 / std**2


def std_of(kind: PriorKind, weight: float) -> float:
    """The relative standard deviation of a weight."""
    return float(np.sqrt((1.0 if kind is PriorKind.EUCLIDEAN else 2.0) / weight))


def body_prior(prior: Any, prior_std: Any, distance: str, names: Any, bounds: Any, columns: int | None) -> BodyPrior:
    """What users state, checked; arguments as `fit_bodies`, and the number of columns of bodies where it is known."""
    labels = _names(prior, names, bounds, columns)
    found_bounds = _bounds(bounds, labels)
    if prior is None:
        if prior_std is not None:
            raise InvalidRequestError("prior_std needs a prior: the bodies that are expected, shape (bodies, 10)")
        return BodyPrior(labels, PriorKind.NONE, _plain(found_bounds), None, found_bounds)
    kind = _kind(distance)
    parameters = _parameters(prior, labels)
    for name, body, own in zip(labels, parameters, found_bounds, strict=True):
        _require_consistent(name, body)
        if not all(bound.holds(body) for bound in own):
            raise InvalidRequestError(
                f"the prior of '{name}' cannot have all of its mass inside its bounds; widen the bounds, or check that "
                "both are in the same frame"
            )
    return BodyPrior(labels, kind, parameters, _std(prior_std, kind, labels), found_bounds)


def _kind(distance: str) -> PriorKind:
    kinds = [kind.value for kind in PriorKind if kind is not PriorKind.NONE]
    if distance not in kinds:
        raise UnknownNameError("distance", str(distance), kinds)
    return PriorKind(distance)


def _names(prior: Any, names: Any, bounds: Any, columns: int | None) -> tuple[str, ...]:
    """Names of the bodies: stated, or those of the prior or the bounds, or numbers."""
    by_name = [one for one in (prior, bounds) if isinstance(one, Mapping)]
    if names is not None:
        found = tuple(str(name) for name in names)
    elif isinstance(prior, Mapping) or (prior is None and by_name):
        found = tuple(str(name) for name in by_name[0])
    else:
        size = columns if prior is None else int(np.size(prior))
        if size is None:
            raise InvalidRequestError("rows in pairs (W, y) do not give the number of bodies: give a prior or names")
        if size % inertia.SIZE or size <= 0:
            raise InvalidRequestError(f"a body has {inertia.SIZE} parameters, and {size} are no whole number of bodies")
        found = tuple(f"body{k + 1}" for k in range(size // inertia.SIZE))
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise InvalidRequestError(f"the name '{twice}' stands twice; give each body its own")
    for mapping in by_name:
        unknown = next((str(name) for name in mapping if str(name) not in found), None)
        if unknown is not None:
            raise UnknownNameError("body", unknown, found)
    return found


def _parameters(prior: Any, names: Sequence[str]) -> Array:
    if isinstance(prior, Mapping):
        missing = next((name for name in names if name not in prior), None)
        if missing is not None:
            raise InvalidRequestError(f"the prior says nothing of body '{missing}'; give its ten parameters")
        prior = [prior[name] for name in names]
    found = np.asarray(prior, dtype=float)
    if found.size != inertia.SIZE * len(names):
        raise ShapeError("the prior", f"({len(names)}, {inertia.SIZE})", found.shape)
    return frozen(found.reshape(-1, inertia.SIZE))


def _require_consistent(name: str, body: Array) -> None:
    if not np.isfinite(body).all():
        raise InvalidRequestError(f"the prior of '{name}' has numbers that are not finite: {body.tolist()}")
    J = inertia.to_pseudo_inertia(body)
    size = float(np.sqrt(max(np.trace(J[:3, :3]), 0.0) / J[3, 3])) if J[3, 3] > 0.0 else 0.0
    if size > 0.0:
        scales = np.array([size, size, size, 1.0])
        if np.linalg.eigvalsh(J / np.outer(scales, scales) / J[3, 3])[0] >= THINNEST_PRIOR:
            return
    failed = "; ".join(map(str, inertia.violations(body))) or "it has no thickness in some direction"
    raise InvalidRequestError(
        f"the prior of '{name}' is not physically consistent ({failed}); parameters are m, mx, my, mz, Ixx, Ixy, Iyy, "
        "Ixz, Iyz, Izz, with moments and inertia about the body's frame, not its centre of mass"
    )


def _std(prior_std: Any, kind: PriorKind, names: Sequence[str]) -> Array | None:
    if prior_std is None:
        return None
    if isinstance(prior_std, Mapping):
        missing = next((name for name in names if name not in prior_std), None)
        if missing is not None:
            raise InvalidRequestError(f"prior_std says nothing of body '{missing}'")
        prior_std = [prior_std[name] for name in names]
    found = np.asarray(prior_std, dtype=float)
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        raise InvalidRequestError("prior_std must be positive finite numbers, such as 0.15 for 15 %")
    if found.ndim == 0:
        return frozen(np.full(len(names), float(found)))
    if found.shape == (len(names),):
        return frozen(found)
    if found.shape != (len(names), inertia.SIZE):
        expected = f"one number, ({len(names)},) or ({len(names)}, {inertia.SIZE})"
        raise ShapeError("prior_std", expected, found.shape)
    if kind is not PriorKind.EUCLIDEAN:
        raise InvalidRequestError(
            "a standard deviation for each parameter needs distance = 'euclidean'; others take one for each body"
        )
    return frozen(found)


def _bounds(bounds: Any, names: Sequence[str]) -> tuple[tuple[Bound, ...], ...]:
    if bounds is None:
        return ((),) * len(names)
    if isinstance(bounds, Mapping):
        bounds = [bounds.get(name) for name in names]
    if len(bounds) != len(names):
        raise InvalidRequestError(
            f"there are {len(bounds)} bounds for {len(names)} bodies; write None where there is none"
        )
    return tuple(_own_bounds(name, own) for name, own in zip(names, bounds, strict=True))


def _own_bounds(name: str, own: Any) -> tuple[Bound, ...]:
    found = () if own is None else tuple(own) if isinstance(own, Iterable) else (own,)
    if not all(isinstance(bound, Ellipsoid | Box) for bound in found):
        raise InvalidRequestError(f"bounds of '{name}': expected dynid.Ellipsoid or dynid.Box, not {own!r}")
    return found


def _plain(bounds: Sequence[tuple[Bound, ...]]) -> Array:
    """Bodies of even density that fill the bounds, or small balls."""
    ball = Ellipsoid(np.zeros(3), np.full(3, PLAIN_RADIUS))
    return np.array([(own[0] if own else ball).uniform(PLAIN_DENSITY) for own in bounds])
