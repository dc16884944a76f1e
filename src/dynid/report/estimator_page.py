"""A page that shows estimators side by side; it needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from dynid.files import write_text
from dynid.identification.estimator_comparison import TITLES, Comparison
from dynid.report.figure import Figure
from dynid.report.parameter_figures import error_figure
from dynid.report.rendering import rendered


def write_estimator_page(found: Comparison, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the page.

    Args:
        found: The estimators.
        path: The file.
        overwrite: Whether an existing file may be replaced.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    write_text(Path(path), estimator_page(found), overwrite=overwrite)
    return Path(path)


def estimator_page(found: Comparison) -> str:
    """The page as text."""
    done = [one for one in found.estimators if not one.problem]
    return rendered(
        "estimators.html",
        title=f"Estimators: {found.robot}",
        contents=[{"key": "errors", "title": "Errors"}, {"key": "estimators", "title": "Estimators"}],
        found=found,
        done=done,
        failed=[one for one in found.estimators if one.problem],
        titles=TITLES,
        figure=error_bars(found),
    )


def error_bars(found: Comparison) -> Figure:
    """Errors of all estimators that could be used."""
    done = [one for one in found.estimators if one.relative_error is not None]
    names = [one.name for one in done]
    errors = {"along measured motion": [one.relative_error or 0.0 for one in done]}
    if any(one.simulated_error is not None for one in done):
        errors["along simulated motion"] = [one.simulated_error or 0.0 for one in done]
    return error_figure("estimator-errors", names, errors, "Relative error of each estimator")
