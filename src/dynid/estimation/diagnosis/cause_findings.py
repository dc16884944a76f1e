"""Causes of residuals as findings: named where they explain much, and honest where several explain as much."""

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.bench_samples import bench_samples
from dynid.estimation.diagnosis.causes import Cause, causes, extra_body
from dynid.estimation.diagnosis.residual_nature import QUIET, Rest, residual_nature
from dynid.estimation.estimate_findings import CONDITION
from dynid.estimation.factors.factors import Factors
from dynid.findings import Finding, Severity, has
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, Observed

NAMED = 0.1
"""Share of the squared error that a cause must explain to be named, where much of it follows the motion anyway."""

SLIGHT = 0.01
"""The same where the error is nearly all noise, of which no cause explains even a thousandth by chance."""

MATTERS = 0.003
"""Size of what a cause explains, relative to the torques, below which it is not worth a word: filters leave as much."""

SURE = 0.25
"""Share from which it is an error of the model or the data, and not just a doubt."""

RIVAL = 0.75
"""Part of the best cause's share from which another cause is as likely."""

REVERSALS = 0.5
"""Share of a joint's squared error in the slowest tenth of the samples from which reversals are to blame."""

SAMPLES = 1500
"""Samples that causes are tried on."""

LARGE = 0.15
"""Relative error of a joint from which it is worth a word that it is noise, or that no cause was found."""

CODES = {
    "delay": "torque-delayed",
    "friction": "friction-missing-by-residual",
    "sign": "torque-sign-flipped",
    "position sign": "position-sign-flipped",
    "swap": "torques-swapped",
    "gear ratio": "gear-ratio-wrong",
    "position scale": "positions-scaled",
    "torque scale": "torques-scaled",
    "zero": "position-zero-wrong",
    "place": "joint-misplaced",
    "tilt": "joint-tilted",
    "offset": "torque-offset-missing",
    "spring": "spring-missing",
}
"""Code of the finding on each kind of cause."""


def diagnose(
    base: BaseParameters,
    parameters: Array,
    logs: Sequence[PreparedLog],
    factors: Sequence[Factors],
    condition_number: float,
    noticed: Sequence[Finding],
) -> tuple[Finding, ...]:
    """Look for causes of residuals in logs, on a bounded number of samples.

    Saturation is not looked for here, but where logs are read; a delay only where processing has not looked for it.

    Args:
        base: The base parameters.
        parameters: Standard parameters of the estimate, shape (parameters,).
        logs: The logs, ready for the model.
        factors: Their factors, and those of earlier logs.
        condition_number: Of the observation matrix.
        noticed: Findings so far.
    """
    if base.model.observed is not Observed.TORQUES or not logs:
        return ()
    longest = max(logs, key=lambda log: log.samples)
    left = residual_nature(base.model, longest, parameters)
    known = has(noticed, "torque-saturated", "torque-constant")
    if condition_number > CONDITION:  # the motion shows too little to distinguish causes
        return ()
    enough = SLIGHT if np.nanmedian([rest.ratio for rest in left] or [np.inf]) < QUIET else NAMED
    samples = bench_samples(base.model, logs, parameters)
    bench = Bench.of(base, parameters, samples)
    relative = _relative_error(bench)
    enough = max(enough, (MATTERS / relative) ** 2 if relative else np.inf)
    tried = causes(bench)
    named = tuple(_named(tried, enough))
    found = named or tuple(_payload(base, factors))
    return (*found, *_unexplained(left, bool(found) or known))


def _relative_error(bench: Bench) -> float:
    """Norm of the errors over that of the torques, in rows that count."""
    measured = np.where(bench.samples.keep, bench.samples.torque, 0.0)
    error = np.where(bench.samples.keep, bench.samples.torque - bench.predicted, 0.0)
    return float(np.linalg.norm(error) / (np.linalg.norm(measured) or 1.0))


def _named(found: Sequence[Cause], enough: float) -> Iterator[Finding]:
    """The best cause, if it explains enough, with those that explain about as much."""
    best = found[0]
    if best.share < enough:
        return
    rivals = [cause for cause in found[1:] if cause.share > RIVAL * best.share][:3]
    severity = Severity.ERROR if best.share >= SURE and not rivals else Severity.WARNING
    values = _values(best)
    if rivals:
        others = [f"{_subject(cause)}: {CODES[cause.kind]} ({cause.share:.0%})" for cause in rivals]
        yield Finding.of(f"{CODES[best.kind]}-or-other", _subject(best), severity, **values, rivals=others)
    else:
        yield Finding.of(CODES[best.kind], _subject(best), severity, **values)


def _subject(cause: Cause) -> str:
    if cause.kind == "friction":
        return "friction"
    return f"joint '{cause.joint}'" if cause.joint else "all joints"


def _values(cause: Cause) -> dict[str, float | str]:
    """The evidence for a cause, in the units of its finding."""
    values: dict[str, float | str] = {"share": cause.share, "detail": cause.detail}
    if cause.kind == "delay":
        values |= {"milliseconds": 1000 * cause.amount, "seconds": cause.amount}
    elif cause.kind in ("gear ratio", "torque scale"):
        values["factor"] = 1.0 + cause.amount
    elif cause.kind == "position scale":
        values["factor"] = 1.0 / (1.0 + cause.amount) if cause.amount != -1.0 else float("inf")
    elif cause.kind in ("zero", "tilt"):
        values["degrees"] = float(np.degrees(abs(cause.amount)))
    elif cause.kind == "place":
        values["millimetres"] = 1000 * abs(cause.amount)
    elif cause.kind == "offset":
        values["torque"] = cause.amount
    return values


def _payload(base: BaseParameters, logs: Sequence[Factors]) -> Iterator[Finding]:
    extra = extra_body(base, logs)
    if extra is not None:
        yield Finding.of("payload-undeclared", f"link '{extra.link}'", mass=extra.mass, share=extra.share)


def _unexplained(left: Sequence[Rest], explained: bool) -> Iterator[Finding]:
    """Joints with large errors: noise, or something that none of the causes is."""
    noisy = {rest.joint: rest.relative for rest in left if rest.relative > LARGE and rest.is_noise}
    if noisy:
        yield Finding.of("residual-is-noise", "noise", joints=noisy)
    slow = {r.joint: r.slow for r in left if r.relative > LARGE and not r.is_noise and r.slow > REVERSALS}
    if slow:
        yield Finding.of("residual-at-reversals", "reversals", joints=slow)
    wrong = [rest for rest in left if rest.relative > LARGE and rest.ratio >= QUIET and rest.joint not in slow]
    if wrong and not explained:
        listed = {rest.joint: f"{rest.relative:.0%}, {rest.ratio:.3g} times its noise" for rest in wrong}
        yield Finding.of("residual-unexplained", "fit", joints=listed)
