"""Where the quantities of a log are, as an experiment states it: columns of files, or topics of bags."""

from __future__ import annotations

from pathlib import Path

from dynid.arrays import Array
from dynid.config import LogTable, QuantityTable
from dynid.data.bag_columns import joint_columns, time_column
from dynid.data.readers.bags import is_bag
from dynid.data.readers.source import Progress, silent
from dynid.data.recording import Quantity, Recording, read_recording
from dynid.data.tables import read_columns
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.robot.robot import Robot

ABSOLUTE = {"degC": 0.0, "K": 273.15}
"""Units of temperature, and what each shows at 0 degrees Celsius."""

Quantities = tuple[Quantity, Quantity, Quantity | None, Quantity | None]


def quantities_of(log: LogTable, robot: Robot) -> Quantities:
    """Where position, torque, velocity and time are.

    Raises:
        InvalidRequestError: If a topic or a field is named for a file that is no bag.
        RecordingError: If a bag does not hold what is needed of it.
    """
    position = _quantity(log.position, "position", "rad", robot, None)
    topic = log.position.topic
    torque = _quantity(log.torque, "torque", "N m", robot, topic)
    velocity = None if log.velocity is None else _quantity(log.velocity, "velocity", "rad/s", robot, topic)
    if log.time is not None:
        file = Path(log.time.file)
        columns = log.time.columns
        if columns is None and log.time.topic is not None:
            columns = f"{log.time.topic}/time"
        return position, torque, velocity, Quantity(file, log.time.unit or "s", columns, 1 if log.time.flat else None)
    if log.rate is not None or not is_bag(position.file):
        return position, torque, velocity, None
    names = position.columns if isinstance(position.columns, tuple) else ()
    stamps = Quantity(position.file, "s", time_column(position.file, [str(name) for name in names]))
    return position, torque, velocity, stamps


def _quantity(table: QuantityTable, role: str, unit: str, robot: Robot, topic: str | None) -> Quantity:
    """One quantity; one in a bag is on the topic of positions when it names none and is in the same file."""
    path = Path(table.file)
    if not is_bag(path):
        if table.topic is not None or table.field is not None:
            raise InvalidRequestError(f"{path} is no bag, so it has neither topic nor field; name columns instead")
        return Quantity(path, table.unit or unit, table.columns, robot.nv if table.flat else None)
    own = table.columns
    joints = [joint.name for joint in robot.independent_joints] if own is None else own
    names = [str(name) for name in ([joints] if isinstance(joints, str | int) else joints)]
    return Quantity(path, table.unit or unit, joint_columns(path, role, names, table.topic or topic, table.field))


def temperature_of(log: LogTable, robot: Robot) -> tuple[Array, Array] | None:
    """Stamps [s], shape (samples,), and temperatures of the joints [degrees Celsius], shape (samples, 1 or nv).

    Raises:
        InvalidRequestError: If there are not as many as positions, or neither one for all joints nor one for each.
        UnknownNameError: If there is no such unit.
    """
    table = log.temperature
    if table is None:
        return None
    values = read_columns(Path(table.file), columns=table.columns)
    stamps = recording_of(log.model_copy(update={"rows": None, "seconds": None}), robot).time
    if len(values) != len(stamps):
        raise InvalidRequestError(f"{table.file} has {len(values)} temperatures for {len(stamps)} samples")
    if values.shape[1] not in (1, robot.nv):
        raise InvalidRequestError(
            f"{table.file} has {values.shape[1]} columns of temperatures, and '{robot.name}' has {robot.nv} joints; "
            "name one column for all joints, or one for each"
        )
    unit = table.unit or "degC"
    if unit not in ABSOLUTE:
        raise UnknownNameError("unit of temperature", unit, ABSOLUTE, f" ({table.file})")
    return stamps, values - ABSOLUTE[unit]


def recording_of(log: LogTable, robot: Robot, progress: Progress = silent) -> Recording:
    """What was logged, as it was logged."""
    recording = read_recording(*quantities_of(log, robot), log.rate, log.rows, log.seconds, progress=progress)
    if recording.q.shape[1] != robot.nv:
        joints = ", ".join(joint.name for joint in robot.independent_joints)
        raise InvalidRequestError(
            f"{log.position.file} has {recording.q.shape[1]} columns of positions, and '{robot.name}' has {robot.nv} "
            f"joints; name one column each for {joints}"
        )
    return recording
