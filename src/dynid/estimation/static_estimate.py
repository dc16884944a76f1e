"""Parameters from few, independent rows: mean torques of static postures, or matrices that a controller gives.

Rows come in groups of the same noise, one for each joint or element of the mass matrix. Least squares weighs groups by
the size of their residuals; standard deviations follow from these, with Meier's correction for weights that are
estimated, and intervals from the t distribution whose degrees of freedom Satterthwaite's formula gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.estimation.least_squares import NotIdentifiableError, relative_stds
from dynid.findings import Finding
from dynid.model import BaseParameters, html_table, text_table

ROUNDS = 10
"""How often groups are weighed by their residuals, at most."""

EXACT_RESIDUAL = 1e-10
"""Residuals, as a part of the largest value, below which rows are exact."""

DETERMINED = 1e-9
"""Singular value of the weighed rows, relative to the largest, above which a combination is determined."""


SLOW_MOTION = "slow motion"
"""What was measured, where it was not postures at rest."""


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows of the same noise.

    Attributes:
        name: Of the joint, or of the element of the mass matrix.
        W: Rows of the observation matrix, shape (rows, parameters).
        y: What was measured, shape (rows,).
        unit: Its unit.
    """

    name: str
    W: Array
    y: Array
    unit: str = "N m"


@dataclass(frozen=True, eq=False, repr=False)
class StaticEstimate:
    """Base parameters with their covariance.

    Attributes:
        base: The base parameters that the measurements determine.
        nuisance: Names of parameters that were estimated besides, such as friction of slow motion.
        values: Values of base parameters and then of the others, shape (parameters,).
        covariance: Their covariance, shape (parameters, parameters).
        freedoms: Degrees of freedom of each one's interval, shape (parameters,).
        noise: Standard deviation of the rows of each group, in its unit.
        rows: Number of rows.
        confidence: Of intervals, and of what is called significant.
        source: What was measured, in words.
        findings: What was noticed.
    """

    base: BaseParameters
    nuisance: tuple[str, ...]
    values: Array
    covariance: Array
    freedoms: Array
    noise: Mapping[str, float]
    rows: int
    confidence: float
    source: str
    findings: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return (*self.base.names, *self.nuisance)

    @property
    def expressions(self) -> tuple[str, ...]:
        """What each is, in standard parameters."""
        return (*self.base.expressions, *self.nuisance)

    @property
    def units(self) -> tuple[str, ...]:
        """Their units."""
        own = {parameter.name: parameter.unit for parameter in self.base.model.parameters}
        return (*self.base.units, *(own.get(name, "") for name in self.nuisance))

    @cached_property
    def stds(self) -> Array:
        """Standard deviations, shape (parameters,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @cached_property
    def half_widths(self) -> Array:
        """Half the width of each one's interval, shape (parameters,)."""
        from scipy.special import stdtrit

        return stdtrit(self.freedoms, 0.5 + 0.5 * self.confidence) * self.stds

    @cached_property
    def is_significant(self) -> Flags:
        """Whether the interval of each excludes zero, shape (parameters,)."""
        return np.abs(self.values) > np.maximum(self.half_widths, EXACT_RESIDUAL * np.abs(self.values).max(initial=0.0))

    @property
    def insignificant(self) -> tuple[str, ...]:
        """Names of the parameters whose interval has zero in it."""
        return tuple(name for name, found in zip(self.names, self.is_significant, strict=True) if not found)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of standard parameters that have no effect on what was measured."""
        return tuple(name for name in self.base.no_effect if name not in self.nuisance)

    def to_standard(self) -> Array:
        """Standard parameters that have these values, on the parameters that they are named after, (parameters,)."""
        return self.base.to_standard(self.values[: len(self.base)])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        relative = relative_stds(self.values, self.stds)
        rows = [
            {
                "name": name,
                "expression": self.expressions[k],
                "unit": self.units[k],
                "value": float(self.values[k]),
                "std": float(self.stds[k]),
                "relative_std_percent": float(relative[k]) if np.isfinite(relative[k]) else None,
                "significant": bool(self.is_significant[k]),
            }
            for k, name in enumerate(self.names)
        ]
        return {
            "source": self.source,
            "rows": self.rows,
            "parameters": rows,
            "not_significant": list(self.insignificant),
            "no_effect": list(self.undetermined),
            "noise": dict(self.noise),
            "confidence": self.confidence,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def table(self) -> list[tuple[str, str, str, str]]:
        """Name with expression, value, standard deviation and whether it is significant, as text."""
        return [
            (expression, f"{value:.5g}", f"{std:.2g}", "" if found else "not significant")
            for expression, value, std, found in zip(
                self.expressions, self.values, self.stds, self.is_significant, strict=True
            )
        ]

    def __repr__(self) -> str:
        return (
            f"StaticEstimate({len(self.base)} base parameters from {self.source}, "
            f"{len(self.insignificant)} of {len(self.names)} not significant)"
        )

    def __str__(self) -> str:
        return f"{self!r}\n{text_table(('parameter', 'value', 'std', ''), self.table(), right=[1, 2])}"

    def _repr_html_(self) -> str:
        return html_table(repr(self), ("parameter", "value", "std", ""), self.table())


def estimate_static(
    base: BaseParameters,
    groups: Sequence[RowGroup],
    *,
    nuisance: Sequence[str] = (),
    confidence: float = 0.95,
    source: str = "static postures",
    serial: bool = False,
) -> StaticEstimate:
    """Estimate base parameters from groups of independent rows.

    Args:
        base: The base parameters; the first columns of the groups' matrices are theirs.
        groups: The rows; known parameters are taken off.
        nuisance: Names of the other columns.
        confidence: Of intervals.
        source: What was measured, in words.
        serial: Whether rows follow each other in time, the same in all groups: then residuals are autocorrelated, and
            the covariance comes from sums over blocks of time.

    Raises:
        NotIdentifiableError: If the rows do not determine all parameters.
        InvalidRequestError: If there are no rows.
    """
    names = (*base.names, *nuisance)
    groups = [group for group in groups if len(group.y)]
    if not groups:
        raise InvalidRequestError("there are no postures to identify from; give at least two")
    rows = sum(len(group.y) for group in groups)
    _require_determined(names, groups, rows)
    of_unit = {
        group.unit: max(float(np.abs(one.y).max()) for one in groups if one.unit == group.unit) for group in groups
    }
    floors = np.array([EXACT_RESIDUAL * (of_unit[group.unit] or 1.0) for group in groups])
    sigma, values, freedoms = np.array([of_unit[group.unit] or 1.0 for group in groups]), np.zeros(len(names)), floors
    inverse = np.zeros((len(names), len(names)))
    for _ in range(ROUNDS):
        before = sigma
        values, inverse = _weighed(groups, sigma)
        sigma, freedoms = _shrunk(groups, *_sizes(groups, values, inverse, sigma), floors)
        if np.allclose(sigma, before, rtol=1e-6):
            break
    values, inverse = _weighed(groups, sigma)
    shares = np.array(
        [np.sum((inverse @ (group.W / s).T) ** 2, axis=1) for group, s in zip(groups, sigma, strict=True)]
    )
    variances = shares.sum(axis=0)
    by_group = np.maximum(freedoms, 1.0)[:, None]
    parts = shares / np.maximum(variances, np.finfo(float).tiny)
    satterthwaite = 1.0 / np.maximum((parts**2 / by_group).sum(axis=0), np.finfo(float).tiny)
    wider = np.sqrt(1.0 + 4.0 * (parts * (1.0 - parts) / by_group).sum(axis=0))  # Meier 1953
    inverse = inverse * np.outer(wider, wider)
    is_exact = bool((sigma <= floors).all())
    if serial:
        inverse, satterthwaite = _by_blocks(groups, values, inverse, sigma)
    return StaticEstimate(
        base=base,
        nuisance=tuple(nuisance),
        values=values,
        covariance=0.0 * inverse if is_exact else inverse,
        freedoms=np.clip(satterthwaite, 1.0, rows),
        noise={group.name: 0.0 if s <= f else float(s) for group, s, f in zip(groups, sigma, floors, strict=True)},
        rows=rows,
        confidence=confidence,
        source=source,
    )


TIME_BLOCKS = 40
"""Blocks of time of rows that follow each other: long against the time over which residuals are alike, and enough to
say how far their sums differ."""


def _by_blocks(groups: Sequence[RowGroup], values: Array, inverse: Array, sigma: Array) -> tuple[Array, Array]:
    """Covariance and degrees of freedom from how far sums over blocks of time differ (cluster-robust)."""
    scores = np.sum(
        [g.W * ((g.y - g.W @ values) / s**2)[:, None] for g, s in zip(groups, sigma, strict=True)], axis=0
    )  # (samples, parameters)
    edges = np.linspace(0, len(scores), min(TIME_BLOCKS, len(scores)) + 1).astype(int)[:-1]
    sums = np.add.reduceat(scores, edges, axis=0)
    blocks = len(sums)
    meat = sums.T @ sums * blocks / max(blocks - 1, 1)
    return inverse @ meat @ inverse, np.full(len(values), float(max(blocks - 1, 1)))


def _require_determined(names: Sequence[str], groups: Sequence[RowGroup], rows: int) -> None:
    """Refuse rows that leave a combination of parameters free."""
    W = np.concatenate([group.W / (float(np.abs(group.W).max()) or 1.0) for group in groups])
    lengths = np.linalg.norm(W, axis=0)
    R = np.linalg.qr(W / np.where(lengths > 0.0, lengths, 1.0), mode="r")
    _, sizes, V = np.linalg.svd(R)
    sizes = np.concatenate([sizes, np.zeros(len(names) - len(sizes))])
    weak = np.flatnonzero(sizes <= DETERMINED * (sizes[0] or 1.0))
    if len(weak) or rows < len(names):
        shares = np.linalg.norm(V[weak], axis=0) if len(weak) else np.ones(len(names))
        free = tuple(name for name, part in zip(names, shares, strict=True) if part > 0.1)
        problem = f"the postures leave {max(len(weak), 1)} combination(s) of {len(names)} parameters free"
        raise NotIdentifiableError(free, rows, problem)


def _weighed(groups: Sequence[RowGroup], sigma: Array) -> tuple[Array, Array]:
    """Weighted least squares: values and the inverse of the weighed Gram matrix."""
    W = np.concatenate([group.W / s for group, s in zip(groups, sigma, strict=True)])
    y = np.concatenate([group.y / s for group, s in zip(groups, sigma, strict=True)])
    Q, R = np.linalg.qr(W)
    inverse = np.linalg.inv(R)
    return inverse @ (Q.T @ y), inverse @ inverse.T


def _sizes(groups: Sequence[RowGroup], values: Array, inverse: Array, sigma: Array) -> tuple[Array, Array]:
    """Standard deviation of each group's rows and its degrees of freedom: rows less the leverage of all of them."""
    sizes, freedoms = [], []
    for group, s in zip(groups, sigma, strict=True):
        leverage = float(np.sum((group.W @ inverse) * group.W)) / s**2
        freedom = max(len(group.y) - leverage, 1e-3 * len(group.y), 0.5)
        residual = group.y - group.W @ values
        sizes.append(float(np.sqrt(residual @ residual / freedom)))
        freedoms.append(freedom)
    return np.array(sizes), np.array(freedoms)


def _shrunk(groups: Sequence[RowGroup], sizes: Array, freedoms: Array, floors: Array) -> tuple[Array, Array]:
    """Standard deviations drawn to those of the other groups of the same unit, as far as these agree.

    Few rows say little of a group's noise, and weights that follow it too closely make intervals too short. Variances
    are taken as drawn from an inverse gamma distribution, whose degrees of freedom come from how far they differ
    (empirical Bayes, Smyth 2004); where they differ no more than by chance, all groups share one.
    """
    from scipy.special import digamma, polygamma

    sigma, more = np.maximum(sizes, floors), freedoms.copy()
    units = np.array([group.unit for group in groups])
    for unit in dict.fromkeys(units.tolist()):
        own = np.flatnonzero((units == unit) & (sizes > floors) & (freedoms >= 2.0))
        if len(own) < 2:
            continue
        d, logs = freedoms[own], 2.0 * np.log(sizes[own])
        centred = logs - digamma(d / 2.0) + np.log(d / 2.0)
        excess = float(np.var(centred, ddof=1) - np.mean(polygamma(1, d / 2.0)))
        if excess <= 0.0:
            pooled = float(np.sqrt(np.sum(d * sizes[own] ** 2) / d.sum()))
            sigma[own], more[own] = max(pooled, float(floors[own].max())), d.sum()
            continue
        prior = 2.0 * _inverse_trigamma(excess)
        typical = np.exp(centred.mean() + digamma(prior / 2.0) - np.log(prior / 2.0))
        sigma[own] = np.sqrt((prior * typical + d * sizes[own] ** 2) / (prior + d))
        more[own] = np.minimum(d + prior, d.sum())
    return np.maximum(sigma, floors), more


def _inverse_trigamma(value: float) -> float:
    """X with trigamma(x) = value, by Newton's method on its reciprocal, which is nearly linear."""
    from scipy.special import polygamma

    x = 0.5 + 1.0 / value
    for _ in range(50):
        slope = float(polygamma(1, x))
        step = slope * (1.0 - slope / value) / float(polygamma(2, x))
        x += step
        if abs(step) <= 1e-9 * x:
            break
    return x
