"""The compiled branch and bound over signs. Import it only where it is used: Numba is slow to import."""

import numpy as np

from dynid.model.kernels.cached_code import njit


@njit(cache=True, nogil=True)
def walk(L, reference, free, lowest, rival, limits, spread, nodes):  # noqa: C901 (one loop on purpose)
    """Walk all choices of signs whose energy `|L s|^2` is small enough to matter.

    Signs are decided from the last to the first. A branch matters while its energy so far is below the lowest known
    energy, or below that of the lowest rival of a sign that it has flipped or can still flip.

    Args:
        L: Upper triangular, no negative diagonal, shape (n, n).
        reference: The signs that others are compared with, shape (n,).
        free: Signs before this one may flip; the rest stay as in the reference.
        lowest: Signs of the lowest energy, shape (n,); written.
        rival: For each sign the best signs in which it is flipped, shape (n, n); written where they are below limits.
        limits: For each sign the energy that a rival must be below, shape (n,); written.
        spread: How much below the reference's energy others must be to replace it.
        nodes: Branches after which to give up.

    Returns:
        The lowest energy, and how many branches were looked at (more than `nodes` if it gave up).
    """
    n = len(reference)
    s = reference.copy()
    energy = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        rest = 0.0
        for j in range(i, n):
            rest += L[i, j] * s[j]
        energy[i] = energy[i + 1] + rest * rest
    best = energy[0] - spread
    waiting = np.zeros(n + 1)  # highest limit of signs before i
    flipped = np.zeros(n + 1)  # highest limit of signs from i on that are flipped
    for i in range(n):
        waiting[i + 1] = max(waiting[i], limits[i])
    tried = np.zeros(n, dtype=np.int64)
    i, count = free - 1, 0
    while 0 <= i < free:
        if tried[i] == 2:
            tried[i] = 0
            i += 1
            continue
        rest = 0.0
        for j in range(i + 1, n):
            rest += L[i, j] * s[j]
        near = -1.0 if rest > 0.0 else 1.0
        s[i] = near if tried[i] == 0 else -near
        tried[i] += 1
        count += 1
        if count > nodes:
            return best, count
        energy[i] = energy[i + 1] + (L[i, i] * s[i] + rest) ** 2
        flipped[i] = flipped[i + 1]
        if s[i] != reference[i]:
            flipped[i] = max(flipped[i], limits[i])
        if energy[i] >= max(best, flipped[i], waiting[i]):
            if energy[i] >= max(best, flipped[i + 1], limits[i], waiting[i]):
                tried[i] = 2  # the other sign costs more
            continue
        if i > 0:
            i -= 1
            continue
        if energy[0] < best:
            best = energy[0]
            lowest[:] = s
        changed = False
        for k in range(n):
            if s[k] != reference[k] and energy[0] < limits[k]:
                limits[k] = energy[0]
                rival[k, :] = s
                changed = True
        if changed:
            for k in range(n):
                waiting[k + 1] = max(waiting[k], limits[k])
            flipped[n] = 0.0
            for k in range(n - 1, -1, -1):
                flipped[k] = flipped[k + 1]
                if s[k] != reference[k]:
                    flipped[k] = max(flipped[k], limits[k])
    return best, count
