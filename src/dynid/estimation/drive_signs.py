"""Signs of drives that are not stated.

A current of the wrong sign spoils the fit of every joint that shares parameters with its own. With the torque of drive
m alone as right-hand side, `y = sum of s_m y_m`, what the best fit explains of y is a quadratic form `s' C s` in the
signs s; the best ones are found by trying them all, or by flips from several beginnings where there are many. All signs
flipped at once fit as well: of these two, the one with friction that brakes and masses that weigh is taken.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.physical.constraints import quadratic_forms
from dynid.findings import Finding
from dynid.logs import Drive, Log, PreparedLog, Processing, Transmission, averaged, prepare, processed, transmission_of
from dynid.model import BaseParameters, Chunk, Role, random_states

ALL = 14
"""Up to this number of drives, all combinations of signs are tried."""

BEGINNINGS = 200
"""Random beginnings of flips where there are more."""

CLEAR = 0.02
"""Share by which the unexplained part must grow when a sign is flipped, for the sign to be clear."""


@dataclass(frozen=True, eq=False)
class DriveSigns:
    """Signs of drives, and how clear each is.

    Attributes:
        signs: +1 or -1 for each drive, shape (drives,).
        margins: By what share the unexplained squares grow when this sign alone is flipped, shape (drives,).
        mirror_clear: Whether physics distinguishes these signs from all of them flipped.
    """

    signs: Array
    margins: Array
    mirror_clear: bool


def drive_signs(of_drives: Sequence[Factors], base: BaseParameters) -> DriveSigns:
    """Find the signs of drives.

    Args:
        of_drives: For each drive, the factors of the log with the torques of that drive alone.
        base: The base parameters.
    """
    joints = list(of_drives[0].joints)
    scale = {joint: _scale([factors.joints[joint] for factors in of_drives]) for joint in joints}
    stacked = [factors.weighted(scale) for factors in of_drives]
    blocks = np.concatenate([_columns(stacked[0].joints[joint], base) for joint in joints])
    y = np.stack([np.concatenate([log.joints[joint].z for joint in joints]) for log in stacked], axis=1)
    U, sizes, _ = np.linalg.svd(blocks / np.maximum(np.linalg.norm(blocks, axis=0), 1e-300), full_matrices=False)
    Q = U[:, sizes > 1e-8 * sizes[0]]
    C = (Q.T @ y).T @ (Q.T @ y)
    total = y.T @ y + np.diag([sum(log.joints[joint].squares for joint in joints) for log in stacked])
    loss = total - C
    signs = _best(loss)
    left = max(float(signs @ loss @ signs), 1e-300)
    flipped = np.array([_flip(signs, k) @ loss @ _flip(signs, k) for k in range(len(signs))])
    score = _physical_score(blocks, y @ signs, base)
    signs = signs if score >= 0.0 else -signs
    margins = flipped / left - 1.0
    for k in np.flatnonzero(margins < CLEAR).tolist():  # other joints do not tell; its own friction may
        signs = signs if _braking(blocks, y @ signs, base, k) >= 0.0 else _flip(signs, k)
    return DriveSigns(signs, margins, abs(score) > 0.2)


def _braking(columns: Array, y: Array, base: BaseParameters, drive: int) -> float:
    """How much the friction of a drive's own joint brakes; negative where it would drive."""
    joint = next(joint for joint in base.model.robot.independent_joints if joint.v.start <= drive < joint.v.stop)
    votes = _votes(columns, y, base)
    return sum(vote for (form, number), vote in votes.items() if number == joint.number and form != Role.ARMATURE)


def _votes(columns: Array, y: Array, base: BaseParameters) -> dict[tuple[str, int], float]:
    """By form and number of a joint, what cannot be negative, as the size of torque that it explains with its sign."""
    b = np.linalg.lstsq(columns, y, rcond=1e-8)[0]
    size = dict(zip(base.names, (np.linalg.norm(columns, axis=0) * b).tolist(), strict=True))
    return {
        (form, i): sum(size.get(name, 0.0) for name in names)
        for form, elements in quadratic_forms(base.model).items()
        for (i, j), names in elements.items()
        if i == j
    }


def _scale(factors: Sequence[Factor]) -> float:
    """One over the deviation of what a joint's own columns leave of its torques."""
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


def _best(loss: Array) -> Array:
    """Signs of the smallest loss; the first is +1."""
    n = len(loss)
    if n <= ALL:
        rest = np.array(list(itertools.product((1.0, -1.0), repeat=n - 1))).reshape(2 ** (n - 1), n - 1)
        signs = np.column_stack([np.ones(len(rest)), rest])
        return signs[int(np.argmin(np.einsum("ki,ij,kj->k", signs, loss, signs)))]
    rng = np.random.default_rng(0)
    found = [_descended(np.where(rng.random(n) < 0.5, 1.0, -1.0), loss) for _ in range(BEGINNINGS)]
    best = min(found, key=lambda signs: float(signs @ loss @ signs))
    return best * best[0]


def _descended(signs: Array, loss: Array) -> Array:
    while True:
        change = -4.0 * signs * (loss @ signs) + 4.0 * np.diag(loss)
        k = int(np.argmin(change))
        if change[k] >= -1e-12 * np.trace(loss):
            return signs
        signs = _flip(signs, k)


def _physical_score(columns: Array, y: Array, base: BaseParameters) -> float:
    """Mean sign, between -1 and 1, of what must be positive: friction, motor inertia, the mass matrix's diagonal."""
    b = np.asarray(np.linalg.lstsq(columns, y, rcond=1e-8)[0], dtype=float)
    votes = list(_votes(columns, y, base).values())
    q, _, _ = random_states(base.model, 20, np.random.default_rng(0))
    M = base.model.mass_matrices(q, base.to_standard(b))
    diagonal = np.einsum("kii->ki", M).mean(axis=0)
    weights = np.abs(diagonal) / max(np.abs(diagonal).max(), 1e-300)
    inertia = float(np.sum(np.sign(diagonal) * weights) / np.sum(weights))
    friction = float(np.sum(votes) / np.sum(np.abs(votes))) if votes and np.any(votes) else 0.0
    return 0.5 * (inertia + friction)


SAMPLES = 3000
"""Samples that suffice to find signs."""


def find_drive_signs(
    log: Log, base: BaseParameters, drive: Drive, processing: Processing
) -> tuple[Drive, tuple[Finding, ...]]:
    """A drive with the signs that a log shows, and how clear they are.

    Args:
        log: The log.
        base: The base parameters.
        drive: The drive, whose signs are not stated.
        processing: What is done to the signals.
    """
    ready = prepare(log, base.model, drive, processing)
    raw = log if processing.period is None else averaged(log, processing.period).log
    found = signs_in(raw, transmission_of(drive, base.model.robot), ready, base)
    signs = tuple(int(sign) for sign in found.signs)
    return drive.model_copy(update={"signs": signs}), findings_on_signs(found, ready, base)


def signs_in(log: Log, transmission: Transmission, ready: PreparedLog, base: BaseParameters) -> DriveSigns:
    """Find the signs of drives in a log.

    Args:
        log: The log.
        transmission: The drives, with signs that need not be right.
        ready: The same log, ready for the model: how its signals are processed.
        base: The base parameters.
    """
    plain = ready.processing.but(decimate=(), torque_lowpass=ready.processing.lowpass)
    factors = []
    for k in range(log.torque.shape[1]):
        alone = np.zeros_like(log.torque)
        alone[:, k] = log.torque[:, k]
        segments = processed(replace(log, torque=alone), transmission, plain, ready.delay)
        step = max(1, sum(map(len, segments)) // SAMPLES)
        factors.append(factorise(base.model, [_counted(segment[::step], ready, base) for segment in segments]))
    return drive_signs(factors, base)


def _counted(segment: Chunk, ready: PreparedLog, base: BaseParameters) -> Chunk:
    """A segment without the rows of unmeasured joints."""
    measured = np.array([name not in ready.processing.unmeasured for name in base.model.row_names])
    keep = np.broadcast_to(measured, segment.torque.shape)
    return replace(segment, keep=keep if segment.keep is None else keep & segment.keep)


def findings_on_signs(found: DriveSigns, ready: PreparedLog, base: BaseParameters) -> tuple[Finding, ...]:
    """Which signs were found, and which of them are not clear."""
    names = base.model.row_names
    silent = [name in ready.processing.unmeasured for name in names]
    unclear = [name for k, name in enumerate(names) if found.margins[k] < CLEAR or silent[k]]
    smallest = min((found.margins[k] for k, name in enumerate(names) if name not in unclear), default=0.0)
    signs = [int(sign) for sign in found.signs]
    notes = [Finding.of("drive-signs-found", "drive.signs", signs=signs, smallest=float(smallest))]
    if unclear:
        notes.append(Finding.of("drive-signs-unclear", "drive.signs", joints=unclear))
    if not found.mirror_clear:
        notes.append(Finding.of("drive-signs-mirrored", "drive.signs"))
    return tuple(notes)
