"""The observation matrix and its adjoint with NumPy: the path without compilation, and the readable form of the kernel.

For every link, its velocity and acceleration give a (6, 10) block that maps the link's parameters to the wrench it
needs; that wrench is carried down the tree, and each joint on the way feels the part along its own motion. All arrays
are batched: a leading axis of samples, and matrix products over the last two. See `compiled_adjoint` for the method of
the adjoint; here all vectors of a link stand in its own frame and are carried to its parent.
"""

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array, Indices
from dynid.robot import INERTIA_BASIS, SIZE, WORLD, Robot, skew


def vectorised_regressor(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """The observation matrix of the links' inertial parameters, shape (nv, samples, 10 * solid links).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq), checked by `Robot.states`.
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
    """
    W = np.zeros((robot.nv, len(q), SIZE * len(robot.solid_links)))
    row_of = np.concatenate([np.arange(joint.v.start, joint.v.stop) for joint in robot.joints])
    for block, (_, screws, values) in enumerate(link_blocks(robot, q, v, a)):
        # Rows of mimic joints are their leaders', so that one row may stand here several times.
        np.add.at(W[:, :, SIZE * block : SIZE * (block + 1)], row_of[screws], values.transpose(1, 0, 2))
    return W


def link_blocks(robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, Indices, Array]]:
    """Torques per unit of each solid link's parameters along the unit motions (screws) of the joints that move it.

    Screws are counted joint by joint. Those below a link are carried up the tree once, all together, so that the work
    for a link is a few products of matrices, however many joints move it.

    Yields:
        The link, the screws, and the values, shape (samples, screws, 10).
    """
    rotations, translations, velocities, accelerations = kinematics(robot, q, v, a)
    first = np.cumsum([0, *(joint.kind.nv for joint in robot.joints)])
    last_child = {joint.parent: i for i, joint in enumerate(robot.joints)}
    solid = set(robot.solid_links)
    carried: dict[int, tuple[Indices, Array]] = {WORLD: (np.zeros(0, dtype=np.intp), np.zeros((len(q), 0, 6)))}
    for i, joint in enumerate(robot.joints):
        below, motions = carried[joint.parent] if last_child[joint.parent] != i else carried.pop(joint.parent)
        linear = (motions[:, :, :3] + motions[:, :, 3:] @ skew(translations[i])) @ rotations[i]
        own = np.broadcast_to(joint.subspace.T, (len(q), joint.kind.nv, 6))
        motions = np.concatenate([np.concatenate([linear, motions[:, :, 3:] @ rotations[i]], axis=2), own], axis=1)
        screws = np.concatenate([below, np.arange(first[i], first[i + 1])])
        if i in last_child:
            carried[i] = screws, motions
        if i in solid:
            yield i, screws, motions @ body_regressor(velocities[i], accelerations[i])


def kinematics(robot: Robot, q: Array, v: Array, a: Array) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """Poses in the parent's frame, and spatial velocities and accelerations in the own frame, of all joints.

    The ground is accelerated against gravity, so that every link's acceleration contains it.
    """
    samples = len(q)
    ground_velocity = np.zeros((samples, 6))
    ground_acceleration = np.tile(np.concatenate([-robot.gravity, np.zeros(3)]), (samples, 1))
    rotations: list[Array] = []
    translations: list[Array] = []
    velocities: list[Array] = []
    accelerations: list[Array] = []
    for joint in robot.joints:
        R, p = joint.move(q)
        below = joint.parent
        velocity_below = ground_velocity if below == WORLD else velocities[below]
        acceleration_below = ground_acceleration if below == WORLD else accelerations[below]
        own = v[:, joint.v] @ joint.subspace.T
        velocity = _carried(velocity_below, R, p) + own
        bias = _motion_cross(velocity, own)
        rotations.append(R)
        translations.append(p)
        velocities.append(velocity)
        accelerations.append(_carried(acceleration_below, R, p) + a[:, joint.v] @ joint.subspace.T + bias)
    return rotations, translations, velocities, accelerations


def _carried(motion: Array, R: Array, p: Array) -> Array:
    """A motion (linear; angular) of the parent, at and along the child's frame; shape (samples, 6)."""
    linear = motion[:, :3] + np.cross(motion[:, 3:], p)
    return np.concatenate([_in_child(R, linear), _in_child(R, motion[:, 3:])], axis=1)


def _in_child(R: Array, vectors: Array) -> Array:
    return np.einsum("sji,sj->si", R, vectors)


def body_regressor(velocity: Array, acceleration: Array) -> Array:
    """Wrench (force; moment) that a body needs, per unit of its ten parameters; shape (samples, 6, 10).

    With w the angular velocity, x' the acceleration of the frame's origin (gravity in it), h the first moment and I
    the inertia matrix: force = m x' + w' x h + w x (w x h), moment = h x x' + I w' + w x I w.
    """
    w, w_dot = velocity[:, 3:], acceleration[:, 3:]
    origin = acceleration[:, :3] + np.cross(w, velocity[:, :3])
    Sw = skew(w)
    block = np.zeros((len(w), 6, SIZE))
    block[:, :3, 0] = origin
    block[:, :3, 1:4] = skew(w_dot) + Sw @ Sw
    block[:, 3:, 1:4] = -skew(origin)
    block[:, 3:, 4:] = _inertia_times(w_dot) + Sw @ _inertia_times(w)
    return block


def _inertia_times(vectors: Array) -> Array:
    """Matrices L(x) with L(x) (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I x; (samples, 3) to (samples, 3, 6)."""
    return np.einsum("kij,sj->sik", INERTIA_BASIS, vectors)


def vectorised_slopes(robot: Robot, q: Array, v: Array, a: Array, G: Array) -> tuple[Array, Array, Array]:
    """Slopes of `sum G * W` over positions, velocities and accelerations, each of shape (samples, nv).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq), checked by `Robot.states`.
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        G: Slopes over W, shape (nv, samples, 10 * solid links).
    """
    rotations, translations, velocities, accelerations = kinematics(robot, q, v, a)
    samples, joints = len(q), robot.joints
    # The last is the wrench that does work when the joint frame moves.
    over_velocity, over_acceleration, over_pose = np.zeros((3, len(joints), samples, 6))
    for block, i in enumerate(robot.solid_links):
        columns = slice(SIZE * block, SIZE * (block + 1))
        body = body_regressor(velocities[i], accelerations[i])
        for at, screws in screws_below(robot, i, rotations, translations):
            joint = joints[at]
            for k, screw in enumerate(screws):
                p = G[joint.v.start + k][:, columns]
                of_velocity, of_acceleration = _over_motion(velocities[i], screw, p)
                over_velocity[i] += of_velocity
                over_acceleration[i] += of_acceleration
                wrench = np.einsum("skp,sp->sk", body, p)
                moved = _force_cross(screw, wrench)
                over_pose[i] += moved
                over_pose[at] -= _carried_down(moved, i, at, robot, rotations, translations)
    over_q, over_v, over_a = np.zeros((3, samples, robot.nv))
    for i in reversed(range(len(joints))):
        joint, S = joints[i], joints[i].subspace
        own = v[:, joint.v] @ S.T
        over_velocity[i] += _force_cross(own, over_acceleration[i])
        below_v = velocities[i] - own
        bias = _motion_cross(velocities[i], own)
        below_a = accelerations[i] - a[:, joint.v] @ S.T - bias
        turned = _force_cross(below_v, over_velocity[i]) + _force_cross(below_a, over_acceleration[i]) + over_pose[i]
        over_q[:, joint.v] -= turned @ S
        over_v[:, joint.v] += (over_velocity[i] - _force_cross(velocities[i], over_acceleration[i])) @ S
        over_a[:, joint.v] += over_acceleration[i] @ S
        if joint.parent != WORLD:
            for over in (over_velocity, over_acceleration, over_pose):
                over[joint.parent] += _to_parent(over[i], rotations[i], translations[i])
    return over_q, over_v, over_a


def screws_below(robot: Robot, link: int, rotations: list[Array], translations: list[Array]):
    """For each joint that moves a link, its unit motions as the link sees them, each of shape (samples, 6)."""
    samples = len(rotations[link])
    R, p = np.broadcast_to(np.eye(3), (samples, 3, 3)), np.zeros((samples, 3))  # the link in the joint's frame
    for at in robot.chain(link):
        screws = []
        for motion in robot.joints[at].subspace.T:
            linear = motion[:3] + np.cross(motion[3:], p)
            angular = np.broadcast_to(motion[3:], (samples, 3))
            screws.append(np.concatenate([np.einsum("sji,sj->si", R, x) for x in (linear, angular)], axis=1))
        yield at, screws
        p = np.einsum("sij,sj->si", rotations[at], p) + translations[at]
        R = rotations[at] @ R


def _over_motion(velocity: Array, screw: Array, p: Array) -> tuple[Array, Array]:
    """Slopes of `screw . (Y p)` over a link's velocity and acceleration, each of shape (samples, 6).

    With t and u the screw's linear and angular parts, h and I those of the parameters p, it is
    t . (m c + b x h + w x (w x h)) + u . (h x c + I b + w x I w), with c = linear acceleration + w x linear velocity.
    """
    w, linear = velocity[:, 3:], velocity[:, :3]
    t, u = screw[:, :3], screw[:, 3:]
    m, h = p[:, :1], p[:, 1:4]
    inertia = np.einsum("sk,kij->sij", p[:, 4:], INERTIA_BASIS)

    def times(x: Array) -> Array:
        return np.einsum("sij,sj->si", inertia, x)

    def dot(x: Array, y: Array) -> Array:
        return np.sum(x * y, axis=1, keepdims=True)

    over_c = m * t + np.cross(u, h)
    over_b = np.cross(h, t) + times(u)
    over_w = t * dot(w, h) + h * dot(t, w) - 2 * w * dot(t, h) + times(np.cross(u, w)) + np.cross(times(w), u)
    over_w = over_w + np.cross(linear, over_c)
    return (
        np.concatenate([np.cross(over_c, w), over_w], axis=1),
        np.concatenate([over_c, over_b], axis=1),
    )


def _motion_cross(one: Array, other: Array) -> Array:
    return np.concatenate(
        [np.cross(one[:, 3:], other[:, :3]) + np.cross(one[:, :3], other[:, 3:]), np.cross(one[:, 3:], other[:, 3:])],
        axis=1,
    )


def _force_cross(motion: Array, force: Array) -> Array:
    return np.concatenate(
        [
            np.cross(motion[:, 3:], force[:, :3]),
            np.cross(motion[:, 3:], force[:, 3:]) + np.cross(motion[:, :3], force[:, :3]),
        ],
        axis=1,
    )


def _to_parent(wrench: Array, R: Array, p: Array) -> Array:
    """A wrench in a link's frame, in its parent's."""
    force = np.einsum("sij,sj->si", R, wrench[:, :3])
    return np.concatenate([force, np.einsum("sij,sj->si", R, wrench[:, 3:]) + np.cross(p, force)], axis=1)


def _carried_down(wrench: Array, link: int, to: int, robot: Robot, rotations: list[Array], translations: list[Array]):
    """A wrench in a link's frame, in that of a joint below it."""
    while link != to:
        wrench = _to_parent(wrench, rotations[link], translations[link])
        link = robot.joints[link].parent
    return wrench
