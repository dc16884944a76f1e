"""Designed commands: what they promise is what their logs show, within limits; and what is said to bad requests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dynid
from dynid.arrays import Array
from dynid.cli import app
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation import LogErrors, fit_output_error
from dynid.excitation import read_trajectory
from dynid.excitation.trajectories.command_waves import CommandWave, wave_values
from dynid.identification.command_excitation import CommandExcitation
from dynid.identification.command_fit import at_values
from dynid.identification.command_information import information
from dynid.identification.command_search import Commanded
from dynid.model import Role
from dynid.simulation import ControlInput, RolloutParameters, roll_out, sensitivities
from tests.commanded_robots import slider

NOISE = 1e-3
"""Standard deviation of measured positions [rad or m]."""


def limits() -> dict[str, Any]:
    own = slider()
    ranges = tuple(zip(own.low.tolist(), own.high.tolist(), strict=True))
    return {"position": ranges, "velocity": tuple(own.speed.tolist()), "effort": 60.0, "collisions": False}


def design(**options: Any) -> CommandExcitation:
    """Commands of a carriage that slides, with a pendulum of two links."""
    own = slider()
    stated = {"duration": 3.0, "rate": 100.0, "position_noise": NOISE, "starts": 6, **limits(), **options}
    return dynid.excite_commands(own.robot, kp=own.kp, kd=own.kd, **stated)


@pytest.fixture(scope="module")
def designed() -> CommandExcitation:
    return design()


def fitted(designed: CommandExcitation, positions: Array) -> Array:
    """Estimates by output error from measured positions, started a few per cent away."""
    problem = designed.problem
    unknowns, columns, point = problem.unknowns, problem.columns, problem.robot.point

    def simulate(k: int, values: Array, slopes: bool) -> LogErrors:
        there = at_values(point, columns, values)
        moved = replace(problem, robot=replace(problem.robot, point=there))
        moved.__dict__["resting"] = problem.resting
        rollout = moved.roll_out(designed.q, steps_kept=True)
        S = sensitivities(rollout, columns).position if slopes else None
        return LogErrors(positions - rollout.q, S)

    start = np.where(unknowns.values > 0.0, 1.03 * unknowns.values, unknowns.values)
    found = fit_output_error(simulate, 1, replace(unknowns, values=start))
    assert found is not None
    return found.values


def test_estimates_have_the_standard_deviations_that_were_promised(designed: CommandExcitation) -> None:
    rng, exact = np.random.default_rng(1), designed.trial.rollout.q
    truth = designed.problem.unknowns.values
    estimates = [fitted(designed, exact + NOISE * rng.normal(size=exact.shape)) for _ in range(6)]
    z = (np.array(estimates) - truth) / designed.promise.stds
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1.0, abs=0.3)
    assert np.all(np.sqrt(np.mean(z**2, axis=0)) < 2.0)


def test_commands_separate_the_delay_from_armature_and_damping_better_than_a_slow_sine(
    designed: CommandExcitation,
) -> None:
    problem, waves = designed.problem, tuple(CommandWave("chirp", 0.5, 0.5, 0.0, k) for k in range(3))
    amplitude = 0.5 * problem.room.amplitude
    slow = problem.judged(Commanded(waves, amplitude, False, problem.commands(waves, amplitude, in_turn=False)))
    assert slow is not None
    of_delay = problem.unknowns.names.index("delay")
    assert designed.promise.stds[of_delay] < 0.5 * slow.promise.stds[of_delay]
    assert np.all((designed.promise.stds < 0.7 * slow.promise.stds)[:6])  # armature and viscous
    model = problem.robot.model
    either = [max(one.with_delay(role, model) for role in (Role.ARMATURE, Role.VISCOUS)) for one in
              (designed.promise, slow.promise)]  # fmt: skip
    assert either[0] < either[1]


def test_the_predicted_motion_keeps_all_limits_and_commands_start_and_end_at_rest(designed: CommandExcitation) -> None:
    assert not designed.broken
    assert {check.name.split(" of ")[0] for check in designed.checks} == {"command", "position", "velocity", "torque"}
    assert max(check.used for check in designed.checks) > 0.7
    np.testing.assert_allclose(designed.q[[0, -1]], [designed.problem.room.start] * 2)
    assert np.ptp(np.diff(designed.t)) < 1e-9
    assert designed.log.commands.limit is not None
    own = designed.trial.rollout
    control = replace(own.control, limit=np.full(3, 60.0))
    again = roll_out(own.robot, control, designed.problem.resting.q[-1], delay=own.delay)
    np.testing.assert_allclose(again.q, own.q, atol=1e-12)  # nothing saturates


def test_the_same_seed_and_number_give_the_same_commands() -> None:
    one, other = (design(starts=2, seed=3, duration=2.0) for _ in range(2))
    assert np.array_equal(one.q, other.q)
    assert one.tried == 2


def test_information_has_one_scale_for_both_gains_of_a_joint(designed: CommandExcitation) -> None:
    joints = (0, 1, 2)
    columns = RolloutParameters(model=designed.problem.columns.model, delay=True, kp=joints, kd=joints)
    rollout = designed.problem.roll_out(designed.q, steps_kept=True)
    S = sensitivities(rollout, columns).position / NOISE
    J = np.concatenate([S[..., :-6], S[..., -6:-3] + S[..., -3:]], axis=-1).reshape(-1, S.shape[-1] - 3)
    H = information(rollout, columns, np.full(3, NOISE))
    np.testing.assert_allclose(H, J.T @ J, rtol=1e-9, atol=1e-9 * np.abs(J.T @ J).max())


def test_waves_stay_within_one_and_rest_at_both_ends_also_in_turn() -> None:
    t = np.linspace(0.0, 6.0, 601)
    for kind in ("multisine", "chirp", "log-chirp"):
        waves = [CommandWave(kind, 0.5, 5.0, 1.0, k) for k in range(3)]
        for in_turn in (False, True):
            x = wave_values(waves, t, 6.0, in_turn=in_turn)
            np.testing.assert_allclose(np.abs(x).max(axis=0), 1.0)
            assert not x[[0, -1]].any()
            assert not in_turn or np.count_nonzero(x, axis=1).max() == 1


def known_result(designed: CommandExcitation) -> dynid.Result:
    """A result of a slow motion, from a simulated log."""
    problem, waves = designed.problem, tuple(CommandWave("multisine", 0.4, 1.2, 1.0, k) for k in range(3))
    commands = problem.commands(waves, 0.8 * problem.room.amplitude, in_turn=False)
    rollout = problem.roll_out(commands)
    noise = NOISE * np.random.default_rng(2).normal(size=rollout.q.shape)
    log = dynid.Log(
        time=rollout.time,
        position=rollout.q + noise,
        velocity=rollout.v,
        position_command=rollout.control.position,
        kp=problem.robot.kp,
        kd=problem.robot.kd,
    )
    return dynid.identify(slider().robot, log, physical={"fit": False}, control={"law": "continuous", "bias": False})


def test_with_a_result_both_together_are_more_certain_than_either(designed: CommandExcitation) -> None:
    result = known_result(designed)
    both = design(starts=2, known=result, position_noise=None)
    assert both.present is not None
    assert np.all(both.promise.stds <= 1.0001 * np.minimum(both.present.stds, both.alone.stds))
    record = result.record.commands
    assert record is not None
    ratio = both.present.stds / [record[name].std for name in both.present.unknowns.names]
    assert np.median(ratio) == pytest.approx(1.0, abs=0.35)  # the noise is that of the result's own errors
    assert {"present_std", "alone_std", "std"} <= set(both.parameters()[0])
    torques = replace(result, record=result.record.model_copy(update={"commands": None}))
    with pytest.raises(InvalidRequestError, match="torques"):
        design(starts=1, known=torques)


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["excite", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


EXPERIMENT = """robot = "builtin:two_link"
[control]
kp = [40, 20]
kd = [2, 1]
effort_limit = 80
[excitation]
commands = true
duration = 3
velocity = 3
position = [-1, 1]
collisions = false
"""


def test_the_command_writes_commands_the_predicted_motion_and_a_summary(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    out = tmp_path / "out"
    code, text, error = run(tmp_path / "e.toml", "--starts", 2, "--out", out, "--json")
    assert code == 0, error
    data = json.loads(text)
    assert data == json.loads((out / "excitation.json").read_text())
    assert data["control"]["kp"] == [40, 20]
    head, *rows = (out / "commands.csv").read_text().splitlines()
    assert head == "t,q_command_joint_1,q_command_joint_2"
    assert len(rows) == 3 * 50 + 1
    motion = read_trajectory(out / "predicted_motion.csv", dynid.load_robot("builtin:two_link"))
    assert motion.duration == pytest.approx(3.0)
    names = [row["name"] for row in data["parameters"]]
    assert names == ["Ia1", "Ia2", "fv1", "fv2", "fs1", "fs2", "off1", "off2", "delay"]
    assert all(check["kept"] for check in data["limits"])
    assert run(tmp_path / "e.toml", "--starts", 1, "--out", out)[0] == 2  # is not replaced without being asked
    code, text, _ = run(tmp_path / "e.toml", "--starts", 1, "--out", out, "--force", "--full")
    assert code == 0
    assert max(map(len, text.splitlines())) <= 80
    assert isinstance(dynid.excite(tmp_path / "e.toml", starts=1), CommandExcitation)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kp": None, "kd": None}, "state kp and kd"),
        ({"kp": (1.0, 2.0, 3.0)}, "3 numbers"),
        ({"command_rate": 500.0}, "500 Hz"),
        ({"criterion": "condition"}, "largest"),
        ({"family": "spline"}, "multisine or chirp"),
        ({"band": (1.0, 40.0)}, "25 Hz"),
        ({"start": (0.99, 0.0)}, "start"),
        ({"duration": 0.1}, "duration"),
        ({"effort": 1e-3, "kd": 20.0}, "to hold the start|no commands were found"),
    ],
)
def test_bad_requests_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    stated = {"kp": 20.0, "kd": 1.0, "duration": 2.0, "velocity": 3.0, "position": (-1.0, 1.0), "collisions": False}
    with pytest.raises(DynidError, match=words):
        dynid.excite_commands("builtin:two_link", starts=1, **{**stated, **options})


@pytest.mark.parametrize("option", ["--kp", "--duration", "--command-rate", "--amplitude"])
def test_options_of_commands_need_commands(option: str) -> None:
    code, _, error = run("builtin:two_link", option, 3)
    assert code == 2
    assert "--commands" in error


def test_a_floating_base_is_named(tmp_path: Path) -> None:
    path = tmp_path / "free.xml"
    path.write_text('<mujoco><worldbody><body name="b"><freejoint name="root"/><inertial pos="0 0 0" mass="1" '
                    'diaginertia="1 1 1"/></body></worldbody></mujoco>')  # fmt: skip
    with pytest.raises(InvalidRequestError, match="lock"):
        dynid.excite_commands(path, kp=1.0, kd=1.0)


def test_a_law_that_flies_off_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="kp and kd"):
        dynid.excite_commands(
            slider().robot, kp=1e5, kd=0.0, band=(1.0, 5.0), duration=1.0, control={"rate": 20.0}, **limits()
        )


def test_control_inputs_hold_commands_between_their_times(designed: CommandExcitation) -> None:
    control: ControlInput = designed.trial.rollout.control
    at = np.searchsorted(designed.t, control.time + 1e-9, side="right") - 1
    assert np.array_equal(control.position, designed.q[at])
