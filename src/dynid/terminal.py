"""What the command shows people: short tables, findings, and what to do next. Names from files are never markup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dynid.inspection import Inspection
from dynid.robot.repair import Change, FileRepair
from dynid.robot.robot import Robot

if TYPE_CHECKING:
    from dynid.demo import Step
    from dynid.initial_experiment import InitialExperiment
    from dynid.report import ReportFile
    from dynid.result_export import Exported


def show_inspection(inspection: Inspection) -> None:
    """Show what can be known about a robot."""
    output = Console()
    base, model, robot = inspection.base, inspection.model, inspection.robot
    output.print(
        Text(f"{robot.name}: {len(robot.joints)} moving joints, {len(model.names)} standard parameters, ")
        + Text(f"{len(base)} base parameters", style="bold")
        + Text(f" ({_words_for(model.observed.value)}).")
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("base parameter", overflow="fold")
    table.add_column("file's value", justify="right")
    table.add_column("unit")
    table.add_column("of", overflow="fold")
    owners = [model.parameters[column].owner for column in base.columns]
    rows = zip(base.expressions, inspection.base_values(), base.units, owners, strict=True)
    for k, (expression, value, unit, owner) in enumerate(rows, start=1):
        table.add_row(str(k), expression, "-" if value is None else f"{value:.6g}", unit, Text(owner))
    output.print(table)
    _show_names(output, "No effect on what is measured", base.no_effect)
    _show_names(output, "Only in combinations", base.only_in_groups)
    if base.known:
        known = ", ".join(f"{name} = {value:g}" for name, value in base.known.items())
        output.print(f"Known beforehand: {known}", highlight=False)
    if not len(base):
        output.print("Nothing of the robot shows in what is measured.", highlight=False)
    clarity = "doubtful" if base.gap.is_doubtful else "clear"
    output.print(
        f"The count is {clarity}: the smallest kept column is {base.gap.kept:.1e}, the largest dropped one "
        f"{base.gap.dropped:.1e} of the largest of its unit.",
        highlight=False,
    )
    _show_findings(output, [finding.to_dict() for finding in inspection.findings])
    output.print(f"\nNext: {_next_step(inspection)}", highlight=False, markup=False)


def show_identification(data: dict[str, Any], out: Path | None, experiment: Path) -> None:
    """Show what an experiment told; `data` is that of `result_data.identification_data`."""
    output = Console()
    cutoffs = dict.fromkeys(processing["lowpass"] for processing in data["processing"])
    shown = " and ".join("nothing" if cutoff is None else f"{cutoff:g} Hz" for cutoff in cutoffs)
    filtered = "unfiltered" if shown in ("nothing", "") else f"low-passed at {shown}"
    output.print(
        f"{data['robot']}: {len(data['parameters'])} base parameters from {data['samples']} samples "
        f"({sum(joint['rows'] for joint in data['joints'])} rows), {filtered}; "
        f"relative error {data['relative_error']:.4f}, condition number {data['condition_number']:.0f}, "
        f"{data['seconds']:.1f} s.",
        highlight=False,
        markup=False,
    )
    essential = {parameter["name"] for parameter in data["essential"]}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("parameter", overflow="fold")
    both = any(finding["subject"] == "deviations" for finding in data["findings"])
    for name in ("value", "deviation", *(("by blocks",) if both else ()), "%"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    table.add_column("essential")
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
            "believe these. %: the larger of both, relative to the value.",
            highlight=False,
        )
    joints = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    joints.add_column("joint", overflow="fold")
    for name in ("rows", "RMSE", "relative error"):
        joints.add_column(name, justify="right")
    for joint in data["joints"]:
        joints.add_row(joint["name"], str(joint["rows"]), f"{joint['rmse']:.4g}", f"{joint['relative_error']:.4f}")
    output.print(joints)
    if data["sign_recovery"] is not None:
        _show_signs(output, data["signs"], data["sign_recovery"])
    if data["physical"] is not None:
        _show_physical(output, data["physical"])
    output.print(
        f"{len(essential)} essential parameters alone: relative error {data['essential_relative_error']:.4f}.",
        highlight=False,
    )
    _show_findings(output, data["findings"])
    following = (
        f"save it: dynid identify {experiment} --out result"
        if out is None
        else f"prove it on another log: dynid validate {out} OTHER.toml; write your robot: dynid export {out} --to urdf"
    )
    output.print(f"\nNext: {following}", highlight=False, markup=False)


def _show_physical(output: Console, physical: dict[str, Any]) -> None:
    """Show links that can exist, and which of their numbers the data tell."""
    weight = "" if physical["prior"] == "none" else f" of weight {physical['weight']:g}"
    output.print(
        f"Physical links (prior: {physical['prior']}{weight}): relative error {physical['relative_error']:.4f}, "
        f"{physical['total_mass']:.4g} kg in all.",
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("link", overflow="fold")
    for name in ("mass [kg]", "centre of mass [m]", "principal moments [kg m^2]"):
        table.add_column(Text(name), justify="right")
    table.add_column("told by the data", overflow="fold")
    for link in physical["links"]:
        told = [row["name"] for row in link["parameters"] if row["source"] == "data"]
        centre = " ".join(f"{x:.3f}" for x in link["centre_of_mass"])
        moments = " ".join(f"{x:.2g}" for x in link["principal_moments"])
        held = [row["name"] for row in link["parameters"] if row["source"] == "held by physics"]
        words = ", ".join(told) if told else "nothing alone"
        words += f"; held by physics: {', '.join(held)}" if held else ""
        words += "; rest from the prior" if len(told) + len(held) < len(link["parameters"]) else ""
        table.add_row(Text(link["name"]), f"{link['mass']:.4g}", centre, moments, words)
    output.print(table)


def show_excitation(data: dict[str, Any], source: str, out: Path | None) -> None:
    """Show a designed motion; `data` is that of `excitation_output.excitation_data`."""
    output = Console()
    condition = "infinite" if data["condition_number"] is None else f"{data['condition_number']:.4g}"
    motions = "" if len(data["segments"]) == 1 else f" in {len(data['segments'])} motions"
    output.print(
        Text(f"{data['robot']}: condition number ")
        + Text(condition, style="bold")
        + Text(
            f" for {data['duration']:.4g} s{motions}, designed in {data['seconds']:.1f} s ({data['starts']} starts)."
        )
    )
    limits = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    limits.add_column("limit", overflow="fold")
    for name in ("allowed", "reached"):
        limits.add_column(name, justify="right")
    limits.add_column("unit")
    limits.add_column("kept")
    for check in data["limits"]:
        numbers = [
            " to ".join("-" if end is None else f"{end:.4g}" for end in (value if isinstance(value, list) else [value]))
            for value in (check["limit"], check["reached"])
        ]
        limits.add_row(
            Text(check["name"]), *numbers, check["unit"], "yes" if check["kept"] else Text("no", style="red")
        )
    output.print(limits)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("parameter", overflow="fold")
    for name in ("file's value", "expected deviation", "%"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    for row in data["parameters"]:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        deviation = "not excited" if row["std"] is None else f"{row['std']:.2g}"
        table.add_row(row["expression"], value, deviation, _percent(row["relative_std_percent"]), row["unit"])
    output.print(table)
    _show_findings(output, data["findings"])
    following = (
        f"write it: dynid excite {source} --out trajectory"
        if out is None
        else f"look at {out / 'limits.html' if len(data['segments']) == 1 else out}, then run it slowly first"
    )
    output.print(f"\nNext: {following}", highlight=False, markup=False)


def _show_signs(output: Console, signs: list[dict[str, Any]], recovery: dict[str, Any]) -> None:
    """Show how surely the signs of each joint's torque were recovered."""
    rejected = recovery["mirror_margin"]
    mirror = "" if rejected is None else f"; physics rejects the mirror image by {rejected:.0f}"
    output.print(
        f"Signs of {len(signs)} segments recovered in {recovery['seconds']:.1f} s: {recovery['sure']:.0%} sure (margin "
        f"{recovery['thresholds']['sure']:g} deviations), {recovery['likely']:.0%} likely "
        f"({recovery['thresholds']['likely']:g}), {recovery['undecided']:.0%} undecided and left out{mirror}.",
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", overflow="fold")
    for name in ("segments", "+", "-", "sure", "likely", "undecided", "smallest margin"):
        table.add_column(name, justify="right")
    for joint in dict.fromkeys(segment["joint"] for segment in signs):
        own = [segment for segment in signs if segment["joint"] == joint]
        words = [str(sum(s["word"] == word for s in own)) for word in ("sure", "likely", "undecided")]
        counts = [str(len(own)), *(str(sum(s["sign"] == sign for s in own)) for sign in (1, -1))]
        table.add_row(Text(joint), *counts, *words, f"{min(segment['margin'] for segment in own):.1f}")
    output.print(table)


def show_initial_experiment(path: Path, made: InitialExperiment) -> None:
    """Show what a first experiment guesses."""
    output = Console()
    output.print(
        f"Wrote {path} for {len(made.joints)} joints: {', '.join(made.joints)}.", highlight=False, markup=False
    )
    for guess in made.guesses:
        output.print(f"- {guess}", highlight=False, markup=False)
    output.print(f"\nNext: check it, then dynid identify {path}", highlight=False, markup=False)


def _percent(value: float | None) -> str:
    return "-" if value is None else "> 100" if value > 100.0 else f"{value:.1f}"


def show_conversion(output_file: Path, robot: Robot, left_out: list[str]) -> None:
    """Show what was written as URDF, and what was not."""
    output = Console()
    wrote = f"Wrote {output_file}: {len(robot.joints)} joints, {len(robot.links)} moving links."
    output.print(wrote, highlight=False, markup=False)
    for item in left_out:
        output.print(f"Left out: {item}.", highlight=False, markup=False)
    output.print(f"Next: dynid inspect {output_file}", highlight=False, markup=False)


def show_export(exported: Exported) -> None:
    """Show which files hold the identified robot."""
    output = Console()
    how = "your file, with identified numbers" if exported.edited else "a new file"
    output.print(f"Wrote {exported.path} ({how}).", highlight=False, markup=False)
    if exported.beside is not None:
        output.print(f"Wrote {exported.beside}: what the format has no place for.", highlight=False, markup=False)
    for item in exported.left_out:
        output.print(f"Left out: {item}.", highlight=False, markup=False)
    for item in exported.kept:
        output.print(f"Kept from your file, as the model has no such term: {item}.", highlight=False, markup=False)
    if exported.impossible:
        names = ", ".join(exported.impossible)
        output.print(f"Still impossible, as in your file: {names}; see dynid repair.", highlight=False, markup=False)
    if exported.format.value != "json":
        output.print(f"\nNext: dynid inspect {exported.path}", highlight=False, markup=False)


def show_repair(done: FileRepair) -> None:
    """Show which bodies were impossible, and what was changed."""
    output = Console()
    if done.output is None:
        output.print(f"All bodies of {done.source} are possible; nothing to repair.", highlight=False, markup=False)
        output.print(f"Next: dynid inspect {done.source}", highlight=False, markup=False)
        return
    count = f"{len(done.bodies)} impossible {'body' if len(done.bodies) == 1 else 'bodies'}"
    output.print(f"{done.source}: {count}, repaired in {done.output}.", highlight=False, markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("body", "what was wrong", "what changed"):
        table.add_column(name, overflow="fold")
    for body in done.bodies:
        wrong = "; ".join(map(str, body.violations))
        table.add_row(Text(f"{body.body} (line {body.line})"), Text(wrong), Text("; ".join(map(_change, body.changes))))
    output.print(table)
    if any(change.what == "mass" for body in done.bodies for change in body.changes):
        output.print("A mass that was changed is now a milligram, as a stand-in; write the real one.", highlight=False)
    output.print(f"Next: dynid inspect {done.output}", highlight=False, markup=False)


def _change(change: Change) -> str:
    before, after = (", ".join(f"{value:.3g}" for value in values) for values in (change.before, change.after))
    size = "" if change.relative is None else f" ({100 * change.relative:.3g} %)"
    return f"{change.what} {before} -> {after} {change.unit}{size}"


def show_validation(data: dict[str, Any]) -> None:
    """Show how well torques are predicted; `data` is that of `result.validate_result`."""
    output = Console()
    physical = data["physical_relative_error"]
    with_links = "" if physical is None else f" ({physical:.4f} with physical links)"
    output.print(
        f"Relative error on {data['samples']} samples: {data['relative_error']:.4f}{with_links}.", highlight=False
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", overflow="fold")
    for name in ("rows", "RMSE", "NRMSE", "R2", "relative error"):
        table.add_column(name, justify="right")
    for joint in data["joints"]:
        numbers = (
            f"{joint['rmse']:.4g}",
            f"{joint['nrmse']:.4f}",
            f"{joint['r2']:.4f}",
            f"{joint['relative_error']:.4f}",
        )
        table.add_row(joint["name"], str(joint["rows"]), *numbers)
    output.print(table)
    if "simulation" in data:
        _show_positions(output, data["simulation"])
    _show_findings(output, data["findings"])
    output.print("\nNext: for programs: add --json", highlight=False)


def _show_positions(output: Console, data: dict[str, Any]) -> None:
    """Show how well the simulated result moves as the robot did."""
    output.print("Simulated in closed loop on the same reference [rad or m]:", highlight=False, markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", overflow="fold")
    for name in ("RMS of simulated - measured", "RMS of reference - measured"):
        table.add_column(name, justify="right")
    for joint in data["joints"]:
        table.add_row(Text(joint["name"]), f"{joint['rms_position']:.3g}", f"{joint['rms_tracking']:.3g}")
    output.print(table)


def show_simulation(data: dict[str, Any]) -> None:
    """Show what a simulated robot did; `data` is that of `simulated_output.simulation_data`."""
    output = Console()
    output.print(
        f"{data['robot']}: {data['duration']:.4g} s, {data['samples']} samples; tracking error "
        f"{data['rmse_tracking']:.3g} rad or m.",
        highlight=False,
        markup=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", overflow="fold")
    for name in ("tracking error", "largest torque", "stuck"):
        table.add_column(name, justify="right")
    for joint in data["joints"]:
        numbers = (f"{joint['rmse_tracking']:.3g}", f"{joint['largest_torque']:.4g}", f"{joint['rests']:.1%}")
        table.add_row(Text(joint["name"]), *numbers)
    output.print(table)
    files = f"Wrote {data['log']}, {data['experiment']}, and the truth apart: {data['truth']}."
    output.print(files, highlight=False, markup=False)
    _show_findings(output, data["findings"])
    output.print(f"\nNext: dynid identify {data['experiment']}", highlight=False, markup=False)


def show_report(done: ReportFile) -> None:
    """Show the verdict of a report, and where it is."""
    output = Console()
    for subject in done.subjects:
        if len(done.subjects) > 1:
            output.print(f"{subject.name}:", highlight=False, markup=False, style="bold")
        output.print(subject.verdict.headline, highlight=False, markup=False)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("use", "trust it?", "why"):
            table.add_column(name, overflow="fold")
        for use in subject.verdict.uses:
            table.add_row(use.purpose, use.answer.value, Text(use.reason))
        output.print(table)
        if subject.missing:
            output.print(f"Without signals: {subject.missing}.", highlight=False, markup=False)
    output.print(f"Wrote {done.path} ({done.size / 1e6:.1f} MB).", highlight=False, markup=False)
    output.print("\nNext: open it in a browser; it needs no network.", highlight=False)


def show_step(step: Step) -> None:
    """Show a step of the demo that is done."""
    Console().print(Text(f"{step.title:<9}", style="bold") + Text(f" {step.text}"), highlight=False)


def show_demo(data: dict[str, Any]) -> None:
    """Show how near the demo came to the truth, and what to try next; `data` is that of `demo.run_demo`."""
    output = Console()
    output.print(
        f"\nThe simulated robot's links and friction were not those of its file. Identification came within "
        f"{data['true_parameter_error']:.2%} of its true base parameters, and predicts a motion that it had not seen "
        f"to {data['validation_relative_error']:.2%}.",
        highlight=False,
    )
    output.print(f"\nReport: {data['report']}", highlight=False, markup=False)
    output.print(
        "Next: open it in a browser; then try your own robot: dynid demo --robot my_robot.urdf --out my_demo",
        highlight=False,
        markup=False,
    )


def _show_findings(output: Console, findings: list[dict[str, str]]) -> None:
    if not findings:
        return
    colours = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    table = Table.grid(padding=(0, 1))
    for finding in findings:
        severity = finding["severity"]
        stop = "" if finding["text"].endswith(("?", ".")) else "."
        table.add_row(
            "", Text(severity, style=colours[severity]), Text(f"{finding['subject']}: {finding['text']}{stop}")
        )
    output.print("\nFindings:", highlight=False)
    output.print(table)


def _show_names(output: Console, title: str, names: tuple[str, ...]) -> None:
    if names:
        output.print(f"{title} ({len(names)}): {', '.join(names)}", highlight=False, markup=False)


def _words_for(observed: str) -> str:
    return {
        "torques": "from joint torques in motion",
        "gravity": "from joint torques at rest",
        "wrench_stationary": "from the wrench on a standing base",
        "wrench_moving": "from the wrench on a moving base",
    }[observed]


def _next_step(inspection: Inspection) -> str:
    if any(finding.severity.value == "error" for finding in inspection.findings):
        return "correct the errors above in the robot's file, then inspect it again"
    source = inspection.robot.description.source
    if not inspection.model.terms:
        return f"add what the joints do: dynid inspect {source} --terms viscous,coulomb,armature"
    return f"for programs: dynid inspect {source} --json"
