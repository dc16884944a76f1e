"""Reading MJCF files.

The rules of MJCF (defaults, classes, units, inertia from shapes, ...) are MuJoCo's own, so its compiler reads the file
and this module reads the compiled model.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, Description, Geometry, JointDescription, MimicDescription, unique
from dynid.robot.formats.mujoco_compiler import MjModel, compile_mjcf, enum_name, mujoco_module
from dynid.robot.formats.transmissions import mjcf_motors
from dynid.robot.formats.xml_files import Element, read_xml
from dynid.robot.frames import pose
from dynid.robot.joints import JointDynamics, JointKind, Limits, motion, rotation_from_quaternion, unlimited
from dynid.robot.rounded_frames import Frames

_KINDS = {
    "mjJNT_FREE": JointKind.FREE_FLYER,
    "mjJNT_BALL": JointKind.SPHERICAL,
    "mjJNT_SLIDE": JointKind.PRISMATIC,
    "mjJNT_HINGE": JointKind.REVOLUTE,
}


def read_mjcf(path: Path, root: Element | None = None, *, exact_frames: bool = False) -> Description:
    """Read an MJCF file.

    Joints are counted as MuJoCo counts them, and positions are its `qpos`, but for quaternions, which are (x, y, z, w).
    Several joints on one body become a chain with virtual bodies between, named `BODY/JOINT`.

    Args:
        path: The file.
        root: Its root element, when it was parsed already.
        exact_frames: Keep right angles that the file rounds, such as 1.5708.

    Raises:
        RobotFileError: If MuJoCo cannot load the file, or it holds NaN or infinite values.
    """
    root = read_xml(path) if root is None else root
    model, notes = compile_mjcf(path, root)
    reader = _MjcfReader(model, root, Frames(exact_frames))
    for i in range(1, model.nbody):
        reader.read_body(i)
    reader.note_ignored_forces()
    return Description(
        name=root.get("model") or path.stem,
        source=str(path),
        bodies=tuple(reader.bodies),
        joints=tuple(reader.joints),
        gravity=reader.gravity(),
        motors=mjcf_motors(model, reader.joint_names),
        no_contacts=reader.no_contacts(),
        findings=(*notes, *reader.findings, *reader.frames.findings()),
        exact_frames=exact_frames,
    )


def _pose(position: Array, quaternion: Array) -> Array:
    """Pose (4, 4) of a position and one of MuJoCo's quaternions (w, x, y, z)."""
    return pose(rotation_from_quaternion(np.roll(quaternion, -1)[None])[0], position)


class _MjcfReader:
    """Reads one compiled model, collecting findings on the way."""

    def __init__(self, model: MjModel, root: Element, frames: Frames) -> None:
        mujoco = mujoco_module()
        self.model = model
        self.frames = frames
        self.bodies: list[BodyDescription] = []
        self.joints: list[JointDescription] = []
        self.findings: list[Finding] = []
        bodies = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) for i in range(model.nbody)]
        joints = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(model.njnt)]
        self.taken_by_bodies, self.taken_by_joints = set(filter(None, bodies)), set(filter(None, joints))
        self.body_names = [name or unique(f"body_{i}", self.taken_by_bodies) for i, name in enumerate(bodies)]
        self.joint_names = [
            name or unique(f"{self.body_names[model.jnt_bodyid[j]]}_joint", self.taken_by_joints)
            for j, name in enumerate(joints)
        ]
        self.body_lines = {e.get("name"): e.sourceline for e in root.iterfind("worldbody//body")}
        self.joint_lines = {e.get("name"): e.sourceline for e in root.iterfind("worldbody//joint")}
        self.joint_lines |= {e.get("name"): e.sourceline for e in root.iterfind("worldbody//freejoint")}
        self.actuators = joint_actuators(model)
        self.mimics = self._mimics()

    def gravity(self) -> Array:
        mujoco = mujoco_module()
        disabled = self.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        return frozen(np.zeros(3) if disabled else self.model.opt.gravity)

    def no_contacts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of bodies of `<exclude>`."""
        ids = [divmod(int(signature), 1 << 16) for signature in self.model.exclude_signature]
        return tuple((self.body_names[a], self.body_names[b]) for a, b in ids)

    def read_body(self, i: int) -> None:
        """Add a body with the joints that move it; MuJoCo applies these in turn, each in the body's own frame."""
        m, name, above = self.model, self.body_names[i], int(self.model.body_parentid[i])
        body = BodyDescription(
            name=name, inertia=self._inertia(i), geometry=self._geometry(i), line=self.body_lines.get(name)
        )
        if m.body_gravcomp[i] != 0.0:
            share = float(m.body_gravcomp[i])
            self.findings.append(Finding.of("gravity-compensated", f"body '{name}'", gravcomp=share))
        parent = None if above == 0 else self.body_names[above]
        joints = range(m.body_jntadr[i], m.body_jntadr[i] + m.body_jntnum[i])
        at = _pose(m.body_pos[i], m.body_quat[i])
        at[:3, :3] = self.frames.rotation(at[:3, :3], self.joint_names[joints[0]] if joints else name)
        if not joints:
            fixed = unique(f"{name}_fixed", self.taken_by_joints)
            self.joints.append(JointDescription(fixed, JointKind.FIXED, parent, name, frozen(at), line=body.line))
            self.bodies.append(body)
        for j in joints:
            moved = body
            if j != joints[-1]:
                between = unique(f"{name}/{self.joint_names[j]}", self.taken_by_bodies)
                moved = BodyDescription(between, line=body.line, virtual=True)
            self.joints.append(self._joint(j, parent, moved.name, at))
            self.bodies.append(replace(moved, placement=frozen(pose(translation=-m.jnt_pos[j]))))
            parent, at = moved.name, np.eye(4)

    def _inertia(self, i: int) -> Array | None:
        m = self.model
        if m.body_mass[i] == 0.0 and not m.body_inertia[i].any():
            return None
        R = _pose(m.body_ipos[i], m.body_iquat[i])[:3, :3]
        about_com = R @ np.diag(m.body_inertia[i]) @ R.T
        return frozen(inertia.from_mass_com_inertia(float(m.body_mass[i]), m.body_ipos[i], about_com))

    def _geometry(self, i: int) -> tuple[Geometry, ...]:
        m = self.model
        geoms = range(m.body_geomadr[i], m.body_geomadr[i] + m.body_geomnum[i])
        colliding = [g for g in geoms if m.geom_contype[g] or m.geom_conaffinity[g]]
        return tuple(shape for g in colliding or geoms if (shape := _shape(m, g)) is not None)

    def _joint(self, j: int, parent: str | None, child: str, at: Array) -> JointDescription:
        """A joint; `at` is where the child's frame would be in the parent's without it."""
        m, name = self.model, self.joint_names[j]
        kind, axis = _KINDS[enum_name("mjtJoint", m.jnt_type[j])], self.frames.axis(m.jnt_axis[j], name)
        drawn_at = None
        if kind is JointKind.FREE_FLYER:
            stated = m.qpos0[m.jnt_qposadr[j] :][:7]  # MuJoCo has the scalar of a quaternion first
            drawn_at = frozen(stated[[0, 1, 2, 4, 5, 6, 3]])
            at = np.eye(4)  # its position is the pose in the world, and not the way from the initial one
        at = at @ pose(translation=m.jnt_pos[j])
        if kind.nq == 1:
            reference = m.qpos0[m.jnt_qposadr[j]]  # the position that the file draws the robot in
            rotation, translation = motion(kind, axis, np.array([[-reference]]))
            at = at @ pose(self.frames.rotation(rotation[0], name), translation[0])
        if kind is JointKind.REVOLUTE and not m.jnt_limited[j]:
            kind = JointKind.CONTINUOUS
        self._note_forces(j, kind)
        return JointDescription(
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            placement=frozen(at),
            axis=frozen(axis),
            limits=self._limits(j) if kind.nq == 1 else Limits(),
            dynamics=self._dynamics(j) if kind.nq == 1 else JointDynamics(),
            mimic=self.mimics.get(j),
            gains=self._gains(j),
            line=self.joint_lines.get(name),
            drawn_at=drawn_at,
        )

    def _gains(self, j: int) -> tuple[float, float] | None:
        """Gains of the position actuators of a joint: force = kp (control - length) - kv speed, behind a gear."""
        m, kp, kd = self.model, 0.0, 0.0
        for k, gear in self.actuators.get(j, ()):
            bias = m.actuator_biasprm[k]
            follows = enum_name("mjtBias", m.actuator_biastype[k]) == "mjBIAS_AFFINE" and bias[1] < 0.0
            if follows and m.actuator_gainprm[k, 0] == -bias[1]:
                kp, kd = kp - gear**2 * float(bias[1]), kd - gear**2 * float(bias[2])
        return (kp, kd) if kp > 0.0 else None

    def _limits(self, j: int) -> Limits:
        m = self.model
        lower, upper = m.jnt_range[j] if m.jnt_limited[j] else (-math.inf, math.inf)
        if m.jnt_actfrclimited[j]:
            effort = np.abs(m.jnt_actfrcrange[j]).max()
        else:
            efforts = [abs(gear) * largest_force(m, k) for k, gear in self.actuators.get(j, ())]
            effort = sum(efforts) if efforts else math.inf
        return Limits(unlimited(float(lower)), unlimited(float(upper)), effort=unlimited(float(effort)))

    def _dynamics(self, j: int) -> JointDynamics:
        m, dof = self.model, self.model.jnt_dofadr[j]
        damping, armature = float(m.dof_damping[dof]), float(m.dof_armature[dof])
        none = np.zeros(len(m.actuator_trntype))  # only MuJoCo 4 gives motors both, on their side of the gear
        for k, gear in self.actuators.get(j, ()):
            damping += gear**2 * float(getattr(m, "actuator_damping", none)[k])
            armature += gear**2 * float(getattr(m, "actuator_armature", none)[k])
        return JointDynamics(damping=damping, friction=float(m.dof_frictionloss[dof]), armature=armature)

    def _note_forces(self, j: int, kind: JointKind) -> None:
        """Say what acts on a joint besides what `JointDynamics` holds."""
        m, first = self.model, self.model.jnt_dofadr[j]
        stiffness, rest = m.jnt_stiffness[j], m.qpos_spring[m.jnt_qposadr[j]]
        fields = (m.dof_damping, m.dof_frictionloss, m.dof_armature)
        about = f"joint '{self.joint_names[j]}'"
        if kind.nv == 1 and stiffness != 0.0:
            code = "joint-spring" if rest == 0.0 else "joint-spring-preloaded"
            self.findings.append(Finding.of(code, about, stiffness=float(stiffness), rest=float(rest)))
        elif kind.nv > 1 and (stiffness != 0.0 or any(field[first : first + kind.nv].any() for field in fields)):
            self.findings.append(Finding.of("joint-forces-ignored", about))

    def note_ignored_forces(self) -> None:
        m = self.model
        of_tendons = ("tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_armature")
        ignored = {
            "medium-ignored": m.opt.density or m.opt.viscosity,
            "tendon-forces-ignored": any(np.any(getattr(m, name, 0.0)) for name in of_tendons),
        }
        self.findings += [Finding.of(code, "file") for code, is_there in ignored.items() if is_there]

    def _mimics(self) -> dict[int, MimicDescription]:
        """The joints that follow another by an equality constraint; findings on all other constraints."""
        mujoco = mujoco_module()
        m = self.model
        mimics: dict[int, MimicDescription] = {}
        if m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_EQUALITY:
            return mimics
        for k in np.flatnonzero(m.eq_active0).tolist():
            kind = enum_name("mjtEq", m.eq_type[k]).removeprefix("mjEQ_").lower()
            name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_EQUALITY, k)
            about = f"equality '{name}'" if name else f"equality {k + 1}"
            self.findings += self._add_mimic(k, mimics, about) if kind == "joint" else [self._loop(k, kind, about)]
        return mimics

    def _loop(self, k: int, kind: str, about: str) -> Finding:
        mujoco = mujoco_module()
        m = self.model
        what = mujoco.mjtObj.mjOBJ_TENDON if kind == "tendon" else m.eq_objtype[k]
        ends = [mujoco.mj_id2name(m, what, end[k]) for end in (m.eq_obj1id, m.eq_obj2id)]
        return Finding.of("loop-cut-open", about, kind=kind, between=[end for end in ends if end])

    def _add_mimic(self, k: int, mimics: dict[int, MimicDescription], about: str) -> list[Finding]:
        """Let a joint follow another as constraint k says, y - y0 = a0 + a1 (x - x0); or say why it cannot."""
        m = self.model
        follower, leader = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        name, (a0, a1, *rest) = self.joint_names[follower], m.eq_data[k, :5].tolist()
        y0 = float(m.qpos0[m.jnt_qposadr[follower]])
        if leader < 0 or not (a1 or any(rest)):
            return [Finding.of("joint-lock-ignored", about, joint=name, position=y0 + a0)]
        if any(rest):
            return [Finding.of("mimic-curve-ignored", about, joint=name, leader=self.joint_names[leader])]
        ahead = leader
        while ahead in mimics and ahead != follower:
            ahead = self.joint_names.index(mimics[ahead].leader)
        if follower in mimics or ahead == follower:
            return [Finding.of("mimic-repeated", about, joint=name, leader=self.joint_names[leader])]
        x0 = float(m.qpos0[m.jnt_qposadr[leader]])
        mimics[follower] = MimicDescription(self.joint_names[leader], ratio=a1, offset=y0 + a0 - a1 * x0)
        return []


def _shape(m: MjModel, g: int) -> Geometry | None:
    at, size = _pose(m.geom_pos[g], m.geom_quat[g]), m.geom_size[g].tolist()
    shape = enum_name("mjtGeom", m.geom_type[g]).removeprefix("mjGEOM_").lower()
    if shape in ("plane", "hfield"):
        return None
    if shape == "sphere":
        return Geometry(shape, (size[0],), frozen(at))
    if shape in ("cylinder", "capsule"):
        return Geometry(shape, (size[0], 2 * size[1]), frozen(at))
    centre, half_edges = m.geom_aabb[g, :3], m.geom_aabb[g, 3:]
    corners = _mesh_corners(m, g) if shape == "mesh" else None
    placement = frozen(at @ pose(translation=centre))
    box = tuple((2 * half_edges).tolist())
    return Geometry("box", box, placement, corners=None if corners is None else frozen(corners - centre))


def _mesh_corners(m: MjModel, g: int) -> Array | None:
    """Corners of the convex hull of a geom's mesh in the geom's frame [m], shape (n, 3); all where it has no hull."""
    k = int(m.geom_dataid[g])
    if k < 0:
        return None
    corners = np.array(m.mesh_vert[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]], dtype=float)
    begin = int(m.mesh_graphadr[k])
    if begin < 0:
        return corners
    count = int(m.mesh_graph[begin])  # then the number of faces, where edges begin, and the hull's corners
    return corners[m.mesh_graph[begin + 2 + count : begin + 2 + 2 * count]]


def joint_actuators(m: MjModel) -> dict[int, list[tuple[int, float]]]:
    """The actuators of each joint, with their gears."""
    outputs = getattr(m, "actuator_outadr", range(len(m.actuator_trntype)))  # in MuJoCo 4 one can have several
    found: dict[int, list[tuple[int, float]]] = {}
    for k, kind in enumerate(m.actuator_trntype):
        if enum_name("mjtTrn", kind) in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT"):
            gear = float(m.actuator_gear[outputs[k], 0])
            found.setdefault(int(m.actuator_trnid[k, 0]), []).append((k, gear))
    return found


def largest_force(m: MjModel, k: int) -> float:
    """The largest force of an actuator before its gear: its limit, or what a plain motor does at full control."""
    if m.actuator_forcelimited[k]:
        return float(np.abs(m.actuator_forcerange[k]).max())
    control = getattr(m, "actuator_ctrladr", range(len(m.actuator_trntype)))[k]
    is_motor = (
        enum_name("mjtGain", m.actuator_gaintype[k]) == "mjGAIN_FIXED"
        and enum_name("mjtBias", m.actuator_biastype[k]) == "mjBIAS_NONE"
        and enum_name("mjtDyn", m.actuator_dyntype[k]) == "mjDYN_NONE"
    )
    if is_motor and m.actuator_ctrllimited[control]:
        return float(np.abs(m.actuator_gainprm[k, 0] * m.actuator_ctrlrange[control]).max())
    return math.inf
