"""`excite` for robots that stand on the ground: postures in balance, then motions between them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.balanced_excitation import BalancedExcitation, BalanceExpectation, Uncertainty
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.moving_coordinates import MovingCoordinates
from dynid.excitation.balance.stance import Stance
from dynid.excitation.balance.standing_checks import standing_checks
from dynid.excitation.balance.standing_choice import StandingChoice, choose_standing
from dynid.excitation.balance.standing_home import home_of
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_motion import StandingMotion
from dynid.excitation.balance.standing_pool import NoBalanceError, StandingPool
from dynid.excitation.balance.standing_tour import Roadmap, fine_times, motion_of, roadmap_of, walk
from dynid.excitation.balance.wrench_information import WrenchInformation, covariance_of, gained
from dynid.excitation.limits.limit import Check
from dynid.excitation.settings import ExcitationSettings
from dynid.findings import Finding
from dynid.machine import single_threaded_blas
from dynid.robot import Robot, as_robot, without_gripper
from dynid.settings import checked


@dataclass(frozen=True)
class BalanceThresholds:
    """How long a design in balance looks for postures and moves."""

    time_limit: float = 300.0
    """When choosing postures stops at the latest [s], where nothing else is asked for; motions come after that. By
    judgement: humanoids of 30 joints are done after one to two minutes (`benchmarks/balance.py`)."""

    passed: int = 20
    """Random postures near home that ways may lead through, at most; half as many as there are postures, and five. By
    judgement: with them, 29 or 30 of 30 postures are reached in `benchmarks/balance.py`."""

    random_sets: int = 20
    """Random sets of postures that the chosen ones are compared with. By judgement: their median is enough."""

    unseen: int = 200
    """Postures, and moves, that are not in the design, for which standard deviations are given, at most. By
    judgement."""

    information_rate: float = 50.0
    """Rate [Hz] at which a motion is looked at for what it says of parameters. By judgement: moves take seconds."""

    repairs: int = 4
    """How often moves that break a limit between samples are replaced. By judgement; not calibrated."""


THRESHOLDS = BalanceThresholds()

BALANCE_TIME_LIMIT = THRESHOLDS.time_limit
"""When choosing postures stops at the latest [s], where nothing else is asked for."""


def excite_balanced(
    robot: Robot | str | os.PathLike[str],
    balance: BalanceSettings | Mapping[str, Any],
    *,
    settings: ExcitationSettings | Mapping[str, Any] | None = None,
    time_limit: float = BALANCE_TIME_LIMIT,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    **changes: Any,
) -> BalancedExcitation:
    """Design postures and motions between them for a robot that keeps its balance.

    What is measured is the wrench between ground and robot; friction and motors have no effect on it.

    Args:
        robot: The robot: a path, `builtin:NAME`, or a loaded one; its base is left free.
        balance: Keys of `[excitation.balance]`: what it stands on, and how it keeps its balance.
        settings: Keys of `[excitation]`: limits of joints and what is kept apart.
        time_limit: When choosing postures stops [s], with the best so far. Motions and checks take about a minute more.
        seed: Seed of everything random.
        progress: Callback; receives a short description of each step.
        changes: Keys of `[excitation]` that replace the settings'.

    Raises:
        InvalidRequestError: If the robot cannot stand so, or the settings contradict the robot or each other.
        NoBalanceError: If hardly any posture is in balance within the limits.
    """
    stated, of_balance = (
        checked(ExcitationSettings, settings, **changes),
        checked(BalanceSettings, balance, "excitation.balance"),
    )
    begin, rng = time.monotonic(), np.random.default_rng(seed)
    if not time_limit > 0.0:
        raise InvalidRequestError(f"the time limit must be a positive number of seconds, not {time_limit:g}")
    with single_threaded_blas():
        source, findings = _source(as_robot(as_robot(robot), floating_base=True), stated, of_balance, rng)
        limits = source.limits
        information = WrenchInformation(
            limits.stance, of_balance.force_noise, of_balance.moment_noise, of_balance.uncertainty
        )
        choice = choose_standing(
            source,
            information,
            of_balance.postures,
            of_balance.candidates,
            of_balance.hold * stated.rate,
            rng,
            lambda: time.monotonic() - begin > time_limit,
            progress,
        )
        source = _with_home_within(source, choice)
        progress("Moves between all postures")
        roadmap = _connected(source, information, choice, stated.rate, rng)
        motion, holds, which, order, checks = _checked_motion(limits, roadmap, choice, of_balance, progress)
        expected = _expected(information, choice, roadmap, order, motion, stated.rate, rng)
    left_out = len(choice.q) - len(which)
    if left_out:
        findings.append(Finding.of("postures-unreached", "postures", count=left_out, of=len(choice.q)))
    return BalancedExcitation(
        stated,
        of_balance,
        limits,
        motion,
        choice.q[which],
        holds,
        tuple(checks),
        expected,
        tuple(findings),
        len(choice.pool),
        time.monotonic() - begin,
    )


def _source(
    robot: Robot, settings: ExcitationSettings, balance: BalanceSettings, rng: np.random.Generator
) -> tuple[StandingPool, list[Finding]]:
    """Where random postures come from, and what was noticed."""
    stance = Stance.of(robot, balance, settings.srdf)
    grippers = [] if settings.moving is not None else without_gripper(robot)[1]
    named = {robot.joint(name).name for name in (*(balance.identify or ()), *(balance.balance or ()))}
    held = [one for one in grippers if one.name not in named]
    moving = MovingCoordinates.of(stance, balance, [one.name for one in held])
    bare, findings = StandingLimits.of(ClosedLegs(stance), moving.joints(stance), settings, balance)
    home = home_of(bare, moving, rng)
    limits, more = bare.with_collisions(settings, home)
    if held:
        joints = {one.name: f"at {one.position:g}, {one.reason}" for one in held}
        findings.append(Finding.of("gripper-at-rest", "robot", joints=joints, first=held[0].name))
    return StandingPool(limits, moving, home), [*findings, *more]


def _with_home_within(source: StandingPool, choice: StandingChoice) -> StandingPool:
    """With a home within all limits: the standing posture, or the random one that is nearest to it."""
    if len(source.limits.allows_at_rest(source.home[None])):
        return source
    return replace(source, home=source.nearest_home(choice.pool, 1)[0])


def _connected(
    source: StandingPool, information: WrenchInformation, choice: StandingChoice, rate: float, rng: np.random.Generator
) -> Roadmap:
    """Moves between the postures, through random ones near home; through more where these do not lead to all."""
    count = min(THRESHOLDS.passed, 5 + len(choice.q) // 2)
    passed = source.nearest_home(choice.pool, count)
    found = roadmap_of(source.limits, information, source.home, choice.q, passed, rate)
    if len(found.reached) == len(choice.q):
        return found
    others = choice.pool[rng.permutation(len(choice.pool))[: 2 * count]]
    return roadmap_of(source.limits, information, source.home, choice.q, np.concatenate([passed, others]), rate)


def _checked_motion(
    limits: StandingLimits,
    roadmap: Roadmap,
    choice: StandingChoice,
    balance: BalanceSettings,
    progress: Callable[[str], None],
) -> tuple[StandingMotion, Array, list[int], list[int], list[Check]]:
    """The motion through the postures, when it rests in which of them, the order of visits, and what it reaches.

    Where it breaks a limit between the samples of the design, that move is left out, and the order changes.
    """
    M = np.einsum("psi,psj->ij", choice.rows, choice.rows)
    motion, checks, order = None, [], []
    for attempt in range(THRESHOLDS.repairs + 1):
        order = walk(roadmap, covariance_of(M), balance.hold, balance.duration)
        if len(order) < 2:
            raise _no_move(limits)
        progress("Timing of the moves, and checks at 1 kHz")
        times = fine_times(limits, roadmap.q, order)
        if impossible := [pair for pair, time in times.items() if np.isinf(time)]:
            roadmap = roadmap.without_moves(impossible)
            continue
        motion = motion_of(limits, roadmap.q, order, times, balance.hold, roadmap.stops)
        checks = standing_checks(limits, motion)
        broken = [check.time for check in checks if not check.is_kept and check.time is not None]
        if not broken or attempt == THRESHOLDS.repairs:
            break
        roadmap = roadmap.without_moves(roadmap.ends_at(motion, broken))
    if motion is None:
        raise _no_move(limits)
    rests = np.flatnonzero(~motion.is_move)[1:]
    holds = np.stack([motion.begins[rests], motion.begins[rests + 1]], axis=1)
    stops = list(dict.fromkeys(k - 1 for k in order if 1 <= k <= roadmap.stops))
    return motion, holds, stops, order, checks


def _no_move(limits: StandingLimits) -> NoBalanceError:
    return NoBalanceError(
        f"no move from the standing posture of '{limits.robot.name}' keeps all limits within the time; allow a longer "
        "duration, a smaller margin or clearance, or more joints"
    )


def _expected(
    information: WrenchInformation,
    choice: StandingChoice,
    roadmap: Roadmap,
    order: list[int],
    motion: StandingMotion,
    rate: float,
    rng: np.random.Generator,
) -> BalanceExpectation:
    """What is uncertain before and after the experiment."""
    times = np.arange(0.0, motion.duration, 1.0 / THRESHOLDS.information_rate)
    rows = np.sqrt(rate / THRESHOLDS.information_rate) * information.rows(*motion.whole_states(times))
    of_motion = np.einsum("psi,psj->ij", rows, rows, optimize=True)
    of_postures = np.einsum("psi,psj->ij", choice.rows, choice.rows, optimize=True)
    done = {roadmap.move(a, b) for a, b in itertools.pairwise(order)}
    unseen = np.array([k for k in range(len(roadmap.times)) if k not in done][: THRESHOLDS.unseen], dtype=np.intp)
    centres = information.centre_rows(choice.pool[: THRESHOLDS.unseen])
    wrenches = information.physical(roadmap.plain_rows(unseen, rate))

    def left(M: Array) -> Uncertainty:
        C = covariance_of(M)
        centre = np.sqrt(np.einsum("sri,ij,srj->s", centres, C, centres, optimize=True))
        variances = np.einsum("sri,ij,srj->sr", wrenches, C, wrenches, optimize=True)
        force, moment = (np.sqrt(variances[:, part].sum(axis=1)) for part in (slice(0, 3), slice(3, 6)))
        mass = float(np.sqrt(information.mass_row @ C @ information.mass_row))
        force, moment = (float(np.median(part)) if len(part) else 0.0 for part in (force, moment))
        return Uncertainty(gained(M), float(np.median(centre)), mass, force, moment)

    random = []
    for _ in range(THRESHOLDS.random_sets):
        some = choice.pool_rows[rng.permutation(len(choice.pool))[: len(choice.q)]]
        random.append(left(np.einsum("psi,psj->ij", some, some, optimize=True)))
    usual = Uncertainty(
        *(float(np.median([getattr(one, key) for one in random])) for key in Uncertainty.__annotations__)
    )
    values = np.linalg.eigvalsh(of_motion)
    condition = float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf
    before = left(np.zeros_like(of_motion))
    determined = int((values > 1.0).sum())
    return BalanceExpectation(before, usual, left(of_postures), left(of_motion), condition, len(values), determined)
