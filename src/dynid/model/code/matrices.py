"""The mass matrix M, and the Coriolis matrix C with C v the Coriolis torques and M' = C + C transposed.

For a column S of the motion subspace with its rate S', the links that it moves, with composite pseudo-inertia J and
momentum matrix P, are accelerated by `[S] a` and by `([S'] + [S][V]) v`. So M has `[S] J`, and C has `[S'] J + [S] P`,
projected on the columns of all joints above. Below the diagonal, where S is the upper joint's and J, P are the lower
one's, the same sums are products with `[S] J` and `[S] P'` of the lower column. C is that of Christoffel symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynid.model.code.expressions import Number
from dynid.model.code.recursions import Numbers, momentum_matrix, motions, poses
from dynid.model.code.tree import Body
from dynid.model.code.vectors import ZERO, PseudoInertia, Wrench
from dynid.robot import WORLD

Rows = list[list[Number]]


def mass_matrix(bodies: Sequence[Body], inertia: Sequence[PseudoInertia], q: Numbers, size: int) -> Rows:
    """M(q) by composite rigid bodies: rows of numbers."""
    M: Rows = [[0.0] * size for _ in range(size)]
    at, composite = poses(bodies, q), list(inertia)
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        for row, column in zip(body.rows, body.columns, strict=True):
            wrench, j = composite[i].wrench(column.about.skew, column.along), i
            while j != WORLD:
                for other, S in zip(bodies[j].rows, bodies[j].columns, strict=True):
                    value = S @ wrench
                    M[row][other] = M[row][other] + value
                    if j != i:
                        M[other][row] = M[other][row] + value
                wrench, j = at[j].carried(wrench), bodies[j].parent
        if body.parent != WORLD:
            composite[body.parent] = composite[body.parent] + composite[i].moved(at[i].rotation, at[i].place)
    return M


def coriolis_matrix(
    bodies: Sequence[Body], inertia: Sequence[PseudoInertia], q: Numbers, v: Numbers, size: int
) -> Rows:
    """C(q, v): rows of numbers."""
    C: Rows = [[0.0] * size for _ in range(size)]
    at = poses(bodies, q)
    moving = motions(bodies, at, v, [0.0] * size, ZERO)
    composite = list(inertia)
    momenta = [momentum_matrix(own, motion) for own, motion in zip(inertia, moving, strict=True)]
    for i in reversed(range(len(bodies))):
        body, J, P = bodies[i], composite[i], momenta[i]
        for row, column in zip(body.rows, body.columns, strict=True):
            turn, rate = column.about.skew, moving[i].rate(column)
            above = J.wrench(rate.about.skew, rate.along) + Wrench(turn(P.first), (turn @ P.second).moment)
            inertial = J.wrench(turn, column.along)
            couple = (turn @ P.second.T + column.along.outer(P.first)).moment
            j = i
            while j != WORLD:
                for other, S in zip(bodies[j].rows, bodies[j].columns, strict=True):
                    C[other][row] = C[other][row] + S @ above
                    if j != i:
                        below = moving[j].rate(S) @ inertial + S.about @ couple
                        C[row][other] = C[row][other] + below
                above, inertial, couple = at[j].carried(above), at[j].carried(inertial), at[j].up(couple)
                j = bodies[j].parent
        if body.parent != WORLD:
            R, r = at[i].rotation, at[i].place
            composite[body.parent] = composite[body.parent] + J.moved(R, r)
            momenta[body.parent] = momenta[body.parent] + P.moved(R, r)
    return C
