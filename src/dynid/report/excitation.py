"""How well a motion excites what is to be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.estimation.least_squares import merge_logs
from dynid.identification.result import Result


@dataclass(frozen=True, eq=False)
class Excitation:
    """How well logs excite the base parameters.

    Attributes:
        condition_number: Of the observation matrix.
        singular_values: Of the observation matrix a row, largest first.
        names: The parameters.
        relative_stds: Of each, in percent of its value; never above 1000.
        weakest: The combination that is seen least: names with their shares, largest first.
    """

    condition_number: float
    singular_values: tuple[float, ...]
    names: tuple[str, ...]
    relative_stds: tuple[float, ...]
    weakest: tuple[tuple[str, float], ...]


def excitation_of(result: Result) -> Excitation:
    """Look at the factors of a result's logs."""
    base = result.base
    factor = merge_logs(result.logs).stacked(base.names, known=base.known)
    _, values, directions = np.linalg.svd(factor.R)
    weakest = directions[-1]
    order = [k for k in np.argsort(-np.abs(weakest)) if abs(weakest[k]) > 0.1][:6]
    stds = [row["relative_std_percent"] for row in result.data["parameters"]]
    return Excitation(
        condition_number=result.data["condition_number"],
        singular_values=tuple((values / np.sqrt(max(factor.rows, 1))).tolist()),
        names=tuple(row["name"] for row in result.data["parameters"]),
        relative_stds=tuple(1000.0 if x is None else min(x, 1000.0) for x in stds),
        weakest=tuple((base.names[k], float(weakest[k])) for k in order),
    )
