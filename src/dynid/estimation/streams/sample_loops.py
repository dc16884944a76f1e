"""Loops of causal filters and of residuals over samples, compiled with Numba where there is Numba."""

from dynid.model.kernels.optional_compilation import njit


@njit(cache=True, nogil=True, error_model="numpy")
def advance(state, last, values, decay, first, second, outputs, found):
    """Run modes of a filter on over samples.

    Args:
        state: What each mode holds of each channel, shape (modes, channels); changed.
        last: The channels' values at the sample before, shape (channels,); changed.
        values: Their values, shape (samples, channels).
        decay: What is left of each mode after each interval, shape (samples, modes).
        first: What the value at its begin adds, of the same shape.
        second: What the value at its end adds, of the same shape.
        outputs: For each output the parts of the modes, shape (outputs, modes).
        found: The outputs, shape (outputs, samples, channels); written.
    """
    modes, channels = state.shape
    for s in range(len(values)):
        for c in range(channels):
            old, new = last[c], values[s, c]
            for m in range(modes):
                state[m, c] = decay[s, m] * state[m, c] + first[s, m] * old + second[s, m] * new
            last[c] = new
            for d in range(len(outputs)):
                total = 0.0
                for m in range(modes):
                    total += (outputs[d, m] * state[m, c]).real
                found[d, s, c] = total


@njit(cache=True, nogil=True, error_model="numpy")
def remember(residuals, lengths, sums, squares, counts):
    """Add residuals, shape (samples, rows), to the sums of running blocks, and those of full ones to the squares."""
    for s in range(len(residuals)):
        for n in range(len(lengths)):
            for j in range(residuals.shape[1]):
                sums[n, j] += residuals[s, j]
            counts[n] += 1
            if counts[n] % lengths[n] == 0:
                for j in range(residuals.shape[1]):
                    squares[n, j] += sums[n, j] * sums[n, j]
                    sums[n, j] = 0.0
