"""Observation of logs: contacts, thresholds from held-out motion, loads, files, and what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import dynid
from dynid import DynamicModel, Log, Observation, Result, generate_code, identify, load_robot
from dynid.arrays import Array
from dynid.errors import DynidError, ForeignOutputError, InvalidRequestError, OutputExistsError
from dynid.identification.observation_files import load_thresholds, save_thresholds
from dynid.identification.observed_logs import held_out_stretches
from dynid.robot import Load, with_load
from tests.commands import run
from tests.datasets import needs_logs

TERMS = ("viscous", "coulomb")
RATE = 250.0
ROBOT = "builtin:spatial_3r"


def simulated(
    seconds: float, seed: int, external: Array | None = None, load: Load | None = None, name: str = ""
) -> Log:
    """A log with errors of torques of 0.4 N m that last 20 ms, and positions that are rounded as encoders round."""
    rng = np.random.default_rng(seed)
    robot = load_robot(ROBOT)
    model = DynamicModel(robot if load is None else with_load(robot, load), TERMS)
    p = np.where(np.isnan(model.reference), 0.3, model.reference)
    t = np.arange(round(seconds * RATE)) / RATE
    w = 2.0 * np.pi * rng.uniform(0.1, 0.6, (3, 4))
    size, phase = rng.uniform(0.1, 0.4, (2, 3, 4))
    angle = t[:, None, None] * w + 6.0 * phase
    q, v, a = (size * np.sin(angle)).sum(2), (size * w * np.cos(angle)).sum(2), -(size * w**2 * np.sin(angle)).sum(2)
    fade = np.exp(-1.0 / (0.02 * RATE))
    noise = np.asarray(lfilter([0.4 * np.sqrt(1.0 - fade**2)], [1.0, -fade], rng.normal(size=q.shape), axis=0))
    tau = model.inverse_dynamics(q, v, a, p) + noise
    if external is not None:
        tau[: len(external)] -= external
    return Log(time=t, position=np.round(q, 6), torque=tau, velocity=v, name=name)


@cache
def result() -> Result:
    return identify(ROBOT, [simulated(40.0, 1, name="training")], TERMS)


@cache
def limits() -> dynid.ContactLimits:
    return result().contact_thresholds([simulated(120.0, 2)], false_alarms_per_minute=1.0)


def pushed(seconds: float = 12.0) -> Array:
    """Torques of a contact from 5 to 5.3 s."""
    external = np.zeros((round(seconds * RATE), 3))
    external[round(5.0 * RATE) : round(5.3 * RATE), 1] = 12.0
    return external


@cache
def seen() -> Observation:
    return result().observe(simulated(12.0, 3, pushed(), name="<b>pushed</b>"), thresholds=limits())


def test_a_contact_is_detected_soon_and_nothing_else_is() -> None:
    (contact,) = seen().contacts
    assert 5.0 <= contact.start < 5.03
    assert 5.3 <= contact.end < 5.4
    assert contact.joint == "joint_2"
    assert contact.torque == pytest.approx(12.0, abs=1.5)
    assert seen().external_torque.shape == (len(seen().time), 3)
    quiet = result().observe(simulated(60.0, 4), thresholds=limits())
    assert len(quiet.contacts) <= 2


def test_thresholds_of_the_training_log_are_those_of_fits_that_have_not_seen_it() -> None:
    own = result().contact_thresholds(false_alarms_per_minute=5.0)
    assert own.seconds > 35.0
    assert own.physical
    wide = [scale.level for scale in limits().scales]
    assert [scale.level for scale in own.scales] == pytest.approx(wide, rel=0.6)
    (log,) = held_out_stretches(result(), physical=False)
    assert len(log.stretches) == 10
    whole = result().standard_parameters()
    base = result().base
    moves = [np.abs(base.to_base(stretch.parameters) - base.to_base(whole)).max() for stretch in log.stretches]
    assert min(moves) > 0.0  # each was fitted without its stretch
    assert max(moves) < 0.2


def test_a_load_that_is_not_known_is_found_and_one_that_is_known_is_no_external_torque() -> None:
    load = Load.of_numbers(0.8, (0.0, 0.0, 0.1), (0.002, 0.0, 0.002, 0.0, 0.0, 0.001))
    log = simulated(12.0, 5, load=load)
    found = result().observe(log, thresholds=limits())
    assert found.payload is not None
    assert found.payload.is_seen
    assert found.payload.mass[-1] == pytest.approx(0.8, abs=0.08)
    assert "contact-lasts" in {finding.code for finding in found.findings}
    known = result().observe(replace(log, load=load), thresholds=limits())
    assert known.payload is not None
    assert not known.payload.is_seen


def test_thresholds_and_observations_are_saved_whole_and_go_into_code(tmp_path: Path) -> None:
    folder = seen().save(tmp_path / "seen")
    assert load_thresholds(folder) == limits()
    assert json.loads((folder / "observation.json").read_text())["contacts"][0]["joint"] == "joint_2"
    assert len((folder / "external_torque.csv").read_text().splitlines()) == len(seen().time) + 1
    with pytest.raises(OutputExistsError):
        seen().save(folder)
    seen().save(folder, overwrite=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(ForeignOutputError):
        seen().save(tmp_path / "other", overwrite=True)
    header = generate_code(result(), thresholds=folder).files["spatial_3r.h"]
    assert "Expected false alarms per minute, of all joints together: 1 (" in header
    assert "gain 50 per second" in header
    path = save_thresholds(limits(), tmp_path / "thresholds.json")
    again = result().observe(simulated(12.0, 3, pushed()), thresholds=path)
    assert again.contacts == seen().contacts


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"schema": "dynid-thresholds-1"}',
        '{"schema": "other"}',
        "[" * 100_000,
        '{"schema": "dynid-thresholds-1", "joints": ["a"], "scales": [], "gain": 1e999}',
    ],
)
def test_files_that_hold_no_thresholds_are_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text(text)
    with pytest.raises(DynidError, match=r"thresholds\.json"):
        load_thresholds(path)


def test_thresholds_with_other_counts_or_numbers_are_refused(tmp_path: Path) -> None:
    path = save_thresholds(limits(), tmp_path / "thresholds.json")
    whole = json.loads(path.read_text())
    for change in ({"stds": [1.0]}, {"gain": -1.0}, {"gain": None}, {"scales": [{"level": -1.0}] * 3}):
        path.write_text(json.dumps(whole | change))
        with pytest.raises(DynidError, match=r"thresholds\.json"):
            load_thresholds(path)


def test_what_cannot_be_observed_is_refused_with_what_to_do() -> None:
    log = simulated(12.0, 6)
    silent = Log(time=log.time, position=log.position, torque=np.zeros_like(log.torque))
    two = Log(time=log.time, position=log.position[:, :2], torque=log.torque[:, :2])
    own = result().task.logs[0]
    assert isinstance(own, Log)
    for call, words in (
        (lambda: result().observe(silent, thresholds=limits()), "no measured torques"),
        (lambda: result().observe(two, thresholds=limits()), "2 joints, and 'spatial_3r' has 3"),
        (lambda: result().contact_thresholds([log], gain=400.0), "beyond the sampling rate"),
        (lambda: result().contact_thresholds([simulated(1.0, 0)]), "fewer than 8 separate peaks"),
        (lambda: result().contact_thresholds([log], false_alarms_per_minute=1e-6), "per minute or more"),
        (lambda: result().contact_thresholds([own]), "was used to identify"),
        (lambda: result().observe(log, thresholds=limits(), gain=20.0), "have their own gain"),
        (lambda: result().observe(log, thresholds=limits(), body="nobody"), "nobody"),
        (lambda: result().observe(log, thresholds=replace(limits(), joints=("a", "b", "c"))), "a, b, c"),
        (lambda: dynid.contact_thresholds(result(), [log], velocities="guessed"), "guessed"),  # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(DynidError, match=words):
            call()


def test_a_floating_base_is_refused_by_name() -> None:
    floating = replace(
        result(), base=replace(result().base, model=DynamicModel(load_robot("builtin:two_link", floating_base=True)))
    )
    with pytest.raises(InvalidRequestError, match="external torques are observed for robots with a fixed base"):
        floating.observe(simulated(2.0, 0))


def test_noisy_logged_velocities_are_replaced_by_those_of_positions() -> None:
    rng = np.random.default_rng(0)

    def noisy(log: Log, size: float) -> Log:
        assert log.velocity is not None
        return replace(log, velocity=log.velocity + size * rng.normal(size=log.velocity.shape))

    log = simulated(60.0, 7)
    kept = result().contact_thresholds([noisy(log, 1e-5)], false_alarms_per_minute=5.0)
    filtered = result().contact_thresholds([noisy(log, 0.3)], false_alarms_per_minute=5.0)
    assert kept.cutoff is None
    assert filtered.cutoff == pytest.approx(50.0)
    assert filtered.scales[2].level < 3.0 * kept.scales[2].level


def test_the_page_stands_alone_and_names_are_text(tmp_path: Path) -> None:
    path = seen().report(tmp_path / "page.html")
    text = path.read_text()
    assert "<b>pushed" not in text
    assert "&lt;b&gt;pushed" in text
    assert 'src="http' not in text
    assert text.count('class="plot"') == 4
    with pytest.raises(OutputExistsError):
        seen().report(path)


def written(path: Path, log: Log) -> None:
    """Write a log as a table, and the experiment that names it."""
    table = np.column_stack([log.time, log.position, log.torque])
    np.savetxt(path.with_suffix(".csv"), table, delimiter=",", header="t,q1,q2,q3,tau1,tau2,tau3", comments="")
    columns = {"time": '"t"', "position": '"q*"', "torque": '"tau*"'}
    lines = [f'{key} = {{ file = "{path.name}.csv", columns = {names} }}' for key, names in columns.items()]
    path.with_suffix(".toml").write_text("\n".join(["[[log]]", *lines]) + "\n")


def test_the_command_prints_contacts_and_writes_what_it_names(tmp_path: Path) -> None:
    result().save(tmp_path / "result")
    logs = {"pushed": simulated(12.0, 3, pushed()), "quiet": simulated(60.0, 4)}
    for name, log in logs.items():
        written(tmp_path / name, log)
    given = ("observe", tmp_path / "result", tmp_path / "pushed.toml", "--false-alarms-per-minute", 2)
    status, _, errors = run(*given)
    assert (status, "--thresholds-from LOG" in errors) == (2, True)  # its own logs were in memory only
    given = (*given, "--thresholds-from", tmp_path / "quiet.toml")
    status, shown, _ = run(*given, "--out", tmp_path / "out", "--report", tmp_path / "page.html")
    assert status == 0
    assert "joint_2" in shown
    assert "Next: put the thresholds into a controller: dynid export" in " ".join(shown.split())
    assert (tmp_path / "page.html").exists()
    found = json.loads(run(*given, "--json")[1])
    assert any(contact["joint"] == "joint_2" and 5.0 <= contact["start"] < 5.05 for contact in found["contacts"])
    assert found["thresholds"]["cutoff"] == pytest.approx(50.0)
    status, _, errors = run(*given, "--out", tmp_path / "out")
    assert (status, "out" in errors) == (2, True)


def test_thresholds_of_an_observation_are_exported_with_the_code(tmp_path: Path) -> None:
    result().save(tmp_path / "result")
    save_thresholds(limits(), tmp_path / "thresholds.json")
    export = ("export", tmp_path / "result", "--anyway", "--thresholds", tmp_path / "thresholds.json")
    assert run(*export, "--to", "c", "--out", tmp_path / "code")[0] == 0
    assert "spatial_3r_contact_thresholds" in (tmp_path / "code" / "spatial_3r.h").read_text()
    status, _, errors = run(*export, "--to", "urdf")
    assert (status, "--thresholds" in errors) == (2, True)


@needs_logs
def test_the_last_third_of_a_real_log_has_few_alarms_at_thresholds_of_the_rest() -> None:
    """The controller's clock is restored of positions alone: by the stamps thresholds are tens of N m."""
    folder = Path(os.environ["DYNID_DATASETS"]) / "panda"
    position, torque = (np.loadtxt(folder / name).reshape(-1, 7) for name in ("positions.txt", "torques.txt"))
    log = Log(time=np.loadtxt(folder / "time.txt"), position=position, torque=torque)
    cut = round(0.67 * len(log))
    found = identify("builtin:panda", [log[:cut]], ["viscous", "coulomb", "offset"])
    thresholds = found.contact_thresholds(false_alarms_per_minute=10.0)
    assert max(scale.level for scale in thresholds.scales) < 2.0
    rest = found.observe(log[cut:], thresholds=thresholds)
    assert rest.seconds > 6.5
    assert len(rest.contacts) <= 2.0 * 10.0 * rest.seconds / 60.0
    assert "controller-clock-restored" in {finding.code for finding in rest.findings}
