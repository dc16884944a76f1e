"""Ways from one posture to another: straight lines of the joints, as fast as limits allow, or around what is between.

A straight way runs along its line with a double-S profile, so all joints start and arrive together. It passes only
postures that were held against the limits of standing still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.excitation.limits.assumed import ASSUMED
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.local_search import NoMotionError
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.trajectories.double_s import fastest_phases
from dynid.excitation.trajectories.itinerary import AtSpeed, Rest
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.excitation.trajectories.phased_motion import PhasedMotion

_WAY_RATE = 200.0
"""Sampling rate [Hz] at which ways are checked while they are chosen; whole motions are checked more finely."""

_SLOWER = 0.8
"""Factor of speed from one try to the next where a way needs too much torque."""

_MOST_TRIES = 20
"""How often a way is made slower."""

_STEPS = (0.05, 0.01)
"""Largest distances [rad or m] of a joint between postures on a way at which limits are looked at, first and then."""

_TIME_OF_JERK = 0.1
"""How long accelerations take to reach their limit [s], where no jerk is limited."""

_ROADMAP = 100
"""Random postures of a roadmap."""

_HUBS = 8
"""Postures that are tried as the middle of all ways."""

_SEEN_FROM_HUBS = 60
"""Postures to which ways from each of these are looked at."""

_NEIGHBOURS = 12
"""Nearest postures of a roadmap that each one is joined with."""

_MORE_NEIGHBOURS = 24
"""The same for the postures that are joined, and those beside them."""

_BESIDE = 10
"""Random postures beside each that is joined."""

_FAR_BESIDE = 0.5
"""How far from it they may be [rad or m]."""

_INSIDE = 0.999
"""Part of the room of positions that random postures are drawn from: solvers start off the limits."""

_MOST_DRAWS = 20
"""How often postures are drawn before none is said to be within the limits."""


def with_whole_room(problem: ExcitationProblem, margin: float) -> ExcitationProblem:
    """The problem with all room of joints but for a margin: nothing is left to what happens between samples."""
    return replace(problem, bounds=replace(problem.bounds, factor=np.full(4, 1.0 - margin)))


def standing_slacks(problem: ExcitationProblem, q: Array) -> Array:
    """The smallest slack of each posture over positions and all limits; positive where a robot may stand still.

    This is the one place at which postures, and postures on ways, are held against the limits of a problem: whatever
    stands in `problem.limits` counts.

    Args:
        problem: The problem.
        q: Postures, shape (postures, joints).

    Returns:
        Array of shape (postures,).
    """
    found = (1.0 - np.abs(q - problem.bounds.middle[0]) / problem.bounds.room[0]).min(axis=1)
    inside = np.flatnonzero(found > 0.0)
    for limit in problem.limits:
        found[inside] = np.minimum(found[inside], limit.of_postures(q[inside]))
        inside = np.flatnonzero(found > 0.0)
    return found


def allowed_postures(
    problem: ExcitationProblem, count: int, rng: np.random.Generator, fixed: dict[int, float] | None = None
) -> Array:
    """Random postures within all limits, shape (count, joints).

    Args:
        problem: The problem.
        count: How many; where few are found, some come twice.
        rng: The random generator.
        fixed: Positions [rad or m] of joints that are the same in all of them, by index.

    Raises:
        NoMotionError: If hardly any posture is within the limits; says which limit is in the way.
    """
    bounds = problem.bounds
    half = _INSIDE * np.minimum(bounds.room[0], math.pi)
    found = np.zeros((0, len(half)))
    q = found
    for _ in range(_MOST_DRAWS):
        q = bounds.middle[0] + rng.uniform(-1.0, 1.0, (count, len(half))) * half
        for j, position in (fixed or {}).items():
            q[:, j] = position
        found = np.concatenate([found, q[standing_slacks(problem, q) > 0.0]])
        if len(found) >= count:
            return found[:count]
    if len(found):
        return found[np.arange(count) % len(found)]
    raise NoMotionError(_explanation(problem, q))


def _explanation(problem: ExcitationProblem, q: Array) -> str:
    """Why a robot cannot stand still in any of some postures."""
    still = [Rest(one, 1.0) for one in q[:50]]
    broken = [check.name for one in still for check in problem.checks(one, np.zeros(1)) if not check.is_kept]
    often = max(broken, key=broken.count, default="clearance")
    return (
        "no posture was found in which the robot can rest within all limits; the limit that is broken most often is "
        f"that on {often}: widen it, or state a range of positions that keeps it"
    )


def straight_way(begin: Array, end: Array, bounds: JointBounds) -> PhasedMotion:
    """From rest to rest along a straight line of the joints, in the shortest time; both ends are (joints,)."""
    d = end - begin
    durations, accelerations, jerks = _phases(d[None], bounds)
    shape = (len(d), durations.shape[1])
    return PhasedMotion(
        begin, np.zeros_like(begin), np.broadcast_to(durations, shape), np.outer(d, accelerations), np.outer(d, jerks)
    )


def way_times(ways: Array, bounds: JointBounds) -> Array:
    """How long straight ways take [s], shape (ways,), for displacements of shape (ways, joints)."""
    moves = np.abs(ways).max(axis=1) > 0.0
    times = np.zeros(len(ways))
    if moves.any():
        times[moves] = _phases(ways[moves], bounds)[0].sum(axis=1)
    return times


def path_times(paths: Sequence[Sequence[Array]], bounds: JointBounds) -> Array:
    """How long paths of straight ways take [s], one in each row and column, shape (rows, columns)."""
    steps = [np.diff(path, axis=0) for row in paths for path in row]
    path = np.repeat(np.arange(len(steps)), [len(part) for part in steps])
    times = np.bincount(path, way_times(np.concatenate(steps), bounds), minlength=len(steps))
    return times.astype(float).reshape(len(paths), -1)


def _phases(ways: Array, bounds: JointBounds) -> tuple[Array, Array, Array]:
    """Phases of the shares of ways that are done, as `fastest_phases`; ways are of shape (ways, joints)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        per_way = profile_limits(bounds)[:, None] / np.abs(ways)  # (3, ways, joints)
    velocity, acceleration, jerk = np.where(ways == 0.0, np.inf, per_way).min(axis=2)
    return fastest_phases(np.ones(len(ways)), velocity, acceleration, jerk)


def profile_limits(bounds: JointBounds) -> Array:
    """Largest velocity, acceleration and jerk of each joint on ways, shape (3, joints).

    Where torques alone limit accelerations, those start that are assumed where nothing does; ways are made slower then.
    Where no jerk is limited, accelerations still take a while to grow: jumps shake robots, and samples miss them.
    """
    limits = bounds.room[1:].copy()
    usual = [ASSUMED.slide_acceleration if unit == "m" else ASSUMED.acceleration for unit in bounds.units]
    limits[1] = np.where(np.isinf(limits[1]) & np.isinf(limits[2]), usual, limits[1])
    limits[2] = np.where(np.isinf(limits[2]), limits[1] / _TIME_OF_JERK, limits[2])
    return limits


def kept_way(problem: ExcitationProblem, begin: Array, end: Array) -> MovesSmoothly:
    """The straight way, made slower until it keeps all limits: torques, above all; or the last one that was tried."""
    way: MovesSmoothly = straight_way(begin, end, problem.bounds)
    tried = way
    for k in range(_MOST_TRIES):
        tried = way if k == 0 else AtSpeed(way, _SLOWER**k)
        if keeps_limits(problem, tried):
            break
    return tried


def keeps_limits(problem: ExcitationProblem, motion: MovesSmoothly) -> bool:
    """Whether a motion keeps all limits."""
    times = np.linspace(0.0, motion.duration, max(20, int(_WAY_RATE * motion.duration)))
    return all(check.is_kept for check in problem.checks(motion, times))


def are_clear(problem: ExcitationProblem, begins: Array, ends: Array, steps: tuple[float, ...] = _STEPS) -> Flags:
    """Whether straight ways stay within all limits of standing still, shape (ways,); ends are (ways, joints)."""
    clear = np.ones(len(begins), dtype=bool)
    for step in steps:
        some = np.flatnonzero(clear)
        counts = np.ceil(np.abs(ends - begins)[some].max(axis=1, initial=0.0) / step).astype(int) + 1
        along = np.concatenate([np.zeros(0), *(np.linspace(0.0, 1.0, count) for count in counts)])[:, None]
        way = np.repeat(some, counts)
        slacks = standing_slacks(problem, begins[way] + along * (ends - begins)[way])
        first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
        clear[some] = np.minimum.reduceat(slacks, first) > 0.0 if len(some) else clear[some]
    return clear


def path_between(problem: ExcitationProblem, begin: Array, end: Array) -> Array:
    """Postures on a way from one to another, both included, shape (k, joints): straight where no way around is found.

    Joints may use all of their room here: nothing is left to what happens between samples.
    """
    both = np.array([begin, end])
    try:
        return paths_between(with_whole_room(problem, 0.0), both, np.random.default_rng(0))[1][0][1]
    except NoMotionError:
        return both


def paths_between(
    problem: ExcitationProblem, positions: Array, rng: np.random.Generator
) -> tuple[Indices, list[list[Array]]]:
    """Ways between postures: straight where limits allow, else the shortest through a roadmap of random postures.

    Returns:
        The indices of the postures that are joined with each other, the most that are, ascending; and for each pair of
        these the postures on the way from one to the other, both ends included, each of shape (k, joints).

    Raises:
        NoMotionError: If no two of them are joined.
    """
    count = len(positions)
    pairs = np.column_stack(np.triu_indices(count, 1))
    clear = are_clear(problem, positions[pairs[:, 0]], positions[pairs[:, 1]])
    if clear.all():
        return np.arange(count), [[positions[[a, b]] for b in range(count)] for a in range(count)]
    nodes, before = _roadmap(problem, positions, pairs[clear], rng)
    joined = (before[:, :count] >= 0) | np.eye(count, dtype=bool)
    kept = np.flatnonzero(joined[int(np.argmax(joined.sum(axis=1)))])
    if len(kept) < 2:
        raise NoMotionError(
            f"no way within the limits was found from the posture {_numbers(positions[0])} to any other; widen the "
            "limits, or state a smaller range with --position"
        )
    paths = [[_path(nodes, before[a], int(a), int(b)) for b in kept] for a in kept]
    return kept, paths


def hub_of(problem: ExcitationProblem, pool: Array) -> tuple[Array, Array]:
    """The posture of a pool with straight ways to most others, shape (joints,), and these, shape (k, joints)."""
    tried, some = pool[:_HUBS], pool[:_SEEN_FROM_HUBS]
    begins, ends = np.repeat(tried, len(some), axis=0), np.tile(some, (len(tried), 1))
    clear = are_clear(problem, begins, ends, _STEPS[:1]).reshape(len(tried), -1)
    hub = tried[int(np.argmax(clear.sum(axis=1)))]
    return hub, pool[are_clear(problem, np.broadcast_to(hub, pool.shape), pool)]


def paths_through(problem: ExcitationProblem, positions: Array, hub: Array) -> list[list[Array]]:
    """Straight ways between postures, or by way of a hub that all of them have a straight way to."""
    count = len(positions)
    paths = [[positions[[a, b]] for b in range(count)] for a in range(count)]
    rows, columns = np.triu_indices(count, 1)
    clear = are_clear(problem, positions[rows], positions[columns])
    for a, b in zip(rows[~clear].tolist(), columns[~clear].tolist(), strict=True):
        paths[a][b] = np.array([positions[a], hub, positions[b]])
        paths[b][a] = paths[a][b][::-1]
    return paths


def _path(nodes: Array, before: Indices, begin: int, end: int) -> Array:
    """The postures from one of a roadmap to another, both included, shape (k, joints)."""
    path = [end]
    while path[-1] != begin:
        path.append(int(before[path[-1]]))
    return nodes[path[::-1]] if begin != end else nodes[[begin, begin]]


def _numbers(q: Array) -> str:
    return f"({', '.join(f'{value:.3g}' for value in q)})"


def _roadmap(
    problem: ExcitationProblem, positions: Array, clear: Indices, rng: np.random.Generator
) -> tuple[Array, Indices]:
    """Postures, and for each start the one before each on the shortest way from there; negative where there is none.

    Args:
        problem: The problem.
        positions: The postures to join, shape (postures, joints).
        clear: Pairs of them with a straight way, shape (pairs, 2).
        rng: The random generator.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    count = len(positions)
    beside = np.repeat(positions, _BESIDE, axis=0)
    beside = beside + rng.uniform(-1.0, 1.0, beside.shape) * np.minimum(_FAR_BESIDE, problem.bounds.room[0])
    beside = beside[standing_slacks(problem, beside) > 0.0]  # ways out of narrow places
    nodes = np.concatenate([positions, beside, allowed_postures(problem, _ROADMAP, rng)])
    ways = nodes[:, None] - nodes[None]
    D = way_times(ways.reshape(-1, nodes.shape[1]), problem.bounds).reshape(len(nodes), -1)
    near = np.argsort(D, axis=1)[:, 1 : _MORE_NEIGHBOURS + 1]
    wanted = [
        row[: _MORE_NEIGHBOURS if a < count + len(beside) else _NEIGHBOURS] for a, row in enumerate(near.tolist())
    ]
    pairs = {(min(a, b), max(a, b)) for a, row in enumerate(wanted) for b in row if max(a, b) >= count}
    joined = np.array(sorted(pairs))
    joined = joined[are_clear(problem, nodes[joined[:, 0]], nodes[joined[:, 1]])]
    a, b = np.concatenate([joined, clear]).T
    graph = csr_array((np.maximum(D[a, b], 1e-9), (a, b)), shape=D.shape)
    found = shortest_path(graph, directed=False, return_predecessors=True, indices=np.arange(count))
    return nodes, found[1]
