"""What `dynid identify` and `dynid validate` print of results that were identified from commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dynid.cli.console import plain_table
from dynid.identification.command_tables import (
    LAWS,
    JointColumn,
    delay_text,
    joint_table,
    rollout_header,
    rollout_rows,
    rollout_text,
    states_note,
    std_text,
    value_text,
)
from dynid.identification.records import in_thousandths

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification.records import CommandRecord, Confounded, Record, RolloutRecord
    from dynid.identification.result import Result

WORST = 3
"""Joints with the largest errors that are named."""

PAIRS = 12
"""Pairs of parameters that are listed; `--json` has all."""


def rollout_headline(record: Record, found: CommandRecord) -> str:
    """The first line on a result: how near its rollouts are."""
    return f"{record.robot}: {rollout_text(found.rollout)}."


def facts_of_commands(result: Result, found: CommandRecord) -> Iterator[tuple[str, str]]:
    """What a result rests on and what it found, a line each."""
    record, rollout = result.record, found.rollout
    yield "delay", delay_text(found, record.confidence)
    yield "control law", LAWS[found.law]
    sure = sum(row.state == "determined" and row.std <= 0.1 * abs(row.value) for row in found.sizes)
    yield (
        "parameters",
        f"{found.determined} of {len(found.parameters)} determined by the logs; {sure} of {len(found.sizes)} known to "
        "10 % (offsets and biases not counted)",
    )
    worst = rollout.furthest[:WORST]
    label = "joints" if len(rollout.joints) <= WORST else "worst joints"
    yield label, ", ".join(f"{joint.name} {in_thousandths(joint.rmse)} m{joint.unit}" for joint in worst)
    if not result.has_known_links and record.physical is not None:
        stated = float(result.robot.parameters[::10].sum())
        yield "total mass", f"{record.physical.total_mass:#.4g} kg (robot file: {stated:#.4g} kg)"
    logs = "" if record.logs == 1 else f" of {record.logs} logs"
    refined = ""
    if found.output_error:
        steps = f"{found.iterations} step{'' if found.iterations == 1 else 's'}"
        ended = "" if found.converged else ", not converged"
        refined = f", output error {found.output_error_seconds:.1f} s ({steps}{ended})"
    yield "data", f"{record.samples} samples{logs}; regression {found.regression_seconds:.1f} s{refined}"


def show_command_tables(output: Console, result: Result, found: CommandRecord) -> None:
    """Print everything that was identified from commands, but for findings."""
    show_rollouts(output, found.rollout)
    _show_joints(output, found)
    _show_profile(output, found)
    _show_agreement(output, found)
    _show_pairs(output, found.confounded)
    if not result.has_known_links and result.physical is not None:
        from dynid.cli.result_tables import show_physical

        show_physical(output, result.physical)


def show_rollouts(output: Console, rollout: RolloutRecord) -> None:
    """Print errors of rollouts joint by joint."""
    heads = rollout_header(rollout)
    folded = [head.replace(" ", "\n") for head in heads[1:-1]]
    table = plain_table(heads[:1], folded, heads[-1:])
    for row in rollout_rows(rollout):
        table.add_row(*row)
    output.print(table)
    if rollout.ended:
        output.print(f"Rollouts fly off: {', '.join(rollout.ended)}.")


def rollout_line(rollout: RolloutRecord, samples: int, logs: int) -> str:
    """The first line on a validation."""
    held_out = f"{samples} samples of {logs} held-out logs" if logs > 1 else f"{samples} held-out samples"
    return f"{rollout_text(rollout)} on {held_out}.".replace("rollout", "Rollout", 1)


def _show_joints(output: Console, found: CommandRecord) -> None:
    """Print parameters of joints, in as many tables as the terminal needs."""
    parameters = joint_table(found)
    names = max((len(name) for name in parameters.joints), default=0)
    groups = list(_fitting(parameters.columns, output.width - names - 2))
    size = -(-len(parameters.columns) // max(len(groups), 1))  # as many columns in each
    for columns in (parameters.columns[k : k + size] for k in range(0, len(parameters.columns), max(size, 1))):
        heads = [head for column in columns for head in (f"{column.name}\n{_bracketed(column.unit)}", "std")]
        table = plain_table(("joint",), heads)
        for k, name in enumerate(parameters.joints):
            cells = [column.cells[k] for column in columns]
            table.add_row(name, *(text for cell in cells for text in (value_text(cell), std_text(cell))))
        output.print(table)
    note = states_note(found)
    if note:
        output.print(f"{note}.")


def _bracketed(unit: str) -> str:
    return f"[{unit}]" if unit else ""


def _fitting(columns: Sequence[JointColumn], room: int) -> Iterator[list[JointColumn]]:
    """Columns in groups that are no wider than there is room."""
    group: list[JointColumn] = []
    used = 0
    for column in columns:
        heads = len(column.name), len(_bracketed(column.unit))
        width = max(*heads, *(len(value_text(cell)) for cell in column.cells)) + 2
        width += max(3, *(len(std_text(cell)) for cell in column.cells))
        if group and used + width > room:
            yield group
            group, used = [], 0
        group.append(column)
        used += width
    if group:
        yield group


def _show_profile(output: Console, found: CommandRecord) -> None:
    """Print delays that were tried, with the parameters that fit best at each."""
    if len(found.profile) < 2:
        return
    rollout = found.rollout
    output.print("Delays that were tried, by regression (means of all joints):")
    symbols = [
        column for column in joint_table(found).columns if column.symbol in PROFILED and " or " not in column.unit
    ]
    heads = [f"{column.name}\n{_bracketed(column.unit)}" for column in symbols]
    table = plain_table(("",), ("delay\n[ms]", f"rollout RMSE\n[{rollout.unit}]", *heads))
    best = min(found.profile, key=lambda trial: trial.rmse)
    for trial in sorted(found.profile, key=lambda trial: trial.delay):
        means = []
        for column in symbols:
            own = [trial.values[cell.name] for cell in column.cells if cell is not None and cell.name in trial.values]
            means.append(f"{sum(own) / len(own):.3g}" if own else "-")
        mark = "*" if trial is best else ""
        table.add_row(mark, f"{1e3 * trial.delay:.2f}", in_thousandths(trial.rmse), *means)
    output.print(table)


PROFILED = ("Ia", "fv", "fs")
"""Symbols of the parameters that trade with the delay."""


def _show_agreement(output: Console, found: CommandRecord) -> None:
    """Print how well each log's own fit agrees with that of all."""
    if not found.agreement:
        return
    table = plain_table(("log",), ("within its\n95 % intervals", "furthest", "standard\ndeviations"))
    for log in found.agreement:
        table.add_row(log.name, f"{log.share:.0%}", log.worst, f"{log.standard_deviations:.1f}")
    output.print(table)


def _show_pairs(output: Console, pairs: Sequence[Confounded]) -> None:
    """Print pairs of parameters that the logs hardly separate."""
    if not pairs:
        return
    output.print("Parameters that the logs hardly separate:")
    table = plain_table(("one", "other"), ("correlation", "change of the other\nper unit of one"))
    order = sorted(pairs, key=lambda pair: -abs(pair.correlation))
    for pair in order[:PAIRS]:
        table.add_row(pair.one, pair.other, f"{pair.correlation:+.3f}", f"{pair.slope:+.3g}")
    output.print(table)
    if len(order) > PAIRS:
        output.print(f"and {len(order) - PAIRS} more (--json)")
