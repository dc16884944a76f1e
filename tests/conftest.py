"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The same examples in every run of CI, and no deadline: machines are noisy.
settings.register_profile(
    "dynid",
    deadline=None,
    max_examples=int(os.environ.get("DYNID_EXAMPLES", "50")),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dynid")
