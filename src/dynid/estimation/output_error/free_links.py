"""Steps of an estimator over physically consistent robots: links in log-Cholesky form, friction that is not negative.

A robot is a vector p of standard parameters. Around it, free variables x describe all others that can exist: ten
log-Cholesky numbers of each link with mass, and the parameters of terms within their signs, each in units of a change
that is large. A step minimises

    |R (K p(x) - b) - z|^2 + damping |x|^2

where R and z are the triangular factor of linearised errors over base parameters b = K p. What the factor says nothing
of stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.log_cholesky import from_log_cholesky, jacobian, to_log_cholesky
from dynid.model import BaseParameters, Sign
from dynid.robot import inertia

KNOWN_WEIGHT = 1e4
"""Weight of known parameters in a step, per part of their link's size; they are then set exactly."""

MOST_EVALUATIONS = 100
"""Most evaluations of the small problem of a step."""


@dataclass(frozen=True, eq=False)
class FreeLinks:
    """A robot that can exist, and the free variables around it.

    Attributes:
        base: The base parameters.
        parameters: Standard parameters p, shape (parameters,).
        heavy: Positions of the solid links with mass; the others have none, and keep none.
        theta: Log-Cholesky numbers of links with mass, shape (links with mass, 10).
    """

    base: BaseParameters
    parameters: Array
    heavy: tuple[int, ...]
    theta: Array

    @staticmethod
    def of(base: BaseParameters, parameters: Array) -> FreeLinks:
        """The variables around standard parameters, shape (parameters,).

        Raises:
            InvalidRequestError: If a link is not strictly physical, so that it has no log-Cholesky form.
        """
        p = np.array(parameters, dtype=float)
        blocks = p[: inertia.SIZE * len(base.model.robot.solid_links)].reshape(-1, inertia.SIZE)
        heavy = tuple(k for k, block in enumerate(blocks) if block.any())
        theta = np.array([to_log_cholesky(blocks[k]) for k in heavy]).reshape(-1, inertia.SIZE)
        return FreeLinks(base, p, heavy, theta)

    @cached_property
    def terms(self) -> Indices:
        """Indices of the parameters of terms that are not known."""
        names = self.base.model.names
        links = inertia.SIZE * len(self.base.model.robot.solid_links)
        return np.array([k for k in range(links, len(names)) if names[k] not in self.base.known], dtype=np.intp)

    @cached_property
    def known(self) -> Indices:
        """Indices of the known parameters of links with mass."""
        own = {inertia.SIZE * k + i for k in self.heavy for i in range(inertia.SIZE)}
        found = (self.base.model.names.index(name) for name in self.base.known)
        return np.array([k for k in found if k in own], dtype=np.intp)

    @cached_property
    def link_sizes(self) -> Array:
        """Changes of log-Cholesky numbers that are large: one, or the link's size [m]; of the shape of `theta`."""
        longest = np.exp(self.theta[:, 1:4]).max(axis=1, initial=0.0)
        return np.concatenate([np.ones((len(longest), 4)), np.repeat(longest[:, None], 6, axis=1)], axis=1)

    def standard(self, x: Array, term_sizes: Array) -> Array:
        """Standard parameters of free variables x; of shape (parameters,).

        Args:
            x: Shape (10 * links with mass + terms,); zero is where we are.
            term_sizes: Changes of the terms' parameters that are large, shape (terms,).
        """
        p, own = self.parameters.copy(), self.theta.size
        theta = self.theta + x[:own].reshape(self.theta.shape) * self.link_sizes
        for k, one in zip(self.heavy, theta, strict=True):
            p[inertia.SIZE * k : inertia.SIZE * (k + 1)] = from_log_cholesky(one)
        p[self.terms] += x[own:] * term_sizes
        return p

    def slopes(self, x: Array, term_sizes: Array) -> Array:
        """Derivatives of standard parameters over x, shape (parameters, variables); arguments as `standard`."""
        own = self.theta.size
        D = np.zeros((len(self.parameters), own + len(self.terms)))
        theta = self.theta + x[:own].reshape(self.theta.shape) * self.link_sizes
        for n, (k, one) in enumerate(zip(self.heavy, theta, strict=True)):
            rows, columns = (slice(inertia.SIZE * i, inertia.SIZE * (i + 1)) for i in (k, n))
            D[rows, columns] = jacobian(one) * self.link_sizes[n]
        D[self.terms, own + np.arange(len(self.terms))] = term_sizes
        return D

    def stepped(self, factor: Factor, damping: float) -> FreeLinks | None:
        """The robot after a step, or None where known parameters leave no such one.

        Args:
            factor: Factor of errors over changes of base parameters, in units of their standard deviation.
            damping: Weight of the squares of x.
        """
        from scipy.optimize import least_squares

        R, z, K = factor.R, factor.z, self.base.regrouping
        sizes = self._term_sizes(factor)
        values = self.parameters[self.known]
        weights = KNOWN_WEIGHT / self._known_sizes()
        root = np.sqrt(damping) * np.eye(self.theta.size + len(sizes))
        b = K @ self.parameters

        def errors(x: Array) -> Array:
            p = self.standard(x, sizes)
            return np.concatenate([R @ (K @ p - b) - z, weights * (p[self.known] - values), root @ x])

        def slopes(x: Array) -> Array:
            D = self.slopes(x, sizes)
            return np.concatenate([R @ (K @ D), weights[:, None] * D[self.known], root])

        lower = np.full(len(root), -np.inf)
        lower[self.theta.size :] = self._lower() / sizes
        with np.errstate(over="ignore"):
            start, bounds = np.zeros(len(root)), (lower, np.inf)
            x = least_squares(errors, start, slopes, bounds, xtol=1e-8, max_nfev=MOST_EVALUATIONS).x  # type: ignore[arg-type]
        p = self.standard(x, sizes)
        p[self.known] = values
        p[self.terms] = np.maximum(p[self.terms], self.parameters[self.terms] + self._lower())
        try:
            return FreeLinks.of(self.base, p)
        except InvalidRequestError:
            return None

    def _lower(self) -> Array:
        """How far the terms' parameters may fall, shape (terms,)."""
        signed = [self.base.model.parameters[k].sign is not Sign.NONNEGATIVE for k in self.terms]
        return np.where(signed, -np.inf, -np.maximum(self.parameters[self.terms], 0.0))

    def _term_sizes(self, factor: Factor) -> Array:
        """Changes of the terms' parameters that alone would explain errors of all rows, or the parameters' sizes."""
        lengths = np.linalg.norm(factor.R @ self.base.regrouping[:, self.terms], axis=0)
        own = np.abs(self.parameters[self.terms])
        size = np.sqrt(max(factor.rows, 1))
        sizes = np.maximum(np.divide(size, lengths, out=np.zeros_like(lengths), where=lengths > 0.0), own)
        return np.where(sizes > 0.0, sizes, 1.0)

    def _known_sizes(self) -> Array:
        """Sizes of the known parameters, shape (known,)."""
        found = []
        for index in self.known:
            first = inertia.SIZE * (index // inertia.SIZE)
            found.append(inertia.sizes(self.parameters[first : first + inertia.SIZE])[index - first])
        return np.array(found)
