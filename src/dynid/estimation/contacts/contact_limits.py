"""Contact thresholds of every joint for a rate of false alarms, from residuals without contact."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.estimation.contacts.extreme_rates import Tails, fitted_tails
from dynid.estimation.contacts.momentum_observer import ObserverSignals
from dynid.estimation.contacts.speed_levels import SpeedLevel, fitted_level
from dynid.estimation.correlation import correlation_samples


@dataclass(frozen=True)
class AlarmThresholds:
    """What alarms are, and which rates of false ones held-out logs support.

    By judgement where a field does not state otherwise.
    """

    quiet: float = 0.25
    """Time [s] for which all residuals must be within their thresholds before a contact has ended; exceedances closer
    together are one alarm. It is as long as a person takes to let go."""

    settling: float = 4.0
    """Lags of the observer, 1 / gain each, after which its residual counts: it begins as if there were no contact."""

    extrapolated: float = 20.0
    """How many times longer than the held-out logs a joint may have to run for one false alarm without a warning."""

    unsupported: float = 2000.0
    """The same from which thresholds are refused: no tail of some ten peaks reaches that far. It allows one alarm in an
    hour from a minute of a robot with seven joints."""

    near_rest: float = 0.02
    """Speed of a joint, relative to its 99 % quantile, below which it is near rest."""

    confidence: float = 0.9
    """Confidence of the interval of the rate."""


ALARM_THRESHOLDS = AlarmThresholds()


@dataclass(frozen=True, eq=False)
class QuietLog:
    """Residuals of a log without contact.

    Attributes:
        signals: What the observer was given.
        residuals: What it gave [N m or N], shape (samples, nv).
        counts: Samples that count: held out, and the observer has settled; shape (samples,).
    """

    signals: ObserverSignals
    residuals: Array
    counts: Flags

    @property
    def seconds(self) -> float:
        """Time that counts [s]."""
        return float(self.signals.steps[self.counts].sum())


@dataclass(frozen=True, repr=False)
class ContactLimits:
    """Contact thresholds of joints for a rate of false alarms.

    Attributes:
        joints: Names of the joints, in the order of the robot's velocities.
        scales: The threshold of each over its speed.
        gain: Gain of the observer that they are for [1/s].
        false_alarms_per_minute: False alarms that are expected, of all joints together.
        interval: Within which that rate lies with 90 % confidence, by a bootstrap of the held-out peaks [1/min].
        seconds: How long the held-out logs are [s].
        peaks: Peaks of each joint that its threshold rests on.
        extrapolation: How many times longer than the held-out logs a joint runs for one false alarm.
        stds: Standard deviation of the residuals without contact [N m or N].
        lasting: Time over which they are alike [s].
        resting: Share of the held-out time in which all joints were near rest, below `AlarmThresholds.near_rest`.
        cutoff: Cut-off frequency [Hz] of the causal filter that makes velocities of positions; None where velocities
            were logged and taken as they are.
        physical: Whether they are of the physically consistent links.
    """

    joints: tuple[str, ...]
    scales: tuple[SpeedLevel, ...]
    gain: float
    false_alarms_per_minute: float
    interval: tuple[float, float]
    seconds: float
    peaks: tuple[int, ...]
    extrapolation: float
    stds: tuple[float, ...]
    lasting: tuple[float, ...]
    resting: float
    cutoff: float | None
    physical: bool

    def at(self, v: Array) -> Array:
        """The thresholds at velocities, both of shape (samples, nv)."""
        return np.stack([scale.at(column) for scale, column in zip(self.scales, v.T, strict=True)], axis=1)

    def __repr__(self) -> str:
        levels = ", ".join(f"{scale.level:.3g}" for scale in self.scales)
        return (
            f"ContactLimits({levels}; {self.false_alarms_per_minute:g} false alarms per minute from "
            f"{self.seconds:.0f} s, gain {self.gain:g} 1/s)"
        )

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {**vars(self), "interval": list(self.interval), "scales": [vars(scale) for scale in self.scales]}


def find_thresholds(
    logs: Sequence[QuietLog],
    joints: Sequence[str],
    false_alarms_per_minute: float,
    *,
    gain: float,
    cutoff: float | None,
    physical: bool,
) -> ContactLimits:
    """Thresholds that residuals without contact exceed at a rate.

    Args:
        logs: The residuals.
        joints: Names of the joints.
        false_alarms_per_minute: False alarms of all joints together; each gets an equal share.
        gain: Gain of the observer [1/s].
        cutoff: As in `ContactLimits`.
        physical: As in `ContactLimits`.

    Raises:
        InvalidRequestError: If the rate is not positive, or the logs are too short for it.
    """
    if not (np.isfinite(false_alarms_per_minute) and false_alarms_per_minute > 0.0):
        raise InvalidRequestError(
            f"a rate of {false_alarms_per_minute!r} false alarms per minute cannot be had: residuals have no largest "
            "value; state a positive rate, such as 0.0167 for one per hour"
        )
    seconds = sum(log.seconds for log in logs)
    rate = false_alarms_per_minute / 60.0 / len(joints)
    extrapolation = 1.0 / (rate * seconds) if seconds > 0.0 else np.inf
    if extrapolation > ALARM_THRESHOLDS.unsupported:
        least = 60.0 * len(joints) / (ALARM_THRESHOLDS.unsupported * seconds) if seconds > 0.0 else np.inf
        raise InvalidRequestError(
            f"{seconds:.3g} s without contact support no rate of {false_alarms_per_minute:g} false alarms per minute: "
            f"a joint would have to run {extrapolation:.0f} times as long for one; ask for {_upwards(least)} per "
            "minute or more, or give longer held-out logs"
        )
    residuals, v, time = _joined(logs)
    scales, tails = [], list[Tails]()
    for k, joint in enumerate(joints):
        shape = fitted_level(residuals[:, k], v[:, k])
        own = fitted_tails(np.abs(residuals[:, k]) / shape.at(v[:, k]), time, seconds, ALARM_THRESHOLDS.quiet)
        if own is None:
            raise InvalidRequestError(
                f"{seconds:.3g} s without contact are too short for a threshold of joint '{joint}': its residual has "
                "fewer than 8 separate peaks; give longer held-out logs, in which all joints move"
            )
        scales.append(shape.times(own.level(rate)))
        tails.append(own)
    step = float(np.median(logs[0].signals.steps[~logs[0].signals.begins]))
    return ContactLimits(
        joints=tuple(joints),
        scales=tuple(scales),
        gain=float(gain),
        false_alarms_per_minute=float(false_alarms_per_minute),
        interval=_interval(tails, rate),
        seconds=seconds,
        peaks=tuple(own.peaks for own in tails),
        extrapolation=float(extrapolation),
        stds=tuple(float(x) for x in np.sqrt(np.mean(residuals**2, axis=0))),
        lasting=tuple(step * correlation_samples(column) for column in residuals.T),
        resting=float(np.mean((np.abs(v) <= ALARM_THRESHOLDS.near_rest * np.quantile(np.abs(v), 0.99, axis=0)).all(1))),
        cutoff=cutoff,
        physical=physical,
    )


def _joined(logs: Sequence[QuietLog]) -> tuple[Array, Array, Array]:
    """Residuals, velocities and time of all that counts; logs lie far apart in time."""
    parts, begin = [], 0.0
    for log in logs:
        time, keep = log.signals.time, log.counts
        parts.append((log.residuals[keep], log.signals.v[keep], time[keep] - time[0] + begin))
        begin += float(time[-1] - time[0]) + 10.0 * ALARM_THRESHOLDS.quiet
    residuals, v, time = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return residuals, v, time


def _interval(tails: Sequence[Tails], rate: float) -> tuple[float, float]:
    """The rate of all joints [1/min] over the draws of the bootstrap."""
    total = sum(own.exceeded(own.level(rate)) for own in tails)
    tail = 0.5 * (1.0 - ALARM_THRESHOLDS.confidence)
    low, high = 60.0 * np.quantile(total, [tail, 1.0 - tail])
    return float(low), float(high)


def _upwards(value: float) -> str:
    """A number with two digits, rounded up."""
    if not np.isfinite(value):
        return "none"
    digits = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return f"{np.ceil(value / digits) * digits:.2g}"
