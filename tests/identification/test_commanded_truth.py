"""A robot that MuJoCo simulated, under a law that is held at 200 Hz, comes back from its commands."""

from __future__ import annotations

import pytest

import dynid
from tests.commanded_logs import Controller, study
from tests.commanded_robots import slider


def test_a_held_law_without_velocities_comes_back_and_what_no_torque_depends_on_is_named() -> None:
    controller = Controller("held", counts=4096, velocity="none", warm=1.0)
    made = study(slider(), controller, seed=3, seconds=4.0)
    law = {"law": "sampled", "rate": controller.rate, "bias": True}
    found = dynid.identify(made.robot.robot, made.logs, control=law).record.commands
    assert found is not None
    assert found.delay == pytest.approx(0.01, abs=3e-4)  # 7.3 ms: at the next tick
    rows = {row.name: row for row in found.parameters}
    for name, bar in (("Ia", 0.03), ("fv", 0.05), ("fs", 0.05)):
        for joint in (1, 2, 3):
            assert rows[f"{name}{joint}"].value == pytest.approx(made.truth[f"{name}{joint}"], rel=bar)
    assert rows["bias1"].state == "undetermined"  # of a rail that is level: nothing depends on where it is
    for name in ("bias2", "bias3"):
        assert rows[name].value == pytest.approx(made.truth[name], abs=max(1e-3, 4.0 * rows[name].std))
    inside = [row.lower <= made.truth[name] <= row.upper for name, row in rows.items() if name in made.truth]
    assert sum(inside) >= len(inside) - 4
