"""The loop of causal filters over samples, compiled with Numba where there is Numba."""

from __future__ import annotations

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
