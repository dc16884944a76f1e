"""What is said of an observation: how velocities and time were found, and what thresholds and contacts rest on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynid.estimation import ALARM_THRESHOLDS, ContactLimits, ExternalContact
from dynid.findings import Finding
from dynid.logs import ControllerClock


@dataclass(frozen=True)
class ObservationThresholds:
    """What is said of an observation.

    By judgement.
    """

    lasting: float = 3.0
    """Time [s] from which a contact is more likely a load, or another robot than was identified."""

    resting: float = 0.01
    """Share of the held-out time in which the robot rests, from which thresholds near rest are said to rest on data."""


OBSERVATION_THRESHOLDS = ObservationThresholds()


def findings_on_observation(
    thresholds: ContactLimits, contacts: Sequence[ExternalContact], clock: ControllerClock | None, *, used: bool
) -> tuple[Finding, ...]:
    """What was noticed.

    Args:
        thresholds: The thresholds.
        contacts: The contacts.
        clock: The clock of the controller, where it was restored.
        used: Whether the result was identified from the log.
    """
    return tuple(_found(thresholds, contacts, clock, used=used))


def _found(
    thresholds: ContactLimits, contacts: Sequence[ExternalContact], clock: ControllerClock | None, *, used: bool
) -> Iterator[Finding]:
    if used:
        yield Finding.of("observed-log-used", "log")
    if clock is not None:
        rate = 1.0 / clock.period
        yield Finding.of("controller-clock-restored", "time", rate=rate, repeated=clock.repeated, missed=clock.missed)
    if thresholds.cutoff is not None:
        yield Finding.of("observed-velocities-filtered", "velocities", cutoff=thresholds.cutoff)
    yield from findings_on_thresholds(thresholds)
    longest = max(contacts, key=lambda contact: contact.seconds, default=None)
    if longest is not None and longest.seconds > OBSERVATION_THRESHOLDS.lasting:
        subject, start, torque = f"joint '{longest.joint}'", longest.start, longest.torque
        yield Finding.of("contact-lasts", subject, start=start, seconds=longest.seconds, torque=torque)


def findings_on_thresholds(thresholds: ContactLimits) -> Iterator[Finding]:
    """What thresholds rest on."""
    if thresholds.extrapolation > ALARM_THRESHOLDS.extrapolated:
        yield Finding.of(
            "contact-rate-extrapolated",
            "thresholds",
            factor=thresholds.extrapolation,
            seconds=thresholds.seconds,
            rate=thresholds.false_alarms_per_minute,
            lower=thresholds.interval[0],
            upper=thresholds.interval[1],
        )
    if thresholds.resting < OBSERVATION_THRESHOLDS.resting:
        yield Finding.of("contact-thresholds-without-rest", "thresholds", share=thresholds.resting)
