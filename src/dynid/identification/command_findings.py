"""What a fit to commands means: what the logs do not separate or determine, and what contradicts the law."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.estimation import OutputErrorFit, confounded_pairs
from dynid.findings import Finding
from dynid.identification.command_checks import findings_on_contact, findings_on_gains, lag_of_commands
from dynid.identification.command_fit import Fitted
from dynid.identification.servo_findings import findings_on_servos
from dynid.model import DynamicModel, Role


@dataclass(frozen=True)
class FitThresholds:
    """When a fit to commands is remarked. By judgement where a field does not state otherwise."""

    trades: float = 0.5
    """Correlation of the delay with an armature or a viscous friction from which it is said what they trade."""

    disagrees: float = 5.0
    """Standard deviations between a log's own fit and that of all logs from which the log disagrees."""

    delay: float = 0.05
    """Delay [s] from which commands are more likely shifted in the log than late."""

    agreement: float = 0.9
    """Share of the parameters of logs that must be within their 95 % intervals."""


THRESHOLDS = FitThresholds()


def findings_on_fit(fitted: Fitted, names: Sequence[str]) -> Iterator[Finding]:
    """What is worth knowing about a fit to commands.

    Args:
        fitted: The fit.
        names: Names of the logs.
    """
    model, fit = fitted.robot.model, fitted.output_error
    yield from _on_law(fitted)
    yield from findings_on_servos(fitted)
    yield from _on_delay(fitted)
    if fit is None:
        if fitted.robot.control.output_error:
            yield Finding.of("output-error-failed", "rollouts")
        return
    if fit.at_bounds:
        bounds = {name: float(fit.values[fit.unknowns.names.index(name)]) for name in fit.at_bounds}
        yield Finding.of("parameters-at-bounds", "logs", parameters=bounds, count=len(bounds))
    if fit.undetermined:
        yield Finding.of("parameters-undetermined", "logs", parameters=list(fit.undetermined))
    yield from _on_pairs(fit)
    yield from _on_logs(fit, names, model)


def subject(model: DynamicModel, name: str) -> str:
    """What a finding on a parameter is about."""
    owners = {parameter.name: parameter.owner for parameter in model.parameters}
    return f"joint '{owners[name]}'" if name in owners else name


def _on_law(fitted: Fitted) -> Iterator[Finding]:
    """Findings on gains in other units, and on constant torques that nothing in the model explains."""
    robot, point = fitted.robot, fitted.point
    model = robot.model
    log = robot.logs[0]
    if robot.control.gains != "scale" and not is_shifted(fitted):
        yield from findings_on_gains(fitted.scales, model.row_names)
    gravity = DynamicModel(model.robot).inverse_dynamics(log.position, parameters=robot.links)
    held = np.mean(log.torque * point.scales - gravity, axis=0)
    yield from findings_on_contact(held, np.abs(gravity).max(axis=0), model.row_names)
    other = fitted.other_form
    if other is not None:
        values: dict[str, Any] = {"ratio": other.ratio, "armature": other.armature, "viscous": other.viscous}
        yield Finding.of("law-form-undecided", "control law", law=point.form, other=other.form, **values)


def is_shifted(fitted: Fitted) -> bool:
    """Whether commands are shifted in the log: they act much later than logged, or before."""
    log, delay = fitted.robot.logs[0], fitted.point.delay
    period = float(np.median(np.diff(log.time)))
    is_open = fitted.robot.control.delay == "auto"
    return is_open and (delay > THRESHOLDS.delay or delay <= -period or lag_of_commands(log) < -2.0 * period)


def _on_delay(fitted: Fitted) -> Iterator[Finding]:
    """Findings on a delay that commands cannot have, and on what it trades with."""
    point, fit, control = fitted.point, fitted.output_error, fitted.robot.control
    if control.delay != "auto":
        return
    period = float(np.median(np.diff(fitted.robot.logs[0].time)))
    if is_shifted(fitted):
        lag = lag_of_commands(fitted.robot.logs[0])
        yield Finding.of("commands-shifted", "commands", shift=point.delay if point.delay > 0.0 else min(lag, 0.0))
    if point.form == "sampled":
        tick = period if control.rate is None else 1.0 / control.rate
        yield Finding.of("delay-in-ticks", "delay", delay=1e3 * point.delay, lower=1e3 * (point.delay - tick))
    if fit is None or "delay" not in fit.unknowns.names:
        return
    names, d = fit.unknowns.names, fit.unknowns.names.index("delay")
    std = float(fit.stds[d])
    if not std > 0.0 or std > fit.unknowns.sizes[d]:
        return
    slopes = fit.white[:, d] / fit.white[d, d]
    model = fitted.robot.model
    found: dict[Role, tuple[float, str, float, float]] = {}
    for k, name in enumerate(names):
        role = model.parameters[model.names.index(name)].role if name in model.names else None
        if role is not None and role in (Role.ARMATURE, Role.VISCOUS) and fit.values[k] > 0.0:
            change = abs(float(slopes[k])) * 1e-3 / float(fit.values[k])
            strong = abs(float(fit.correlation[k, d])) >= THRESHOLDS.trades
            if strong and change > found.get(role, (0.0, "", 0.0, 0.0))[0]:
                found[role] = change, name, float(fit.values[k]), float(slopes[k]) * 1e-3
    if len(found) == 2:
        (_, armature, of_a, by_a), (_, viscous, of_v, by_v) = found[Role.ARMATURE], found[Role.VISCOUS]
        values = {"delay": 1e3 * point.delay, "std": 1e3 * std, "armature": armature, "armature_value": of_a}
        values |= {"armature_slope": by_a, "viscous": viscous, "viscous_value": of_v, "viscous_slope": by_v}
        yield Finding.of("delay-confounded", "delay", **values)


def _on_pairs(fit: OutputErrorFit) -> Iterator[Finding]:
    """A finding on pairs of parameters that the logs hardly separate; the delay has one of its own."""
    names = fit.unknowns.names
    pairs = [(i, j, rho) for i, j, rho in confounded_pairs(fit.apart) if "delay" not in (names[i], names[j])]
    if pairs:
        said = [f"{names[i]} and {names[j]}" for i, j, _ in pairs]
        yield Finding.of("parameters-confounded", "logs", pairs=said, largest=abs(pairs[0][2]))


def _on_logs(fit: OutputErrorFit, names: Sequence[str], model: DynamicModel) -> Iterator[Finding]:
    """Findings on logs whose own fit disagrees with those of the others: with their median, which no log moves."""
    if len(fit.scores) < 2:
        return
    (values, stds), known = fit.by_log, fit.known_by_log
    middle = np.median(values, axis=0)
    spread = 1.4826 * np.median(np.abs(values - middle), axis=0) if len(names) > 2 else 0.0  # of a normal distribution
    z = np.where(known, np.abs(values - middle) / np.sqrt(stds**2 + spread**2 + np.finfo(float).tiny), 0.0)
    for k, log in enumerate(names):
        worst = int(np.argmax(z[k]))
        if z[k, worst] > THRESHOLDS.disagrees:
            name = fit.unknowns.names[worst]
            found = {"parameter": name, "standard_deviations": float(z[k, worst]), "value": float(values[k, worst])}
            yield Finding.of("log-disagrees", subject(model, name), **found, others=float(middle[worst]), log=log)
    share = float(np.mean(fit.inside[known])) if known.any() else 1.0
    if share < THRESHOLDS.agreement:
        yield Finding.of("logs-disagree", "logs", share=share)
