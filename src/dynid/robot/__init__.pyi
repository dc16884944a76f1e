# What the room offers to the others; names are imported when they are first asked for.
from .audit import audit
from .formats import Format
from .formats.write_back import Written, write_back
from .frames import pose
from .geometry import outline, triangles
from .grippers import without_gripper
from .inertia import INERTIA_BASIS, SIZE, skew
from .joints import LARGEST_NUMBER, JointDynamics, JointKind, Limits, neutral, rotation_about
from .loading import as_robot, load_robot
from .robot import WORLD, Joint, Link, Robot
from .rounded_frames import notes_on_frames

__all__ = [
    "INERTIA_BASIS",
    "LARGEST_NUMBER",
    "SIZE",
    "WORLD",
    "Format",
    "Joint",
    "JointDynamics",
    "JointKind",
    "Limits",
    "Link",
    "Robot",
    "Written",
    "as_robot",
    "audit",
    "load_robot",
    "neutral",
    "notes_on_frames",
    "outline",
    "pose",
    "rotation_about",
    "skew",
    "triangles",
    "without_gripper",
    "write_back",
]
