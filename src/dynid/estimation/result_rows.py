"""Estimates as plain rows, for records, files and tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynid.arrays import finite_or_none
from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.held_out_blocks import HeldOutBlocks
from dynid.estimation.least_squares import Estimate
from dynid.estimation.nonlinear.nonlinear_fit import FoundNonlinear
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.residuals import JointDiagnostics
from dynid.estimation.signs import SIGN_THRESHOLDS, Word
from dynid.estimation.signs.unsigned_logs import SignedLogs
from dynid.estimation.solution import Solution
from dynid.model import BaseParameters
from dynid.robot import inertia


def estimate_record(
    base: BaseParameters,
    solution: Solution,
    physical: PhysicalEstimate | None,
    residuals: Sequence[JointDiagnostics],
    signs: SignedLogs | None,
    confidence: float,
    held_out: HeldOutBlocks | None = None,
) -> dict[str, Any]:
    """Everything that was estimated, as plain data for a record.

    Args:
        base: The base parameters.
        solution: Their estimate.
        physical: Physically consistent links and joints, where they were fitted.
        residuals: Residual analysis.
        signs: The signs of torques that were logged without.
        confidence: Of the intervals.
        held_out: Errors on blocks of time that fits have not seen.
    """
    estimate, essential, form, bootstrap = solution.estimate, solution.essential, solution.form, solution.bootstrap
    return {
        "parameters": parameter_rows(base, estimate, confidence, bootstrap),
        "shapes": [nonlinear_row(found) for found in solution.nonlinear],
        "essential": parameter_rows(base, essential, confidence),
        "essential_relative_error": essential.relative_error,
        "confidence": confidence,
        "condition_number": estimate.condition_number,
        "relative_error": estimate.relative_error,
        "weighted_relative_error": solution.weighted_relative_error,
        "held_out_blocks": None if held_out is None else held_out.to_dict(),
        "estimator": "torque" if form is None else form.form.name,
        "form": None if form is None else form.to_dict(),
        "joints": fit_rows(estimate),
        "physical": None if physical is None else physical_rows(physical),
        "signs": [] if signs is None else sign_rows(signs, base.model.row_names),
        "sign_recovery": None if signs is None else recovery_row(signs),
        "known": dict(base.known),
        "unidentifiable": list(base.no_effect),
        "logs": len(solution.torques),
        "bootstrap": None
        if bootstrap is None
        else {key: getattr(bootstrap, key) for key in ("blocks", "seconds", "correlation_time")},
        "residuals": [one.to_dict() for one in residuals],
    }


def parameter_rows(
    base: BaseParameters, estimate: Estimate, confidence: float, bootstrap: Bootstrap | None = None
) -> list[dict[str, Any]]:
    """Base parameters with their uncertainties.

    Args:
        base: The base parameters.
        estimate: Their estimate, or that of some of them.
        confidence: Of the intervals.
        bootstrap: Standard deviations that do not assume white errors, of the same parameters.
    """
    lower, upper = estimate.interval(confidence)
    expressions = dict(zip(base.names, base.expressions, strict=True))
    units = dict(zip(base.names, base.units, strict=True))
    owners = dict(zip(base.names, base.owners, strict=True))
    ends = (None, None) if bootstrap is None else bootstrap.interval(estimate.values, confidence)
    return [
        {
            "name": name,
            "expression": expressions[name],
            "unit": units[name],
            "owner": owners[name],
            "value": float(estimate.values[k]),
            "std": float(estimate.stds[k]),
            "relative_std_percent": finite_or_none(float(estimate.relative_stds[k])),
            "lower": float(lower[k]),
            "upper": float(upper[k]),
            "bootstrap_std": None if bootstrap is None else float(bootstrap.stds[k]),
            "bootstrap_lower": None if ends[0] is None else float(ends[0][k]),
            "bootstrap_upper": None if ends[1] is None else float(ends[1][k]),
        }
        for k, name in enumerate(estimate.names)
    ]


def fit_rows(estimate: Estimate | PhysicalEstimate) -> list[dict[str, Any]]:
    """Fit of each joint."""
    return [{"name": joint, **vars(fit)} for joint, fit in estimate.joints.items()]


def nonlinear_row(found: FoundNonlinear) -> dict[str, Any]:
    """A nonlinear parameter; without a value where the logs do not determine it."""
    parameter, determined = found.parameter, found.source != "undetermined"
    relative = None if found.std is None or not parameter.value else 100.0 * found.std / abs(parameter.value)
    lower, upper = found.interval or (None, None)
    return {
        "name": parameter.name,
        "unit": parameter.unit,
        "owner": parameter.owner,
        "value": parameter.value if determined else None,
        "std": found.std,
        "relative_std_percent": relative,
        "lower": lower,
        "upper": upper,
        "bootstrap_std": found.bootstrap,
        "source": found.source,
        "used": parameter.value,
    }


def physical_rows(physical: PhysicalEstimate) -> dict[str, Any]:
    """Physically consistent links: mass [kg], centre of mass [m] and inertia about it [kg m^2], in joint frames."""
    model = physical.base.model
    rows = [
        {
            "name": parameter.name,
            "value": float(value),
            "std": finite_or_none(float(std)),
            "data_value": finite_or_none(float(data_value)),
            "source": physical.source(parameter.name).value,
            "unit": parameter.unit,
            "owner": parameter.owner,
        }
        for parameter, value, data_value, std in zip(
            model.parameters, physical.parameters, physical.data_values, physical.stds, strict=True
        )
    ]
    links = []
    for k, reference in enumerate(physical.references):
        own = slice(inertia.SIZE * k, inertia.SIZE * (k + 1))
        mass, com, matrix = inertia.to_mass_com_inertia(physical.parameters[own])
        links.append(
            {
                "name": model.robot.links[reference.link].name,
                "joint": model.robot.joints[reference.link].name,
                "mass": mass,
                "centre_of_mass": np.nan_to_num(com).tolist(),
                "inertia": matrix.tolist(),
                "principal_moments": np.linalg.eigvalsh(matrix).tolist(),
                "reference": reference.origin.value,
                "parameters": rows[own],
            }
        )
    return {
        "relative_error": physical.relative_error,
        "prior": physical.prior.kind.value,
        "weight": physical.prior.weight,
        "total_mass": sum(link["mass"] for link in links),
        "links": links,
        "terms": rows[inertia.SIZE * len(links) :],
        "joints": fit_rows(physical),
        "seconds": physical.seconds,
    }


def sign_rows(signs: SignedLogs, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The sign of every segment of what was logged; times are those of the log [s]."""
    return [
        {
            "log": segment.log + 1,
            "joint": names[segment.channel],
            "start": segment.start,
            "stop": segment.stop,
            "sign": segment.sign,
            "margin": segment.margin,
            "word": segment.word.value,
            "agrees": agrees,
        }
        for segment, agrees in zip(signs.recovered.segments, signs.agrees, strict=True)
    ]


def recovery_row(signs: SignedLogs) -> dict[str, Any]:
    """How surely signs were recovered: shares of words, and how clearly physics rejects the mirror image."""
    recovered = signs.recovered
    return {
        **{word.value: recovered.share(word) for word in Word},
        "thresholds": {"sure": SIGN_THRESHOLDS.sure_margin, "likely": SIGN_THRESHOLDS.likely_margin},
        "mirror_margin": finite_or_none(recovered.mirror.margin),
        "proven": recovered.proven,
        "near_zero": recovered.thresholds.tolist(),
        "seconds": recovered.seconds,
    }


def sign_curves(signs: SignedLogs) -> dict[str, np.ndarray]:
    """Arrays for figures of signs: `time_K magnitude_K torque_K predicted_K log_K` of pieces K = 1, 2, ..."""
    arrays: dict[str, np.ndarray] = {}
    for k, curves in enumerate(signs.recovered.curves, start=1):
        arrays |= {f"time_{k}": curves.time, f"magnitude_{k}": curves.magnitudes, f"torque_{k}": curves.torques}
        arrays |= {f"predicted_{k}": curves.predicted, f"log_{k}": np.array(curves.log + 1)}
    return arrays
