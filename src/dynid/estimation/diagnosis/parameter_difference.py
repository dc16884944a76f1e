"""What data differ by from the robot's file, or from an earlier result: a body on some link, or one factor on all.

In base parameters a log is a small triangle `z = R b + noise`. Files are wrong by some share e of the size of each link
anyway, and so `z - R b_file` has the covariance `1 + e^2 M`, with e unknown. A body, five numbers, is a cause if the
likelihood grows much once it is taken off, each time at the best e: random errors of all links leave as large an e.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import weighed
from dynid.model import BaseParameters
from dynid.robot import inertia

ERRORS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Shares of the size of each link by which expected parameters may be wrong."""


@dataclass(frozen=True)
class DifferenceThresholds:
    """When a single cause explains how a file, or a result, and data differ.

    Calibrated on UR5, Panda and a random arm: see docs/logs.md and benchmarks/log_checks.py.
    """

    likely: float = 40.0
    """Twice the logarithm of the likelihood that a cause must gain."""

    share: float = 0.98
    """Share of the squared difference that it must explain, at the error of the other parameters that goes with it.
    Where all links of a file are wrong by 20 % at random, the largest share of 750 draws was 0.979; bodies of 0.3 to 5
    kg on the last link of a right file explain 0.989 or more on a UR5 and a Panda."""

    of_result: float = 0.8
    """The same for a result: its parameters are not wrong by chance, each in its own way, and noise counts for more."""

    as_good: float = 10.0
    """Twice the logarithm of the likelihood up to which another link is as likely to carry a body."""

    smallest: float = 0.05
    """Mass [kg] of a body below which it is none: less than that is a cable."""

    known: float = 0.5
    """Largest standard deviation of its mass, relative to the mass."""

    farthest: float = 0.5
    """Distance of a body from the joint that carries it, relative to the robot's reach ..."""

    handy: float = 0.3
    """... or this distance [m], if that is more: tools of small robots are long."""

    factor: tuple[float, float] = (0.05, 30.0)
    """Factors between which all torques may be scaled; those beyond are units, which `logs.magnitudes` names."""

    scaled: float = 0.03
    """Distance of a factor from one from which it is worth a word."""


DIFFERENCE = DifferenceThresholds()


@dataclass(frozen=True, eq=False)
class Difference:
    """What data have that expected parameters have not, in units of noise, along axes in which errors are independent.

    Attributes:
        base: The base parameters.
        d: The difference, without what friction and motors explain, shape (axes,).
        links: How a body on each solid link would change it, shape (axes, 10 * solid links).
        expected: What the expected inertial parameters themselves are there, shape (axes,).
        variances: Of the difference for expected parameters that are wrong by the size of their links, shape (axes,).
    """

    base: BaseParameters
    d: Array
    links: Array
    expected: Array
    variances: Array

    @staticmethod
    def of(
        base: BaseParameters, logs: Sequence[Factors], expected: Array, covariance: Array | None = None
    ) -> "Difference":
        """The difference between logs and expected parameters.

        Args:
            base: The base parameters.
            logs: Factors of the logs.
            expected: Expected base parameters, shape (base,); those of friction and motors do not matter.
            covariance: Their covariance, shape (base, base); none when None.
        """
        factor, robot = weighed(logs, base), base.model.robot
        R, z, size = factor.R, factor.z, inertia.SIZE * len(robot.solid_links)
        free = np.array([column >= size for column in base.columns])
        of_links = np.where(free, 0.0, expected)
        d, links, own = z - R @ of_links, R @ base.regrouping[:, :size], R @ of_links
        if covariance is not None:
            known = np.where(free[:, None] | free, 0.0, covariance)
            L = _root_beside_one(R, known)
            d, links, own, R = (np.asarray(np.linalg.solve(L, x), dtype=float) for x in (d, links, own, R))
        rest = _beyond(R @ base.regrouping[:, size:])  # motor inertia may stand in a base parameter of a link
        parts = [robot.links[i].parameters for i in robot.solid_links]
        sizes = np.concatenate([inertia.sizes(p) if p[0] > 0.0 else np.zeros(inertia.SIZE) for p in parts])
        U, spread, _ = np.linalg.svd(rest.T @ (links * sizes))
        axes = rest @ U
        variances = np.zeros(len(U))
        variances[: len(spread)] = spread**2
        return Difference(base, axes.T @ d, axes.T @ links, axes.T @ own, variances)

    def at(self, error: float) -> tuple[Array, float]:
        """Weights of the axes where parameters are wrong by a share, shape (axes,), and the logarithm of the volume."""
        variances = 1.0 + error**2 * self.variances
        return 1.0 / np.sqrt(variances), float(np.log(variances).sum())

    def deviance(self, d: Array) -> float:
        """Minus twice the largest logarithm of the likelihood of a difference, over the error of parameters."""
        return min(volume + float((w * d) @ (w * d)) for w, volume in map(self.at, ERRORS))


def _beyond(columns: Array) -> Array:
    """Orthonormal axes across all columns, shape (rows, axes)."""
    U, sizes, _ = np.linalg.svd(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))
    return U[:, int(np.sum(sizes > 1e-9)) :]


def difference_from_file(base: BaseParameters, logs: Sequence[Factors]) -> Difference | None:
    """The difference between logs and the robot's file; None where the file has no inertia."""
    robot = base.model.robot
    if not any(robot.links[i].has_inertia for i in robot.solid_links):
        return None
    return Difference.of(base, logs, base.to_base(np.nan_to_num(base.model.reference)))


def factor_in(difference: Difference) -> tuple[float, float, float] | None:
    """The factor on all expected parameters that explains a difference, its share, and what likelihood it gains."""
    d, own = difference.d, difference.expected
    best = (np.inf, 0.0, 0.0)
    for w, volume in map(difference.at, ERRORS):
        squares = float((w * own) @ (w * own))
        more = float((w * own) @ (w * d)) / squares if squares else 0.0
        left = float(((w * (d - more * own)) ** 2).sum())
        best = min(best, (volume + left, more, 1.0 - left / max(float((w * d) @ (w * d)), 1e-300)))
    gain, (low, high) = difference.deviance(d) - best[0], DIFFERENCE.factor
    named = gain > DIFFERENCE.likely and best[2] > DIFFERENCE.share and abs(best[1]) > DIFFERENCE.scaled
    return (1.0 + best[1], best[2], gain) if named and low < 1.0 + best[1] < high else None


def _root_beside_one(R: Array, covariance: Array) -> Array:
    """Lower triangular L with `L L^T = I + R C R^T`.

    By an orthogonal decomposition of its parts: where rows of a log are enormous, the sum itself is not positive
    definite to machine precision.
    """
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = R @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    upper = np.asarray(np.linalg.qr(np.vstack([np.eye(len(R)), root.T]), mode="r"), dtype=float)
    return (upper * np.where(np.diag(upper) < 0.0, -1.0, 1.0)[:, None]).T
