"""Logged velocities beside the derivatives of positions: scale, sign, order, delay, and what they do not share.

Both are low-passed alike, a few bandwidths of the motion wide, where noise of positions is small beside the motion. To
first order, a velocity that is s times that of the joint and d late is `s v - s d a`; long delays are found in steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing

SAMPLES = 60_000
"""Samples that are enough for a comparison."""


@dataclass(frozen=True)
class VelocityThresholds:
    """When logged velocities are used, and when they are named as wrong.

    By judgement where a field does not state otherwise.
    """

    usable: float = 0.02
    """Error of scale, or delay in radians at the motion's bandwidth, up to which they are used: parameters of friction
    and inertia are wrong by about as much."""

    wrong: float = 0.05
    """The same from which they are named as wrong. On 200 simulated logs with right velocities of all kinds of noise,
    scales are within 0.002 and delays within 0.006; real ones of a Panda are 0.02 to 0.05 late (5 ms)."""

    different: float = 0.3
    """Share of their root mean square that positions do not explain from which they are something else."""

    swapped: float = 0.5
    """Part of the unexplained share that another joint's positions may leave where columns are swapped."""

    band: float = 4.0
    """Cut-off of the comparison, in bandwidths of the motion."""

    steps: int = 6
    """Corrections of a delay."""


VELOCITY = VelocityThresholds()

UNITS = {57.29578: "deg/s", 0.01745329: "rad/s beside positions in deg", 9.549297: "rpm", 0.1591549: "rev/s"}
"""Scales that are those of another unit."""


@dataclass(frozen=True)
class Comparison:
    """The logged velocity of a joint as a multiple of the derivative of its position, some time later.

    Attributes:
        scale: The multiple; noise of positions leaves it open between two values, of which it is the one nearer to 1.
        delay: The time [s].
        phase: The same in radians at the motion's bandwidth.
        rest: Share of its root mean square that is neither, nor noise of one of both.
        other: Index of the joint whose positions explain it instead; its own where none does.
    """

    scale: float
    delay: float
    phase: float
    rest: float
    other: int

    @property
    def is_usable(self) -> bool:
        """Whether it is the velocity of the joint, but for noise."""
        return abs(self.scale - 1.0) <= VELOCITY.usable and abs(self.phase) <= VELOCITY.usable


def compared(
    pieces: Sequence[Log], transmission: Transmission, cutoff: float, spectra: Spectra, rate: float
) -> dict[int, Comparison]:
    """Compare logged velocities of joints that move with their positions.

    Args:
        pieces: Pieces of the log with even samples.
        transmission: The drives between what was logged and the joints.
        cutoff: Highest cut-off frequency [Hz] of the comparison.
        spectra: Spectra of positions.
        rate: Sampling rate [Hz].

    Returns:
        The comparison of each joint, by its index; empty where no velocities were logged.
    """
    longest = max(pieces, key=len)[:SAMPLES]
    if longest.velocity is None or len(longest) < 64:
        return {}
    cutoff = min(cutoff, VELOCITY.band * spectra.bandwidth)
    q, logged = transmission.joint_positions(longest.position), transmission.joint_velocities(longest.velocity)
    if cutoff < 0.45 * rate:
        q, logged = (signals.lowpass(x, rate, cutoff) for x in (q, logged))
    v, a = signals.eighth_order(q, rate), signals.eighth_order(q, rate, 2)
    trim = min(4 + round(rate / cutoff), len(q) // 8)
    logged, v, a = (signals.trimmed(x, trim) for x in (logged, v, a))
    joints = np.flatnonzero(spectra.moves).tolist()

    def beside(joint: int, other: int) -> Comparison:
        return _comparison(logged[:, joint], v[:, other], a[:, other], spectra.bandwidth, rate, other)

    found = {}
    for joint in joints:
        own = beside(joint, joint)
        if own.rest > VELOCITY.different:
            best = min((beside(joint, k) for k in joints if k != joint), key=lambda one: one.rest, default=own)
            own = best if best.rest < min(VELOCITY.swapped * own.rest, VELOCITY.different) else own
        found[joint] = own
    return found


def _comparison(logged: Array, v: Array, a: Array, bandwidth: float, rate: float, joint: int) -> Comparison:
    """Scale and delay by least squares; a delay is taken off, and what remains of it is found again."""
    size = float(np.sqrt(np.mean(logged**2)))
    if size == 0.0 or not v.any():
        return Comparison(0.0, 0.0, 0.0, 0.0, joint)
    W, delay, inner, earlier = np.stack([v, a], axis=1), 0.0, slice(None), logged
    longest, scale, rest = 0.25 / bandwidth, 0.0, 0.0
    for _ in range(VELOCITY.steps):
        scale, lead = np.linalg.lstsq(W[inner], earlier[inner], rcond=None)[0].tolist()
        more = -lead / scale if scale else 0.0
        rest = float(np.sqrt(np.mean((earlier[inner] - W[inner] @ [scale, lead]) ** 2))) / size
        if abs(more) < 1e-3 / bandwidth or abs(delay + more) > longest:
            delay += more
            break
        delay += more
        cut = min(int(np.ceil(abs(delay) * rate)) + 1, len(v) // 4)
        inner, earlier = slice(cut, len(v) - cut), signals.delayed(logged, rate, -delay)
    nearest, agrees = _scale(v[inner], earlier[inner], scale)
    return Comparison(nearest, delay, 2.0 * np.pi * bandwidth * delay, 0.0 if agrees else rest, joint)


def _scale(v: Array, logged: Array, scale: float) -> tuple[float, bool]:
    """The scale nearest to one that noise in either signal leaves possible, and whether noise of one explains all."""
    cross = float(v @ logged)
    back = float(logged @ logged) / cross if cross else scale
    agrees = min(abs(scale - 1.0), abs(back - 1.0)) < VELOCITY.wrong
    return (float(np.clip(1.0, min(scale, back), max(scale, back))) if scale > 0.0 else scale), agrees


def findings_on_velocities(
    found: Mapping[int, Comparison], names: Sequence[str], processing: Processing, free: frozenset[str]
) -> Iterator[Finding]:
    """Findings on logged velocities that are not the derivatives of positions: errors where they are used.

    Args:
        found: The comparison of each joint that moves.
        names: Names of the joints.
        processing: What was stated about processing.
        free: What of it is chosen, so that wrong velocities are not used.
    """
    used = "velocity" not in free and processing.velocity != "derived"
    use = "they are used as stated" if used else "they are not used: positions are differentiated instead"
    severity = Severity.ERROR if used else None
    wrong: dict[str, dict[str, float | str]] = {}
    for joint, each in found.items():
        kind, figure = _problem(joint, each, names)
        if kind:
            wrong.setdefault(kind, {})[names[joint]] = figure
    for kind, joints in wrong.items():
        values = {"joints": joints, "use": use}
        if kind == "scaled":
            values["likely"] = _likely([float(factor) for factor in joints.values()])
        harmless = kind == "late" and not used
        yield Finding.of(f"velocities-{kind}", "velocities", Severity.NOTE if harmless else severity, **values)


def _problem(joint: int, found: Comparison, names: Sequence[str]) -> tuple[str, float | str]:
    """What is wrong with a joint's velocity, and its figure; nothing where it is right."""
    if found.other != joint:
        return "swapped", names[found.other]
    if found.rest > VELOCITY.different:
        return "disagree", found.rest
    if found.scale < 0.0:
        return "flipped", found.scale
    if abs(found.scale - 1.0) > VELOCITY.wrong:
        return "scaled", found.scale
    return ("late", 1e3 * found.delay) if abs(found.phase) > VELOCITY.wrong else ("", 0.0)


def _likely(factors: Sequence[float]) -> str:
    """The unit that scales are those of, as a question; another scale where they are of none."""
    for scale, unit in UNITS.items():
        if all(abs(factor / scale - 1.0) < 0.1 for factor in factors):
            return f"are they in {unit}?"
    return "is their scale or gear ratio another one?"


def without_wrong_velocities(
    processing: Processing, free: frozenset[str], found: Mapping[int, Comparison]
) -> tuple[Processing, frozenset[str]]:
    """The processing, and what of it is still to be chosen: logged velocities that are not usable are no candidates."""
    if "velocity" not in free or all(each.is_usable for each in found.values()):
        return processing, free
    return processing.but(velocity="derived"), free - {"velocity"}


def by_positions(processing: Processing, found: Mapping[int, Comparison]) -> Processing:
    """The processing for what is timed by positions: without velocities that are not usable, even if they are stated.

    Late velocities would make torques look early.
    """
    return processing if all(each.is_usable for each in found.values()) else processing.but(velocity="derived")
