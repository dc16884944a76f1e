"""Torques without gravity: controllers often report torques from which the weight of the links was taken off.

The torques of a log are compared with those of gravity by the robot's file, along all three axes so that a wrong
direction is not taken for none, beside those of inertia, and of friction and an offset of each joint.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.model import Chunk, DynamicModel
from dynid.robot import Robot


@dataclass(frozen=True)
class GravityThresholds:
    """When torques are said to be without gravity.

    By judgement where a field does not state otherwise.
    """

    samples: int = 1500
    """Samples that are looked at."""

    missing: float = 0.2
    """Share of the file's gravity in the torques of all joints below which it is missing. With masses of the file wrong
    by 20 %, none of 126 simulated logs with gravity and none of 10 real ones (0.90 to 1.27) was accused, and 111 of 126
    without were; the others hardly show gravity, because they are too fast or move too little."""

    of_joint: float = 0.35
    """The same of each joint that carries weight: a balanced joint is no reason where others show their weight."""

    heavy: float = 0.1
    """Torque of gravity, relative to that of the joint that carries most, from which a joint carries weight."""

    stds: float = 3.0
    """Standard deviations, from the scatter between parts of the log, that are added to the shares."""

    matters: float = 0.15
    """Torque that the file's gravity would add, relative to the torques, below which nothing can be said."""

    inertia: tuple[float, float] = (0.4, 2.5)
    """Share of the file's inertial torques between which its masses are about right, so that gravity is surely
    missing; otherwise the masses of the file may be wrong instead."""

    blocks: int = 8
    """Parts of the log."""

    at_rest: float = 0.05
    """Torque at rest relative to that in motion below which it is none, where the file has no masses."""

    slow: float = 0.01
    """Speed, relative to the top speed of each joint, below which all joints rest."""

    resting: int = 50
    """Fewest samples at rest."""


GRAVITY = GravityThresholds()


@dataclass(frozen=True, eq=False)
class GravityShare:
    """How much of the torques by the file a log shows.

    Attributes:
        along: Share of gravity in the direction of the file.
        across: The same in the two directions across it, the larger one.
        std: Standard deviation of the former.
        inertia: Share of inertial torques; NaN where the motion is too slow to show it.
        joints: Share of gravity of each joint that carries weight, by name.
        size: Torque that gravity would add over the torques, both without what friction explains.
    """

    along: float
    across: float
    std: float
    inertia: float
    joints: dict[str, float]
    size: float

    @property
    def is_missing(self) -> bool:
        """Whether there is none."""
        if self.inertia < GRAVITY.inertia[0]:  # then all torques are small, or all masses of the file too large
            return False
        most = GRAVITY.missing - GRAVITY.stds * self.std
        alone = all(abs(share) < GRAVITY.of_joint for share in self.joints.values())
        return alone and abs(self.along) < most and self.across < GRAVITY.of_joint and self.size > GRAVITY.matters


def findings_on_gravity(
    model: DynamicModel, segments: Sequence[Chunk], unmeasured: Sequence[str] = ()
) -> Iterator[Finding]:
    """A finding where torques are without gravity, though the robot's links have weight.

    Args:
        model: The model.
        segments: Samples of a log on the side of the joints.
        unmeasured: Joints whose torques were not measured.
    """
    robot = model.robot
    names = [name for name in model.row_names if name not in unmeasured]
    if not np.linalg.norm(robot.gravity) or not names or sum(map(len, segments)) < GRAVITY.samples // 10:
        return
    if not all(robot.links[i].has_inertia for i in robot.solid_links):
        yield from _at_rest(model, segments, names)
        return
    found = gravity_share(model, segments, names)
    if found is not None and found.is_missing:
        high = GRAVITY.inertia[1]
        values = {"share": found.along, "std": found.std, "inertia": found.inertia, "size": found.size}
        severity = Severity.ERROR if found.inertia < high else None
        yield Finding.of("torque-without-gravity", "torques", severity, **values)


def gravity_share(model: DynamicModel, segments: Sequence[Chunk], names: Sequence[str]) -> GravityShare | None:
    """How much of the file's gravity the torques of some joints show; None where gravity acts on none of them."""
    q, v, a, torque = _some(segments)
    rows = [model.row_names.index(name) for name in names]
    columns = _columns(model.robot, q, v, a)[:, :, rows]
    y, C = _without_friction(torque[:, rows], columns, v[:, model.rows][:, rows])
    weight = np.sqrt((C[0] ** 2).mean(axis=0))  # which an offset does not explain
    if weight.max() <= 1e-6 * np.abs(columns[0]).max():
        return None
    heavy = weight > GRAVITY.heavy * weight.max()
    scale = 1.0 / np.maximum(np.sqrt((y**2).mean(axis=0)), 1e-300)
    shares, stds = _fitted(y * scale, C * scale)
    of_joints = {name: float(_fitted(y[:, [k]], C[:, :, [k]])[0][0]) for k, name in enumerate(names) if heavy[k]}
    size = float(np.sqrt((C[0] ** 2).sum() / max((y**2).sum(), 1e-300)))
    is_fast = stds[3] < 0.2
    return GravityShare(
        float(shares[0]),
        float(np.abs(shares[1:3]).max()),
        float(stds[0]),
        float(shares[3]) if is_fast else float("nan"),
        of_joints,
        size,
    )


def _some(segments: Sequence[Chunk]) -> tuple[Array, Array, Array, Array]:
    """Some samples, evenly spread: positions, velocities, accelerations and torques."""
    step = max(1, sum(map(len, segments)) // GRAVITY.samples)
    parts = [(s.q[::step], s.v[::step], s.a[::step], s.torque[::step]) for s in segments]
    q, v, a, torque = (np.concatenate(signals) for signals in zip(*parts, strict=True))
    return q, v, a, torque


def _columns(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """Torques by the file, shape (4, samples, joints): gravity along and across its direction, and inertia."""
    gravity = np.asarray(robot.gravity, dtype=float)
    across = np.linalg.svd(gravity[None])[2][1:] * np.linalg.norm(gravity)
    pulls = [DynamicModel(replace(robot, gravity=g)).inverse_dynamics(q) for g in (gravity, *across)]
    links = DynamicModel(robot)
    return np.stack([*pulls, links.inverse_dynamics(q, v, a) - pulls[0]])


def _without_friction(y: Array, C: Array, v: Array) -> tuple[Array, Array]:
    """Torques, shape (samples, joints), and columns, shape (4, samples, joints), without friction and offsets."""
    y, C = y.copy(), C.copy()
    for k in range(y.shape[1]):
        Q = np.linalg.qr(np.stack([v[:, k], np.sign(v[:, k]), np.ones(len(v))], axis=1))[0]
        y[:, k] -= Q @ (Q.T @ y[:, k])
        C[:, :, k] -= (C[:, :, k] @ Q) @ Q.T
    return y, C


def _fitted(y: Array, C: Array) -> tuple[Array, Array]:
    """Shares of the columns, and their standard deviations by the scatter between parts of the log."""
    squares = [
        (np.einsum("itj,ktj->ik", part, part), np.einsum("itj,tj->i", part, of_part))
        for part, of_part in zip(
            np.array_split(C, GRAVITY.blocks, axis=1), np.array_split(y, GRAVITY.blocks), strict=True
        )
    ]
    A, b = sum(s[0] for s in squares), sum(s[1] for s in squares)
    sizes = np.sqrt(np.maximum(np.diag(A), 1e-300))
    inverse = np.linalg.pinv(A / np.outer(sizes, sizes), rcond=1e-6) / np.outer(sizes, sizes)
    x = inverse @ b
    scatter = np.stack([inverse @ (b_k - A_k @ x) for A_k, b_k in squares])
    stds = np.sqrt(GRAVITY.blocks / (GRAVITY.blocks - 1) * (scatter**2).sum(axis=0))
    return x, stds


def _at_rest(model: DynamicModel, segments: Sequence[Chunk], names: Sequence[str]) -> Iterator[Finding]:
    """A note where torques at rest are zero, and the file has no masses to say that they should not be."""
    q, v, _, torque = _some(segments)
    still = (np.abs(v) <= GRAVITY.slow * np.quantile(np.abs(v), 0.99, axis=0)).all(axis=1)
    if still.sum() < GRAVITY.resting or still.mean() > 0.9:
        return
    rows = [row for row, name in enumerate(model.row_names) if name in names and _carries(model.robot, q[still], row)]
    if not rows:
        return
    rest, moving = (np.sqrt((torque[part][:, rows] ** 2).mean(axis=0)) for part in (still, ~still))
    ratio = float((rest / np.maximum(moving, 1e-300)).max())
    if ratio < GRAVITY.at_rest:
        joints = [model.row_names[row] for row in rows]
        yield Finding.of("torque-zero-at-rest", "torques", ratio=ratio, joints=joints)


def _carries(robot: Robot, q: Array, row: int) -> bool:
    """Whether gravity can act on a joint at all: bodies of any mass on its links would need torque."""
    step = max(1, len(q) // 20)
    W = DynamicModel(robot).regressor(q[::step], np.zeros_like(q[::step]), np.zeros_like(q[::step]))
    return bool(np.abs(W[row]).max() > 1e-6)
