"""`simulate`: a simulated robot follows a trajectory under a controller, and is logged as a real one would be."""

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation import Followable, as_motion, robot_of_motion
from dynid.files import write_bytes
from dynid.findings import Finding
from dynid.logs import Log, Transmission
from dynid.model import DynamicModel, Term, known_model
from dynid.robot import Robot, as_robot
from dynid.settings import checked
from dynid.simulation.closed_loop import Run, follow
from dynid.simulation.desired_motion import Repeated, check_limits
from dynid.simulation.plant import require_simple_joints
from dynid.simulation.sensors import measure, torque_constants
from dynid.simulation.settings import Sensors, SimulationSettings
from dynid.simulation.simulated_robot import SimulatedRobot, nominal_robot, simulated_robot, stated_terms


@dataclass(frozen=True)
class EffortThresholds:
    """When a simulated joint is said to reach its effort limit."""

    saturated_share: float = 0.01
    """Share of samples at a joint's effort limit from which it is worth a finding: single ticks at a start do not
    matter. By judgement; not calibrated."""


THRESHOLDS = EffortThresholds()

FORMATS = (".csv", ".parquet", ".npz")
"""How the name of a log may end."""

FRICTION = ("direction", "kinetic", "breakaway", "stribeck", "smoothing", "sigmoid")
"""What the truth holds of dry friction."""


@dataclass(frozen=True, eq=False)
class SimulatedLog:
    """The log of a simulated robot, and the truth behind it.

    Attributes:
        settings: What was simulated.
        robot: The robot that was simulated: the true parameters.
        run: What it really did.
        log: What its sensors logged.
        findings: What users should know.
    """

    settings: SimulationSettings
    robot: SimulatedRobot
    run: Run
    log: Log
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return (
            f"SimulatedLog({self.robot.robot.name}: {len(self.log)} samples, {self.duration:.4g} s, "
            f"RMS tracking error {self.rmse_tracking:.3g})"
        )

    @property
    def duration(self) -> float:
        """How long the run takes [s]."""
        return float(self.run.time[-1] * len(self.run.time) / max(1, len(self.run.time) - 1))

    @property
    def rmse_tracking(self) -> float:
        """Root mean square of all joints' distances from the reference [rad or m]."""
        return float(np.sqrt(np.mean(self.run.tracking_error**2)))

    @property
    def torque_constants(self) -> Array:
        """True torque constants in parts of the stated ones, shape (nv,)."""
        return torque_constants(self.settings.sensors, self.robot.robot.nv, self.settings.specimen)

    def to_dict(self) -> dict[str, Any]:
        """Give what the robot did as plain data for JSON."""
        run, robot = self.run, self.robot.robot
        peaks = zip(run.tracking_error, np.abs(run.torque).max(axis=0), run.rests.mean(axis=0), strict=True)
        return {
            "robot": robot.name,
            "samples": len(self.log),
            "duration": self.duration,
            "rmse_tracking": self.rmse_tracking,
            "joints": [
                {"name": joint.name, "rmse_tracking": float(error), "largest_torque": float(torque)}
                | {"rests": float(rests)}
                for joint, (error, torque, rests) in zip(robot.independent_joints, peaks, strict=True)
            ],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, Path]:
        """Write the log (.csv, .parquet or .npz), and the truth in a file of its own beside it.

        Returns:
            The paths of both.

        Raises:
            OutputExistsError: If a file exists and may not be replaced.
        """
        log = Path(path)
        truth = log.with_name(f"{log.stem}.truth.npz")
        write_log(log, self.log, self.robot.robot, overwrite=overwrite)
        write_truth(truth, self.robot, self.run, self.torque_constants, overwrite=overwrite)
        return log, truth


def simulate(robot: Robot | str | os.PathLike[str], motion: Followable, **options: Any) -> Log:
    """Let a simulated robot follow a trajectory, and log it; arguments are those of `simulate_run`.

    >>> log = simulate("builtin:two_link", ([0.0, 0.5, 1.0], [[0, 0], [0, 0], [0, 0]]), noise=0.1, seed=1)
    >>> log.torque.shape
    (1000, 2)
    """
    return simulate_run(robot, motion, **options).log


def simulate_run(
    robot: Robot | str | os.PathLike[str],
    motion: Followable,
    *,
    terms: str | Sequence[str | Term] | None = None,
    settings: SimulationSettings | Mapping[str, Any] | None = None,
    sensors: Sensors | Mapping[str, Any] | None = None,
    noise: float | Sequence[float] | None = None,
    drive: Transmission | None = None,
    delay: float | None = None,
    known_values: Mapping[str, float] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    **changes: Any,
) -> SimulatedLog:
    """Let a simulated robot follow a trajectory, and keep the truth beside its log.

    Args:
        robot: The robot: a path, `builtin:NAME`, or a loaded one.
        motion: What to follow: what `excite` returned, a `Trajectory`, arrays (t, q) or (t, q, v, a), the path of a
            trajectory file, or anything with a `duration` and `states(times)`.
        terms: Friction and actuator terms, as names or objects; those that the robot's file gives values for when None.
        settings: Keys of `[simulation]`.
        sensors: Keys of `[simulation.sensors]`; the settings' when None.
        noise: Standard deviation of white noise on torques [N m, or A]; the sensors' when None.
        drive: The drives between joints and what is logged; one to one when None.
        delay: Time [s] by which torques are logged later than they act, on average. When None they are logged at the
            controller's ticks, and act, held, half a tick later.
        known_values: Values of nonlinear parameters of the terms.
        progress: Callback; receives a short description of each step.
        changes: Keys of `[simulation]` that replace the settings', such as `seed` or `controller`.

    Raises:
        InvalidRequestError: If the trajectory leaves the robot's limits, or a setting contradicts the robot.
        LostError: If a joint no longer follows; says when, and which.
    """
    stated = checked(SimulationSettings, settings, **changes)
    several = tuple(noise) if isinstance(noise, Sequence) else noise
    stated = stated.model_copy(update={"sensors": checked(Sensors, sensors or stated.sensors, noise=several)})
    robot = robot_of_motion(as_robot(robot), motion)
    model = known_model(robot, stated_terms(robot) if terms is None else terms, known_values or {})
    require_simple_joints(model.robot)
    nominal, made_up = nominal_robot(model)
    true = simulated_robot(model, nominal.parameters, stated)
    trajectory = Repeated(as_motion(motion, model.robot), stated.periods)
    check_limits(trajectory, model.robot)
    progress(f"Simulating {trajectory.duration:.3g} s")
    run = followed(true, trajectory, stated, nominal)
    known_delay = 0.0 if delay is None else delay + hold_of(stated)
    log = measure(run, stated.sensors, drive, seed=stated.seed, specimen=stated.specimen, known_delay=known_delay)
    findings = (*_on_bodies(made_up), *_on_limits(run, stated.limits(model.robot), model))
    return SimulatedLog(stated, true, run, log, findings)


def followed(robot: SimulatedRobot, trajectory: Repeated, settings: SimulationSettings, nominal: SimulatedRobot) -> Run:
    """The run of a robot on a trajectory, with the start, lead-in and settling that settings state."""
    return follow(
        robot,
        trajectory,
        settings,
        nominal=nominal,
        log_rate=settings.log_rate,
        start=None if settings.start is None else np.array(settings.start),
        lead_in=settings.lead_in,
        settling=settling_of(settings, trajectory),
    )


def settling_of(settings: SimulationSettings, trajectory: Repeated) -> float:
    """Seconds before the log in which a periodic trajectory is followed: a period, if nothing else is stated."""
    rounds = settings.settling if settings.settling is not None else int(settings.periods > 1)
    return rounds * trajectory.once.duration


def hold_of(settings: SimulationSettings) -> float:
    """The time [s] by which torques act later than they are logged, on average: half a tick of the controller."""
    return 0.5 / settings.rate


def _on_bodies(made_up: Sequence[str]) -> tuple[Finding, ...]:
    return (Finding.of("inertia-made-up", "links", links=list(made_up)),) if made_up else ()


def _on_limits(run: Run, limits: Array, model: DynamicModel) -> tuple[Finding, ...]:
    shares = np.mean(np.abs(run.torque) >= limits, axis=0)
    return tuple(
        Finding.of(
            "at-effort-limit",
            f"joint '{joint.name}'",
            limit=float(limits[joint.v.start]),
            share=float(shares[joint.v.start]),
        )
        for joint in model.robot.independent_joints
        if shares[joint.v.start] > THRESHOLDS.saturated_share
    )


def check_format(path: Path) -> None:
    """Refuse a log whose name does not end in one of `FORMATS`."""
    if path.suffix not in FORMATS:
        raise InvalidRequestError(f"the log '{path}' must end in {', '.join(FORMATS)}")


def write_log(path: Path, log: Log, robot: Robot, *, overwrite: bool = False) -> None:
    """Write a log with the columns t, q_1, q_2, ... and tau_1, tau_2, ..., after the joints' numbers."""
    check_format(path)
    numbers = [joint.number for joint in robot.independent_joints]
    columns = {"t": log.time}
    columns |= {f"q_{number}": log.position[:, k] for k, number in enumerate(numbers)}
    columns |= {f"tau_{number}": log.torque[:, k] for k, number in enumerate(numbers)}
    stream = io.BytesIO()
    if path.suffix == ".npz":
        np.savez_compressed(stream, **columns)  # type: ignore[arg-type]
    else:
        import polars as pl

        frame = pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})
        frame.write_csv(stream) if path.suffix == ".csv" else frame.write_parquet(stream)
    write_bytes(path, stream.getvalue(), overwrite=overwrite)


def write_truth(
    path: Path, robot: SimulatedRobot, run: Run, torque_constants: Array | None = None, *, overwrite: bool = False
) -> None:
    """Write what really was: exact states and torques, parameters with their names, friction and torque constants.

    The file is an NPZ without pickle. Arrays of friction have a row for each dry element, as in `JointForces`.

    Args:
        path: The file.
        robot: The robot that was simulated.
        run: What it did.
        torque_constants: True torque constants in parts of the stated ones, shape (nv,); ones when None.
        overwrite: Whether an existing file may be replaced.
    """
    stream = io.BytesIO()
    friction = {f"friction_{name}": getattr(robot.forces, name) for name in FRICTION}
    np.savez_compressed(
        stream,
        names=np.array(robot.model.names),
        parameters=robot.parameters,
        torque_constants=np.ones(run.q.shape[1]) if torque_constants is None else torque_constants,
        **friction,
        **vars(run),
    )
    write_bytes(path, stream.getvalue(), overwrite=overwrite)
