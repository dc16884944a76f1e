"""Identified joints as Python files for learning environments: actuators of Isaac Lab and of mjlab.

Both have delays in whole physics steps. Which versions have which fields:

- Isaac Lab (`isaaclab.actuators`): `friction`, `dynamic_friction` and `viscous_friction` of actuator configurations
  exist since 2.2 and reach PhysX since 2.3, as torques on Isaac Sim 5.0 and later; on Isaac Sim 4.5 `friction` is a
  coefficient without unit, and the other two have no effect. `DelayedPDActuatorCfg` delays all targets by between
  `min_delay` and `max_delay` physics steps. 3.0 names the limits of explicit actuators `actuator_effort_limit` and
  `actuator_velocity_limit`, and that of the solver `joint_effort_limit`; `effort_limit`, `velocity_limit` and
  `effort_limit_sim` of 2.x are deprecated there and go in 4.0.
- mjlab (`mjlab.actuator`): since 1.3 every configuration has `delay_min_lag` and `delay_max_lag` (physics steps) and
  `viscous_damping`, and `None` keeps what the XML file says of `armature`, `frictionloss` and damping. Before, delays
  took a wrapper, `DelayedActuatorCfg`. One configuration has the same numbers for all of its joints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from dynid.identification.joint_models import Estimate, JointModel
from dynid.identification.result import Result

DEFAULT_STEP = 0.005
"""Physics step of a simulator [s] where none is stated: Isaac Lab's and mjlab's own examples of legged robots."""

_WIDTH = 100

_ISAACLAB_FIELDS = {
    "stiffness": "STIFFNESS",
    "damping": "DAMPING",
    "armature": "ARMATURE",
    "friction": "STATIC_FRICTION",
    "dynamic_friction": "DYNAMIC_FRICTION",
    "viscous_friction": "VISCOUS_FRICTION",
}
_EXPLICIT_LIMITS = {
    ("actuator_effort_limit", "effort_limit"): "EFFORT_LIMIT",
    ("actuator_velocity_limit", "velocity_limit"): "VELOCITY_LIMIT",
}
_IMPLICIT_LIMITS = {("joint_effort_limit", "effort_limit_sim"): "EFFORT_LIMIT"}
_ABOUT_ISAACLAB = (
    "Fields: Isaac Lab 2.3 to 3.x on Isaac Sim 5.0 or later, with PhysX. On Isaac Sim 4.5 `friction` is a coefficient "
    "without unit: these torques are wrong there.",
    "Newton (Isaac Lab 3.x) has one dry friction for rest and motion, and enforces it softly.",
)
_ABOUT_MJLAB = (
    "Fields: mjlab 1.3 or later. What is not here keeps its value in the XML file; take actuators of these joints "
    "out of that file.",
    "Position actuators take velocity targets as zero.",
)

Constants = Mapping[str, tuple[str, str, Mapping[str, Estimate]]]
"""By its name in the file: the key of the unit, what it is, and the values by joint."""


def delay_steps(delay: float, step: float) -> int:
    """The number of physics steps that is nearest to a delay; both in seconds.

    >>> delay_steps(0.0073, 0.005), delay_steps(0.0076, 0.005), delay_steps(-0.001, 0.005)
    (1, 2, 0)
    """
    return max(0, int(delay / step + 0.5))


def isaaclab_text(result: Result, joints: Sequence[JointModel], step: float, left_out: Sequence[str]) -> str:
    """A Python file with the joints as actuators of Isaac Lab."""
    has_law = any(joint.kp is not None for joint in joints)
    constants = {
        "STIFFNESS": ("kp", "kp", _values(joints, "kp")),
        "DAMPING": ("kd", "kd", _values(joints, "kd")),
        "EFFORT_LIMIT": ("effort_limit", "largest torque", _values(joints, "effort_limit")),
        "VELOCITY_LIMIT": (
            "velocity_limit",
            "largest speed, as the robot file states it",
            _values(joints, "velocity_limit"),
        ),
        "ARMATURE": ("armature", "motor inertia at the joint", _values(joints, "armature", 0.0)),
        "STATIC_FRICTION": ("static", "dry friction at rest", _at_rest(joints)),
        "DYNAMIC_FRICTION": ("coulomb", "dry friction while moving", _values(joints, "coulomb", 0.0)),
        "VISCOUS_FRICTION": ("viscous", "viscous friction", _values(joints, "viscous", 0.0)),
    }
    groups: dict[tuple[str, ...], list[str]] = {}
    for joint in joints:
        known = tuple(name for name, (_, _, values) in constants.items() if joint.name in values)
        groups.setdefault(known, []).append(joint.name)
    delayed = joints[0].delay is not None
    config = ("DelayedPDActuatorCfg" if delayed else "IdealPDActuatorCfg") if has_law else "ImplicitActuatorCfg"
    if not has_law:
        constants = {name: constants[name] for name in (*list(_ISAACLAB_FIELDS.values())[2:], "EFFORT_LIMIT")}
    body = [f"GROUPS = {_tuples(list(groups.values()))}", '"""Joints of which the same is known."""', "", ""]
    body += _isaaclab_function(config, has_law, delayed and has_law)
    use = "ArticulationCfg(..., actuators=actuators())"
    return _file(
        result, joints, "Isaac Lab", step, [*left_out, *_isaaclab_notes(joints)], _ABOUT_ISAACLAB, use, constants, body
    )


def mjlab_text(result: Result, joints: Sequence[JointModel], step: float, left_out: Sequence[str]) -> str:
    """A Python file with the joints as actuators of mjlab."""
    has_law = any(joint.kp is not None for joint in joints)
    constants: Constants = {
        "STIFFNESS": ("kp", "kp", _values(joints, "kp")),
        "DAMPING": ("kd", "kd", _values(joints, "kd")),
        "EFFORT_LIMIT": ("effort_limit", "largest torque", _values(joints, "effort_limit")),
        "ARMATURE": ("armature", "motor inertia at the joint", _values(joints, "armature", 0.0)),
        "FRICTIONLOSS": ("coulomb", "dry friction", _values(joints, "coulomb", 0.0)),
        "VISCOUS_DAMPING": ("viscous", "viscous friction", _values(joints, "viscous", 0.0)),
    }
    if not has_law:
        constants = {name: value for name, value in constants.items() if name not in ("STIFFNESS", "DAMPING")}
    delayed = has_law and joints[0].delay is not None
    body = [f"JOINTS = {_tuple([joint.name for joint in joints])}", "", ""]
    body += _mjlab_function(has_law, delayed)
    notes = [*left_out, *(["static friction: `frictionloss` is the same at rest"] if _values(joints, "static") else [])]
    use = "EntityArticulationInfoCfg(actuators=actuators())"
    if not has_law:
        use = "EntityArticulationInfoCfg(actuators=actuators(stiffness, damping))"
    return _file(result, joints, "mjlab", step, notes, _ABOUT_MJLAB, use, constants, body)


def _isaaclab_function(config: str, has_law: bool, delayed: bool) -> list[str]:
    fields = _ISAACLAB_FIELDS if has_law else dict(list(_ISAACLAB_FIELDS.items())[2:])
    limits = _EXPLICIT_LIMITS if has_law else _IMPLICIT_LIMITS
    names = [f'        "{field}": {constant},' for field, constant in fields.items()]
    for (new, old), constant in limits.items():
        names.append(f'        "{new}" if "{new}" in fields else "{old}": {constant},')
    unknown = (
        "            stiffness=None,  # not identified: those of the robot's USD file",
        "            damping=None,",
    )
    gains = () if has_law else unknown
    steps = ["            min_delay=DELAY_STEPS,", "            max_delay=DELAY_STEPS,"] if delayed else []
    return [
        "def actuators() -> dict:",
        '    """Actuator groups for `ArticulationCfg`."""',
        f"    from isaaclab.actuators import {config}",
        "",
        f"    fields = {config}.__dataclass_fields__  # 3.0 has new names of limits",
        "    values = {",
        *names,
        "    }",
        "    return {",
        f'        f"identified_{{number}}": {config}(',
        "            joint_names_expr=[re.escape(joint) for joint in joints],",
        *gains,
        *steps,
        "            **{",
        "                field: {re.escape(joint): by_joint[joint] for joint in joints}",
        "                for field, by_joint in values.items()",
        "                if joints[0] in by_joint",
        "            },",
        "        )",
        "        for number, joints in enumerate(GROUPS, start=1)",
        "    }",
    ]


def _mjlab_function(has_law: bool, delayed: bool) -> list[str]:
    gains = ["            stiffness=STIFFNESS[joint],", "            damping=DAMPING[joint],"]
    head = ["def actuators() -> tuple:", '    """Actuators for `EntityArticulationInfoCfg`, one for each joint."""']
    if not has_law:
        gains = ["            stiffness=stiffness[joint],", "            damping=damping[joint],"]
        head = [
            "def actuators(stiffness: dict, damping: dict) -> tuple:",
            '    """Actuators for `EntityArticulationInfoCfg`, one for each joint; gains were not identified."""',
        ]
    steps = ["            delay_min_lag=DELAY_STEPS,", "            delay_max_lag=DELAY_STEPS,"] if delayed else []
    return [
        *head,
        "    from mjlab.actuator import BuiltinPositionActuatorCfg",
        "",
        "    return tuple(",
        "        BuiltinPositionActuatorCfg(",
        "            target_names_expr=(re.escape(joint),),",
        *gains,
        "            effort_limit=EFFORT_LIMIT.get(joint),",
        "            armature=ARMATURE.get(joint),",
        "            frictionloss=FRICTIONLOSS.get(joint),",
        "            viscous_damping=VISCOUS_DAMPING.get(joint),",
        *steps,
        "        )",
        "        for joint in JOINTS",
        "    )",
    ]


def _isaaclab_notes(joints: Sequence[JointModel]) -> list[str]:
    odd = [joint.name for joint in joints if not (joint.name.isascii() and joint.name.isidentifier())]
    lower = [j.name for j in joints if j.static and j.coulomb and j.static.value < j.coulomb.value]
    notes = [f"names that USD does not have: adapt those of {', '.join(odd)}"] if odd else []
    return notes + (
        [f"less friction at rest than while moving ({', '.join(lower)}): that while moving"] if lower else []
    )


def _values(joints: Sequence[JointModel], key: str, least: float | None = None) -> dict[str, Estimate]:
    found = {joint.name: getattr(joint, key) for joint in joints if getattr(joint, key) is not None}
    if least is None:
        return found
    return {name: Estimate(max(least, each.value), each.std) for name, each in found.items()}


def _at_rest(joints: Sequence[JointModel]) -> dict[str, Estimate]:
    """Friction at rest, which is never less than while moving: PhysX has it so."""
    moving, resting = _values(joints, "coulomb", 0.0), _values(joints, "static", 0.0)
    pairs = {name: (moving.get(name), resting.get(name)) for name in (*moving, *resting)}
    return {name: max((e for e in pair if e), key=lambda e: e.value) for name, pair in pairs.items()}


def _file(
    result: Result,
    joints: Sequence[JointModel],
    simulator: str,
    step: float,
    left_out: Sequence[str],
    about: Sequence[str],
    use: str,
    constants: Constants,
    body: Sequence[str],
) -> str:
    """The whole file: what it is, numbers by joint, and what makes actuators of them."""
    record, delay = result.record, joints[0].delay
    paragraphs = [
        f"Actuators of the robot '{record.robot}' for {simulator}, identified by dynid {record.version} "
        f"({record.date or 'date not known'}).",
        f"Verdict: {result.verdict.answer.value}. {result.verdict.headline}",
        "Units: SI; joints that slide have N and m, others N m and rad.",
        *about,
        f"Use: {use}",
    ]
    text = [*_paragraphs(paragraphs), "Not held by these fields:", *_items(left_out)]
    lines = ['"""' + text[0], *text[1:], '"""', "", "import re", ""]
    if delay is not None:
        lines += [
            f"PHYSICS_STEP = {float(step)!r}  # s",
            f"DELAY = {delay.value!r}  # s{_std(delay)}",
            f"DELAY_STEPS = {delay_steps(delay.value, step)}",
            "",
        ]
    extra: Constants = {
        "OFFSET": ("offset", "constant torque that resists; no field holds it", _values(joints, "offset")),
        "ENCODER_BIAS": ("bias", "what encoders show less the positions; no field holds it", _values(joints, "bias")),
        "COMMAND_SHIFT": ("bias", "add to commanded positions, in place of offset and bias", command_shifts(joints)),
    }
    for name, (key, meaning, values) in ({**constants, **{k: v for k, v in extra.items() if v[2]}}).items():
        units = dict.fromkeys(joint.unit(key) for joint in joints if joint.name in values or not values)
        lines += _constant(name, f"{meaning} [{' or '.join(units)}]", values)
    return "\n".join([*lines, *body]) + "\n"


def command_shifts(joints: Sequence[JointModel]) -> dict[str, Estimate]:
    """What to add to commanded positions [rad or m] in place of offsets and biases: -offset / kp - bias."""
    shifts = {}
    for joint in joints:
        if joint.kp is not None and joint.kp.value > 0.0 and (joint.offset is not None or joint.bias is not None):
            offset, bias = (0.0 if each is None else each.value for each in (joint.offset, joint.bias))
            shifts[joint.name] = Estimate(-offset / joint.kp.value - bias)
    return shifts


def lost_delay(delay: Estimate, step: float) -> str:
    """What whole physics steps [s] do not hold of a delay, in words; empty where they hold it."""
    steps = delay_steps(delay.value, step)
    error = 1e3 * (steps * step - delay.value)
    if abs(error) < 1e-6:
        return ""
    whole = f"{steps} step{'' if steps == 1 else 's'} of {1e3 * step:g} ms"
    return (
        f"{abs(error):.3g} ms of the delay: with {whole} in place of {1e3 * delay.value:.4g} ms, commands act too "
        f"{'late' if error > 0 else 'early'} (--step states another physics step)"
    )


def _std(estimate: Estimate) -> str:
    return "" if estimate.std is None else f", standard deviation {estimate.std:.2g}"


def _constant(name: str, meaning: str, values: Mapping[str, Estimate]) -> list[str]:
    if not values:
        return [f"{name} = {{}}  # {meaning}: not known"]
    rows = [f"    {joint!a}: {float(each.value)!r},{_comment(each)}" for joint, each in values.items()]
    return [f"{name} = {{  # {meaning}", *rows, "}"]


def _comment(estimate: Estimate) -> str:
    return "" if estimate.std is None else f"  # standard deviation {estimate.std:.2g}"


def _tuple(names: Sequence[str]) -> str:
    return "(\n" + "".join(f"    {name!a},\n" for name in names) + ")"


def _tuples(groups: Sequence[Sequence[str]]) -> str:
    return "(\n" + "".join(f"    ({', '.join(map(ascii, group))},),\n" for group in groups) + ")"


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in (*_wrapped(text), "")]


def _items(texts: Sequence[str]) -> list[str]:
    return [
        f"{'- ' if k == 0 else '  '}{line}"
        for text in (texts or ["nothing"])
        for k, line in enumerate(_wrapped(text, _WIDTH - 2))
    ]


def _wrapped(text: str, width: int = _WIDTH) -> list[str]:
    return textwrap.wrap(_plain(text), width, break_long_words=False, break_on_hyphens=False)


def _plain(text: str) -> str:
    """Text that a docstring may hold: printable ASCII without backslashes of its own and without its quotes."""
    return ascii(text)[1:-1].replace("\\'", "'").replace('"""', "'''")
