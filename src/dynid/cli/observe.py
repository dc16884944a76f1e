"""`dynid observe`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import FullOption, JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification.observation import Observation

SHOWN_CONTACTS = 12
"""Contacts that are printed without --full."""


def observe(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder saved by dynid identify.")],
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="Log with torques: a file laid out as the result's own, or an experiment file (.toml)."
        ),
    ],
    thresholds_from: Annotated[
        list[str],
        typer.Option(
            "--thresholds-from",
            help="Log without contact that was not used to identify; may be repeated (default: the result's own logs, "
            "each part with a model fitted to the others).",
        ),
    ] = [],  # noqa: B006
    thresholds: Annotated[
        Path | None,
        typer.Option("--thresholds", help="Thresholds that were found before: thresholds.json, or a folder of --out."),
    ] = None,
    false_alarms_per_minute: Annotated[
        float | None,
        typer.Option(
            "--false-alarms-per-minute", help="False alarms of all joints together (default: 1; 0.0167: one per hour)."
        ),
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            "--gain", help="Gain of the observer [1/s] (default: 50, at most a quarter of the sampling rate)."
        ),
    ] = None,
    velocities: Annotated[
        str,
        typer.Option("--velocities", help="logged, or positions (behind a causal filter); auto takes the less noisy."),
    ] = "auto",
    parameters: Annotated[
        str | None,
        typer.Option("--parameters", help="physical (default where there are such links) or base."),
    ] = None,
    body: Annotated[
        str, typer.Option("--body", help="Body that a load is looked for on (default: the last link).")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for contacts, thresholds (for dynid export) and torques (CSV).")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Also write an HTML page with figures.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Observe external torques: contacts and loads.

    Runs the momentum observer over a log, as the generated C does on the robot, with thresholds per joint from motion
    without contact.
    """
    chosen: dict[str, Any] = {
        "thresholds": thresholds,
        "thresholds_from": thresholds_from,
        "false_alarms_per_minute": false_alarms_per_minute,
        "gain": gain,
        "velocities": velocities,
        "parameters": parameters,
        "body": body or None,
    }
    with errors_in_words(), steps_shown() as step:
        step("Loading the result")
        import dynid
        from dynid.errors import OutputExistsError

        for path in (out, report):
            if path is not None and path.exists() and not force:
                raise OutputExistsError(path)  # before the work
        found = dynid.observe(result, log, progress=step, **chosen)
        if out is not None:
            found.save(out, overwrite=force)
        if report is not None:
            found.report(report, overwrite=force)
    if json_output:
        echo_json(found.to_dict())
    else:
        show_observation(found, result, out, report, full=full)


def show_observation(
    found: Observation, result: Path, out: Path | None, report: Path | None, *, full: bool = False
) -> None:
    """Print external torques, contacts and the load."""
    from dynid.cli.console import plain_console, show_findings, show_next
    from dynid.findings import Severity

    output, limits = plain_console(), found.thresholds
    velocities = "logged velocities" if limits.cutoff is None else f"positions filtered at {limits.cutoff:.3g} Hz"
    rate, (low, high) = limits.false_alarms_per_minute, limits.interval
    output.print(
        f"{found.name}: {found.seconds:.1f} s observed, gain {limits.gain:.3g} 1/s, {velocities}. Expected false "
        f"alarms per minute: {rate:.3g} ({low:.2g} to {high:.2g}), by thresholds from {limits.seconds:.0f} s without "
        "contact."
    )
    _show_joints(output, found)
    _show_contacts(output, found, full=full)
    _show_load(output, found)
    notes = [each for each in found.findings if each.severity is Severity.NOTE]
    show_findings(output, found.findings if full else [each for each in found.findings if each not in notes])
    for path, what in ((out, "contacts, thresholds and torques"), (report, "figures")):
        if path is not None:
            output.print(f"Wrote {path}: {what}.")
    more = len(found.contacts) > SHOWN_CONTACTS or notes
    show_next(output, _next(found, result, out), "" if full or not more else "All contacts and notes: --full")


def _show_joints(output: Console, found: Observation) -> None:
    from dynid.cli.console import plain_table

    data = found.to_dict()["joints"]
    table = plain_table(("joint", "unit"), ("RMS", "largest", "threshold", "near\nrest", "per\nspeed"))
    for row, scale in zip(data, found.thresholds.scales, strict=True):
        extra = (
            f"+{scale.near_rest:.3g}" if scale.near_rest else "",
            f"+{scale.per_speed:.3g}" if scale.per_speed else "",
        )
        table.add_row(
            row["name"], row["unit"], f"{row['rms']:.3g}", f"{row['largest']:.3g}", f"{scale.level:.3g}", *extra
        )
    output.print(table)


def _show_contacts(output: Console, found: Observation, *, full: bool) -> None:
    from dynid.cli.console import plain_table

    if not found.contacts:
        output.print("No contact: no external torque exceeded its threshold.")
        return
    shown = found.contacts if full else found.contacts[:SHOWN_CONTACTS]
    units = dict(zip(found.joints, found.units, strict=True))
    table = plain_table(("contact", "joint"), ("start [s]", "end [s]", "largest", "times its\nthreshold"))
    for k, each in enumerate(shown, start=1):
        torque = f"{each.torque:+.3g} {units[each.joint]}"
        table.add_row(str(k), each.joint, f"{each.start:.3f}", f"{each.end:.3f}", torque, f"{each.times:.2f}")
    output.print(table)
    if len(shown) < len(found.contacts):
        output.print(f"{len(found.contacts) - len(shown)} more contacts.")


def _show_load(output: Console, found: Observation) -> None:
    load = found.payload
    if load is None or not load.is_seen:
        output.print("No load explains the external torques at the end of the log.")
        return
    center = ", ".join(
        f"{x:.3f} ± {std:.3f}" for x, std in zip(load.center_of_mass[-1], load.center_of_mass_std[-1], strict=True)
    )
    output.print(
        f"Load on '{load.body}' at the end: {load.mass[-1]:.3g} ± {load.mass_std[-1]:.2g} kg at ({center}) m; it "
        f"explains {load.explained[-1]:.0%} of the squared external torques."
    )


def _next(found: Observation, result: Path, out: Path | None) -> str:
    """What to do with an observation."""
    if found.payload is not None and found.payload.is_seen:
        return f"identify the load: dynid payload {quote(str(result))} LOG"
    base = "" if found.thresholds.physical else " --parameters base"
    if out is not None:
        given = f"{quote(str(result))} --to c --thresholds {quote(str(out))}{base}"
        return f"put the thresholds into a controller: dynid export {given}"
    return "save the thresholds for a controller: add --out DIR, then dynid export RESULT --to c --thresholds DIR"
