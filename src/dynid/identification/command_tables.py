"""What was identified from commands, as tables that screens, notebooks and reports show alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dynid.identification.records import CommandParameter, CommandRecord, RolloutRecord, as_share, in_thousandths
from dynid.model import html_table

LAWS = {
    "continuous": "acts at all times; its commands arrive late by the delay",
    "sampled": "acts at ticks and holds its torque; its commands arrive late by the delay",
}
"""How a law acts, in words."""

SYMBOLS = {
    "Ia": "armature",
    "fv": "viscous",
    "fs": "Coulomb",
    "fsp": "Coulomb +",
    "fsn": "Coulomb -",
    "off": "offset",
    "bias": "bias",
    "scale": "gain scale",
}
"""What symbols of parameters stand for; others stand for themselves."""

STATES = {"bound": "bound", "undetermined": "undet."}
"""What stands in place of a standard deviation where it says nothing."""

STATES_NOTE = {
    "bound": "bound: at the end of its range, which is no estimate",
    "undetermined": "undet.: not determined by the logs",
}
"""What these words mean."""


@dataclass(frozen=True)
class JointColumn:
    """A kind of parameter, of all joints.

    Attributes:
        name: What it is, such as "armature".
        symbol: Its symbol, such as "Ia".
        unit: Its unit; several where joints differ.
        cells: The parameter of each joint; None where a joint has none.
    """

    name: str
    symbol: str
    unit: str
    cells: tuple[CommandParameter | None, ...]


@dataclass(frozen=True)
class JointTable:
    """Parameters of joints: a row for each joint, a column for each kind of parameter."""

    joints: tuple[str, ...]
    columns: tuple[JointColumn, ...]


def joint_table(found: CommandRecord) -> JointTable:
    """All parameters of joints."""
    rows: dict[str, dict[str, CommandParameter]] = {}
    symbols: dict[str, list[str]] = {}
    for row in found.parameters:
        if not row.owner:
            continue
        symbol = symbol_of(row.name)
        rows.setdefault(row.owner, {})[symbol] = row
        symbols.setdefault(symbol, []).append(row.unit)
    order = [joint.name for joint in found.rollout.joints]
    joints = sorted(rows, key=lambda name: order.index(name) if name in order else len(order))
    return JointTable(
        tuple(joints),
        tuple(
            JointColumn(
                SYMBOLS.get(symbol, symbol),
                symbol,
                " or ".join(dict.fromkeys(units)),
                tuple(rows[name].get(symbol) for name in joints),
            )
            for symbol, units in symbols.items()
        ),
    )


def symbol_of(name: str) -> str:
    """The symbol of a parameter's name.

    >>> symbol_of("Ia12"), symbol_of("delay")
    ('Ia', 'delay')
    """
    return re.sub(r"\d+$", "", name)


def value_text(row: CommandParameter | None) -> str:
    """A value with three digits."""
    return "-" if row is None else f"{row.value:#.3g}".rstrip(".")


def std_text(row: CommandParameter | None) -> str:
    """A standard deviation with two digits, or why there is none."""
    if row is None:
        return "-"
    return STATES.get(row.state) or f"{row.std:#.2g}".rstrip(".")


def delay_text(found: CommandRecord, confidence: float) -> str:
    """The delay with its interval."""
    shown = f"{1e3 * found.delay:.2f} ms"
    row = next((row for row in found.parameters if row.name == "delay"), None)
    if row is None or found.delay_std is None:
        return f"{shown} (stated)" if found.output_error else shown
    if row.state in STATES:
        return f"{shown} ({'at the end of its range' if row.state == 'bound' else 'not determined by the logs'})"
    return f"{shown} ({confidence:.0%} interval {1e3 * row.lower:.2f} to {1e3 * row.upper:.2f} ms)"


def rollout_errors(rollout: RolloutRecord) -> dict[str, float | None]:
    """Errors of rollouts and of what they are compared with, by name; those that were not asked for are left out."""
    found = {"identified": rollout.rmse, "regression alone": rollout.regression, "robot file": rollout.robot_file}
    compared = {name: value for name, value in found.items() if value is not None or name == "robot file"}
    return {**compared, "command itself": rollout.command}


def rollout_text(rollout: RolloutRecord) -> str:
    """The errors of rollouts in a few words."""
    others = rollout_errors(rollout)
    own = in_thousandths(others.pop("identified"))
    listed = ", ".join(f"{name} {in_thousandths(value)}" for name, value in others.items())
    return f"rollout RMSE {own} {rollout.unit} ({listed})"


def rollout_header(rollout: RolloutRecord) -> tuple[str, ...]:
    """Heads of the table of rollouts."""
    return ("joint", *rollout_errors(rollout), "unexplained", "unit")


def rollout_rows(rollout: RolloutRecord) -> list[tuple[str, ...]]:
    """The table of rollouts: a row for each joint, and one for all."""
    keys = {"identified": "rmse", "regression alone": "regression", "robot file": "robot_file"}
    shown = [keys.get(name, "command") for name in rollout_errors(rollout)]
    rows = [
        (
            joint.name,
            *(in_thousandths(getattr(joint, key)) for key in shown),
            as_share(joint.relative_error),
            f"m{joint.unit}",
        )
        for joint in rollout.joints
    ]
    whole = (in_thousandths(getattr(rollout, key)) for key in shown)
    return [*rows, ("all", *whole, as_share(rollout.relative_error), rollout.unit)]


def rollout_html(rollout: RolloutRecord) -> str:
    """The table of rollouts for notebooks."""
    return html_table("Root mean squares of positions", rollout_header(rollout), rollout_rows(rollout))


def joint_html(found: CommandRecord) -> str:
    """Parameters of joints for notebooks."""
    table = joint_table(found)
    header = ["joint", *(head for column in table.columns for head in (f"{column.name} [{column.unit}]", "std"))]
    rows: list[Sequence[str]] = [
        (name, *(text for column in table.columns for text in (value_text(column.cells[k]), std_text(column.cells[k]))))
        for k, name in enumerate(table.joints)
    ]
    return html_table("Parameters of joints", [head.replace(" []", "") for head in header], rows)


def states_note(found: CommandRecord) -> str:
    """What the words in place of standard deviations mean; empty where there are none."""
    present = {row.state for row in found.parameters}
    return "; ".join(text for state, text in STATES_NOTE.items() if state in present)
