"""Base parameters: the identifiable linear combinations of the standard parameters.

No motion distinguishes columns of the observation matrix that are zero, or linear combinations of others. Keeping a
largest set of independent columns W1 and writing the others as W2 = W1 B gives `W p = W1 (p1 + B p2) = W1 b`: the base
parameters b are linear combinations of standard ones, and W1 has full rank.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.findings import Finding
from dynid.machine import single_threaded_blas
from dynid.model.dynamic_model import DynamicModel, split_known
from dynid.model.independent_columns import columns_in_order, largest_by_unit, norms_of, pivoted_columns
from dynid.model.parameters import matching
from dynid.model.plain_tables import html_table
from dynid.model.sampling import sampled_rows


@dataclass(frozen=True)
class RankThresholds:
    """Which columns of the observation matrix count as independent, and when their number is doubtful."""

    tolerance: float = 1e-10
    """A column is kept when its own part is larger than this, relative to the largest column of its unit: small enough
    that predictions with base parameters keep nine digits, far above the rounding of the arithmetic. Shown by
    `tests/model/test_base_parameters.py`: the number is that of the rank for random robots, large and small."""

    surely_kept: float = 1e-5
    """Own part below which a kept column is doubtful: no sensor sees it, it is rounding of numbers in the file.
    Calibrated on the robot files of `tests/robot/test_example_robots.py`, whose smallest kept column is 2.6e-5
    (Romeo)."""

    clear_gap: float = 1e3
    """Factor between the smallest kept and the largest dropped column below which the number is doubtful. Calibrated on
    the same files, whose smallest factor is 9e8."""


THRESHOLDS = RankThresholds()

_TEXT_TOLERANCE = 1e-6
"""Coefficients below this are left out of expressions as text; the data keep them."""


@dataclass(frozen=True)
class Gap:
    """How clearly the rank is decided.

    Attributes:
        kept: The smallest own part of a kept column, relative to the largest column of its unit; zero when none is.
        dropped: The largest own part of a dropped column; zero when none was dropped.
    """

    kept: float
    dropped: float

    @property
    def is_doubtful(self) -> bool:
        """Whether a kept column is too small to be seen, or hardly larger than a dropped one."""
        return 0.0 < self.kept < max(THRESHOLDS.surely_kept, THRESHOLDS.clear_gap * self.dropped)


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """The base parameters of a model, and the maps between them and the standard ones.

    `tau = W[:, columns] @ (regrouping @ p) + W[:, known_columns] @ known_values`.

    Attributes:
        model: The model that they belong to.
        columns: Indices of the kept columns, in the model's order, shape (base,).
        regrouping: Matrix K with b = K p, shape (base, parameters); zero for known and for ineffective parameters.
        no_effect: Names of the parameters that no torque depends on.
        known: Values of the parameters that were fixed beforehand.
        own_parts: Of every column, the part that is independent of the kept ones before it, relative to the largest
            column of its unit, shape (parameters,); zero for known ones.
        gap: How clearly the rank is decided.
        tolerance: Above which own part a column is kept.
    """

    model: DynamicModel
    columns: tuple[int, ...]
    regrouping: Array
    no_effect: tuple[str, ...]
    known: Mapping[str, float]
    own_parts: Array
    gap: Gap
    tolerance: float

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        standard = len(self.model.names)
        return f"BaseParameters({len(self)} of {standard} standard parameters, robot {self.model.robot.name!r})"

    def _repr_html_(self) -> str:
        caption = f"{len(self)} base parameters of {len(self.model.names)} standard parameters"
        rows = list(zip(self.names, self.expressions, self.units, self.owners, strict=True))
        return html_table(caption, ("name", "expression", "unit", "of"), rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: each is that of the standard parameter whose column is kept."""
        return tuple(self.model.names[k] for k in self.columns)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Units of the base parameters."""
        return tuple(self.model.parameters[k].unit for k in self.columns)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """Own names of their links and joints; numbers in parameter names count moving joints, also mimic ones."""
        return tuple(self.model.parameters[k].owner for k in self.columns)

    @cached_property
    def groups(self) -> tuple[dict[str, float], ...]:
        """The standard parameters in each base parameter with their coefficients; its own, 1, comes first."""
        groups = []
        for row, column in zip(self.regrouping, self.columns, strict=True):
            others = [k for k in np.flatnonzero(row) if k != column]
            groups.append({self.model.names[k]: float(row[k]) for k in (column, *others)})
        return tuple(groups)

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """The groups as text, such as `mx1 + 0.5*m2`."""
        return tuple(_as_text(group) for group in self.groups)

    @cached_property
    def only_in_groups(self) -> tuple[str, ...]:
        """Names of the parameters that have an effect, but only together with others."""
        counts = np.count_nonzero(self.regrouping, axis=1)
        alone = {name for name, count in zip(self.names, counts, strict=True) if count == 1}
        silent = alone | set(self.no_effect) | set(self.known)
        return tuple(name for name in self.model.names if name not in silent)

    @property
    def reference(self) -> Array:
        """Standard parameters that the robot file states, shape (parameters,); NaN where it states none."""
        return self.model.reference

    def regressor(self, q: object, v: object = None, a: object = None) -> Array:
        """The base observation matrix W1, shape (rows, samples, base); arguments as `DynamicModel.regressor`."""
        return self.model.regressor(q, v, a)[..., list(self.columns)]

    def known_torques(self, q: object, v: object = None, a: object = None) -> Array:
        """Torques [N m or N] of the known parameters, shape (rows, samples): subtract them from measured ones."""
        W = self.model.regressor(q, v, a)
        columns = [self.model.names.index(name) for name in self.known]
        return W[..., columns] @ np.array(list(self.known.values()), dtype=float)

    def to_base(self, parameters: Array) -> Array:
        """Base parameters b of standard ones p; (parameters,) to (base,). NaN only where one of the group is."""
        p = self._checked("parameters", parameters, len(self.model.names))
        return np.where(self.regrouping == 0.0, 0.0, self.regrouping * p).sum(axis=1)

    def to_standard(self, base: Array, near: Array | None = None) -> Array:
        """Standard parameters p that have the base parameters b.

        There are many: this is the one with the smallest change from `near`. It need not be physical.

        Args:
            base: Base parameters b, shape (base,).
            near: Standard parameters to stay near, shape (parameters,); when None, each base parameter is put on the
                standard parameter that it is named after, and the rest are zero.

        Returns:
            Array of shape (parameters,); known parameters have their known values.
        """
        b = self._checked("base parameters", base, len(self))
        if near is None:
            p = np.zeros(len(self.model.names))
            p[list(self.columns)] = b
        else:
            p = self._checked("parameters to stay near", near, len(self.model.names)).copy()
            p += np.linalg.lstsq(self.regrouping, b - self.regrouping @ p, rcond=None)[0]
        for name, value in self.known.items():
            p[self.model.names.index(name)] = value
        return p

    def findings(self) -> tuple[Finding, ...]:
        """A finding where the number of base parameters is doubtful."""
        if not self.gap.is_doubtful:
            return ()
        weak = [
            k
            for k in self.columns
            if self.own_parts[k] < max(THRESHOLDS.surely_kept, THRESHOLDS.clear_gap * self.gap.dropped)
        ]
        finding = Finding.of(
            "rank-doubtful",
            "base parameters",
            kept=self.gap.kept,
            dropped=self.gap.dropped,
            parameters=[self.model.names[k] for k in weak],
            tolerance=THRESHOLDS.surely_kept,
            count=len(self) - len(weak),
        )
        return (finding,)

    @staticmethod
    def _checked(what: str, values: Array, size: int) -> Array:
        array = np.asarray(values, dtype=float)
        if array.shape != (size,):
            raise ShapeError(what, f"({size},)", array.shape)
        return array


def find_base_parameters(
    model: DynamicModel,
    *,
    known: Mapping[str, float | None] | Iterable[str] = (),
    selection: Literal["natural", "pivoted"] = "natural",
    order: Sequence[str] = (),
    tolerance: float = THRESHOLDS.tolerance,
    rng: np.random.Generator | None = None,
) -> BaseParameters:
    """Find the base parameters of a model from random states that it can be in.

    Args:
        model: The model.
        known: Parameters (or patterns such as "I*1") that are fixed before the reduction, with their values; the robot
            file's where a value is None or only names are given.
        selection: Which columns are kept when several could be: "natural" the first ones in the model's order, which
            gives readable expressions; "pivoted" each time the one with the largest own part, as QR with pivoting.
        order: Names of parameters whose columns are tried first, in this order, before the natural one.
        tolerance: A column is kept when its own part, relative to the largest column of its unit, is above this.
        rng: The random generator; a fixed one when None, so that results repeat.

    Raises:
        UnknownNameError: If a known or ordered parameter does not exist.
        InvalidRequestError: If a known parameter has no value or two, an order is given for the pivoted selection, or
            the tolerance is not between 0 and 1.

    >>> from dynid import load_robot
    >>> base = find_base_parameters(DynamicModel(load_robot("builtin:two_link")))
    >>> base.expressions[0], base.expressions[2]
    ('mx1 + 0.5*m2', 'Iyy1 + 0.3125*m2')
    """
    if not 0.0 < tolerance < 1.0:
        raise InvalidRequestError(f"the tolerance must lie between 0 and 1, such as 1e-10, not {tolerance}")
    # The sampled rows of W, then the regrouping with what it is made of.
    width = len(model.names)
    needed = 8 * ((width // model.row_count + 4) * model.entry_count + 2 * width**2)
    model.require_memory("finding the base parameters of", needed)
    values = _known_values(model, known)
    sequence = _sequence(model, values, order, selection)
    with single_threaded_blas():
        rows = sampled_rows(model.typical, rng or np.random.default_rng(0))
        norms = norms_of(rows, len(model.names))
        scale = largest_by_unit(model.parameters, norms)
        for acting, matrix in rows:
            matrix /= scale[acting]
        choose = pivoted_columns if selection == "pivoted" else columns_in_order
        found = choose(rows, sequence, tolerance)
        no_effect = [k for k in sequence if norms[k] <= tolerance * scale[k]]
        del rows  # what follows is as large
        columns, K = found.regrouping(scale, no_effect)
    own_parts = np.zeros(len(model.names))
    own_parts[sequence] = found.own_parts
    return BaseParameters(
        model=model,
        columns=tuple(columns),
        regrouping=_rounded(K),
        no_effect=tuple(model.names[k] for k in sorted(no_effect)),
        known=values,
        own_parts=frozen(own_parts),
        gap=Gap(kept=float(min(own_parts[k] for k in columns)) if columns else 0.0,
                dropped=float(max(own_parts[found.others], default=0.0))),
        tolerance=tolerance,
    )  # fmt: skip


def known_base(model: DynamicModel, known: Mapping[str, float]) -> BaseParameters:
    """The base parameters of a model of which some parameters are known, by name or pattern, to work with its rows.

    Raises:
        TooLargeError: If the robot is too large for that.
    """
    model.require_rows()
    return find_base_parameters(model, known=split_known(model, known)[1])


def _known_values(model: DynamicModel, known: Mapping[str, float | None] | Iterable[str]) -> dict[str, float]:
    """Values of known parameters; an exact name counts more than a pattern."""
    wanted = dict(known) if isinstance(known, Mapping) else dict.fromkeys(known)
    values: dict[str, float] = {}
    for pattern, value in sorted(wanted.items(), key=lambda item: item[0] in model.names):
        for name in matching([pattern], model.names):
            reference = model.parameters[model.names.index(name)].reference
            if value is None and reference is None:
                raise InvalidRequestError(
                    f"the robot's file has no value for the known parameter '{name}'; write {name}=VALUE"
                )
            values[name] = float(reference if value is None else value)  # type: ignore[arg-type]
    return values


def _sequence(model: DynamicModel, known: Mapping[str, float], order: Sequence[str], selection: str) -> list[int]:
    """Indices of the columns that may be kept, in the order in which they are tried."""
    if selection not in ("natural", "pivoted"):
        raise UnknownNameError("selection", selection, ["natural", "pivoted"])
    if order and selection == "pivoted":
        raise InvalidRequestError("the pivoted selection chooses its own order; leave the order out")
    first = dict.fromkeys(model.names.index(name) for name in matching(order, model.names))
    return [k for k in (*first, *(k for k in range(len(model.names)) if k not in first)) if model.names[k] not in known]


def _rounded(values: Array) -> Array:
    """The values, in place, with the digits that the arithmetic gives, so that one half reads 0.5; then frozen."""
    for row in values:
        places = np.flatnonzero(row)
        size = np.abs(row[places])
        # Powers of ten up to the 22nd are exact, so that the quotient is the number nearest to the decimal one.
        usual = (size > 1e-9) & (size < 1e12)
        power = 10.0 ** (12 - np.floor(np.log10(size)))
        with np.errstate(over="ignore"):
            rounded = np.round(row[places] * power) / power
        rare = np.flatnonzero(~usual)
        rounded[rare] = [float(f"{value:.13g}") for value in row[places[rare]]]
        row[places] = rounded
    values.flags.writeable = False
    return values


def _as_text(group: Mapping[str, float]) -> str:
    text = ""
    for name, coefficient in group.items():
        if abs(coefficient) < _TEXT_TOLERANCE:
            continue
        size = f"{float(f'{abs(coefficient):.10g}'):.6g}"  # 0.00041006250 reads the same, whatever its last digits
        factor = "" if size == "1" else f"{size}*"
        sign = (" - " if coefficient < 0 else " + ") if text else ("-" if coefficient < 0 else "")
        text += f"{sign}{factor}{name}"
    return text
