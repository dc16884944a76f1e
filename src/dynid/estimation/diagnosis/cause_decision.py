"""Which causes are named: those that are certain, that matter, and that mending removes most of what any does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench import Bench
from dynid.estimation.diagnosis.cause_search import all_causes
from dynid.estimation.diagnosis.causes import mended
from dynid.estimation.diagnosis.effect_screen import Tried, gain_certainty
from dynid.estimation.diagnosis.effects import TERMS
from dynid.findings import Severity
from dynid.model import Sign


@dataclass(frozen=True)
class CauseThresholds:
    """When a cause is named, and how gravely.

    Calibrated on `benchmarks/verdict_sweep.py`: wrong logs, good logs, and good logs with friction, gears and sensors
    that no model has.
    """

    dominant: float = 0.6
    """Part of what all small causes together remove from which a single one is named. Errors of imperfect models have
    many causes, each of which explains a little."""
    slight_effect: float = 5e-4
    """Size of what a cause explains, relative to the torques, below which it is not worth a word: filters leave as
    much."""
    few_parameters: float = 0.1
    """Share of the parameters that must move by more than two standard deviations, unless errors are `large_share`."""
    large_share: float = 0.1
    """Share of the squared error whose removal matters, whatever the parameters do."""
    gross_share: float = 0.25
    """Share from which a cause is an error, not just a doubt."""
    gross_parameters: float = 0.15
    """Share of the parameters that must move for an error, unless the cause is there or not."""
    gross_scale: float = 0.1
    """Amount from which a wrong scale is an error: torque constants are seldom known better than by 5 %."""
    gross_error: float = 0.1
    """Relative error of torques from which a missing term is an error: all models lack some."""
    slight_parameters: float = 0.12
    """Share of the parameters that a missing term moves below which it is worth a note only, unless it is a
    `gross_share` of the squared error: the friction of every robot is a little unlike the model."""
    systematic_share: float = 0.05
    """Share of the squared error that all small causes together remove from which errors are called systematic."""
    rival: float = 0.8
    """Part of the best cause's gain from which another cause is as likely, unless held-out blocks decide."""
    decided: float = 0.6
    """Certainty of the difference between two causes from which held-out blocks decide."""
    rounds: int = 2
    """Causes that are sought one after the other, each with the earlier ones mended."""


THRESHOLDS = CauseThresholds()

NEVER_SMALL = frozenset(
    ("torque sign", "position sign", "joint flipped", "torques swapped", "positions swapped", "joints swapped")
)
"""Kinds of causes that are there or not."""


@dataclass(frozen=True, eq=False)
class Named:
    """A cause that is named.

    Attributes:
        tried: The cause, and what mending it removes.
        rivals: Other causes that explain as much.
        changed: Share of the base parameters that move by more than two standard deviations.
        severity: Whether it is an error, a doubt, or good to know.
    """

    tried: Tried
    rivals: tuple[Tried, ...]
    changed: float
    severity: Severity


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided about the causes of errors.

    Attributes:
        named: Causes that are named, the first first.
        systematic: Where none is, but errors are no noise: the cause that explains most of them.
        together: Share of the squared error in held-out blocks that all small causes together remove.
    """

    named: tuple[Named, ...]
    systematic: Tried | None
    together: float


def decide(bench: Bench, stds: Array) -> Decision:
    """Search causes, and decide which are named.

    Args:
        bench: The model on samples.
        stds: Standard deviations of the base parameters, shape (base,).
    """
    named: list[Named] = []
    systematic, together = None, 0.0
    for _ in range(THRESHOLDS.rounds):
        tried, all_small = all_causes(bench)
        if named:  # torques that were decimated have friction steps of the first estimate in them
            tried = [one for one in tried if one.cause.kind not in TERMS]
        first = _named(tried, all_small, bench, stds)
        if not named:
            together = all_small.share
            systematic = None if first is not None else _systematic(tried, together, bench, stds)
        if first is None:
            break
        named.append(first)
        if first.tried.cause.kind in TERMS:
            break
        bench = bench.with_samples(*mended(first.tried.cause, bench.samples, bench.model.robot, bench.stds))
    return Decision(tuple(named), systematic, together)


def _named(tried: Sequence[Tried], together: Tried, bench: Bench, stds: Array) -> Named | None:
    """The best cause if it is certain, matters, and is not one of many; with those that explain as much."""
    if not tried:
        return None
    rivals = [tried[0]] + [one for one in tried[1:] if _is_rival(one, tried[0])]
    impossible = [_impossible(one, bench, stds) for one in rivals]
    rivals = [one for one, count in zip(rivals, impossible, strict=True) if count == min(impossible)]
    best = min(rivals, key=lambda one: LIKELY.index(one.cause.kind) if one.gain > 0.95 * tried[0].gain else 99)
    if best.gain < THRESHOLDS.dominant * max(together.gain, tried[0].gain) or not _matters(best, bench, stds):
        return None
    others = tuple(one for one in rivals if one is not best)
    changed = _changed(best, bench, stds)
    return Named(best, others, changed, _severity(best, changed, bench, alone=not others))


def _severity(one: Tried, changed: float, bench: Bench, *, alone: bool) -> Severity:
    """How grave a cause is, that moves a share of the parameters; one that others equal is never certain."""
    limits = THRESHOLDS
    if one.cause.kind in TERMS and changed < limits.slight_parameters and one.share < limits.gross_share:
        return Severity.NOTE
    return Severity.ERROR if alone and _is_gross(one, changed, bench) else Severity.WARNING


def _systematic(tried: Sequence[Tried], together: float, bench: Bench, stds: Array) -> Tried | None:
    """The best of several causes that together explain much, none of them most of it."""
    if together < THRESHOLDS.systematic_share:
        return None
    return next((one for one in tried if _matters(one, bench, stds)), None)


def _matters(one: Tried, bench: Bench, stds: Array) -> bool:
    """Whether a cause is certain, and changes parameters or errors by more than filters do."""
    limits = THRESHOLDS
    if one.certainty < 1.0 or _effect(one, bench) < limits.slight_effect:
        return False
    return one.share >= limits.large_share or _changed(one, bench, stds) >= limits.few_parameters


def _is_gross(one: Tried, changed: float, bench: Bench) -> bool:
    """Whether a cause makes the result worthless."""
    limits, cause = THRESHOLDS, one.cause
    if one.share < limits.gross_share:
        return False
    if cause.kind in TERMS:
        return _relative_error(bench) > limits.gross_error
    if cause.kind in ("gear ratio", "torque scale", "position scale", "time scale") and cause.size < limits.gross_scale:
        return False
    return cause.kind in NEVER_SMALL or changed >= limits.gross_parameters


def _effect(one: Tried, bench: Bench) -> float:
    """Size of what a cause explains relative to the torques, both weighed."""
    torque = bench.weighed_torque(bench.samples.torque)
    return float(np.sqrt(max(one.gain, 0.0) / max(torque @ torque, 1e-300)))


def _relative_error(bench: Bench) -> float:
    """Norm of the errors over that of the torques, unweighed."""
    measured = np.where(bench.samples.keep, bench.samples.torque, 0.0)
    error = np.where(bench.samples.keep, bench.samples.torque - bench.predicted, 0.0)
    return float(np.linalg.norm(error) / max(np.linalg.norm(measured), 1e-300))


def _changed(one: Tried, bench: Bench, stds: Array) -> float:
    """Share of the base parameters that move by more than two standard deviations once a cause is mended."""
    before = bench.base_values(bench.fit.solution)
    return float(np.mean(np.abs(one.values - before) > 2.0 * stds))


def _impossible(one: Tried, bench: Bench, stds: Array) -> int:
    """How many of friction and motor inertia come out clearly negative once a cause is mended.

    To flip the torque of one joint is to flip those of all others, but for that.
    """
    of_base = [bench.model.parameters[column] for column in bench.base.columns]
    signed = np.array([parameter.link is None and parameter.sign is Sign.NONNEGATIVE for parameter in of_base])
    smaller = np.sqrt(np.clip(1.0 - one.share, 1e-4, 1.0))  # errors shrink once it is mended, and uncertainties do
    return int(np.sum(signed & (one.values < -2.0 * smaller * stds)))


def _is_rival(one: Tried, best: Tried) -> bool:
    if one.gain < THRESHOLDS.rival * best.gain:
        return False
    return gain_certainty(one.held_out, best.held_out) < THRESHOLDS.decided


LIKELY = (
    "torque sign",
    "position sign",
    "joint flipped",
    "torques swapped",
    "joints swapped",
    "positions swapped",
    "gravity axis",
    "time scale",
    "friction",
    "delay",
    "motor inertia",
    "gravity",
    "gear ratio",
    "torque scale",
    "position scale",
    "zero",
    "offset",
    "load friction",
    "stribeck",
    "saturation",
    "flexibility",
    "spring",
    "place",
    "tilt",
)
"""Kinds of causes, from those that are found in logs most often, by judgement: the order of causes that explain the
same."""
