"""Robot files for tests of editing and writing: what other software makes of them, and tricky ones."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
from lxml import etree

from dynid import Robot


def bare_urdf(path: Path, floating: bool) -> str:
    """The file without shapes, and with a free joint under it when it should float."""
    root = etree.parse(path).getroot()
    for link in root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    extension = root.find("mujoco")
    if extension is not None:
        root.remove(extension)
    for mimic in root.findall("joint/mimic"):
        parent = mimic.getparent()
        assert parent is not None
        parent.remove(mimic)
    for element in root.iter("link", "parent", "child"):  # a name that MuJoCo keeps for itself
        for key in ("name", "link"):
            if element.get(key) == "world":
                element.set(key, "world of the file")
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", balanceinertia="false", strippath="false")
    if floating:
        children = {child.get("link") for child in root.findall("joint/child")}
        base = next(name for link in root.findall("link") if (name := link.get("name", "")) not in children)
        etree.SubElement(root, "link", name="the world under it")
        joint = etree.SubElement(root, "joint", name="root_joint", type="floating")
        etree.SubElement(joint, "parent", link="the world under it")
        etree.SubElement(joint, "child", link=base)
    return etree.tostring(root, encoding="unicode")


def mujoco_torques(model: mujoco.MjModel, robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inverse dynamics of MuJoCo without constraints, damping and friction, in our coordinates, (samples, nv)."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0.0
    model.opt.gravity[:] = robot.gravity
    data = mujoco.MjData(model)
    torques = np.zeros((len(q), robot.nv))
    for k in range(len(q)):
        spin = np.eye(3)
        for joint in robot.joints:
            other = model.joint(joint.name)
            own = q[k, joint.q] if joint.leader is None else joint.ratio * q[k, joint.q] + joint.offset
            at, dof = other.qposadr[0], other.dofadr[0]
            if len(other.qpos0) == 7:
                x, y, z, w = own[3:]
                data.qpos[at : at + 7] = [*own[:3], w, x, y, z]
                mujoco.mju_quat2Mat(flat := np.zeros(9), np.array([w, x, y, z]))
                spin = flat.reshape(3, 3)
                linear, angular = v[k, joint.v][:3], v[k, joint.v][3:]
                data.qvel[dof : dof + 6] = [*(spin @ linear), *angular]
                acceleration = spin @ (a[k, joint.v][:3] + np.cross(angular, linear))
                data.qacc[dof : dof + 6] = [*acceleration, *a[k, joint.v][3:]]
            else:
                data.qpos[at] = own[0]
                data.qvel[dof] = joint.ratio * v[k, joint.v][0]
                data.qacc[dof] = joint.ratio * a[k, joint.v][0]
        mujoco.mj_inverse(model, data)
        for joint in robot.joints:
            dof = model.joint(joint.name).dofadr[0]
            force = data.qfrc_inverse[dof : dof + joint.kind.nv].copy()
            if joint.kind.nv == 6:
                force[:3] = spin.T @ force[:3]
            torques[k, joint.v] += joint.ratio * force
    return torques


NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def without_values(content: bytes) -> bytes:
    """The text without `<dynamics>` elements and without the numbers in `<inertial>` elements."""
    content = re.sub(rb"\s*<dynamics[^>]*?(/>|>\s*</dynamics>)", b"", content)
    parts = re.split(rb"(<!--.*?-->|<inertial.*?</inertial>)", content, flags=re.DOTALL)
    return b"".join(
        re.sub(rb"\s*<origin[^>]*/>", b"", re.sub(NUMBER, b"#", part)) if part.startswith(b"<inertial") else part
        for part in parts
    )


TRICKY_URDF = """<?xml version='1.0' encoding="UTF-8"?>
<!-- a comment with <inertial><mass value="9"/></inertial> -->
<robot name='arm é' xmlns:xacro="http://ros.org/wiki/xacro">
	<xacro:property name="x" value="1"/>
	<link name="base"/>
	<link   name='ünter>arm' >
		<!-- <inertial> of old:
		<mass value="77"/> -->
		<inertial>
			<mass  value = '1.50' /> <!-- kg -->
			<inertia ixx='1e-2' ixy="0.0" ixz="0"
				iyy='1.00E-2' iyz="-0" izz="0.0100"/>
		</inertial>
	</link>
	<link name="tool"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
	<link name="pen"></link>
	<gazebo><![CDATA[ <link name="ünter>arm"><inertial><mass value="3"/></inertial></link> ]]></gazebo>
	<joint name="j1" type="revolute"><parent link="base"/><child link='ünter>arm'/>
		<limit lower="-1" upper="1" effort="1" velocity="1"/>
		<dynamics damping='0.10'/>
	</joint>
	<joint name="j2" type="planar">
		<parent link="ünter>arm"/>
		<child link="tool"/>
	</joint>
	<joint name="j3" type="continuous">
		<parent link="tool"/>
		<child link="pen"/>
	</joint>
</robot>
"""

TRICKY_MJCF = """<?xml version='1.0' encoding="utf-8"?>
<!-- <body><inertial mass="1"/></body> -->
<mujoco model='arm é'>
\t<compiler angle="degree" eulerseq="zyx"/>
\t<default><joint damping="0.30"/><default class="stiff"><joint armature='.5' frictionloss="1"/></default></default>
\t<worldbody>
\t\t<geom type="plane" size="1 1 1"/>
\t\t<body
\t\t   pos="0 0 1">
\t\t\t<joint class="stiff" axis="0 1 0"/> <joint type='slide' damping = '2.50' />
\t\t\t<!-- <inertial pos="0 0 0" mass="9"/> -->
\t\t\t<inertial pos="0.10 0 0" mass='1.50' diaginertia=".03 .02 .04" euler="10 20 30" />
\t\t\t<frame pos="1 0 0"><body name="framed"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></frame>
\t\t\t<body name="shaped"><joint name="shaped joint" axis="1 0 0"/>
\t\t\t\t<geom type="box" size=".1 .2 .3"/></body>
\t\t\t<body><geom type="sphere" size=".1"/></body>
\t\t</body>
\t\t<body name="full"><freejoint/><inertial mass="1" pos="0 0 0" fullinertia="1 2 2.50 0.10 0 0"/></body>
\t\t<body name='short &amp; "small"'><joint type="ball"/><geom size=".1"/></body>
\t</worldbody>
\t<worldbody><body><joint/><geom size=".1"/></body></worldbody>
\t<actuator><motor joint="shaped joint" gear="2"/></actuator>
</mujoco>
"""
