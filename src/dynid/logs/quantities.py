"""Where the quantities of a log are, as an experiment states it: columns of files, or topics of bags."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dynid.errors import InvalidRequestError
from dynid.logs.contacts import CONTACT
from dynid.logs.readers.bags import is_bag, topics_of
from dynid.logs.readers.messages import Topic, listed
from dynid.logs.readers.source import RecordingError
from dynid.logs.settings import COMMANDS, LogSource, Quantity
from dynid.robot import Robot


def quantities_of(source: LogSource, robot: Robot | None) -> dict[str, Quantity]:
    """Where each quantity that a log has is, with the columns of bags spelled out, by role.

    Raises:
        InvalidRequestError: If a topic or a field is named for a file that is no bag.
        RecordingError: If a bag does not hold what is needed of it.
    """
    topic, position = source.position.topic, _spelled_out(source.position, "position", robot, None)
    found = {"position": position}
    for role in ("torque", "velocity", *COMMANDS):
        quantity = getattr(source, role)
        if isinstance(quantity, Quantity):
            found[role] = _spelled_out(quantity, role, robot, topic)
    time = source.time
    if time is not None and time.columns is None and time.topic is not None:
        time = time.model_copy(update={"columns": f"{time.topic}/time"})
    if time is None and source.rate is None:
        time = Quantity(file=position.file, columns=time_column(position.path, _names(position)))
    if time is not None:
        found["time"] = time
    others = {role: getattr(source, role) for role in ("temperature", "wrench", "base_pose")}
    others |= {f"{CONTACT}{k}": contact.wrench for k, contact in enumerate(source.contact or (), start=1)}
    return found | {role: quantity for role, quantity in others.items() if quantity is not None}


def _spelled_out(quantity: Quantity, role: str, robot: Robot | None, topic: str | None) -> Quantity:
    """One quantity; one in a bag is on the topic of positions when it names none and is in the same file."""
    path = quantity.path
    if not is_bag(path):
        if quantity.topic is not None or quantity.field is not None:
            raise InvalidRequestError(f"{path} is no bag, so it has neither topic nor field; name columns instead")
        return quantity
    own = quantity.columns
    if own is None and robot is None:
        raise InvalidRequestError(f"columns of {path} must be named where the robot is not given")
    joints = [joint.name for joint in robot.logged_joints] if own is None and robot is not None else own
    names = [str(name) for name in ([joints] if isinstance(joints, str | int) else joints or ())]
    columns = joint_columns(path, role, names, quantity.topic or topic, quantity.field)
    return quantity.model_copy(update={"columns": columns})


def _names(quantity: Quantity) -> list[str]:
    columns = quantity.columns
    return [str(name) for name in columns] if isinstance(columns, tuple) else [] if columns is None else [str(columns)]


def is_on_topic_of(quantity: Quantity, other: Quantity) -> bool:
    """Whether two quantities may be read together: of one topic where they are in a bag."""
    if not is_bag(quantity.path) or quantity.file != other.file:
        return True
    return time_column(quantity.path, _names(quantity)) == time_column(other.path, _names(other))


FIELDS: Mapping[str, tuple[str, ...]] = {
    "position": ("position", "actual.positions", "feedback.positions", "interface_values.position"),
    "velocity": ("velocity", "actual.velocities", "feedback.velocities", "interface_values.velocity"),
    "torque": ("effort", "actual.effort", "feedback.effort", "output.effort", "interface_values.effort"),
}
"""Fields of joint states and controller states that hold a quantity, best first."""

COMMAND_FIELDS: Mapping[str, tuple[str, ...]] = {
    "position_command": ("reference.positions", "desired.positions", "position"),
    "velocity_command": ("reference.velocities", "desired.velocities", "velocity"),
    "torque_command": ("reference.effort", "desired.effort", "effort"),
    "kp": ("kp", "stiffness"),
    "kd": ("kd", "damping"),
}
"""The same of commands."""


def joint_columns(
    path: Path, role: str, joints: Sequence[str], topic: str | None = None, field: str | None = None
) -> tuple[str, ...]:
    """Columns of a bag that hold a quantity of some joints, in the order of the joints.

    Args:
        path: The bag.
        role: "position", "velocity" or "torque".
        joints: Names of the joints in the messages.
        topic: The topic; the only one that has them all when None.
        field: The field of its messages; the usual one when None.

    Raises:
        RecordingError: If there is no such topic, field or joint, or more than one topic would do.
    """
    topics = topics_of(path)
    if topic is not None:
        chosen = _named(path, topics, topic)
        return _columns(chosen, _field(path, chosen, role, field, joints), joints)
    fits = [one for one in topics if _fitting(one, role, field, joints)]
    if not fits:
        raise RecordingError(path, _nothing_fits(topics, role, field, joints))
    if len(fits) > 1:
        plain = [one for one in fits if one.kind.endswith("/JointState")]
        if len(plain) != 1:
            names = ", ".join(one.name for one in fits)
            problem = f"several topics hold the {role}s of these joints ({names}): two robots in one bag, or one twice"
            raise RecordingError(path, f"{problem}; name one, such as topic = '{fits[0].name}'")
        fits = plain
    return _columns(fits[0], _fitting(fits[0], role, field, joints), joints)


def time_column(path: Path, columns: Sequence[str]) -> str:
    """The column of time that goes with others of a bag."""
    names = sorted((topic.name for topic in topics_of(path)), key=len, reverse=True)
    return next((f"{name}/time" for name in names if columns and columns[0].startswith(f"{name}/")), "")


def _named(path: Path, topics: Sequence[Topic], name: str) -> Topic:
    found = next((topic for topic in topics if topic.name == name), None)
    if found is None:
        close = difflib.get_close_matches(name, [topic.name for topic in topics], n=1)
        advice = f"did you mean '{close[0]}'? " if close else ""
        raise RecordingError(path, f"there is no topic '{name}'; {advice}its topics are {listed(topics)}")
    if found.problem:
        raise RecordingError(path, f"{found.problem}; record with definitions, as MCAP does, or export it to CSV")
    if not found.columns:
        raise RecordingError(path, f"topic '{name}' ({found.kind}) holds no numbers of joints; {_with_joints(topics)}")
    return found


def _field(path: Path, topic: Topic, role: str, field: str | None, joints: Sequence[str]) -> str:
    wanted = _fields(role) if field is None else (field,)
    found = [name for name in wanted if topic.keys(name)]
    if not found:
        what = f"field '{field}'" if field else f"field of {role}s"
        raise RecordingError(path, f"topic '{topic.name}' has no {what}; its fields are {', '.join(topic.fields)}")
    keys = topic.keys(found[0])
    missing = next((joint for joint in joints if joint not in keys), None)
    if missing is not None:
        raise RecordingError(path, _missing(topic, found[0], missing))
    return found[0]


def _fields(role: str) -> tuple[str, ...]:
    return FIELDS.get(role) or COMMAND_FIELDS[role]


def _fitting(topic: Topic, role: str, field: str | None, joints: Sequence[str]) -> str:
    """The field of a topic that holds a quantity of all joints, or nothing."""
    wanted = _fields(role) if field is None else (field,)
    return next((name for name in wanted if set(joints) <= set(topic.keys(name))), "")


def _columns(topic: Topic, field: str, joints: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{topic.name}/{field}/{joint}" for joint in joints)


def _nothing_fits(topics: Sequence[Topic], role: str, field: str | None, joints: Sequence[str]) -> str:
    wanted = _fields(role) if field is None else (field,)
    near = [(topic, name) for topic in topics for name in wanted if topic.keys(name)]
    if near:
        topic, name = max(near, key=lambda pair: len(set(joints) & set(pair[0].keys(pair[1]))))
        return _missing(topic, name, next(joint for joint in joints if joint not in topic.keys(name)))
    problems = "".join(f"{topic.problem}; " for topic in topics if topic.problem)
    return f"there are no joint states with {role}s in it; {problems}its topics are {listed(topics)}"


def _missing(topic: Topic, field: str, joint: str) -> str:
    keys = topic.keys(field)
    close = difflib.get_close_matches(joint, keys, n=1)
    advice = f"did you mean '{close[0]}'? " if close else ""
    shown = ", ".join(keys[:30]) + (", ..." if len(keys) > 30 else "")
    return (
        f"joint '{joint}' has no '{field}' on topic {topic.name}; {advice}it has {shown}: name its joints in the order "
        "of the robot's with columns = [...]"
    )


def _with_joints(topics: Sequence[Topic]) -> str:
    fit = [topic.name for topic in topics if any(topic.keys(name) for name in FIELDS["position"])]
    return f"topics with positions are {', '.join(fit)}" if fit else f"its topics are {listed(topics)}"
