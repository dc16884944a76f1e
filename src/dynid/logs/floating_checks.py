"""What is wrong with logs of a floating base: contacts missing, turned or shifted, poses that jump, feet that slip.

Gravity is known, and so, roughly, are the robot's masses: the wrench that its file needs on the logged motion shows in
which frame a sensor measured, and whether a contact is missing. Errors of a file, 15 % of masses and some centimetres
of centres of mass, are far below what is looked for here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.contacts import Contact
from dynid.logs.floating_body import FloatingBody, contact_torques
from dynid.logs.log import Log
from dynid.logs.processing.signals import median
from dynid.logs.quaternions import with_steady_signs
from dynid.model import Chunk, DynamicModel, Times, body_pose, link_pose
from dynid.robot import Robot


@dataclass(frozen=True)
class FloatingThresholds:
    """When a log of a floating base is said to be wrong.

    Shown by `tests/logs/test_floating_checks.py`: simulated robots whose files are 15 % off, with and without errors.
    """

    light: float = 0.7
    """Measured forces over those that the file's masses need below which a contact is said to be missing."""

    heavy: float = 1.5
    """The same above which forces are said to be too large."""

    turned: float = 10.0
    """Angle [degrees] by which a sensor's frame must be turned to be said so."""

    shifted: float = 0.1
    """Distance [m] by which the origin of a sensor's frame must be off: centres of mass of a file are off by less."""

    better: float = 0.6
    """Part of the difference from the file that remains when a frame is mended, below which that is the cause."""

    preference: float = 0.02
    """How much forces along one direction must be varied by others, relative to it, for turns about it to show."""

    lever: float = 0.2
    """Lever [m] by which torques are compared with forces: about the size of a sole. By judgement."""

    slip: float = 0.01
    """Distance [m] that two loaded contacts may move relative to each other: soles are a little soft."""

    loaded: float = 0.1
    """Share of the weight from which a contact is loaded."""

    jump: float = 10.0
    """Step of a pose beside those around it, in the largest usual ones (99 of 100), from which it jumps."""

    gap: float = 1.5
    """Step of time, in usual ones, across which a base may have moved by itself."""

    neighbours: int = 5
    """Steps of a pose whose median shows how it moves there: two of them may be wrong."""

    samples: int = 800
    """Samples that are compared with the file: some hundred show a turn or a shift."""

    jump_distance: float = 0.01
    """The same at least [m], and in radians for turns: below it, a jump does no harm."""


THRESHOLDS = FloatingThresholds()


def findings_on_floating(
    log: Log, body: FloatingBody, segments: Sequence[Chunk], times: Sequence[Times]
) -> Iterator[Finding]:
    """Findings on a log of a floating base.

    Args:
        log: The log.
        body: The robot.
        segments: Samples that were processed.
        times: Their stamps [s].
    """
    if not body.robot.has_floating_base:
        return
    yield from _on_jumps(log)
    found = _thinned(segments, times)
    if found is None:
        return
    q, v, a, time = found
    contacts = [
        one.changed(lambda w: np.column_stack([np.interp(time, log.time, column) for column in w.T]))
        for one in log.contacts or ()
    ]
    yield from _on_slips(log, body.robot, contacts, q)
    has_masses = all(body.robot.links[i].has_inertia for i in body.robot.solid_links)
    if (
        has_masses
        and all(one.wrench is not None and not one.is_in_part for one in contacts)
        and body.robot.gravity.any()
    ):
        needed = DynamicModel(body.robot).inverse_dynamics(q, v, a)[:, :6]
        yield from _on_wrenches(body.robot, contacts, q, needed)


def _thinned(segments: Sequence[Chunk], times: Sequence[Times]) -> tuple[Array, Array, Array, Array] | None:
    """Positions, velocities, accelerations and stamps of some samples, evenly spread; None where there is none."""
    step = max(1, sum(map(len, segments)) // THRESHOLDS.samples)
    parts = [
        (part.q[::step], part.v[::step], part.a[::step], np.asarray(stamps[:], dtype=float)[::step])
        for part, stamps in zip(segments, times, strict=True)
        if len(part)
    ]
    if not parts:
        return None
    q, v, a, time = (np.concatenate(each) for each in zip(*parts, strict=True))
    return q, v, a, time


def _on_jumps(log: Log) -> Iterator[Finding]:
    """A pose that jumps from one sample to the next, as motion capture does that swaps or loses markers."""
    if log.base_pose is None or len(log) < 10:
        return
    poses = with_steady_signs(log.base_pose)
    moved, gaps = np.diff(poses, axis=0), np.diff(log.time)
    apart = moved - median(moved, THRESHOLDS.neighbours)  # from how the base moves there
    apart[gaps > THRESHOLDS.gap * np.median(gaps)] = 0.0
    steps = {"m": np.linalg.norm(apart[:, :3], axis=1), "rad": 2.0 * np.linalg.norm(apart[:, 3:], axis=1)}
    for unit, step in steps.items():
        limit = max(THRESHOLDS.jump * float(np.quantile(step, 0.99)), THRESHOLDS.jump_distance)
        jumps = np.flatnonzero(step > limit)
        if len(jumps):
            at, size = float(log.time[jumps[0] + 1]), float(step[jumps].max())
            yield Finding.of("base-pose-jumps", "base_pose", count=len(jumps), at=at, size=size, unit=unit)
            return


def _on_slips(log: Log, robot: Robot, contacts: Sequence[Contact], q: Array) -> Iterator[Finding]:
    """Loaded contacts that move relative to the body that the log says to rest."""
    if not log.standing:
        return
    stance = log.standing[0]
    R, rest = body_pose(robot, stance.body, q)
    for contact in contacts:
        if contact.body == stance.body or contact.wrench is None:
            continue
        forces = np.linalg.norm(contact.wrench[:, :3], axis=1)
        loaded = forces > THRESHOLDS.loaded * max(float(forces.max()), 1e-9)
        _, at = body_pose(robot, contact.body, q)
        apart = np.einsum("sji,sj->si", R, at - rest)  # along the axes of the resting body
        moved = max((float(np.ptp(apart[run], axis=0).max()) for run in _runs(loaded)), default=0.0)
        if moved > THRESHOLDS.slip:
            values: dict[str, Any] = {"body": contact.body, "other": stance.body, "distance": moved}
            yield Finding.of("contact-slips", f"contact '{contact.body}'", **values)


def _runs(mask: NDArray[np.bool_]) -> Iterator[slice]:
    """Runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    yield from (slice(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True))


def _on_wrenches(robot: Robot, contacts: Sequence[Contact], q: Array, needed: Array) -> Iterator[Finding]:
    """What measured wrenches are beside those that the robot's file needs, both on its base.

    A total mass that is off does not count as a shift.
    """
    own = [contact_torques(robot, one, q)[:, :6] for one in contacts]
    measured = np.sum([np.zeros_like(needed), *own], axis=0)
    mass = float(sum(robot.links[i].parameters[0] for i in robot.solid_links))
    weight = mass * float(np.linalg.norm(robot.gravity))
    if np.sqrt(np.mean(np.sum(needed[:, :3] ** 2, axis=1))) < (1.0 - THRESHOLDS.light) * weight:
        return  # it falls or flies, and what little is needed says nothing
    wrenches = [np.asarray(one.wrench) for one in contacts]
    share = float(np.sum(measured[:, :3] * needed[:, :3]) / np.sum(needed[:, :3] ** 2))
    frames = [SensorFrame.of(robot, one, q) for one in contacts]
    lacking = [frame.seen(needed - (measured - part)) for frame, part in zip(frames, own, strict=True)]
    if share < -THRESHOLDS.light:
        yield Finding.of("contact-forces-turned-round", "contacts", share=share)
        return
    turns = [(*_turn(wrench, lack), one.body) for one, wrench, lack in zip(contacts, wrenches, lacking, strict=True)]
    left, angle, body = min((one for one in turns if one[1] > THRESHOLDS.turned), default=(1.0, 0.0, ""))
    if left < THRESHOLDS.better:
        yield Finding.of("contact-frame-turned", f"contact '{body}'", body=body, angle=angle, left=left)
        return
    if not THRESHOLDS.light < share < THRESHOLDS.heavy:
        code = "contact-forces-small" if share < 1.0 else "contact-forces-large"
        bodies = [one.body for one in contacts] or ["no contact"]
        yield Finding.of(code, "contacts", share=share, mass=mass, bodies=bodies)
        return
    lacking = [frame.seen(share * needed - (measured - part)) for frame, part in zip(frames, own, strict=True)]
    shifts = [
        (*_shift(wrench, lack), one.body)
        for one, wrench, lack in zip(contacts, wrenches, lacking, strict=True)
        if wrench[:, 3:].any()  # feet that are points have no torques
    ]
    far = [(left, vector, body) for left, vector, body in shifts if np.linalg.norm(vector) > THRESHOLDS.shifted]
    left, vector, body = min(far, key=lambda one: one[0], default=(1.0, np.zeros(3), ""))
    if left < THRESHOLDS.better:
        distance, shift = float(np.linalg.norm(vector)), [f"{x:+.3f}" for x in vector]
        values = {"body": body, "distance": distance, "shift": shift, "left": left}
        yield Finding.of("contact-origin-shifted", f"contact '{body}'", **values)


@dataclass(frozen=True, eq=False)
class SensorFrame:
    """The frame of a contact's sensor, seen from the base.

    Attributes:
        rotation: Its axes, shape (samples, 3, 3).
        origin: Its origin [m], shape (samples, 3).
    """

    rotation: Array
    origin: Array

    @staticmethod
    def of(robot: Robot, contact: Contact, q: Array) -> SensorFrame:
        """The frame of the body, or of a plate in the world."""
        base, at = link_pose(robot, 0, q)
        if contact.pose is not None:
            R, p = np.broadcast_to(contact.pose[:3, :3], (len(q), 3, 3)), contact.pose[:3, 3]
        else:
            R, p = body_pose(robot, contact.body, q)
        back = base.transpose(0, 2, 1)
        return SensorFrame(back @ R, np.einsum("sij,sj->si", back, p - at))

    def seen(self, wrench: Array) -> Array:
        """A wrench on the base, as the sensor would measure it, both of shape (samples, 6)."""
        force, moment = wrench[:, :3], wrench[:, 3:] - np.cross(self.origin, wrench[:, :3])
        return np.hstack([np.einsum("sji,sj->si", self.rotation, part) for part in (force, moment)])


def _turn(measured: Array, needed: Array) -> tuple[float, float]:
    """The turn that brings a measured wrench nearest to the needed one: what is left of the difference, and its angle.

    Where forces and torques hardly vary in direction, turns about it do not show: the identity is preferred. The angle
    is in degrees.
    """
    needed, measured = (np.vstack([w[:, :3], w[:, 3:] / THRESHOLDS.lever]) for w in (needed, measured))
    H = needed.T @ measured
    sizes = np.linalg.svd(H, compute_uv=False)
    U, _, V = np.linalg.svd(H + THRESHOLDS.preference * sizes[0] * np.eye(3))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V
    angle = float(np.degrees(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0))))
    before, after = np.linalg.norm(needed - measured), np.linalg.norm(needed - measured @ R.T)
    return float(after / before) if before else 1.0, angle


def _shift(measured: Array, needed: Array) -> tuple[float, Array]:
    """Where the origin of a sensor is by its torques: what is left of the difference, and the vector [m]."""
    force, lack = measured[:, :3], needed[:, 3:] - measured[:, 3:]
    x, y, z = force.T
    zero = np.zeros_like(x)
    # d x f = A d
    A = np.stack([zero, z, -y, -z, zero, x, y, -x, zero], axis=1).reshape(-1, 3)
    ridge = THRESHOLDS.preference * np.linalg.norm(A) * np.eye(3)
    vector = np.linalg.lstsq(np.vstack([A, ridge]), np.append(lack.ravel(), np.zeros(3)), rcond=None)[0]
    before, after = np.linalg.norm(lack), np.linalg.norm(lack.ravel() - A @ vector)
    return float(after / before) if before else 1.0, np.asarray(vector, dtype=float)
