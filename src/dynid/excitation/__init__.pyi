# What the room offers to the others; names are imported when they are first asked for.
from .balance.balance_recipe import BALANCE_TIME_LIMIT, excite_balanced
from .balance.balance_settings import BalanceSettings
from .balance.balanced_excitation import BalancedExcitation
from .collision.collision_model import CollisionModel, Nearest
from .collision.solids import Solid
from .collision.stated_collisions import collisions_of
from .collision.surroundings import Wall
from .design import Design
from .exciting_motion import Excitation
from .information import Expectation
from .limits.assumed import ASSUMED
from .limits.clearance_limit import ClearanceLimit
from .limits.limit import Check
from .limits.stated import joint_limits
from .limits.torques import PriorTorques, torque_unit
from .problem import ExcitationProblem
from .proposals.movements import Movement
from .proposals.next_motion import NextMotion, Proposal, Proposals, own_collisions
from .recipe import excite
from .settings import ExcitationSettings
from .stated_problem import problem_of
from .trajectories.double_s import double_s
from .trajectories.moves import Moves
from .trajectories.sampled import Trajectory
from .trajectory_files import Followable, as_motion, read_trajectory, robot_of_motion, surroundings_of_motion
from .trajectory_formats import sample_times, samples
from .waypoint_motion import motion_through

__all__ = [
    "ASSUMED",
    "BALANCE_TIME_LIMIT",
    "BalanceSettings",
    "BalancedExcitation",
    "Check",
    "ClearanceLimit",
    "CollisionModel",
    "Design",
    "Excitation",
    "ExcitationProblem",
    "ExcitationSettings",
    "Expectation",
    "Followable",
    "Movement",
    "Moves",
    "Nearest",
    "NextMotion",
    "PriorTorques",
    "Proposal",
    "Proposals",
    "Solid",
    "Trajectory",
    "Wall",
    "as_motion",
    "collisions_of",
    "double_s",
    "excite",
    "excite_balanced",
    "joint_limits",
    "motion_through",
    "own_collisions",
    "problem_of",
    "read_trajectory",
    "robot_of_motion",
    "sample_times",
    "samples",
    "surroundings_of_motion",
    "torque_unit",
]
