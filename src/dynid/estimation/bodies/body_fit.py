"""Bodies that were fitted: their parameters, how sure they are, and what the data determine of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynid.arrays import Array, finite_or_none
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.bodies.body_covariance import UNDETERMINED
from dynid.estimation.bodies.body_priors import BodyPrior
from dynid.estimation.quantiles import student_quantile
from dynid.findings import Finding
from dynid.model import html_table, text_table
from dynid.robot import inertia

if TYPE_CHECKING:
    import polars as pl

STATED_FREEDOM = 1_000_000
"""Degrees of freedom of errors whose sizes were stated: Student's distribution is then the normal one."""

TITLES = ("body", "mass [kg]", "std", "centre of mass [m]", "from data", "prior mass")


@dataclass(frozen=True, eq=False, repr=False)
class BodyFit:
    """Physically consistent bodies, fitted to rows `W p = y`.

    Attributes:
        names: Names of the bodies.
        parameters: Parameters m [kg], mx, my, mz [kg m], Ixx, Ixy, Iyy, Ixz, Iyz, Izz [kg m^2] of each body about its
            frame, shape (bodies, 10).
        others: Values of the columns after those of bodies, by name.
        covariance: Covariance of the errors of all parameters in the order of the columns, shape (columns, columns); of
            what the data determine where there is no prior.
        undetermined: Directions in which nothing determines the parameters, shape (columns, directions); none where
            there is a prior.
        from_data: Share of the prior's variance that the data take away, shape (bodies, 10): 1 where the data determine
            a parameter, 0 where it is the prior's.
        prior: What was expected.
        prior_std: Relative standard deviation of the masses that were expected, shape (bodies,); NaN where parameters
            have their own, and infinite without a prior.
        rank: Number of combinations of the parameters that the rows determine.
        rows: Number of rows.
        row_std: Standard deviations of rows of each kind, as they were estimated, shape (kinds,); empty where they were
            stated.
        residual: Root of the mean squared residual in standard deviations of the rows, with the degrees of freedom
            that the fit leaves; about 1 where these are right.
        relative_error: Norm of the residuals over that of y, both in standard deviations of the rows.
        held: Names of the bodies that their bounds, or physical consistency, hold away from what data and prior say.
        findings: What users should know.
        seconds: How long it took [s].
    """

    names: tuple[str, ...]
    parameters: Array
    others: dict[str, float]
    covariance: Array
    undetermined: Array
    from_data: Array
    prior: BodyPrior
    prior_std: Array
    rank: int
    rows: int
    row_std: Array
    residual: float
    relative_error: float
    held: tuple[str, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @cached_property
    def vector(self) -> Array:
        """All parameters in the order of the columns of W, shape (columns,)."""
        return np.concatenate([self.parameters.ravel(), np.array(list(self.others.values()), dtype=float)])

    @cached_property
    def std(self) -> Array:
        """Standard deviations of the parameters, shape (bodies, 10); infinite where nothing determines one."""
        return self._std_of(np.eye(len(self.vector))[: self.parameters.size]).reshape(self.parameters.shape)

    @property
    def masses(self) -> Array:
        """Masses [kg], shape (bodies,)."""
        return self.parameters[:, 0]

    @cached_property
    def centres_of_mass(self) -> Array:
        """Centres of mass in the bodies' frames [m], shape (bodies, 3)."""
        return self.parameters[:, 1:4] / self.masses[:, None]

    @cached_property
    def centre_of_mass_std(self) -> Array:
        """Their standard deviations [m], to first order, shape (bodies, 3)."""
        found = np.zeros((len(self.names), 3))
        for k, (mass, centre) in enumerate(zip(self.masses.tolist(), self.centres_of_mass, strict=True)):
            slopes = np.zeros((3, len(self.vector)))
            slopes[:, inertia.SIZE * k : inertia.SIZE * k + 4] = np.column_stack([-centre, np.eye(3)]) / mass
            found[k] = self._std_of(slopes)
        return found

    @property
    def total_mass(self) -> float:
        """Mass of all bodies [kg]."""
        return float(self.masses.sum())

    @property
    def total_mass_std(self) -> float:
        """Its standard deviation [kg]."""
        row = np.zeros((1, len(self.vector)))
        row[0, : self.parameters.size : inertia.SIZE] = 1.0
        return float(self._std_of(row)[0])

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals of the parameters, each of shape (bodies, 10)."""
        if not 0.0 < confidence < 1.0:
            raise InvalidRequestError(f"a confidence lies between 0 and 1, such as 0.95, not {confidence}")
        freedom = self.rows - self.rank if len(self.row_std) else STATED_FREEDOM
        half = student_quantile(freedom, 0.5 + confidence / 2) * self.std
        return self.parameters - half, self.parameters + half

    def predict(self, W: Any) -> Array:
        """The right-hand side of other rows, (rows, columns) to (rows,)."""
        return self._checked(W) @ self.vector

    def predict_std(self, W: Any) -> Array:
        """Standard deviations of these, by those of the parameters, (rows, columns) to (rows,)."""
        return self._std_of(self._checked(W))

    def to_frame(self) -> pl.DataFrame:
        """A Polars table with one row for each parameter of each body."""
        import polars as pl

        lower, upper = self.interval()
        count = len(self.names)
        expected = np.where(np.isinf(self.prior_std)[:, None], np.nan, self.prior.parameters)
        return pl.DataFrame(
            {
                "body": [name for name in self.names for _ in range(inertia.SIZE)],
                "parameter": list(inertia.PARAMETER_SYMBOLS) * count,
                "unit": list(inertia.PARAMETER_UNITS) * count,
                "value": self.parameters.ravel(),
                "std": self.std.ravel(),
                "lower": lower.ravel(),
                "upper": upper.ravel(),
                "prior": expected.ravel(),
                "from_data": self.from_data.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON; None for what is infinite."""
        bodies = [
            {
                "name": name,
                "parameters": dict(zip(inertia.PARAMETER_SYMBOLS, self.parameters[k].tolist(), strict=True)),
                "std": [finite_or_none(std) for std in self.std[k].tolist()],
                "from_data": self.from_data[k].tolist(),
            }
            for k, name in enumerate(self.names)
        ]
        numbers = {key: getattr(self, key) for key in ("rank", "rows", "residual", "relative_error", "seconds")}
        findings = [finding.to_dict() for finding in self.findings]
        return {"bodies": bodies, "others": self.others, **numbers, "held": list(self.held), "findings": findings}

    def _std_of(self, rows: Array) -> Array:
        """Standard deviations of linear combinations of the parameters, (rows, columns) to (rows,)."""
        stds = np.sqrt(np.maximum(np.einsum("ki,ki->k", rows @ self.covariance, rows), 0.0))
        sizes = np.linalg.norm(self.undetermined, axis=1, keepdims=True)
        free, whole = np.abs(rows @ self.undetermined), np.abs(rows) @ sizes
        return np.where((free > UNDETERMINED * whole).any(axis=1), np.inf, stds)

    def _checked(self, W: Any) -> Array:
        W = np.asarray(W, dtype=float)
        if W.ndim != 2 or W.shape[1] != len(self.vector):
            raise ShapeError("the regressor matrix W", f"(rows, {len(self.vector)})", W.shape)
        return W

    def _table(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                f"{self.parameters[k, 0]:.4g}",
                f"{self.std[k, 0]:.2g}",
                " ".join(f"{c:+.3f}" for c in self.centres_of_mass[k]),
                f"{self.from_data[k].mean():.0%}",
                "-" if np.isinf(self.prior_std[k]) else f"{self.prior.parameters[k, 0]:.4g}",
            )
            for k, name in enumerate(self.names)
        ]

    def __repr__(self) -> str:
        return (
            f"BodyFit({len(self.names)} bodies, {self.rows} rows, {self.rank} of {len(self.vector)} combinations "
            f"determined, relative error {self.relative_error:.2%})"
        )

    def __str__(self) -> str:
        lines = [repr(self), text_table(TITLES, self._table(), right=(1, 2, 4, 5))]
        return "\n".join([*lines, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        return html_table(repr(self), TITLES, self._table())
