"""Valid small files of every kind that dynid reads; the fuzzer damages them."""

from __future__ import annotations

import gzip
import json
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl
from scipy.io import savemat

import dynid
from tests.bag_files import joint_states, write_bag
from tests.mat_files import version_73
from tests.practice_logs import EXPERIMENT, LOGS, log
from tests.torch_files import torch_save

JOINTS = ["joint_1", "joint_2"]

XACRO = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="mass" value="1.5"/>
  <xacro:arg name="length" default="0.3"/>
  <xacro:macro name="part" params="name">
    <link name="${name}"><inertial><mass value="${2 * mass}"/><origin xyz="0 0 ${$(arg length) / 2}"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  </xacro:macro>
  <link name="base"/><xacro:part name="one"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
</robot>
"""

MJCF = """<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
  <default><joint damping="0.1" armature="0.01"/></default>
  <asset><mesh name="m" file="part.stl"/></asset>
  <include file="part.xml"/>
  <worldbody><body name="one" pos="0 0 0.2" quat="0.9 0.1 -0.2 0.3">
    <joint name="j1" axis="0 1 0" range="-1 1"/><inertial pos="0.1 0 0.2" mass="1.3" diaginertia="0.03 0.02 0.04"/>
    <geom type="mesh" mesh="m"/>
    <body name="two" pos="0.3 0 0" euler="0.1 0.2 0.3"><joint name="j2" type="slide" axis="1 0 1"/>
      <geom type="box" size="0.1 0.05 0.02" density="500"/></body></body></worldbody>
  <equality><joint joint1="j1" joint2="j2" polycoef="0 1 0 0 0"/></equality>
  <actuator><motor joint="j1" gear="2"/></actuator></mujoco>
"""

SRDF = """<robot name="grip"><group name="arm"><joint name="joint_1"/></group>
<group name="hand"><joint name="joint_2"/></group>
<end_effector name="tool" parent_link="link_1" group="hand" parent_group="arm"/></robot>
"""

OBJ = "o part\nv 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2/1/1 3/2/2 4/3/3\n"


def write_corpus(folder: Path) -> Path:
    """Write one valid file of each kind into a folder that is not there yet; gives the folder."""
    folder.mkdir(parents=True)
    _write_robots(folder)
    write_logs(folder)
    (folder / "experiment.toml").write_text(EXPERIMENT.replace("builtin:two_link", "arm.urdf"))
    (folder / "logs.toml").write_text(LOGS.replace("log.csv", "other.csv"))
    dynid.identify(folder / "experiment.toml").save(folder / "result")
    motion = dynid.excite(folder / "arm.urdf", time_limit=20.0, starts=1)
    motion.save(folder / "motion")
    return folder


def _write_robots(folder: Path) -> None:
    dynid.convert("builtin:two_link", folder / "arm.urdf")
    text = (folder / "arm.urdf").read_text()
    shape = '<visual><geometry><mesh filename="part.obj" scale="1 1 1"/></geometry></visual>'
    box = '<collision><origin xyz="0 0 0.1" rpy="0 0 1"/><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
    (folder / "arm.urdf").write_text(text.replace("</link>", f"{shape}{box}</link>", 1))
    (folder / "grip.urdf").write_text(text.replace('name="two_link"', 'name="grip"'))
    (folder / "grip.srdf").write_text(SRDF)
    (folder / "part.obj").write_text(OBJ)
    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype="<f4")
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    triangles = b"".join(bytes(12) + corners[list(face)].tobytes() + b"\0\0" for face in faces)
    (folder / "part.stl").write_bytes(bytes(80) + len(faces).to_bytes(4, "little") + triangles)
    (folder / "part.xml").write_text('<mujoco><worldbody><geom type="plane" size="1 1 1"/></worldbody></mujoco>')
    (folder / "arm.xml").write_text(MJCF)
    (folder / "arm.xacro").write_text(XACRO)
    for name in ("two_link", "tx40"):
        table = resources.files("dynid.robot") / "builtin" / f"{name}.toml"
        (folder / f"{name}.toml").write_text(table.read_text(encoding="utf-8"))


def write_logs(folder: Path) -> None:
    """Write one log of each format."""
    columns = log(seconds=1.5)
    q, tau = (np.column_stack([columns[f"{letter}_{k}"] for k in (1, 2)]) for letter in ("q", "tau"))
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "log.csv")
    pl.DataFrame(log(seed=1, seconds=1.5)).write_csv(folder / "other.csv")
    frame.write_parquet(folder / "log.parquet")
    frame.write_ndjson(folder / "log.jsonl")
    (folder / "log.json").write_text(json.dumps({name: values.tolist() for name, values in columns.items()}))
    (folder / "packed.csv.gz").write_bytes(gzip.compress((folder / "log.csv").read_bytes()))
    text = frame.write_csv(separator=";").replace(".", ",")
    (folder / "commas.csv").write_text("# a log with decimal commas\n" + text)
    np.savetxt(folder / "log.txt", np.column_stack([columns["t"], q, tau]))
    np.savez(folder / "log.npz", t=columns["t"], q=q, tau=tau)
    torch_save(folder / "log.pt", {"t": columns["t"], "q": q, "tau": tau, "gains": {"kp": [20.0, 30.0], "kd": q[0]}})
    savemat(folder / "log.mat", {"t": columns["t"][:, None], "q": q, "s": {"tau": tau}})
    version_73(folder / "new.mat", {"t": columns["t"][:, None], "q": q, "tau": tau})
    for kind in ("bag", "db3", "mcap"):
        states = joint_states(kind, JOINTS, columns["t"][:60], q[:60], tau[:60])
        made = write_bag(folder / f"bag_{kind}", kind, {"/joint_states": ("sensor_msgs/msg/JointState", states)})
        if made.is_dir():
            shutil.copy(next(made.glob(f"*.{kind}")), folder / f"log.{kind}")
        else:
            made.rename(folder / "log.bag")
