# What the room offers to the others; names are imported when they are first asked for.
from .audit import audit
from .description import Geometry
from .formats import Format
from .formats.mjcf_actuators import ActuatorForm, PositionLaw
from .formats.write_back import Written, write_back
from .formats.xml_files import read_xml
from .frames import pose, rotation_from_rpy
from .geometry import along_z, around_segment, capsules_along, outline, outline_of_shape, reach, triangles
from .grippers import srdf_file, without_gripper
from .human.human_body import human
from .inertia import INERTIA_BASIS, SIZE, skew
from .joints import CHANNELS, LARGEST_NUMBER, JointDynamics, JointKind, Limits, neutral, rotation_about
from .loading import as_robot, load_robot
from .loads import Load, place_of_body, with_carried, with_load, without_load
from .motors import Motor, matrix_of, with_matrix, with_motors
from .moved_frames import with_places
from .robot import WORLD, Joint, Link, Robot
from .rounded_frames import notes_on_frames

__all__ = [
    "CHANNELS",
    "INERTIA_BASIS",
    "LARGEST_NUMBER",
    "SIZE",
    "WORLD",
    "ActuatorForm",
    "Format",
    "Geometry",
    "Joint",
    "JointDynamics",
    "JointKind",
    "Limits",
    "Link",
    "Load",
    "Motor",
    "PositionLaw",
    "Robot",
    "Written",
    "along_z",
    "around_segment",
    "as_robot",
    "audit",
    "capsules_along",
    "human",
    "load_robot",
    "matrix_of",
    "neutral",
    "notes_on_frames",
    "outline",
    "outline_of_shape",
    "place_of_body",
    "pose",
    "reach",
    "read_xml",
    "rotation_about",
    "rotation_from_rpy",
    "skew",
    "srdf_file",
    "triangles",
    "with_carried",
    "with_load",
    "with_matrix",
    "with_motors",
    "with_places",
    "without_gripper",
    "without_load",
    "write_back",
]
