"""Motion of a simulated robot over a step, with dry friction that really sticks.

Between events the method is the classical one of Runge and Kutta, of order four; or, where friction is too stiff
for it (much damping on little inertia), a Rosenbrock method of order two. Within a step every dry element slips in one
direction, or sticks; so forces are smooth there, and the order is kept. Where a slipping element comes to rest, the
step ends at that instant; then it sticks if friction can hold it, and else slips the other way. Whether one that sticks
breaks away is asked at the beginning of every step.
"""

import math

from dynid.simulation.acceleration import AT_REST, accelerate, along, settle
from dynid.simulation.compilation import inner

MOST_EVENTS = 50
"""Events in one step after which it is finished as it is."""

GAMMA = 1.0 - math.sqrt(0.5)
"""The Rosenbrock method's parameter: with it, what decays fast is gone after a step."""


@inner
def advance(engine, forces, state, u, duration, stiff):
    """Move a robot on by a duration [s] under the motors' torques u; False if its mass matrix is not positive definite.

    `settle` must have been called for the state and the torques. With `stiff` the method is the Rosenbrock one.
    """
    left = duration
    for event in range(MOST_EVENTS + 1):
        if event and not settle(engine, forces, state, u):
            return False
        _remember(state)
        if not _step(engine, forces, state, u, left, stiff):
            return False
        if event == MOST_EVENTS or _slack(forces, state) > -0.1 * AT_REST:
            return True
        step = _step_to_rest(engine, forces, state, u, left, stiff)
        if step < 0.0:
            return False
        _bring_to_rest(forces, state)
        left -= step
        if left <= 1e-12 * duration:
            return True
    return True


@inner
def _step(engine, forces, state, u, h, stiff):
    """One step from `state.start`, where accelerations have been found; of order four, or two if stiff.

    The Rosenbrock one is k1 = f(y) + g h J k1, k2 = f(y + h k1) - 2 k1 + g h J k2, and the step is h (3 k1 + k2) / 2.
    It has order two with any J; here J is how added torques slow joints down, -M^-1 D.
    """
    q, v, rates, start = state.q, state.v, state.rates, state.start
    n = len(q)
    for stage in range(2 if stiff else 4):
        if stage:
            part = h if stiff or stage == 3 else 0.5 * h
            for i in range(n):
                q[i] = start[i] + part * rates[stage - 1, i]
                v[i] = start[n + i] + part * rates[stage - 1, n + i]
        if stage or stiff:
            factor = 2.0 if stiff and stage else 0.0
            if not accelerate(engine, forces, state, u, GAMMA * h if stiff else 0.0, rates[0, n : 2 * n], factor):
                return False
        _rate(state, u, rates[stage])
    for i in range(n):
        q[i] = start[i] + h * _mean(rates, i, stiff, 0.5)
        v[i] = start[n + i] + h * _mean(rates, n + i, stiff, 1.5)
    for i in range(2):
        state.work[i] = start[2 * n + i] + h * _mean(rates, 2 * n + i, stiff, 0.5)
    return True


@inner
def _mean(rates, i, stiff, first):
    """The rate of a whole step. J has no rows for q and work: there k2 is what was found in stage 2, less 2 k1."""
    if stiff:
        return first * rates[0, i] + 0.5 * rates[1, i]
    return (rates[0, i] + 2.0 * rates[1, i] + 2.0 * rates[2, i] + rates[3, i]) / 6.0


@inner
def _rate(state, u, rate):
    """Rates of q, v and both works."""
    n = len(state.q)
    rate[2 * n] = along(u, state.v)
    rate[2 * n + 1] = along(state.added, state.v)
    for i in range(n):
        rate[i], rate[n + i] = state.v[i], state.a[i]


@inner
def _remember(state):
    n = len(state.q)
    for i in range(n):
        state.start[i], state.start[n + i] = state.q[i], state.v[i]
    state.start[2 * n], state.start[2 * n + 1] = state.work[0], state.work[1]


@inner
def _step_again(engine, forces, state, u, h, stiff):
    """Another step from where the last one began."""
    n = len(state.q)
    for i in range(n):
        state.q[i], state.v[i] = state.start[i], state.start[n + i]
    state.work[0], state.work[1] = state.start[2 * n], state.start[2 * n + 1]
    if not stiff and not accelerate(engine, forces, state, u, 0.0, state.a, 0.0):
        return False
    return _step(engine, forces, state, u, h, stiff)


@inner
def _slack(forces, state):
    """The smallest speed of slipping elements in the direction that they slip in; negative when one has turned."""
    least = math.inf
    for k in range(len(state.mode)):
        if state.mode[k] != 0.0 and forces.smoothing[k] == 0.0:
            least = min(least, state.mode[k] * along(forces.direction[k], state.v))
    return least


@inner
def _step_to_rest(engine, forces, state, u, longest, stiff):
    """Step [s] after which the first slipping element rests, and the state there; negative where that fails.

    Those that have just broken away rest at the beginning: first a step is looked for after which all still slip.
    """
    high, at_high = longest, _slack(forces, state)
    low, at_low = longest, at_high
    for _ in range(30):
        high, at_high = low, at_low
        low *= 0.5
        if not _step_again(engine, forces, state, u, low, stiff):
            return -1.0
        at_low = _slack(forces, state)
        if at_low >= 0.0:
            break
    return _close(engine, forces, state, u, longest, stiff, low, at_low, high, at_high)


@inner
def _close(engine, forces, state, u, longest, stiff, low, at_low, high, at_high):
    """Close a bracket of the step to rest by false position, with the Illinois rule."""
    side = 0
    for _ in range(40):
        if at_low <= 0.0 or high - low < 1e-15 * longest:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        if not _step_again(engine, forces, state, u, middle, stiff):
            return -1.0
        at_middle = _slack(forces, state)
        if abs(at_middle) < 0.1 * AT_REST:
            return middle
        if at_middle > 0.0:
            low, at_low = middle, at_middle
            at_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, at_high = middle, at_middle
            at_low *= 0.5 if side == -1 else 1.0
            side = -1
    if not _step_again(engine, forces, state, u, high, stiff):
        return -1.0
    return high


@inner
def _bring_to_rest(forces, state):
    """Let elements stick that have come to rest or turned, without their remaining speed."""
    for k in range(len(state.mode)):
        if state.mode[k] != 0.0 and forces.smoothing[k] == 0.0:
            d = forces.direction[k]
            w = along(d, state.v)
            if state.mode[k] * w < AT_REST:
                state.mode[k] = 0.0
                square = along(d, d)
                for i in range(len(d)):
                    state.v[i] -= d[i] * w / square
