"""Simulated logs as files: the log, an experiment that `dynid identify` runs unchanged, and the truth apart."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.experiment.experiment import Experiment
from dynid.files import write_text
from dynid.simulation import SimulatedLog, check_format, hold_of


@dataclass(frozen=True)
class SimulatedProcessingThresholds:
    """Processing of a simulated log whose experiment states none.

    Shown by `tests/simulation/test_simulate_command.py`: parameters are found again with it.
    """

    cutoff: float = 20.0
    """Cut-off [Hz] of the low-pass on positions: far above exciting trajectories, which have harmonics up to a few
    hertz."""

    highest_cutoff: float = 4.0
    """Sampling rate, in cut-offs, up to which positions are not filtered."""

    transient: float = 2.0
    """Periods of the cut-off that are trimmed at both ends."""

    fast_rate: float = 500.0
    """Sampling rate [Hz] from which rows are decimated by ten."""

    slow_speed: float = 0.02
    """Speed [rad/s or m/s] below which rows are dropped where friction that jumps is in the model: derivatives smear
    its steps."""


THRESHOLDS = SimulatedProcessingThresholds()

JUMPS = ("coulomb", "asymmetric_coulomb", "stribeck", "coupling", "motor_coulomb", "motor_asymmetric_coulomb")
"""Terms whose friction changes its sign at once."""

OPEN = (
    "trajectory", "periods", "settling", "controller", "bandwidth", "damping", "rate", "saturates", "start", "lead_in"
)  # fmt: skip
"""What a log's experiment may say of the simulation: what an experimenter knows, and nothing of the truth."""


def outputs(log: Path) -> tuple[Path, Path, Path]:
    """The files of a simulated experiment: its log, the experiment that identifies from it, and the truth."""
    return log, log.with_suffix(".toml"), log.with_name(f"{log.stem}.truth.npz")


def check_outputs(log: Path, source: str, experiment: Experiment, *, overwrite: bool) -> None:
    """Refuse outputs that cannot be written, exist, or are inputs, before anything is computed.

    Args:
        log: The log to write.
        source: The robot or the experiment file that is simulated.
        experiment: The experiment.
        overwrite: Whether existing files may be replaced; inputs may not.
    """
    check_format(log)
    if not log.parent.is_dir():
        raise InvalidRequestError(f"there is no folder '{log.parent}' for the log '{log.name}'; make it first")
    inputs = {Path(name).resolve() for name in (source, experiment.robot, experiment.simulation.trajectory) if name}
    for path in outputs(log):
        if path.exists() and path.resolve() in inputs:
            raise InvalidRequestError(f"'{path}' is an input of the simulation and would be replaced; name another log")
        if path.exists() and not overwrite:
            raise OutputExistsError(path)


def save_simulation(experiment: Experiment, found: SimulatedLog, log: Path, *, overwrite: bool = False) -> None:
    """Write the log, an experiment that `dynid identify` runs unchanged, and the truth apart.

    Args:
        experiment: The experiment that was simulated.
        found: What the simulation gave.
        log: The log's file; it ends in .csv, .parquet or .npz.
        overwrite: Whether existing files may be replaced.
    """
    for path in outputs(log):
        if path.exists() and not overwrite:
            raise OutputExistsError(path)
    found.save(log, overwrite=overwrite)
    write_text(outputs(log)[1], experiment_text(experiment, log), overwrite=overwrite)


def simulation_data(found: SimulatedLog, log: Path) -> dict[str, Any]:
    """What a simulation gave and where it is saved, as plain data for JSON."""
    names = dict(zip(("log", "experiment", "truth"), map(str, outputs(log)), strict=True))
    data = found.to_dict()
    return {"robot": data.pop("robot"), **names, **data}


def delay_of(experiment: Experiment) -> float:
    """The delay [s] of torques that an experiment states for its logs, or that a simulated log has by itself.

    A controller holds torques: on average they act half a period after they are logged.
    """
    stated = "delay" in experiment.drive.model_fields_set
    return experiment.drive.delay if stated else -hold_of(experiment.simulation)


def experiment_text(experiment: Experiment, log: Path) -> str:
    """An experiment file for a simulated log beside it: what was stated, and how to read and process the log."""
    import tomli_w

    values = experiment.model_dump(exclude_defaults=True, exclude={"log", "simulation", "processing"}, mode="json")
    if not experiment.robot.startswith("builtin:"):
        values["robot"] = str(Path(experiment.robot).resolve())
    known = experiment.simulation.model_dump(exclude_defaults=True, include=set(OPEN), mode="json")
    if "trajectory" in known:
        known["trajectory"] = str(Path(known["trajectory"]).resolve())
    unit = "A" if experiment.drive.torque_constants else "N m"
    columns = {"position": ("q_*", "rad"), "torque": ("tau_*", unit), "time": ("t", "s")}
    values["drive"] = {**values.get("drive", {}), "delay": delay_of(experiment)}
    values["log"] = [
        {what: {"file": log.name, "columns": names, "unit": unit} for what, (names, unit) in columns.items()}
    ]
    values |= {"processing": _processing(experiment), "simulation": known}
    head = "# A simulated log. The truth is in the file beside it that ends in .truth.npz.\n"
    return head + tomli_w.dumps({key: value for key, value in values.items() if value != {}})


def _processing(experiment: Experiment) -> dict[str, Any]:
    """The processing that was stated, or one that suits the log."""
    settings = experiment.simulation
    stated = experiment.processing.model_dump(exclude_unset=True, exclude_none=True, mode="json")
    rate = settings.log_rate or settings.rate
    if not stated:
        if rate > THRESHOLDS.highest_cutoff * THRESHOLDS.cutoff:
            stated |= {"lowpass": THRESHOLDS.cutoff, "trim": round(THRESHOLDS.transient * rate / THRESHOLDS.cutoff)}
        if rate >= THRESHOLDS.fast_rate:
            stated["decimate"] = [10]
        if any(term.partition(":")[0] in JUMPS for term in experiment.terms):
            stated["velocity_threshold"] = THRESHOLDS.slow_speed
    if (settings.sensors.jitter or settings.sensors.dropped) and "period" not in stated:
        stated.setdefault("resample", rate)
    return stated or {"automatic": False}
