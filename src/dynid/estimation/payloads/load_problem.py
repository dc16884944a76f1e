"""A load from logs with and without it, on factors.

Logs without the load have `y = W b`, logs with it `y = W b + W_link M p`: b are the base parameters of the robot, p the
ten parameters of the load about the frame of its body, and M takes them to the joint frame of its link. The robot and
the load are estimated together, so that what the logs leave open of the robot enters the uncertainty of the load. Rows
are weighed by the size of their errors, log by log and joint by joint, and errors that last count as fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.correlation import autocorrelation, correlation_samples
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.physical.physical_estimate import SMALLEST_ERROR
from dynid.estimation.quantiles import chi_square_quantile
from dynid.model import BaseParameters
from dynid.robot import SIZE, Robot, inertia, place_of_body

LOAD = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the ten parameters of a load."""

SIZES = np.array([1.0, *[0.1] * 3, *[0.01] * 6])
"""Sizes of the ten parameters of a load of 1 kg and 0.1 m: what is small beside them is rounding."""


@dataclass(frozen=True)
class LoadThresholds:
    """When something about logs with a load is said, and acted upon."""

    change_chance: float = 1e-3
    """Chance, of all joints together, that friction is said to differ between logs with and without the load where it
    does not. Shown by `benchmarks/payloads.py`: none of 400 draws."""

    link_gain: float = 50.0
    """Twice the logarithm of the likelihood by which another link must explain the torques better than the stated one
    to be named. Shown by `benchmarks/payloads.py`: wrong links of simulated arms gain hundreds, right ones lose."""

    link_share: float = 0.05
    """Share of the stated link's squared residual that the other link must take away, too: of real robots small gains
    are significant, and mean friction that depends on the load. By judgement."""

    rank: float = 1e-9
    """Singular value, relative to the largest, up to which a combination of parameters has no effect. By
    judgement: rounding is a thousand times smaller."""

    other_motion: float = 0.1
    """Relative difference of what logs with and without the load excite from which their motions are others. By
    judgement; different random motions of `benchmarks/payloads.py` have 1.0 and more, the same ones 0."""

    absent_stds: float = 3.0
    """Standard deviations of the mass within which the load may not be there, or beyond which it is negative. By
    judgement: one load in 370."""


THRESHOLDS = LoadThresholds()


@dataclass(frozen=True, eq=False)
class LoadPlace:
    """Where a load is fastened.

    Attributes:
        body: Name of the body whose frame its parameters are about.
        link: Index of the link.
        block: Which block of ten parameters of the model is the link's.
        M: Takes its ten parameters to those about the link's joint frame, shape (10, 10).
    """

    body: str
    link: int
    block: int
    M: Array

    @staticmethod
    def of(robot: Robot, body: str | None = None) -> LoadPlace:
        """The place of a body, the last link's when None; errors as `place_of_body`."""
        link, placement = place_of_body(robot, body)
        M = np.stack([inertia.moved(unit, placement) for unit in np.eye(SIZE)], axis=1)
        return LoadPlace(body or robot.links[link].name, link, robot.solid_links.index(link), M)

    @property
    def columns(self) -> slice:
        """The link's ten parameters among those of the model."""
        return slice(SIZE * self.block, SIZE * (self.block + 1))


@dataclass(frozen=True, eq=False)
class Session:
    """The factors of a log, or of several that were recorded alike.

    Attributes:
        factors: Its factors, over all standard parameters.
        loaded: Whether the robot carried the load.
        lasting: How many times larger than those of white errors the variances of estimates are, for each row.
        name: What it is called.
    """

    factors: Factors
    loaded: bool
    lasting: Mapping[str, float] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, eq=False)
class LoadFit:
    """A load, as the data alone have it.

    Attributes:
        R: Triangle of the load's ten parameters once the robot's are free, in standard deviations, shape (10, 10).
        z: Right-hand side, shape (10,).
        squares: Squared errors of all rows, in standard deviations.
        freedom: Rows, counted as independent ones, less parameters.
        robot: Base parameters of the robot and changes of friction, by name.
        stds: Standard deviations of each log's rows [N m or N], by joint.
        rows: Rows of each log, counted as independent ones, by joint.
    """

    R: Array
    z: Array
    squares: float
    freedom: int
    robot: Mapping[str, float]
    stds: tuple[Mapping[str, float], ...]
    rows: tuple[Mapping[str, float], ...]

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        return tuple(np.asarray(x) for x in np.linalg.svd(self.R * SIZES))  # type: ignore[return-value]

    @cached_property
    def effective(self) -> Flags:
        """Which singular directions have an effect, shape (10,)."""
        sizes = self._parts[1]
        return sizes > THRESHOLDS.rank * max(float(sizes[0]), 1e-300)

    @cached_property
    def parameters(self) -> Array:
        """The ten parameters; the smallest where several fit alike, shape (10,)."""
        U, sizes, V = self._parts
        inverse = np.where(self.effective, 1.0 / np.where(self.effective, sizes, 1.0), 0.0)
        return SIZES * (V.T @ (inverse * (U.T @ self.z)))

    @cached_property
    def covariance(self) -> Array:
        """Their covariance, without what has no effect, shape (10, 10)."""
        _, sizes, V = self._parts
        inverse = np.where(self.effective, 1.0 / np.where(self.effective, sizes, 1.0), 0.0)
        root = SIZES[:, None] * V.T * inverse
        return root @ root.T

    @cached_property
    def determined(self) -> Flags:
        """Which of the ten parameters the data determine at all, shape (10,)."""
        null = self._parts[2][~self.effective]
        return np.asarray(np.linalg.norm(null, axis=0) < 1e-6)


@dataclass(frozen=True, eq=False)
class LoadProblem:
    """A load on a robot, both unknown.

    Attributes:
        base: The base parameters of the robot.
        place: Where the load is.
        sessions: The logs.
        changes: Names of standard parameters, such as those of friction, that may be others in logs with the load.
        gains: Relative standard deviations of torque constants, by joint: all torques of a joint are wrong by the same
            share, in all logs.
    """

    base: BaseParameters
    place: LoadPlace
    sessions: tuple[Session, ...]
    changes: tuple[str, ...] = ()
    gains: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All unknowns: base parameters, changes, and the ten of the load."""
        return (*self.base.names, *(f"change of {name}" for name in self.changes), *(f"load {name}" for name in LOAD))

    @cached_property
    def _factors(self) -> list[dict[str, Factor]]:
        """For each log and each row, the factor of all unknowns."""
        return [{joint: self._of(session, each) for joint, each in _rows(session)} for session in self.sessions]

    def _of(self, session: Session, factor: Factor) -> Factor:
        known = {name: value for name, value in self.base.known.items() if name in factor.names}
        shift = np.array([known.get(name, 0.0) for name in factor.names])
        C = np.zeros((len(factor.names), len(self.names)))
        position, column = ({name: k for k, name in enumerate(all_)} for all_ in (factor.names, self.names))
        for name in self.base.names:
            if name in position:
                C[position[name], column[name]] = 1.0
        if session.loaded:
            for name in self.changes:
                if name in position:
                    C[position[name], column[f"change of {name}"]] = 1.0
            own = self.base.model.names[self.place.columns]
            for k, name in enumerate(own):
                if name in position:
                    C[position[name], -SIZE:] = self.place.M[k]
        return replace(factor, z=factor.z - factor.R @ shift).combined(self.names, C)

    @property
    def _lasting(self) -> list[Mapping[str, float]]:
        return [session.lasting for session in self.sessions]

    @property
    def log_rows(self) -> tuple[LogRows, Lasting]:
        """The factors of all unknowns of each log and row, and how long errors last there."""
        return self._factors, self._lasting

    def fit(self) -> LoadFit:
        """The load, with rows weighed by their errors.

        Gains make the problem nonlinear, `y = (1 + g) W x`: the products are linear around the solution before.
        """
        fit = fit_of(self._factors, self._lasting, self.names)
        if not self.gains:
            return fit
        names = (*self.names[:-SIZE], *(f"gain of {joint}" for joint in self.gains), *self.names[-SIZE:])
        prior = np.zeros((len(self.gains), len(names)))
        for k, (joint, std) in enumerate(self.gains.items()):
            prior[k, names.index(f"gain of {joint}")] = 1.0 / std
        known = Factor.of(names, prior, np.zeros(len(prior)))
        for _ in range(GAIN_STEPS):
            x = np.array([*(fit.robot[name] for name in self.names[:-SIZE]), *fit.parameters])
            logs = [{joint: _with_gain(each, joint, x, names) for joint, each in log.items()} for log in self._factors]
            fit = fit_of(logs, self._lasting, names, known)
        return fit

    def standard_parameters(self, fit: LoadFit, loaded: bool) -> Array:
        """Standard parameters with which the model predicts logs with or without the load, shape (parameters,)."""
        p = self.base.to_standard(np.array([fit.robot[name] for name in self.base.names]))
        if loaded:
            p[self.place.columns] += self.place.M @ fit.parameters
            for name in self.changes:
                p[self.base.model.names.index(name)] += fit.robot[f"change of {name}"]
        return p


GAIN_STEPS = 3
"""Times that products of gains and parameters are made linear; gains are right to some percent, and two would do."""


def _with_gain(factor: Factor, joint: str, x: Array, names: tuple[str, ...]) -> Factor:
    """The factor with a column for the gain of its joint, at a solution, shape (unknowns without gains,)."""
    R = np.zeros((len(factor.z), len(names)))
    R[:, : len(x) - SIZE], R[:, -SIZE:] = factor.R[:, :-SIZE], factor.R[:, -SIZE:]
    if (name := f"gain of {joint}") in names:
        R[:, names.index(name)] = factor.R @ x
    return replace(Factor.of(names, R, factor.z), squares=factor.squares, rows=factor.rows)


STEPS = 4
"""Times that rows are weighed by the errors that they had before; three change nothing more in four digits."""

LogRows = Sequence[Mapping[str, Factor]]
"""For each log and each kind of its rows, the factor of all unknowns; those of the load are the last ten."""

Lasting = Sequence[Mapping[str, float]]
"""For each log and each kind of its rows, how many times larger than those of white errors variances are."""


def fit_of(logs: LogRows, lasting: Lasting, names: Sequence[str], prior: Factor | None = None) -> LoadFit:
    """The load of factors, with rows weighed by their errors, log by log and row by row.

    Args:
        logs: The factors.
        lasting: How long errors last.
        names: All unknowns.
        prior: What is known of them beforehand, in standard deviations.
    """
    rows = [
        {joint: factor.rows / _lasts(lasting[k], joint) for joint, factor in each.items()}
        for k, each in enumerate(logs)
    ]
    total = sum(sum(each.values()) for each in rows)
    freedom = max(int(total) - len(names), 1)
    stds, x = [dict.fromkeys(each, 1.0) for each in logs], np.zeros(len(names))
    for _ in range(STEPS):
        whole = weighed(logs, lasting, stds, names, prior)
        x = np.asarray(np.linalg.lstsq(whole.R, whole.z, rcond=1e-12)[0], dtype=float)
        wider, before = total / freedom, stds
        stds = [{joint: _size_of_errors(factor, x, wider) for joint, factor in each.items()} for each in logs]
        if _alike(stds, before):
            break
    R, z, squares = _beyond(weighed(logs, lasting, stds, names, prior), SIZE)
    values = dict(zip(names[:-SIZE], x.tolist(), strict=False))
    return LoadFit(R, z, squares, freedom, values, tuple(stds), tuple(rows))


def _size_of_errors(factor: Factor, x: Array, wider: float) -> float:
    """Standard deviation of rows; never below what torques are trusted to."""
    errors, all_ = (factor.residual_squares(each) / factor.rows for each in (x, np.zeros_like(x)))
    return float(np.sqrt(max(wider * errors, SMALLEST_ERROR**2 * all_)))


def _alike(some: Sequence[Mapping[str, float]], others: Sequence[Mapping[str, float]]) -> bool:
    """Whether weights have settled."""
    pairs = zip(some, others, strict=True)
    return all(abs(one[joint] - other[joint]) <= 1e-4 * one[joint] for one, other in pairs for joint in one)


def lasting_of(errors: Array, starts: Sequence[int] = (0,)) -> float:
    """How many times larger than those of white errors the variances of estimates are.

    The integral of the autocorrelation, or that of an autoregression of first order where it is larger: parameters
    take the slow part of errors, so that the residual has less of it than the errors had.

    Args:
        errors: The errors, shape (samples,).
        starts: Where stretches of the errors begin.
    """
    if len(errors) < 8 or not np.any(errors):
        return 1.0
    rho = min(float(autocorrelation(errors, 2, starts)[-1]), 0.999)
    first_order = (1.0 + rho) / (1.0 - rho) if rho > 3.0 / np.sqrt(len(errors)) else 1.0
    return max(correlation_samples(errors, starts), first_order)


def _lasts(lasting: Mapping[str, float], joint: str) -> float:
    return max(lasting.get(joint, 1.0), 1.0)


def weighed(
    logs: LogRows,
    lasting: Lasting,
    stds: Sequence[Mapping[str, float]],
    names: Sequence[str],
    prior: Factor | None = None,
) -> Factor:
    """The factor of all rows in standard deviations; errors that last count as fewer."""
    floor = 1e-12 * max((std for each in stds for std in each.values()), default=1.0) or 1.0
    rows, squares, count = [np.zeros((0, len(names) + 1))], 0.0, 0
    for k, each in enumerate(logs):
        for joint, factor in each.items():
            weight = 1.0 / (max(stds[k][joint], floor) * np.sqrt(_lasts(lasting[k], joint)))
            rows.append(weight * np.column_stack([factor.R, factor.z]))
            squares += weight**2 * factor.squares
            count += factor.rows
    if prior is not None:
        rows.append(np.column_stack([prior.R, prior.z]))
    stacked = np.concatenate(rows)
    whole = Factor.of(names, stacked[:, :-1], stacked[:, -1])
    return replace(whole, squares=whole.squares + squares, rows=count)


def robot_part(logs: LogRows, lasting: Lasting, stds: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """All unknowns but those of the load, with standard deviations, by name; infinite where they are not determined."""
    names = next(iter(logs[0].values())).names
    whole = weighed(logs, lasting, stds, names)
    lengths = np.linalg.norm(whole.R, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    U, sizes, V = np.linalg.svd(whole.R / lengths, full_matrices=False)
    kept = sizes > 1e-10 * max(float(sizes[0]), 1e-300)
    root = V[kept].T / sizes[kept]
    x = root @ (U[:, kept].T @ whole.z) / lengths
    lost = np.linalg.norm(V[~kept], axis=0) > 1e-6 if (~kept).any() else np.zeros(len(names), dtype=bool)
    spread = np.where(lost, np.inf, np.linalg.norm(root, axis=1) / lengths)
    return {name: (float(x[k]), float(spread[k])) for k, name in enumerate(names[:-SIZE])}


def _rows(session: Session) -> list[tuple[str, Factor]]:
    return [(joint, factor) for joint, factor in session.factors.joints.items() if factor.rows]


def _beyond(whole: Factor, last: int) -> tuple[Array, Array, float]:
    """The factor of the last parameters once all others are free, which need not be determined."""
    A, own, c = whole.R[:, :-last], whole.R[:, -last:], whole.z
    lengths = np.linalg.norm(A, axis=0)
    U, sizes, _ = np.linalg.svd(A / np.where(lengths > 0.0, lengths, 1.0), full_matrices=False)
    U = U[:, sizes > 1e-10 * max(float(sizes[0]), 1e-300)]
    left = np.column_stack([own, c])
    left = left - U @ (U.T @ left)
    left = left - U @ (U.T @ left)  # twice is enough
    T = np.asarray(np.linalg.qr(np.vstack([left, np.zeros((last + 1, last + 1))]), mode="r"), dtype=float)
    R = T[:last, :last]
    R = np.where(np.linalg.norm(own, axis=0) > 0.0, R, 0.0)
    return R, T[:last, last], whole.squares + float(T[last, last] ** 2)


def changes_of_friction(problem: LoadProblem, names: Sequence[str]) -> tuple[str, ...]:
    """Which parameters of friction and offsets clearly differ between logs with and without the load.

    Args:
        problem: The problem, without changes.
        names: Standard parameters that may differ, of joints one after the other.
    """
    with_all = replace(problem, changes=tuple(names))
    whole = weighed(with_all._factors, with_all._lasting, with_all.fit().stds, with_all.names)
    first, count = len(problem.base.names), len(names)
    order = [*range(first), *range(first + count, len(whole.names)), *range(first, first + count)]
    turned = whole.select([whole.names[k] for k in order])
    R, z, _ = _beyond(turned, count)
    values, covariance = np.linalg.lstsq(R, z, rcond=1e-10)[0], np.linalg.pinv(R.T @ R, rcond=1e-14)
    owners = {parameter.name: parameter.owner for parameter in problem.base.model.parameters}
    found: list[str] = []
    for owner in dict.fromkeys(owners[name] for name in names):
        own = [k for k, name in enumerate(names) if owners[name] == owner]
        part = np.linalg.pinv(covariance[np.ix_(own, own)], rcond=1e-10)
        limit = chi_square_quantile(len(own), THRESHOLDS.change_chance / len({owners[n] for n in names}))
        if float(values[own] @ part @ values[own]) > limit:
            found += [names[k] for k in own]
    return tuple(found)


@dataclass(frozen=True)
class OtherLink:
    """A link that explains a load better than the stated one.

    Attributes:
        body: Name of the link.
        gain: Twice the logarithm of the likelihood that it gains.
        share: Share of the squared residual of the logs with the load that it takes away.
        mass: Mass of the load there [kg].
    """

    body: str
    gain: float
    share: float
    mass: float


def better_link(problem: LoadProblem, fit: LoadFit) -> OtherLink | None:
    """The link that explains the load best, where that is clearly not the stated one.

    Links are compared with the weights of the stated one first; the best of them then gets its own.
    """
    robot = problem.base.model.robot
    others = [
        replace(problem, place=LoadPlace.of(robot, robot.links[link].name))
        for link in robot.solid_links
        if link != problem.place.link
    ]
    if not others:
        return None
    best = min(others, key=lambda other: _squares(other, fit))
    if _squares(problem, fit) - _squares(best, fit) < THRESHOLDS.link_gain / 2.0:
        return None
    other = best.fit()
    gain = share = total = 0.0
    for k in (k for k, session in enumerate(problem.sessions) if session.loaded):
        for joint, std in fit.stds[k].items():
            ratio = (other.stds[k][joint] + 1e-300) / (std + 1e-300)
            gain -= 2.0 * fit.rows[k][joint] * float(np.log(ratio))
            share += fit.rows[k][joint] * (1.0 - ratio**2)
            total += fit.rows[k][joint]
    share /= max(total, 1.0)
    clear = gain > THRESHOLDS.link_gain and share > THRESHOLDS.link_share
    return OtherLink(best.place.body, gain, share, float(other.parameters[0])) if clear else None


def _squares(problem: LoadProblem, fit: LoadFit) -> float:
    """Squared errors, in standard deviations of another fit."""
    whole = weighed(problem._factors, problem._lasting, fit.stds, problem.names)
    return whole.residual_squares(whole.solve())
