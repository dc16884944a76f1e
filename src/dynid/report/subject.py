"""What a report is about: a result with its logs read again, its validation and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding, Severity, prose
from dynid.identification.diagnosis.cause_findings import diagnose
from dynid.identification.prediction import experiment_at, training, validate_result, with_signs_of
from dynid.identification.replay import Replay, replayed
from dynid.identification.result import Result, load_result
from dynid.logs.settings import LogSource
from dynid.report.drawn_signals import Signals, drawn
from dynid.report.sign_figures import read_curves
from dynid.report.verdict import Verdict, judge

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Subject:
    """A result, ready to be shown.

    Attributes:
        name: What it is called: its folder's name.
        result: The result.
        experiment_text: The experiment file.
        signals: What is drawn of its logs; None where they could not be read.
        missing: Why they could not; empty where they could.
        curves: Torques without signs and with those that were found; None where they were logged with signs.
        validation: How well unseen logs are predicted; None where none was given.
        unseen: What is drawn of those.
        findings: Everything that was noticed, most severe first.
        verdict: What to think of it.
    """

    name: str
    result: Result
    experiment_text: str
    signals: Signals | None
    missing: str
    curves: Mapping[str, Array] | None
    validation: Mapping[str, Any] | None
    unseen: Signals | None
    findings: tuple[Finding, ...]
    verdict: Verdict

    @property
    def parameters(self) -> Array:
        """Standard parameters that have the estimated base parameters, shape (parameters,)."""
        return standard_parameters(self.result)


def standard_parameters(result: Result) -> Array:
    """Standard parameters that have a result's base parameters, shape (parameters,)."""
    return result.base.to_standard(np.array([result.values[name] for name in result.base.names]))


def subject_of(folder: Path, validate: Sequence[Path] = (), progress: Progress = lambda _: None) -> Subject:
    """Load a result, read its logs again, and judge it.

    Args:
        folder: The result's folder.
        validate: Logs that were not used, as in `results.prediction.validate_result`.
        progress: Is told each step in a few words.
    """
    progress(f"Loading {folder}")
    result = load_result(folder)
    findings = [prose(Severity(f["severity"]), f["subject"], f["text"]) for f in result.data["findings"]]
    signals, missing = None, ""
    own = with_signs_of(result, result.experiment)
    logs = [(own, log) for log in own.log]
    noticed: list[Finding] = []
    try:
        signals = _signals(result, logs, noticed, progress)
    except DynidError as error:
        missing = str(error)
    validation = unseen = None
    if validate:
        progress("Predicting unseen logs")
        validation = validate_result(result, validate)
        others = [(e, log) for e in (experiment_at(result, path) for path in validate) for log in e.log]
        unseen = _signals(result, others, None, progress)
    # Missing friction is looked for twice; what the whole log says of it counts more.
    if any(finding.subject == "friction" for finding in noticed):
        findings = [finding for finding in findings if finding.subject != "friction"]
    ordered = sorted([*noticed, *findings, *_left_out(result)], key=_rank)
    return Subject(
        name=folder.resolve().name,
        result=result,
        experiment_text=(folder / "experiment.toml").read_text(encoding="utf-8"),
        signals=signals,
        missing=missing,
        curves=read_curves(folder),
        validation=validation,
        unseen=unseen,
        findings=tuple(ordered),
        verdict=judge(result.data, ordered, validation),
    )


def _left_out(result: Result) -> Iterator[Finding]:
    """Logs that a result has from before its experiment, of which only factors are there."""
    earlier = result.data["logs"] - len(result.experiment.log)
    if earlier > 0:
        text = f"{earlier} of {result.data['logs']} were added from an earlier result; only the others can be drawn"
        yield prose(Severity.NOTE, "logs", text)


def _rank(finding: Finding) -> int:
    return list(Severity).index(finding.severity)


def _signals(
    result: Result,
    logs: Sequence[tuple[Experiment, LogSource]],
    noticed: list[Finding] | None,
    progress: Progress,
) -> Signals:
    """What is drawn of logs; `noticed` takes causes of errors in the first of the result's own (None: unseen logs)."""
    model, p = result.base.model, standard_parameters(result)

    def replays() -> Iterator[Replay]:
        for k, (experiment, log) in enumerate(logs, start=1):
            progress(f"Reading log {k} of {len(logs)} again")
            like = training(result, experiment) if noticed is None else None
            replay = replayed(experiment, log, model, p, like)
            if noticed is not None and k == 1 and not any(term.needs_temperature for term in model.terms):
                progress("Looking for causes of what is left")
                noticed.extend(diagnose(result.base, p, replay, result.logs, result.data["condition_number"]))
            yield replay

    return drawn(replays(), len(logs), model, np.random.default_rng(0))
