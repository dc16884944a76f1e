"""A log: what was measured while a robot moved, as arrays in SI units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.findings import Finding
from dynid.logs.commands import Commands, LawForm, law_torque
from dynid.logs.contacts import CONTACT, Contact, Stance, contacts_of
from dynid.logs.missing_cells import filled
from dynid.logs.quaternions import with_steady_signs
from dynid.logs.readers.source import RecordingError
from dynid.logs.settings import COMMANDS
from dynid.robot import LARGEST_NUMBER, Load

if TYPE_CHECKING:
    import polars as pl

SIGNALS = ("position", "torque", "velocity", "temperature", "wrench", "base_pose", *COMMANDS)

WRENCH_COLUMNS = 6
"""Channels of a force-torque sensor: three forces, then three torques."""

POSE_COLUMNS = 7
"""Numbers of a pose: a position, then a quaternion (x, y, z, w)."""

LONGEST_STRETCH = 0.02
"""How far the length of a logged quaternion may be from one: printed digits and filters change it by less."""


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """What was measured, in SI units, on the side (motor or joint) on which it was logged.

    Everything array-like is accepted, and is not copied; signals of a single joint may have the shape (samples,).

    Attributes:
        time: Time stamps [s], shape (samples,).
        position: Positions [rad or m], shape (samples, joints).
        torque: Torques, forces or currents [N m, N or A], shape (samples, joints). Where it is left out, and commands
            are given, it is the torque of the control law.
        velocity: Velocities [rad/s or m/s], shape (samples, joints); None where they were not logged.
        position_command: Commanded positions [rad or m], held until the next one, shape (samples, joints).
        velocity_command: Commanded velocities [rad/s or m/s], shape (samples, joints); zero when None.
        torque_command: Torques [N m or N] that are added to those of the law, shape (samples, joints).
        kp: Torque per error of position [N m/rad or N/m]: one number, one for each joint, or (samples, joints);
            (samples, 1) for all joints.
        kd: Torque per error of velocity [N m s/rad or N s/m], likewise; zero when None.
        effort_limit: Largest torque of the law [N m or N], one number or one for each joint; None where there is none.
        back_emf: Torque that a servo's motor under a voltage loses with speed, beyond that limit [N m s/rad], one
            number or one for each joint; None for drives that control torques. `Servo.law` gives it with the gains.
        command_delay: How much later commands act than they are logged [s], for the torque of the law; None where that
            is yet to be found.
        law: How the law acts: "continuous" or "sampled", as in `[control]` of an experiment.
        temperature: Temperatures [degrees Celsius], shape (samples, 1) or (samples, joints); None where they were not
            logged.
        name: What the log is called in reports.
        weight: Rows of this log are multiplied with it in the estimation.
        static: Whether only the postures count in which the robot stands still (True), or each row is a posture
            ("rows"): they say nothing of inertia and of friction.
        source: The files it was read from.
        findings: What was noticed while it was read.
        wrench: What a force-torque sensor at the wrist measured: forces [N] and torques [N m] that the robot exerts on
            what is beyond the sensor, along the axes of `wrench_body` and about its origin, shape (samples, 6); None
            where there is none. With it, `torque` may be left out.
        wrench_body: Name of the body of the robot's file whose frame is that of the sensor; the last link when None.
        load: What the robot carried: a `Load` that is known, whose torques are taken out before anything is identified;
            the name of one that is yet to be identified; or None for nothing.
        base_pose: Pose of a floating base, the root body of the robot's file, in the world: x, y, z [m] and quaternion
            (x, y, z, w), shape (samples, 7); None where the base is fixed, or `stance` says where it is.
        stance: The body that rests on the ground, by name or as a `Stance`, or several of them: the pose of the base
            then follows from the positions of the joints, by the first.
        contacts: Where surroundings act on a robot with a floating base, with the wrench of each; none, `()`, in free
            flight. With contacts, `torque` may be left out: the motion of the base is enough.
        missing: Which torques were not measured, but interpolated so that filters can run, shape (samples, joints);
            their rows do not count. None where all were measured.
        is_commanded: Whether torques are those of the law; found by itself.
        first_stamp: Time stamp [s] of the first sample before the log was cut; that of the log itself when NaN.

    Raises:
        ShapeError: If the arrays do not fit each other.
        InvalidRequestError: If a number is NaN or infinite, or there are no samples.

    >>> log = Log(time=[0.0, 0.1, 0.2], position=[0.0, 0.1, 0.3], torque=[1.0, 2.0, 1.0], name="swing")
    >>> log
    Log 'swing': 3 samples in 0.2 s (10 Hz), 1 joint
    >>> log[1:].torque.tolist()
    [[2.0], [1.0]]
    >>> Log(time=[0.0, 0.1], position=[0.0, 0.0], position_command=[0.0, 0.2], kp=20.0).torque.tolist()
    [[0.0], [4.0]]
    """

    time: Array
    position: Array
    torque: Array = None  # type: ignore[assignment]  # never None: it is computed where commands are given instead
    velocity: Array | None = None
    temperature: Array | None = None
    position_command: Array | None = None
    velocity_command: Array | None = None
    torque_command: Array | None = None
    kp: Array | None = None
    kd: Array | None = None
    effort_limit: Array | None = None
    back_emf: Array | None = None
    command_delay: float | None = None
    law: LawForm = "continuous"
    is_commanded: bool = False
    name: str = ""
    weight: float = 1.0
    static: bool | Literal["rows"] = False
    source: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()
    first_stamp: float = math.nan
    missing: NDArray[np.bool_] | None = None
    load: Load | str | None = None
    wrench: Array | None = None
    wrench_body: str | None = None
    base_pose: Array | None = None
    stance: Stance | str | Sequence[Stance | str] | None = None
    contacts: Sequence[Contact] | None = None

    def __post_init__(self) -> None:
        time = _read_only(self.time, "time")
        if time.ndim != 1:
            raise ShapeError("time", "(samples,)", time.shape)
        if not len(time):
            raise InvalidRequestError("a log needs samples, and this one has none")
        object.__setattr__(self, "time", time)
        for name in SIGNALS:
            values = getattr(self, name)
            if values is not None:
                values = _read_only(values, name)
                if name in ("kp", "kd"):
                    values = _for_all(values, name, self.position.shape)
                values = values[:, None] if values.ndim == 1 else values
                object.__setattr__(self, name, values)
        for name in ("effort_limit", "back_emf"):
            if getattr(self, name) is not None:
                values = _for_all(_read_only(getattr(self, name), name), name, self.position.shape)
                object.__setattr__(self, name, values[0])
        self._complete_contacts()
        self._check_shapes()
        if self.torque is None:
            object.__setattr__(self, "torque", self._law_torque())
            object.__setattr__(self, "is_commanded", True)
        if math.isnan(self.first_stamp):
            object.__setattr__(self, "first_stamp", float(time[0]))

    def _complete_contacts(self) -> None:
        """Make the body that rests and contacts what they are; with wrenches alone, no torque was measured."""
        if self.stance is not None:
            object.__setattr__(self, "stance", Stance.several(self.stance) or None)
        if self.contacts is not None:
            object.__setattr__(self, "contacts", contacts_of(self.contacts))
        if self.torque is not None or self.position_command is not None:
            return
        if self.wrench is not None or self.contacts is not None:
            nothing = np.zeros((len(self.time), self.position.shape[1]))
            object.__setattr__(self, "torque", frozen(nothing))
            if self.contacts is not None:
                object.__setattr__(self, "missing", np.ones(nothing.shape, dtype=bool))

    def _check_shapes(self) -> None:
        samples, n = len(self.time), self.position.shape[-1]
        joints = {"positions": self.position, "velocities": self.velocity, "torques": self.torque}
        joints |= {name: getattr(self, name) for name in COMMANDS}
        spherical = self._spherical_joints()
        for what, values in joints.items():
            width = n - spherical if what == "torques" else n
            if values is not None and values.shape != (samples, width):
                raise ShapeError(what, f"({samples}, {width})", values.shape)
        n -= spherical
        self._check_base(samples)
        if self.missing is not None and self.missing.shape != (samples, n):
            raise ShapeError("missing torques", f"({samples}, {n})", self.missing.shape)
        if self.wrench is not None and self.wrench.shape != (samples, WRENCH_COLUMNS):
            raise ShapeError("wrench", f"({samples}, {WRENCH_COLUMNS})", self.wrench.shape)
        if self.temperature is not None and self.temperature.shape not in ((samples, 1), (samples, n)):
            raise ShapeError("temperatures", f"({samples}, 1) or ({samples}, {n})", self.temperature.shape)

    def _spherical_joints(self) -> int:
        """How many joints have a quaternion among positions: each has four positions and three torques."""
        n = self.position.shape[-1]
        fewer = 0 if self.torque is None or self.torque.ndim != 2 else n - self.torque.shape[1]
        return fewer if 0 < fewer <= n // 4 else 0

    def _check_base(self, samples: int) -> None:
        """Refuse what the pose of a base, or contacts, cannot be."""
        if self.base_pose is not None:
            if self.base_pose.shape != (samples, POSE_COLUMNS):
                raise ShapeError("base poses", f"({samples}, {POSE_COLUMNS})", self.base_pose.shape)
            off = np.abs(np.linalg.norm(self.base_pose[:, 3:], axis=1) - 1.0)
            worst = int(np.argmax(off))
            if off[worst] > LONGEST_STRETCH:
                length = np.linalg.norm(self.base_pose[worst, 3:])
                raise InvalidRequestError(
                    f"the quaternion of base_pose has the length {length:.4g} instead of 1 in sample {worst}; give "
                    "x, y, z [m], then the quaternion as x, y, z, w"
                )
            if self.stance is not None:
                raise InvalidRequestError(
                    "a log has base_pose and stance, which both say where the base is; leave one out"
                )
        for contact in contacts_of(self.contacts or ()):
            contact.require_samples(samples)

    def _law_torque(self) -> Array:
        """The torque of the control law, with its delay and form where they are known; else it acts at once."""
        if self.position_command is None or self.kp is None:
            missing = "torques" if self.position_command is None else "the gain kp of its controller"
            raise InvalidRequestError(
                f"a log has no {missing}; give torque, or position_command with kp (and kd) of the control law"
            )
        torque = law_torque(self.commands, self.time, self.position, self.velocity, self.command_delay, self.law)
        torque.flags.writeable = False
        return torque

    @property
    def commands(self) -> Commands:
        """What the robot was commanded, and the gains of the law.

        Raises:
            InvalidRequestError: If there are no commands, or no gains.
        """
        if self.position_command is None or self.kp is None:
            raise InvalidRequestError(f"{self.name or 'the log'} has no commands with gains: only measured torques")
        kd = np.zeros_like(self.kp) if self.kd is None else self.kd
        limits = self.effort_limit, self.back_emf
        return Commands(self.position_command, self.velocity_command, self.torque_command, self.kp, kd, *limits)

    def with_law(self, delay: float, law: LawForm, scales: Array | None = None) -> Log:
        """The log with torques of its control law, once it is known how that acts.

        Args:
            delay: How much later commands act than they are logged [s].
            law: How the law acts.
            scales: True gains over stated ones, shape (joints,); ones when None. Those of servos are true stall
                torques over stated ones, and limits have them, too.
        """
        gains = {} if scales is None else {"kp": self.commands.kp * scales, "kd": self.commands.kd * scales}
        if scales is not None and self.back_emf is not None and self.effort_limit is not None:
            gains["effort_limit"] = self.effort_limit * scales
        return replace(self, torque=None, command_delay=delay, law=law, **gains)  # type: ignore[arg-type]

    @property
    def standing(self) -> tuple[Stance, ...]:
        """The bodies that rest on the ground; the pose of the base follows from the first."""
        return cast("tuple[Stance, ...]", self.stance or ())

    @property
    def has_torques(self) -> bool:
        """Whether any torque was measured, or is that of a control law."""
        return self.missing is None or not self.missing.all()

    @property
    def has_commands(self) -> bool:
        """Whether commands and gains are known."""
        return self.position_command is not None and self.kp is not None

    @staticmethod
    def with_gaps(
        time: object, position: object, torque: object | None = None, velocity: object | None = None, **others: Any
    ) -> Log:
        """A log of arrays in which NaN or infinite numbers stand for what was not measured.

        Short gaps are interpolated, torques that were not measured do not count, and rows of positions in long gaps
        are left out; the findings say how many. Commands and gains are held until the next one.

        Args:
            time: Time stamps [s], shape (samples,).
            position: Positions [rad or m], shape (samples, joints).
            torque: Torques, forces or currents [N m, N or A], shape (samples, joints); None where commands are given.
            velocity: Velocities [rad/s or m/s], shape (samples, joints); None where they were not logged.
            **others: Other attributes of a log, such as `position_command`, `kp` and `kd`, or `base_pose` and
                `contacts`.

        >>> log = Log.with_gaps([0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.3], [1.0, float("nan"), 1.0, 1.0])
        >>> log.missing.ravel().tolist()
        [False, True, False, False]
        """
        given = {"position": position, "torque": torque, "velocity": velocity}
        given |= {name: others.pop(name, None) for name in ("temperature", "wrench", "base_pose", *COMMANDS[:3])}
        contacts = None if others.get("contacts") is None else contacts_of(others.pop("contacts"))
        given |= {f"{CONTACT}{k}": contact.wrench for k, contact in enumerate(contacts or ())}
        signals = {name: np.asarray(x, dtype=np.float64) for name, x in given.items() if x is not None}
        signals = {name: x[:, None] if x.ndim == 1 else x for name, x in signals.items()}
        names = {name: [f"{name} {k + 1}" for k in range(x.shape[1])] for name, x in signals.items()}

        def contacts_with(wrenches: Mapping[str, Array]) -> Sequence[Contact] | None:
            found = (wrenches.get(f"{CONTACT}{k}") for k in range(len(contacts or ())))
            pairs = zip(contacts or (), found, strict=True)
            return None if contacts is None else [replace(one, wrench=wrench) for one, wrench in pairs]

        stamps = np.asarray(time, dtype=np.float64)
        return of_gaps(stamps, signals, {"time": ["time"], **names}, contacts_with, **others)[0]

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> Log:
        """Some of the samples."""
        return self.at(part)

    def at(self, rows: slice | np.ndarray) -> Log:
        """Some of the samples: a slice, indices, or a mask."""
        signals = {name: None if (x := getattr(self, name)) is None else x[rows] for name in SIGNALS}
        missing = None if self.missing is None else self.missing[rows]
        contacts = None if self.contacts is None else tuple(one.changed(lambda x: x[rows]) for one in self.contacts)
        return replace(self, time=self.time[rows], missing=missing, contacts=contacts, **signals)

    @property
    def mean_temperature(self) -> tuple[Array, Array] | None:
        """Time stamps [s] and the mean temperature of the joints [degrees Celsius], where it was logged."""
        return None if self.temperature is None else (self.time, self.temperature.mean(axis=1))

    def __repr__(self) -> str:
        length = float(self.time[-1] - self.time[0])
        name = f" '{self.name}'" if self.name else ""
        rate = f" ({(len(self) - 1) / length:.4g} Hz)" if length > 0 else ""
        n = self.position.shape[1]
        also = "".join(f", {what}" for what in ("velocity", "temperature", "wrench") if getattr(self, what) is not None)
        also += ", base pose" if self.base_pose is not None else ""
        also += f", standing on {' and '.join(one.body for one in self.standing)}" if self.standing else ""
        if self.contacts is not None:
            also += f", {len(self.contacts)} contact{'' if len(self.contacts) == 1 else 's'}"
        also += ", commands" if self.has_commands else ""
        if self.load is not None:
            also += f", load '{self.load}'" if isinstance(self.load, str) else f", load of {self.load.mass:.4g} kg"
        return f"Log{name}: {len(self)} samples in {length:.4g} s{rate}, {n} joint{'s' if n > 1 else ''}{also}"

    def to_frame(self) -> pl.DataFrame:
        """A Polars table with the columns t, q_1, ..., v_1, ..., tau_1, ..., temperature_1, ..."""
        import polars as pl

        columns: dict[str, Any] = {"t": self.time}
        letters = {"q": self.position, "v": self.velocity, "tau": self.torque, "temperature": self.temperature}
        letters |= {"q_command": self.position_command, "v_command": self.velocity_command}
        letters |= {"wrench": self.wrench, "tau_command": self.torque_command, "kp": self.kp, "kd": self.kd}
        letters |= {"base": self.base_pose}
        letters |= {f"contact{k}_{one.body}": one.wrench for k, one in enumerate(self.contacts or (), start=1)}
        for letter, values in letters.items():
            if values is not None:
                columns |= {f"{letter}_{k}": column for k, column in enumerate(values.T, start=1)}
        return pl.DataFrame(columns)


def of_gaps(
    time: Array,
    signals: Mapping[str, Array],
    names: Mapping[str, Sequence[str]],
    contacts_with: Callable[[Mapping[str, Array]], Sequence[Contact] | None] | None = None,
    **others: Any,
) -> tuple[Log, np.ndarray | None]:
    """A log of signals with missing cells, and which rows of them it has; None for all.

    Args:
        time: Time stamps [s], shape (samples,).
        signals: Signals by name, shape (samples, columns). Without torques, they are those of the control law.
        names: Names of the columns of each signal, and of "time".
        contacts_with: Gives the contacts of a floating robot with their wrenches, which are signals by their roles.
        **others: Other attributes of a log; gains among them may be of any shape that a log takes.

    Raises:
        RecordingError: If no row of the files remains.
        InvalidRequestError: If there are neither torques nor commands with gains.
    """
    gains = {name: x for name in COMMANDS[3:] if (x := others.pop(name, None)) is not None}
    shape = signals["position"].shape
    gains = {name: _for_all(np.asarray(x, dtype=np.float64), name, shape) for name, x in gains.items()}
    if "base_pose" in signals:
        signals = {**signals, "base_pose": with_steady_signs(signals["base_pose"])}
    whole = filled(time, {**signals, **gains}, names)
    if not len(whole.time) and others.get("source"):
        raise RecordingError(others["source"][0], "no row holds a stamp and all positions; choose other columns")
    found = (*others.pop("findings", ()), *whole.findings)
    own = {role: x for role, x in whole.signals.items() if not role.startswith(CONTACT)}
    if contacts_with is not None:
        others["contacts"] = contacts_with({role: x for role, x in whole.signals.items() if role not in own})
    with np.errstate(divide="ignore", invalid="ignore"):
        log = Log(time=whole.time, **own, missing=whole.missing, findings=found, **others)
    if np.isfinite(log.torque).all():
        return log, whole.rows
    # Stamps that repeat leave the law without velocities: such torques are interpolated, and do not count.
    torque, rows = log.torque.copy(), np.arange(len(log))
    lost = ~np.isfinite(torque)
    for k in np.flatnonzero(lost.any(axis=0)).tolist():
        there = ~lost[:, k]
        torque[:, k] = np.interp(rows, rows[there], torque[there, k]) if there.any() else 0.0
    return replace(log, torque=torque, missing=lost if log.missing is None else log.missing | lost), whole.rows


def _for_all(values: Array, what: str, shape: tuple[int, ...]) -> Array:
    """Gains or limits of all samples and joints, shape (samples, joints), of one number or one for each joint."""
    shape = (*shape, 1)[:2]
    if values.ndim == 2 and values.shape == (shape[0], 1):  # one column for all joints
        return np.broadcast_to(values, shape)
    if values.ndim == 2 and values.shape == shape:
        return values
    if values.ndim == 1 and shape[1] == 1 and len(values) == shape[0] and shape[0] != 1:
        return values[:, None]
    if values.ndim > 1 or values.size not in (1, shape[1]):
        raise ShapeError(what, f"(), ({shape[1]},) or {shape}", values.shape)
    return np.broadcast_to(values, shape)


def _read_only(values: object, what: str) -> Array:
    """A view of an array that cannot be written to; all its numbers are finite, and not beyond all measurements."""
    try:
        array = np.asarray(values, dtype=np.float64).view()
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{what} of a log must be an array of numbers: {error}") from error
    if array.size and not (array.min() >= -LARGEST_NUMBER and array.max() <= LARGEST_NUMBER):
        bad = np.argwhere(~np.isfinite(array))
        if not len(bad):
            at = np.argwhere(np.abs(array) > LARGEST_NUMBER)[0]
            raise InvalidRequestError(
                f"{what} of a log holds {array[tuple(at)]:.3g} in sample {at[0]}, which is no measurement; repair or "
                "remove it"
            )
        raise InvalidRequestError(
            f"{what} of a log holds {len(bad)} values that are NaN or infinite, the first in sample {bad[0][0]}; "
            "give it as Log.with_gaps(...) where they stand for what was not measured"
        )
    array.flags.writeable = False
    return array
