"""What a stream determines so far: base parameters with standard deviations, and how well each link is determined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.estimation.factors.recursive_factors import RecursiveFactors
from dynid.estimation.least_squares import Prior, joint_weights
from dynid.estimation.streams.link_information import LinkScales
from dynid.model import BaseParameters

RANK_TOLERANCE = 1e-10
"""Singular values, of columns of unit length, below this part of the largest count as zero, as in batch estimates."""

PART_BY_ROUNDING = 1e-9
"""Part of a parameter that lies in directions which the data do not determine, up to which that is rounding alone."""


@dataclass(frozen=True, eq=False, repr=False)
class StreamEstimate:
    """Base parameters, of what has streamed in so far.

    Attributes:
        names: Names of the base parameters.
        expressions: What each is, of standard parameters.
        units: Their units.
        values: Their values, shape (base,); zero along directions that the data do not determine.
        std: Their standard deviations with the residuals' autocorrelation, shape (base,); infinite for what is not
            determined.
        white_std: The same if errors were white, as weighted least squares states them.
        condition_number: Of the unweighted observation matrix; infinite while it does not have full rank.
        rank: How many combinations of the base parameters are determined.
        undetermined: Names of the parameters that are not determined.
        relative_error: Norm of the residual over the norm of the measured torques.
        joint_rmse: Root mean squared residual of each row [N m or N], by name.
        joint_std: Standard deviation of each row's errors that weighs it [N m or N], by name.
        link_information: For each link with identifiable parameters, by name: how well it is determined, from 0 to 1
            (see `link_information.LinkScales`).
        samples: Number of samples that came in.
        effective_samples: The sum of their weights: fewer with forgetting.
        seconds: How long they lasted [s]; NaN where no time and no rate are known.
    """

    names: tuple[str, ...]
    expressions: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    std: Array
    white_std: Array
    condition_number: float
    rank: int
    undetermined: tuple[str, ...]
    relative_error: float
    joint_rmse: Mapping[str, float]
    joint_std: Mapping[str, float]
    link_information: Mapping[str, float]
    samples: int
    effective_samples: float
    seconds: float

    @property
    def is_determined(self) -> bool:
        """Whether all base parameters are."""
        return self.rank == len(self.names)

    @cached_property
    def base_parameters(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def __repr__(self) -> str:
        lasted = "" if math.isnan(self.seconds) else f" in {self.seconds:.3g} s"
        return (
            f"StreamEstimate({self.rank} of {len(self.names)} base parameters determined by {self.samples} samples"
            f"{lasted}, condition number {self.condition_number:.3g}, relative error {self.relative_error:.2%})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON; None for what is infinite or not known."""
        columns = zip(self.names, self.expressions, self.units, self.values, self.std, strict=True)
        return {
            "parameters": [
                {"name": name, "expression": text, "unit": unit, "value": float(value), "std": _finite(std)}
                for name, text, unit, value, std in columns
            ],
            "condition_number": _finite(self.condition_number),
            "rank": self.rank,
            "undetermined": list(self.undetermined),
            "relative_error": self.relative_error,
            "joints": [
                {"name": name, "rmse": rmse, "std": self.joint_std[name]} for name, rmse in self.joint_rmse.items()
            ],
            "link_information": dict(self.link_information),
            "samples": self.samples,
            "effective_samples": self.effective_samples,
            "seconds": _finite(self.seconds),
        }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class StreamEstimator:
    """Weighted least squares on the triangles of a stream.

    Args:
        base: The base parameters.
        factors: The triangles; they may grow meanwhile.
        prior: What is known of the base parameters beforehand.
        stds: Standard deviation of the errors of each row [N m or N], shape (rows,); those that ordinary least squares
            leaves when None.
    """

    def __init__(
        self, base: BaseParameters, factors: RecursiveFactors, prior: Prior | None, stds: Array | None
    ) -> None:
        self.base = base
        self.factors = factors
        self.prior = prior
        self.stds = stds
        self._scales = LinkScales.of(base)
        position = {name: k for k, name in enumerate(base.model.names)}
        kept = {column: k for k, column in enumerate(base.columns)}
        self._maps = []
        self._known = []
        values = np.zeros(len(base.model.names))
        for name, value in base.known.items():
            values[position[name]] = value
        for basis in factors.bases:
            M = np.zeros((len(basis.columns), len(base)))
            for k, name in enumerate(basis.names):
                if position[name] in kept:
                    M[:, kept[position[name]]] = basis.regrouping[:, k]
            self._maps.append(M)
            self._known.append(basis.regrouping @ values[[position[name] for name in basis.names]])

    def solve(self) -> tuple[Array, Array, Array]:
        """Values of the base parameters b, shape (base,), what rows are weighed with, and the weighted triangle."""
        blocks = self._blocks()
        weights = self._weights(blocks)
        stacked = self._stacked(blocks, weights)
        return _solution(stacked)[0], weights, stacked

    def is_determined(self, stacked: Array) -> bool:
        """Whether rows determine all base parameters, by the weighted triangle of `solve`."""
        is_measured = self.stds is not None or np.sum(self.factors.counts) > len(self.base)
        return bool(is_measured and not np.any(_solution(stacked)[2] > PART_BY_ROUNDING))

    def spread_of_torques(self, q: Array, v: Array, lasting: Array) -> Array:
        """What the parameters' uncertainty makes of torques, in parts of the standard deviation of errors.

        Args:
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv).
            lasting: As in `estimate`.

        Returns:
            Root mean square over the samples of each row that was measured, shape (rows,).
        """
        blocks = self._blocks()
        weights = self._weights(blocks)
        inverse = _solution(self._stacked(blocks, weights))[1]
        S = self._spread(blocks, weights, lasting, inverse.T @ inverse)
        W, found = self.base.regressor(q, v, np.zeros_like(v)) if len(q) else [], []
        for row in np.flatnonzero(self.factors.counts > 0.0) if len(q) else ():
            found.append(weights[row] * np.linalg.norm(W[row] @ S.T) / np.sqrt(len(q)))
        return np.array(found)

    def _spread(self, blocks: list[Array], weights: Array, lasting: Array, covariance: Array) -> Array:
        """A root S of the covariance S'S of values where errors last for so many samples, shape (rows, base)."""
        scales = weights * np.sqrt(lasting)
        rows = [scale * block[:, :-1] for scale, block in zip(scales, blocks, strict=True)]
        rows += [] if self.prior is None else [self._prior_rows(self.prior)[:, :-1]]
        return np.asarray(np.concatenate(rows) @ covariance)

    def _blocks(self) -> list[Array]:
        """For each row `[R | z]` in the base parameters, with nothing of known ones, and the squares left below."""
        found = []
        for row, (M, known) in enumerate(zip(self._maps, self._known, strict=True)):
            T = self.factors.triangle(row)
            n = len(known)
            block = np.zeros((n + 1, M.shape[1] + 1))
            block[:n, :-1] = T[:n, :n] @ M
            block[:n, -1] = T[:n, n] - T[:n, :n] @ known
            block[n, -1] = T[n, n]
            found.append(block)
        return found

    def _weights(self, blocks: list[Array]) -> Array:
        if self.stds is not None:
            stds = self.stds
        else:
            x = _solution(self._stacked(blocks, np.ones(len(blocks)), with_prior=False))[0]
            stds = self._rmse(blocks, x)
            if not stds.any():
                return np.ones(len(stds))
        return np.array(list(joint_weights(dict(enumerate(stds.tolist()))).values()))  # type: ignore[arg-type]

    def _rmse(self, blocks: list[Array], x: Array) -> Array:
        squares = np.array([np.sum((B[:, :-1] @ x - B[:, -1]) ** 2) for B in blocks])
        return np.sqrt(squares / np.maximum(self.factors.counts, 1.0))

    def _stacked(self, blocks: list[Array], weights: Array, *, with_prior: bool = True) -> Array:
        """The triangle of all rows, `[R | z]` of shape (base + 1, base + 1)."""
        rows = [weight * block for weight, block in zip(weights, blocks, strict=True)]
        if with_prior and self.prior is not None:
            rows.append(self._prior_rows(self.prior))
        rows.append(np.zeros((len(self.base) + 1, len(self.base) + 1)))
        return np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"))

    def _prior_rows(self, prior: Prior) -> Array:
        own = [k for k, name in enumerate(self.base.names) if name in prior.stds]
        rows = np.zeros((len(own), len(self.base) + 1))
        for row, k in enumerate(own):
            name = self.base.names[k]
            rows[row, k], rows[row, -1] = 1.0 / prior.stds[name], prior.means.get(name, 0.0) / prior.stds[name]
        return rows

    def estimate(self, samples: int, seconds: float, lasting: Array | None = None) -> StreamEstimate:
        """The estimate at this moment.

        Args:
            samples: Number of samples that came in.
            seconds: How long they lasted [s].
            lasting: For how many samples the errors of each row last, shape (rows,); one when None.
        """
        base, names = self.base, tuple(basis.joint for basis in self.factors.bases)
        blocks = self._blocks()
        weights = self._weights(blocks)
        stacked = self._stacked(blocks, weights)
        x, inverse, lost = _solution(stacked)
        covariance = inverse.T @ inverse
        lasting = np.ones(len(names)) if lasting is None else lasting
        is_measured = self.stds is not None or np.sum(self.factors.counts) > len(base)
        undetermined = tuple(name for name, share in zip(base.names, lost, strict=True) if share > PART_BY_ROUNDING)
        spread = self._spread(blocks, weights, lasting, covariance)
        std, white = (np.sqrt(part) for part in (np.sum(spread**2, axis=0), np.sum(inverse**2, axis=0)))
        for part in (std, white):
            part[(lost > PART_BY_ROUNDING) | (not is_measured)] = np.inf
        plain = self._stacked(blocks, np.ones(len(blocks)), with_prior=False)[:-1, :-1]
        sizes = np.linalg.svd(plain, compute_uv=False)
        rmse = self._rmse(blocks, x)
        total = sum(float(np.sum(block[:, -1] ** 2)) for block in blocks)
        errors = float(np.sum(rmse**2 * np.maximum(self.factors.counts, 1.0)))
        R = self._stacked(blocks, weights / np.sqrt(lasting))[:-1, :-1] if is_measured else np.zeros_like(plain)
        return StreamEstimate(
            names=base.names,
            expressions=base.expressions,
            units=base.units,
            values=frozen(x),
            std=frozen(std),
            white_std=frozen(white),
            condition_number=float(sizes[0] / sizes[-1]) if len(sizes) and not undetermined else math.inf,
            rank=round(len(base) - float(np.sum(lost))),
            undetermined=undetermined,
            relative_error=float(np.sqrt(errors / total)) if total else 0.0,
            joint_rmse=dict(zip(names, rmse.tolist(), strict=True)),
            joint_std=dict(zip(names, (1.0 / weights).tolist(), strict=True)),
            link_information=self._scales.information(R),
            samples=samples,
            effective_samples=float(np.max(self.factors.counts, initial=0.0)),
            seconds=seconds,
        )


def _solution(stacked: Array) -> tuple[Array, Array, Array]:
    """Least squares of a triangle `[R | z]`: values, a root of the covariance, and what is lost of each parameter.

    Returns:
        x, shape (n,), of smallest norm in columns of unit length; Q, shape (k, n), with covariance Q'Q; and of each
        parameter the part that lies in directions which are not determined, shape (n,).
    """
    R, z = stacked[:-1, :-1], stacked[:-1, -1]
    lengths = np.linalg.norm(R, axis=0)
    lengths[lengths == 0.0] = 1.0
    U, s, V = np.linalg.svd(R / lengths)
    good = s > RANK_TOLERANCE * s[0] if len(s) and s[0] > 0.0 else np.zeros(len(s), dtype=bool)
    Q = V[good] / s[good, None] / lengths
    return (U[:, good].T @ z) @ Q, Q, np.sum(V[~good] ** 2, axis=0)
