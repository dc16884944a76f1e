"""A model on samples of logs, fitted again and again: with samples mended, and on all blocks of time but one.

Rows of `[W | y]` are divided by each torque's standard deviation and multiplied with the inverse of the triangular
factor of W, so that normal equations are exact enough; their sums over blocks of time are all that a fit needs.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench_samples import BLOCKS, Samples, links_alone
from dynid.estimation.normal_equations import normal_solution
from dynid.model import BaseParameters, DynamicModel
from dynid.robot import Robot


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on all blocks, and on all but each of them.

    Attributes:
        solution: Of all blocks, in coordinates in which columns are orthonormal, shape (base,).
        squares: Its squared error, divided by variances.
        held_out: Squared error in each block of the fit to the others, shape (blocks,).
        without: Solutions of all blocks but each, shape (blocks, base).
    """

    solution: Array
    squares: float
    held_out: Array
    without: Array


@dataclass(frozen=True, eq=False)
class Bench:
    """A model on samples.

    Attributes:
        base: The base parameters.
        parameters: Standard parameters of the estimate, at which effects of causes are linearised, shape (parameters,).
        samples: The samples.
        stds: Standard deviation of each torque's errors [N m or N], shape (rows,).
        triangle: Triangular factor of the weighted observation matrix that the estimate was made from, shape (base,
            base): the coordinates of fits.
    """

    base: BaseParameters
    parameters: Array
    samples: Samples
    stds: Array
    triangle: Array

    @staticmethod
    def of(base: BaseParameters, parameters: Array, samples: Samples) -> "Bench":
        """A bench on which torques are weighed by what the model leaves of them, never quite zero."""
        predicted = base.model.inverse_dynamics(samples.q, samples.v, samples.a, parameters)
        error = np.where(samples.keep, samples.torque - predicted, 0.0)
        counts = np.maximum(samples.keep.sum(axis=0), 1)
        sizes = np.sqrt((samples.torque**2).mean(axis=0)) + 1e-12
        stds = np.maximum(np.sqrt((error**2).sum(axis=0) / counts), 1e-6 * sizes)
        bench = Bench(base, parameters, samples, stds, np.eye(len(base)))
        R = np.asarray(np.linalg.qr(bench._weighed(base.regressor(samples.q, samples.v, samples.a)), mode="r"))
        smallest = 1e-9 * np.abs(np.diag(R)).max(initial=0.0)
        R[np.abs(np.diag(R)) < smallest, np.abs(np.diag(R)) < smallest] = smallest or 1.0
        return replace(bench, triangle=R)

    @property
    def model(self) -> DynamicModel:
        """The model."""
        return self.base.model

    @cached_property
    def predicted(self) -> Array:
        """What the estimate says, shape (samples, rows)."""
        return self.torques_of(self.samples)

    def torques_of(self, samples: Samples, robot: Robot | None = None, *, of_links: bool = False) -> Array:
        """What the estimate (or its links alone) says with other samples or another robot, shape (samples, rows)."""
        model, p = self.model if robot is None else replace(self.model, robot=robot), self.parameters
        return model.inverse_dynamics(samples.q, samples.v, samples.a, links_alone(model, p) if of_links else p)

    def rows(self, samples: Samples, robot: Robot | None = None) -> tuple[Array, Array]:
        """Weighed rows, shape (rows * samples, base), and torques of known parameters, shape (samples, rows)."""
        base = self.base if robot is None else replace(self.base, model=replace(self.model, robot=robot))
        W = base.model.regressor(samples.q, samples.v, samples.a)
        known = np.zeros_like(samples.torque)
        if base.known:
            columns = [base.model.names.index(name) for name in base.known]
            known = (W[..., columns] @ np.array(list(base.known.values()), dtype=float)).T
        return self._orthonormal(self._weighed(W[..., list(base.columns)])), known

    def weighed_torque(self, torque: Array) -> Array:
        """Torques of shape (samples, rows), or several of shape (samples, rows, k), as rows of fits."""
        weights = self._weights
        values = np.moveaxis(torque, 0, 1) * (weights if torque.ndim == 2 else weights[:, :, None])
        return values.reshape(-1, *torque.shape[2:])

    def with_samples(self, samples: Samples, robot: Robot | None = None) -> "Bench":
        """The bench with other samples or another robot, and the estimate fitted to them."""
        base = self.base if robot is None else replace(self.base, model=replace(self.model, robot=robot))
        bench = replace(self, base=base, samples=samples)
        fitted = replace(bench, parameters=base.to_standard(bench.base_values(solved(bench._moments.sum(axis=0))[0])))
        vars(fitted).update(equations=bench.equations, _moments=bench._moments)  # they do not depend on the estimate
        return fitted

    def base_values(self, solution: Array) -> Array:
        """Base parameters of a solution, both of shape (base,)."""
        return np.asarray(np.linalg.solve(self.triangle, solution), dtype=float)

    @cached_property
    def equations(self) -> tuple[Array, Array]:
        """Weighed rows of the samples, shape (rows * samples, base), and torques, shape (rows * samples,)."""
        rows, known = self.rows(self.samples)
        return rows, self.weighed_torque(self.samples.torque - known)

    @cached_property
    def _moments(self) -> Array:
        """Products of the rows and the torque in each block, shape (blocks, base + 1, base + 1)."""
        return self.moments(np.column_stack(self.equations))

    @cached_property
    def squares(self) -> float:
        """Squared error of the model fitted to all samples."""
        return solved(self._moments.sum(axis=0))[1]

    @cached_property
    def fit(self) -> Fit:
        """The model fitted to the samples, and to all blocks but each."""
        return fit_of(self._moments)

    @cached_property
    def held_out_rows(self) -> Array:
        """Squared errors of each row in each block of the fit to the other blocks, shape (blocks, rows)."""
        rows, torque = self.equations
        count = len(self.samples)
        rows, torque = rows.reshape(-1, count, rows.shape[1]), torque.reshape(-1, count)
        own = [self.samples.block == block for block in np.unique(self.samples.block)]
        errors = [torque[:, at] - rows[:, at] @ solution for at, solution in zip(own, self.fit.without, strict=True)]
        return np.stack([(error**2).sum(axis=1) for error in errors])

    def moments(self, columns: Array) -> Array:
        """Products of columns, shape (rows * samples, k), summed over each block: shape (blocks, k, k)."""
        count = len(self.samples)
        stacked = columns.reshape(-1, count, columns.shape[1])
        edges = np.searchsorted(self.samples.block, np.arange(BLOCKS + 1))
        found = np.zeros((BLOCKS, columns.shape[1], columns.shape[1]))
        for block, (first, last) in enumerate(pairwise(edges.tolist())):
            part = stacked[:, first:last].reshape(-1, columns.shape[1])
            found[block] = part.T @ part
        return found[edges[1:] > edges[:-1]]

    @property
    def _weights(self) -> Array:
        """What rows are multiplied with, shape (rows, samples)."""
        return (self.samples.keep / (self.stds * self.samples.noise)).T

    def _weighed(self, W: Array) -> Array:
        """Rows of shape (rows, samples, base) divided by standard deviations; zero where they do not count."""
        return (W * self._weights[:, :, None]).reshape(-1, W.shape[-1])

    def _orthonormal(self, W: Array) -> Array:
        from scipy.linalg.blas import dtrsm  # type: ignore[attr-defined]

        return dtrsm(1.0, self.triangle, W, side=1)


def solved(moments: Array) -> tuple[Array, float]:
    """Solution and squared error of a fit of the last column to the others, from their products."""
    count = len(moments) - 1
    solution = normal_solution(moments[:count, :count], moments[:count, count:])[:, 0]
    return solution, float(moments[count, count] - moments[:count, count] @ solution)


def fit_of(moments: Array) -> Fit:
    """Fit the last column to the others, from products of columns in each block, shape (blocks, base + 1, base + 1)."""
    total = moments.sum(axis=0)
    count = len(total) - 1
    rest = total - moments
    without = normal_solution(rest[:, :count, :count], rest[:, :count, count:])[..., 0]
    vectors = np.column_stack([without, -np.ones(len(without))])
    held_out = np.einsum("bi,bij,bj->b", vectors, moments, vectors)
    return Fit(*solved(total), np.maximum(held_out, 0.0), without)
