"""Power densities of signals by Welch's method: spectra of half-overlapping windows, averaged.

The same numbers as `scipy.signal.welch`, without `scipy.signal`, whose import takes most of a second, and five times as
fast for windows without slope: a straight line is two products, and needs no least squares for each window.
"""

import numpy as np

from dynid.arrays import Array
from dynid.machine import parallel

BATCH_NUMBERS = 500_000
"""Numbers that are transformed at once, so that memory does not grow with the log."""


def power_density(x: Array, rate: float, size: int, *, with_slope: bool = True) -> tuple[Array, Array]:
    """Power densities of signals, averaged over half-overlapping Hann windows.

    Args:
        x: Signals, shape (samples, n).
        rate: Sampling rate [Hz].
        size: Samples of a window, at most as many as there are.
        with_slope: Whether a straight line is taken off each window; else only its mean is.

    Returns:
        Frequencies [Hz], shape (size // 2 + 1,), and power densities [1/Hz times the squared unit of x], shape
        (size // 2 + 1, n).
    """
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    slope = np.arange(size) - 0.5 * (size - 1)
    slope = slope / (np.linalg.norm(slope) or 1.0)
    step = size - size // 2
    firsts = np.arange(0, len(x) - size + 1, step)
    power = np.zeros((size // 2 + 1, x.shape[1]))
    batch = max(1, BATCH_NUMBERS // size)

    def work(k: int) -> None:
        signal = np.ascontiguousarray(x[:, k])
        windows = np.lib.stride_tricks.sliding_window_view(signal, size)
        for begin in range(0, len(firsts), batch):
            pieces = windows[firsts[begin : begin + batch]]
            pieces = pieces - pieces.mean(axis=1, keepdims=True)
            if with_slope:
                pieces -= np.outer(pieces @ slope, slope)
            spectra = np.fft.rfft(pieces * window)
            power[:, k] += np.sum(spectra.real**2 + spectra.imag**2, axis=0)

    parallel(work, range(x.shape[1]))
    power *= 2.0 / (len(firsts) * rate * float(window @ window))
    power[0] /= 2.0  # a constant, and half of the rate, have no mirror image
    if size % 2 == 0:
        power[-1] /= 2.0
    return np.arange(size // 2 + 1, dtype=float) * (rate / size), power
