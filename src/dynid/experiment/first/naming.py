"""What the names of columns, topics and files say: the quantity, its quality, its side of the gears, and the joint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from dynid.logs import joint_of

JOINT = "@"
"""Stands in the stem of a name for the name of a joint."""

NUMBER = "#"
"""Stands in the stem of a name for the number of a joint."""


class Quality(IntEnum):
    """How well numbers serve as a measurement, by the words of their names; the least is the best."""

    MEASURED = 0
    PLAIN = 1
    FILTERED = 2
    ESTIMATED = 3
    COMMANDED = 4
    PART = 5
    """Only a part of what is needed, or something about it: external or gravity torques, errors, limits."""


ROLES = {
    "time": "t time times stamp stamps timestamp timestamps secs seconds nsecs clock zeit",
    "position": "q pos posn position positions angle angles ang theta qpos winkel encoder enc",
    "velocity": "v dq qd qdot vel velocity velocities speed speeds qvel dtheta omega dpos posdot vitesse",
    "torque": "tau torque torques effort efforts eff force forces trq tq load tor moment moments drehmoment couple",
    "current": "i cur curr current currents iq amps amp strom courant",
}
"""Words in the names of columns and files, by what they hold; the first role that has a word of a name is its own."""

GAINS = {"kp": "kp pgain stiffness stiffnesses", "kd": "kd dgain damping dampings"}
"""Words in the names of gains of a control law, which rule over those of `ROLES`: kp_pos is no position."""

ACTIONS = frozenset(("action", "actions"))
"""Words for commands of any kind, which learning environments use for commanded positions."""

OTHER = """acc accel acceleration accelerations ddq qdd qddot qacc ddtheta jerk dtau taudot dtorque temp temperature
temperatures voltage volt volts pwm status mode power energy fault tcp ee eef pose wrench cartesian cart twist quat
quaternion xyz rpy orientation x y z w rx ry rz tool flange imu gyro"""
"""Words of quantities that are none of these, such as those of the end effector."""

QUALITIES = {
    Quality.PART: """ext external contact gravity grav g gc comp compensated compensation coriolis friction fric inertia
    ff feedforward static residual disturbance dist error err errors diff delta limit limits max min upper lower
    threshold std var bias kp kd stiffness damping""",
    Quality.COMMANDED: """des desired d cmd cmds command commanded ref reference target tgt goal set setpoint sp wanted
    soll demand demanded planned plan action actions control ctrl""",
    Quality.ESTIMATED: "est estimated estimate model hat pred predicted sim simulated nominal observer",
    Quality.FILTERED: "filt filtered filter smooth smoothed lowpass lp",
    Quality.MEASURED: "actual act measured meas msr mes feedback fb fbk present real sensor sensed ist",
}
"""Words that say how well numbers serve, worst first: a name is as good as the worst of its words."""

MOTOR_SIDE = frozenset(("motor", "motors", "mot", "mtr", "rotor", "rotors"))
"""Words in the names of what was logged on the motors' side of the gears."""

LINK_SIDE = frozenset(("link", "links", "output", "load", "secondary", "absolute"))
"""Words in the names of what was logged behind the gears."""

_UNITS = """deg degs degree degrees rad rads mrad mm cm nm nmm mnm ma rpm ms us ns sec s dps"""
_UNIT_WORDS = frozenset(_UNITS.split())
_ROLE_OF = {word: role for role, words in reversed(ROLES.items()) for word in words.split()}
_GAIN_OF = {word: role for role, words in GAINS.items() for word in words.split()}
_QUALITY_OF = {word: quality for quality, words in QUALITIES.items() for word in words.split()}
_OTHER = frozenset(OTHER.split())
_COMPOUNDS = {("q", "dot"): "qdot", ("tau", "dot"): "taudot", ("q", "ddot"): "qddot", ("q", "dd"): "qdd"}
_COMPOUNDS |= {("i", "q"): "iq", ("pos", "dot"): "posdot", ("time", "stamp"): "timestamp"}
_COMPOUNDS |= {("p", "gain"): "kp", ("p", "gains"): "kp", ("d", "gain"): "kd", ("d", "gains"): "kd"}
_COMPOUNDS |= {
    ("observation", "state"): "qpos",
    ("k", "p"): "kp",
    ("k", "d"): "kd",
    ("gain", "p"): "kp",
    ("gain", "d"): "kd",
}
GENERIC = frozenset(("joint", "joints", "jnt", "j", "axis", "axes", "a", "dof", "motor", "servo"))
"""Words for any joint, which tell none from others."""

KNOWN = frozenset(_ROLE_OF) | frozenset(_QUALITY_OF) | frozenset(_GAIN_OF) | _OTHER | MOTOR_SIDE | LINK_SIDE
"""Words with a meaning; others may name a joint or an arm."""


@dataclass(frozen=True)
class Label:
    """What a name says.

    Attributes:
        name: The name.
        parts: Its words in small letters and its numbers, in order; `JOINT` where a joint is named.
        joint: Index of the joint that it names, if it does.
        own: Words that some of the robot's joints have and others have not, such as "left".
        role: "time", "position", "velocity", "torque", "current", "kp", "kd", or nothing.
        quality: How well it serves as a measurement.
    """

    name: str
    parts: tuple[str | int, ...]
    joint: int | None
    own: frozenset[str]
    role: str
    quality: Quality

    @property
    def words(self) -> frozenset[str]:
        """Its words without numbers."""
        return frozenset(part for part in self.parts if isinstance(part, str) and part != JOINT)


def label_of(name: str, joints: Sequence[str] = ()) -> Label:
    """What the name of a column says.

    Args:
        name: The name.
        joints: Names of the robot's joints.

    >>> label_of("ActualTorque0").role, label_of("ActualTorque0").parts
    ('torque', ('actual', 'torque', 0))
    >>> label_of("tau_ext_3").quality.name, label_of("q_d[2]").quality.name, label_of("qd[2]").role
    ('PART', 'COMMANDED', 'velocity')
    """
    joint, parts = _with_joint(name, joints)
    words = _compounded([part for part in parts if isinstance(part, str) and part != JOINT])
    differing = distinguishing_words(joints)
    own = frozenset(part for part in parts if isinstance(part, str) and part in differing)
    role = _role([word for word in words if word not in own])
    is_counted = role == "time" and "t" in words and any(isinstance(part, int) for part in parts)  # T1 is no time
    return Label(name, tuple(parts), joint, own, "" if is_counted else role, quality_of(words))


def _with_joint(name: str, joints: Sequence[str]) -> tuple[int | None, list[str | int]]:
    """The joint that a name holds, and its parts without it."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    for text in (name, spaced) if joints else ():
        joint = joint_of(text, joints)
        if joint is None:
            continue
        at = text.lower().find(joints[joint].lower())
        if at >= 0:
            rest = f"{text[:at]} {JOINT} {text[at + len(joints[joint]) :]}"
            return joint, parts_of(rest)
        own = set(parts_of(joints[joint]))
        parts = [JOINT if part in own and part not in KNOWN else part for part in parts_of(text)]
        return joint, [part for k, part in enumerate(parts) if part != JOINT or k == parts.index(JOINT)]
    return None, parts_of(name)


def parts_of(name: str) -> list[str | int]:
    """Words and numbers of a name, split at capitals; units are left out.

    >>> parts_of("/joint_states/position[0]"), parts_of("JointPos1 [deg]")
    (['joint', 'states', 'position', 0], ['joint', 'pos', 1])
    """
    text = re.sub(r"[\[({<]\s*[^\])}>\d]+?\s*[\])}>]", " ", name)
    found = re.findall(rf"[A-Z]+(?![a-zA-Z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-zà-öø-ÿ]+|[A-Z]+|\d+|{JOINT}", text)
    parts: list[str | int] = [int(part) if part.isdigit() else part.lower() for part in found]
    return [part for k, part in enumerate(parts) if k == 0 or part not in _UNIT_WORDS]


def _compounded(words: Sequence[str]) -> list[str]:
    """Words, with those that make one together joined."""
    found: list[str] = []
    for word in words:
        pair = (found[-1], word) if found else ("", word)
        if pair in _COMPOUNDS:
            found[-1] = _COMPOUNDS[pair]
        else:
            found.append(word)
    return found


def _role(words: Sequence[str]) -> str:
    if any(word in _OTHER for word in words):
        return ""
    roles = {_ROLE_OF[word] for word in words if word in _ROLE_OF and word != "t"}
    gains = {_GAIN_OF[word] for word in words if word in _GAIN_OF}
    if gains and not roles & {"torque", "current"}:  # a torque of damping is a part of the torque
        return min(gains)
    if not roles and ACTIONS & set(words):
        return "position"
    if not roles and words[-1:] == ["t"] and len(words) < 3:  # not of a matrix T, as in O_T_EE
        return "time"
    return next((role for role in ROLES if role in roles), "")


def array_of(name: str, role: str) -> str:
    """The array that a column is of, where its name begins with one that says what it holds; else empty.

    >>> array_of("observation.state.elbow.pos", "position"), array_of("q_1", "position")
    ('observation.state', '')
    """
    parts = name.split(".")
    heads = (".".join(parts[:count]) for count in range(1, len(parts)))
    found = next((head for head in heads if label_of(head).role not in ("", "time")), "")
    return found if found and label_of(found).role == role else ""


def role_of_file(stem: str) -> str:
    """What a file holds, by its name."""
    return _role(_compounded([part for part in parts_of(stem) if isinstance(part, str)]))


def quality_of(words: Sequence[str]) -> Quality:
    """How well numbers serve as a measurement; one letter alone counts only behind another word."""
    marks = [word for k, word in enumerate(words) if k or len(word) > 1]
    return next((quality for quality in QUALITIES if any(_QUALITY_OF.get(w) is quality for w in marks)), Quality.PLAIN)


def distinguishing_words(joints: Sequence[str]) -> frozenset[str]:
    """Words that some joints have in their names and others have not, and that mean nothing else."""
    words = [{part for part in parts_of(joint) if isinstance(part, str)} for joint in joints]
    if not words:
        return frozenset()
    return frozenset(set.union(*words) - set.intersection(*words) - KNOWN - GENERIC)


def counted_from_zero(labels: Sequence[Label]) -> list[Label]:
    """Labels without joints where names count from 0 what the robot counts from 1.

    Of joint0 .. joint6, six are named after the robot's joint1 .. joint6, but each is of the joint after it.
    """
    plain = [replace(label, joint=None, parts=tuple(parts_of(label.name))) for label in labels]
    found = list(labels)
    for group in stems(plain).values():
        named = [labels[k].joint is not None for k, _ in group]
        first = [labels[k].joint is None for k, number in group if number == 0]
        if any(named) and first and all(first):
            for k, _ in group:
                found[k] = plain[k]
    return found


def shared_start(names: Sequence[str]) -> str:
    """What all names begin with."""
    first, last = min(names, default=""), max(names, default="")
    return first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def stems(labels: Sequence[Label], *, known_only: bool = False) -> dict[tuple[str, ...], list[tuple[int, int | None]]]:
    """Names grouped by what they are without joints, each with the number of its joint.

    Where names hold several numbers, the one that takes the most values is that of the joint (of equals, the last).

    Args:
        labels: What names say.
        known_only: Whether words without a meaning are passed over, so that they may name joints.

    Returns:
        By stem, the places of the names among the labels and the numbers of their joints.
    """
    shapes: dict[tuple[str, ...], list[int]] = {}
    for k, label in enumerate(labels):
        kept = [
            NUMBER if isinstance(part, int) else part
            for part in label.parts
            if isinstance(part, int) or (part not in label.own and (not known_only or part in KNOWN))
        ]
        shapes.setdefault(tuple(part for part in kept if not (known_only and part == JOINT)), []).append(k)
    found: dict[tuple[str, ...], list[tuple[int, int | None]]] = {}
    for shape, members in shapes.items():
        numbers = {k: [part for part in labels[k].parts if isinstance(part, int)] for k in members}
        count = shape.count(NUMBER)
        place = None
        if count and (JOINT not in shape or known_only):
            values = [len({numbers[k][at] for k in members}) for at in range(count)]
            place = max(range(count), key=lambda at: (values[at], at))
        for k in members:
            rest = iter(NUMBER if at == place else str(number) for at, number in enumerate(numbers[k]))
            stem = tuple(next(rest) if part == NUMBER else part for part in shape)
            found.setdefault(stem, []).append((k, None if place is None else numbers[k][place]))
    return found
