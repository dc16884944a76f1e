"""`dynid identify`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import FullOption, JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from dynid.identification.records import Record
    from dynid.identification.result import Result

CUTOFFS = 3
"""Different cut-off frequencies of logs that are named one by one."""

WORST = 3
"""Joints with the largest errors that are named."""


def identify(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (.toml).")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder to save the result in.")] = None,
    add_to: Annotated[
        Path | None, typer.Option("--add-to", help="Saved result whose logs are added; they are not read again.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing result.")] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=0, help="Processes that reduce logs side by side.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Dask scheduler whose workers reduce logs: tcp://HOST:PORT."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a log that cannot be used.")] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Reduce all of many logs anew, and keep nothing for later runs.")
    ] = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Identify dynamic parameters from logs.

    Ends with a verdict: whether the result can be trusted, and why not. --full prints all parameters.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid
        from dynid.files import reserved
        from dynid.identification.result_files import check_free

        with nullcontext() if out is None else reserved(out):
            if out is not None:
                check_free(out, overwrite=force)  # before logs are read, which may take long
            where = {"workers": workers, "client": cluster, "strict": strict, "cache": not no_cache}
            result = dynid.identify(experiment, add_to=add_to, progress=step, **where)
            if out is not None:
                result.save(out, overwrite=force)
    if json_output:
        echo_json(result.to_dict())
    else:
        show_result(result, out, experiment, full=full)


def show_result(result: Result, out: Path | None, experiment: Path, *, full: bool = False) -> None:
    """Print a result in ten lines, or with all its tables and findings, and the verdict on it."""
    from dynid.cli.console import plain_console, show_facts, show_findings, show_next, show_verdict
    from dynid.findings import grouped

    output, record = plain_console(), result.record
    if record.commands is None:
        output.print(f"{record.robot}: {_errors(record)}.")
        show_facts(output, dict(_facts(result)))
    else:
        from dynid.cli.commanded_screens import facts_of_commands, rollout_headline

        output.print(rollout_headline(record, record.commands))
        show_facts(output, dict(facts_of_commands(result, record.commands)))
    notes = sum(finding.severity.value == "note" for finding in grouped(result.findings))
    if full:
        from dynid.cli.result_tables import show_tables

        show_tables(output, result)
        show_findings(output, result.findings, record.logs)
        notes = 0
    doubted = result.verdict.answer.value in ("with care", "no")
    show_verdict(output, result.verdict, improvements=doubted and not full)
    again = f"dynid identify {experiment}"
    if result.verdict.answer.value == "no":
        step = f"mend what the verdict names, and identify again; for more, dynid report {out or 'RESULT'}"
    elif out is None:
        step = f"save the result: {again} --out result"
    else:
        step = f"validate on a held-out log: dynid validate {out} OTHER.csv; or write a report: dynid report {out}"
    more = "" if full else f"All parameters{f' and {notes} notes' if notes > 1 else ''}: {again} --full"
    show_next(output, step, more)


def _errors(record: Record) -> str:
    """The errors of the base parameters, of links and of blocks that were held out."""
    links, blocks = record.physical, record.held_out_blocks
    robust = record.weighted_relative_error
    others = [
        f"{robust:.2%} of rows as the robust estimate weighs them" if robust is not None else "",
        f"physically consistent links {links.relative_error:.2%}" if links is not None else "",
        f"held-out blocks {blocks.relative_error:.2%}" if blocks is not None else "",
    ]
    listed = "; ".join(other for other in others if other)
    return f"relative error {record.relative_error:.2%}" + (f" ({listed})" if listed else "")


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    """What a result rests on and what it found, a line each."""
    record = result.record
    rows = sum(joint.rows for joint in record.joints)
    logs = "" if record.logs == 1 else f" of {record.logs} logs"
    yield "data", f"{record.samples} samples{logs} ({rows} rows), {_filtered(record)}; {record.seconds:.1f} s"
    if record.form is not None:
        yield "rows", f"of {record.form.name}, fitted with a relative error of {record.form.relative_error:.2%}"
    chosen = "" if record.term_choice is None else " (chosen by the data)"
    yield "terms", f"{', '.join(result.term_names) or 'none'}{chosen}"
    sure = sum(100.0 * row.honest_std <= 10.0 * abs(row.value) for row in record.parameters)
    yield (
        "parameters",
        f"{sure} of {len(record.parameters)} base parameters known to 10 %; condition number "
        f"{record.condition_number:.0f}",
    )
    worst = sorted(record.joints, key=lambda joint: -joint.relative_error)[:WORST]
    label = "joints" if len(record.joints) <= WORST else "worst joints"
    yield label, ", ".join(f"{joint.name} {joint.relative_error:.1%}" for joint in worst)
    if record.sign_recovery is not None:
        signs = record.sign_recovery
        yield "signs", f"{signs.sure:.0%} of segments sure, {signs.likely:.0%} likely, {signs.undecided:.0%} left out"
    if record.physical is not None:
        stated = float(result.robot.parameters[::10].sum())
        yield "total mass", f"{record.physical.total_mass:#.4g} kg (robot file: {stated:#.4g} kg)"


def _filtered(record: Record) -> str:
    cutoffs = dict.fromkeys(processing["lowpass"] for processing in record.processing)
    known = [cutoff for cutoff in cutoffs if cutoff is not None]
    if len(cutoffs) > CUTOFFS and known:
        some = "" if len(known) == len(cutoffs) else ", some logs not at all"
        return f"low-passed at {min(known):g} to {max(known):g} Hz{some}"
    shown = " and ".join("nothing" if cutoff is None else f"{cutoff:g} Hz" for cutoff in cutoffs)
    return "unfiltered" if shown in ("nothing", "") else f"low-passed at {shown}"
