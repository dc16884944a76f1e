"""Signs of drives that are not stated.

A current of the wrong sign spoils the fit of every joint that shares parameters with its own. With the torque of drive
m alone as right-hand side, `y = sum of s_m y_m`, what the best fit explains of y is a quadratic form `s' C s` in the
signs s; all of them are tried, or flips from several beginnings where there are many. Signs that fit as well as the
best, to within what noise explains, are told apart by friction, which brakes, and by masses, which weigh: these also
decide between all signs and all of them flipped, which always fit alike.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.physical.constraints import quadratic_forms
from dynid.model import BaseParameters, Role, random_states

ALL = 14
"""Up to this number of drives, all combinations of signs are tried."""

BEGINNINGS = 200
"""Random beginnings of flips where there are more."""


@dataclass(frozen=True)
class SignThresholds:
    """When signs of drives are decided.

    By judgement where a field does not state otherwise.
    """

    as_good: float = 30.0
    """Growth of the unexplained squares, in their variance per effective sample, up to which other signs fit as well as
    the best: five standard deviations, and some more for errors of the model."""

    margin: float = 0.005
    """The same relative to the unexplained squares, however many samples there are: errors of the model do not average
    out."""

    braking: float = 3.0
    """Standard deviations by which friction of a joint must drive, instead of brake, to exclude signs."""

    likely: float = 9.0
    """Twice the logarithm of the likelihood by which other signs must be less likely for a sign to be clear."""

    candidates: int = 64
    """Most signs that are looked at with their friction."""

    per_parameter: float = 8.0
    """Effective samples per parameter below which a log is too short to decide. On logs of 1 to 20 s of three robots
    with 2 and 10 % noise, all signs that were wrong and not named as unclear came from logs with fewer."""

    mirrored: float = 0.2
    """Mean sign of what must be positive above which signs are distinguished from all of them flipped."""


SIGNS = SignThresholds()


@dataclass(frozen=True, eq=False)
class DriveSigns:
    """Signs of drives, and how clear each is.

    Attributes:
        signs: +1 or -1 for each drive, shape (drives,).
        margins: By what share the unexplained squares grow when this sign alone is flipped, shape (drives,).
        clear: Which signs are decided, shape (drives,).
        mirror_clear: Whether physics distinguishes these signs from all of them flipped.
        brakes: Whether the friction of every joint brakes, to within what noise explains.
        effective: Number of samples, counted as independent ones, per parameter.
    """

    signs: Array
    margins: Array
    clear: Flags
    mirror_clear: bool
    brakes: bool
    effective: float


@dataclass(frozen=True, eq=False)
class _Trial:
    """Signs with what speaks for them.

    Attributes:
        signs: The signs.
        growth: Growth of the unexplained squares over the best, in their variance per effective sample.
        friction: How much friction of each joint brakes, in standard deviations.
        score: What must be positive: its mean sign.
    """

    signs: Array
    growth: float
    friction: Array
    score: float

    @property
    def brakes(self) -> bool:
        return bool((self.friction > -SIGNS.braking).all())

    @property
    def cost(self) -> float:
        """Minus twice the logarithm of a likelihood; friction that drives, and masses that lift, cost."""
        drives = np.clip(self.friction, -1e6, 0.0)
        return self.growth + float(drives @ drives) + (0.0 if self.score >= 0.0 else -self.score)


@dataclass(frozen=True, eq=False)
class _Physics:
    """What fits of the same columns to torques say of friction and masses.

    Attributes:
        columns: Columns of the base parameters, shape (rows, base).
        base: The base parameters.
    """

    columns: Array
    base: BaseParameters

    @cached_property
    def _sizes(self) -> Array:
        return np.maximum(np.linalg.norm(self.columns, axis=0), 1e-300)

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Singular values and vectors of unit columns, without those that are zero."""
        U, s, Vt = np.linalg.svd(self.columns / self._sizes, full_matrices=False)
        kept = s > 1e-8 * s[0]
        return U[:, kept], s[kept], Vt[kept]

    @cached_property
    def _signed(self) -> dict[tuple[str, int], Array]:
        """By form and number of a joint, which base parameters cannot be negative together, shape (base,)."""
        return {
            (form, i): np.array([float(name in names) for name in self.base.names])
            for form, elements in quadratic_forms(self.base.model).items()
            for (i, j), names in elements.items()
            if i == j
        }

    @property
    def span(self) -> Array:
        """Orthonormal columns that span what the base parameters can do, shape (rows, rank)."""
        return self._parts[0]

    def effects(self, y: Array) -> Array:
        """Base parameters of a fit to torques, each as the size of torque that it explains with its sign."""
        U, s, Vt = self._parts
        return Vt.T @ ((U.T @ y) / s)

    def braking(self, effects: Array, variance: float) -> Array:
        """How much friction of each joint brakes, in standard deviations of variance per row; negative if it drives."""
        _, s, Vt = self._parts
        found = []
        for joint in self.base.model.robot.independent_joints:
            own = [c for (form, i), c in self._signed.items() if i == joint.number and form != Role.ARMATURE]
            c = np.sum(own, axis=0) if own else np.zeros(len(effects))
            std = np.sqrt(variance) * float(np.linalg.norm((Vt @ c) / s))
            found.append(float(c @ effects) / std if std > 0.0 else 0.0)
        return np.array(found)

    def score(self, effects: Array) -> float:
        """Mean sign, between -1 and 1, of all that must be positive: friction, motor inertia, the diagonal of M."""
        votes = np.array([c @ effects for c in self._signed.values()])
        q, _, _ = random_states(self.base.model, 20, np.random.default_rng(0))
        M = self.base.model.mass_matrices(q, self.base.to_standard(effects / self._sizes))
        diagonal = np.einsum("kii->ki", M).mean(axis=0)
        weights = np.abs(diagonal) / max(np.abs(diagonal).max(), 1e-300)
        inertia = float(np.sum(np.sign(diagonal) * weights) / np.sum(weights))
        friction = float(votes.sum() / np.abs(votes).sum()) if votes.any() else 0.0
        return 0.5 * (inertia + friction)


def drive_signs(of_drives: Sequence[Factors], base: BaseParameters, correlation: float = 1.0) -> DriveSigns:
    """Find the signs of drives.

    Args:
        of_drives: For each drive, the factors of the log with the torques of that drive alone.
        base: The base parameters.
        correlation: Number of samples that count as one, because errors are autocorrelated.
    """
    joints = list(of_drives[0].joints)
    scale = {joint: _scale([factors.joints[joint] for factors in of_drives]) for joint in joints}
    stacked = [factors.weighted(scale) for factors in of_drives]
    blocks = np.concatenate([_columns(stacked[0].joints[joint], base) for joint in joints])
    y = np.stack([np.concatenate([log.joints[joint].z for joint in joints]) for log in stacked], axis=1)
    physics = _Physics(blocks, base)
    Q = physics.span
    C = (Q.T @ y).T @ (Q.T @ y)
    total = y.T @ y + np.diag([sum(log.joints[joint].squares for joint in joints) for log in stacked])
    loss = total - C
    rows = sum(of_drives[0].joints[joint].rows for joint in joints)
    freedom = max(rows / correlation - Q.shape[1], 1.0)
    tried, least = _tried(loss, freedom, correlation / max(rows, 1), physics, y)
    best = min(tried, key=lambda trial: (not trial.brakes, trial.cost))
    rivals = [trial.signs for trial in tried if trial.brakes and trial.cost < best.cost + SIGNS.likely]
    mirrored = any((signs == -best.signs).all() for signs in rivals) and abs(best.score) <= SIGNS.mirrored
    # Whether all are flipped is a question of its own: joints are unclear where they differ beside it.
    apart = [signs * best.signs for signs in rivals if not (signs == -best.signs).all()]
    clear = np.ones(len(loss), dtype=bool)
    for each in apart:
        clear &= each > 0.0
    flipped = np.array([_flip(best.signs, k) @ loss @ _flip(best.signs, k) for k in range(len(loss))])
    return DriveSigns(best.signs, flipped / least - 1.0, clear, not mirrored, best.brakes, freedom / Q.shape[1])


def _tried(loss: Array, freedom: float, share: float, physics: _Physics, y: Array) -> tuple[list[_Trial], float]:
    """Signs that fit as well as the best, and all of them flipped, with what physics says; and the smallest loss.

    Args:
        loss: What fits leave of squares, a quadratic form in the signs, shape (drives, drives).
        freedom: Effective samples less parameters.
        share: Part of a loss that is the variance of one effective sample.
        physics: What fits say of friction and masses.
        y: Torques of each drive alone, shape (rows, drives).
    """
    signs = _candidates(loss)
    losses = np.einsum("ki,ij,kj->k", signs, loss, signs)
    order = np.argsort(losses)[: SIGNS.candidates]
    least = max(float(losses[order[0]]), 1e-12 * float(np.trace(loss)), 1e-300)
    growth = (losses[order] / least - 1.0) * freedom
    as_good = (growth <= SIGNS.as_good) | (losses[order] / least - 1.0 <= SIGNS.margin)
    found = []
    for k in np.flatnonzero(as_good):
        s = signs[order[k]]
        effects = physics.effects(y @ s)
        friction = physics.braking(effects, share * max(float(losses[order[k]]), least))
        score = physics.score(effects)
        found += [_Trial(side * s, float(growth[k]), side * friction, side * score) for side in (1.0, -1.0)]
    return found, least


def _scale(factors: Sequence[Factor]) -> float:
    """One over the standard deviation of the residual of a joint's own columns."""
    squares = sum(factor.squares for factor in factors)
    size = sum(float(factor.z @ factor.z) for factor in factors)
    rows = max(factors[0].rows, 1)
    return 1.0 / max(np.sqrt(max(squares, 1e-8 * size) / rows), 1e-300) if squares + size > 0.0 else 0.0


def _columns(factor: Factor, base: BaseParameters) -> Array:
    """Columns of base parameters of a factor, shape (k, base)."""
    place = {name: k for k, name in enumerate(factor.names)}
    columns = np.zeros((len(factor.z), len(base.names)))
    for k, name in enumerate(base.names):
        if name in place:
            columns[:, k] = factor.R[:, place[name]]
    return columns


def _flip(signs: Array, k: int) -> Array:
    other = signs.copy()
    other[k] = -other[k]
    return other


def _candidates(loss: Array) -> Array:
    """Signs to try, shape (candidates, drives): all with +1 for the first drive, or those that flips lead to."""
    n = len(loss)
    if n <= ALL:
        rest = np.array(list(itertools.product((1.0, -1.0), repeat=n - 1))).reshape(2 ** (n - 1), n - 1)
        return np.column_stack([np.ones(len(rest)), rest])
    rng = np.random.default_rng(0)
    found = [_descended(np.where(rng.random(n) < 0.5, 1.0, -1.0), loss) for _ in range(BEGINNINGS)]
    best = min(found, key=lambda signs: float(signs @ loss @ signs))
    near = [best, *(_flip(best, k) for k in range(n))]
    return np.unique([signs * signs[0] for signs in (*found, *near)], axis=0)


def _descended(signs: Array, loss: Array) -> Array:
    while True:
        change = -4.0 * signs * (loss @ signs) + 4.0 * np.diag(loss)
        k = int(np.argmin(change))
        if change[k] >= -1e-12 * np.trace(loss):
            return signs
        signs = _flip(signs, k)
