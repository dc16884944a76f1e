"""What it takes to get the same numbers again."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from dynid.report.subject import Subject

PARTS = ("dynid", "numpy", "scipy", "numba", "pin", "clarabel", "polars", "plotly")


def reproduction(subject: Subject) -> dict[str, Any]:
    """The experiment, the logs' files with their sizes, and versions."""
    experiment = subject.result.experiment
    files: dict[str, int | None] = {}
    for log in experiment.log:
        for quantity in (log.position, log.torque, log.velocity, log.time):
            if quantity is not None and quantity.file not in files:
                path = Path(quantity.file)
                files[quantity.file] = path.stat().st_size if path.is_file() else None
    return {
        "experiment": subject.experiment_text,
        "files": files,
        "versions": {"python": platform.python_version(), **{part: _version(part) for part in PARTS}},
        "identified_with": subject.result.data["version"],
    }


def _version(part: str) -> str:
    try:
        return metadata.version(part)
    except metadata.PackageNotFoundError:
        return "not installed"
