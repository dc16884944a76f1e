"""The compiled kernel of recursive filters. Import it only where it is used: Numba is slow to import.

Signals stand side by side, as they are logged, so that one step in time of all of them is one vector operation. A
filter that runs along each signal for itself waits for every sample's result before it can begin the next.
"""

from dynid.model.kernels.cached_code import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def run(sections, state, x, first, last, step):
    """Filter signals in place by second-order sections (transposed direct form II).

    Args:
        sections: Coefficients b0, b1, b2, a1, a2 of each section, shape (sections, 5).
        state: What each section remembers, shape (sections, 2, signals); it is changed.
        x: Signals, shape (samples, signals).
        first: Index of the sample to begin with.
        last: Index of the sample to end before.
        step: 1 to run forwards, -1 to run backwards.
    """
    signals = x.shape[1]
    for s in range(first, last, step):
        row = x[s]
        for k in range(len(sections)):
            b0, b1, b2 = sections[k, 0], sections[k, 1], sections[k, 2]
            a1, a2 = sections[k, 3], sections[k, 4]
            one, two = state[k, 0], state[k, 1]
            for j in range(signals):
                u = row[j]
                y = b0 * u + one[j]
                one[j] = b1 * u - a1 * y + two[j]
                two[j] = b2 * u - a2 * y
                row[j] = y
