"""The compiled kernel of the observation matrix. Import it only where it is used: Numba is slow to import.

For each sample the tree is walked once. A link's velocity and acceleration come from its parent's, in its own frame.
The unit motions of the joints below it are kept as screws in the world: direction z and moment o x z of an axis through
o. Seen from the link, such a screw is a linear part l at the link's origin and an angular part u, and the link's block
in that joint's row is, with w and w' the angular velocity and acceleration and x' the acceleration of the origin:

* mass: l . x'
* first moments: l' (S(w') + S(w)^2) + x' x u
* inertia: the coefficients of u . (I w') + (u x w) . (I w)

which costs about 110 multiplications and additions for ten numbers.

The same walk gives rows without accelerations. A joint's impulse, what of its torque does not change its momentum, is
that block with -V x S for the motion, the link's velocity for its acceleration and no squares, and that of gravity with
S. A link's energy takes its velocity and height only. `formulations.energy` has both with NumPy.

`fill` is one function on purpose: split up, Numba counts references to its arrays for every link, and is four times as
slow.
"""

import math
from typing import Any

import numpy as np

from dynid.model.kernels.cached_code import njit

ANGULAR, PRISMATIC, SPHERICAL, FREE_FLYER = 0, 1, 2, 3
"""Kinds of joints in tables."""

IMPULSE, ENERGY = 1, 2
"""What is written; None for torques, so that Numba leaves out of that kernel what is not for it."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def fill(  # noqa: C901 (one function on purpose)
    kind, parent, rotation, rotation_sine, rotation_versine, translation, slide, axis, ratio, offset,
    q_column, v_column, screw_start, screw_axis, screw_is_linear,
    pair_start, pair_screw, pair_adds, pair_base, pair_stride, pair_column,
    gravity, form, q, v, a, out, begin, end,
):  # fmt: skip
    """Write the blocks of samples begin to end; `kernel.RegressorPlan` makes the tables and says what they hold."""
    joints = len(kind)
    state = np.zeros((joints, 24))  # R (9), o (3), velocity (3, 3), acceleration (3, 3)
    screws = np.zeros((len(screw_is_linear), 6))  # z (3), moment or direction (3)
    turning = np.zeros((len(screw_is_linear), 6))  # how these change: V x S
    for s in range(begin, end):
        for j in range(joints):
            # Where the joint is in its parent's frame, and how it moves in its own.
            tx, ty, tz = translation[j, 0], translation[j, 1], translation[j, 2]
            vx = vy = vz = wx = wy = wz = 0.0
            ax = ay = az = bx = by = bz = 0.0
            r00, r01, r02 = rotation[j, 0, 0], rotation[j, 0, 1], rotation[j, 0, 2]
            r10, r11, r12 = rotation[j, 1, 0], rotation[j, 1, 1], rotation[j, 1, 2]
            r20, r21, r22 = rotation[j, 2, 0], rotation[j, 2, 1], rotation[j, 2, 2]
            c = v_column[j]
            if kind[j] == ANGULAR:
                half = 0.5 * (ratio[j] * q[s, q_column[j]] + offset[j])
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
                d, dd = ratio[j] * v[s, c], ratio[j] * a[s, c]
                wx, wy, wz = d * axis[j, 0], d * axis[j, 1], d * axis[j, 2]
                bx, by, bz = dd * axis[j, 0], dd * axis[j, 1], dd * axis[j, 2]
            elif kind[j] == PRISMATIC:
                x = ratio[j] * q[s, q_column[j]] + offset[j]
                tx, ty, tz = tx + x * slide[j, 0], ty + x * slide[j, 1], tz + x * slide[j, 2]
                d, dd = ratio[j] * v[s, c], ratio[j] * a[s, c]
                vx, vy, vz = d * axis[j, 0], d * axis[j, 1], d * axis[j, 2]
                ax, ay, az = dd * axis[j, 0], dd * axis[j, 1], dd * axis[j, 2]
            else:
                k = q_column[j]
                if kind[j] == FREE_FLYER:
                    x, y, z = q[s, k], q[s, k + 1], q[s, k + 2]
                    tx += r00 * x + r01 * y + r02 * z
                    ty += r10 * x + r11 * y + r12 * z
                    tz += r20 * x + r21 * y + r22 * z
                    vx, vy, vz = v[s, c], v[s, c + 1], v[s, c + 2]
                    ax, ay, az = a[s, c], a[s, c + 1], a[s, c + 2]
                    k, c = k + 3, c + 3
                wx, wy, wz = v[s, c], v[s, c + 1], v[s, c + 2]
                bx, by, bz = a[s, c], a[s, c + 1], a[s, c + 2]
                x, y, z, w = q[s, k], q[s, k + 1], q[s, k + 2], q[s, k + 3]
                f = 2.0 / (x * x + y * y + z * z + w * w)
                e00, e01, e02 = 1.0 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y)
                e10, e11, e12 = f * (x * y + w * z), 1.0 - f * (x * x + z * z), f * (y * z - w * x)
                e20, e21, e22 = f * (x * z - w * y), f * (y * z + w * x), 1.0 - f * (x * x + y * y)
                r00, r01, r02 = (
                    r00 * e00 + r01 * e10 + r02 * e20,
                    r00 * e01 + r01 * e11 + r02 * e21,
                    r00 * e02 + r01 * e12 + r02 * e22,
                )
                r10, r11, r12 = (
                    r10 * e00 + r11 * e10 + r12 * e20,
                    r10 * e01 + r11 * e11 + r12 * e21,
                    r10 * e02 + r11 * e12 + r12 * e22,
                )
                r20, r21, r22 = (
                    r20 * e00 + r21 * e10 + r22 * e20,
                    r20 * e01 + r21 * e11 + r22 * e21,
                    r20 * e02 + r21 * e12 + r22 * e22,
                )
            # The parent; the ground is accelerated against gravity.
            i = parent[j]
            if i < 0:
                R00, R01, R02, R10, R11, R12, R20, R21, R22 = r00, r01, r02, r10, r11, r12, r20, r21, r22
                ox, oy, oz = tx, ty, tz
                lx, ly, lz, mx, my, mz = -gravity[0], -gravity[1], -gravity[2], 0.0, 0.0, 0.0
                ux = uy = uz = nx = ny = nz = 0.0
            else:
                p = state[i]
                R00 = p[0] * r00 + p[1] * r10 + p[2] * r20
                R01 = p[0] * r01 + p[1] * r11 + p[2] * r21
                R02 = p[0] * r02 + p[1] * r12 + p[2] * r22
                R10 = p[3] * r00 + p[4] * r10 + p[5] * r20
                R11 = p[3] * r01 + p[4] * r11 + p[5] * r21
                R12 = p[3] * r02 + p[4] * r12 + p[5] * r22
                R20 = p[6] * r00 + p[7] * r10 + p[8] * r20
                R21 = p[6] * r01 + p[7] * r11 + p[8] * r21
                R22 = p[6] * r02 + p[7] * r12 + p[8] * r22
                ox = p[9] + p[0] * tx + p[1] * ty + p[2] * tz
                oy = p[10] + p[3] * tx + p[4] * ty + p[5] * tz
                oz = p[11] + p[6] * tx + p[7] * ty + p[8] * tz
                nx, ny, nz = p[15], p[16], p[17]
                ux = p[12] + ny * tz - nz * ty
                uy = p[13] + nz * tx - nx * tz
                uz = p[14] + nx * ty - ny * tx
                mx, my, mz = p[21], p[22], p[23]
                lx = p[18] + my * tz - mz * ty
                ly = p[19] + mz * tx - mx * tz
                lz = p[20] + mx * ty - my * tx
            # Velocity and acceleration (linear, angular) of the link in its own frame.
            Vx = r00 * ux + r10 * uy + r20 * uz + vx
            Vy = r01 * ux + r11 * uy + r21 * uz + vy
            Vz = r02 * ux + r12 * uy + r22 * uz + vz
            Wx = r00 * nx + r10 * ny + r20 * nz + wx
            Wy = r01 * nx + r11 * ny + r21 * nz + wy
            Wz = r02 * nx + r12 * ny + r22 * nz + wz
            Ax = r00 * lx + r10 * ly + r20 * lz + ax + Wy * vz - Wz * vy + Vy * wz - Vz * wy
            Ay = r01 * lx + r11 * ly + r21 * lz + ay + Wz * vx - Wx * vz + Vz * wx - Vx * wz
            Az = r02 * lx + r12 * ly + r22 * lz + az + Wx * vy - Wy * vx + Vx * wy - Vy * wx
            Bx = r00 * mx + r10 * my + r20 * mz + bx + Wy * wz - Wz * wy
            By = r01 * mx + r11 * my + r21 * mz + by + Wz * wx - Wx * wz
            Bz = r02 * mx + r12 * my + r22 * mz + bz + Wx * wy - Wy * wx
            t = state[j]
            t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8] = R00, R01, R02, R10, R11, R12, R20, R21, R22
            t[9], t[10], t[11] = ox, oy, oz
            t[12], t[13], t[14], t[15], t[16], t[17] = Vx, Vy, Vz, Wx, Wy, Wz
            t[18], t[19], t[20], t[21], t[22], t[23] = Ax, Ay, Az, Bx, By, Bz
            # The joint's unit motions, in the world.
            for n in range(screw_start[j], screw_start[j + 1]):
                x, y, z = screw_axis[n, 0], screw_axis[n, 1], screw_axis[n, 2]
                zx = R00 * x + R01 * y + R02 * z
                zy = R10 * x + R11 * y + R12 * z
                zz = R20 * x + R21 * y + R22 * z
                b = screws[n]
                if screw_is_linear[n]:
                    b[0], b[1], b[2], b[3], b[4], b[5] = 0.0, 0.0, 0.0, zx, zy, zz
                else:
                    b[0], b[1], b[2] = zx, zy, zz
                    b[3], b[4], b[5] = oy * zz - oz * zy, oz * zx - ox * zz, ox * zy - oy * zx
                if form is not None:
                    nx = R00 * Wx + R01 * Wy + R02 * Wz
                    ny = R10 * Wx + R11 * Wy + R12 * Wz
                    nz = R20 * Wx + R21 * Wy + R22 * Wz
                    ux = R00 * Vx + R01 * Vy + R02 * Vz + oy * nz - oz * ny
                    uy = R10 * Vx + R11 * Vy + R12 * Vz + oz * nx - ox * nz
                    uz = R20 * Vx + R21 * Vy + R22 * Vz + ox * ny - oy * nx
                    d = turning[n]
                    d[0], d[1], d[2] = ny * b[2] - nz * b[1], nz * b[0] - nx * b[2], nx * b[1] - ny * b[0]
                    d[3] = ny * b[5] - nz * b[4] + uy * b[2] - uz * b[1]
                    d[4] = nz * b[3] - nx * b[5] + uz * b[0] - ux * b[2]
                    d[5] = nx * b[4] - ny * b[3] + ux * b[1] - uy * b[0]
            # Rows without accelerations: gravity along the link's frame, then the link's numbers.
            if form is not None:
                gx = R00 * gravity[0] + R10 * gravity[1] + R20 * gravity[2]
                gy = R01 * gravity[0] + R11 * gravity[1] + R21 * gravity[2]
                gz = R02 * gravity[0] + R12 * gravity[1] + R22 * gravity[2]
                for n in range(pair_start[j], pair_start[j + 1]):
                    at = pair_base[n] + s * pair_stride[n]
                    column = pair_column[n]
                    adds = pair_adds[n]
                    if form == ENERGY:
                        height = ox * gravity[0] + oy * gravity[1] + oz * gravity[2]
                        _put(out, at, column[0], adds, 0.5 * (Vx * Vx + Vy * Vy + Vz * Vz) - height)
                        _put(out, at, column[1], adds, Vy * Wz - Vz * Wy - gx)
                        _put(out, at, column[2], adds, Vz * Wx - Vx * Wz - gy)
                        _put(out, at, column[3], adds, Vx * Wy - Vy * Wx - gz)
                        _put(out, at, column[4], adds, 0.5 * Wx * Wx)
                        _put(out, at, column[5], adds, Wx * Wy)
                        _put(out, at, column[6], adds, 0.5 * Wy * Wy)
                        _put(out, at, column[7], adds, Wx * Wz)
                        _put(out, at, column[8], adds, Wy * Wz)
                        _put(out, at, column[9], adds, 0.5 * Wz * Wz)
                        continue
                    b = screws[pair_screw[n]]
                    x = b[3] + b[1] * oz - b[2] * oy
                    y = b[4] + b[2] * ox - b[0] * oz
                    z = b[5] + b[0] * oy - b[1] * ox
                    lx = R00 * x + R10 * y + R20 * z
                    ly = R01 * x + R11 * y + R21 * z
                    lz = R02 * x + R12 * y + R22 * z
                    ux = R00 * b[0] + R10 * b[1] + R20 * b[2]
                    uy = R01 * b[0] + R11 * b[1] + R21 * b[2]
                    uz = R02 * b[0] + R12 * b[1] + R22 * b[2]
                    d = turning[pair_screw[n]]
                    x = d[3] + d[1] * oz - d[2] * oy
                    y = d[4] + d[2] * ox - d[0] * oz
                    z = d[5] + d[0] * oy - d[1] * ox
                    mx = R00 * x + R10 * y + R20 * z
                    my = R01 * x + R11 * y + R21 * z
                    mz = R02 * x + R12 * y + R22 * z
                    nx = R00 * d[0] + R10 * d[1] + R20 * d[2]
                    ny = R01 * d[0] + R11 * d[1] + R21 * d[2]
                    nz = R02 * d[0] + R12 * d[1] + R22 * d[2]
                    of_mass = lx * gx + ly * gy + lz * gz + mx * Vx + my * Vy + mz * Vz
                    of_x = gy * uz - gz * uy + Vy * nz - Vz * ny + my * Wz - mz * Wy
                    of_y = gz * ux - gx * uz + Vz * nx - Vx * nz + mz * Wx - mx * Wz
                    of_z = gx * uy - gy * ux + Vx * ny - Vy * nx + mx * Wy - my * Wx
                    _put(out, at, column[0], adds, -of_mass)
                    _put(out, at, column[1], adds, -of_x)
                    _put(out, at, column[2], adds, -of_y)
                    _put(out, at, column[3], adds, -of_z)
                    _put(out, at, column[4], adds, -nx * Wx)
                    _put(out, at, column[5], adds, -nx * Wy - ny * Wx)
                    _put(out, at, column[6], adds, -ny * Wy)
                    _put(out, at, column[7], adds, -nx * Wz - nz * Wx)
                    _put(out, at, column[8], adds, -ny * Wz - nz * Wy)
                    _put(out, at, column[9], adds, -nz * Wz)
                continue
            # The link's block in the row of every joint that moves it.
            cx = Ax + Wy * Vz - Wz * Vy
            cy = Ay + Wz * Vx - Wx * Vz
            cz = Az + Wx * Vy - Wy * Vx
            xx, yy, zz, xy, xz, yz = Wx * Wx, Wy * Wy, Wz * Wz, Wx * Wy, Wx * Wz, Wy * Wz
            h00, h01, h02 = -yy - zz, xy - Bz, xz + By
            h10, h11, h12 = xy + Bz, -xx - zz, yz - Bx
            h20, h21, h22 = xz - By, yz + Bx, -xx - yy
            for n in range(pair_start[j], pair_start[j + 1]):
                b = screws[pair_screw[n]]
                zx, zy, zz = b[0], b[1], b[2]
                x = b[3] + zy * oz - zz * oy
                y = b[4] + zz * ox - zx * oz
                z = b[5] + zx * oy - zy * ox
                lx = R00 * x + R10 * y + R20 * z
                ly = R01 * x + R11 * y + R21 * z
                lz = R02 * x + R12 * y + R22 * z
                ux = R00 * zx + R10 * zy + R20 * zz
                uy = R01 * zx + R11 * zy + R21 * zz
                uz = R02 * zx + R12 * zy + R22 * zz
                ex, ey, ez = uy * Wz - uz * Wy, uz * Wx - ux * Wz, ux * Wy - uy * Wx
                at = pair_base[n] + s * pair_stride[n]
                column = pair_column[n]
                adds = pair_adds[n]
                _put(out, at, column[0], adds, lx * cx + ly * cy + lz * cz)
                _put(out, at, column[1], adds, lx * h00 + ly * h10 + lz * h20 + cy * uz - cz * uy)
                _put(out, at, column[2], adds, lx * h01 + ly * h11 + lz * h21 + cz * ux - cx * uz)
                _put(out, at, column[3], adds, lx * h02 + ly * h12 + lz * h22 + cx * uy - cy * ux)
                _put(out, at, column[4], adds, ux * Bx + ex * Wx)
                _put(out, at, column[5], adds, ux * By + uy * Bx + ex * Wy + ey * Wx)
                _put(out, at, column[6], adds, uy * By + ey * Wy)
                _put(out, at, column[7], adds, ux * Bz + uz * Bx + ex * Wz + ez * Wx)
                _put(out, at, column[8], adds, uy * Bz + uz * By + ey * Wz + ez * Wy)
                _put(out, at, column[9], adds, uz * Bz + ez * Wz)


@njit(cache=True, nogil=True, inline="always")
def _put(out, at, column, adds, value):
    """Write a number to its column, or add it there; a column below zero is not wanted."""
    if column >= 0:
        if adds:
            out[at + column] += value
        else:
            out[at + column] = value


def is_cached(function: Any = fill) -> bool:
    """Whether a kernel was compiled before, by this version on this machine."""
    try:
        cache: Any = function._cache
        index = cache._cache_file._load_index()  # Numba has no public way to ask before it compiles
    except Exception:
        return False
    return bool(index)
