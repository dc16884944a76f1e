"""Maximum likelihood of logs whose motion repeats: from what was logged to rows that all later steps take.

Raw positions and torques are taken, without filters: averaging over periods, and the harmonics of the motion, do what
filters do otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.equivalent_rows import whitened_factors
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.periodic_likelihood import PeriodicLog, maximum_likelihood
from dynid.findings import has
from dynid.identification.estimators.rows_from_loops import LoopRows
from dynid.logs import Drive, Log, PreparedLog, StoredLog, transmission_of
from dynid.logs.drive import Transmission
from dynid.logs.processing.automatic import LogScales, without_outliers
from dynid.logs.processing.repeated_motion import RepeatedMotion, repeated_motion, waves
from dynid.logs.timing import check_time
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, DynamicModel, dry_directions
from dynid.robot import SIZE, Load

SURE_SIGN = 5.0
"""Standard deviations of its own error that a velocity must have for the sign of dry friction to be sure."""

SLOW_SHARE = 0.1
"""Part of its top speed below which torques of a joint with dry friction do not count. Accelerations jump where such a
joint turns, and few harmonics smear that. Compared with 0.01 to 0.2 on simulated closed loops of spatial_3r and
two_link (five seeds): at 0.1 errors are about as large as their standard deviations; at 0.02, up to three times."""


def by_periods(
    nonlinear: NonlinearFit,
    logs: Sequence[PreparedLog],
    logged: Sequence[Log | StoredLog],
    drive: Drive,
    period: float | None = None,
    most: int = 10,
    progress: Callable[[str], None] = lambda _: None,
) -> LoopRows:
    """Maximum likelihood with noise in positions and torques, of logs whose motion repeats.

    Args:
        nonlinear: The model's base parameters, all linear.
        logs: The logs, ready for the model: they say what does not count.
        logged: The same as they were read.
        drive: The drives between what was logged and the joints.
        period: Time after which the motion repeats [s]; found from each log when None.
        most: Iterations at most.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If a motion does not repeat, a log is too long, or the model does not allow it.
        NotIdentifiableError: If the motions do not determine all parameters.
    """
    base = nonlinear.base
    require_plain_model(base.model)
    transmission = replace(transmission_of(drive, base.model.robot), dry=dry_directions(base.model))
    with single_threaded_blas():
        taken = []
        for k, (ready, log) in enumerate(zip(logs, logged, strict=True), 1):
            progress(f"Maximum likelihood: periods of log {k}")
            taken.append(periodic_log(base, ready, log, transmission, period))
        found = maximum_likelihood(base, taken, most, progress)
    rows = [whitened_factors(base, found.R, found.z, found.rows)]
    near = np.nan_to_num(base.model.reference)
    return LoopRows(rows, found.iterations, found.settled, base.to_standard(found.values, near=near))


def require_plain_model(model: DynamicModel) -> None:
    """Refuse models that maximum likelihood of periods does not go with.

    Raises:
        InvalidRequestError: If a joint has several degrees of freedom, or a term needs temperatures or the links.
    """
    joint = next((joint for joint in model.robot.joints if joint.kind.nv != 1), None)
    if joint is not None:
        raise InvalidRequestError(
            f"joint '{joint.name}' of '{model.robot.name}' is {joint.kind.value}, and estimator = 'ml' takes joints of "
            "one degree of freedom only; lock it, or use estimator = 'torque'"
        )
    term = next((type(term).__name__ for term in model.terms if term.needs_temperature or term.needs_links), None)
    if term is not None:
        raise InvalidRequestError(
            f"estimator = 'ml' does not go with the term {term}, which depends on more than the motion; leave it out, "
            "or use estimator = 'torque'"
        )


def periodic_log(
    base: BaseParameters, ready: PreparedLog, log: Log | StoredLog, transmission: Transmission, period: float | None
) -> PeriodicLog:
    """The mean period of a log, and what counts of it.

    Args:
        base: The base parameters.
        ready: The log, ready for the model.
        log: The log as it was read.
        transmission: The drives between what was logged and the joints.
        period: Time after which the motion repeats [s]; found when None.

    Raises:
        InvalidRequestError: If the motion does not repeat, or the log is too long to be held in memory.
    """
    if isinstance(log, StoredLog):
        raise InvalidRequestError(
            "the log is too long for estimator = 'ml'; cut it by rows or seconds to some periods, or use estimator = "
            "'torque'"
        )
    if has(ready.findings, "processing-outliers"):
        log, _ = without_outliers(log, LogScales.of(log, is_even=check_time(log.time).is_even))
    motion = repeated_motion(log, transmission, period)
    counted = counted_torques(base.model, motion, ready, transmission)
    return PeriodicLog(motion, counted, fixed_parameters(base, log.load), ready.delay, ready.weight)


def counted_torques(
    model: DynamicModel, motion: RepeatedMotion, ready: PreparedLog, transmission: Transmission
) -> NDArray[np.bool_]:
    """Which mean torques count: of joints that were measured, and that are clear of the turns of dry friction.

    Thresholds of velocity that were stated or chosen are raised where they are lower than that needs.

    Args:
        model: The model.
        motion: The motion that repeats.
        ready: The log, ready for the model, with thresholds of velocity where these were stated or chosen.
        transmission: The drives, with what has dry friction beside the joints.

    Returns:
        Array of shape (n, nv).
    """
    root = np.sqrt(motion.position_count)[:, None]
    F = root * waves(motion.time, motion.period, motion.harmonics)
    c = np.linalg.lstsq(F, root * motion.position, rcond=None)[0]
    v = waves(motion.time - ready.delay, motion.period, motion.harmonics, 1) @ c
    threshold = np.zeros(v.shape[1]) + np.asarray(ready.processing.thresholds or (0.0,))
    if any(parameter.role.is_dry for parameter in model.parameters):
        rates = 2.0 * np.pi / motion.period * np.arange(1, motion.harmonics + 1)
        error = motion.position_noise * np.sqrt(2.0 * np.sum(rates**2) / motion.position_count.sum())
        threshold = np.maximum(threshold, np.maximum(SURE_SIGN * error, SLOW_SHARE * np.abs(v).max(axis=0)))
    measured = [name not in ready.processing.unmeasured for name in model.row_names]
    return transmission.moving(v, threshold) & measured


def fixed_parameters(base: BaseParameters, carried: Load | str | None) -> Array:
    """Standard parameters that are not estimated: known ones, and those of a carried load, shape (parameters,)."""
    model = base.model
    fixed = np.zeros(len(model.names))
    for name, value in base.known.items():
        fixed[model.names.index(name)] = value
    if isinstance(carried, Load):
        link, parameters = carried.of_link(model.robot)
        first = SIZE * model.robot.solid_links.index(link)
        fixed[first : first + SIZE] += parameters
    return fixed
