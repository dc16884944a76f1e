"""Logged velocities beside the derivatives of positions: their scale, their delay, and what they do not share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing

SAMPLES = 60_000
"""Samples that are enough for a comparison."""

USABLE = 0.02
"""Error of scale, or delay in radians at the motion's bandwidth, up to which logged velocities are used."""

WRONG = 0.05
"""The same from which they are named as wrong."""

DIFFERENT = 0.2
"""Share of their root mean square that positions do not explain from which they are."""


@dataclass(frozen=True)
class Comparison:
    """The logged velocity of a joint as a multiple of the derivative of its position, some time later.

    Attributes:
        scale: The multiple.
        delay: The time [s].
        phase: The same in radians at the motion's bandwidth.
        rest: Share of its root mean square that is neither.
    """

    scale: float
    delay: float
    phase: float
    rest: float

    @property
    def is_usable(self) -> bool:
        """Whether it is the velocity of the joint, but for noise."""
        return abs(self.scale - 1.0) <= USABLE and abs(self.phase) <= USABLE

    @property
    def problem(self) -> str:
        """What is wrong with it, in a few words; empty where nothing is."""
        if self.rest > DIFFERENT:
            return f"{self.rest:.0%} of it not explained by positions"
        if abs(self.scale - 1.0) > WRONG:
            return f"{self.scale:.3g} times the derivative of positions"
        return f"{1e3 * self.delay:.2g} ms late" if abs(self.phase) > WRONG else ""


def compared(
    pieces: Sequence[Log], transmission: Transmission, cutoff: float, spectra: Spectra, rate: float
) -> dict[int, Comparison]:
    """Compare logged velocities of joints that move with their positions.

    Args:
        pieces: Pieces of the log with even samples.
        transmission: The drives between what was logged and the joints.
        cutoff: Cut-off frequency [Hz] of the comparison.
        spectra: Spectra of positions.
        rate: Sampling rate [Hz].

    Returns:
        The comparison of each joint, by its index; empty where no velocities were logged.
    """
    longest = max(pieces, key=len)[:SAMPLES]
    if longest.velocity is None or len(longest) < 64:
        return {}
    q, logged = transmission.joint_positions(longest.position), transmission.joint_velocities(longest.velocity)
    if cutoff < 0.45 * rate:
        q, logged = (signals.lowpass(x, rate, cutoff) for x in (q, logged))
    v, a = signals.eighth_order(q, rate), signals.eighth_order(q, rate, 2)
    trim = min(4 + round(rate / cutoff), len(q) // 8)
    logged, v, a = (signals.trimmed(x, trim) for x in (logged, v, a))
    return {
        joint: _comparison(logged[:, joint], v[:, joint], a[:, joint], spectra.bandwidth)
        for joint in np.flatnonzero(spectra.moves).tolist()
    }


def _comparison(logged: Array, v: Array, a: Array, bandwidth: float) -> Comparison:
    """To first order, a velocity d later is `v - d a`."""
    W = np.stack([v, a], axis=1)
    (scale, lead), *_ = np.linalg.lstsq(W, logged, rcond=None)
    size = float(np.sqrt(np.mean(logged**2)))
    if size == 0.0 or scale == 0.0:
        return Comparison(0.0, 0.0, 0.0, 0.0)
    rest = float(np.sqrt(np.mean((logged - W @ [scale, lead]) ** 2))) / size
    delay = -float(lead / scale)
    return Comparison(float(scale), delay, 2.0 * np.pi * bandwidth * delay, rest)


def findings_on_velocities(found: dict[int, Comparison], names: Sequence[str]) -> Iterator[Finding]:
    """A finding on logged velocities that are not the derivatives of positions."""
    joints = {names[joint]: each.problem for joint, each in found.items() if each.problem}
    if joints:
        yield Finding.of("velocities-disagree", "velocities", joints=joints)


def without_wrong_velocities(
    processing: Processing, free: frozenset[str], found: dict[int, Comparison]
) -> tuple[Processing, frozenset[str]]:
    """The processing, and what of it is still to be chosen: logged velocities that are not usable are no candidates."""
    if "velocity" not in free or all(each.is_usable for each in found.values()):
        return processing, free
    return processing.but(velocity="derived"), free - {"velocity"}
