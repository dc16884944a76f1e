"""Terms chosen on held-out blocks: right ones on simulated robots, fast algebra equal to plain least squares."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, Log, load_robot
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation import choose_terms, determined_terms
from dynid.estimation.term_choice.block_moments import BlockMoments, blocks_of, held_out_fit
from dynid.logs import Drive, PreparedLog, Processing, prepare
from dynid.model import TorqueRows, known_base, loaded
from dynid.model.terms import Coupling, parse_terms, specification
from dynid.robot.robot import Robot
from tests.friction_logs import ROBOT, friction_log
from tests.term_study import NOISES, chosen, difference, simulated

PLAIN = Processing(automatic=False)


def ready(log: Log, robot: Robot = ROBOT, terms: str = "auto") -> PreparedLog:
    return prepare(log, DynamicModel(robot, terms), Drive(), PLAIN)


@pytest.mark.parametrize(
    "terms",
    [(), ("viscous", "coulomb", "offset"), ("viscous", "stribeck", "armature"), ("viscous", "coulomb", "load_coulomb")],
)
def test_the_terms_of_a_simulated_robot_are_chosen(terms: tuple[str, ...]) -> None:
    case = simulated("spatial_3r", terms, NOISES["coloured 1 %"], 1)
    assert difference(chosen(case), case) == (set(), set())


def test_held_out_errors_are_those_of_plain_least_squares() -> None:
    log = ready(friction_log(["viscous", "coulomb"]))
    model = DynamicModel(ROBOT, ["viscous", "coulomb"])
    base = known_base(model, {})
    blocks = blocks_of([log])
    moments = BlockMoments.of(model, base, blocks)
    fit = held_out_fit(moments, {name: [name] * 11 for name in base.names}, np.ones(2))
    rows = TorqueRows(model)
    parts = [[np.vstack(p) for p in zip(*rows.of(b.log.segments), strict=True)] for b in blocks]
    W = [np.concatenate([base.regressor(s.q, s.v, s.a) for s in map(loaded, b.log.segments)], axis=1) for b in blocks]
    y = [np.stack([part[:, -1] for part in of_block]) for of_block in parts]
    others = [k for k in range(len(blocks)) if k != 3]
    A, c = (np.concatenate([x[k].reshape(-1, *x[k].shape[2:]) for k in others]) for x in (W, y))
    values = np.linalg.lstsq(A, c, rcond=None)[0]
    assert fit.squares[3] == pytest.approx(np.sum((W[3] @ values - y[3]) ** 2, axis=1), rel=1e-6)


def test_blocks_are_apart_and_whole_logs_are_held_out_where_there_are_several() -> None:
    log = ready(friction_log(["viscous"]))
    one = blocks_of([log])
    assert len({block.fold for block in one}) == len(one) == 10
    assert sum(block.log.samples for block in one) < 0.95 * log.samples
    two = blocks_of([log, log])
    assert [block.fold for block in two] == [0] * 5 + [1] * 5


def test_temperatures_of_a_log_are_used() -> None:
    log = friction_log(["viscous_temperature", "coulomb"])
    prepared = ready(log, terms="viscous_temperature")
    assert "viscous_temperature" in choose_terms(ROBOT, [prepared], {}).terms


def test_known_parameters_bring_their_terms() -> None:
    prepared = ready(friction_log(["viscous", "coulomb"]))
    choice = choose_terms(ROBOT, [prepared], {"vs1": 0.1})
    assert all("stribeck" in trial.options for trial in choice.tried)
    with pytest.raises(UnknownNameError):
        choose_terms(ROBOT, [prepared], {"nonsense": 0.1})


def test_couplings_of_the_drive_bring_their_columns() -> None:
    robot = load_robot("builtin:two_link")
    log = friction_log(["viscous", "coulomb", "armature", "coupling:1:2:0.5"], values=_coupled(), robot=robot)
    choice = choose_terms(robot, [ready(log, robot)], {}, np.array([[50.0, 0.0], [10.0, 20.0]]))
    assert "coupling:1:2:0.5" in choice.terms
    (coupling,) = parse_terms(["coupling:1:2:0.5"], robot)
    assert isinstance(coupling, Coupling)
    assert (coupling.ratio, specification(coupling)) == (0.5, "coupling:1:2:0.5")


def _coupled() -> dict[str, float]:
    return {"fv": 0.6, "fs": 1.0, "Ia": 1.0, "Iam": 0.3, "fvm": 0.2, "fsm": 0.5}


def test_a_log_too_short_for_blocks_gets_the_usual_terms() -> None:
    log = friction_log(["viscous"])
    short = Log(log.time[:30], log.position[:30], log.torque[:30], np.asarray(log.velocity)[:30])
    choice = choose_terms(ROBOT, [ready(short)], {})
    assert (choice.reason, choice.terms) == ("default", ("viscous", "coulomb", "offset", "armature"))
    assert [finding.code for finding in choice.findings] == ["terms-default-short"]


def test_a_robot_at_rest_gets_no_terms() -> None:
    log = friction_log(["viscous"])
    still = Log(log.time, np.zeros_like(log.position), log.torque, np.zeros_like(log.position))
    assert choose_terms(ROBOT, [ready(still)], {}).terms == ()


def test_other_rows_have_no_terms_that_do_not_go_with_them() -> None:
    prepared = ready(friction_log(["viscous", "coulomb"]))
    tried = choose_terms(ROBOT, [prepared], {}, estimator="energy").tried
    assert not any("load_coulomb" in trial.options for trial in tried)


def test_auto_stands_alone() -> None:
    with pytest.raises(InvalidRequestError, match="auto"):
        DynamicModel(ROBOT, ["auto", "viscous"])


def test_terms_that_a_joint_at_rest_cannot_show_are_left_out_there() -> None:
    log = friction_log(["viscous", "coulomb"])
    q, v = log.position.copy(), np.asarray(log.velocity).copy()
    q[:, 1], v[:, 1] = 0.3, 0.0
    resting = ready(Log(log.time, q, log.torque, v))
    found = determined_terms(DynamicModel(ROBOT, ["viscous", "stribeck"]), [resting], [])
    assert found is not None
    assert [specification(term) for term in found[0]] == ["viscous:1", "stribeck:1"]
    assert {finding.code for finding in found[1]} == {"term-left-out-at-rest"}
    moving = ready(log)
    assert determined_terms(DynamicModel(ROBOT, ["viscous"]), [moving], ["fv1"]) is None
    terms = determined_terms(DynamicModel(ROBOT, ["viscous", "stribeck", "load_coulomb"]), [moving], ["fst2", "fl1"])
    assert terms is not None
    assert [specification(term) for term in terms[0]] == ["viscous", "stribeck:1", "coulomb:2", "load_coulomb:2"]
