"""Which friction model a servo or another commanded drive has: all are fitted, and logs that were not used decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import shares_of_readings, steps_of_readings
from dynid.identification.command_fit import Fitted, fit_commands
from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.identification.friction_starts import LEAST, SPEEDS
from dynid.identification.law_logs import stretches_of_log
from dynid.logs import Control, Log
from dynid.model import DynamicModel, matching, split_known
from dynid.robot import Robot
from dynid.settings import checked

FRICTION_MODELS: Mapping[str, tuple[str, ...]] = {
    "M1": ("viscous", "coulomb"),
    "M2": ("viscous", "stribeck"),
    "M3": ("viscous", "load_friction"),
    "M4": ("viscous", "load_stribeck"),
    "M5": ("viscous", "directional_friction"),
    "M6": ("viscous", "quadratic_friction"),
}
"""Friction models by their usual names, in the order of their parameters."""

CONTAINED: Mapping[str, tuple[str, ...]] = {"M4": ("M2", "M3"), "M5": ("M4",), "M6": ("M5",)}
"""Poorer models whose estimates are a place to start from: with parameters zero or equal, a model is one of them."""

SIDES: Mapping[str, tuple[str, str]] = {"kl": ("km", "ke"), "kls": ("kms", "kes")}
"""Gains of M5 that are equal in M4, by that one's name."""


@dataclass(frozen=True)
class FrictionChoiceThresholds:
    """Which friction model is taken. Calibrated by `python -m benchmarks.servo_friction`."""

    standard_errors: float = 2.5
    """Standard errors of the mean logarithm of the ratio of squared errors in blocks of time by which a richer model
    must be better than a poorer one. Differences themselves are large in a few blocks only, which hides the others."""

    worth: float = 0.01
    """Share of the squared error by which it must be better, besides, both in all and in the mean logarithm. By
    judgement."""

    least: float = 1e-12
    """Squared error of a block, in those of the best model, below which it is rounding. By judgement."""

    block: float = 1.0
    """Length of the blocks [s]. By judgement."""


THRESHOLDS = FrictionChoiceThresholds()


@dataclass(frozen=True, eq=False)
class FrictionTrial:
    """A friction model that was fitted.

    Attributes:
        model: Its name.
        terms: The terms that were fitted.
        count: Number of estimated parameters.
        rmse: Error of rollouts of held-out logs [rad or m].
        values: Estimates by name.
        stds: Their standard deviations.
        blocks: Mean squares of errors in blocks of time, over those of each joint's best model, shape (blocks,).
    """

    model: str
    terms: tuple[str, ...]
    count: int
    rmse: float
    values: Mapping[str, float]
    stds: Mapping[str, float]
    blocks: Array


@dataclass(frozen=True, eq=False)
class FrictionComparison:
    """Friction models beside each other.

    Attributes:
        trials: The models, in the order of their parameters.
        chosen: The name of the one that held-out logs show: the poorest that no richer one is clearly better than.
    """

    trials: tuple[FrictionTrial, ...]
    chosen: str

    def __getitem__(self, model: str) -> FrictionTrial:
        return next(trial for trial in self.trials if trial.model == model)

    def __repr__(self) -> str:
        errors = ", ".join(f"{trial.model} {1e3 * trial.rmse:.3g}" for trial in self.trials)
        return f"FrictionComparison(held-out rollouts [mrad]: {errors}; chosen: {self.chosen})"

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        rows = [
            {
                "model": trial.model,
                "terms": list(trial.terms),
                "parameters": trial.count,
                "rmse": trial.rmse if math.isfinite(trial.rmse) else None,
                "values": dict(trial.values),
                "stds": dict(trial.stds),
            }
            for trial in self.trials
        ]
        return {"chosen": self.chosen, "models": rows}


def compare_friction(
    robot: Robot,
    logs: Sequence[Log],
    validate: Sequence[Log],
    *,
    control: Control | Mapping[str, Any] | None = None,
    models: Sequence[str] = tuple(FRICTION_MODELS),
    known: Mapping[str, float] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> FrictionComparison:
    """Fit friction models to logs with commands, and choose by rollouts of other logs.

    Armature and offset are estimated beside each. A richer model is taken where its rollouts of the held-out logs are
    clearly nearer: by 2.5 standard errors of the mean logarithm of the ratio of squared errors in blocks of time.

    Args:
        robot: The robot; its links are known.
        logs: What was commanded and measured, for the fits.
        validate: Other logs, which decide.
        control: Keys of `[control]`.
        models: Names of friction models.
        known: Values of parameters that are known, by name or pattern.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If a name is that of no model, there are no logs to decide, or a log has no commands.
    """
    unknown = [name for name in models if name not in FRICTION_MODELS]
    if unknown:
        raise InvalidRequestError(f"'{unknown[0]}' is no friction model; expected some of {', '.join(FRICTION_MODELS)}")
    if not logs or not validate:
        raise InvalidRequestError("friction models are fitted to some logs and compared on others; give both")
    law = checked(Control, control, "control")
    train = tuple(part for log in logs for part in stretches_of_log(log))
    fits: dict[str, tuple[Fitted, Array]] = {}
    for name in (name for name in FRICTION_MODELS if name in models):
        progress(f"Friction model {name}")
        model = DynamicModel(robot, ["armature", *FRICTION_MODELS[name], "offset"])
        speeds, values = split_known(model, known or {})
        own = {model.names.index(one): x for key, x in values.items() for one in matching([key], model.names)}
        commanded = CommandedRobot(model.at_nonlinear(speeds), robot.parameters, own, train, law, frozenset(speeds))
        poorer = [fits[one][0] for one in CONTAINED.get(name, ()) if one in fits]
        starts = [_carried_over(one.robot.model, one.point, commanded) for one in poorer]
        fitted = fit_commands(commanded, starts=starts)
        fits[name] = fitted, _block_errors(fitted, validate)
    best = np.min([errors.mean(axis=0) for _, errors in fits.values()], axis=0)
    trials = tuple(_trial(name, fitted, errors, best) for name, (fitted, errors) in fits.items())
    return FrictionComparison(trials, _chosen(trials))


def _carried_over(poorer: DynamicModel, point: LawPoint, richer: CommandedRobot) -> LawPoint:
    """The estimate of a poorer model as a point of a richer one; squares of loads start where they can grow or fall."""
    values = dict(zip(poorer.names, point.p.tolist(), strict=True))
    for name, value in list(values.items()):
        symbol = name.rstrip("0123456789")
        values |= {f"{side}{name.removeprefix(symbol)}": value for side in SIDES.get(symbol, ())}
    typical = float(np.mean([np.abs(log.torque).mean() for log in richer.logs]))
    squares = {name for name in richer.model.names if name.rstrip("0123456789") in ("qm", "qe")}
    p = np.array([values.get(name, LEAST / typical if name in squares else 0.0) for name in richer.model.names])
    p[[*richer.known]] = [*richer.known.values()]
    own = () if point.speeds is None else point.speeds
    speeds = dict(zip([one.name for one in poorer.nonlinear], own, strict=True))
    known = richer.known_speeds
    found = [one.value if one.name in known else speeds.get(one.name, SPEEDS[0]) for one in richer.model.nonlinear]
    return replace(point, p=p, speeds=np.array(found))


def _block_errors(fitted: Fitted, logs: Sequence[Log]) -> Array:
    """Mean squares of errors of rollouts [rad^2 or m^2], shape (blocks, joints); infinite where they fly off.

    Readings that repeat count as one. They are those of the measured positions, unlike in the fits: all models are then
    compared on the same samples, and a joint that moves counts also where a model lets it stick.
    """
    found = []
    robot = replace(fitted.robot, logs=tuple(part for log in logs for part in stretches_of_log(log)), _inputs={})
    for k, log in enumerate(robot.logs):
        rollout = robot.roll_out(k, fitted.point, step=FINE_STEP)
        errors = (log.position - rollout.q) ** 2 if rollout.ended is None else np.full(log.position.shape, np.inf)
        count = max(1, int((log.time[-1] - log.time[0]) / THRESHOLDS.block))
        shares = shares_of_readings(log.position, steps_of_readings(log.position))
        sums = (np.array([part.sum(axis=0) for part in np.array_split(x, count)]) for x in (errors * shares, shares))
        found.append(np.divide(*sums))
    return np.concatenate(found)


FINE_STEP = 1e-3
"""Step of the integrator for held-out rollouts [s]: its errors are not to decide."""


def _trial(name: str, fitted: Fitted, errors: Array, best: Array) -> FrictionTrial:
    fit = fitted.output_error
    names = [] if fit is None else list(fit.unknowns.names)
    values = {} if fit is None else dict(zip(names, fit.values.tolist(), strict=True))
    stds = {} if fit is None else dict(zip(names, fit.stds.tolist(), strict=True))
    ratios = (errors / np.maximum(best, 1e-300)).mean(axis=1)
    count = len(fitted.robot.estimated) + len(fitted.robot.estimated_speeds)
    rmse = float(np.sqrt(errors.mean()))
    return FrictionTrial(name, tuple(FRICTION_MODELS[name]), count, rmse, values, stds, ratios)


def _chosen(trials: Sequence[FrictionTrial]) -> str:
    """The poorest model that none of the richer ones is clearly better than."""
    order = sorted(trials, key=lambda trial: trial.count)
    for k, trial in enumerate(order):
        if not any(_is_clearly_better(other, trial) for other in order[k + 1 :]):
            return trial.model
    return order[-1].model


def _is_clearly_better(richer: FrictionTrial, poorer: FrictionTrial) -> bool:
    if not np.isfinite(richer.blocks).all():
        return False
    if not np.isfinite(poorer.blocks).all():
        return True
    before, after = (np.maximum(trial.blocks, THRESHOLDS.least) for trial in (poorer, richer))
    gains = np.log(before / after)
    error = float(np.std(gains, ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    gain, share = float(gains.mean()), 1.0 - float(after.mean() / before.mean())
    return gain > max(THRESHOLDS.standard_errors * error, THRESHOLDS.worth) and share > THRESHOLDS.worth
