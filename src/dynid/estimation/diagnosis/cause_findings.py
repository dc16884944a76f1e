"""Causes of residuals as findings: named where they explain much, and honest where several explain as much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench, Samples
from dynid.estimation.diagnosis.causes import Cause, causes
from dynid.estimation.diagnosis.extra_body import extra_body
from dynid.estimation.estimate_findings import CONDITION
from dynid.estimation.factors.factors import Factors
from dynid.estimation.replay import Replay, Segment
from dynid.findings import Finding, Severity, has
from dynid.logs import power_density
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
    replay: Replay,
    logs: Sequence[Factors],
    condition_number: float,
    noticed: Sequence[Finding],
) -> tuple[Finding, ...]:
    """Look for causes of residuals in a log.

    Saturation is not looked for here, but where logs are read; a delay only where processing has not looked for it.

    Args:
        base: The base parameters.
        parameters: Standard parameters of the estimate, shape (parameters,).
        replay: The log with predictions.
        logs: Factors of all logs.
        condition_number: Of the observation matrix.
        noticed: Findings so far.
    """
    if base.model.observed is not Observed.TORQUES:
        return ()
    segment = max(replay.segments, key=lambda part: len(part.time))
    left = rests(
        base.model.row_names,
        segment.q,
        segment.v,
        segment.measured,
        np.where(segment.keep, segment.measured - segment.predicted, 0.0),
        segment.rate,
        replay.cutoff,
    )
    known = has(noticed, "torque-saturated", "torque-constant")
    if condition_number > CONDITION:  # the motion shows too little to distinguish causes
        return ()
    enough = SLIGHT if np.nanmedian([rest.ratio for rest in left] or [np.inf]) < QUIET else NAMED
    relative = _relative_error(segment)
    enough = max(enough, (MATTERS / relative) ** 2 if relative else np.inf)
    samples = _samples(segment, base, parameters)
    tried = causes(Bench.of(base, parameters, samples))
    named = tuple(_named(tried, enough))
    found = named or tuple(_payload(base, logs))
    return (*found, *_unexplained(left, bool(found) or known))


def _relative_error(segment: Segment) -> float:
    """Norm of the errors over that of the torques, in rows that count."""
    measured = np.where(segment.keep, segment.measured, 0.0)
    error = np.where(segment.keep, segment.measured - segment.predicted, 0.0)
    return float(np.linalg.norm(error) / (np.linalg.norm(measured) or 1.0))


def _samples(segment: Segment, base: BaseParameters, parameters: Array) -> Samples:
    """Some samples of a segment, evenly spread.

    Where rows were decimated, predictions were filtered as measurements were, and the model at decimated positions
    says something else, most of all where friction steps. The difference is taken off, so that errors are those of the
    estimate.
    """
    step = max(1, len(segment.time) // SAMPLES)
    part = slice(step // 2, None, step)
    q, v, a = segment.q[part], segment.v[part], segment.a[part]
    filtered = segment.predicted[part] - base.model.inverse_dynamics(q, v, a, parameters)

    def later(seconds: float) -> Array:
        times = np.clip(segment.time[part] + seconds, segment.time[0], segment.time[-1])
        measured = [np.interp(times, segment.time, torque) for torque in segment.measured.T]
        return np.stack(measured, axis=1) - filtered

    rates = np.gradient(segment.predicted, 1.0 / segment.rate, axis=0)
    return Samples(
        q,
        v,
        a,
        segment.measured[part] - filtered,
        rates[part],
        segment.keep[part],
        later,
    )


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


POWER = 0.999
"""Share of the power of positions that counts as motion."""

ABOVE = 3.0
"""Frequencies above so many times those of the motion are noise only."""

QUIET = 3.0
"""Ratio of power densities below which the residual is noise."""


@dataclass(frozen=True)
class Rest:
    """What a model leaves of one row's torques.

    Attributes:
        joint: Name of the row.
        relative: Root mean square of it over that of the torque.
        ratio: Power density at the frequencies of the motion over that at higher ones: 1 for noise, more where errors
            follow the motion; NaN where the log leaves no such frequencies.
        slow: Share of its squares in the slowest tenth of the samples.
    """

    joint: str
    relative: float
    ratio: float
    slow: float

    @property
    def is_noise(self) -> bool:
        """Whether it is as strong where there is no motion."""
        return self.ratio < QUIET


def rests(
    names: tuple[str, ...], q: Array, v: Array, torque: Array, residual: Array, rate: float, cutoff: float | None
) -> tuple[Rest, ...]:
    """Look at the residuals of a segment.

    Args:
        names: Names of the rows.
        q: Positions, shape (samples, rows).
        v: Velocities, of the same shape.
        torque: Measured torques, shape (samples, rows).
        residual: Their residual, zero where rows do not count, of the same shape.
        rate: Sampling rate [Hz].
        cutoff: Cut-off of the torques' filter [Hz], above which there is no noise either.
    """
    length = min(len(q), 4096)
    frequency, of_motion = power_density(q, rate, length)
    _, of_rest = power_density(residual, rate, length, with_slope=False)
    total = np.cumsum(of_motion.sum(axis=1) / max(float(of_motion.sum()), 1e-300))
    edge = float(frequency[int(np.searchsorted(total, POWER))]) + frequency[1]
    top = 0.7 * min(cutoff or np.inf, rate / 2)
    inside, outside = frequency <= edge, (frequency >= ABOVE * edge) & (frequency <= top)
    found = []
    for row, name in enumerate(names):
        size = float(np.sqrt((torque[:, row] ** 2).mean()))
        relative = float(np.sqrt((residual[:, row] ** 2).mean())) / size if size else 0.0
        quiet = float(of_rest[outside, row].mean()) if outside.sum() >= 5 else 0.0
        ratio = float(of_rest[inside, row].mean()) / quiet if quiet > 0.0 else float("nan")
        speed, squares = np.abs(v[:, row]), residual[:, row] ** 2
        slow = float(squares[speed <= np.quantile(speed, 0.1)].sum() / max(float(squares.sum()), 1e-300))
        found.append(Rest(name, relative, ratio, slow))
    return tuple(found)
