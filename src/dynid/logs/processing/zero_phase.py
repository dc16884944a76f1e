"""Low-pass filters that run forwards and backwards, so that nothing is delayed.

The same as `scipy.signal.sosfiltfilt`, without `scipy.signal`: that takes as long to import as a log takes to identify.
Long signals are filtered by a compiled kernel, all signals of a sample at once; short ones, or where nothing can be
compiled, by SciPy.
"""

import logging
from functools import cache
from types import ModuleType

import numpy as np

from dynid.arrays import Array, frozen
from dynid.machine import cores, parallel
from dynid.model import kernel_for

logger = logging.getLogger(__name__)

TILE = 16
"""Signals that are filtered together: enough for vector instructions, and their state stays in the first cache."""


def zero_phase(sections: Array, x: Array, padding: int) -> Array:
    """Filter signals forwards and backwards.

    Args:
        sections: Second-order sections b0, b1, b2, 1, a1, a2, shape (sections, 6).
        x: Signals, shape (samples, n).
        padding: Samples that are added at each end, by reflection about the end's point; fewer than x has.

    Returns:
        Array of the same shape.
    """
    compiled = _compiled(len(x))
    if compiled is None:
        from scipy.signal import sosfiltfilt

        return np.asarray(sosfiltfilt(sections.copy(), x, axis=0, padtype="odd", padlen=padding))
    coefficients, at_rest = sections[:, [0, 1, 2, 4, 5]], steady_state(sections)
    tile = max(1, min(TILE, -(-x.shape[1] // cores())))
    filtered = np.empty(x.shape)

    def work(first: int) -> None:
        signals = x[:, first : first + tile]
        ends = 2.0 * signals[0] - signals[padding:0:-1], 2.0 * signals[-1] - signals[-2 : -padding - 2 : -1]
        padded = np.concatenate([ends[0], signals, ends[1]])
        compiled.run(coefficients, at_rest[:, :, None] * padded[0], padded, 0, len(padded), 1)
        compiled.run(coefficients, at_rest[:, :, None] * padded[-1], padded, len(padded) - 1, -1, -1)
        filtered[:, first : first + tile] = padded[padding : len(padded) - padding]

    parallel(work, range(0, x.shape[1], tile))
    return filtered


def steady_state(sections: Array) -> Array:
    """What each section remembers of a signal that always was one, shape (sections, 2)."""
    state, level = np.empty((len(sections), 2)), 1.0
    for k, (b0, b1, b2, _, a1, a2) in enumerate(sections):
        gain = (b0 + b1 + b2) / (1.0 + a1 + a2)
        state[k] = (gain - b0) * level, (b2 - a2 * gain) * level
        level *= gain
    return state


FORGOTTEN = 1e-17
"""Part of a signal's end that a filter may still remember where it counts as forgotten: less than rounding."""


def memory(sections: Array) -> int:
    """After how many samples a filter has forgotten how a signal began."""
    a1, a2 = sections[:, 4].astype(complex), sections[:, 5]
    root = np.sqrt(a1**2 - 4.0 * a2)
    slowest = float(np.abs(np.stack([-a1 + root, -a1 - root]) / 2.0).max())
    return int(np.ceil(np.log(FORGOTTEN) / np.log(slowest))) if 0.0 < slowest < 1.0 else 1


@cache
def butterworth(order: int, cutoff: float) -> Array:
    """Second-order sections of a Butterworth low-pass.

    Args:
        order: Its order.
        cutoff: Frequency where it has 3 dB, relative to half of the sampling rate.

    Returns:
        Array of shape (sections, 6); the filter is that of `scipy.signal.butter`.
    """
    return _lowpass(-np.exp(1j * _angles(order)), 1.0, cutoff)


@cache
def chebyshev(order: int, ripple: float, cutoff: float) -> Array:
    """Second-order sections of a Chebyshev low-pass of the first kind.

    Args:
        order: Its order.
        ripple: By how much its gain varies below the cut-off [dB].
        cutoff: Where it leaves that band, relative to half of the sampling rate.

    Returns:
        Array of shape (sections, 6); the filter is that of `scipy.signal.cheby1`.
    """
    excess = np.sqrt(10.0 ** (0.1 * ripple) - 1.0)
    poles = -np.sinh(np.arcsinh(1.0 / excess) / order + 1j * _angles(order))
    return _lowpass(poles, 1.0 if order % 2 else 1.0 / np.sqrt(1.0 + excess**2), cutoff)


def _angles(order: int) -> Array:
    """Where the poles of an analogue Butterworth filter lie on the unit circle, from the negative real axis [rad]."""
    return 0.5 * np.pi * np.arange(1 - order, order, 2) / order


def _lowpass(poles: np.ndarray, level: float, cutoff: float) -> Array:
    """Sections of a low-pass from the poles of the analogue filter with cut-off 1, by the bilinear transform.

    Args:
        poles: The poles, in order of their imaginary parts; shape (order,).
        level: Gain for constant signals.
        cutoff: Cut-off frequency, relative to half of the sampling rate.
    """
    scaled = np.tan(0.5 * np.pi * cutoff) * poles
    gain = level * float(np.prod(-scaled / (1.0 - scaled)).real)
    order = len(poles)
    upper = ((1.0 + scaled) / (1.0 - scaled))[order // 2 :]  # the others are conjugate to these
    sections = [[1.0, 2.0, 1.0, 1.0, -2.0 * p.real, abs(p) ** 2] for p in upper]
    if order % 2:
        sections[0] = [1.0, 1.0, 0.0, 1.0, -upper[0].real, 0.0]  # the real pole
    found = np.array(sections)
    found[0, :3] *= gain
    return frozen(found)


@cache
def _kernel() -> ModuleType:
    from dynid.logs.processing import compiled_sections
    from dynid.model.kernels.compiled import is_cached

    if not is_cached(compiled_sections.run):
        logger.warning("compiling the filter kernel: this happens once and takes a second")
    return compiled_sections


def _compiled(samples: int) -> ModuleType | None:
    """The compiled kernel, where so many samples are worth it and it can be had."""
    return None if kernel_for(samples) is None else _kernel()
