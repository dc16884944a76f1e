"""All sections of a report, in their order; those on logs and on how to reproduce the result are made here."""

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from dynid.errors import DynidError, as_written
from dynid.identification import Result, experiment_text
from dynid.logs import Log
from dynid.report.comparison import compared
from dynid.report.drawn_signals import DRAWN, Signals
from dynid.report.figure import Section
from dynid.report.parameter_figures import error_figure
from dynid.report.parameter_sections import excitation_section, identifiability_section, link_section, parameter_section
from dynid.report.rendering import percent
from dynid.report.residual_section import residual_section
from dynid.report.rollout_section import law_section, rollout_section
from dynid.report.signal_figures import friction_curve, friction_figure, sign_figure, spectrum_figure, torque_figure
from dynid.report.subject import Subject
from dynid.report.tracking_section import tracking_section

PARTS = ("dynid", "numpy", "scipy", "numba", "pin", "clarabel", "polars", "plotly")
"""Packages whose versions are stated."""


def sections_of(subjects: Sequence[Subject]) -> list[Section]:
    """The sections of a report on one result, or on two that are compared."""
    parts = [
        *([compared] if len(subjects) > 1 else []),
        _verdict,
        _findings,
        _signs,
        rollout_section,
        law_section,
        _torques,
        _validation,
        tracking_section,
        link_section,
        _friction,
        parameter_section,
        _terms,
        identifiability_section,
        excitation_section,
        residual_section,
        _spectra,
        _reproduction,
    ]
    return [section for part in parts for section in part(subjects)]


def _verdict(subjects: Sequence[Subject]) -> Iterator[Section]:
    yield Section("verdict", "Verdict", "verdict.html", {"subjects": subjects})


def _findings(subjects: Sequence[Subject]) -> Iterator[Section]:
    counts = Counter(finding.severity.value for finding in subjects[0].shown_findings)
    named = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    brief = "" if len(subjects) > 1 else ", ".join(named) or "none"
    yield Section("findings", "Findings", "findings.html", {"subjects": subjects}, brief)


def _traces(subject: Subject, signals: Signals, key: str) -> list[dict[str, Any]]:
    return [
        {"joint": joint, "figure": torque_figure(f"{key}-{k}", joint, trace, unit, signals, key)}
        for k, (joint, trace, (_, unit)) in enumerate(zip(subject.joints, signals.traces, subject.units, strict=True))
        if len(trace.measured.time)  # what was not measured has nothing beside it
    ]


def _torques(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = [
        {
            "subject": subject,
            "signals": subject.signals,
            "fits": [joint for joint in subject.result.record.joints if joint.rows],
            "units": dict(zip(subject.joints, subject.units, strict=True)),
            "traces": [] if subject.signals is None else _traces(subject, subject.signals, f"torque{i}"),
        }
        for i, subject in enumerate(subjects)
        if subject.result.record.commands is None  # no torque was measured where there are commands
    ]
    if not data:
        return
    brief = f"relative error {percent(subjects[0].result.relative_error)}" if len(subjects) == 1 else ""
    yield Section("torques", "Measured and predicted torques", "torques.html", {"results": data}, brief)


def _signs(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Recovered signs of torques that were logged without."""
    data = []
    for i, subject in enumerate(subjects):
        curves, signs = subject.result.sign_curves, subject.result.record.signs
        if curves is None or not signs:
            continue
        joints = []
        for k, (joint, (_, unit)) in enumerate(zip(subject.joints, subject.units, strict=True)):
            own = [segment for segment in signs if segment.joint == joint]
            figure = sign_figure(f"signs{i}-{k}", joint, k, curves, own, unit)
            margin = min((segment.margin for segment in own), default=0.0)
            joints.append({"joint": joint, "segments": len(own), "margin": margin, "figure": figure})
        recovery = subject.result.record.sign_recovery
        data.append({"subject": subject, "recovery": recovery, "count": len(signs), "joints": joints})
    if data:
        yield Section("signs", "Recovered signs", "signs.html", {"results": data, "subjects": subjects})


def _validation(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = []
    for i, subject in enumerate(subjects):
        validation = subject.validation
        if subject.result.record.commands is not None and (validation is None or validation.rollout is not None):
            continue  # rollouts are validated instead
        if validation is None or subject.held_out is None:
            data.append({"subject": subject, "validation": None})
            continue
        both = list(zip(subject.result.record.joints, validation.joints, strict=True))
        both = [(fit, unseen) for fit, unseen in both if fit.rows or unseen.rows]
        errors = {
            "logs used": [fit.relative_error for fit, _ in both],
            "held-out logs": [unseen.relative_error for _, unseen in both],
        }
        data.append(
            {
                "subject": subject,
                "validation": validation,
                "signals": subject.held_out,
                "figure": error_figure(f"validation{i}", [fit.name for fit, _ in both], errors),
                "traces": _traces(subject, subject.held_out, f"held-out{i}"),
            }
        )
    if not data:
        return
    found = subjects[0].validation
    brief = "" if len(subjects) > 1 or found is None else f"relative error {percent(found.relative_error)}"
    yield Section("validation", "Validation on held-out logs", "validation.html", {"results": data}, brief)


def _terms(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Terms that were tried on held-out blocks of time, where they were chosen."""
    chosen = [subject for subject in subjects if subject.result.record.term_choice is not None]
    if chosen:
        data = {"subjects": subjects, "chosen": chosen}
        yield Section("terms", "Choice of terms", "terms.html", data, is_open=False)


def _friction(subjects: Sequence[Subject]) -> Iterator[Section]:
    names = ["model"] if len(subjects) == 1 else list("AB")
    commanded = all(subject.result.record.commands is not None for subject in subjects)
    shown, single = [], {joint.name for joint in subjects[0].result.robot.axes}
    for row, joint in enumerate(subjects[0].joints):
        if joint not in single:  # no friction acts on a free base
            continue
        clouds = [None if subject.signals is None else subject.signals.clouds[row] for subject in subjects]
        if not commanded and all(cloud is not None and not len(cloud.velocity) for cloud in clouds):
            continue  # nothing was measured of the joint
        curves = [
            friction_curve(subject.result.model, subject.result.standard_parameters(), row, cloud)
            for subject, cloud in zip(subjects, clouds, strict=True)
        ]
        figure = friction_figure(f"friction{row}", joint, clouds, curves, names, subjects[0].units[row])
        shown.append({"joint": joint, "figure": figure})
    if shown:
        data = {"subjects": subjects, "joints": shown, "commanded": commanded}
        yield Section("friction", "Friction", "friction.html", data)


def _spectra(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = []
    for i, subject in enumerate(subjects):
        signals, used, joints = subject.signals, subject.result.training, subject.joints
        if signals is None or used is None:
            continue
        kinds = sorted(set(subject.units), reverse=True)
        q, tau = " or ".join(v.removesuffix("/s") for v, _ in kinds), " or ".join(torque for _, torque in kinds)
        shown = (
            (f"q{i}", signals.positions, f"positions [{q}/√Hz]", used.lowpass),
            (f"tau{i}", signals.torques, f"torques [{tau}/√Hz]", used.torque_lowpass),
            (f"residual{i}", signals.residuals, f"residuals [{tau}/√Hz]", None),
        )
        figures = [spectrum_figure(key, spectrum, joints, title, cutoff) for key, spectrum, title, cutoff in shown]
        data.append({"subject": subject, "processing": used, "figures": figures})
    used = data[0]["processing"].lowpass if len(data) == 1 else None
    brief = "" if used is None else f"positions low-passed at {used:g} Hz"
    yield Section("spectra", "Spectra and filters", "spectra.html", {"results": data}, brief, is_open=False)


def _reproduction(subjects: Sequence[Subject]) -> Iterator[Section]:
    versions = {"python": platform.python_version(), **{part: _version(part) for part in PARTS}}
    data = [
        {"subject": subject, "experiment": _experiment(subject.result), "logs": _logs(subject.result)}
        for subject in subjects
    ]
    data = {"results": data, "versions": versions}
    yield Section("reproduction", "Reproduction", "reproduction.html", data, is_open=False)


def _experiment(result: Result) -> str:
    """The experiment file, or what it would be; empty where no file can state the task."""
    if result.file is not None:
        return result.file.text.decode(errors="replace")
    try:
        return experiment_text(result.task)
    except DynidError:
        return ""


def _logs(result: Result) -> dict[str, str]:
    """Where the logs are, and their sizes; of many, the first."""
    logs: dict[str, str] = {}
    for k, log in enumerate(result.task.logs, start=1):
        if k > DRAWN:
            logs["..."] = f"and {len(result.task.logs) - DRAWN} more logs"
            break
        if isinstance(log, Log):
            logs[log.name or f"log {k}"] = f"{len(log):,} samples in memory"
            continue
        for quantity in filter(None, (log.position, log.torque, log.position_command, log.velocity, log.time)):
            path = Path(quantity.file)
            logs[as_written(quantity.file)] = (
                f"{path.stat().st_size:,} bytes" if path.is_file() else "not there any more"
            )
    return logs


def _version(part: str) -> str:
    try:
        return metadata.version(part)
    except metadata.PackageNotFoundError:
        return "not installed"
