"""The loop of change detection over samples, compiled with Numba where there is Numba."""

from __future__ import annotations

import math

import numpy as np

from dynid.model.kernels.optional_compilation import njit

NOTHING, RAISED, SETTLED = 0, 1, 2
"""What ended a run: the last sample, a change that was noticed, or enough samples after one."""


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
def watch(  # noqa: C901
    rows, first, steps, moving, starts, widths, predictors, weights,
    columns, begins, sizes, penalties, references, doubts, least, waiting, rates,
    A, g, energy, by_row, levels, seen, squares, clocks, learning, factor, settling, confirming, caution, state, U, x,
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
        levels: The largest explained squares while learning, shape (windows, hypotheses).
        seen: The largest explained squares of the cautious time after an alarm, of the same shape.
        squares: Sums over time of squared estimates while learning, and of explained squares behind them, shape
            (windows, hypotheses, most + 1).
        clocks: How long each hypothesis was learned [s], shape (hypotheses,).
        learning: How long it has to be [s].
        factor: How many times the largest level while learning an alarm needs.
        settling: How long is waited after an alarm [s].
        confirming: How long a level has to be exceeded for an alarm [s].
        caution: How many times larger levels are in the cautious time after an alarm.
        state: Time [s] and samples since an alarm, the time being negative while there is none; samples of learning,
            and the sum of their `w^2 r^2`; the hypothesis and the window that raised the alarm; how long a level was
            exceeded [s]; what is left of the cautious time [s]; shape (8,).
        U: Memory, shape (most, most).
        x: Memory, shape (most,).

    Returns:
        What happened, and at which sample.
    """
    windows, hypotheses = levels.shape
    z = x.copy()
    tempered = np.zeros((windows, hypotheses, len(x)))
    for s in range(first, len(rows)):
        dt = steps[s]
        for w in range(windows):
            fade = math.exp(-dt * rates[w])
            energy[w] *= fade
            for h in range(hypotheses):
                for i in range(sizes[h]):
                    g[w, h, i] *= fade
                    for k in range(i + 1):
                        A[w, h, i, k] *= fade
        after = state[0] >= 0.0
        total = 0.0
        for j in range(len(starts)):
            left, right = starts[j], starts[j] + widths[j]
            r = 0.0
            for c in range(left, right):
                r -= rows[s, c] * predictors[c]
            w2 = weights[s, j] * weights[s, j]
            total += w2 * r * r
            if after:
                by_row[j] += w2 * r * r
            for h in range(hypotheses):
                n = sizes[h]
                acts = False
                for i in range(n):
                    value = 0.0
                    for c in range(left, right):
                        value += rows[s, c] * columns[c, begins[h] + i]
                    z[i] = value
                    if value != 0.0:
                        acts = True
                if not acts:
                    continue
                for w in range(windows + (1 if after else 0)):
                    for i in range(n):
                        g[w, h, i] += w2 * z[i] * r
                        for k in range(i + 1):
                            A[w, h, i, k] += w2 * z[i] * z[k]
        for w in range(windows + (1 if after else 0)):
            energy[w] += total
        if after:
            state[0] += dt
            state[1] += 1.0
            if state[0] >= settling:
                return SETTLED, s
            continue
        is_learning = False
        for h in range(hypotheses):
            if clocks[h] < learning:
                is_learning = True
        if is_learning:
            state[2] += 1.0
            state[3] += total
        for h in range(hypotheses):
            for i in range(sizes[h]):
                for w in range(windows):
                    usual = squares[w, h, squares.shape[2] - 1] / (sizes[h] * max(clocks[h], 1e-9))
                    tempered[w, h, i] = penalties[h, i] * (max(usual, 1.0) if clocks[h] >= learning else 1.0)
        is_cautious = state[7] > 0.0
        if is_cautious:
            state[7] -= dt
            if state[7] <= 0.0:
                for h in range(hypotheses):
                    for w in range(windows):
                        levels[w, h] = max(levels[w, h], seen[w, h])
                        seen[w, h] = 0.0
        limit = factor * caution if is_cautious else factor
        best, which, window = 1.0, -1, -1
        for h in range(hypotheses):
            n = sizes[h]
            for w in range(windows):
                explained = solve(A[w, h], tempered[w, h], g[w, h], n, U, x)
                if clocks[h] < learning:
                    levels[w, h] = max(levels[w, h], explained)
                    if moving[s, h]:
                        for i in range(n):
                            squares[w, h, i] += dt * x[i] * x[i]
                        squares[w, h, squares.shape[2] - 1] += dt * explained
                    continue
                if is_cautious:
                    seen[w, h] = max(seen[w, h], explained)
                    if waiting[h]:
                        continue
                doubtful = 0.0
                for i in range(n):
                    for k in range(n):
                        doubtful += doubts[h, i, k] * (A[w, h, i, k] if k <= i else A[w, h, k, i])
                ratio = explained / (limit * (levels[w, h] + doubtful))
                if ratio <= best or not moving[s, h]:
                    continue
                size = abs(x[0])
                reference = changed = 0.0
                for i in range(n):
                    for k in range(n):
                        a = A[w, h, i, k] if k <= i else A[w, h, k, i]
                        reference += references[h, i] * a * references[h, k]
                        changed += x[i] * a * x[k]
                if reference > 0.0:
                    size = math.sqrt(changed / reference)
                if size >= least[h]:
                    best, which, window = ratio, h, w
            if clocks[h] < learning and moving[s, h]:
                clocks[h] += dt
        state[6] = state[6] + dt if which >= 0 else 0.0
        if state[6] >= confirming and which >= 0:
            state[6] = 0.0
            state[0], state[1], state[4], state[5] = 0.0, 0.0, which, window
            for h in range(hypotheses):
                g[windows, h, :] = 0.0
                A[windows, h, :, :] = 0.0
            energy[windows] = 0.0
            by_row[:] = 0.0
            return RAISED, s
    return NOTHING, len(rows) - 1
