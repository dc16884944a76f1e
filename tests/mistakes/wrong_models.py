"""Mistakes in the robot's file and in the terms, and robots that are not as users think."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import Robot
from dynid.arrays import Array, frozen
from dynid.robot import inertia
from tests.mistakes import vocabulary as codes
from tests.mistakes.mistaken import Given, Mistaken, Rng, kind
from tests.mistakes.recordings import Effect, Recording, States


def placed(robot: Robot, joint: int, move: Array | None = None, turn: Array | None = None, scale: float = 1.0) -> Robot:
    """A robot with a joint elsewhere in the link that carries it: moved [m], turned [rad], its distance scaled."""
    joints = list(robot.joints)
    placement = joints[joint].placement.copy()
    placement[:3, 3] = scale * placement[:3, 3] + (0.0 if move is None else move)
    if turn is not None:
        placement[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ placement[:3, :3]
    joints[joint] = replace(joints[joint], placement=frozen(placement))
    return replace(robot, joints=tuple(joints))


def with_zero(robot: Robot, joint: int, shift: float) -> Robot:
    """The same robot, whose joint reads so much more [rad] in the same place."""
    axis = robot.joints[joint].axis
    joints = list(robot.joints)
    placement = joints[joint].placement.copy()
    placement[:3, :3] = placement[:3, :3] @ Rotation.from_rotvec(-shift * axis).as_matrix()
    limits = replace(joints[joint].limits, lower=-np.inf, upper=np.inf)
    joints[joint] = replace(joints[joint], placement=frozen(placement), limits=limits)
    return replace(robot, joints=tuple(joints))


def _with_robot(r: Recording, robot: Robot, joint: int | None = None) -> Mistaken:
    return Mistaken(replace(Given.of(r), robot=robot), r, () if joint is None else (r.joints[joint],))


def _direction(rng: Rng) -> Array:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


@kind("gravity inverted", codes.GRAVITY)
def gravity_inverted(r: Recording, rng: Rng) -> Mistaken:
    return _with_robot(r, replace(r.robot, gravity=frozen(-r.robot.gravity)))


@kind("gravity along x", codes.GRAVITY)
def gravity_along_x(r: Recording, rng: Rng) -> Mistaken:
    return _with_robot(r, replace(r.robot, gravity=frozen((9.81, 0.0, 0.0))))


@kind("base tilted by 3 degrees", codes.GRAVITY | codes.TILT, degrees=3.0)
@kind("base tilted by 10 degrees", codes.GRAVITY | codes.TILT, degrees=10.0)
def base_tilted(r: Recording, rng: Rng, degrees: float) -> Mistaken:
    """A first joint that is tilted in its base is the same."""
    heading = rng.uniform(0, 2 * np.pi)
    turn = np.radians(degrees) * np.array([np.cos(heading), np.sin(heading), 0.0])
    return _with_robot(r, replace(r.robot, gravity=frozen(Rotation.from_rotvec(turn).apply(r.robot.gravity.copy()))), 0)


@kind("joint 3 cm elsewhere", codes.PLACE, metres=0.03)
@kind("joint 6 cm elsewhere", codes.PLACE, metres=0.06)
@kind("joint 10 cm elsewhere", codes.PLACE, metres=0.1)
def displaced(r: Recording, rng: Rng, metres: float) -> Mistaken:
    """The first joint's place has no effect, so another is taken."""
    k = int(rng.integers(1, r.robot.nv))
    move = metres * float(rng.choice([-1.0, 1.0])) * np.eye(3)[rng.integers(3)]
    return _with_robot(r, placed(r.robot, k, move=move), k)


@kind("joint tilted by 5 degrees", codes.TILT | codes.ZERO)
def tilted(r: Recording, rng: Rng) -> Mistaken:
    """A turn about the joint's own axis, or about that of the one before it, is a wrong zero."""
    k = int(rng.integers(1, r.robot.nv))
    return _with_robot(r, placed(r.robot, k, turn=np.radians(5.0) * _direction(rng)), k)


@kind("all lengths x 1.1", codes.GEOMETRY)
def wrong_robot(r: Recording, rng: Rng) -> Mistaken:
    """A larger arm of the same family: any misplaced joint is a right hint, and so is another scale of time.

    Torques of a model with all lengths times s are those of the true one with time times the root of s: only ratios of
    gravity to inertia show either.
    """
    robot = r.robot
    for k in range(robot.nv):
        robot = placed(robot, k, scale=1.1)
    return _with_robot(r, robot)


def with_body(r: Recording, link: int, body: Array) -> Recording:
    """The recording with a body on a link, counted from 0."""
    p = r.wanted(r.model.names)
    p[inertia.SIZE * link : inertia.SIZE * (link + 1)] += body
    return r.but(parameters=p)


@kind("payload of 0.3 kg", codes.PAYLOAD, mass=0.3, last=True)
@kind("payload of 3 kg", codes.PAYLOAD, mass=3.0, last=True)
@kind("body of 2 kg on a middle link", codes.PAYLOAD, mass=2.0, last=False)
def payload(r: Recording, rng: Rng, mass: float, last: bool) -> Mistaken:
    """It shows only in the comparison with the file, which is right here."""
    n = len(r.robot.solid_links)
    link = n - 1 if last else int(rng.integers(1, n - 1))
    body = inertia.from_mass_com_inertia(mass, rng.uniform(-0.1, 0.1, 3), 0.003 * mass * np.eye(3))
    changed = with_body(r, link, body)
    return Mistaken(Given.of(changed), changed)


@kind("viscous friction missing", codes.FRICTION, terms=("coulomb", "armature"))
@kind("Coulomb friction missing", codes.FRICTION, terms=("viscous", "armature"))
@kind("all friction missing", codes.FRICTION, terms=("armature",))
@kind("motor inertia missing", codes.ARMATURE, terms=("viscous", "coulomb"))
def terms_missing(r: Recording, rng: Rng, terms: tuple[str, ...]) -> Mistaken:
    return Mistaken(replace(Given.of(r), terms=terms), r)


def _sizes(r: Recording) -> Array:
    """Root mean square torque of each joint, shape (joints,)."""
    torque = replace(r, effects=()).exact[1]
    sizes = np.sqrt(np.mean(torque**2, axis=0))
    return np.maximum(sizes, 0.1 * sizes.max())


def on_joint(joint: int, effect: Effect) -> Effect:
    """An effect on one joint only."""

    def alone(t: Array, states: States, torque: Array) -> Array:
        whole = effect(t, states, torque)
        return np.where(np.arange(whole.shape[1]) == joint, whole, 0.0)

    return alone


def _with_effect(r: Recording, effect: Effect, joint: int | None = None) -> Mistaken:
    changed = r.but(effects=(*r.effects, effect if joint is None else on_joint(joint, effect)))
    return Mistaken(Given.of(changed), changed, () if joint is None else (r.joints[joint],))


@kind("torque offset missing", codes.OFFSET)
def offset_missing(r: Recording, rng: Rng) -> Mistaken:
    size, k = 0.1 * _sizes(r), int(rng.integers(r.robot.nv))
    return _with_effect(r, lambda _t, _s, torque: size + 0 * torque, k)


@kind("spring missing", codes.SPRING)
def spring_missing(r: Recording, rng: Rng) -> Mistaken:
    size, k = 0.2 * _sizes(r), int(rng.integers(r.robot.nv))
    return _with_effect(r, lambda _t, s, _torque: size * s[0] / np.abs(s[0]).max(0), k)


def load_friction(r: Recording, share: float) -> Effect:
    """Coulomb friction in proportion to the torque that the gear carries."""
    friction = [k for k, name in enumerate(r.model.names) if name[:2] in ("fv", "fs", "Ia")]
    p = r.wanted(r.model.names)
    p[friction] = 0.0
    return lambda _t, s, _torque: share * np.abs(r.model.inverse_dynamics(*s, p)) * np.sign(s[1])


@kind("load-dependent friction missing", codes.LOAD_FRICTION | codes.FRICTION)
def load_friction_missing(r: Recording, rng: Rng) -> Mistaken:
    """On all joints: a tenth of the torque carried."""
    return _with_effect(r, load_friction(r, 0.1))


def stribeck(r: Recording, share: float, speed: float = 0.1) -> Effect:
    """Friction that is larger at low speeds [rad/s]."""
    size = share * _sizes(r)
    return lambda _t, s, _torque: size * np.sign(s[1]) * np.exp(-np.abs(s[1]) / speed)


@kind("Stribeck friction missing", codes.STRIBECK | codes.FRICTION)
def stribeck_missing(r: Recording, rng: Rng) -> Mistaken:
    """On all joints, as large again as Coulomb friction at rest: errors at reversals are a right name."""
    return _with_effect(r, stribeck(r, 0.1))


@kind("friction drifts with time", codes.DRIFT)
def drift(r: Recording, rng: Rng) -> Mistaken:
    """Viscous friction falls by half, as of a robot that warms up."""
    size = 0.1 * _sizes(r)
    return _with_effect(r, lambda t, s, _torque: -0.5 * size * s[1] * (t / t[-1])[:, None])


@kind("poor excitation", codes.EXCITATION)
def poor_excitation(r: Recording, rng: Rng) -> Mistaken:
    changed = r.but(size=0.02)
    return Mistaken(Given.of(changed), changed)


@kind("very noisy torque", codes.NOISE)
def noisy(r: Recording, rng: Rng) -> Mistaken:
    """Noise of 150 %: parameters stay within their intervals; a word on noise is wanted."""
    changed = r.but(noise=1.5)
    return Mistaken(Given.of(changed), changed)


@kind("time stamps jitter", codes.JITTER)
def jitter(r: Recording, rng: Rng) -> Mistaken:
    """A third of a period: repaired by resampling, with a note."""
    changed = r.but(stamps=0.33)
    return Mistaken(Given.of(changed), changed)
