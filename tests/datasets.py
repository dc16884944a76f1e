"""Real logs, which are not part of the project, and the examples that use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
"""The project."""

needs_logs = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="real logs are not part of the project; set DYNID_DATASETS"
)


def example(name: str) -> Path:
    """The experiment file of an example."""
    return ROOT / "examples" / f"{name}.toml"
