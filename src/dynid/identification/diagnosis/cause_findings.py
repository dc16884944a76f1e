"""Causes as findings: named where they explain much, and honest where several explain as much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.estimate_findings import CONDITION, SATURATED
from dynid.estimation.factors.factors import Factors
from dynid.findings import Finding, Severity, prose
from dynid.identification.diagnosis.bench import Bench, Samples
from dynid.identification.diagnosis.causes import Cause, causes
from dynid.identification.diagnosis.noise import QUIET, Rest, rests
from dynid.identification.diagnosis.payload import extra_body
from dynid.identification.replay import Replay, Segment
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import Observed

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

SENTENCES = {
    "delay": "torques look {amount:.1f} ms later than positions: a delay; set drive.delay = {seconds:.4g}",
    "friction": "friction is missing from the model on {detail}: add the terms viscous and coulomb",
    "sign": "the sign of its torque looks flipped: set drive.signs",
    "position sign": "the sign of its positions looks flipped: check its axis in the robot's file, and drive.ratios",
    "swap": "its torques and those of '{detail}' look swapped: check the order of columns",
    "gear ratio": "its gear ratio looks wrong by a factor of {factor:.3f}: check drive.ratios",
    "position scale": "its positions look scaled by a factor of {inverse:.3f}: check their unit and drive.ratios",
    "torque scale": "its torques look scaled by a factor of {factor:.3f}: check their unit and drive.torque_constants",
    "zero": "the zero of its positions looks wrong by {degrees:.1f} degrees: check drive.offsets and the kinematics",
    "place": "the kinematics look wrong: it seems to sit {mm:.0f} mm elsewhere{axis}; check its origin in the file",
    "tilt": "the kinematics look wrong: it seems turned by {degrees:.1f} degrees{axis}; check its origin in the file",
    "offset": "a constant torque of {plain:.3g} is missing from the model: add the term offset",
    "spring": "a torque that grows with its position is missing: add the term spring, or check the kinematics",
}


def diagnose(
    base: BaseParameters, parameters: Array, replay: Replay, logs: Sequence[Factors], condition_number: float
) -> tuple[Finding, ...]:
    """Look for causes of what a model leaves of a log's torques.

    Args:
        base: The base parameters.
        parameters: Standard parameters of the estimate, shape (parameters,).
        replay: The log with predictions.
        logs: Factors of all logs.
        condition_number: Of the observation matrix.
    """
    if base.model.observed is not Observed.TORQUES:
        return ()
    found = list(_saturated(replay, base))
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
    if condition_number > CONDITION:  # the motion shows too little to tell causes apart
        return tuple(found)
    enough = SLIGHT if np.nanmedian([rest.ratio for rest in left] or [np.inf]) < QUIET else NAMED
    relative = _relative_error(segment)
    enough = max(enough, (MATTERS / relative) ** 2 if relative else np.inf)
    named = tuple(_named(causes(Bench.of(base, parameters, _samples(segment, base, parameters))), enough))
    found += named or _payload(base, logs)
    return (*found, *_unexplained(left, bool(found)))


def _relative_error(segment: Segment) -> float:
    """Norm of the errors over that of the torques, in rows that count."""
    measured = np.where(segment.keep, segment.measured, 0.0)
    error = np.where(segment.keep, segment.measured - segment.predicted, 0.0)
    return float(np.linalg.norm(error) / (np.linalg.norm(measured) or 1.0))


def _samples(segment: Segment, base: BaseParameters, parameters: Array) -> Samples:
    """Some samples of a segment, evenly spread.

    Where rows were thinned out, predictions were filtered as measurements were, and the model at thinned out positions
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
    text = f"{_in_words(best)}. With that, {best.share:.0%} of the squared error goes"
    if rivals:
        others = "; ".join(f"{_subject(cause)}: {_in_words(cause)} ({cause.share:.0%})" for cause in rivals)
        text += f". The data cannot tell this from other causes: {others}"
    severity = Severity.ERROR if best.share >= SURE and not rivals else Severity.WARNING
    yield prose(severity, _subject(best), text)


def _subject(cause: Cause) -> str:
    if cause.kind == "friction":
        return "friction"
    return f"joint '{cause.joint}'" if cause.joint else "all joints"


def _in_words(cause: Cause) -> str:
    return SENTENCES[cause.kind].format(
        amount=1000 * cause.amount,
        seconds=cause.amount,
        plain=cause.amount,
        factor=1.0 + cause.amount,
        inverse=1.0 / (1.0 + cause.amount) if cause.amount != -1.0 else float("inf"),
        degrees=np.degrees(abs(cause.amount)),
        mm=1000 * abs(cause.amount),
        axis=f" {'along' if cause.kind == 'place' else 'about'} {cause.detail} of the link that carries it"
        if cause.detail
        else "",
        detail=cause.detail,
    )


def _saturated(replay: Replay, base: BaseParameters) -> Iterator[Finding]:
    """Torques that were logged at one and the same extreme again and again, before any filter."""
    for joint, torque in zip(base.model.row_names, replay.recording.torque.T, strict=True):
        if np.ptp(torque) == 0.0:
            continue
        for extreme in (torque.max(), torque.min()):
            share = float(np.mean(torque == extreme))
            if share >= SATURATED:
                text = (
                    f"{share:.0%} of its logged torques are exactly {extreme:.4g}: saturated? Move slower, or cut these"
                )
                yield prose(Severity.ERROR, f"joint '{joint}'", text)


def _payload(base: BaseParameters, logs: Sequence[Factors]) -> Iterator[Finding]:
    extra = extra_body(base, logs)
    if extra is not None:
        text = (
            f"it seems to carry {extra.mass:.2g} kg that the robot's file does not have: a payload or a tool that was "
            f"not told? It explains {extra.share:.0%} of how file and data differ. Add it to the file, or read the "
            "result as that of the robot with it"
        )
        yield prose(Severity.WARNING, f"link '{extra.link}'", text)


def _unexplained(left: Sequence[Rest], explained: bool) -> Iterator[Finding]:
    """Joints with large errors: noise, or something that none of the causes is."""
    noisy = [rest for rest in left if rest.relative > LARGE and rest.is_noise]
    if noisy:
        listed = ", ".join(f"'{rest.joint}' ({rest.relative:.0%})" for rest in noisy)
        text = (
            f"what is left of the torques of {listed} is noise: it is as strong at frequencies where nothing moves. "
            "The model explains the rest; record for longer, repeat the motion, or filter torques more"
        )
        yield prose(Severity.WARNING, "noise", text)
    slow = [rest for rest in left if rest.relative > LARGE and not rest.is_noise and rest.slow > REVERSALS]
    if slow:
        listed = ", ".join(f"'{rest.joint}' ({rest.slow:.0%})" for rest in slow)
        text = (
            f"most of the squared error of {listed} comes from the slowest tenth of the samples, where friction is not "
            "what the model says: set processing.velocity_threshold"
        )
        yield prose(Severity.WARNING, "reversals", text)
    wrong = [rest for rest in left if rest.relative > LARGE and rest.ratio >= QUIET and rest not in slow]
    if wrong and not explained:
        listed = ", ".join(f"'{rest.joint}' ({rest.relative:.0%}, {rest.ratio:.3g} times its noise)" for rest in wrong)
        text = (
            f"something is wrong on {listed}: what is left follows the motion, and no cause that was tried explains it"
        )
        yield prose(Severity.WARNING, "fit", text)
