"""What `dynid identify` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from dynid.cli.terminal.parts import plain_console, plain_table, show_findings


def show_identification(data: dict[str, Any], out: Path | None, experiment: Path) -> None:
    """Show what an experiment told; `data` is that of `results.data.identification_data`."""
    output = plain_console()
    cutoffs = dict.fromkeys(processing["lowpass"] for processing in data["processing"])
    shown = " and ".join("nothing" if cutoff is None else f"{cutoff:g} Hz" for cutoff in cutoffs)
    filtered = "unfiltered" if shown in ("nothing", "") else f"low-passed at {shown}"
    output.print(
        f"{data['robot']}: {len(data['parameters'])} base parameters from {data['samples']} samples "
        f"({sum(joint['rows'] for joint in data['joints'])} rows), {filtered}; "
        f"relative error {data['relative_error']:.4f}, condition number {data['condition_number']:.0f}, "
        f"{data['seconds']:.1f} s."
    )
    if data["form"] is not None:
        _show_form(output, data["form"], data["relative_error"])
    essential = {parameter["name"] for parameter in data["essential"]}
    both = any(finding["subject"] == "deviations" for finding in data["findings"])
    blocks_too = ("by blocks",) if both else ()
    table = plain_table(("parameter",), ("value", "deviation", *blocks_too, "%"), ("unit", "essential"))
    for row in data["parameters"]:
        blocks = (f"{row['bootstrap_std']:.2g}",) if both else ()
        size = max(row["std"], row["bootstrap_std"]) if both else row["std"]
        percent = f"{100.0 * size / abs(row['value']):.1f}" if row["value"] else "-"
        mark = "yes" if row["name"] in essential else ""
        table.add_row(
            row["expression"], f"{row['value']:.6g}", f"{row['std']:.2g}", *blocks, percent, row["unit"], mark
        )
    output.print(table)
    if both:
        lasts = 1e3 * data["bootstrap"]["correlation_time"]
        output.print(
            f"deviation: if the errors of samples were independent. by blocks: as they are, lasting {lasts:.3g} ms; "
            "believe these. %: the larger of both, relative to the value."
        )
    if data["shapes"]:
        _show_nonlinear(output, data["shapes"], data["shape_passes"])
    joints = plain_table(("joint",), ("rows", "RMSE", "relative error"))
    for joint in data["joints"]:
        joints.add_row(joint["name"], str(joint["rows"]), f"{joint['rmse']:.4g}", f"{joint['relative_error']:.4f}")
    output.print(joints)
    if data["sign_recovery"] is not None:
        _show_signs(output, data["signs"], data["sign_recovery"])
    if data["physical"] is not None:
        _show_physical(output, data["physical"])
    output.print(f"{len(essential)} essential parameters alone: relative error {data['essential_relative_error']:.4f}.")
    show_findings(output, data["findings"])
    following = (
        f"save it: dynid identify {experiment} --out result"
        if out is None
        else f"prove it on another log: dynid validate {out} OTHER.toml; write your robot: dynid export {out} --to urdf"
    )
    output.print(f"\nNext: {following}")


def _show_form(output: Console, form: dict[str, Any], torques: float) -> None:
    """Show which rows were estimated from, and how well they and the torques are fitted."""
    rows = sum(row["rows"] for row in form["rows"])
    window = "" if form["window"] is None else f" over windows of {form['window']:.3g} s"
    output.print(
        f"Estimated from {rows} rows of {form['name']}{window}, fitted with a relative error of "
        f"{form['relative_error']:.4f}; the torques of joints are reconstructed with {torques:.4f}."
    )


def _show_nonlinear(output: Console, rows: list[dict[str, Any]], passes: int) -> None:
    """Show numbers that torques are not linear in."""
    took = f", found in {passes} passes over the logs" if passes else ""
    output.print(f"Shapes of friction{took}:")
    table = plain_table(("shape",), ("value", "deviation", "%"), ("unit", "from"))
    for row in rows:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        std = "-" if row["std"] is None else f"{row['std']:.2g}"
        percent = "-" if row["relative_std_percent"] is None else f"{row['relative_std_percent']:.1f}"
        table.add_row(row["name"], value, std, percent, row["unit"], row["source"])
    output.print(table)


def _show_physical(output: Console, physical: dict[str, Any]) -> None:
    """Show links that can exist, and which of their numbers the data tell."""
    weight = "" if physical["prior"] == "none" else f" of weight {physical['weight']:g}"
    output.print(
        f"Physical links (prior: {physical['prior']}{weight}): relative error {physical['relative_error']:.4f}, "
        f"{physical['total_mass']:.4g} kg in all."
    )
    table = plain_table(
        ("link",), ("mass [kg]", "centre of mass [m]", "principal moments [kg m^2]"), ("told by the data",)
    )
    for link in physical["links"]:
        told = [row["name"] for row in link["parameters"] if row["source"] == "data"]
        centre = " ".join(f"{x:.3f}" for x in link["centre_of_mass"])
        moments = " ".join(f"{x:.2g}" for x in link["principal_moments"])
        held = [row["name"] for row in link["parameters"] if row["source"] == "held by physics"]
        words = ", ".join(told) if told else "nothing alone"
        words += f"; held by physics: {', '.join(held)}" if held else ""
        words += "; rest from the prior" if len(told) + len(held) < len(link["parameters"]) else ""
        table.add_row(link["name"], f"{link['mass']:.4g}", centre, moments, words)
    output.print(table)


def _show_signs(output: Console, signs: list[dict[str, Any]], recovery: dict[str, Any]) -> None:
    """Show how surely the signs of each joint's torque were recovered."""
    rejected = recovery["mirror_margin"]
    mirror = "" if rejected is None else f"; physics rejects the mirror image by {rejected:.0f}"
    output.print(
        f"Signs of {len(signs)} segments recovered in {recovery['seconds']:.1f} s: {recovery['sure']:.0%} sure (margin "
        f"{recovery['thresholds']['sure']:g} deviations), {recovery['likely']:.0%} likely "
        f"({recovery['thresholds']['likely']:g}), {recovery['undecided']:.0%} undecided and left out{mirror}."
    )
    table = plain_table(("joint",), ("segments", "+", "-", "sure", "likely", "undecided", "smallest margin"))
    for joint in dict.fromkeys(segment["joint"] for segment in signs):
        own = [segment for segment in signs if segment["joint"] == joint]
        words = [str(sum(s["word"] == word for s in own)) for word in ("sure", "likely", "undecided")]
        counts = [str(len(own)), *(str(sum(s["sign"] == sign for s in own)) for sign in (1, -1))]
        table.add_row(joint, *counts, *words, f"{min(segment['margin'] for segment in own):.1f}")
    output.print(table)
