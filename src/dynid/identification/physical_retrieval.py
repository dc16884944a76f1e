"""Physical parameters by penalties from a result or from known coefficients: what `dynid.retrieve_parameters` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.physical.parameter_retrieval import Retrieval, RetrievalLimits, factor_of_coefficients, retrieval
from dynid.estimation.physical.penalty_conditions import Stated
from dynid.estimation.physical.penalty_retrieval import Search, SearchKind
from dynid.estimation.physical.physical_estimate import weighed
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.settings import PenaltySettings, PhysicalSettings
from dynid.identification.result import Result
from dynid.model import BaseParameters
from dynid.settings import checked


def retrieve_parameters(
    source: Result | BaseParameters,
    coefficients: Array | Mapping[str, float] | None = None,
    covariance: Array | None = None,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    fixed: Mapping[str, float] | None = None,
    conditions: Mapping[str, Stated] | None = None,
    physical: PhysicalSettings | Mapping[str, Any] | None = None,
    search: SearchKind = "starts",
    starts: int = 4,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Retrieval:
    """Retrieve masses, centres of mass and inertias by penalties that grow over rounds (PBPR).

    Minimises `|R (pi(u) - b)|^2` over the variables u of links and terms, in bounds, with each link's triangle
    inequality, the total mass and conditions of any kind, convex or not. Where all conditions are convex,
    `dynid.identify` finds the global optimum faster (its semidefinite fit).

    Args:
        source: A result, whose torques are then fitted directly, through their triangular factors; or base parameters
            (`dynid.find_base_parameters`), with their values as `coefficients`.
        coefficients: Values b of the base parameters, in their order, shape (base,), or by name.
        covariance: Their covariance, shape (base, base); when None, all count the same in SI units.
        bounds: Ranges of variables by name or pattern: `m1` [kg], `cx1 cy1 cz1` [m] in the joint frame, `Jxx1 Jxy1 Jyy1
            Jxz1 Jyz1 Jzz1` [kg m^2] about the centre of mass, `fv1` and other terms. Default bounds follow from the
            robot file: `docs/pbpr.md`.
        fixed: Values of variables by name or pattern, such as structural zeros: `{"cx*": 0.0}`.
        conditions: Functions from the variables by name to one number or several that must not be negative, by what
            you call them: `{"first is heavier": lambda u: u["m1"] - u["m2"]}`.
        physical: Total mass, masses, boxes and shapes of links, as in `[physical]`; those of the result when None.
        search: "starts" for least squares from several points; "annealing", "evolution" or "hopping" for a global
            search by SciPy before the least squares of each round.
        starts: How often all rounds are run, from the robot file's links first and then from random points.
        seed: Seed of everything random.
        progress: Callback; receives a short description of each start.

    Raises:
        DynidError: If something does not fit together; says what and what to try.

    >>> import dynid
    >>> base = dynid.find_base_parameters(dynid.DynamicModel(dynid.load_robot("builtin:pendulum")))
    >>> base.expressions
    ('mx1', 'mz1', 'Iyy1')
    >>> found = dynid.retrieve_parameters(base, [0, -2.5, 1.67], bounds={"m1": (1, 10)}, fixed={"cx1": 0, "cy1": 0})
    >>> bool(found.error < 1e-6), found.is_met
    (True, True)
    """
    asked = {"bounds": dict(bounds or {}), "fixed": dict(fixed or {}), "search": search, "starts": starts, "seed": seed}
    penalty = checked(PenaltySettings, asked, "retrieve_parameters")
    limits = RetrievalLimits(penalty.bounds, penalty.fixed, dict(conditions or {}))
    how = Search(kind=penalty.search, starts=penalty.starts, seed=penalty.seed)
    stated = None if physical is None else checked(PhysicalSettings, physical, "physical")
    if isinstance(source, BaseParameters):
        if coefficients is None:
            raise InvalidRequestError("base parameters need their values; give coefficients in the order of base.names")
        base, factor, reference = source, factor_of_coefficients(source, coefficients, covariance), None
    else:
        if coefficients is not None or covariance is not None:
            raise InvalidRequestError("a result has torques of its own; give coefficients with base parameters instead")
        base, reference = source.base, source.task.reference
        factor = weighed(source.rows, base, source.task.estimation.method)
        stated = stated or source.task.physical
    physics = physics_of(stated or PhysicalSettings(), base.model, reference)
    return retrieval(factor, base, physics, limits, how, progress)
