"""All sections of a report, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynid.report.comparison import compared
from dynid.report.drawn_signals import Signals
from dynid.report.excitation import excitation_of
from dynid.report.parameter_figures import bars_figure, error_figure, identifiability, parameter_figure, parameter_rows
from dynid.report.reproduction import reproduction
from dynid.report.residual_section import residual_sections
from dynid.report.section import Section, units_of
from dynid.report.sign_figures import sign_figure
from dynid.report.signal_figures import friction_curve, friction_figure, spectrum_figure, torque_figure
from dynid.report.skeleton import views
from dynid.report.skeleton_figure import skeleton_figure
from dynid.report.subject import Subject


def sections_of(subjects: Sequence[Subject]) -> list[Section]:
    """The sections of a report on one result, or on two that are compared."""
    parts = [_verdict, _findings]
    if len(subjects) > 1:
        parts.insert(0, compared)
    parts += [
        _signs,
        _torques,
        _unseen,
        _parameters,
        _identifiability,
        _excitation,
        _links,
        _friction,
        residual_sections,
        _spectra,
        _reproduction,
    ]
    return [section for part in parts for section in part(subjects)]


def _verdict(subjects: Sequence[Subject]) -> Iterator[Section]:
    yield Section("verdict", "Verdict", "verdict.html", {"subjects": subjects})


def _findings(subjects: Sequence[Subject]) -> Iterator[Section]:
    yield Section("findings", "Findings", "findings.html", {"subjects": subjects})


def _traces(subject: Subject, signals: Signals, key: str) -> list[dict[str, Any]]:
    joints = subject.result.base.model.row_names
    return [
        {
            "joint": joint,
            "figure": torque_figure(f"{key}-{k}", joint, trace, unit, signals, key),
        }
        for k, (joint, trace, (_, unit)) in enumerate(zip(joints, signals.traces, units_of(subject), strict=True))
    ]


def _torques(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = [
        {
            "subject": subject,
            "signals": subject.signals,
            "fits": {joint["name"]: joint for joint in subject.result.data["joints"]},
            "units": dict(zip(subject.result.base.model.row_names, units_of(subject), strict=True)),
            "traces": [] if subject.signals is None else _traces(subject, subject.signals, f"torque{i}"),
        }
        for i, subject in enumerate(subjects)
    ]
    yield Section("torques", "Measured and predicted torques", "torques.html", {"results": data})


def _signs(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Recovered signs, for logs without."""
    data = []
    for i, subject in enumerate(subjects):
        found = subject.result.data
        if subject.curves is None or not found["signs"]:
            continue
        joints = []
        for k, (joint, (_, unit)) in enumerate(
            zip(subject.result.base.model.row_names, units_of(subject), strict=True)
        ):
            own = [segment for segment in found["signs"] if segment["joint"] == joint]
            figure = sign_figure(f"signs{i}-{k}", joint, k, subject.curves, own, unit)
            margin = min((segment["margin"] for segment in own), default=0.0)
            joints.append({"joint": joint, "segments": len(own), "margin": margin, "figure": figure})
        recovery, count = found["sign_recovery"], len(found["signs"])
        data.append({"subject": subject, "recovery": recovery, "count": count, "joints": joints})
    if data:
        yield Section("signs", "Recovered signs", "signs.html", {"results": data, "subjects": subjects})


def _unseen(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = []
    for i, subject in enumerate(subjects):
        if subject.validation is None or subject.unseen is None:
            data.append({"subject": subject, "validation": None})
            continue
        fits, validation = subject.result.data["joints"], subject.validation["joints"]
        errors = {
            "logs used": [joint["relative_error"] for joint in fits],
            "unseen logs": [joint["relative_error"] for joint in validation],
        }
        data.append(
            {
                "subject": subject,
                "validation": subject.validation,
                "signals": subject.unseen,
                "figure": error_figure(f"validation{i}", [joint["name"] for joint in fits], errors),
                "traces": _traces(subject, subject.unseen, f"unseen{i}"),
            }
        )
    yield Section("validation", "Validation on unseen logs", "validation.html", {"results": data})


def _parameters(subjects: Sequence[Subject]) -> Iterator[Section]:
    rows = parameter_rows(subjects)
    names = ["estimate"] if len(subjects) == 1 else [subject.name for subject in subjects]
    confidence = subjects[0].result.data["confidence"]
    figure = parameter_figure("parameters", rows, confidence, names)
    blocks = any(estimate and estimate.get("bootstrap_std") for row in rows for estimate in row["estimates"])
    data = {"subjects": subjects, "rows": rows, "figure": figure, "confidence": confidence, "blocks": blocks}
    data["shapes"] = [
        row | {"result": subject.name} for subject in subjects for row in subject.result.data.get("shapes", ())
    ]
    yield Section("parameters", "Parameters", "parameters.html", data)


def _identifiability(subjects: Sequence[Subject]) -> Iterator[Section]:
    base = subjects[0].result.base
    yield Section(
        "identifiable", "What can be identified", "identifiable.html", {"base": base, **identifiability(base)}
    )


def _excitation(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = []
    for i, subject in enumerate(subjects):
        found = excitation_of(subject.result)
        singular = bars_figure(
            f"singular{i}",
            (),
            found.singular_values,
            "singular value",
            "Singular values of the observation matrix",
            0.0,
        )
        stds = bars_figure(
            f"deviations{i}",
            found.names,
            found.relative_stds,
            "deviation [% of value]",
            "Relative standard deviation of each parameter",
            10.0,
        )
        data.append({"subject": subject, "found": found, "singular": singular, "deviations": stds})
    yield Section("excitation", "Excitation", "excitation.html", {"results": data})


def _links(subjects: Sequence[Subject]) -> Iterator[Section]:
    physical = [subject.result.data["physical"] for subject in subjects]
    robot = subjects[0].result.base.model.robot
    signals = subjects[0].signals
    posture = robot.neutral if signals is None else signals.posture
    names = [subject.name for subject in subjects]
    shown = views(robot, posture, [p["links"] if p else [] for p in physical]) if any(physical) else []
    data = {
        "subjects": subjects,
        "physical": physical,
        "figures": [skeleton_figure(f"view{k}", view, names) for k, view in enumerate(shown)],
        "in_motion": signals is not None,
        "moments": [
            [np.linalg.eigvalsh(link["inertia"]).tolist() for link in p["links"]] if p else [] for p in physical
        ],
    }
    yield Section("links", "Physical links", "links.html", data)


def _friction(subjects: Sequence[Subject]) -> Iterator[Section]:
    names = ["model"] if len(subjects) == 1 else list("AB")
    shown = []
    for row, joint in enumerate(subjects[0].result.base.model.row_names):
        clouds = [None if s.signals is None else s.signals.clouds[row] for s in subjects]
        curves = [
            friction_curve(s.result.base.model, s.parameters, row, cloud)
            for s, cloud in zip(subjects, clouds, strict=True)
        ]
        figure = friction_figure(f"friction{row}", joint, clouds, curves, names, units_of(subjects[0])[row])
        shown.append({"joint": joint, "figure": figure})
    yield Section("friction", "Friction", "friction.html", {"subjects": subjects, "joints": shown})


def _spectra(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = []
    for i, subject in enumerate(subjects):
        signals, used = subject.signals, subject.result.data.get("processing") or ()
        if signals is None or not used:
            continue
        processing = used[0]
        joints = subject.result.base.model.row_names
        kinds = sorted(set(units_of(subject)), reverse=True)
        q, tau = " or ".join(v.removesuffix("/s") for v, _ in kinds), " or ".join(torque for _, torque in kinds)
        data.append(
            {
                "subject": subject,
                "processing": processing,
                "figures": [
                    spectrum_figure(f"q{i}", signals.positions, joints, f"positions [{q}/√Hz]", processing["lowpass"]),
                    spectrum_figure(
                        f"tau{i}", signals.torques, joints, f"torques [{tau}/√Hz]", processing["torque_lowpass"]
                    ),
                    spectrum_figure(f"rest{i}", signals.residuals, joints, f"residuals [{tau}/√Hz]", None),
                ],
            }
        )
    yield Section("spectra", "Spectra and filters", "spectra.html", {"results": data})


def _reproduction(subjects: Sequence[Subject]) -> Iterator[Section]:
    data = [{"subject": subject, **reproduction(subject)} for subject in subjects]
    yield Section("reproduction", "Reproduction", "reproduction.html", {"results": data})
