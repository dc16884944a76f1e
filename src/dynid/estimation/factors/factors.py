"""Triangular factors: all that linear least squares needs of a log.

For rows `[W | y]` of any number, `|W x - y|^2 = |R x - z|^2 + squares` for every x, with R as small as the parameters.
Factors add up: those of two logs, stacked and made triangular again, are the factor of both.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import FileProblemError, InvalidRequestError, UnknownNameError
from dynid.files import read_arrays, write_bytes

LARGEST_ENTRY = 1e60
"""Entries of factors beyond this come from no log, and their squares and fourth powers overflow."""

SCHEMA = "dynid-factors-1"
"""What a file of factors says of itself."""


class FactorsFileError(FileProblemError):
    """A file holds no factors that can be read."""


@dataclass(frozen=True, eq=False)
class Factor:
    """Triangular factor of rows `[W | y]`.

    Attributes:
        names: Parameters, one a column of W.
        R: Upper trapezoidal, shape (k, parameters) with k <= parameters.
        z: Right-hand side, shape (k,).
        squares: Sum of squares of y that no parameters can explain [(N m)^2 or N^2].
        rows: Number of rows that it stands for.
    """

    names: tuple[str, ...]
    R: Array
    z: Array
    squares: float
    rows: int

    @staticmethod
    def of(names: Sequence[str], W: Array, y: Array) -> Factor:
        """The factor of rows in memory: W of shape (rows, parameters), y of shape (rows,)."""
        return _triangular(tuple(names), np.column_stack([W, y]), 0.0, len(y))

    def select(self, names: Sequence[str]) -> Factor:
        """The factor of some of the columns, in this order; the other parameters are taken as zero."""
        position = {name: k for k, name in enumerate(self.names)}
        unknown = next((name for name in names if name not in position), None)
        if unknown is not None:
            raise UnknownNameError("parameter", unknown, self.names)
        R = self.R[:, [position[name] for name in names]]
        return _triangular(tuple(names), np.column_stack([R, self.z]), self.squares, self.rows)

    def combined(self, names: Sequence[str], C: Array) -> Factor:
        """The factor of other parameters x, where its own are C x, shape (parameters, names)."""
        return _triangular(tuple(names), np.column_stack([self.R @ C, self.z]), self.squares, self.rows)

    def without(self, known: Mapping[str, float]) -> Factor:
        """The factor of the other parameters once some are known: their part is taken off y."""
        rest = [name for name in self.names if name not in known]
        own = [name for name in self.names if name in known]
        values = np.array([known[name] for name in own], dtype=float)
        columns = [self.names.index(name) for name in own]
        return replace(self, z=self.z - self.R[:, columns] @ values).select(rest)

    def weighted(self, weight: float) -> Factor:
        """The factor of all rows multiplied with a weight."""
        if not (math.isfinite(weight) and weight >= 0.0):
            raise InvalidRequestError(f"a weight must be a finite number that is not negative, not {weight}")
        return replace(self, R=weight * self.R, z=weight * self.z, squares=weight**2 * self.squares)

    def with_prior(self, mean: Mapping[str, float], std: Mapping[str, float]) -> Factor:
        """The factor with a row `(x - mean) / std` more for each parameter that has a standard deviation."""
        own = [name for name in self.names if name in std]
        values = np.array([[std[name], mean.get(name, 0.0)] for name in own], dtype=float).reshape(-1, 2)
        if not (np.isfinite(values).all() and (values[:, 0] > 0).all()):
            raise InvalidRequestError("a prior needs finite means and positive standard deviations")
        W = np.zeros((len(own), len(self.names)))
        W[range(len(own)), [self.names.index(name) for name in own]] = 1.0 / values[:, 0]
        return merged([self, Factor.of(self.names, W, values[:, 1] / values[:, 0])], self.names)

    def residual_squares(self, x: Array) -> float:
        """Sum of squared errors `|W x - y|^2` of parameters x, shape (parameters,)."""
        return float(np.sum((self.R @ x - self.z) ** 2) + self.squares)

    def solve(self) -> Array:
        """Least-squares parameters x, shape (parameters,); those of smallest norm where several are best."""
        return np.asarray(np.linalg.lstsq(self.R, self.z, rcond=None)[0], dtype=float)


def _triangular(names: tuple[str, ...], rows: Array, squares: float, count: int) -> Factor:
    """Make rows `[W | y]` a factor."""
    n = len(names)
    if len(rows) > n or np.tril(rows[:, :n], -1).any():
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    rest = float(np.sum(rows[n:, n] ** 2))
    return Factor(names, frozen(rows[:n, :n]), frozen(rows[:n, n]), squares + rest, count)


def merged(factors: Iterable[Factor], names: Sequence[str] | None = None) -> Factor:
    """The factor of the rows of several.

    Args:
        factors: The factors; a parameter that one does not have has no effect on its rows.
        names: Parameters of the result; all that occur, in the order of their occurrence, when None.
    """
    factors = list(factors)
    if names is None:
        names = list(dict.fromkeys(name for factor in factors for name in factor.names))
    position = {name: k for k, name in enumerate(names)}
    blocks = []
    for factor in factors:
        block = np.zeros((len(factor.z), len(names) + 1))
        for k, name in enumerate(factor.names):
            if name not in position:
                raise UnknownNameError("parameter", name, names, " to merge")
            block[:, position[name]] = factor.R[:, k]
        block[:, -1] = factor.z
        blocks.append(block)
    squares = math.fsum(factor.squares for factor in factors)
    count = sum(factor.rows for factor in factors)
    return _triangular(tuple(names), np.concatenate([np.zeros((0, len(names) + 1)), *blocks]), squares, count)


@dataclass(frozen=True, eq=False)
class Factors:
    """One factor for each row of the dynamics, so that rows can be weighed against each other later.

    Attributes:
        names: All standard parameters of the model.
        joints: Factor of each observed row, by the name of its joint (`JOINT[k]` for joints of several degrees of
            freedom). It has those parameters that act on the row.
        form: What the rows are: torques of joints, or the power, energy or momentum that they make.
    """

    names: tuple[str, ...]
    joints: Mapping[str, Factor]
    form: str = "torque"

    @property
    def rows(self) -> int:
        """Number of rows in all."""
        return sum(factor.rows for factor in self.joints.values())

    def merged(self, *others: Factors) -> Factors:
        """The factors of several logs of one model."""
        for other in others:
            if other.form != self.form:
                raise InvalidRequestError(
                    f"factors of rows of {self.form} and of {other.form} cannot be merged; identify all logs with one "
                    "estimator"
                )
            if other.names != self.names or list(other.joints) != list(self.joints):
                raise InvalidRequestError("factors of different models cannot be merged: joints or parameters differ")
        return replace(
            self,
            joints={
                joint: merged([factor, *(other.joints[joint] for other in others)])
                for joint, factor in self.joints.items()
            },
        )

    def restricted(self, names: tuple[str, ...]) -> Factors:
        """The factors of some of the parameters; the others are taken as zero."""
        if self.names == names:
            return self
        own = set(names)
        joints = {joint: factor.select([n for n in factor.names if n in own]) for joint, factor in self.joints.items()}
        return replace(self, names=names, joints=joints)

    def weighted(self, weights: Mapping[str, float] | float) -> Factors:
        """All rows of each joint multiplied with a weight: one for all joints, or one each."""
        if not isinstance(weights, Mapping):
            weights = dict.fromkeys(self.joints, weights)
        unknown = next((joint for joint in weights if joint not in self.joints), None)
        if unknown is not None:
            raise UnknownNameError("joint", unknown, self.joints)
        joints = {joint: factor.weighted(weights.get(joint, 1.0)) for joint, factor in self.joints.items()}
        return replace(self, joints=joints)

    def stacked(self, names: Sequence[str] | None = None, known: Mapping[str, float] | None = None) -> Factor:
        """One factor of all rows.

        Args:
            names: Parameters to keep, such as those of the base parameters; all when None.
            known: Values of parameters whose part is taken off first.
        """
        whole = merged(self.joints.values(), self.names)
        if known:
            whole = whole.without(known)
        return whole if names is None else whole.select(names)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the factors to a file (NPZ, no pickle).

        Raises:
            OutputExistsError: If the file exists and may not be replaced.
        """
        head = {
            "schema": SCHEMA,
            "names": self.names,
            "form": self.form,
            "joints": [
                {"joint": joint, "names": factor.names, "squares": factor.squares.hex(), "rows": factor.rows}
                for joint, factor in self.joints.items()
            ],
        }
        arrays: dict[str, Any] = {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)}
        for k, factor in enumerate(self.joints.values()):
            arrays[f"R{k}"], arrays[f"z{k}"] = factor.R, factor.z
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        write_bytes(Path(path), stream.getvalue(), overwrite=overwrite)

    @staticmethod
    def load(path: str | Path) -> Factors:
        """Read factors from a file.

        Raises:
            FactorsFileError: If the file is missing or holds something else.
        """
        path = Path(path)
        try:
            arrays = read_arrays(path)
            head = json.loads(arrays["head"].tobytes())
            if head["schema"] != SCHEMA:
                raise FactorsFileError(path, f"it says '{head['schema']}' instead of '{SCHEMA}'")
            joints = {
                str(entry["joint"]): _loaded(entry, arrays[f"R{k}"], arrays[f"z{k}"])
                for k, entry in enumerate(head["joints"])
            }
            return Factors(_distinct(head["names"]), joints, str(head.get("form", "torque")))
        except OSError as error:
            raise FactorsFileError(path, f"cannot be read ({error.strerror or error})") from error
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
            raise FactorsFileError(path, "holds no factors; expected a file that dynid saved") from error


def _loaded(entry: Mapping[str, Any], R: Array, z: Array) -> Factor:
    """A factor from a file.

    Raises:
        ValueError: If its parts do not fit together, or are no finite numbers.
    """
    names, squares, rows = _distinct(entry["names"]), float.fromhex(entry["squares"]), int(entry["rows"])
    fits = R.dtype == z.dtype == float and R.ndim == 2 and R.shape == (len(z), len(names)) and z.ndim == 1
    if not fits or len(z) > len(names) or not all((np.abs(part) <= LARGEST_ENTRY).all() for part in (R, z)):
        raise ValueError("no triangular factor")
    if not (0.0 <= squares <= LARGEST_ENTRY**2 and 0 <= rows < 2**53):
        raise ValueError("no sum of squares, or no number of rows")
    return Factor(names, frozen(R), frozen(z), squares, rows)


def _distinct(names: Any) -> tuple[str, ...]:
    """Names from a file.

    Raises:
        ValueError: If they are no list of distinct texts.
    """
    if not isinstance(names, list) or len({name for name in names if isinstance(name, str)}) < len(names):
        raise ValueError("no distinct names")
    return tuple(names)
