"""TIAGo's log in two parts: identified on the first, predicted on the second, beside its URDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.estimation.factors.factors import Factors
from dynid.identification.held_out_logs import unseen_logs
from dynid.identification.pipeline import identify
from dynid.identification.predictions import Prediction, predict
from dynid.identification.result import Result
from dynid.model.parameters import Role
from tests.datasets import example

FITTED = (Role.VISCOUS, Role.COULOMB, Role.OFFSET)
"""What is fitted beside the inertias of the URDF."""


@dataclass(frozen=True)
class HeldOut:
    """Predictions of the second part.

    Attributes:
        result: What was identified on the first part.
        ours: Prediction by its physically consistent links.
        of_file: Prediction by the inertias of the URDF, with friction and offsets that fit the first part best.
    """

    result: Result
    ours: Prediction
    of_file: Prediction


def tiago_held_out(split: float, folder: Path) -> HeldOut:
    """Predictions after `split` [s] by identified links and by the URDF's, both fitted before it."""
    text = example("tiago").read_text()
    parts = [folder / f"{last:g}.toml" for last in (split, 80.0)]
    for path, (first, last) in zip(parts, ((0.0, split), (split, 80.0)), strict=True):
        path.write_text(text.replace('columns = "t" }\n', f'columns = "t" }}\nseconds = [{first}, {last}]\n'))
    result = identify(parts[0])
    model, base = result.model, result.base
    held = [(one.prepared.segments, one.prepared.processing) for one in unseen_logs(result, parts[1:])]
    file = dict(zip(model.names, np.nan_to_num(model.reference).tolist(), strict=True))
    file |= _fitted(result.torques[0], {p.name: file[p.name] for p in model.parameters if p.role not in FITTED})
    ours, of_file = (
        predict(base, base.to_base(p), held)
        for p in (result.standard_parameters(physical=True), np.array([file[name] for name in model.names]))
    )
    return HeldOut(result, ours, of_file)


def _fitted(factors: Factors, known: dict[str, float]) -> dict[str, float]:
    """Parameters that fit best beside known ones, joint by joint."""
    fitted: dict[str, float] = {}
    for factor in factors.joints.values():
        if factor.rows:
            rest = factor.without({name: known[name] for name in factor.names if name in known})
            fitted |= dict(zip(rest.names, rest.solve().tolist(), strict=True))
    return fitted
