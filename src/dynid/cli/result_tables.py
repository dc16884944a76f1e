"""The tables of a result, for `dynid identify --full`: parameters, joints, terms that were tried, links, signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynid.cli.console import plain_table
from dynid.findings import has

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification.records import FormFitRecord, NonlinearEstimate, PhysicalModel, Record, TermChoiceRecord
    from dynid.identification.result import Result


def show_tables(output: Console, result: Result) -> None:
    """Print everything that an identification found, but for findings."""
    record = result.record
    if record.commands is not None:
        from dynid.cli.commanded_screens import show_command_tables

        show_command_tables(output, result, record.commands)
        return
    if record.form is not None:
        _show_form(output, record.form, record.relative_error)
    if record.term_choice is not None:
        _show_choice(output, record.term_choice)
    _show_parameters(output, result)
    if record.nonlinear:
        _show_nonlinear(output, record.nonlinear, record.nonlinear_passes)
    joints = plain_table(("joint",), ("rows", "RMSE", "relative error"))
    for joint in filter(lambda joint: joint.rows, record.joints):
        joints.add_row(joint.name, str(joint.rows), f"{joint.rmse:.4g}", f"{joint.relative_error:.4f}")
    output.print(joints)
    if record.sign_recovery is not None:
        _show_signs(output, record)
    if record.physical is not None:
        show_physical(output, record.physical)
    output.print(
        f"{len(record.essential)} essential parameters (*) alone: relative error {record.essential_relative_error:.4f}."
    )


def _show_choice(output: Console, choice: TermChoiceRecord) -> None:
    """Print which terms were tried, and which were chosen."""
    output.print(f"Terms: {', '.join(choice.terms) or 'none'} (chosen in {choice.seconds:.1f} s).")
    if not choice.tried:
        return
    table = plain_table(("", "terms tried"), ("error", "above best", "params", "ms"))
    for trial in choice.shown:
        margin = f"{100.0 * trial.margin:.1f} +- {100.0 * trial.standard_error:.1f} %"
        impossible = f" (impossible: {', '.join(trial.impossible)})" if trial.impossible else ""
        words = f"{', '.join(trial.terms) or 'none'}{impossible}"
        numbers = [f"{trial.relative_error:.2%}", margin, str(trial.parameters), f"{1e3 * trial.seconds:.0f}"]
        table.add_row("*" if trial.chosen else "", words, *numbers)
    output.print(table)
    output.print(
        f"error: of {choice.blocks} blocks of time, each predicted without it; above best: of each block, joints "
        f"weighted by their errors; {len(choice.tried)} combinations were tried."
    )


def _show_form(output: Console, form: FormFitRecord, torques: float) -> None:
    """Print which rows were estimated from, and how well they and the torques are fitted."""
    rows = sum(row.rows for row in form.rows)
    window = "" if form.window is None else f" over windows of {form.window:.3g} s"
    output.print(
        f"Estimated from {rows} rows of {form.name}{window}, with a relative error of {form.relative_error:.4f}; "
        f"joint torques are reconstructed with {torques:.4f}."
    )


def _show_parameters(output: Console, result: Result) -> None:
    """Print base parameters; the block bootstrap only where it says something else than white errors."""
    record = result.record
    essential = {row.name for row in record.essential}
    bootstrap = has(result.findings, "std-larger-by-bootstrap", "std-smaller-by-bootstrap")
    columns = ("value", "std", *(("bootstrap\nstd",) if bootstrap else ()), "std [%]")
    table = plain_table(("parameter",), columns, ("unit",))
    for row in record.parameters:
        std = row.honest_std if bootstrap else row.std
        numbers = [f"{row.value:.6g}", f"{row.std:.2g}"]
        numbers += [f"{row.bootstrap_std or 0.0:.2g}"] if bootstrap else []
        percent = f"{100.0 * std / abs(row.value):.1f}" if row.value else "-"
        table.add_row(f"{row.expression}{' *' if row.name in essential else ''}", *numbers, percent, row.unit)
    output.print(table)
    if bootstrap and record.bootstrap is not None:
        output.print(
            "std: standard deviation for white errors; bootstrap std: by block bootstrap (residuals are "
            f"autocorrelated, {1e3 * record.bootstrap.correlation_time:.3g} ms); std [%]: the larger of both."
        )


def _show_nonlinear(output: Console, parameters: Sequence[NonlinearEstimate], passes: int) -> None:
    """Print nonlinear parameters, and what determines them."""
    searched = "" if not passes else f" ({passes} passes over the logs)"
    output.print(f"Nonlinear parameters{searched}:")
    table = plain_table(("parameter",), ("value", "std", "std [%]"), ("unit", "source"))
    for row in parameters:
        value = "-" if row.value is None else f"{row.value:.6g}"
        std = "-" if row.std is None else f"{row.std:.2g}"
        percent = "-" if row.relative_std_percent is None else f"{row.relative_std_percent:.1f}"
        table.add_row(row.name, value, std, percent, row.unit, row.source)
    output.print(table)


def show_physical(output: Console, physical: PhysicalModel) -> None:
    """Print physically consistent links, and which of their parameters the data determine."""
    weight = "" if physical.prior == "none" else f" of weight {physical.weight:g}"
    output.print(
        f"Physically consistent links (prior: {physical.prior}{weight}): relative error "
        f"{physical.relative_error:.4f}, total mass {physical.total_mass:.4g} kg."
    )
    table = plain_table(("link",), ("mass [kg]", "centre of mass [m]", "principal moments [kg m^2]"))
    for link in physical.links:
        centre = " ".join(f"{x:.3f}" for x in link.centre_of_mass)
        moments = " ".join(f"{x:.2g}" for x in link.principal_moments)
        table.add_row(link.name, f"{link.mass:.4g}", centre, moments)
    output.print(table)
    for source, words in (("data", "Determined by the data"), ("held by physics", "Held by physical consistency")):
        names = [row.name for link in physical.links for row in link.parameters if row.source == source]
        if names or source == "data":
            output.print(f"{words}: {', '.join(names) or 'none individually'}.")
    if physical.prior != "none":
        output.print("The remainder comes from the prior.")


def _show_signs(output: Console, record: Record) -> None:
    """Print how surely the signs of each joint's torque were recovered."""
    recovery, signs = record.sign_recovery, record.signs
    if recovery is None:
        return
    margin = recovery.mirror_margin
    mirror = "" if margin is None else f"; physical consistency rejects the mirror image by {margin:.0f}"
    output.print(
        f"Signs of {len(signs)} segments recovered in {recovery.seconds:.1f} s: {recovery.sure:.0%} sure (margin of "
        f"{recovery.thresholds['sure']:g} standard deviations), {recovery.likely:.0%} likely "
        f"({recovery.thresholds['likely']:g}), {recovery.undecided:.0%} undecided and left out{mirror}."
    )
    table = plain_table(("joint",), ("segments", "+", "-", "sure", "likely", "undecided", "smallest margin"))
    for joint in dict.fromkeys(segment.joint for segment in signs):
        own = [segment for segment in signs if segment.joint == joint]
        words = [str(sum(s.word == word for s in own)) for word in ("sure", "likely", "undecided")]
        counts = [str(len(own)), *(str(sum(s.sign == sign for s in own)) for sign in (1, -1))]
        table.add_row(joint, *counts, *words, f"{min(segment.margin for segment in own):.1f}")
    output.print(table)
