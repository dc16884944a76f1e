"""A body that a robot file, or an earlier result, does not have: on which link, and of what mass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.parameter_difference import (
    DIFFERENCE,
    ERRORS,
    Difference,
    difference_from_file,
    factor_in,
)
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import weighed
from dynid.findings import Finding
from dynid.logs import reach_of
from dynid.model import BaseParameters
from dynid.robot import inertia


@dataclass(frozen=True)
class Extra:
    """A body that is not in the robot's file, or was not there when a result was made.

    Attributes:
        link: Name of the link that carries it.
        mass: Its mass [kg].
        share: Share of the difference that it explains.
        std: Standard deviation of its mass [kg].
        place: Its centre of mass in the frame of the joint that moves the link [m].
        gain: Twice the logarithm of the likelihood that it gains.
        error: Share by which other parameters are wrong beside it.
        others: Names of links that are as likely to carry it.
    """

    link: str
    mass: float
    share: float
    std: float = 0.0
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gain: float = 0.0
    error: float = 0.0
    others: tuple[str, ...] = ()


def extra_body(base: BaseParameters, logs: Sequence[Factors]) -> Extra | None:
    """Find a body on some link that explains how the file's links and the data differ.

    Friction and motors are left free: files seldom have them right. Nothing is said where the file has no inertia.

    Args:
        base: The base parameters.
        logs: Factors of the logs.
    """
    found = difference_from_file(base, logs)
    return None if found is None else body_in(found)


def body_in(difference: Difference, share: float = DIFFERENCE.share) -> Extra | None:
    """The body that explains a difference, on the link where it explains most; None where none explains enough.

    Args:
        difference: The difference.
        share: Share of it that the body must explain.
    """
    without = difference.deviance(difference.d)
    count = difference.links.shape[1] // inertia.SIZE
    tried = [found for k in range(count) if (found := _on_link(difference, k, without)) is not None]
    best = max(tried, key=lambda one: one.gain, default=None)
    if best is None or best.gain < DIFFERENCE.likely or best.share < share:
        return None
    others = tuple(one.link for one in tried if one is not best and one.gain > best.gain - DIFFERENCE.as_good)
    return replace(best, others=others)


def _on_link(difference: Difference, position: int, without: float) -> Extra | None:
    """The body on one link that explains most; None where it is no body, or does not explain enough.

    Ten free numbers explain no less than a body: where these do not gain enough, nothing is fitted.
    """
    robot = difference.base.model.robot
    columns = difference.links[:, inertia.SIZE * position : inertia.SIZE * (position + 1)]
    if np.abs(columns[:, :4]).max(initial=0.0) < 1e-6:  # its weight and place have no effect on any torque
        return None
    farthest = max(DIFFERENCE.handy, DIFFERENCE.farthest * reach_of(robot))
    trials = sorted((_bound(difference, columns, error) for error in ERRORS), key=lambda trial: trial.bound)
    best: tuple[float, Array, float, float, float] | None = None
    for trial in trials[:FITTED]:
        if trial.bound > (without - DIFFERENCE.likely if best is None else best[0]):
            break
        fits = [_fitted(trial.A, trial.seen, start, farthest) for start in _starts(trial.A, trial.seen, farthest)]
        x, left, std = min(fits, key=lambda fit: fit[1])
        if best is None or trial.unseen + left < best[0]:
            share = 1.0 - (trial.unseen - trial.volume + left) / trial.squares
            best = trial.unseen + left, x, std, share, trial.error
    if best is None or best[1][0] < DIFFERENCE.smallest or best[2] > DIFFERENCE.known * best[1][0]:
        return None
    deviance, x, std, share, error = best
    place = (float(x[1]), float(x[2]), float(x[3]))
    name = robot.links[robot.solid_links[position]].name
    return Extra(name, float(x[0]), share, std, place, without - deviance, error)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A link at some error of the other parameters.

    Attributes:
        error: The error.
        A: Triangle of the ten columns of its body.
        seen: What these see of the difference, shape (10,).
        volume: Logarithm of the volume.
        unseen: Deviance that no body on it can lower.
        bound: Deviance with ten free numbers, the least that a body may come to.
        squares: Squared difference.
    """

    error: float
    A: Array
    seen: Array
    volume: float
    unseen: float
    bound: float
    squares: float


def _bound(difference: Difference, columns: Array, error: float) -> _Trial:
    """How much a body on a link, with these columns, can explain at most."""
    w, volume = difference.at(error)
    d = w * difference.d
    Q, A = np.linalg.qr(w[:, None] * columns)
    seen, squares = Q.T @ d, float(d @ d)
    unseen = volume + squares - float(seen @ seen)
    free = seen - A @ np.linalg.lstsq(A, seen, rcond=1e-9)[0]
    return _Trial(error, A, seen, volume, unseen, unseen + float(free @ free), squares)


def _starts(A: Array, d: Array, farthest: float) -> Iterator[Array]:
    """Bodies to begin with: mass and centre of mass by least squares, with and without moments of inertia."""
    for columns in (10, 4):
        first = np.linalg.lstsq(A[:, :columns], d, rcond=1e-8)[0]
        mass = max(float(first[0]), 0.1)
        yield np.array([mass, *np.clip(first[1:4] / mass, -farthest, farthest), 0.05])


def _body(x: Array) -> tuple[Array, Array]:
    """Ten numbers of a body of mass x[0], centre of mass x[1:4] and radius of gyration x[4], and their derivatives."""
    m, c, r = x[0], x[1:4], x[4]
    about = (float(c @ c) + r**2) * np.eye(3) - np.outer(c, c)
    one = inertia.from_moments(1.0, c, about)
    columns = [one]
    for axis in np.eye(3):
        moved = 2.0 * float(c @ axis) * np.eye(3) - np.outer(c, axis) - np.outer(axis, c)
        columns.append(inertia.from_moments(0.0, m * axis, m * moved))
    columns.append(inertia.from_moments(0.0, np.zeros(3), 2.0 * m * r * np.eye(3)))
    return m * one, np.stack(columns, axis=1)


FITTED = 3
"""Errors of other parameters, those with the lowest bounds, at which a body is fitted."""

STEPS = 40
"""Most steps of a fit of a body; most need ten."""


def _fitted(A: Array, d: Array, start: Array, farthest: float) -> tuple[Array, float, float]:
    """Mass, centre of mass and radius of gyration, the squares that they leave, and the standard deviation of mass.

    Levenberg-Marquardt; places and sizes are kept within bounds.
    """
    low, high = np.array([1e-3, *[-farthest] * 3, 0.005]), np.array([1e3, *[farthest] * 4])
    x, damping = np.clip(start, low, high), 1e-3
    p, J = _body(x)
    error, J = d - A @ p, A @ J
    for _ in range(STEPS):
        H = J.T @ J
        step = np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-6 * np.trace(H) + 1e-9), J.T @ error)
        trial = np.clip(x + step, low, high)
        p, slope = _body(trial)
        after = d - A @ p
        gain = float(error @ error - after @ after)
        if gain > 0.0:
            x, error, J, damping = trial, after, A @ slope, max(0.3 * damping, 1e-6)
        else:
            damping *= 5.0
        if 0.0 < gain < 1e-4 or damping > 1e8:
            break
    left = float(error @ error)
    sizes = np.maximum(np.linalg.norm(J, axis=0), 1e-9)
    precision = (J / sizes).T @ (J / sizes) + 1e-10 * np.eye(5)
    return x, left, float(np.sqrt(max(1.0, left / 5.0) * np.linalg.inv(precision)[0, 0]) / sizes[0])


def findings_on_difference(base: BaseParameters, logs: Sequence[Factors]) -> Iterator[Finding]:
    """A finding on what explains how the file's links and the data differ: all torques scaled, or a body on a link.

    Args:
        base: The base parameters.
        logs: Factors of the logs.
    """
    found = difference_from_file(base, logs)
    if found is None:
        return
    scaled, extra = factor_in(found), body_in(found)
    if scaled is not None and (extra is None or scaled[2] > extra.gain - DIFFERENCE.as_good):
        yield Finding.of("torques-scaled-all", "all joints", factor=scaled[0], share=scaled[1])
    elif extra is not None:
        yield _on_body("payload-undeclared", extra)


def findings_on_payload(
    base: BaseParameters, values: Array, result: Sequence[Factors], log: Sequence[Factors]
) -> Iterator[Finding]:
    """A finding on a body that a log carries, and the logs of a result did not.

    Args:
        base: The base parameters.
        values: Those of the result, shape (base,).
        result: Factors of the result's logs, from which the covariance is taken.
        log: Factors of the log.
    """
    R = weighed(result, base).R
    covariance = np.asarray(np.linalg.pinv(R.T @ R, rcond=1e-12, hermitian=True), dtype=float)
    extra = body_in(Difference.of(base, log, values, covariance), DIFFERENCE.of_result)
    if extra is not None:
        yield _on_body("payload-in-held-out-log", extra)


def _on_body(code: str, extra: Extra) -> Finding:
    values = {"mass": extra.mass, "std": extra.std, "share": extra.share, "place": list(extra.place)}
    if extra.others:
        return Finding.of(f"{code}-or-elsewhere", f"link '{extra.link}'", **values, others=list(extra.others))
    return Finding.of(code, f"link '{extra.link}'", **values)
