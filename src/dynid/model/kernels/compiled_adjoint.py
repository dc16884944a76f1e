"""The compiled adjoint of the observation matrix. Import it only where it is used: Numba is slow to import.

Given what a number f depends on, `df = sum G * dW` with G as large as W, it gives the slopes of f over positions,
velocities and accelerations, for about twice the work of W itself and whatever the number of parameters.

For each sample the tree is walked twice. Upwards: poses, unit motions (screws) S, velocities V and accelerations A of
the links, all as spatial vectors (linear part at the world's origin; angular part) along the world's axes, where

    V_j = V_i + S v,    A_j = A_i + S a + V_j x S v,    i the parent of j.

With the wrench Y p that a link needs for the fictitious parameters p = G[row, link], each pair of a row and a link
gives slopes over V, A and S. Downwards these are summed: spatial vectors of one frame need no transport. Moving joint
j turns what stands below it backwards in the frames above it, so the slope over its position is

    -S . (V_i x* V'_j + A_i x* A'_j + sum over the screws S_r below it of S_r x* S'_r)

with x* the cross product of a motion and a force. The last sum is kept as one vector a joint: a pair adds it at the
link and takes it off again at the row's own joint.
"""

import math

import numpy as np

from dynid.model.kernels.cached_code import njit

PRISMATIC, SPHERICAL, FREE_FLYER = 1, 2, 3
"""Kinds of joints in tables; 0 is angular."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def pull_back(  # noqa: C901 (one function on purpose, as `compiled.fill`)
    kind, parent, rotation, rotation_sine, rotation_versine, translation, slide, _axis, ratio, offset,
    q_column, v_column, screw_start, screw_axis, screw_is_linear,
    pair_start, pair_screw, screw_joint, pair_base, pair_stride, pair_column,
    gravity, q, v, a, G, q_slope, v_slope, a_slope, begin, end,
):  # fmt: skip
    """Add the slopes of samples begin to end; `adjoint.slopes` makes the tables and says what they hold."""
    joints, screws = len(kind), len(screw_is_linear)
    R = np.zeros((joints, 9))
    o = np.zeros((joints, 3))
    S = np.zeros((screws, 6))
    V = np.zeros((joints, 6))
    A = np.zeros((joints, 6))
    own = np.zeros((joints, 6))  # S v
    V_bar = np.zeros((joints, 6))
    A_bar = np.zeros((joints, 6))
    T = np.zeros((joints, 6))
    for s in range(begin, end):
        for j in range(joints):
            # Where the joint is in its parent's frame.
            tx, ty, tz = translation[j, 0], translation[j, 1], translation[j, 2]
            r00, r01, r02 = rotation[j, 0, 0], rotation[j, 0, 1], rotation[j, 0, 2]
            r10, r11, r12 = rotation[j, 1, 0], rotation[j, 1, 1], rotation[j, 1, 2]
            r20, r21, r22 = rotation[j, 2, 0], rotation[j, 2, 1], rotation[j, 2, 2]
            k = q_column[j]
            if kind[j] == PRISMATIC:
                x = ratio[j] * q[s, k] + offset[j]
                tx, ty, tz = tx + x * slide[j, 0], ty + x * slide[j, 1], tz + x * slide[j, 2]
            elif kind[j] == SPHERICAL or kind[j] == FREE_FLYER:
                if kind[j] == FREE_FLYER:
                    x, y, z = q[s, k], q[s, k + 1], q[s, k + 2]
                    tx += r00 * x + r01 * y + r02 * z
                    ty += r10 * x + r11 * y + r12 * z
                    tz += r20 * x + r21 * y + r22 * z
                    k += 3
                x, y, z, w = q[s, k], q[s, k + 1], q[s, k + 2], q[s, k + 3]
                f = 2.0 / (x * x + y * y + z * z + w * w)
                e00, e01, e02 = 1.0 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y)
                e10, e11, e12 = f * (x * y + w * z), 1.0 - f * (x * x + z * z), f * (y * z - w * x)
                e20, e21, e22 = f * (x * z - w * y), f * (y * z + w * x), 1.0 - f * (x * x + y * y)
                r00, r01, r02 = _row_times(r00, r01, r02, e00, e01, e02, e10, e11, e12, e20, e21, e22)
                r10, r11, r12 = _row_times(r10, r11, r12, e00, e01, e02, e10, e11, e12, e20, e21, e22)
                r20, r21, r22 = _row_times(r20, r21, r22, e00, e01, e02, e10, e11, e12, e20, e21, e22)
            else:
                half = 0.5 * (ratio[j] * q[s, k] + offset[j])
                h = math.sin(half)
                f, g = 2.0 * h * math.cos(half), 2.0 * h * h
                r00 += f * rotation_sine[j, 0, 0] + g * rotation_versine[j, 0, 0]
                r01 += f * rotation_sine[j, 0, 1] + g * rotation_versine[j, 0, 1]
                r02 += f * rotation_sine[j, 0, 2] + g * rotation_versine[j, 0, 2]
                r10 += f * rotation_sine[j, 1, 0] + g * rotation_versine[j, 1, 0]
                r11 += f * rotation_sine[j, 1, 1] + g * rotation_versine[j, 1, 1]
                r12 += f * rotation_sine[j, 1, 2] + g * rotation_versine[j, 1, 2]
                r20 += f * rotation_sine[j, 2, 0] + g * rotation_versine[j, 2, 0]
                r21 += f * rotation_sine[j, 2, 1] + g * rotation_versine[j, 2, 1]
                r22 += f * rotation_sine[j, 2, 2] + g * rotation_versine[j, 2, 2]
            # In the world.
            i = parent[j]
            t = R[j]
            if i < 0:
                t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8] = r00, r01, r02, r10, r11, r12, r20, r21, r22
                o[j, 0], o[j, 1], o[j, 2] = tx, ty, tz
                for n in range(6):
                    V[j, n] = 0.0
                    A[j, n] = -gravity[n] if n < 3 else 0.0
            else:
                p = R[i]
                t[0], t[1], t[2] = _row_times(p[0], p[1], p[2], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                t[3], t[4], t[5] = _row_times(p[3], p[4], p[5], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                t[6], t[7], t[8] = _row_times(p[6], p[7], p[8], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                o[j, 0] = o[i, 0] + p[0] * tx + p[1] * ty + p[2] * tz
                o[j, 1] = o[i, 1] + p[3] * tx + p[4] * ty + p[5] * tz
                o[j, 2] = o[i, 2] + p[6] * tx + p[7] * ty + p[8] * tz
                for n in range(6):
                    V[j, n] = V[i, n]
                    A[j, n] = A[i, n]
            ox, oy, oz = o[j, 0], o[j, 1], o[j, 2]
            for n in range(6):
                own[j, n] = V_bar[j, n] = A_bar[j, n] = T[j, n] = 0.0
            for n in range(screw_start[j], screw_start[j + 1]):
                c = v_column[j] + n - screw_start[j]
                x, y, z = screw_axis[n, 0], screw_axis[n, 1], screw_axis[n, 2]
                zx = t[0] * x + t[1] * y + t[2] * z
                zy = t[3] * x + t[4] * y + t[5] * z
                zz = t[6] * x + t[7] * y + t[8] * z
                if screw_is_linear[n]:
                    S[n, 0], S[n, 1], S[n, 2], S[n, 3], S[n, 4], S[n, 5] = zx, zy, zz, 0.0, 0.0, 0.0
                else:
                    S[n, 0], S[n, 1], S[n, 2] = _cross(ox, oy, oz, zx, zy, zz)
                    S[n, 3], S[n, 4], S[n, 5] = zx, zy, zz
                for d in range(6):
                    own[j, d] += S[n, d] * v[s, c]
                    A[j, d] += S[n, d] * a[s, c]
            for n in range(6):
                V[j, n] += own[j, n]
            b, g6 = V[j], own[j]
            x, y, z = _cross(b[3], b[4], b[5], g6[0], g6[1], g6[2])
            lx, ly, lz = _cross(b[0], b[1], b[2], g6[3], g6[4], g6[5])
            ux, uy, uz = _cross(b[3], b[4], b[5], g6[3], g6[4], g6[5])
            A[j, 0] += x + lx
            A[j, 1] += y + ly
            A[j, 2] += z + lz
            A[j, 3] += ux
            A[j, 4] += uy
            A[j, 5] += uz
        for j in range(joints - 1, -1, -1):
            if pair_start[j] < pair_start[j + 1]:
                # Motion of the link at its own origin, along its own axes.
                r00, r01, r02 = R[j, 0], R[j, 1], R[j, 2]
                r10, r11, r12 = R[j, 3], R[j, 4], R[j, 5]
                r20, r21, r22 = R[j, 6], R[j, 7], R[j, 8]
                ox, oy, oz = o[j, 0], o[j, 1], o[j, 2]
                x, y, z = _cross(V[j, 3], V[j, 4], V[j, 5], ox, oy, oz)
                x, y, z = x + V[j, 0], y + V[j, 1], z + V[j, 2]
                vx, vy, vz = _row_times(x, y, z, r00, r01, r02, r10, r11, r12, r20, r21, r22)
                wx, wy, wz = _row_times(V[j, 3], V[j, 4], V[j, 5], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                x, y, z = _cross(A[j, 3], A[j, 4], A[j, 5], ox, oy, oz)
                x, y, z = x + A[j, 0], y + A[j, 1], z + A[j, 2]
                x, y, z = _row_times(x, y, z, r00, r01, r02, r10, r11, r12, r20, r21, r22)
                bx, by, bz = _row_times(A[j, 3], A[j, 4], A[j, 5], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                cx, cy, cz = _cross(wx, wy, wz, vx, vy, vz)
                cx, cy, cz = cx + x, cy + y, cz + z
                ww = wx * wx + wy * wy + wz * wz
                # Slopes over the origin's acceleration c, the angular velocity w and acceleration b.
                Cx = Cy = Cz = Wx = Wy = Wz = Bx = By = Bz = 0.0
                for n in range(pair_start[j], pair_start[j + 1]):
                    r = pair_screw[n]
                    at = pair_base[n] + s * pair_stride[n]
                    column = pair_column[n]
                    m = _get(G, at, column[0])
                    hx, hy, hz = _get(G, at, column[1]), _get(G, at, column[2]), _get(G, at, column[3])
                    xx, xy, yy = _get(G, at, column[4]), _get(G, at, column[5]), _get(G, at, column[6])
                    xz, yz, zz = _get(G, at, column[7]), _get(G, at, column[8]), _get(G, at, column[9])
                    # The screw as the link sees it: linear l at its origin, angular u.
                    x, y, z = _cross(S[r, 3], S[r, 4], S[r, 5], ox, oy, oz)
                    x, y, z = x + S[r, 0], y + S[r, 1], z + S[r, 2]
                    lx, ly, lz = _row_times(x, y, z, r00, r01, r02, r10, r11, r12, r20, r21, r22)
                    ux, uy, uz = _row_times(S[r, 3], S[r, 4], S[r, 5], r00, r01, r02, r10, r11, r12, r20, r21, r22)
                    # l . (m c + b x h + w x (w x h)) + u . (h x c + I b + w x I w)
                    wh = wx * hx + wy * hy + wz * hz
                    lw = lx * wx + ly * wy + lz * wz
                    lh = lx * hx + ly * hy + lz * hz
                    x, y, z = _cross(ux, uy, uz, hx, hy, hz)
                    Cx, Cy, Cz = Cx + m * lx + x, Cy + m * ly + y, Cz + m * lz + z
                    x, y, z = _cross(hx, hy, hz, lx, ly, lz)
                    Bx += x + xx * ux + xy * uy + xz * uz
                    By += y + xy * ux + yy * uy + yz * uz
                    Bz += z + xz * ux + yz * uy + zz * uz
                    jx = xx * wx + xy * wy + xz * wz
                    jy = xy * wx + yy * wy + yz * wz
                    jz = xz * wx + yz * wy + zz * wz
                    ex, ey, ez = _cross(ux, uy, uz, wx, wy, wz)
                    x, y, z = _cross(jx, jy, jz, ux, uy, uz)
                    Wx += lx * wh + hx * lw - 2.0 * wx * lh + xx * ex + xy * ey + xz * ez + x
                    Wy += ly * wh + hy * lw - 2.0 * wy * lh + xy * ex + yy * ey + yz * ez + y
                    Wz += lz * wh + hz * lw - 2.0 * wz * lh + xz * ex + yz * ey + zz * ez + z
                    # The wrench, which is the slope over the screw, in the world.
                    x, y, z = _cross(bx, by, bz, hx, hy, hz)
                    fx = m * cx + x + wx * wh - hx * ww
                    fy = m * cy + y + wy * wh - hy * ww
                    fz = m * cz + z + wz * wh - hz * ww
                    x, y, z = _cross(hx, hy, hz, cx, cy, cz)
                    ex, ey, ez = _cross(wx, wy, wz, jx, jy, jz)
                    nx = x + xx * bx + xy * by + xz * bz + ex
                    ny = y + xy * bx + yy * by + yz * bz + ey
                    nz = z + xz * bx + yz * by + zz * bz + ez
                    fx, fy, fz = (
                        r00 * fx + r01 * fy + r02 * fz,
                        r10 * fx + r11 * fy + r12 * fz,
                        r20 * fx + r21 * fy + r22 * fz,
                    )
                    x, y, z = _cross(ox, oy, oz, fx, fy, fz)
                    nx, ny, nz = (
                        r00 * nx + r01 * ny + r02 * nz + x,
                        r10 * nx + r11 * ny + r12 * nz + y,
                        r20 * nx + r21 * ny + r22 * nz + z,
                    )
                    # S x* f: felt by all joints between the link and the row's own.
                    lx, ly, lz = _cross(S[r, 3], S[r, 4], S[r, 5], fx, fy, fz)
                    x, y, z = _cross(S[r, 3], S[r, 4], S[r, 5], nx, ny, nz)
                    ux, uy, uz = _cross(S[r, 0], S[r, 1], S[r, 2], fx, fy, fz)
                    ux, uy, uz = ux + x, uy + y, uz + z
                    i = screw_joint[r]
                    T[j, 0] += lx
                    T[j, 1] += ly
                    T[j, 2] += lz
                    T[j, 3] += ux
                    T[j, 4] += uy
                    T[j, 5] += uz
                    T[i, 0] -= lx
                    T[i, 1] -= ly
                    T[i, 2] -= lz
                    T[i, 3] -= ux
                    T[i, 4] -= uy
                    T[i, 5] -= uz
                # c = linear acceleration + w x linear velocity.
                x, y, z = _cross(vx, vy, vz, Cx, Cy, Cz)
                Wx, Wy, Wz = Wx + x, Wy + y, Wz + z
                vx, vy, vz = _cross(Cx, Cy, Cz, wx, wy, wz)
                x, y, z = r00 * Cx + r01 * Cy + r02 * Cz, r10 * Cx + r11 * Cy + r12 * Cz, r20 * Cx + r21 * Cy + r22 * Cz
                ux, uy, uz = _cross(ox, oy, oz, x, y, z)
                A_bar[j, 0] += x
                A_bar[j, 1] += y
                A_bar[j, 2] += z
                A_bar[j, 3] += r00 * Bx + r01 * By + r02 * Bz + ux
                A_bar[j, 4] += r10 * Bx + r11 * By + r12 * Bz + uy
                A_bar[j, 5] += r20 * Bx + r21 * By + r22 * Bz + uz
                x, y, z = r00 * vx + r01 * vy + r02 * vz, r10 * vx + r11 * vy + r12 * vz, r20 * vx + r21 * vy + r22 * vz
                ux, uy, uz = _cross(ox, oy, oz, x, y, z)
                V_bar[j, 0] += x
                V_bar[j, 1] += y
                V_bar[j, 2] += z
                V_bar[j, 3] += r00 * Wx + r01 * Wy + r02 * Wz + ux
                V_bar[j, 4] += r10 * Wx + r11 * Wy + r12 * Wz + uy
                V_bar[j, 5] += r20 * Wx + r21 * Wy + r22 * Wz + uz
            # A_j = A_i + S a + V_j x S v: to the joint's own motion, and to the parent.
            i = parent[j]
            b, c6 = A_bar[j], V_bar[j]
            l0, l1, l2, u0, u1, u2 = _force_cross(own[j], b)
            c6[0] += l0
            c6[1] += l1
            c6[2] += l2
            c6[3] += u0
            c6[4] += u1
            c6[5] += u2
            l0, l1, l2, u0, u1, u2 = _force_cross(V[j], b)  # the slope over S v is c6 less this
            lx, ly, lz, ux, uy, uz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if i >= 0:
                lx, ly, lz, ux, uy, uz = _force_cross(V[i], c6)
                x, y, z, ex, ey, ez = _force_cross(A[i], b)
                lx, ly, lz, ux, uy, uz = lx + x, ly + y, lz + z, ux + ex, uy + ey, uz + ez
                for n in range(6):
                    V_bar[i, n] += c6[n]
                    A_bar[i, n] += b[n]
                    T[i, n] += T[j, n]
            else:
                x, y, z = _cross(-gravity[0], -gravity[1], -gravity[2], b[0], b[1], b[2])
                ux, uy, uz = x, y, z
            lx, ly, lz = lx + T[j, 0], ly + T[j, 1], lz + T[j, 2]
            ux, uy, uz = ux + T[j, 3], uy + T[j, 4], uz + T[j, 5]
            for n in range(screw_start[j], screw_start[j + 1]):
                c = v_column[j] + n - screw_start[j]
                p = S[n]
                q_slope[s, c] -= p[0] * lx + p[1] * ly + p[2] * lz + p[3] * ux + p[4] * uy + p[5] * uz
                v_slope[s, c] += (
                    p[0] * (c6[0] - l0) + p[1] * (c6[1] - l1) + p[2] * (c6[2] - l2)
                    + p[3] * (c6[3] - u0) + p[4] * (c6[4] - u1) + p[5] * (c6[5] - u2)
                )  # fmt: skip
                a_slope[s, c] += (
                    p[0] * b[0] + p[1] * b[1] + p[2] * b[2] + p[3] * b[3] + p[4] * b[4] + p[5] * b[5]
                )  # fmt: skip


@njit(cache=True, nogil=True, inline="always")
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True, nogil=True, inline="always")
def _row_times(x, y, z, r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """A row (x, y, z) times a matrix: also the matrix's transpose times a column."""
    return x * r00 + y * r10 + z * r20, x * r01 + y * r11 + z * r21, x * r02 + y * r12 + z * r22


@njit(cache=True, nogil=True, inline="always")
def _force_cross(m, f):
    """Cross product x* of a motion and a force, both (linear; angular)."""
    return (
        m[4] * f[2] - m[5] * f[1],
        m[5] * f[0] - m[3] * f[2],
        m[3] * f[1] - m[4] * f[0],
        m[4] * f[5] - m[5] * f[4] + m[1] * f[2] - m[2] * f[1],
        m[5] * f[3] - m[3] * f[5] + m[2] * f[0] - m[0] * f[2],
        m[3] * f[4] - m[4] * f[3] + m[0] * f[1] - m[1] * f[0],
    )


@njit(cache=True, nogil=True, inline="always")
def _get(values, at, column):
    """A number at its column; a column below zero is not there."""
    return values[at + column] if column >= 0 else 0.0
