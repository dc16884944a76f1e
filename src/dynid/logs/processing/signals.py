"""Signals: filters without delay, derivatives, decimation. All work along time, the first axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.logs.processing.zero_phase import butterworth, chebyshev, zero_phase


class TooShortError(DynidError):
    """A signal is shorter than what is to be done with it needs.

    Attributes:
        what: What was to be done.
        samples: How many samples there are.
        needed: How many it takes.
    """

    def __init__(self, what: str, samples: int, needed: int) -> None:
        self.what = what
        self.samples = samples
        self.needed = needed
        super().__init__(f"{what} needs at least {needed} samples, and there are {samples}; give a longer log")


def median(x: Array, width: int) -> Array:
    """Running median, which takes single outliers away.

    Args:
        x: Signals, shape (samples, n).
        width: Odd number of samples that a median is taken of; at the ends the first and last sample are repeated.

    Returns:
        Array of the same shape.
    """
    from scipy.ndimage import median_filter

    if width < 1 or width % 2 == 0:
        raise InvalidRequestError(f"the width of a median must be an odd number of samples such as 3, not {width}")
    if len(x) < width:
        raise TooShortError(f"a median of {width}", len(x), width)
    return median_filter(x, size=(width, 1), mode="nearest")


def lowpass(x: Array, rate: float, cutoff: float, order: int = 4) -> Array:
    """Butterworth low-pass run forwards and backwards, so that nothing is delayed.

    Args:
        x: Signals, shape (samples, n).
        rate: Sampling rate [Hz].
        cutoff: Frequency [Hz] where one run has 3 dB; both together have 6 dB.
        order: Order of one run.

    Returns:
        Array of the same shape.
    """
    if not 0.0 < cutoff < rate / 2:
        raise InvalidRequestError(
            f"the cut-off {cutoff:g} Hz must lie between 0 and half the sampling rate, {rate / 2:g} Hz"
        )
    needed = 3 * (order + 1) + 1
    if len(x) < needed:
        raise TooShortError(f"a low-pass of order {order}", len(x), needed)
    return zero_phase(butterworth(order, 2.0 * cutoff / rate), x, padding=needed - 1)


def central_difference(x: Array, rate: float) -> Array:
    """Rate of change by differences of neighbours, one-sided at the ends; shape as x, in units of x per second."""
    if len(x) < 3:
        raise TooShortError("a central difference", len(x), 3)
    step = 1.0 / rate
    found = np.empty(x.shape)
    np.subtract(x[2:], x[:-2], out=found[1:-1])
    found[1:-1] /= 2.0 * step
    found[0], found[-1] = (x[1] - x[0]) / step, (x[-1] - x[-2]) / step
    return found


EIGHTH_ORDER = {
    1: np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]),
    2: np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]),
}
"""Weights of nine neighbouring samples that make the first and the second derivative."""


def eighth_order(x: Array, rate: float, derivative: int = 1) -> Array:
    """Derivative by central differences of eighth order.

    At a tenth of the sampling rate it is exact to 4e-5, where differences of neighbours lose 6 % (12 % if taken twice).
    The four samples at each end are differences of neighbours.

    Args:
        x: Signals, shape (samples, n).
        rate: Sampling rate [Hz].
        derivative: Which derivative, 1 or 2.

    Returns:
        Array of the same shape, in units of x per second to the power of `derivative`.
    """
    if len(x) < 12:
        raise TooShortError("a difference of eighth order", len(x), 12)
    found = np.empty_like(x, dtype=float)
    inner = len(x) - 8
    found[4:-4] = sum(w * x[k : k + inner] for k, w in enumerate(EIGHTH_ORDER[derivative])) * rate**derivative
    for end in (slice(0, 12), slice(-12, None)):
        near = x[end]
        for _ in range(derivative):
            near = central_difference(near, rate)
        own = slice(0, 4) if end.start == 0 else slice(-4, None)
        found[own] = near[own]
    return found


def savitzky_golay(x: Array, rate: float, window: int, degree: int = 3, derivative: int = 1) -> Array:
    """Derivative of polynomials that are fitted to a sliding window.

    Args:
        x: Signals, shape (samples, n).
        rate: Sampling rate [Hz].
        window: Odd number of samples of the window.
        degree: Degree of the polynomials, below the window.
        derivative: Which derivative; 0 only smooths.

    Returns:
        Array of the same shape, in units of x per second to the power of `derivative`.
    """
    from scipy.signal import savgol_filter

    if derivative > degree:
        raise InvalidRequestError(f"polynomials of degree {degree} have no derivative of order {derivative}")
    if window % 2 == 0 or window <= degree:
        raise InvalidRequestError(
            f"a Savitzky-Golay window must be odd and longer than the degree {degree}, not {window}"
        )
    if len(x) < window:
        raise TooShortError(f"a Savitzky-Golay window of {window}", len(x), window)
    return np.asarray(savgol_filter(x, window, degree, deriv=derivative, delta=1.0 / rate, axis=0))


def smoothing_spline(x: Array, rate: float, noise: float | None = None) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of smoothing splines.

    Args:
        x: Signals, shape (samples, n).
        rate: Sampling rate [Hz].
        noise: Standard deviation of the noise in the units of x: the splines then leave so much. When None, the
            amount of smoothing is found by generalised cross-validation.

    Returns:
        The smoothed signals and their first two derivatives, each of the shape of x.
    """
    if len(x) < 8:
        raise TooShortError("a smoothing spline", len(x), 8)
    t = np.arange(len(x)) / rate
    results = []
    for column in x.T:
        spline = _spline(t, column, noise)
        results.append([spline(t, nu=k) for k in range(3)])
    smooth, velocity, acceleration = np.array(results).transpose(1, 2, 0)
    return smooth, velocity, acceleration


def _spline(t: Array, x: Array, noise: float | None) -> Any:
    from scipy.interpolate import make_smoothing_spline, make_splrep

    if noise is None:
        return make_smoothing_spline(t, x)
    return make_splrep(t, x, k=5, s=len(t) * noise**2)  # pyright: ignore[reportArgumentType]


def trimmed(x: Array, samples: int) -> Array:
    """The signal without so many samples at each end, where filters see only one side."""
    if len(x) <= 2 * samples:
        raise TooShortError(f"trimming {samples} samples at each end", len(x), 2 * samples + 1)
    return x[samples : len(x) - samples]


DECIMATION_MARGIN = 100
"""Decimated samples after which the filters of decimation have forgotten where a signal began."""

PASSED_BAND = 0.8
"""Part of the new band that the filter of decimation passes."""


SHORTEST_DECIMATED = 28
"""Samples that a step of decimation needs at least: one more than its filter is padded with."""


def can_be_decimated(samples: int, factors: Sequence[int]) -> bool:
    """Whether so many samples are enough for each of the steps of `decimated`."""
    for factor in factors:
        if samples < SHORTEST_DECIMATED:
            return False
        samples = -(-samples // factor)
    return True


def decimated(x: Array, factors: Sequence[int]) -> Array:
    """Every k-th sample after a low-pass without delay (Chebyshev, order 8), for each of the factors in turn.

    Args:
        x: Signals, shape (samples, n).
        factors: How many times fewer samples each step leaves; steps of at most 13 keep the filter exact.

    Returns:
        Array of shape (samples / product of the factors, n), its first sample at the first of x.
    """
    for factor in factors:
        if factor < 1:
            raise InvalidRequestError(f"a factor of decimation must be at least 1, not {factor}")
        if len(x) < SHORTEST_DECIMATED:
            raise TooShortError(f"decimation by {factor}", len(x), SHORTEST_DECIMATED)
        if factor > 1:
            x = zero_phase(chebyshev(8, 0.05, 0.8 / factor), x, padding=SHORTEST_DECIMATED - 1)[::factor]
    return x


def delayed(x: Array, rate: float, seconds: float) -> Array:
    """The signal some time later (earlier for negative seconds), interpolated by cubic splines; ends are held."""
    if seconds == 0.0:
        return x
    from scipy.interpolate import CubicSpline

    needed = max(4, int(np.ceil(2 * abs(seconds) * rate)))
    if len(x) < needed:
        raise TooShortError(f"shifting a signal by {seconds:g} s", len(x), needed)
    t = np.arange(len(x)) / rate
    return CubicSpline(t, x, axis=0)(np.clip(t - seconds, t[0], t[-1]))
