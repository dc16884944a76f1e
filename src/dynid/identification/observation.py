"""Observation of a log: external torques, contacts, and the load that explains them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.estimation import (
    ALARM_THRESHOLDS,
    ContactLimits,
    ExternalContact,
    LoadInMotion,
    find_contacts,
    load_in_motion,
)
from dynid.estimation.contacts.momentum_observer import external_torques, observer_functions
from dynid.findings import Finding
from dynid.identification.contact_recipe import Velocities, contact_thresholds, settled_samples, uses_links
from dynid.identification.observed_logs import ObservedLog, require_observable, unused_logs
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.logs import ControllerClock, Log

Progress = Callable[[str], None]


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


@dataclass(frozen=True, eq=False, repr=False)
class Observation:
    """What torques outside the model did to a robot during a log.

    Attributes:
        name: What the log is called.
        robot: The robot.
        joints: Names of the joints.
        units: Unit of each joint's torque: "N m" or "N".
        time: Time since the first sample of the log [s], shape (samples,).
        velocity: Velocities that the observer was given [rad/s or m/s], shape (samples, joints).
        external_torque: Residuals of the observer [N m or N], shape (samples, joints).
        settled: Samples at which the observer had settled, and contacts were looked for, shape (samples,).
        contacts: The contacts.
        thresholds: The thresholds, with the observer's gain and the rate of false alarms.
        payload: The load at the end that explains external torques best, over time; None where the log is too short.
        findings: What was noticed.
    """

    name: str
    robot: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: Array
    velocity: Array
    external_torque: Array
    settled: Flags
    contacts: tuple[ExternalContact, ...]
    thresholds: ContactLimits
    payload: LoadInMotion | None
    findings: tuple[Finding, ...]

    @property
    def limits(self) -> Array:
        """The threshold of each joint over time [N m or N], shape (samples, joints)."""
        return self.thresholds.at(self.velocity)

    @property
    def seconds(self) -> float:
        """Time in which contacts were looked for [s]."""
        steps = np.diff(self.time, prepend=self.time[:1])
        return float(steps[self.settled].sum())

    def __repr__(self) -> str:
        count = len(self.contacts)
        load = ""
        if self.payload is not None and self.payload.is_seen:
            load = f", load {self.payload.mass[-1]:.3g} ± {self.payload.mass_std[-1]:.1g} kg"
        return (
            f"Observation('{self.name}': {count} contact{'' if count == 1 else 's'} in {self.seconds:.1f} s{load}, "
            f"{len(self.findings)} findings)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the samples, as plain data for JSON."""
        sizes = np.sqrt(np.mean(self.external_torque[self.settled] ** 2, axis=0)) if self.settled.any() else []
        largest = np.abs(self.external_torque[self.settled]).max(axis=0, initial=0.0)
        return {
            "log": self.name,
            "robot": self.robot,
            "seconds": self.seconds,
            "joints": [
                {"name": name, "unit": unit, "rms": float(rms), "largest": float(most), "threshold": vars(scale)}
                for name, unit, rms, most, scale in zip(
                    self.joints, self.units, sizes, largest, self.thresholds.scales, strict=True
                )
            ],
            "contacts": [contact.to_dict() for contact in self.contacts],
            "thresholds": self.thresholds.to_dict(),
            "payload": None if self.payload is None else self.payload.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Save as a folder: `observation.json`, `thresholds.json` (for `dynid export --thresholds`) and the torques.

        Args:
            folder: A new folder, or one of an observation that may be replaced.
            overwrite: Whether it may be.
        """
        from dynid.identification.observation_files import save_observation

        return save_observation(self, Path(folder), overwrite=overwrite)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a page with the external torques: one HTML file that opens without a network.

        Args:
            path: The file to write.
            overwrite: Whether an existing file may be replaced.
        """
        import dynid

        return dynid.write_contact_page(self, path, overwrite=overwrite)


def observe(
    result: Result | str | Path,
    log: Log | str | Path,
    *,
    thresholds: ContactLimits | str | Path | None = None,
    thresholds_from: Sequence[Log | str | Path] = (),
    false_alarms_per_minute: float | None = None,
    gain: float | None = None,
    velocities: Velocities = "auto",
    parameters: Literal["physical", "base"] | None = None,
    body: str | None = None,
    progress: Progress = lambda _: None,
) -> Observation:
    """Run the momentum observer over a log: external torques, contacts, and a load.

    Args:
        result: The result, or the folder that it was saved as.
        log: The log: in memory, a file laid out as the result's own, or an experiment file with one log.
        thresholds: Thresholds that were found before, or their file; they have the gain, the rate and the velocities.
        thresholds_from: Logs without contact to find them from, as in `contact_thresholds`.
        false_alarms_per_minute: The rate of false alarms; 1 when None.
        gain: Gain of the observer [1/s]; as in `contact_thresholds` when None.
        velocities: As in `contact_thresholds`.
        parameters: "physical" or "base"; as code is generated by default when None.
        body: Body that a load is looked for on; the last link when None.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If the log has no torques or is one of another robot, or thresholds do not go with it.
    """
    result = result if isinstance(result, Result) else load_result(result)
    require_observable(result)
    found = thresholds
    if found is not None:
        found = stated_thresholds(result, found)
        others = {"thresholds_from": thresholds_from or None, "gain": gain, "parameters": parameters}
        others |= {"false_alarms_per_minute": false_alarms_per_minute}
        others |= {"velocities": None if velocities == "auto" else velocities}
        stated = next((key for key, value in others.items() if value is not None), None)
        if stated is not None:
            raise InvalidRequestError(f"thresholds that are given have their own {stated}; leave one of both out")
    physical = uses_links(result, parameters) if found is None else found.physical
    one = _single(result, log, physical=physical, progress=progress)
    if found is None:
        rate = 1.0 if false_alarms_per_minute is None else false_alarms_per_minute
        found = contact_thresholds(
            result,
            thresholds_from,
            false_alarms_per_minute=rate,
            gain=gain,
            velocities=velocities,
            parameters=parameters,
            progress=progress,
        )
    progress("Observing external torques")
    return observed_log(result, one, found, body)


def stated_thresholds(result: Result, thresholds: ContactLimits | str | Path) -> ContactLimits:
    """Thresholds in memory or of a file, for a result.

    Raises:
        InvalidRequestError: If they are of other joints.
    """
    if not isinstance(thresholds, ContactLimits):
        from dynid.identification.observation_files import load_thresholds

        thresholds = load_thresholds(thresholds)
    names = result.model.row_names
    if thresholds.joints != tuple(names):
        raise InvalidRequestError(
            f"the thresholds are of the joints {', '.join(thresholds.joints)}, and the result of {', '.join(names)}; "
            "find them again for this robot"
        )
    return thresholds


def _single(result: Result, log: Log | str | Path, *, physical: bool, progress: Progress) -> ObservedLog:
    found = list(unused_logs(result, [log], physical=physical, progress=progress))
    if len(found) != 1:
        raise InvalidRequestError(f"'{log}' holds {len(found)} logs, and one is observed at a time; name one")
    return found[0]


def observed_log(result: Result, log: ObservedLog, thresholds: ContactLimits, body: str | None = None) -> Observation:
    """The observation of a log, with thresholds that are known."""
    signals = log.signals.with_velocities(thresholds.cutoff)
    functions = observer_functions(result.model, log.stretches[0].parameters)
    residuals = external_torques(functions, signals, thresholds.gain)
    settled = settled_samples(signals, thresholds.gain)
    joints = tuple(result.model.row_names)
    contacts = find_contacts(signals.time[settled], residuals[settled], thresholds.at(signals.v[settled]), joints)
    load = None
    if settled.any():
        stds, lasting = np.array(thresholds.stds), np.array(thresholds.lasting)
        load = load_in_motion(result.robot, signals, residuals, thresholds.gain, stds, lasting, body)
    found = Observation(
        name=log.name,
        robot=result.robot.name,
        joints=joints,
        units=tuple("N m" if joint.kind.is_angular else "N" for joint in result.robot.independent_joints),
        time=signals.time,
        velocity=signals.v,
        external_torque=residuals,
        settled=settled,
        contacts=contacts,
        thresholds=thresholds,
        payload=load,
        findings=(),
    )
    return replace(found, findings=findings_on_observation(thresholds, contacts, log.signals.clock, used=log.used))


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
