"""`dynid gains`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import FullOption, JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from dynid.identification.gain_record import Gains


class Method(StrEnum):
    """How gains are estimated."""

    constrained = "constrained"
    total = "total"
    linear = "linear"


class Friction(StrEnum):
    """Whether friction may differ where a load is carried."""

    separate = "separate"
    shared = "shared"


def gains(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (.toml).")],
    method: Annotated[
        Method, typer.Option("--method", help="Constrained, total, or (for comparison) ordinary least squares.")
    ] = Method.constrained,
    friction: Annotated[
        Friction, typer.Option("--friction", help="Whether it may differ where a load is carried.")
    ] = Friction.separate,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Identify drive gains (torque per ampere) with a known load.

    Some logs are with that load and some without it. The experiment's [[load]] states at least the mass, and
    [[log]] load = NAME which logs carry it.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid

        found = dynid.identify_gains(experiment, method=method.value, friction=friction.value, progress=step)
    if json_output:
        echo_json(found.to_dict())
    else:
        show_drive_gains(found, experiment, full=full)


def show_drive_gains(found: Gains, experiment: Path, *, full: bool = False) -> None:
    """Print gains with their intervals, constants beside them, and the line for the experiment file."""
    from dynid.cli.console import plain_console, plain_table, show_facts, show_findings, show_next

    output = plain_console()
    known = int(found.determined.sum())
    how = {"linear": "ordinary"}.get(found.method, found.method)
    output.print(f"{found.robot}: {known} of {len(found.joints)} drive gains determined ({how} least squares).")
    share = f"{found.confidence:.0%}"
    table = plain_table(("joint",), ("gain", "std", f"{share} interval", "physical", "stated"), ("unit",))
    for row in found.rows():
        if row["determined"]:
            interval = f"{row['lower']:.4g} to {row['upper']:.4g}"
            cells = f"{row['value']:.4g}", f"{row['std']:.2g}", interval, _number(row["physical"])
        else:
            spread = row["relative_std_percent"]
            cells = "undetermined", "none" if spread is None else f"{spread:.1f} %", "", ""
        table.add_row(row["joint"], *cells, _number(row["stated"]), row["unit"])
    output.print(table)
    facts = {}
    if found.pairs:
        facts["one motion"] = "; ".join(f"{one} and {other}" for one, other in found.pairs)
    if found.total_mass is not None:
        facts["total mass"] = f"{found.total_mass:.4g} kg of physically consistent links"
    show_facts(output, facts)
    shown = [one for one in found.findings if full or one.code.startswith("gain-") or one.severity.value != "note"]
    show_findings(output, shown)
    constants = ", ".join("?" if x is None else f"{x:g}" for x in found.torque_constants)
    output.print(f"\n[drive]\ntorque_constants = [{constants}]")
    rest = ""
    if known < len(found.joints):
        rest = (
            ", with constants of a data sheet for '?',"
            if None in found.torque_constants
            else " (with stated constants)"
        )
    more = "" if full or len(shown) == len(found.findings) else f"All notes: dynid gains {experiment} --full"
    show_next(
        output,
        f"put this line{rest} into {experiment}, and run dynid payload {experiment}: it must find the load",
        more,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
