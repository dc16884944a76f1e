"""Settings and fixtures that tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run of CI, and no deadline: machines are noisy.
settings.register_profile(
    "dynid",
    deadline=None,
    max_examples=int(os.environ.get("DYNID_EXAMPLES", "15")),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dynid")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a log of the two-link arm and its experiment; gives the path of the latter."""
    import polars as pl

    from tests.practice_logs import EXPERIMENT, log

    def written(columns: Mapping[str, Any] | None = None, experiment: str = EXPERIMENT, name: str = "log.csv") -> Path:
        frame = pl.DataFrame(log() if columns is None else columns)
        frame.write_parquet(tmp_path / name) if name.endswith(".parquet") else frame.write_csv(tmp_path / name)
        path = tmp_path / "experiment.toml"
        path.write_text(experiment.replace("log.csv", name))
        return path

    return written
