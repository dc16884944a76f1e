"""Causes of residuals as findings: named where mending them helps, and honest where several explain as much."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.bench_samples import Samples, bench_samples
from dynid.estimation.diagnosis.cause_decision import Decision, decide
from dynid.estimation.diagnosis.causes import Cause
from dynid.estimation.diagnosis.effects import TERMS
from dynid.estimation.diagnosis.extra_body import findings_on_difference
from dynid.estimation.diagnosis.residual_nature import Rest, residual_nature
from dynid.estimation.diagnosis.torque_signs import all_signs_flipped
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import weighed
from dynid.findings import Finding, has
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, DynamicModel, Observed
from dynid.robot import Robot


@dataclass(frozen=True)
class UnexplainedThresholds:
    """When residuals that no cause explains are worth a word."""

    slow_share: float = 0.5
    """Share of a joint's squared error in the slowest tenth of the samples from which reversals are to blame. By
    judgement; the last joint of the public Panda log has 0.8, all other joints of the public logs less than half."""

    large_error: float = 0.15
    """Relative error of a joint from which it is said that it is noise, or that no cause was found. By judgement."""

    rows_per_parameter: int = 3
    """Rows for each parameter that diagnosis needs at least: with fewer, fits to all blocks but one are not determined.
    By judgement."""

    fewest_blocks: int = 8
    """Blocks of time that it needs at least: uncertainties are estimated from their differences. By judgement."""


UNEXPLAINED_THRESHOLDS = UnexplainedThresholds()

CODES = {
    "delay": "torque-delayed",
    "time scale": "time-scaled",
    "friction": "friction-missing-by-residual",
    "motor inertia": "armature-missing",
    "load friction": "load-friction-missing",
    "stribeck": "stribeck-missing",
    "offset": "torque-offset-missing",
    "spring": "spring-missing",
    "saturation": "torque-cut-off",
    "flexibility": "gear-flexible",
    "torque sign": "torque-sign-flipped",
    "position sign": "position-sign-flipped",
    "joint flipped": "joint-flipped",
    "torques swapped": "torques-swapped",
    "positions swapped": "positions-swapped",
    "joints swapped": "joints-swapped",
    "gear ratio": "gear-ratio-wrong",
    "position scale": "positions-scaled",
    "torque scale": "torques-scaled",
    "zero": "position-zero-wrong",
    "place": "joint-misplaced",
    "tilt": "joint-tilted",
    "gravity": "base-tilted",
    "gravity axis": "gravity-direction-wrong",
}
"""Code of the finding on each kind of cause."""

CAUSES = (*CODES.values(), "gravity-missing-by-residual", "slide-zero-wrong", "torque-signs-all-flipped")
"""Codes of all causes that diagnosis names."""


def diagnose(
    base: BaseParameters,
    parameters: Array,
    logs: Sequence[PreparedLog],
    factors: Sequence[Factors],
    noticed: Sequence[Finding],
) -> tuple[Finding, ...]:
    """Look for causes of residuals in logs, on a bounded number of samples.

    Args:
        base: The base parameters.
        parameters: Standard parameters of the estimate, shape (parameters,).
        logs: The logs, ready for the model.
        factors: Their factors, and those of earlier logs.
        noticed: Findings so far.
    """
    model, limits = base.model, UNEXPLAINED_THRESHOLDS
    if model.observed != Observed.TORQUES or model.robot.has_quaternions or not logs:
        return ()
    if any(term.needs_temperature for term in model.terms):
        return ()
    samples = _without(noticed, bench_samples(model, logs, parameters), model)
    if samples.keep.sum() < limits.rows_per_parameter * len(base):
        return ()
    if len(np.unique(samples.block)) < limits.fewest_blocks:
        return ()
    bench = Bench.of(base, parameters, samples)
    stds = _stds(factors, base)
    flipped = all_signs_flipped(bench, stds)
    if flipped is not None:
        return (flipped,)
    decision = decide(bench, stds)
    found = tuple(_causes(decision, base))
    if all(named.tried.cause.kind in TERMS for named in decision.named):
        found = (*found, *findings_on_difference(base, factors))
    if has(noticed, *POOR_EXCITATION):
        return found
    left = residual_nature(model, max(logs, key=lambda log: log.samples), parameters)
    known = has(noticed, *SPOILED)
    return (*found, *_unexplained(left, bool(found) or known))


POOR_EXCITATION = ("excitation-poor", "excitation-poor-of-all-joints")
"""Findings that explain large residuals: the motion hardly moves anything but noise."""

SPOILED = ("torque-saturated", "torque-constant")
"""Findings on joints whose torques are known to be wrong: nothing is concluded from them."""


def _without(noticed: Sequence[Finding], samples: Samples, model: DynamicModel) -> Samples:
    """Samples without torques that are known to be wrong."""
    spoiled = {finding.subject for finding in noticed if finding.code in SPOILED}
    counts = [f"joint '{name}'" not in spoiled for name in model.row_names]
    return replace(samples, keep=samples.keep & counts)


def _stds(factors: Sequence[Factors], base: BaseParameters) -> Array:
    """Standard deviations of the base parameters for white errors, shape (base,)."""
    R = weighed(factors, base).R
    return np.linalg.norm(np.linalg.pinv(R), axis=1)


def _causes(decision: Decision, base: BaseParameters) -> Iterator[Finding]:
    robot, count = base.model.robot, len(base)
    for named in decision.named:
        cause = named.tried.cause
        values = _evidence(cause, code_of(cause, robot)) | {
            "share": named.tried.share,
            "moved": round(named.changed * count),
            "parameters": count,
        }
        yield Finding.of(code_of(cause, robot), _subject(cause), named.severity, **values)
        if named.rivals:
            others = {f"{_subject(one.cause)}: {code_of(one.cause, robot)}": one.share for one in named.rivals}
            yield Finding.of("causes-alike", _subject(cause), causes=others)
    if decision.systematic is not None:
        one = decision.systematic
        yield Finding.of(
            "residual-systematic",
            "residuals",
            share=decision.together,
            best=f"{_subject(one.cause)}: {code_of(one.cause, robot)}",
            best_share=one.share,
        )


def code_of(cause: Cause, robot: Robot) -> str:
    """Code of the finding on a cause."""
    if cause.kind == "gravity axis" and not any(cause.amounts):
        return "gravity-missing-by-residual"
    if cause.kind == "zero" and not robot.joint(cause.joint).kind.is_angular:
        return "slide-zero-wrong"
    return CODES[cause.kind]


def _subject(cause: Cause) -> str:
    if cause.joint:
        return f"joint '{cause.joint}'"
    return {"friction": "friction", "gravity": "base", "gravity axis": "gravity"}.get(cause.kind, "all joints")


def _evidence(cause: Cause, code: str) -> dict[str, object]:
    """The amounts of a cause, in the units of its finding."""
    amount = cause.amounts[0] if cause.amounts else 0.0
    values: dict[str, object] = {"detail": cause.other}
    if cause.kind == "delay":
        values |= {"milliseconds": 1000 * amount, "seconds": amount}
    elif cause.kind in ("gear ratio", "torque scale"):
        values["factor"] = 1.0 + amount
    elif cause.kind == "time scale":
        values |= {"factor": 1.0 + amount, "lengths": (1.0 + amount) ** -2}
    elif cause.kind == "position scale":
        values["factor"] = 1.0 / (1.0 + amount)
    elif code == "slide-zero-wrong":
        values |= {"millimetres": 1000 * cause.size, "turn": list(cause.amounts)}
    elif cause.kind in ("zero", "tilt", "gravity"):
        values |= {"degrees": float(np.degrees(cause.size)), "turn": list(cause.amounts)}
    elif cause.kind == "place":
        values |= {"millimetres": 1000 * cause.size, "move": [1000 * each for each in cause.amounts]}
    elif cause.kind == "gravity axis":
        values["gravity"] = list(cause.amounts)
    elif cause.kind == "offset":
        values["torque"] = amount
    return values


def _unexplained(left: Sequence[Rest], explained: bool) -> Iterator[Finding]:
    """Joints with large errors: noise, or something that none of the causes is."""
    left = [rest for rest in left if rest.relative > UNEXPLAINED_THRESHOLDS.large_error]
    noisy = {rest.joint: rest.relative for rest in left if rest.is_noise}
    if noisy:
        yield Finding.of("residual-is-noise", "noise", joints=noisy)
    slow = {r.joint: r.slow for r in left if not r.is_noise and r.slow > UNEXPLAINED_THRESHOLDS.slow_share}
    if slow:
        yield Finding.of("residual-at-reversals", "reversals", joints=slow)
    wrong = [rest for rest in left if rest.is_no_noise and rest.joint not in slow]
    if wrong and not explained:
        listed = {rest.joint: f"{rest.relative:.0%}, {rest.ratio:.3g} times its noise" for rest in wrong}
        yield Finding.of("residual-unexplained", "fit", joints=listed)
