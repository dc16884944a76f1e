"""Processing that a log itself suggests: each choice is right where the truth is known, said, and can be overruled."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid import DynamicModel, load_robot
from dynid.identification.pipeline import identify
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.automatic import PreparedLog, prepared
from dynid.logs.processing.outliers import outliers_in, repaired
from dynid.logs.processing.signals import delayed
from dynid.logs.processing.spectra import spectra_of
from dynid.logs.settings import KEYS, Processing
from dynid.model.terms import Coulomb, Viscous
from tests.datasets import needs_logs

ROOT = Path(__file__).parents[2]
RATE = 500.0
MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb()])
DRIVE = Transmission.of([1.0, 1.0], positions_at_motor=False, torques_at_motor=False)


def recording(noise: float = 1e-5, idle: float = 0.0, delay: float = 0.0, seed: int = 0) -> Log:
    """A motion of at most 2 Hz, at rest before and after, with noise on positions and torques logged later."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    w = 2 * np.pi * np.array([0.3, 0.9, 2.0])
    sizes, phases = rng.uniform(0.2, 0.5, (2, 3)) * [1.0, 0.5, 0.2], rng.uniform(0, 6, (2, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = delayed(MODEL.inverse_dynamics(q, v, a), RATE, delay)
    rest = round(idle * RATE)
    q, torque = (np.pad(x, ((rest, rest), (0, 0)), mode="edge") for x in (q, torque))
    q = q + noise * rng.normal(size=q.shape)
    torque = torque + 0.01 * rng.normal(size=torque.shape)
    return Log(np.arange(len(q)) / RATE, q, torque)


def ready(log: Log, free: frozenset[str] = KEYS, **stated: object) -> PreparedLog:
    return prepared(log, DRIVE, Processing(**stated), MODEL, free=free)  # pyright: ignore[reportArgumentType]


def said(log: PreparedLog, code: str) -> Mapping[str, Any] | None:
    """Values of the finding with a code."""
    return next((finding.values for finding in log.findings if finding.code == code), None)


def test_spectra_tell_the_bandwidth_and_the_noise() -> None:
    found = spectra_of([recording(noise=1e-5).position], RATE)
    assert found is not None
    assert 2.0 <= found.bandwidth <= 3.0
    assert np.allclose(found.noise, 1e-5, rtol=0.15)
    loud = spectra_of([recording(noise=1e-2).position], RATE)
    assert loud is not None
    assert loud.crossing < 5.0 < found.crossing
    assert 2.0 <= loud.bandwidth <= 3.0  # noise that is far above its level somewhere is no motion
    assert spectra_of([np.zeros((1000, 2))], RATE) is None


def test_cut_off_thinning_out_and_threshold_follow_the_motion() -> None:
    log = ready(recording())
    cutoff, factors = log.processing.lowpass, log.processing.decimate
    assert cutoff is not None
    assert 2.5 * 2.0 <= cutoff <= 10.0 * 2.5
    assert RATE / np.prod(factors) >= 2.5 * 2.0 * 2
    assert log.processing.velocity_threshold is not None
    assert said(log, "processing-lowpass") or said(log, "processing-lowpass-noise")
    for what in ("decimate", "velocity-threshold", "no-delay"):
        assert said(log, f"processing-{what}")


def test_what_is_stated_stays() -> None:
    stated = {"lowpass": 50.0, "velocity_threshold": (0.2, 0.3), "decimate": (5,), "trim": 7}
    log = ready(recording(), KEYS - set(stated), **stated)
    for key, value in stated.items():
        assert getattr(log.processing, key) == value
        assert not said(log, f"processing-{key.replace('_', '-')}")
    assert ready(recording(), frozenset()).processing == Processing()


def test_keys_of_the_experiment_file_are_free_unless_stated() -> None:
    assert Processing().free() == KEYS
    assert Processing(automatic=False).free() == frozenset()
    assert Processing(automatic=False, idle="cut").free() == {"idle"}
    stated = {"lowpass": "none", "rate": 50.0, "outliers": "keep"}
    assert Processing.model_validate(stated).free() == frozenset()
    assert Processing.model_validate(stated | {"automatic": True}).free() == KEYS - {
        "lowpass",
        "decimate",
        "row_trim",
        "outliers",
    }


def test_ends_at_rest_are_cut_and_single_spikes_are_mended() -> None:
    log = ready(recording(idle=3.0))
    assert said(log, "processing-idle") == pytest.approx({"beginning": 2.75, "end": 2.75}, abs=0.1)
    assert 19.0 < sum(map(len, log.segments)) / RATE < 21.0
    plain = recording()
    torque = plain.torque.copy()
    spikes = np.random.default_rng(1).choice(len(torque), 100, replace=False)
    torque[spikes, 0] += 50.0
    mended = ready(replace(plain, torque=torque))
    assert said(mended, "processing-outliers") == {"positions": 0, "torques": 100, "first": int(spikes.min())}
    assert not said(ready(plain), "processing-outliers")
    wrong = outliers_in(torque)
    assert np.flatnonzero(wrong[:, 0]).tolist() == sorted(spikes.tolist())
    assert np.abs(repaired(torque, wrong) - plain.torque).max() < 1.0


@pytest.mark.parametrize("seconds", [-0.012, 0.006, 0.03])
def test_a_delay_is_found_and_taken_off(seconds: float) -> None:
    log = ready(recording(delay=seconds))
    assert log.delay == pytest.approx(seconds, abs=5e-4)
    assert said(log, "processing-delay")


def test_no_delay_is_taken_off_where_there_is_none() -> None:
    log = ready(recording())
    assert log.delay == 0.0
    assert said(log, "processing-no-delay")


def test_uneven_samples_are_resampled_and_silent_drives_left_out() -> None:
    even = recording()
    time = even.time + np.random.default_rng(0).uniform(-3e-4, 3e-4, len(even.time))
    log = ready(replace(even, time=time))
    assert log.processing.resample == pytest.approx(RATE, rel=0.03)
    torque = even.torque * [1.0, 0.0]
    silent = ready(replace(even, torque=torque))
    assert silent.processing.unmeasured == ("joint_2",)
    assert said(silent, "processing-unmeasured") == {"joints": {"joint_2": 1.0}}


@needs_logs
def test_the_tx40_without_a_processing_section_agrees_with_gautier(tmp_path: Path) -> None:
    """The published table is the thesis's (hal-03371519), with Gautier's values beside."""
    text = (ROOT / "examples" / "tx40.toml").read_text()
    (tmp_path / "tx40.toml").write_text(text[: text.index("[processing]")] + "[physical]\nfit = false\n")
    found = identify(tmp_path / "tx40.toml")
    codes = {finding.code for finding in found.findings}
    chosen = {f"processing-{key}" for key in ("decimate", "velocity-threshold", "idle", "trim")}
    assert codes >= chosen
    assert codes & {"processing-lowpass", "processing-lowpass-noise"}
    assert codes & {"processing-delay", "processing-no-delay"}
    table = Path(os.environ["DYNID_DATASETS"]) / "tx40" / "published_base_parameters.csv"
    position = {name.lower(): k for k, name in enumerate(found.parameters.names)}
    compared = 0
    with table.open() as stream:
        for row in csv.DictReader(stream):
            name = row["name"].removesuffix("R")
            k = position.get(name, position.get(f"i{name}"))
            if not row["gautier_wls"] or float(row["wls_std_percent"]) >= 10.0:
                continue
            assert k is not None, name
            value = float(row["gautier_wls"])
            std = min(found.parameters.stds[k], abs(value) * float(row["gautier_std_percent"]) / 100)
            assert abs(found.parameters.values[k] - value) <= 2.0 * std, name
            compared += 1
    assert compared == 24
