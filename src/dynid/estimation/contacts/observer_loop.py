"""The loop of the momentum observer over samples, compiled with Numba where there is Numba."""

from dynid.model.kernels.optional_compilation import njit


@njit(cache=True, nogil=True, error_model="numpy")
def observe_samples(steps, begins, momentum, rate, gain, found):
    """Run the observer, as the generated C does, sample by sample.

    Args:
        steps: Interval before each sample [s], shape (samples,).
        begins: Whether the observer begins anew at a sample, shape (samples,).
        momentum: Generalised momentum, shape (samples, channels).
        rate: What is known of its rate, of the same shape.
        gain: Gain of each channel [1/s], shape (channels,).
        found: The residuals, of the same shape; written.
    """
    channels = momentum.shape[1]
    for c in range(channels):
        integral = 0.0
        residual = 0.0
        for s in range(len(steps)):
            if begins[s]:
                integral = momentum[s, c]
                residual = 0.0
            else:
                half = 0.5 * steps[s]
                known = integral + half * (rate[s - 1, c] + rate[s, c] + residual)
                residual = gain[c] * (momentum[s, c] - known) / (1.0 + gain[c] * half)
                integral = known + half * residual
            found[s, c] = residual
