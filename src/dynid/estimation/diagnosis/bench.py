"""A fitted model on samples of a log, on which causes of its errors are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench_samples import Samples
from dynid.model import BaseParameters, DynamicModel
from dynid.robot import Robot

FLAT = 1e-6
"""Columns of which less than this is left once the model's are taken off are explained by the model."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A fitted model on samples, on which causes are tried.

    Attributes:
        base: The base parameters.
        parameters: Standard parameters of the fit, shape (parameters,).
        samples: The samples.
        stds: By which each row's errors are divided [N m or N], shape (rows,).
    """

    base: BaseParameters
    parameters: Array
    samples: Samples
    stds: Array

    @staticmethod
    def of(base: BaseParameters, parameters: Array, samples: Samples) -> Bench:
        """A bench on which rows are weighed by what the model leaves of them, never quite zero."""
        predicted = base.model.inverse_dynamics(samples.q, samples.v, samples.a, parameters)
        error = np.where(samples.keep, samples.torque - predicted, 0.0)
        counts = np.maximum(samples.keep.sum(axis=0), 1)
        sizes = np.sqrt((samples.torque**2).mean(axis=0)) + 1e-12
        stds = np.maximum(np.sqrt((error**2).sum(axis=0) / counts), 1e-6 * sizes)
        return Bench(base, parameters, samples, stds)

    @property
    def model(self) -> DynamicModel:
        """The model."""
        return self.base.model

    @cached_property
    def predicted(self) -> Array:
        """What the model says, shape (samples, rows)."""
        s = self.samples
        return self.model.inverse_dynamics(s.q, s.v, s.a, self.parameters)

    def flat(self, values: Array) -> Array:
        """Values of shape (samples, rows) as a column: weighed, without rows that do not count."""
        return (np.where(self.samples.keep, values, 0.0) / self.stds).T.ravel()

    def whole(self) -> Array:
        """The weighed base observation matrix, shape (rows * samples, base)."""
        s = self.samples
        W = self.base.regressor(s.q, s.v, s.a) / self.stds[:, None, None]
        W *= s.keep.T[:, :, None]
        return W.reshape(-1, W.shape[-1])

    @cached_property
    def _span(self) -> Array:
        """Orthonormal columns that span what base parameters can do."""
        return np.linalg.qr(self.whole())[0]

    def left(self, columns: Array) -> Array:
        """What base parameters cannot do of columns, shape (rows * samples, ...)."""
        return columns - self._span @ (self._span.T @ columns)

    @cached_property
    def known(self) -> Array:
        """Torques of parameters that were known beforehand, shape (samples, rows)."""
        s = self.samples
        return self.base.known_torques(s.q, s.v, s.a).T if self.base.known else np.zeros_like(s.torque)

    @cached_property
    def residual(self) -> Array:
        """What base parameters leave of the torques, flat."""
        return self.left(self.flat(self.samples.torque - self.known))

    @cached_property
    def squares(self) -> float:
        """Sum of its squares."""
        return float(self.residual @ self.residual)

    def share_with(self, torque: Array) -> float:
        """Share of the squared residual that goes if other torques, shape (samples, rows), had been measured."""
        error = self.left(self.flat(torque - self.known))
        return 1.0 - float(error @ error) / self.squares

    def share_refitted(self, samples: Samples, robot: Robot | None = None) -> float:
        """Share of the squared residual that goes with other samples or another robot, fitted again."""
        base = self.base if robot is None else replace(self.base, model=replace(self.model, robot=robot))
        return 1.0 - replace(self, base=base, samples=samples).squares / self.squares

    def explained(self, effects: Sequence[Array]) -> tuple[float, tuple[float, ...]]:
        """Share of the squared residual that effects, each of shape (samples, rows), explain, and how much of each."""
        C = np.stack([self.flat(effect) for effect in effects], axis=1)
        sizes = np.linalg.norm(C, axis=0)
        own = self.left(C)
        seen = np.linalg.norm(own, axis=0) > FLAT * sizes
        if not seen.any():
            return 0.0, (0.0,) * len(effects)
        amounts = np.zeros(len(effects))
        scale = np.linalg.norm(own[:, seen], axis=0)
        amounts[seen] = np.linalg.lstsq(own[:, seen] / scale, self.residual, rcond=1e-6)[0] / scale
        error = self.residual - own @ amounts
        return 1.0 - float(error @ error) / self.squares, tuple(amounts.tolist())
