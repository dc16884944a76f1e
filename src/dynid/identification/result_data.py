"""What an identification found, as plain data for JSON, tables and reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynid import __version__
from dynid.estimation.estimate import Estimate
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.signs import LIKELY, SURE, Word
from dynid.identification.nonlinear_terms import FoundNonlinear
from dynid.identification.outcome import Identification
from dynid.identification.unsigned import SignedLogs
from dynid.model.base_parameters import BaseParameters
from dynid.robot import inertia
from dynid.robot.robot import Robot

SCHEMA = "dynid-result-2"
"""What a result says of itself."""


def identification_data(found: Identification, confidence: float = 0.95) -> dict[str, Any]:
    """What an identification found, as plain data for JSON."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "robot": found.base.model.robot.name,
        "kinematics": kinematics(found.base.model.robot),
        "parameters": _with_bootstrap(_parameters(found.base, found.estimate, confidence), found, confidence),
        "shapes": [_shape(found) for found in found.nonlinear],
        "shape_passes": found.passes,
        "essential": _parameters(found.base, found.essential, confidence),
        "essential_relative_error": found.essential.relative_error,
        "confidence": confidence,
        "condition_number": found.estimate.condition_number,
        "relative_error": found.estimate.relative_error,
        "estimator": "torque" if found.form is None else found.form.form.name,
        "form": None if found.form is None else found.form.to_dict(),
        "joints": [{"name": joint, **vars(fit)} for joint, fit in found.estimate.joints.items()],
        "physical": None if found.physical is None else _physical(found.physical),
        "signs": [] if found.signs is None else _signs(found.signs, found.base),
        "sign_recovery": None if found.signs is None else _sign_recovery(found.signs),
        "known": dict(found.base.known),
        "unidentifiable": list(found.base.no_effect),
        "logs": len(found.logs),
        "bootstrap": None
        if found.bootstrap is None
        else {
            "blocks": found.bootstrap.blocks,
            "seconds": found.bootstrap.seconds,
            "correlation_time": found.bootstrap.correlation_time,
        },
        "residuals": [one.to_dict() for one in found.diagnostics],
        "drive_signs": None if found.drive_signs is None else list(found.drive_signs),
        "processing": [
            {**processing.applied(), "sampling_rate": rate}
            for processing, rate in zip(found.processing, found.sampling, strict=True)
        ],
        "samples": found.samples,
        "seconds": found.seconds,
        "findings": [finding.to_dict() for finding in found.findings],
    }


def kinematics(robot: Robot) -> list[dict[str, Any]]:
    """Where a robot's joints stand and point: what a result holds for."""
    return [
        {
            "joint": joint.name,
            "parent": joint.parent,
            "placement": joint.placement.tolist(),
            "axis": joint.axis.tolist(),
        }
        for joint in robot.joints
    ]


def _parameters(base: BaseParameters, estimate: Estimate, confidence: float) -> list[dict[str, Any]]:
    lower, upper = estimate.interval(confidence)
    expressions = dict(zip(base.names, base.expressions, strict=True))
    units = dict(zip(base.names, base.units, strict=True))
    return [
        {
            "name": name,
            "expression": expressions[name],
            "unit": units[name],
            "value": float(estimate.values[k]),
            "std": float(estimate.stds[k]),
            "relative_std_percent": _finite(float(estimate.relative_stds[k])),
            "lower": float(lower[k]),
            "upper": float(upper[k]),
        }
        for k, name in enumerate(estimate.names)
    ]


def _shape(found: FoundNonlinear) -> dict[str, Any]:
    """A number that torques are not linear in; without a value where the logs do not tell it."""
    shape, told = found.shape, found.source != "undetermined"
    relative = None if found.std is None or not shape.value else 100.0 * found.std / abs(shape.value)
    lower, upper = found.interval or (None, None)
    return {
        "name": shape.name,
        "unit": shape.unit,
        "owner": shape.owner,
        "value": shape.value if told else None,
        "std": found.std,
        "relative_std_percent": relative,
        "lower": lower,
        "upper": upper,
        "bootstrap_std": found.bootstrap,
        "source": found.source,
        "used": shape.value,
    }


def _with_bootstrap(rows: list[dict[str, Any]], found: Identification, confidence: float) -> list[dict[str, Any]]:
    """Rows of parameters with deviations and intervals that do not assume white errors, where there are any."""
    bootstrap = found.bootstrap
    if bootstrap is None:
        return [{**row, "bootstrap_std": None, "bootstrap_lower": None, "bootstrap_upper": None} for row in rows]
    ends = bootstrap.interval(found.estimate.values, confidence)
    columns = zip(rows, bootstrap.stds.tolist(), *(end.tolist() for end in ends), strict=True)
    return [
        {**row, "bootstrap_std": std, "bootstrap_lower": lower, "bootstrap_upper": upper}
        for row, std, lower, upper in columns
    ]


def _physical(physical: PhysicalEstimate) -> dict[str, Any]:
    """Links that can exist: mass [kg], centre of mass [m] and inertia about it [kg m^2], in joint frames."""
    model = physical.base.model
    rows = [
        {
            "name": parameter.name,
            "value": float(value),
            "std": _finite(float(std)),
            "data_value": _finite(float(data_value)),
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
        mass, com, matrix = inertia.to_mass_com_inertia(physical.parameters[inertia.SIZE * k : inertia.SIZE * (k + 1)])
        links.append(
            {
                "name": model.robot.links[reference.link].name,
                "joint": model.robot.joints[reference.link].name,
                "mass": mass,
                "centre_of_mass": np.nan_to_num(com).tolist(),
                "inertia": matrix.tolist(),
                "principal_moments": np.linalg.eigvalsh(matrix).tolist(),
                "reference": reference.origin.value,
                "parameters": rows[inertia.SIZE * k : inertia.SIZE * (k + 1)],
            }
        )
    return {
        "relative_error": physical.relative_error,
        "prior": physical.prior.kind.value,
        "weight": physical.prior.weight,
        "total_mass": sum(link["mass"] for link in links),
        "links": links,
        "terms": rows[inertia.SIZE * len(links) :],
        "joints": [{"name": joint, **vars(fit)} for joint, fit in physical.joints.items()],
        "seconds": physical.seconds,
    }


def _signs(signs: SignedLogs, base: BaseParameters) -> list[dict[str, Any]]:
    """The sign of every segment, of what was logged; times are those of the log [s]."""
    return [
        {
            "log": segment.log + 1,
            "joint": base.model.row_names[segment.channel],
            "start": segment.start,
            "stop": segment.stop,
            "sign": segment.sign,
            "margin": segment.margin,
            "word": segment.word.value,
            "agrees": agrees,
        }
        for segment, agrees in zip(signs.recovered.segments, signs.agrees, strict=True)
    ]


def _sign_recovery(signs: SignedLogs) -> dict[str, Any]:
    """How surely signs were recovered: shares of words, and how clearly physics rejects the mirror."""
    recovered = signs.recovered
    return {
        **{word.value: recovered.share(word) for word in Word},
        "thresholds": {"sure": SURE, "likely": LIKELY},
        "mirror_margin": _finite(recovered.mirror.margin),
        "proven": recovered.proven,
        "near_zero": recovered.thresholds.tolist(),
        "seconds": recovered.seconds,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
