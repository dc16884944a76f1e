"""The loop of change detection over samples, compiled with Numba where there is Numba."""

import math

from dynid.estimation.streams import change_state as at
from dynid.model.kernels.optional_compilation import njit


@njit(cache=True, nogil=True, error_model="numpy")
def solve(A, penalty, g, size, U, x):  # noqa: C901
    """Solve `(A + diag(penalty)) x = g` by Cholesky's method; gives `g' x`. U is memory, shape (size, size) or more."""
    for i in range(size):
        for j in range(i + 1):
            total = A[i, j]
            if i == j:
                total += penalty[i]
            for k in range(j):
                total -= U[i, k] * U[j, k]
            if i == j:
                U[i, i] = math.sqrt(total) if total > 0.0 else 1e-150
            else:
                U[i, j] = total / U[j, j]
    for i in range(size):
        total = g[i]
        for k in range(i):
            total -= U[i, k] * x[k]
        x[i] = total / U[i, i]
    found = 0.0
    for i in range(size):
        found += x[i] * x[i]
    for i in range(size - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, size):
            total -= U[k, i] * x[k]
        x[i] = total / U[i, i]
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def fade(A, g, energy, sizes, rates, dt):
    """Let sums of the sliding windows fade over an interval [s]."""
    for w in range(len(rates)):
        left = math.exp(-dt * rates[w])
        energy[w] *= left
        for h in range(len(sizes)):
            for i in range(sizes[h]):
                g[w, h, i] *= left
                for k in range(i + 1):
                    A[w, h, i, k] *= left


@njit(cache=True, nogil=True, error_model="numpy")
def include(A, g, by_row, row, starts, widths, predictors, weights, columns, begins, sizes, windows, is_after, z):
    """Add the rows of a sample to the sums of so many windows; gives the sum of `w^2 r^2`."""
    total = 0.0
    for j in range(len(starts)):
        left, right = starts[j], starts[j] + widths[j]
        r = 0.0
        for c in range(left, right):
            r -= row[c] * predictors[c]
        w2 = weights[j] * weights[j]
        total += w2 * r * r
        if is_after:
            by_row[j] += w2 * r * r
        for h in range(len(sizes)):
            acts = False
            for i in range(sizes[h]):
                value = 0.0
                for c in range(left, right):
                    value += row[c] * columns[c, begins[h] + i]
                z[i] = value
                acts = acts or value != 0.0
            for w in range(windows if acts else 0):
                for i in range(sizes[h]):
                    g[w, h, i] += w2 * z[i] * r
                    for k in range(i + 1):
                        A[w, h, i, k] += w2 * z[i] * z[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def product(A, x, y, n):
    """`x' A y` of a symmetric matrix of which the lower triangle counts."""
    total = 0.0
    for i in range(n):
        for k in range(n):
            total += x[i] * (A[i, k] if k <= i else A[k, i]) * y[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def doubt_in(A, doubt, n):
    """Explained squares that the uncertainty of changes so far makes: the trace of `A doubt`."""
    total = 0.0
    for i in range(n):
        for k in range(n):
            total += doubt[i, k] * (A[i, k] if k <= i else A[k, i])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def relative_square(A, reference, before, d, U, size, along):
    """The square of the change that d says, over its variance if errors were white: one on average, if they were.

    The change is that of the first parameter; where there are references, it is of the torques along theirs, whose
    squares are `before`. U is Cholesky's triangle of `solve`, `along` memory.
    """
    change, variance = 0.0, 0.0
    for i in range(size):
        part = 1.0 if i == 0 else 0.0
        if before > 0.0:
            part = 0.0
            for k in range(size):
                part += (A[i, k] if k <= i else A[k, i]) * reference[k]
            part /= before
        change += part * d[i]
        for k in range(i):
            part -= U[i, k] * along[k]
        along[i] = part / U[i, i]
        variance += along[i] * along[i]
    return change * change / max(variance, 1e-300)


@njit(cache=True, nogil=True, error_model="numpy")
def begin_after(A, g, energy, by_row, state, which, window):
    """Begin the time after an alarm."""
    state[at.SINCE], state[at.COUNT], state[at.WHICH], state[at.WINDOW], state[at.EXCEEDED] = (
        0.0,
        0.0,
        which,
        window,
        0.0,
    )
    last = len(energy) - 1
    g[last] = 0.0
    A[last] = 0.0
    energy[last] = 0.0
    by_row[:] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def pass_caution(levels, learned, seen, waiting, caution, state, dt):
    """Let the cautious time pass; at its end what was seen is normal. Gives whether it lasts.

    Of payloads it is so up to `caution` times what was learned at first: more is the next one, which came meanwhile.
    """
    if state[at.CAUTIOUS] <= 0.0:
        return False
    state[at.CAUTIOUS] -= dt
    if state[at.CAUTIOUS] <= 0.0:
        for w in range(levels.shape[0]):
            for h in range(levels.shape[1]):
                normal = seen[w, h] if waiting[h] else min(seen[w, h], caution * learned[w, h])
                levels[w, h] = max(levels[w, h], normal)
                seen[w, h] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def watch(  # noqa: C901
    rows, first, steps, moving, starts, widths, predictors, weights,
    columns, begins, sizes, penalties, references, doubts, least, waiting, rates,
    A, g, energy, by_row, levels, learned, seen, squares, swings, clocks,
    learning, factor, settling, confirming, caution, state, U, x,
):  # fmt: skip
    """Run over samples until something happens.

    Args:
        rows: Rows `[W | y]` of samples, one after the other, shape (samples, columns).
        first: Which sample to begin with.
        steps: Interval before each [s], shape (samples,).
        moving: Whether each hypothesis can show in it, shape (samples, hypotheses).
        starts: Where rows begin, shape (rows,).
        widths: How long they are, right-hand sides included, shape (rows,).
        predictors: Values of all columns, with -1 for right-hand sides, shape (columns,).
        weights: One over the standard deviation of each row's errors, shape (samples, rows).
        columns: What each parameter of the hypotheses adds to predictors, shape (columns, all parameters).
        begins: Where the parameters of each hypothesis begin, shape (hypotheses,).
        sizes: How many each has, shape (hypotheses,).
        penalties: One over the variance of each parameter beforehand, shape (hypotheses, most).
        references: Present values of the parameters, which changes are relative to, or zero where they are not.
        doubts: Covariances of changes that were added to the predictors, shape (hypotheses, most, most).
        least: The smallest change that is worth an alarm: of the first parameter, or relative, shape (hypotheses,).
        waiting: Which hypotheses raise no alarm in the cautious time, shape (hypotheses,).
        rates: One over the time constants of the windows [1/s], shape (windows,).
        A: Sums of `w^2 z z'` of each window and hypothesis, the last window being that after an alarm, which forgets
            nothing; shape (windows + 1, hypotheses, most, most).
        g: Sums of `w^2 z r`, shape (windows + 1, hypotheses, most).
        energy: Sums of `w^2 r^2`, shape (windows + 1,).
        by_row: Sums of `w^2 r^2` of each row after an alarm, shape (rows,).
        levels: The largest explained squares of what is normal, shape (windows, hypotheses).
        learned: Those of the time of learning, of the same shape.
        seen: The largest explained squares of the cautious time after an alarm, of the same shape.
        squares: Integrals over time of explained squares while learning, shape (windows, hypotheses).
        swings: Integrals over time of `relative_square` while learning, of the same shape.
        clocks: How long each hypothesis was learned [s], shape (hypotheses,).
        learning: How long it has to be [s].
        factor: How many times the largest level while learning an alarm needs.
        settling: How long is waited after an alarm [s].
        confirming: How long a level has to be exceeded for an alarm [s].
        caution: How many times larger levels are in the cautious time after an alarm.
        state: What goes on from run to run, shape (places,); see `change_state`.
        U: Memory, shape (most, most).
        x: Memory, shape (most,).

    Returns:
        What happened, and at which sample.
    """
    windows, hypotheses = levels.shape
    z, penalty = x.copy(), x.copy()
    for s in range(first, len(rows)):
        dt, is_after = steps[s], state[at.SINCE] >= 0.0
        fade(A, g, energy, sizes, rates, dt)
        summed = windows + 1 if is_after else windows
        total = include(
            A, g, by_row, rows[s], starts, widths, predictors, weights[s], columns, begins, sizes, summed, is_after, z
        )
        for w in range(summed):
            energy[w] += total
        if is_after:
            state[at.SINCE] += dt
            state[at.COUNT] += 1.0
            if state[at.SINCE] >= settling:
                return at.SETTLED, s
            continue
        if clocks.min() < learning:
            state[at.USUAL_COUNT] += 1.0
            state[at.USUAL_SQUARES] += total
        is_cautious = pass_caution(levels, learned, seen, waiting, caution, state, dt)
        limit = factor * caution if is_cautious else factor
        best, which, window = 1.0, -1, -1
        for h in range(hypotheses):
            n, is_learned = sizes[h], clocks[h] >= learning
            for w in range(windows):
                usual = max(squares[w, h] / (n * max(clocks[h], 1e-9)), 1.0) if is_learned else 1.0
                for i in range(n):
                    penalty[i] = penalties[h, i] * usual
                explained = solve(A[w, h], penalty, g[w, h], n, U, x)
                if not is_learned:
                    levels[w, h] = learned[w, h] = max(levels[w, h], explained)
                    if moving[s, h]:
                        squares[w, h] += dt * explained
                        before = product(A[w, h], references[h], references[h], n)
                        swings[w, h] += dt * relative_square(A[w, h], references[h], before, x, U, n, z)
                    continue
                if is_cautious:
                    seen[w, h] = max(seen[w, h], explained)
                if not moving[s, h] or (is_cautious and waiting[h]):
                    continue
                ratio = explained / (limit * (levels[w, h] + doubt_in(A[w, h], doubts[h], n)))
                if ratio > best:
                    before = product(A[w, h], references[h], references[h], n)
                    size = math.sqrt(product(A[w, h], x, x, n) / before) if before > 0.0 else abs(x[0])
                    if size >= least[h]:
                        best, which, window = ratio, h, w
            if not is_learned and moving[s, h]:
                clocks[h] += dt
        state[at.EXCEEDED] = state[at.EXCEEDED] + dt if which >= 0 else 0.0
        if which >= 0 and state[at.EXCEEDED] >= confirming:
            begin_after(A, g, energy, by_row, state, which, window)
            return at.RAISED, s
    return at.NOTHING, len(rows) - 1
