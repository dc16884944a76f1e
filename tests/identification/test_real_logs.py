"""Real logs with nothing stated but what their README states; `docs/accuracy.md` has all numbers."""

from __future__ import annotations

import pytest

from tests.datasets import needs_logs
from tests.real_logs import outcome


@needs_logs
@pytest.mark.parametrize("name", ["ur10", "ur10e"])
def test_held_out_errors_and_masses_are_within_their_bars(name: str) -> None:
    assert not outcome(name, "auto").missed
