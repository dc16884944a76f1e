"""Logs of a result that count in another experiment, too."""

from __future__ import annotations

from pathlib import Path

from dynid.experiment.experiment import Experiment
from dynid.identification.outcome import EarlierLogs
from dynid.identification.result import Result, ResultError


def require_same_model(result: Result, experiment: Experiment, path: Path) -> None:
    """Refuse an experiment that is about another model than a result.

    Raises:
        ResultError: If it is; names the key that differs.
    """
    key = result.experiment.difference(experiment)
    if key:
        mine, theirs = getattr(result.experiment, key), getattr(experiment, key)
        raise ResultError(path, f"is about another model than the result: {key} is {theirs!r} instead of {mine!r}")


def earlier_logs(result: Result, experiment: Experiment, path: Path) -> EarlierLogs:
    """The logs of a result, for an experiment that adds others.

    Raises:
        ResultError: If the experiment is about another model, estimates from other rows, or has a log that the result
            has.
    """
    require_same_model(result, experiment, path)
    theirs, mine = result.experiment.estimation.estimator, experiment.estimation.estimator
    if mine != theirs:
        raise ResultError(
            path,
            f"has estimator = '{mine}', and the result that it adds to comes from '{theirs}': rows of different forms "
            f"cannot be mixed; use '{theirs}', or identify all logs anew",
        )
    if any(log in result.experiment.log for log in experiment.log):
        raise ResultError(path, "has a log that the result has already, and it would count twice; leave it out")
    return EarlierLogs(result.base.model, result.logs, result.form_logs)
