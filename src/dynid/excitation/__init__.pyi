# What the room offers to the others; names are imported when they are first asked for.
from .design import Design
from .exciting_motion import Excitation
from .limits.assumed import ASSUMED
from .limits.limit import Check
from .limits.stated import joint_limits
from .limits.torques import PriorTorques, torque_unit
from .problem import ExcitationProblem
from .recipe import excite
from .settings import ExcitationSettings
from .stated_problem import problem_of
from .trajectories.double_s import double_s
from .trajectories.moves import Moves
from .trajectories.sampled import Trajectory
from .trajectory_files import Followable, as_motion, read_trajectory, robot_of_motion
from .trajectory_formats import sample_times, samples
from .waypoint_motion import motion_through

__all__ = [
    "ASSUMED",
    "Check",
    "Design",
    "Excitation",
    "ExcitationProblem",
    "ExcitationSettings",
    "Followable",
    "Moves",
    "PriorTorques",
    "Trajectory",
    "as_motion",
    "double_s",
    "excite",
    "joint_limits",
    "motion_through",
    "problem_of",
    "read_trajectory",
    "robot_of_motion",
    "sample_times",
    "samples",
    "torque_unit",
]
