"""The public SO-101 by both ways, on fewer motions than its examples have; `docs/low_cost_arms.md` has all figures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import dynid
from dynid.experiment import read_experiment
from dynid.identification.log_reading import names_of
from tests.datasets import example, needs_logs
from tests.public_logs import so101_log, so101_voltage

pytestmark = needs_logs


def shortened(name: str, folder: Path, old: str, motion: str) -> Path:
    """An example with the logs of one motion."""
    head, first, *others = example(name).read_text(encoding="utf-8").split("[[log]]")
    end = others[-1].partition("[control]") if others else first.partition("[control]")
    path = folder / f"{name}.toml"
    log = first.partition("[control]")[0].replace(old, motion)
    rest = end[2].replace("bias = false", "bias = false\ndelay = 0.0")  # estimating it takes most of the time
    path.write_text(f"{head}[[log]]{log}{end[1]}{rest}", encoding="utf-8")
    return path


def test_held_out_motions_are_rolled_out_far_better_than_their_commands(tmp_path: Path) -> None:
    trained = shortened("so101", tmp_path, "[cflm]*", "large_amplitude")
    held_out = shortened("so101_validation", tmp_path, "[ps][it][acet]*", "pick_place")
    rollout = dynid.identify(trained, cache=False).validate(held_out).rollout
    assert rollout is not None
    assert rollout.rmse < 0.6 * rollout.command


def test_sure_signs_of_currents_are_those_of_the_commanded_voltage(tmp_path: Path) -> None:
    result = dynid.identify(shortened("so101_unsigned", tmp_path, "[cflm]*", "friction_gravity"), cache=False)
    folder = Path(os.environ["DYNID_DATASETS"]) / "so101/friction_gravity"
    log = so101_log(folder)
    names = [joint.name for joint in result.record.joints]
    size, voltage = np.abs(log.torque), so101_voltage(folder, log.time, log.position)
    sure = right = 0.0
    for segment in result.record.signs or ():
        if segment.word == "sure":
            inside = (log.time >= segment.start) & (log.time < segment.stop)
            column = names.index(segment.joint)
            sure += size[inside, column].sum()
            agrees = segment.sign * (size[inside, column] @ voltage[inside, column]) > 0.0
            right += size[inside, column].sum() * agrees
    assert right > 0.9 * sure > 0.0
    assert result.record.sign_recovery is not None
    assert result.record.sign_recovery.sure > 0.4
    assert "positions-quantised" in {finding.code for finding in result.findings}


def test_logs_whose_files_are_called_alike_have_their_folders_in_their_names() -> None:
    logs = read_experiment(example("so101_unsigned")).logs
    motions = ("chirp_sweep", "friction_gravity", "large_amplitude", "multisine", "single_joint_elbow")
    assert names_of(logs) == [f"{motion}/state_motor.csv" for motion in motions]
    assert names_of(logs[:1]) == ["state_motor.csv"]
