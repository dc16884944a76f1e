"""Signs of torques: a table over robots, noise and motions, and the tree search of the study beside ours.

    python benchmarks/signs.py            # the table of docs/signs.md
    python benchmarks/signs.py baseline   # the tree search (Pennese and Vulcano 2020) on its own experiments

The tree search is theirs without physics, which took weeks: segments between samples below the 10 % quantile, ordered
by the condition number of their rows, five best nodes kept at each level, each node a least-squares fit.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.least_squares import weighted_least_squares
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.references import references
from dynid.estimation.physical.semidefinite import LinkPrior
from dynid.estimation.signs import SignsError, Track, Word, recover_signs
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk
from dynid.model.terms import parse_terms

RATE = 100.0
SEEDS = (1, 2, 3)


def fourier(rng: np.random.Generator, start: Array, seconds: float, size: float = 1.0) -> tuple[Array, Array, Array]:
    """A random exciting motion of five harmonics of 0.1 Hz, as in chapter 2.4 of the study."""
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 0.2 * np.pi * np.arange(1, 6)
    sine, cosine = (size * rng.uniform(-0.5, 0.5, (len(start), 5)) for _ in range(2))
    angle = np.multiply.outer(t, w)[:, None]
    q = (sine / w * np.sin(angle) - cosine / w * np.cos(angle)).sum(2)
    v = (sine * np.cos(angle) + cosine * np.sin(angle)).sum(2)
    a = (-sine * w * np.sin(angle) + cosine * w * np.cos(angle)).sum(2)
    return q - q[0] + start, v, a


def right(track: Track, torque: Array, start: float, stop: float, channel: int, sign: int) -> bool:
    first, last = (round((x - track.start) * track.rate) for x in (start, stop))
    return bool(torque[first:last, channel].sum() * sign > 0.0)


def trial(name: str, noise: float, seed: int) -> tuple[int, float, float, float, float, float] | None:
    """Segments, shares of right, sure and wrong among sure, ratio of errors to a fit with signs, seconds."""
    robot = load_robot(f"builtin:{name}")
    model = DynamicModel(robot, parse_terms(["viscous", "coulomb"], robot))
    base = find_base_parameters(model)
    rng = np.random.default_rng(seed)
    q, v, a = fourier(rng, rng.uniform(-1.0, 1.0, robot.nv), 20.0, 2.0)
    p = np.nan_to_num(model.reference)
    p[10 * len(robot.solid_links) :] = 0.2
    clean = model.inverse_dynamics(q, v, a, p)
    torque = clean + noise * np.abs(clean).max(axis=0) * rng.normal(size=clean.shape)
    track = Track(Chunk(q, v, a, np.abs(torque)), RATE)
    begin = time.perf_counter()
    try:
        found = recover_signs(base, [track], Physics(references(robot), LinkPrior()))
    except SignsError:
        return None
    seconds = time.perf_counter() - begin
    correct = [right(track, clean, s.start, s.stop, s.channel, s.sign) for s in found.segments]
    sure = [s.word is Word.SURE for s in found.segments]
    wrong = sum(is_sure and not is_right for is_sure, is_right in zip(sure, correct, strict=True))
    return (
        len(correct),
        float(np.mean(correct)),
        float(np.mean(sure)),
        float(wrong),
        model_error(base, q, v, a, found.torques[0], ~found.doubtful[0], clean)
        / model_error(base, q, v, a, torque, np.ones(torque.shape, bool), clean),
        seconds,
    )


def model_error(
    base: BaseParameters, q: Array, v: Array, a: Array, torque: Array, keep: NDArray[np.bool_], clean: Array
) -> float:
    """Error of a model, fitted to torques, on the clean ones."""
    estimate = weighted_least_squares(factorise(base.model, [Chunk(q, v, a, torque, keep)]), base)
    predicted = base.model.inverse_dynamics(q, v, a, base.to_standard(estimate.values))
    return float(np.linalg.norm(predicted - clean) / np.linalg.norm(clean))


def table(robots: tuple[str, ...] = ("spatial_3r", "ur5", "panda"), seeds: tuple[int, ...] = SEEDS) -> None:
    print("| robot | noise | motion | segments | right | sure | sure but wrong | model error to that with signs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in robots:
        for noise in (0.01, 0.02, 0.05):
            for seed in seeds:
                found = trial(name, noise, seed)
                if found is None:
                    print(f"| {name} | {noise:.0%} | {seed} | - | signs cannot be told | | | |")
                    continue
                count, correct, sure, wrong, ratio, _ = found
                row = f"{count} | {correct:.1%} | {sure:.1%} | {wrong:.0f} | {ratio:.2f}"
                print(f"| {name} | {noise:.0%} | {seed} | {row} |", flush=True)


def tree_search(rows: list[Array], magnitudes: list[Array], width: int = 5) -> Array:
    """Signs of segments by the study's tree: best-conditioned segments first, `width` nodes a level."""
    order: list[int] = []
    while len(order) < len(rows):
        rest = [k for k in range(len(rows)) if k not in order]
        order.append(min(rest, key=lambda k: _condition(np.concatenate([rows[i] for i in [*order, k]]))))
    nodes: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for depth in range(1, len(order) + 1):
        W = np.concatenate([rows[k] for k in order[:depth]])
        Q, _ = np.linalg.qr(W)
        children = []
        for _, signs in nodes:
            for sign in (1, -1):
                s = (*signs, sign)
                y = np.concatenate([s[i] * magnitudes[k] for i, k in enumerate(order[:depth])])
                children.append((float(y @ y - np.sum((Q.T @ y) ** 2)), s))
        nodes = sorted(children)[:width]
    found = np.empty(len(order))
    found[order] = nodes[0][1]
    return found


def _condition(W: Array) -> float:
    sizes = np.linalg.svd(W, compute_uv=False)
    return float(sizes[0] / max(sizes[-1], 1e-300)) if len(W) >= W.shape[1] else 1e300 / len(W)


def study_segments(magnitudes: Array) -> list[tuple[int, int, int]]:
    """Segments as in the study: above the 10 % quantile of each joint, and not too short."""
    found = []
    for channel, m in enumerate(magnitudes.T):
        inside = m > np.quantile(m, 0.1)
        edges = np.flatnonzero(np.diff(inside.astype(int), prepend=0, append=0)).reshape(-1, 2)
        found += [(channel, first, last) for first, last in edges.tolist() if last - first >= 5]
    return found


def baseline() -> None:
    print("| robot | motion | study: segments, right, error, seconds | ours: segments, right, error, seconds |")
    print("| --- | --- | --- | --- |")
    for name, start in (("pendulum", [0.0]), ("spatial_3r", [0.0, -np.pi / 2, 0.0])):
        robot = load_robot(f"builtin:{name}")
        base = find_base_parameters(DynamicModel(robot))
        truth = base.to_base(base.model.reference)
        for seed in SEEDS:
            q, v, a = fourier(np.random.default_rng(seed), np.array(start), 10.0, 2.0)
            torque = base.model.inverse_dynamics(q, v, a)
            track = Track(Chunk(q, v, a, np.abs(torque)), RATE)
            begin = time.perf_counter()
            found = recover_signs(base, [track], Physics(references(robot), LinkPrior()))
            ours = time.perf_counter() - begin
            correct = sum(right(track, torque, s.start, s.stop, s.channel, s.sign) for s in found.segments)
            error = float(np.linalg.norm(found.values - truth))
            begin = time.perf_counter()
            pieces = study_segments(np.abs(torque))
            W = base.regressor(q, v, a)
            rows = [W[c, first:last] for c, first, last in pieces]
            sizes = [np.abs(torque[first:last, c]) for c, first, last in pieces]
            s = tree_search(rows, sizes)
            theirs = time.perf_counter() - begin
            actual = np.array([np.sign(torque[first:last, c].sum()) for c, first, last in pieces])
            s = s if (s == actual).sum() * 2 >= len(s) else -s  # told from the mirror for free
            y = np.concatenate([sign * m for sign, m in zip(s, sizes, strict=True)])
            fitted = np.linalg.lstsq(np.concatenate(rows), y, rcond=None)[0]
            their_error = float(np.linalg.norm(fitted - truth))
            study = f"{len(s)}, {(s == actual).sum()}, {their_error:.1e}, {theirs:.2f}"
            print(
                f"| {name} | {seed} | {study} | {len(found.segments)}, {correct}, {error:.1e}, {ours:.2f} |", flush=True
            )


if __name__ == "__main__":
    baseline() if "baseline" in sys.argv[1:] else table()
