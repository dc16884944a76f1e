"""Designed commands of servos: their prediction, limits, and files for replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid.errors import InvalidRequestError
from dynid.identification.command_excitation import CommandExcitation
from tests.servo_truth import ServoPendulum

FRICTION = {"fs": 0.08, "fv": 0.03}
KNOWN = {"fv1": 0.03, "fs1": 0.08}
TRUTH = ServoPendulum(friction=FRICTION)


@pytest.fixture(scope="module")
def found() -> CommandExcitation:
    options = {"duration": 6.0, "starts": 3, "collisions": False, "control": {"delay": 0.0, "law": "continuous"}}
    return dynid.excite_commands(TRUTH.robot, servo=TRUTH.servo, known_values=KNOWN, **options)


def test_a_simulation_that_is_not_ours_moves_as_predicted(found: CommandExcitation) -> None:
    """`tests/servo_truth.py` steps the circuit every 20 us; back-EMF and the held commands of 30 Hz are in both."""
    log = found.log
    assert log.position_command is not None
    armature = next(row["value"] for row in found.parameters() if row["name"] == "Ia1")
    q, _, _ = replace(TRUTH, armature=armature).move(log.time, log.position_command[:, 0], float(log.position[0, 0]))
    assert np.abs(q - log.position[:, 0]).max() < 5e-3 < 0.1 * np.ptp(q)


def test_the_duty_cycle_is_the_limit_and_rates_are_those_of_servos(found: CommandExcitation) -> None:
    names = {check.name: check for check in found.checks}
    assert names["duty cycle of shoulder"].limit[1] == pytest.approx(0.95)
    assert 0.5 < names["duty cycle of shoulder"].used <= 1.0
    assert not found.broken
    assert (found.problem.rate, found.problem.command_rate) == (30.0, 30.0)
    assert all(wave.high <= 3.0 + 1e-9 for wave in found.trial.commanded.waves)
    assert found.problem.noise[0] == pytest.approx(2.0 * np.pi / 4096 / np.sqrt(12.0), rel=0.01)


def test_commands_for_what_is_all_known_are_refused() -> None:
    control = {"delay": 0.0, "law": "continuous"}
    known = {**KNOWN, "Ia1": 0.012}
    with pytest.raises(InvalidRequestError, match="armature, friction and delay are all known"):
        dynid.excite_commands(
            TRUTH.robot, servo=TRUTH.servo, known_values=known, starts=1, collisions=False, control=control
        )


def test_commands_are_replayed_frame_by_frame(found: CommandExcitation, tmp_path: Path) -> None:
    found.save(tmp_path / "out", ["lerobot", "actions"])
    table = pl.read_parquet(tmp_path / "out/commands_lerobot/data/chunk-000/file-000.parquet")
    sent = np.radians(table["action"].arr.get(0).to_numpy())
    assert len(sent) == len(found.t) + 60
    assert np.allclose(sent[30:-30], found.q[:, 0], atol=1e-6)
    assert np.allclose(sent[:30], found.q[0, 0], atol=1e-6)
    assert (tmp_path / "out/commands_actions.csv").read_text().startswith("t,shoulder.pos\n")
    with pytest.raises(InvalidRequestError, match="not as ros"):
        found.replays(["ros"])
