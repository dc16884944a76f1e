"""Physical parameters of links and joints from factors, with what the data say of each and what the prior says."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.factors.lazy_sequences import Lazy
from dynid.estimation.least_squares import Estimate, JointFit, joint_fits, log_stds, merge_logs, merge_weighted
from dynid.estimation.physical import constraints as conditions
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.containment import Containment
from dynid.estimation.physical.link_prior import LinkPrior
from dynid.estimation.physical.references import Origin, Reference
from dynid.estimation.physical.semidefinite import Problem, fit
from dynid.model import BaseParameters
from dynid.robot import inertia

SMALLEST_ERROR = 2e-5
"""Torques are not trusted further than this part of their size, even where a fit leaves less."""


@dataclass(frozen=True)
class SourceThresholds:
    """What is said to determine a parameter of physically consistent links."""

    moved_stds: float = 2.0
    """Standard deviations between a value and what the data alone say of it, above which physics or the prior holds it
    there: the usual 95 %. By judgement; the Panda has 8 such parameters of 91 (`docs/physical.md`)."""


SOURCE_THRESHOLDS = SourceThresholds()


class Source(StrEnum):
    """What determines a parameter."""

    DATA = "data"
    """The data alone."""
    PHYSICS = "held by physics"
    """Physical consistency, the prior or what users state, against the data."""
    PRIOR = "from the prior"
    """The prior: the data determine it only in combination with others, or not at all."""
    KNOWN = "known"
    """It was known beforehand."""


@dataclass(frozen=True, eq=False)
class PhysicalEstimate:
    """Standard parameters that the robot can have.

    Attributes:
        base: The base parameters of the model.
        parameters: Standard parameters p, shape (parameters,).
        data_values: What the data alone say of each, shape (parameters,); NaN where they say nothing.
        stds: Standard deviations of these, shape (parameters,).
        references: What links were expected to be like.
        prior: How much.
        dispersion: How many times larger than those of white errors the variances of estimates are.
        joints: How well each row of the dynamics is fitted.
        relative_error: Norm of all errors over the norm of all measured torques, unweighted.
        seconds: How long it took [s].
        left_out: Base parameters of links that were fitted to all parts of the data but one, each of shape (base,).
    """

    base: BaseParameters
    parameters: Array
    data_values: Array
    stds: Array
    references: tuple[Reference, ...]
    prior: LinkPrior
    dispersion: float
    joints: Mapping[str, JointFit]
    relative_error: float
    seconds: float
    left_out: tuple[Array, ...] = ()

    @cached_property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.base.model.names, self.parameters.tolist(), strict=True))

    def source(self, name: str) -> Source:
        """What determines a parameter."""
        k = self.base.model.names.index(name)
        if name in self.base.known:
            return Source.KNOWN
        if not np.isfinite(self.stds[k]):
            return Source.PRIOR
        moved = abs(self.parameters[k] - self.data_values[k])
        return Source.DATA if moved <= SOURCE_THRESHOLDS.moved_stds * self.stds[k] else Source.PHYSICS


@dataclass(frozen=True)
class Physics:
    """What is known of links before the data speak.

    Attributes:
        references: What each solid link is expected to be like.
        prior: How much it should be so.
        constraints: What users state; known parameters and the laws of physics need not be among them.
    """

    references: tuple[Reference, ...]
    prior: LinkPrior
    constraints: tuple[Constraint | Containment, ...] = ()


def physical_estimate(
    logs: Sequence[Factors],
    base: BaseParameters,
    physics: Physics,
    estimate: Estimate,
    method: Literal["ols", "wls"] = "wls",
    dispersion: float = 1.0,
    fitted: Callable[[Factor], Array] | None = None,
) -> PhysicalEstimate:
    """Fit physical parameters of all links and joints.

    Args:
        logs: The factors of each log.
        base: The base parameters.
        physics: Prior and constraints.
        estimate: The unconstrained estimate of all base parameters, without a prior: what the data say by themselves.
        method: Whether all rows count the same, or those of each joint and log by the size of their errors.
        dispersion: How many times larger than those of white errors the variances of estimates are.
        fitted: From the weighed factor to standard parameters, shape (parameters,); the semidefinite fit when None.

    Raises:
        ConflictError: If constraints exclude each other.
        SolverError: If the solver did not reach its full accuracy.
    """
    start = time.perf_counter()
    factor = weighed(logs, base, method, dispersion)
    p = fit(problem_of(factor, base, physics)) if fitted is None else fitted(factor)
    joints, relative_error = joint_fits(merge_logs(logs), dict(zip(base.model.names, p.tolist(), strict=True)))
    data_values, stds = _told_by_data(base, estimate, physics.references, dispersion)
    return PhysicalEstimate(
        base=base,
        parameters=p,
        data_values=data_values,
        stds=stds,
        references=physics.references,
        prior=physics.prior,
        dispersion=dispersion,
        joints=joints,
        relative_error=relative_error,
        seconds=time.perf_counter() - start,
    )


def weighed(logs: Sequence[Factors], base: BaseParameters, method: str = "wls", dispersion: float = 1.0) -> Factor:
    """The factor of all logs for the base parameters, scaled so that errors have about unit variance.

    Args:
        logs: The factors of each log.
        base: The base parameters.
        method: As in `physical_estimate`.
        dispersion: How many times larger than those of white errors the variances of estimates are.
    """
    merged = merge_weighted(logs, row_weights(logs, base, method))
    return merged.stacked(base.names, known=base.known).weighted(1.0 / np.sqrt(dispersion))


def row_weights(logs: Sequence[Factors], base: BaseParameters, method: str = "wls") -> list[dict[str, float]]:
    """For each log one over the size of each joint's errors, but none smaller than `EXACT` parts of the torques."""
    stds = log_stds(logs, base, base.names)
    if method == "ols":
        rows = [factor.rows for log in logs for factor in log.joints.values()]
        squares = [std**2 for of_log in stds for std in of_log.values()]
        common = float(np.sqrt(np.average(squares, weights=rows)))
        stds = [dict.fromkeys(of_log, common) for of_log in stds]
    sizes_of_torques = _torques(logs)
    largest = max((size for of_log in sizes_of_torques for size in of_log.values()), default=0.0) or 1.0
    return [
        {joint: 1.0 / max(value, SMALLEST_ERROR * (torques[joint] or largest)) for joint, value in found.items()}
        for found, torques in zip(stds, sizes_of_torques, strict=True)
    ]


def problem_of(factor: Factor, base: BaseParameters, physics: Physics) -> Problem:
    """The fit of data to physics, with the laws that always hold."""
    laws = (*conditions.of_terms(base.model), *conditions.known(base.model, base.known))
    return Problem(factor, base, physics.references, physics.prior, (*laws, *physics.constraints))


def _torques(logs: Sequence[Factors]) -> list[dict[str, float]]:
    """Root of the mean squared torque of each joint of each log [N m or N]; found once where logs are lazy."""

    def find() -> list[dict[str, float]]:
        return [_root_mean_squares(log) for log in logs]

    return logs.once("torques", find) if isinstance(logs, Lazy) else find()


def _root_mean_squares(log: Factors) -> dict[str, float]:
    """Root of the mean squared torque of each joint [N m or N]."""
    return {
        joint: float(np.sqrt(factor.residual_squares(np.zeros(len(factor.names))) / max(factor.rows, 1)))
        for joint, factor in log.joints.items()
    }


def _told_by_data(
    base: BaseParameters, estimate: Estimate, references: Sequence[Reference], dispersion: float
) -> tuple[Array, Array]:
    """Values and standard deviations of standard parameters that the data alone determine; NaN for others.

    Parameter k is determined when its unit vector is a combination a of the rows of the regrouping K: p_k = a'b. Where
    its standard deviation is larger than the link's own size, the data say nothing that the prior did not.
    """
    K = base.regrouping
    combinations = np.linalg.pinv(K)
    determined = np.abs(combinations @ K - np.eye(K.shape[1])).max(axis=1) < 1e-6
    variances = dispersion * np.einsum("ki,ij,kj->k", combinations, estimate.covariance, combinations)
    stds = np.where(determined, np.sqrt(np.maximum(variances, 0.0)), np.nan)
    for k, reference in enumerate(references):
        own = slice(inertia.SIZE * k, inertia.SIZE * (k + 1))
        is_massless = reference.origin is Origin.MASSLESS
        limit = np.zeros(inertia.SIZE) if is_massless else inertia.sizes(reference.parameters)
        stds[own] = np.where(stds[own] <= limit, stds[own], np.nan)
    return np.where(np.isfinite(stds), combinations @ estimate.values, np.nan), stds
