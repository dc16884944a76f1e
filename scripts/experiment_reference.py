"""The reference of the experiment file, written from its types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dynid.experiment.experiment import Experiment

MEANINGS = {
    "Experiment.robot": "a URDF, MJCF or table file, relative to the experiment; or `builtin:NAME`",
    "Experiment.gravity": "gravity in the base frame [m/s²]; the robot file's when left out",
    "Experiment.exact_frames": "keep right angles that the robot file rounds (1.5708): see [notation](notation.md)",
    "Experiment.lock": "joints that hold still, with their positions [rad or m]",
    "Experiment.terms": "friction and actuator terms, such as `viscous`: see [terms](terms.md)",
    "Experiment.known": "values of parameters that are known beforehand",
    "Experiment.drive": "from motors to joints",
    "Experiment.control": "the control law behind commands: see [commands](commands.md)",
    "Experiment.log": "one log or more",
    "Experiment.processing": "what is done to the signals",
    "Experiment.estimation": "how parameters are estimated",
    "Experiment.physical": "physically consistent inertial parameters: see [physical](physical.md)",
    "Drive.ratios": "gear ratios: motor revolutions per joint revolution",
    "Drive.couplings": "motors that also turn with another joint",
    "Drive.torque_constant_std": "relative standard deviation of torque constants, for the interval of a payload: one, "
    "or one for each joint ([drive gains](gains.md))",
    "Drive.torque_constants": "torque constants of the motors [N m/A], for currents; or `unknown`: see [logs](logs.md)",
    "Drive.matrix": "instead of ratios and couplings: the whole transmission matrix, one row per motor, or "
    "`robot` for that of [the robot's file](transmissions.md#from-robot-files)",
    "Drive.signs": "sign of each torque; `auto` finds them",
    "Drive.unmeasured": "joints that move, but whose torque was not measured",
    "Drive.offsets": "what each encoder shows at the joint's zero [rad or m]",
    "Drive.delay": "time by which torques were logged later than positions [s]",
    "Drive.positions": "where positions were logged",
    "Drive.torques": "where torques were logged",
    "Control.kp": "gain on positions [N m/rad or N/m]: one, one each, the file's actuators (`robot`), or `unknown`",
    "Control.kd": "gain on velocities [N m s/rad or N s/m]",
    "Control.effort_limit": "largest torques [N m or N]; the robot file's when left out",
    "Control.delay": "how much later commands act than they are logged [s]; `auto` estimates it",
    "Control.law": "whether the law acts continuously, or at ticks with its torque held; `auto` compares both",
    "Control.rate": "rate of the ticks [Hz]; that of the log when left out",
    "Control.links": "whether links are those of the robot file, or near them",
    "Control.gains": "whether gains are known, or but for a factor of each joint",
    "Control.bias": "whether encoder biases are estimated; `auto` where that lowers the error of another log",
    "Control.output_error": "whether rollouts refine the regression",
    "Control.servo": "hobby servos, whose position loop outputs a voltage: see [servos](servos.md)",
    "Servo.voltage": "voltage of the supply [V]; needed",
    "Servo.torque_constant": "torque constant at the joint, gear included [N m/A]",
    "Servo.resistance": "resistance of the motor [ohm]",
    "Servo.stall_torque": "in place of these: stall torque at `voltage` [N m]",
    "Servo.no_load_speed": "no-load speed at `voltage` [rad/s]",
    "Servo.kp": "duty cycle per radian of error, or the number in the register of `firmware`; needed",
    "Servo.kd": "duty cycle per rad/s",
    "Servo.max_duty": "largest duty cycle, a share of the voltage",
    "Servo.firmware": "unit of `kp`: duty cycle per radian, or registers of Dynamixel X or Feetech STS servos",
    "Coupling.motor": "joint whose motor it is",
    "Coupling.joint": "other joint that turns it",
    "Coupling.ratio": "motor revolutions per revolution of that joint",
    "LogSource.name": "what the log is called in reports",
    "LogSource.position": "positions",
    "LogSource.torque": "torques or currents",
    "LogSource.velocity": "velocities, where they were logged",
    "LogSource.position_command": "commanded positions, instead of `torque`: see [commands](commands.md)",
    "LogSource.velocity_command": "commanded velocities; zero when left out",
    "LogSource.torque_command": "torques that are added to those of the control law",
    "LogSource.kp": "gain of the control law on positions [N m/rad or N/m]; that of `[control]` when left out",
    "LogSource.kd": "gain on velocities [N m s/rad or N s/m]; that of `[control]` when left out",
    "LogSource.effort_limit": "largest torques of the law [N m or N]; those of `[control]` when left out",
    "LogSource.time": "time stamps; or give `rate`; bags have their own",
    "LogSource.temperature": "a temperature, to see whether residuals follow it, and for the term viscous_temperature",
    "LogSource.rate": "sampling rate [Hz], instead of `time`",
    "LogSource.rows": "rows to use: first and last, the last not included",
    "LogSource.seconds": "time to use: first and last [s]",
    "LogSource.weight": "rows of this log are multiplied with it",
    "LogSource.static": "whether only rests count; `rows`: each row is a posture; see [gravity parameters](gravity.md)",
    "Quantity.file": "the file, relative to the experiment; may use environment variables, and be a pattern, a folder "
    "or a URL: see [many logs](many_logs.md)",
    "Quantity.topic": "topic of a bag",
    "Quantity.field": "field of its messages",
    "Quantity.columns": "columns by name, pattern (`q_*`), position (from 0), or a list; all when left out",
    "Quantity.unit": "rad, deg, m, mm; N m, N, A; s, ms, us, ns",
    "Quantity.flat": "whether the file is text of one number per line",
    "Processing.automatic": "whether [the log shows](processing.md) what is not stated; by default if nothing is",
    "Processing.outliers": "what is done to samples that stand out from their neighbours",
    "Processing.idle": "what is done to ends at rest",
    "Processing.period": "all whole periods of so long [s] are averaged first; then nothing is chosen",
    "Processing.resample": "rate of even samples to interpolate to first [Hz]",
    "Processing.median": "width of a running median on positions, in samples (odd)",
    "Processing.lowpass": "cut-off of the zero-phase low-pass on positions [Hz]",
    "Processing.torque_lowpass": "the same for torques [Hz]",
    "Processing.order": "order of the low-passes",
    "Processing.velocity": "whether logged velocities are used, or derivatives of positions",
    "Processing.row_trim": "decimated samples to drop at both ends, where the ends leak through the filter",
    "Processing.derivative": "how velocities and accelerations come from positions",
    "Processing.window": "window of Savitzky-Golay derivatives, in samples (odd)",
    "Processing.degree": "degree of their polynomials",
    "Processing.trim": "samples to drop at both ends after filtering",
    "Processing.decimate": "factors of parallel decimation: torques, velocities and every column together",
    "Processing.rate": "sampling rate of the rows to keep instead [Hz]",
    "Processing.velocity_threshold": "rows of slower joints are dropped [rad/s or m/s]; one, or one each",
    "EstimationSettings.estimator": "the equations that are fitted: see [power, energy and momentum](power.md)",
    "EstimationSettings.window": "length of windows of energy and momentum [s]; that of a decimated row when left out",
    "EstimationSettings.method": "weighted (by joint and by log) or ordinary least squares",
    "EstimationSettings.instruments": "of `iv`: the simulated loop, the commands, or a second run of the motion",
    "EstimationSettings.start": "what simulations start from: the estimate of least squares, or the robot file",
    "EstimationSettings.iterations": "of estimators that simulate, at most",
    "EstimationSettings.essential_ratio": "essential parameters: relative std up to so many times the smallest",
    "EstimationSettings.confidence": "of intervals",
    "EstimationSettings.robust": "how rows are weighed by their errors; not at all when left out",
    "EstimationSettings.bootstrap": "whether a block bootstrap gives standard deviations, too",
    "EstimationSettings.prior": "relative standard deviation of a normal prior around the robot file's values",
    "ExcitationSettings.postures": "static postures instead of a trajectory, for gravity parameters: how many",
    "ExcitationSettings.hold": "how long the robot stands still at each posture [s]",
    "ExcitationSettings.both_sides": "whether each posture is approached from both sides: static friction cancels out",
    "ExcitationSettings.payload": "a [motion for a load](excitation.md#motions-for-a-load) instead: the body that "
    "carries it, or `last`",
    "ExcitationSettings.payload_mass": "mass of that load, about [kg]: torques stay within limits with it",
    "ExcitationSettings.friction_runs": "constant speeds instead, joint by joint: see [friction runs](postures.md)",
    "ExcitationSettings.speeds": "number of these speeds, or parts of the velocity limit",
    "ExcitationSettings.commands": "commanded positions instead, for robots without torque sensors: see "
    "[commands](excitation.md#commands-of-robots-without-torque-sensors)",
    "ExcitationSettings.duration": "how long commands last [s]; 20 by default",
    "ExcitationSettings.command_rate": "how often commands change [Hz], held between; 50 by default",
    "ExcitationSettings.position_noise": "standard deviation of measured positions [rad or m]; by default that of an "
    "encoder of 14 bits",
    "ExcitationSettings.amplitude": "largest distance of commands from the start [rad or m]",
    "ExcitationSettings.balance": "postures and motions of a robot that stands: see [balance](balance.md)",
    "ExcitationSettings.replay": "what the numbers of a LeRobot arm stand for: see [servos](excitation.md#servos)",
    "ReplaySettings.unit": "of the arm's positions; `normalised` is -100 to 100 over `range`",
    "ReplaySettings.names": "names of joints' numbers, by joint; JOINT.pos when left out",
    "ReplaySettings.zero": "where the arm reads zero, as a position of the robot's file [rad or m]",
    "ReplaySettings.range": "calibrated ends of joints [rad or m]; the robot file's when left out",
    "ReplaySettings.reversed": "joints that count the other way",
    "ReplaySettings.percent": "joints from 0 to 100 over their range, such as a gripper, whatever the unit",
    "BalanceSettings.stands_on": "bodies that stand still on the ground: one foot, two, four, or the base",
    "BalanceSettings.identify": "joints that move for identification; all but those of `balance` when left out",
    "BalanceSettings.balance": "joints that may move to keep the balance; all others are held still",
    "BalanceSettings.posture": "the posture in which the feet stand [rad or m]; else one of the SRDF file, else zero",
    "BalanceSettings.place": "where feet stand: x, y [m] and the angle about the vertical [rad]",
    "BalanceSettings.margin": "smallest distance of the zero-moment point from the edges of the support polygon [m]",
    "BalanceSettings.half_size": "half length and width of each sole [m], where its geometry is not to be taken",
    "BalanceSettings.polygon": "corners of the support polygon in the world [m], instead of the feet's contact points",
    "BalanceSettings.bolted": "whether the feet are bolted down: the zero-moment point has no limit then",
    "BalanceSettings.friction": "coefficient of friction of the feet on the ground",
    "BalanceSettings.force_noise": "standard deviation of each measured force of each foot [N]",
    "BalanceSettings.moment_noise": "standard deviation of each measured moment of each foot [N m]",
    "BalanceSettings.uncertainty": "standard deviation of the file's parameters, relative to mass and size of links",
    "BalanceSettings.postures": "number of static postures",
    "BalanceSettings.hold": "how long the robot stands still at each of them [s]",
    "BalanceSettings.duration": "how long all may take [s], filled with further moves; once through all when left out",
    "BalanceSettings.candidates": "random postures in balance that these are chosen from",
    "PhysicalSettings.fit": "whether physically consistent links are fitted",
    "PhysicalSettings.prior": "determines what the data do not",
    "PhysicalSettings.weight": "weight of the prior; by default cross-validated on stretches of the logs",
    "PhysicalSettings.reference": "another robot file to stay near",
    "PhysicalSettings.total_mass": "mass of all links, or its range [kg]",
    "PhysicalSettings.masses": "masses of links, or their ranges [kg]",
    "PhysicalSettings.centres_of_mass": "boxes that hold the centres of mass of links: two corners in joint frames [m]",
    "PhysicalSettings.in_geometry": "whether centres of mass lie within the links' geometry; or the links that do",
    "PhysicalSettings.penalty": "growing penalties instead of the semidefinite fit: see [growing penalties](pbpr.md)",
    "PhysicalSettings.ellipsoids": "ellipsoids in joint frames that hold all mass of links: see "
    "[bounds](physical.md#bounds-that-hold-all-mass)",
    "PhysicalSettings.boxes": "boxes that hold all mass of links: two corners in joint frames [m]",
    "EllipsoidSettings.centre": "centre in the link's joint frame [m]",
    "EllipsoidSettings.semi_axes": "half its lengths [m]",
    "EllipsoidSettings.rpy": "roll, pitch, yaw of its axes [rad]",
    "PenaltySettings.bounds": "ranges of `m1` [kg], `cx1` [m], `Jxx1` [kg m^2], `fv1`, ...; patterns such as `cz*`",
    "PenaltySettings.fixed": "values of these, such as structural zeros",
    "PenaltySettings.search": "where the least squares of each round start from",
    "PenaltySettings.starts": "how often all rounds are run: from the robot file's links, then from random points",
    "PenaltySettings.seed": "seed of everything random",
}
"""What keys mean, by type and name. A key that is not here is shown without words."""

TITLES = {
    "Experiment": "Top of the file",
    "Drive": "`[drive]`",
    "Coupling": "`couplings` of `[drive]`",
    "Control": "`[control]`",
    "Servo": "`[control.servo]`",
    "LogSource": "`[[log]]`",
    "Quantity": "`position`, `torque`, `velocity` and `time` of `[[log]]`",
    "Processing": "`[processing]`",
    "BalanceSettings": "`[excitation.balance]`",
    "ReplaySettings": "`[excitation.replay]`",
    "EstimationSettings": "`[estimation]`",
    "PhysicalSettings": "`[physical]`",
    "EllipsoidSettings": "`[physical.ellipsoids.LINK]`",
    "PenaltySettings": "`[physical.penalty]`",
}

_REFERENCES = {name: f"see {title}" for name, title in TITLES.items()} | {
    "Coupling": "`{ motor, joint, ratio }`",
    "Quantity": "`{ file, columns, unit, flat }`",
}


def reference_markdown() -> str:
    """Tables of all keys of an experiment file: type, default and meaning."""
    schema = Experiment.model_json_schema()
    tables = {name: table for name, table in schema.get("$defs", {}).items() if "properties" in table}
    definitions: dict[str, Any] = {"Experiment": schema, **tables}
    order = [*(name for name in TITLES if name in definitions), *(name for name in definitions if name not in TITLES)]
    return "\n".join(line for name in order for line in _table(name, definitions[name]))


def _table(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {TITLES.get(name, f'`{name}`')}\n"
    yield "| key | value | when left out | meaning |\n| --- | --- | --- | --- |"
    required = schema.get("required", [])
    for key, value in schema.get("properties", {}).items():
        default = "**needed**" if key in required else _default(value)
        yield f"| `{key}` | {in_words(value)} | {default} | {MEANINGS.get(f'{name}.{key}', '')} |"
    yield ""


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if default in (None, [], {}) or isinstance(default, dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def in_words(schema: Mapping[str, Any]) -> str:
    """A type of JSON schema in words."""
    if "$ref" in schema:
        return _REFERENCES.get(schema["$ref"].rpartition("/")[2], "a table")
    if "anyOf" in schema:
        words = [in_words(option) for option in schema["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(words))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        each = schema.get("prefixItems")
        return f"[{', '.join(map(in_words, each))}]" if each else f"list: {in_words(schema.get('items', {}))}"
    if kind == "object":
        extra = schema.get("additionalProperties")
        return f"table: name = {in_words(extra)}" if isinstance(extra, dict) else "a table"
    if kind in ("number", "integer"):
        return _number(schema)
    return {"string": "text", "boolean": "`true`, `false`"}.get(kind or "", "")


def _number(schema: Mapping[str, Any]) -> str:
    word = "whole number" if schema["type"] == "integer" else "number"
    lower, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    upper, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    bounds = []
    if above is not None or (lower is not None and lower > -1e29):
        bounds.append(f"> {above:g}" if above is not None else f"≥ {lower:g}")
    if below is not None or (upper is not None and upper < 1e29):
        bounds.append(f"< {below:g}" if below is not None else f"≤ {upper:g}")
    return f"{word} {' and '.join(bounds)}".strip()
