"""Legged robots of `example-robot-data` as data: files, feet, and the posture that they stand in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from dynid import Robot, load_robot
from dynid.arrays import Array
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from tests.references import example_robot_file


@dataclass(frozen=True, eq=False)
class LeggedRobot:
    """A robot that stands on its feet.

    Attributes:
        name: Its name.
        source: Name of its file in `example-robot-data`, or what a file would say.
        feet: Bodies that stand on the ground, z axis up at home.
        home: Positions of the joints in the posture that it stands in [rad]; zero of all that are not named.
        sole: Corners of a foot's sole in its frame [m]: smallest x and y, largest x and y.
        lock: Joints that hold still.
        pelvis: Largest motion of the base in the home posture [m, rad]: along x, y, z; roll, pitch and yaw.
        lift: What the joints of a leg add to the home posture where its foot is off the ground [rad].
        leg_reach: Largest excursion of the joints of such a leg [rad].
        is_pointed: Whether feet are points, on which no torques act.
        viscous: Viscous friction of the joints [N m s/rad], roughly.
        coulomb: Their Coulomb friction [N m], roughly.
        armature: Motor inertia seen at the joints [kg m^2], roughly.
        reach: Largest excursion of any other joint from its home [rad].
    """

    name: str
    source: str | Description
    feet: tuple[str, ...]
    home: dict[str, float]
    sole: tuple[float, float, float, float]
    lock: tuple[str, ...] = ()
    pelvis: tuple[float, ...] = (0.04, 0.06, 0.06, 0.15, 0.2, 0.25)
    lift: dict[str, float] = field(default_factory=dict)
    leg_reach: float = 0.4
    is_pointed: bool = False
    viscous: float = 0.1
    coulomb: float = 0.1
    armature: float = 0.01
    reach: float = 1.3

    @cached_property
    def robot(self) -> Robot:
        """The robot of its file, with a floating base."""
        if isinstance(self.source, Description):
            return assemble(self.source, floating_base=True, lock=self.lock)
        return load_robot(example_robot_file(self.source), floating_base=True, lock=self.lock)

    @cached_property
    def standing(self) -> Array:
        """Positions at home, with the first foot at the world's origin; shape (nq,)."""
        from tests.floating_kinematics import on_ground

        q = self.robot.neutral
        for joint in self.robot.joints[1:]:
            q[joint.q] = self.home.get(joint.name, 0.0)
        return on_ground(self.robot, q[None], self.feet[0], self.is_pointed)[0]


def mirrored(half: dict[str, float], left: str, right: str, odd: tuple[str, ...] = ()) -> dict[str, float]:
    """Positions of both sides of those of the left; joints whose names end as in `odd` have the other sign right."""
    other = {n.replace(left, right, 1): -q if n.endswith(odd) and odd else q for n, q in half.items()}
    return half | other


TALOS = LeggedRobot(
    "TALOS",
    "talos_reduced.urdf",
    ("left_sole_link", "right_sole_link"),
    mirrored(
        {
            "arm_left_1_joint": 0.258,
            "arm_left_2_joint": 0.4,
            "arm_left_4_joint": -0.9,
            "leg_left_3_joint": -0.5,
            "leg_left_4_joint": 1.0,
            "leg_left_5_joint": -0.5,
        },
        "_left_",
        "_right_",
        ("arm_right_1_joint", "arm_left_1_joint", "arm_left_2_joint"),
    ),
    (-0.1, -0.06, 0.1, 0.06),
    ("gripper_left_joint", "gripper_right_joint"),
    lift=mirrored({"leg_left_3_joint": -0.4, "leg_left_4_joint": 0.8, "leg_left_5_joint": -0.2}, "_left_", "_right_"),
    viscous=1.0,
    coulomb=1.0,
    armature=0.1,
)
"""TALOS with its grippers closed; its home is the half sitting posture of its SRDF, arms a little out.
Motor inertia is that of the SRDF: rotors of 1e-5 kg m^2 behind gears of 100."""

ICUB = LeggedRobot(
    "iCub",
    "icub_reduced.urdf",
    ("l_sole", "r_sole"),
    mirrored(
        {
            "l_hip_pitch": 0.45,
            "l_knee": -0.8,
            "l_ankle_pitch": -0.35,
            "l_hip_roll": -0.05,
            "l_ankle_roll": 0.05,
            "l_shoulder_pitch": -0.5,
            "l_shoulder_roll": 0.6,
            "l_elbow": 0.8,
        },
        "l_",
        "r_",
    ),
    (-0.05, -0.03, 0.09, 0.03),
    pelvis=(0.02, 0.03, 0.03, 0.12, 0.15, 0.2),
    lift=mirrored({"l_hip_pitch": 0.4, "l_knee": -0.8, "l_ankle_pitch": 0.0}, "l_", "r_"),
    armature=0.02,
)
"""iCub without its head's joints."""

GO1 = LeggedRobot(
    "Go1",
    "go1.urdf",
    ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    {f"{leg}_{joint}_joint": q for leg in ("FL", "FR", "RL", "RR") for joint, q in (("thigh", 0.8), ("calf", -1.6))},
    (0.0, 0.0, 0.0, 0.0),
    pelvis=(0.03, 0.02, 0.05, 0.15, 0.15, 0.2),
    leg_reach=0.6,
    is_pointed=True,
    coulomb=0.2,
)
"""Unitree's Go1, whose feet are points."""

SOLO = LeggedRobot(
    "Solo12",
    "solo12.urdf",
    ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    {
        f"{end}{side}_{joint}": q * (out if joint == "HAA" else bend)
        for end, bend in (("F", 1.0), ("H", -1.0))
        for side, out in (("L", 1.0), ("R", -1.0))
        for joint, q in (("HAA", 0.1), ("HFE", 0.8), ("KFE", -1.6))
    },
    (0.0, 0.0, 0.0, 0.0),
    pelvis=(0.02, 0.02, 0.03, 0.12, 0.12, 0.15),
    leg_reach=0.6,
    is_pointed=True,
    viscous=0.01,
    coulomb=0.02,
    armature=0.003,
)
"""Solo12, a quadruped of 2.5 kg; its home is the standing posture of its SRDF."""
